"""Killed at any moment, or without power: the run opens, nothing half-written is seen, and the same command goes on.

Each command is killed at random moments, and what it leaves at every event of the file system is looked at.
"""

from __future__ import annotations

import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.durability import children
from tests.durability.bench import CASES, Bench, seen_as, spread, without_chance
from tests.durability.recorder import Record, Recording, Tree
from tests.durability.states import comparable, files_of, is_temporary, visible
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_at_random_moments(bench: Bench) -> None:
    draw = random.Random(bench.case.call)
    moments = [draw.uniform(0, bench.seconds) for _ in range(bench.case.kills)]
    folders = [bench.copy() for _ in moments]

    def kill(place: int) -> None:
        child = children.start(bench.call, folders[place])
        time.sleep(moments[place])
        child.kill()

    with ThreadPoolExecutor(2) as two:
        list(two.map(kill, range(bench.case.kills)))
    for folder in folders:
        bench.look(files_of(folder))
    bench.go_on_in_some(folders)


def test_at_every_event(bench: Bench, tmp_path: Path) -> None:
    recording = bench.recording
    looked: dict[str, Tree] = {}
    assert len(recording.states) > 3
    for _, _, tree in recording.states:
        files = recording.files(tree)
        bench.look(files)
        looked.setdefault(seen_as(files), tree)
    # What the command said is done stays done when the power fails after it.
    assert _results(recording.last("durable")) == _results(recording.last("killed"))
    new = [tree for seen, tree in looked.items() if seen not in bench.known]
    places = spread(len(new), bench.case.reruns)
    bench.go_on_in_some([recording.put(new[place], tmp_path / str(place)) for place in places])


def _results(tree: Tree) -> Tree:
    return {name: digest for name, digest in tree.items() if not is_temporary(name) and not name.endswith(".lock")}


def test_the_record_is_what_a_kill_leaves(study: Path, tmp_path: Path) -> None:
    call = CASES["import"].call.split()
    recording = Recording(tmp_path / "recording")
    children.run(call, Path(shutil.copytree(study, tmp_path / "recorded")), [Record(recording.path)])
    for event in spread(recording.last_event, budget(3, 8)):
        folder = Path(shutil.copytree(study, tmp_path / f"killed-{event}"))
        code, _, _ = children.run(call, folder, [Record(tmp_path / f"unused-{event}", at=event)])
        assert code == -9
        recorded = recording.put(recording.at(event), tmp_path / f"recorded-{event}")
        left, expected = files_of(folder), files_of(recorded)
        assert comparable(visible(left)) == comparable(visible(expected))
        assert sorted(map(without_chance, left)) == sorted(map(without_chance, expected))
