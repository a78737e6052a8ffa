"""How far raters are, training, and how lists agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.findings import f1, list_agreement, matched_entries
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.plan_progress import RaterShare, plan_progress
from bedside.annotation.training_cases import TrainingCase
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from bedside.reports.annotation import plan_tables, status_tables
from bedside.reports.renderers.markdown import markdown
from bedside.reports.renderers.records import json_text
from tests.annotation.study import EMPATHY, RATERS, USERS, exported, levels, rating_plan


def answer(run: Run, plan: AnnotationPlan, say: Any, **fields: Any) -> None:
    tasks = exported(plan, say, USERS, **fields)
    keep_answers(run, plan, read_export(plan, tasks, RATERS, where="x").answers)


def test_done_skipped_and_open_are_counted_by_stratum(run: Run) -> None:
    plan = rating_plan(run, by=("system",), raters=("anna", "ben"))
    done = {item.id for item in plan.items if item.stratum == 0}
    answer(run, plan, lambda item, rater: levels(item, rater) if rater == "anna" and item in done else None)
    found = plan_progress(run, plan)
    assert found.shares == (
        RaterShare("anna", None, 12, 6, 0, 60.0),
        RaterShare("anna", "GPT-Secret", 6, 6, 0, 60.0),
        RaterShare("anna", "Llama-Hidden", 6, 0, 0, None),
        RaterShare("ben", None, 12, 0, 0, None),
        RaterShare("ben", "GPT-Secret", 6, 0, 0, None),
        RaterShare("ben", "Llama-Hidden", 6, 0, 0, None),
    )
    assert found.shares[0].open == 6
    answer(
        Run(run.path),
        plan,
        lambda item, rater: levels(item, rater) if rater == "ben" else None,
        was_cancelled=True,
    )
    found = plan_progress(Run(run.path), plan)
    assert found.shares[3] == RaterShare("ben", None, 12, 0, 12, None)
    assert not [row for row in found.agreement if row.kind == "people"]


def test_agreement_so_far_is_of_the_plan_and_beside_the_judge(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=8)
    answer(run, plan, levels)
    found = plan_progress(Run(run.path), plan)
    kinds = {(row.metric, row.kind): row for row in found.agreement}
    assert kinds["empathy", "people"].units == 8
    assert kinds["empathy", "mean"].rater is not None
    for table in (*plan_tables(plan), *status_tables(plan, found)):
        assert markdown(table)
        assert json_text(table)


@pytest.mark.parametrize("right", [True, False])
def test_training_is_scored_and_the_median_time_is_of_the_items(run: Run, right: bool) -> None:
    names = run.index["id"][:2]
    cases = [TrainingCase(name, {"empathy": "4", "goal_alignment": "2"}) for name in names]
    plan = rating_plan(run, training=cases, raters=("anna",), overlap=1)
    said = {"empathy": "4" if right else "1", "goal_alignment": "2"}
    answer(run, plan, lambda item, rater: said)
    found = plan_progress(Run(run.path), plan)
    (trained,) = found.training
    assert (trained.answers, trained.score) == (4, 1.0 if right else 0.5)
    assert trained.off == (0.0 if right else 1.5)
    assert found.shares[1] == RaterShare("anna", "training", 2, 2, 0, 60.0)
    assert found.shares[0].assigned == 10


def test_training_in_codes_is_scored_by_turn(run: Run) -> None:
    case = TrainingCase(run.index["id"][0], {"question": {"0": "open", "2": "none"}})
    codes = (CODEBOOK.load("question"),)
    plan = rating_plan(run, mode="codes", rubrics=codes, training=(case,), raters=("anna",), overlap=1)
    answer(run, plan, lambda item, rater: {"question__0": "open", "question__1": "closed"})
    (trained,) = plan_progress(Run(run.path), plan).training
    assert (trained.answers, trained.right, trained.off) == (2, 1, None)


def test_training_of_lists_is_scored_by_what_is_matched(run: Run) -> None:
    fear = "emotional discomfort or fear"
    known = [
        {"category": fear, "text": "afraid of needles"},
        {"category": "communication barrier", "text": "no German"},
    ]
    case = TrainingCase(run.index["id"][0], {"finding_extraction": known})
    rubric = RUBRICS.load("finding_extraction")
    plan = rating_plan(run, mode="findings", rubrics=(rubric,), training=(case,), raters=("anna",), overlap=1)
    said = {"finding_extraction": "listed", "finding_extraction__1": ("text", "the needles make her afraid")}
    answer(run, plan, lambda item, rater: said)
    (trained,) = plan_progress(Run(run.path), plan).training
    assert trained.right == pytest.approx(2 / 3)


def test_answers_nobody_asked_for_and_changes_are_said(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    tasks = exported(plan, levels, USERS)
    mine = next(task for task in tasks if task["annotations"][0]["completed_by"] == 1)
    other = {**mine["annotations"][0], "completed_by": 2, "updated_by": 2, "unique_id": "x"}
    mine["annotations"].append(other)
    theirs = next(task for task in tasks if task["annotations"][0]["completed_by"] == 2)
    theirs["annotations"][0]["updated_by"] = 1
    keep_answers(run, plan, read_export(plan, tasks, RATERS, where="x").answers)
    found = plan_progress(Run(run.path), plan)
    assert (found.outside, found.changed_by) == (1, {"ben": {"anna": 1}})
    notes = " ".join(status_tables(plan, found)[0].notes)
    assert "Answers of ben were changed by somebody else, which doesn't count: 1 by anna." in notes


FEAR, COST = "fear", "cost"


def test_entries_match_by_label_and_wording() -> None:
    first = [(FEAR, "She is afraid of the needles"), (COST, "can't pay the insulin"), (FEAR, "alone at home")]
    second = [
        (FEAR, "needles frighten her; afraid"),
        (FEAR, "insulin is too much to pay"),
        (COST, "pays insulin herself"),
    ]
    # The needles, and the insulin under cost; the same under another label is not the same entry.
    assert matched_entries(first, second) == 2
    assert matched_entries(second, first) == 2
    assert matched_entries(first, []) == 0
    assert matched_entries(first, first) == 3


def test_two_alike_are_matched_once() -> None:
    assert (
        matched_entries([(FEAR, "afraid of dogs"), (FEAR, "afraid of dogs")], [(FEAR, "dogs: afraid")]) == 1
    )


_ENTRIES = st.lists(
    st.tuples(
        st.sampled_from((FEAR, COST)), st.sampled_from(("dog bites", "cat fur", "dog", "cat bites", "rent"))
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(_ENTRIES, _ENTRIES)
def test_matching_is_the_same_both_ways_and_no_more_than_there_is(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    matched = matched_entries(first, second)
    assert matched == matched_entries(second, first)
    assert matched <= min(len(first), len(second))
    assert matched_entries(first, first) == len(first)
    assert 0 <= f1(matched, len(first), len(second)) <= 1


def test_lists_agree_as_worked_out_by_hand() -> None:
    lists = {
        "anna": {"1": [(FEAR, "dogs"), (COST, "rent")], "2": [], "3": [(FEAR, "cats")]},
        "ben": {"1": [(FEAR, "dogs")], "2": [], "3": [(FEAR, "spiders")], "4": [(COST, "rent")]},
        "cleo": {"2": [(COST, "rent")]},
    }
    every, anna_ben, *_ = list_agreement(lists)
    # Items 1 to 3: 2·1/3, both empty, 0 (by label 2/3, 1, 1).
    assert anna_ben.raters == ("anna", "ben")
    assert (anna_ben.items, anna_ben.entries, anna_ben.matched) == (3, 5, 1)
    assert anna_ben.f1.estimate == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert anna_ben.by_label.estimate == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert every.raters == ("anna", "ben", "cleo")
    assert every.f1.estimate == pytest.approx(np.mean([2 / 3, 1, 0, 0, 0]))


def test_lists_are_in_the_status(run: Run) -> None:
    rubric = RUBRICS.load("finding_extraction")
    plan = rating_plan(run, mode="findings", rubrics=(rubric,), raters=("anna", "ben"))
    answer(
        run,
        plan,
        lambda item, rater: {"finding_extraction": "listed", "finding_extraction__0": ("text", rater)},
    )
    found = plan_progress(Run(run.path), plan)
    (pair,) = found.lists
    assert (pair.items, pair.entries, pair.matched, pair.f1.estimate, pair.by_label.estimate) == (
        12,
        24,
        0,
        0.0,
        1.0,
    )
    assert {table.name for table in status_tables(plan, found)} >= {"status", "lists"}


def test_a_plan_says_what_it_is(run: Run) -> None:
    plan = rating_plan(
        run, mode="audit", rubrics=(EMPATHY,), by=("length",), per=9, focus="disagreement", overlap=1
    )
    strata, raters = plan_tables(plan)
    notes = " ".join(strata.notes)
    assert "Fewer than wanted, so all there is: 10, 20." in notes
    assert "their ratings are not independent of it" in notes
    assert "no random sample" in notes
    assert "3 of 3 pairs of raters share no item" in " ".join(raters.notes)
    assert [record["drawn"] for record in strata.records] == [6, 6]
    assert replace(strata, notes=()).rows[-1].cells[0].text == "all"
