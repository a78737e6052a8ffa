"""Trees of topics: what a file must be, and the orders that are drawn."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.mdd5k.case_fields import PsychiatricRecord
from bedside.simulation.simulators.mdd5k.doctor import PARSE, find_tree
from tests.simulation.simulators.mdd5k.scripted_steps import GROUPS, tree

#: How many topics the authors' code lines up before anything grows, and leaves of the illness.
TOPICS = {"female_teen": 21, "female_adult": 20, "male_teen": 19, "male_adult": 18}
ILLNESS = {"female_teen": 14, "female_adult": 14, "male_teen": 13, "male_adult": 13}
ORDERS = 600


def written(folder: Path, content: Any) -> Path:
    path = folder / "female_adult.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def small(**changes: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "events": {"parse": None},
        "illness": {"sleep": None, "self-harm": None, "body": {"chest": None, "head": None}},
        "person": {"character": None, "work": None},
        "family": None,
    }
    return {"state": {**parts, **changes}}


# -- bundled --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("group", GROUPS)
def test_the_bundled_trees_have_the_sources_shape(group: str, language: str) -> None:
    topics = tree(group, language)
    root = group.startswith("female")  # the released code has a root for women alone
    assert root + len(topics.leaves) == TOPICS[group]
    assert sum(len(each.leaves) for each in topics.illness) == ILLNESS[group]
    assert [len(each.leaves) for each in topics.illness] == [1, 1, 2, 5 if root else 4, 3, 2]
    assert len(topics.events) == (3 if group.endswith("teen") else 1)
    assert len(topics.person) == (2 if group.endswith("teen") else 3)
    assert PARSE in topics.events
    assert topics.kept(topics.family)
    assert sum(map(topics.kept, topics.leaves)) == 2


@pytest.mark.parametrize(
    ("age", "sex", "name"),
    [(10, "female", "female_teen"), (20, "male", "male_teen"), (21, "male", "male_adult"),
     (60, "female", "female_adult")],
)  # fmt: skip
def test_sex_and_age_choose_the_tree(age: int, sex: Any, name: str) -> None:
    assert find_tree(PsychiatricRecord(age=age, sex=sex), "zh", "bundled").name == name


def test_trees_of_ones_own_may_stand_by_language_or_not(tmp_path: Path) -> None:
    record = PsychiatricRecord(age=40, sex="female")
    written(tmp_path, small())
    assert find_tree(record, "zh", str(tmp_path)).root == "state"
    (tmp_path / "zh").mkdir()
    written(tmp_path / "zh", {"状态": small()["state"]})
    assert find_tree(record, "zh", str(tmp_path)).root == "状态"
    assert find_tree(record, "en", str(tmp_path)).root == "state"


# -- orders -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS)
def test_parts_keep_their_order_and_groups_stay_together(group: str) -> None:
    topics = tree(group)
    place = {leaf: each.name for each in topics.illness for leaf in each.leaves}
    for seed in range(40):
        order = topics.order(Draws(seed, "case"), 1)
        assert sorted(order) == sorted(topics.leaves)
        events, rest = order[: len(topics.events)], order[len(topics.events) :]
        illness, end = rest[: len(place)], rest[len(place) :]
        assert set(events) == set(topics.events)
        runs = [name for name, _ in groupby(illness, place.__getitem__)]
        assert len(runs) == len(set(runs))
        assert topics.family in (end[0], end[-1])
        assert set(end) == {*topics.person, topics.family}
        assert order == topics.order(Draws(seed, "case"), 1)


def test_shuffles_are_uniform_and_apart_from_each_other() -> None:
    topics = tree("female_teen")
    orders = [topics.order(Draws(seed, "case"), 1) for seed in range(ORDERS)]
    events = Counter(order[:3] for order in orders)
    first = Counter(next(e.name for e in topics.illness if order[3] in e.leaves) for order in orders)
    body = Counter(tuple(leaf for leaf in order if leaf in topics.illness[4].leaves) for order in orders)
    family_first = Counter(order[-1] != topics.family for order in orders)
    for counts, kinds in ((events, 6), (first, 6), (body, 6), (family_first, 2)):
        assert len(counts) == kinds
        assert stats.chisquare(list(counts.values())).pvalue > 0.001
    together = Counter((order[0] == PARSE, order[-1] == topics.family) for order in orders)
    table = [[together[a, b] for b in (False, True)] for a in (False, True)]
    assert stats.chi2_contingency(table).pvalue > 0.001


def test_another_repeat_has_another_order() -> None:
    topics, draws = tree("male_adult"), Draws(0, "case")
    assert len({topics.order(draws, number) for number in range(1, 9)}) == 8
