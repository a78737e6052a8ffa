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
            bench.look(folder)
        different = list({seen_as(folder): folder for folder in folders}.values())
        list(two.map(bench.go_on, [different[place] for place in spread(len(different), bench.case.reruns)]))


def test_at_every_event(bench: Bench, tmp_path: Path) -> None:
    recording = Recording(tmp_path / "recording")
    code, said, _ = children.run(bench.call, bench.copy(), [Record(recording.path)])
    assert code == 0, said
    states = list(recording.states())
    assert len(states) > 3
    looked: dict[str, Path] = {}
    for number, (event, kind, tree) in enumerate(states):
        folder = recording.put(tree, tmp_path / "states" / f"{number}-{kind}-{event}")
        bench.look(folder)
        looked.setdefault(seen_as(folder), folder)
    # What the command said is done stays done when the power fails after it.
    assert _results(recording.last("durable")) == _results(recording.last("killed"))
    different = list(looked.values())
    with ThreadPoolExecutor(2) as two:
        list(two.map(bench.go_on, [different[place] for place in spread(len(different), bench.case.reruns)]))


def _results(tree: Tree) -> Tree:
    return {name: digest for name, digest in tree.items() if not is_temporary(name) and not name.endswith(".lock")}


def test_the_record_is_what_a_kill_leaves(study: Path, tmp_path: Path) -> None:
    call = CASES["import"].call.split()
    recording = Recording(tmp_path / "recording")
    children.run(call, Path(shutil.copytree(study, tmp_path / "recorded")), [Record(recording.path)])
    last = max(event for event, _, _ in recording.states())
    for event in spread(last, budget(3, 8)):
        folder = Path(shutil.copytree(study, tmp_path / f"killed-{event}"))
        code, _, _ = children.run(call, folder, [Record(tmp_path / f"unused-{event}", at=event)])
        assert code == -9
        recorded = recording.put(recording.at(event), tmp_path / f"recorded-{event}")
        left, expected = files_of(folder), files_of(recorded)
        assert comparable(visible(left)) == comparable(visible(expected))
        assert sorted(map(without_chance, left)) == sorted(map(without_chance, expected))
