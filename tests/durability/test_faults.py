"""An error of the disk at each file opened, synced, renamed, removed: one line, before or after, and it goes on."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.durability import children
from tests.durability.bench import Bench, spread
from tests.durability.recorder import Record
from tests.durability.states import comparable, files_of, is_temporary, visible
from tests.durability.test_full import one_line, skip_engine
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]
#: An error's number, and whether all that comes after fails, too.
FAULTS = ((errno.EIO, False), (errno.ENOSPC, False), (errno.EIO, True), (errno.ENOSPC, True))


def test_at_every_event(bench: Bench, tmp_path: Path) -> None:
    skip_engine(bench)
    folders = []
    for number, event in enumerate(spread(bench.recording.last_event - 1, budget(4, 200))):
        fault, on = FAULTS[number % len(FAULTS)]
        folders.append(folder := bench.copy())
        record = Record(tmp_path / f"unused-{event}", event, fault=fault, on=on)
        code, said, _ = children.run(bench.call, folder, [record])
        assert code in (0, 2), said
        if code == 2:
            one_line(said)
        else:  # what may fail, such as removing what others left, changes no result
            assert comparable(visible(files_of(folder))) == bench.after
        bench.look(files_of(folder))
        if not on:
            leftovers = [name for name in files_of(folder) if is_temporary(name) and "/.change/" not in name]
            assert leftovers == [], f"event {event}, {errno.errorcode[fault]}: {said}"
    bench.go_on_in_some(folders)
