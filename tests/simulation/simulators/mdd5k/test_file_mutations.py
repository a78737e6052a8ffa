"""Files that somebody got wrong: they are read, or refused with one line that names the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bedside.core.errors import BedsideError
from bedside.simulation.simulators.case_files import check_cases, converted_cases
from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.mdd5k import SIMULATOR
from bedside.simulation.simulators.mdd5k.case_fields import FOLDER
from bedside.simulation.simulators.mdd5k.doctor import CAP, read_doctors, read_tree
from bedside.simulation.simulators.mdd5k.story import draw_story, read_graphs
from bedside.simulation.simulators.mdd5k_cases import authors_object
from tests.fuzz import mutate
from tests.simulation.simulators.playing import by_rules, play
from tests.simulation.simulators.test_mdd5k_cases import RECORD
from tests.soak import budget

TREE = (FOLDER / "trees" / "en" / "female_teen.json").read_text("utf-8")
GRAPHS = (FOLDER / "graphs.en.yaml").read_text("utf-8")
DOCTORS = (FOLDER / "doctors.en.yaml").read_text("utf-8")


def _tree(path: Path) -> None:
    tree = read_tree.__wrapped__(path)
    order = tree.order(Draws(0, "case"), 1)
    assert sorted(order) == sorted(tree.leaves)
    assert len(order) < CAP
    assert any(map(tree.kept, order))


def _graphs(path: Path) -> None:
    for decades in read_graphs.__wrapped__(path).graphs.values():
        for graph in decades.values():
            assert all(draw_story(graph, Random(0)).words().values())


def _doctors(path: Path) -> None:
    assert read_doctors.__wrapped__(path)


def _records(path: Path) -> None:
    for _, remark in check_cases(path, SIMULATOR.check_case):
        str(remark).encode("utf-8", "backslashreplace")
    for _, case in converted_cases(path)[0]:
        if not list(SIMULATOR.check_case(case)):
            talk = play(SIMULATOR, case, by_rules(SIMULATOR))
            assert talk.failure or talk.ended.turns
            assert authors_object(case)["诊断结果"] == case.hidden.diagnosis


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "make", "take"),
    [
        ("female_teen.json", lambda random: mutate.json_text(random, json.loads(TREE)), _tree),
        ("graphs.yaml", lambda random: mutate.yaml_text(random, GRAPHS), _graphs),
        ("doctors.yaml", lambda random: mutate.yaml_text(random, DOCTORS), _doctors),
        ("pa20.json", lambda random: mutate.json_text(random, [RECORD, {**RECORD, "患者": 8}]), _records),
    ],
    ids=["tree", "graphs", "doctors", "records"],
)
def test_a_file_with_something_wrong_in_it_is_read_or_refused_in_one_line(
    tmp_path: Path, name: str, make: Callable[[Random], bytes], take: Callable[[Path], None]
) -> None:
    path = tmp_path / name
    refusals = []
    for seed in range(budget(8, 3000)):
        path.write_bytes(make(Random(seed)))
        try:
            take(path)
        except BedsideError as error:
            refusals.append(str(error))
    assert refusals
    assert all(name in refusal and "\n" not in refusal for refusal in refusals)
