"""Whatever the order and portions in which answers are pulled, the same ones count."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bedside.annotation.answer_store import keep_answers, latest_answers, read_store
from bedside.annotation.answers import RaterAnswer
from bedside.ratings.run import Run
from tests.annotation.study import EMPATHY, rating_plan

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
        assert latest_answers(read_store(run, plan)) == expected
        assert len(read_store(run, plan)) == len(answers)
        values = {
            (row["transcript_id"], row["rater"]): row["value"]
            for row in Run(run.path).ratings.iter_rows(named=True)
            if row["rater"].startswith("human:")
        }
        assert values == {
            (plan.by_id[item].transcript, f"human:{rater}"): float(answer.choices["empathy"][0])
            for (item, rater), answer in expected.items()
        }
