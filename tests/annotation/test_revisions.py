"""Which revision of an answer counts, whatever the order and portions in which answers are pulled."""

from __future__ import annotations

import json
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers, read_store, restore_answer
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.plan_file import write_plan
from bedside.core.errors import InputError
from bedside.ratings.run import Run
from tests.annotation.study import EMPATHY, rating_plan
from tests.conftest import Call

#: Item's number, rater, level and the minute of the change: at most one answer a rater, item and minute.
_ANSWERS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(("anna", "ben")), st.integers(1, 5), st.integers(10, 59)),
    max_size=12,
    unique_by=lambda answer: (answer[0], answer[1], answer[3]),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(given_answers=_ANSWERS, cuts=st.lists(st.integers(0, 12), max_size=3), data=st.data())
def test_order_and_portions_do_not_matter(
    study_folder: Path, given_answers: list[tuple[int, str, int, int]], cuts: list[int], data: Any
) -> None:
    with tempfile.TemporaryDirectory() as name:
        run = Run(shutil.copytree(study_folder, Path(name) / "run"))
        plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4)
        answers = [
            RaterAnswer(
                plan.items[item].id, rater, "submitted", {"empathy": (str(level),)},
                id=f"{item}{rater}", updated=f"2026-01-01T00:{minute}:00Z",
            )
            for item, rater, level, minute in given_answers
        ]  # fmt: skip
        order = data.draw(st.permutations(answers))
        # Some come twice, as they do where a pull is repeated.
        edges = sorted({0, len(order), *(min(cut, len(order)) for cut in cuts)})
        for start, end in pairwise(edges):
            keep_answers(run, plan, order[max(0, start - 1) : end])
        expected = {}
        for answer in sorted(answers, key=lambda answer: answer.updated):
            expected[answer.item, answer.rater] = answer
        assert read_store(run, plan).answers() == expected
        assert len(read_store(run, plan).revisions) == len(answers)
        values = {
            (row["transcript_id"], row["rater"]): row["value"]
            for row in Run(run.path).ratings.iter_rows(named=True)
            if row["rater"].startswith("human:")
        }
        assert values == {
            (plan.by_id[item].transcript, f"human:{rater}"): float(answer.choices["empathy"][0])
            for (item, rater), answer in expected.items()
        }


def said(item: str, level: int, *, at: str, by: str | None = None, name: str = "annotation 1") -> RaterAnswer:
    """What anna said of an item, as a server has it."""
    return RaterAnswer(
        item, "anna", "submitted", {"empathy": (f"{level}",)}, id=name,
        updated=f"2026-01-01T00:{at}:00Z", changed_by=by,
    )  # fmt: skip


@pytest.fixture
def study(run: Run) -> tuple[Run, AnnotationPlan, str]:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4)
    return run, plan, plan.assignment["anna"][0]


def level_of(run: Run, plan: AnnotationPlan, item: str) -> float | None:
    ratings = Run(run.path).ratings.filter(
        pl.col("rater") == "human:anna", pl.col("transcript_id") == plan.by_id[item].transcript
    )
    return ratings["value"][0] if ratings.height else None


def test_what_a_server_holds_counts_whatever_its_clock_says(study: tuple[Run, AnnotationPlan, str]) -> None:
    run, plan, item = study
    keep_answers(run, plan, [said(item, 2, at="30")], current=True)
    kept = keep_answers(run, plan, [said(item, 5, at="10")], current=True)
    assert (kept.revised, level_of(run, plan, item)) == (1, 5)
    # An export that was saved before is older than what the server holds now.
    assert keep_answers(run, plan, [said(item, 2, at="30")]).unchanged == 1
    assert keep_answers(run, plan, [said(item, 5, at="10")], current=True).unchanged == 1
    assert level_of(run, plan, item) == 5


def test_what_somebody_else_made_of_an_answer_counts_only_where_it_is_restored(
    study: tuple[Run, AnnotationPlan, str],
) -> None:
    run, plan, item = study
    keep_answers(run, plan, [said(item, 2, at="10")], current=True)
    changed = said(item, 5, at="20", by="ben")
    kept = keep_answers(run, plan, [changed], current=True)
    assert (kept.changed_by, level_of(run, plan, item)) == ({"ben": 1}, 2)
    restored = restore_answer(run, plan, 1)
    assert (restored.changed_by, level_of(run, plan, item)) == ({}, 5)
    # The server holds the same as before: nothing new, and what was restored stands.
    assert keep_answers(run, plan, [changed], current=True).unchanged == 1
    assert level_of(run, plan, item) == 5
    keep_answers(run, plan, [said(item, 3, at="40")], current=True)
    assert level_of(run, plan, item) == 3
    assert [revision.restored for revision in read_store(run, plan).revisions] == [None, None, 1, None]
    with pytest.raises(InputError, match="revision 3 counts already"):
        restore_answer(run, plan, 3)
    with pytest.raises(InputError, match="no revision 9"):
        restore_answer(run, plan, 9)


def test_an_answer_known_only_as_somebody_else_changed_it_is_no_answer(
    study: tuple[Run, AnnotationPlan, str],
) -> None:
    run, plan, item = study
    kept = keep_answers(run, plan, [said(item, 5, at="20", by="ben")], current=True)
    assert (kept.new, kept.submitted, kept.changed_by) == (0, 0, {"ben": 1})
    assert level_of(run, plan, item) is None


def test_the_command_shows_and_restores(
    study: tuple[Run, AnnotationPlan, str], call: Call, tmp_path: Path
) -> None:
    run, plan, item = study
    write_plan(plan, tmp_path / "my plan.json")
    keep_answers(run, plan, [said(item, 2, at="10")], current=True)
    keep_answers(run, plan, [said(item, 5, at="20", by="ben")], current=True)
    command = ("annotate", "revisions", "my plan.json", "--run", run.path)
    code, out, _ = call(*command)
    assert code == 0
    assert ("empathy 2" in out, "empathy 5" in out, "ben" in out) == (True, True, True)
    code, out, _ = call(*command, "--restore", 1, "--json")
    assert code == 0
    rows = json.loads(out)[0]["rows"]
    assert [(row["number"], row["changed_by"], row["counts"]) for row in rows] == [
        (0, None, False), (1, "ben", False), (2, "ben", True),
    ]  # fmt: skip
