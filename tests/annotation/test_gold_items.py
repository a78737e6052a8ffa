"""Hidden gold items and a threshold of training: nothing tells them apart, and nothing of them is a rating."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan, GoldItem, PlanItem, TrainingItem
from bedside.annotation.answer_store import keep_answers, read_store
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.known_answers import KnownComparison, pooled_kappa
from bedside.annotation.offline_tables import csv_table, prefilled_columns
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.reassignment import reassign
from bedside.annotation.sampling import with_gold
from bedside.annotation.training_cases import TrainingCase, read_training, training_result, training_results
from bedside.core.errors import DataError, InputError
from bedside.ratings.run import Run
from bedside.reports.annotation import plan_tables, status_tables
from bedside.reports.renderers.markdown import markdown
from bedside.reports.renderers.records import json_text
from bedside.reports.tables.rater_quality import build
from bedside.stats.two_raters import kappa
from tests.annotation.builders import QUESTION, gold_cases, gold_file, rater_answer
from tests.annotation.study import EMPATHY, GOAL, level_of, rating_plan
from tests.conftest import Call, works


def answer_all(run: Run, plan: AnnotationPlan, miss: int = 0) -> None:
    """All raters answer all they have; known items rightly, but for the first ``miss`` of each rater by empathy."""
    answers = []
    for rater, order in plan.assignment.items():
        missed = 0
        for place, name in enumerate(order):
            item = plan.by_id[name]
            if isinstance(item, PlanItem):
                level = level_of(name, rater)
                said = {"empathy": str(level), "goal_alignment": str(6 - level)}
            else:
                said = {rubric: str(known) for rubric, known in item.answers.items()}
                if missed < miss:
                    said["empathy"] = str(1 + int(said["empathy"]) % 5)
                    missed += 1
            created = f"2026-03-01T10:{place:02}:00Z"
            answers.append(rater_answer(name, rater, said, created=created, seconds=30.0 + place))
    keep_answers(run, plan, answers)


def test_nothing_that_raters_see_tells_gold_from_the_others(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), gold=gold_cases(tmp_path), gold_share=0.2)
    assert {type(plan.by_id[name]) for name in plan.assignment["anna"]} == {PlanItem, GoldItem}
    tasks = label_studio_tasks(plan, run, "anna")
    kinds = {type(plan.by_id[task["data"]["external_id"]]): sorted(task["data"]) for task in tasks}
    assert kinds[GoldItem] == kinds[PlanItem]
    numbers = [int(task["data"]["title"].split()[1]) for task in tasks]
    assert numbers == list(range(1, 16))
    assert not [name for name in ("gold", "known", "training") if name in json.dumps(tasks).casefold()]
    text = csv_table(plan, "anna", [task["data"] for task in tasks])
    assert "known-" not in text
    assert prefilled_columns(plan) == prefilled_columns(rating_plan(run, raters=("anna", "ben")))
    # On a page that raters share, too, they stand among the others.
    places = [isinstance(item, GoldItem) for item in plan.everything]
    assert places != sorted(places)
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 30), st.floats(0.02, 0.6), st.integers(0, 5))
def test_gold_items_are_a_share_of_all_and_spread_evenly(own: int, there: int, share: float, before: int) -> None:
    gold = [GoldItem(id=f"g{number}", transcript="t", answers={}) for number in range(there)]
    order = [f"t{number}" for number in range(before)] + [f"i{number}" for number in range(own)]
    mixed = with_gold({"anna": order}, gold, before=before, share=share, seed=3)["anna"]
    assert [name for name in mixed if not name.startswith("g")] == order
    assert list(mixed[:before]) == order[:before]
    places = [place for place, name in enumerate(mixed[before:]) if name.startswith("g")]
    assert len(places) == len({*mixed} - {*order}) == min(there, max(1, round(share / (1 - share) * own)))
    whole = len(mixed) - before
    stretches = [whole * number // len(places) for number in range(len(places) + 1)]
    assert all(start <= place < end for place, start, end in zip(places, stretches, stretches[1:], strict=False))


def test_which_gold_items_and_where_is_drawn_for_each_rater(large: Run, tmp_path: Path) -> None:
    plan = rating_plan(large, raters=("anna", "ben", "cleo"), gold=gold_cases(tmp_path, 40), gold_share=0.1)
    ids = {item.id for item in plan.gold}
    shown = {rater: [name for name in order if name in ids] for rater, order in plan.assignment.items()}
    assert all(len(names) == 6 for names in shown.values())
    assert len({frozenset(names) for names in shown.values()}) == 3
    where = {tuple(place for place, name in enumerate(order) if name in ids) for order in plan.assignment.values()}
    assert len(where) == 3


def test_gold_is_never_counted_as_a_rating(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), gold=gold_cases(tmp_path), gold_share=0.2)
    answer_all(run, plan, miss=1)
    view = open_ratings_view(run.path)
    assert not [name for name in view.ratings["transcript_id"].unique() if name.startswith("known")]
    progress = plan_progress(Run(run.path), plan)
    everything = [share for share in progress.shares if share.stratum is None]
    assert [(share.assigned, share.done) for share in everything] == [(12, 12), (12, 12)]
    anna, _ = progress.quality
    ids = {item.id for item in plan.gold}
    assert anna.gold == anna.gold_assigned == len(ids.intersection(plan.assignment["anna"])) == 3
    assert (anna.items, anna.seconds, anna.alarms) == (12, 37.0, ())
    assert anna.right == pytest.approx(5 / 6)
    tables = status_tables(plan, progress)
    words = markdown(tables[1])
    assert "3 of 3" in words
    assert "give no ratings" in words
    assert all(json_text(table) for table in (*tables, *plan_tables(plan)))
    table = build(view)
    assert table is not None
    assert [record["gold_right"] for record in table.records] == [pytest.approx(5 / 6)] * 2


def test_a_transcript_of_the_run_that_is_gold_is_not_rated_besides(run: Run, tmp_path: Path) -> None:
    names = zip(gold_cases(tmp_path), run.index["id"], strict=False)
    cases = [replace(case, transcript=name) for case, name in names]
    plan = rating_plan(run, gold=cases)
    assert not {case.transcript for case in cases} & {item.transcript for item in plan.items}
    assert len(plan.items) == 6


def test_gold_stays_with_its_rater_who_drops_out(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1, gold=gold_cases(tmp_path), gold_share=0.2)
    moved = reassign(run, plan, "ben").plan
    before, after = (
        Counter(name for name in drawn.assignment["anna"] if isinstance(plan.by_id[name], GoldItem))
        for drawn in (plan, moved)
    )
    assert before == after
    assert moved.assignment["ben"] == ()


def test_gold_that_can_t_be_is_refused(run: Run, tmp_path: Path) -> None:
    cases = gold_cases(tmp_path)
    with pytest.raises(DataError, match="above 0 and below 1"):
        rating_plan(run, gold=cases, gold_share=1.0)
    with pytest.raises(DataError, match="no training set or gold items"):
        rating_plan(run, mode="pairs", gold=cases)
    with pytest.raises(InputError, match="`gold`"):
        read_training(gold_file(tmp_path), "audit", (EMPATHY, GOAL), where="`gold`")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=20))
def test_kappa_of_one_rubric_is_the_quadratic_one(pairs: list[tuple[int, int]]) -> None:
    compared = [KnownComparison("empathy", float(a), float(b), float(a == b), None) for a, b in pairs]
    expected = kappa(*zip(*pairs, strict=True), weights="quadratic", scale=(1, 2, 3, 4, 5)).estimate
    result = pooled_kappa(compared, {"empathy": 4.0})
    if result is None:
        assert len({a for a, _ in pairs}) == 1
    else:
        assert result == pytest.approx(expected if expected is not None else result)


def test_kappas_are_pooled_before_the_ratio() -> None:
    """Two rubrics by hand: disagreements of 1 of 4 and 1 of 2, by chance 2 of 4 and 1 of 2."""
    first = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]
    second = [("x", "y"), ("y", "y")]
    compared = [KnownComparison("one", a, b, float(a == b), None) for a, b in first]
    compared += [KnownComparison("two", a, b, float(a == b), None) for a, b in second]
    by_chance = 4 * (1 - (0.5 * 0.25 + 0.5 * 0.75)) + 2 * (1 - 0.5)
    assert pooled_kappa(compared, {}) == pytest.approx(1 - 2 / by_chance)
    assert pooled_kappa([], {}) is None


def test_who_is_below_the_threshold_isn_t_passed_and_their_items_are_marked(run: Run, tmp_path: Path) -> None:
    training = gold_cases(tmp_path, 5)
    plan = rating_plan(run, raters=("anna", "ben"), training=training, training_kappa=0.6)
    assert all(isinstance(plan.by_id[name], TrainingItem) for name in plan.assignment["anna"][:5])
    answer_all(run, plan)
    wrong = [
        rater_answer(
            item.id, "ben", {"empathy": str(6 - int(item.answers["empathy"])), "goal_alignment": "3"},
            created="2026-03-01T09:00:00Z", id=f"first-{item.id}",
        )
        for item in plan.training
    ]  # fmt: skip
    anna, _ben = training_results(plan, read_store(run, plan), {})
    assert (anna.passed, anna.kappa, anna.done) == (True, 1.0, True)
    # Of several answers to a training item the first counts, as feedback comes after it.
    rest = [answer for answer in read_store(run, plan).answers().values() if answer.rater == "ben"]
    result = training_result(plan, "ben", [*wrong, *rest], {})
    assert result.kappa is not None
    assert result.kappa < 0
    assert not result.passed
    assert training_result(plan, "ben", wrong[:2], {}).done is False
    other = Run(run.path)
    held = rating_plan(other, raters=("anna", "ben"), training=training, training_kappa=0.6, seed=8)
    again = [replace(answer, item=item.id) for answer, item in zip(wrong, held.training, strict=True)]
    items = [name for name in held.assignment["ben"] if isinstance(held.by_id[name], PlanItem)]
    twos = {"empathy": "2", "goal_alignment": "2"}
    keep_answers(other, held, [*again, *(rater_answer(name, "ben", twos) for name in items[:4])])
    progress = plan_progress(Run(run.path), held)
    assert [quality.unpassed for quality in progress.quality] == [0, 4]
    shown = "\n".join(map(markdown, status_tables(held, progress)))
    assert "ben hasn't passed training and rated 4 items" in shown
    assert "not passed" in shown
    assert "0 of 5 done" in shown


def test_a_threshold_needs_a_training_set_that_can_tell(run: Run, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="training set"):
        rating_plan(run, training_kappa=0.6)
    with pytest.raises(DataError, match="all known answers on empathy are the same"):
        rating_plan(run, training=gold_cases(tmp_path, 1), training_kappa=0.6)
    with pytest.raises(DataError, match="at most 1"):
        rating_plan(run, training=gold_cases(tmp_path), training_kappa=60.0)


def test_codes_have_gold_turns(run: Run) -> None:
    content = next(iter(run.transcripts())).to_json().decode()
    case = TrainingCase("elsewhere", {"question": {"0": "open", "2": "none"}}, content=content)
    options = {"rubrics": (QUESTION,), "raters": ("anna",), "overlap": 1, "per": 3}
    plan = rating_plan(run, mode="codes", gold=[case], **options)
    (gold,) = plan.gold
    keep_answers(run, plan, [rater_answer(gold.id, "anna", {"question__0": "open", "question__1": "open"})])
    (anna,) = plan_progress(Run(run.path), plan).quality
    assert (anna.gold, anna.right, anna.items) == (1, 0.5, 0)
    assert not np.isnan(anna.gold_kappa or 0.0)


def test_the_command_hides_gold_in_a_plan(run: Run, tmp_path: Path, call: Call) -> None:
    gold, training = gold_file(tmp_path, 12).name, gold_file(tmp_path, 5, "train").name
    options = ("--gold", gold, "--gold-share", "25%", "--training", training, "--training-kappa", ".6")
    _, err = works(call, "sample", "run", "--raters", "anna,ben", "--rubrics", "empathy,goal_alignment", *options)
    plan = read_plan(tmp_path / "plan.json", run)
    assert (len(plan.gold), plan.training_kappa) == (12, 0.6)
    assert sum(isinstance(plan.by_id[name], GoldItem) for name in plan.assignment["anna"]) == 4
    code, out, err = call("annotate", "status", "plan.json")
    assert (code, "How raters keep up" in out) == (0, True), err
    code, _, err = call("annotate", "status", "plan.json", "--live")
    assert (code, "--url" in err) == (2, True)
