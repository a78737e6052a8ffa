"""Plans: what is drawn, what goes first, who rates it, what it can show, and that nobody can change it unnoticed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from bedside.annotation.annotation_plan import TrainingItem, page_version, plan_hash, run_identity
from bedside.annotation.plan_file import PlanError, read_plan, write_plan
from bedside.annotation.plan_power import LEVEL, POWER, shown_differences
from bedside.annotation.sampling import balanced_blocks, disagreement, pair_counts, uncertainty
from bedside.annotation.training_cases import _known_turns, read_training, training_from_run
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.annotation import plan_tables
from bedside.reports.renderers.markdown import markdown
from bedside.scoring.score import score
from bedside.stats import overlapping
from tests.annotation.builders import CLIENT_TALK, QUESTION
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, new_study, rating_plan, write_transcripts


def test_strata_are_counted_and_filled_as_far_as_there_is_any(run: Run) -> None:
    plan = rating_plan(run, by=("system", "length"), per=2)
    assert [(s.factors, s.available, s.wanted, s.drawn) for s in plan.strata] == [
        ({"system": system, "length": length}, 3, 2, 2) for system in sorted(SYSTEMS) for length in ("10", "20")
    ]
    assert len(plan.items) == 8
    every = rating_plan(run, by=("system",), per=100)
    assert [(s.wanted, s.drawn) for s in every.strata] == [(100, 6), (100, 6)]


def cases_of(run: Run, transcripts: Iterable[str]) -> list[list[str]]:
    """The cases of transcripts, by system."""
    rows = run.index.select("id", "system", "case_id").iter_rows()
    of = {name: (str(system), str(case)) for name, system, case in rows}
    return [sorted(of[name][1] for name in transcripts if of[name][0] == system) for system in SYSTEMS]


def test_systems_are_drawn_on_the_same_cases(large: Run) -> None:
    """So that what is compared pairs: of 40 cases of two systems, 10 drawn of each are the same 10."""
    for seed in range(20):
        for by in (("system",), ("system", "length")):
            plan = rating_plan(large, by=by, per=10, seed=seed)
            first, second = cases_of(large, [item.transcript for item in plan.items])
            assert len(first) == len(set(first)) == 10 * len(by)
            assert first == second
    # Undivided, each transcript is drawn by itself: 20 of 80 are of 17.6 cases on average.
    undivided = [rating_plan(large, per=20, seed=seed) for seed in range(20)]
    cases = [cases_of(large, [item.transcript for item in plan.items]) for plan in undivided]
    assert min(len({*first, *second}) for first, second in cases) > 13


@pytest.mark.parametrize("overlap", [1, 2])
def test_raters_rate_each_system_as_often_and_on_the_same_cases(large: Run, overlap: int) -> None:
    plan = rating_plan(large, by=("system",), per=12, overlap=overlap)
    for order in plan.assignment.values():
        first, second = cases_of(large, [plan.by_id[name].transcript for name in order])
        assert first == second
        assert len(order) == 24 * overlap / 3


def test_some_items_are_shown_a_second_time(large: Run) -> None:
    plan = rating_plan(large, per=20, repeat=0.1, training=())
    first = {(item.transcript, item.unit): item.id for item in plan.items if item.replicate == 0}
    again = {item.id: first[item.transcript, item.unit] for item in plan.items if item.replicate}
    assert (len(first), len(again)) == (20, 2)
    for rater, order in plan.assignment.items():
        shown = [name for name in order if name in again]
        assert {again[name] for name in shown} == set(order) & set(again.values()), rater
        middle = len(order) // 2
        assert all(order.index(name) >= middle > order.index(again[name]) for name in shown), rater
    assert [stratum.drawn for stratum in plan.strata] == [20]
    note = "20 items, 44 ratings; each item by 2, 2 of them a second time."
    assert note in markdown(plan_tables(plan)[1])
    with pytest.raises(DataError, match="between 0 and 1"):
        rating_plan(large, repeat=1.5)


def test_each_item_has_its_raters_and_pairs_share_items(run: Run) -> None:
    plan = rating_plan(run)
    assert all(len(raters) == 2 for raters in plan.raters_of.values())
    items = {rater: set(order) for rater, order in plan.assignment.items()}
    assert {len(items[a] & items[b]) for a, b in combinations(plan.raters, 2)} == {4}


def test_some_items_can_be_rated_by_everyone(run: Run) -> None:
    plan = rating_plan(run, overlap=1, shared=3)
    assert sorted(len(raters) for raters in plan.raters_of.values()) == [1] * 9 + [3] * 3


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process(run: Run, tmp_path: Path) -> None:
    write_plan(rating_plan(run, per=4, by=("system",)), tmp_path / "a.json")
    code = (
        "import sys; from tests.annotation.study import rating_plan; from bedside.ratings.run import Run;"
        "from bedside.annotation.plan_file import write_plan;"
        "write_plan(rating_plan(Run(sys.argv[1]), per=4, by=('system',)), sys.argv[2])"
    )
    for hash_seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(run.path), str(tmp_path / "b.json")],
            check=True, cwd=Path(__file__).parents[2], env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
        )  # fmt: skip
        assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    assert rating_plan(run, seed=8).items != rating_plan(run, seed=7).items


def test_raters_see_the_training_first_and_items_in_an_order_of_their_own(run: Run, tmp_path: Path) -> None:
    cases = read_training(known_answers(tmp_path), "rate", (EMPATHY, GOAL))
    plan = rating_plan(run, overlap=3, training=cases)
    training = tuple(item.id for item in plan.training)
    assert len(training) == 2
    orders = [order[2:] for order in plan.assignment.values()]
    assert all(order[:2] == training for order in plan.assignment.values())
    assert len(set(orders)) == 3
    assert len({frozenset(order) for order in orders}) == 1


def known_answers(folder: Path, **answers: object) -> Path:
    path = write_transcripts(folder / "known.jsonl", 1)
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for number, case in enumerate(cases):
        case["id"] = f"training-{number}"
        case["reference"]["answers"] = {"empathy": 4, "goal_alignment": 2, **answers}
    path.write_text("\n".join(map(json.dumps, cases)), "utf-8")
    return path


def test_a_training_set_has_answers_that_its_rubrics_know(tmp_path: Path) -> None:
    cases = read_training(known_answers(tmp_path), "rate", (EMPATHY, GOAL))
    assert [dict(case.answers) for case in cases] == [{"empathy": "4", "goal_alignment": "2"}] * 2
    with pytest.raises(InputError, match=r"known\.jsonl.*empathy answer '9'"):
        read_training(known_answers(tmp_path, empathy=9), "rate", (EMPATHY,))
    with pytest.raises(InputError, match="there is no known answer on partnership"):
        read_training(known_answers(tmp_path), "rate", (RUBRICS.load("partnership"),))
    with pytest.raises(InputError, match="has no answers"):
        read_training(write_transcripts(tmp_path / "without.jsonl", 1), "rate", (EMPATHY,))


def test_training_from_what_people_agree_on_is_not_rated_again(run: Run) -> None:
    names = sorted(run.index["id"])[:3]
    rows = [
        (name, None, None, "transcript", "empathy", f"human:{who}", 0, level, None, None, None)
        for name, levels in zip(names, ((4, 4), (2, 2), (1, 3)), strict=True)
        for who, level in zip("xy", levels, strict=True)
    ]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    cases = training_from_run(run, "rate", (EMPATHY,), 2)
    assert {case.transcript: case.answers["empathy"] for case in cases} == {names[0]: "4", names[1]: "2"}
    plan = rating_plan(run, rubrics=(EMPATHY,), training=cases)
    assert len(plan.items) == 10
    assert not {item.transcript for item in plan.items} & {item.transcript for item in plan.training}
    with pytest.raises(DataError, match="people agree on 2 units"):
        training_from_run(run, "rate", (EMPATHY,), 3)


def test_disagreement_is_worked_out_from_passes(run: Run) -> None:
    # Two passes with levels a and b: standard deviation |a - b| / 2, doubled, over a width of 4.
    said: dict[str, list[float]] = {}
    rows = run.ratings.filter(metric="empathy").select("transcript_id", "value")
    for name, value in rows.iter_rows():
        said.setdefault(name, []).append(value)
    expected = {(name, "transcript"): abs(a - b) / 4 for name, (a, b) in said.items()}
    assert disagreement(run, (EMPATHY,)) == expected


def test_with_disagreement_first_the_most_disputed_are_drawn(run: Run) -> None:
    scores = disagreement(run, (EMPATHY, GOAL))
    plan = rating_plan(run, per=4, focus="disagreement")
    drawn = sorted((scores[item.transcript, item.unit] for item in plan.items), reverse=True)
    assert drawn == sorted(scores.values(), reverse=True)[:4]
    assert {item.drawn for item in plan.items} == {"disagreement"}
    mixed = rating_plan(run, per=4, focus="disagreement", random_share=0.5)
    assert sorted(item.drawn for item in mixed.items) == ["disagreement"] * 2 + ["random"] * 2


def test_uncertainty_is_nearness_to_the_middle_or_to_half_way_between_levels(run: Run) -> None:
    name = sorted(run.index["id"])[1]
    mean = np.mean(run.ratings.filter(metric="empathy", transcript_id=name)["value"].to_list())
    assert uncertainty(run, (EMPATHY,))[name, "transcript"] == pytest.approx(1 - abs(mean - 3) / 2)
    rows = [(name, None, None, "transcript", "empathy.expected", JUDGE, 0, 3.4, None, None, None)]
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    assert uncertainty(run, (EMPATHY,))[name, "transcript"] == pytest.approx(0.8)


def test_what_cannot_be_rated_is_left_out_and_counted(tmp_path: Path) -> None:
    path = write_transcripts(tmp_path / "in.jsonl", 2)
    lines = path.read_text("utf-8").splitlines()
    data = json.loads(lines[0])
    data["reference"] = {}
    path.write_text("\n".join([json.dumps(data), *lines[1:]]), "utf-8")
    run = score([path], tmp_path / "run", metrics=["structure"]).run
    plan = rating_plan(run)
    assert plan.left_out == {"no goal": 1}
    assert len(plan.items) == 3
    assert len(rating_plan(run, rubrics=(EMPATHY,)).items) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ("sytem",)}, "there is no factor 'sytem'.*system"),
        ({"per": 0}, "give a number from 1"),
        ({"mode": "findings"}, "is of kind level; mode findings takes rubrics of kind list"),
        ({"mode": "codes", "rubrics": (EMPATHY,)}, "empathy is of kind level"),
        ({"rubrics": (EMPATHY, RUBRICS.load("open_question"))}, "is about turns"),
        ({"focus": "certain"}, "there is no focus 'certain'"),
        ({"judge": JUDGE}, "mode rate shows no judge's scores"),
        ({"mode": "audit", "judge": "judge:other"}, "name one: judge:invented/model"),
        ({"rubrics": (RUBRICS.load("partnership"),), "focus": "disagreement"}, "no unit was rated twice"),
        ({"raters": ("anna", "Anna")}, "a rater is named twice"),
        ({"raters": ("../anna", "ben")}, "can't be a rater's name"),
    ],
)
def test_what_does_not_go_is_said(run: Run, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        rating_plan(run, **options)


def test_a_plan_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    training = read_training(known_answers(tmp_path), "rate", (EMPATHY, GOAL))
    plan = rating_plan(run, by=("system",), per=2, training=training)
    write_plan(plan, tmp_path / "plan.json")
    read = read_plan(tmp_path / "plan.json", run)
    assert read == plan
    assert read.seal == plan.seal
    assert isinstance(read.by_id[plan.training[0].id], TrainingItem)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"seed": 7', '"seed": 8', "changed after it was made"),
        ('"overlap": 2', '"overlap": 3', "changed after it was made"),
        ('"anna"', '"anne"', "changed after it was made"),
        ('"drawn": "random"', '"drawn": "uncertain"', "changed after it was made"),
        ("Warmth", "Coldness", "the wording of empathy is not that of version"),
    ],
)
def test_a_plan_that_was_changed_is_refused(run: Run, tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "plan.json"
    write_plan(rating_plan(run), path)
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(PlanError, match=rf"plan\.json.*{message}"):
        read_plan(path)


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"format": 3}', '{"format": 1, "mode": "rate", "extra": 1}'])
def test_what_is_no_plan_is_refused_in_one_line(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PlanError, match=r"plan\.json"):
        read_plan(path)


@pytest.mark.slow
def test_a_plan_of_another_run_is_refused_and_a_copied_run_is_the_same(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(rating_plan(run), path)
    (tmp_path / "other").mkdir()
    other = new_study(tmp_path / "other", cases=3)
    with pytest.raises(PlanError, match="made for another run"):
        read_plan(path, other)
    assert run_identity(other) != run_identity(run)


def test_pages_are_the_same_where_mode_and_wording_are(run: Run) -> None:
    plan = rating_plan(run)
    assert page_version(plan) == page_version(rating_plan(run, seed=9, raters=("x", "y")))
    assert page_version(plan) != page_version(rating_plan(run, rubrics=(GOAL, EMPATHY)))
    assert plan_hash(plan) != plan_hash(rating_plan(run, seed=9))


@pytest.mark.parametrize(
    ("options", "units", "available"),
    [
        ({"rubrics": (RUBRICS.load("open_question"),), "per": 10}, {"turn:0", "turn:2"}, 24),
        ({"mode": "codes", "rubrics": (QUESTION, CLIENT_TALK)}, {"transcript"}, 12),
    ],
    ids=["turns", "codes"],
)
def test_single_turns_are_rated_and_codes_are_of_transcripts(
    run: Run, options: dict[str, Any], units: set[str], available: int
) -> None:
    plan = rating_plan(run, **options)
    assert {item.unit for item in plan.items} <= units
    assert plan.strata[0].available == available


@pytest.mark.parametrize("turn", ["²", "9" * 5000, "-1", "1.0", "x", ""])
def test_what_is_no_number_of_a_turn_is_refused(turn: str) -> None:
    with pytest.raises(InputError, match="there is no turn"):
        _known_turns(QUESTION, {turn: "open"}, 3, "here")


# -- who rates what --


def loads(blocks: list[tuple[int, ...]], raters: int) -> list[int]:
    counts = Counter(rater for block in blocks for rater in block)
    return [counts[rater] for rater in range(raters)]


@settings(max_examples=30, deadline=None)
@given(raters=st.integers(1, 9), share=st.floats(0, 1), count=st.integers(0, 30), seed=st.integers(0, 5))
def test_loads_differ_by_one_at_most(raters: int, share: float, count: int, seed: int) -> None:
    size = 1 + round(share * (min(raters, 3) - 1))
    blocks = balanced_blocks(raters, size, count, seed)
    assert len(blocks) == count
    assert all(len(set(block)) == size for block in blocks)
    assert max(loads(blocks, raters)) - min(loads(blocks, raters)) <= 1


@pytest.mark.parametrize("raters", range(2, 10))
def test_two_raters_an_item_share_evenly_whatever_the_numbers(raters: int) -> None:
    for count in (1, 3, 10, 17, 28, 45, 60):
        pairs = pair_counts(balanced_blocks(raters, 2, count, 7), raters).values()
        assert max(pairs) - min(pairs) <= 1, count


@pytest.mark.parametrize(
    ("raters", "size", "count", "together"),
    # Balanced incomplete block designs: lambda = count * size * (size - 1) / (raters * (raters - 1)).
    [(7, 3, 7, 1), (6, 3, 10, 2), (5, 4, 5, 3), (4, 3, 8, 4), (6, 2, 15, 1), (9, 3, 12, 1)],
)
def test_designs_that_exist_are_found(raters: int, size: int, count: int, together: int) -> None:
    blocks = balanced_blocks(raters, size, count, 3)
    assert set(pair_counts(blocks, raters).values()) == {together}
    assert set(loads(blocks, raters)) == {count * size // raters}


def test_where_the_numbers_forbid_it_pairs_are_as_even_as_can_be() -> None:
    # Ten items without one of four raters each: two raters are left out three times, so they share 10 - 3 - 3 = 4
    # items, and the two others 10 - 2 - 2 = 6.
    assert sorted(set(pair_counts(balanced_blocks(4, 3, 10, 0), 4).values())) == [4, 5, 6]


def test_the_start_of_a_design_is_balanced_too() -> None:
    blocks = balanced_blocks(6, 2, 40, 1)
    for end in range(1, len(blocks)):
        assert max(loads(blocks[:end], 6)) - min(loads(blocks[:end], 6)) <= 2


def test_pairs_are_counted_and_the_seed_decides() -> None:
    counts = pair_counts([(0, 1), (0, 1, 2)], 3)
    assert counts == dict(zip(combinations(range(3), 2), (2, 1, 1), strict=True))
    assert balanced_blocks(5, 2, 13, 4) == balanced_blocks(5, 2, 13, 4)
    assert balanced_blocks(5, 2, 13, 4) != balanced_blocks(5, 2, 13, 5)


# -- what a plan can show --


@pytest.mark.parametrize("per", [4, 12, 30])
def test_the_smallest_difference_is_shown_as_often_as_is_said(large: Run, per: int) -> None:
    plan = rating_plan(large, by=("system",), per=per)
    (shown,) = shown_differences(large, plan)
    assert (shown.a, shown.b, shown.pairs, shown.alone_a, shown.alone_b) == (*SYSTEMS, per, 0, 0)
    assert shown.smallest is not None
    differences = np.random.default_rng(per).normal(shown.smallest, 1, size=(20_000, per))
    rejected = stats.ttest_1samp(differences, 0, axis=1).pvalue <= LEVEL
    assert rejected.mean() == pytest.approx(POWER, abs=0.012)
    assert shown_differences(large, plan.model_copy(update={"mode": "audit"})) == (), "it measures the judge"


def transcripts(run: Run, cases: dict[str, range]) -> list[tuple[str, str]]:
    """Those of each system that aren't of its cases."""
    rows = run.index.select("id", "system", "case_id").iter_rows()
    numbers = [(name, system, int(str(case).removeprefix("hushcase"))) for name, system, case in rows]
    return [(name, "transcript") for name, system, number in numbers if number not in cases[system]]


def test_systems_without_common_cases_are_compared_unpaired(large: Run) -> None:
    cases = dict(zip(SYSTEMS, (range(20, 40), range(20)), strict=True))
    plan = rating_plan(large, by=("system",), per=15, without=transcripts(large, cases))
    (shown,) = shown_differences(large, plan)
    assert (shown.pairs, shown.alone_a, shown.alone_b, shown.kind) == (0, 15, 15, "unpaired")
    assert shown.smallest is not None
    rng = np.random.default_rng(3)
    a, b = rng.normal(shown.smallest, 1, size=(20_000, 15)), rng.normal(0, 1, size=(20_000, 15))
    rejected = stats.ttest_ind(a, b, axis=1).pvalue <= LEVEL
    assert rejected.mean() == pytest.approx(POWER, abs=0.012)


def test_partly_shared_cases_are_compared_with_the_others(large: Run) -> None:
    """They were called unpaired, and promised what the test of two groups shows."""
    cases = dict(zip(SYSTEMS, (range(10), range(6, 16)), strict=True))
    plan = rating_plan(large, by=("system",), without=transcripts(large, cases))
    (shown,) = differences = shown_differences(large, plan)
    assert (shown.pairs, shown.alone_a, shown.alone_b, shown.kind) == (4, 6, 6, "partly shared")
    assert shown.smallest is not None
    rng = np.random.default_rng(4)
    a, b = rng.normal(shown.smallest, 1, size=(500, 10)), rng.normal(0, 1, size=(500, 10))
    tests = [overlapping.t_test(x[:4], y[:4], x[4:], y[4:]).p for x, y in zip(a, b, strict=True)]
    assert np.mean([p is not None and p <= LEVEL for p in tests]) == pytest.approx(POWER, abs=0.05)
    assert "partly shared" in markdown(plan_tables(plan, differences)[2])


def test_too_few_cases_promise_nothing(large: Run) -> None:
    plan = rating_plan(large, by=("system",), per=2)
    differences = shown_differences(large, plan)
    assert differences[0].smallest is None
    assert "–: too few cases" in markdown(plan_tables(plan, differences)[2])
