"""Flows and lists on Label Studio's own page: what shows when, and the same ratings as were chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.annotation import label_studio_server as own
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import pull, push
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.run import Run
from tests.annotation.builders import COST, FEAR, FINDINGS, people as rows_of_people
from tests.annotation.study import JUDGE
from tests.annotation.test_composites import TREE, composite_study
from tests.annotation.test_corrected_lists import MYTH, listed, place
from tests.annotation.test_label_studio import begin, browser_of, key, server, studio, submit  # noqa: F401
from tests.annotation.test_labelling_in_browser import shown, turn
from tests.annotation.test_links import MATCHING, link_study

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.studio]


def of_one(run: Run, rubric: Rubric) -> AnnotationPlan:
    return make_plan(run, mode="rate", rubrics=(rubric,), raters=("anna",), overlap=1)


@contextmanager
def labelling(run: Run, plan: AnnotationPlan, studio: own.OwnServer, server: LabelStudioClient) -> Iterator[Any]:  # noqa: F811
    (address,) = push(plan, run, server).projects.values()
    with browser_of(studio, "anna") as page:
        begin(page, address)
        shown(page)
        page.keyboard.press("Escape")  # the instructions
        page.wait_for_timeout(500)
        yield page


def choose(page: Any, at: int) -> None:
    page.locator(".bedside-right .lsf-choice:visible label").nth(at).click()
    page.wait_for_timeout(400)


def labels(run: Run, column: str = "label") -> dict[str, Any]:
    rows = rows_of_people(run).filter(pl.col("error").is_null())
    return dict(rows.select("metric", column).iter_rows())


def test_a_flow_shows_the_next_question(studio: own.OwnServer, server: LabelStudioClient, tmp_path: Path) -> None:  # noqa: F811
    """Yes leads on, no ends it: one question more after each yes, and what follows from the answers is rated."""
    run = composite_study(tmp_path, 1)
    plan = of_one(run, TREE)
    with labelling(run, plan, studio, server) as page:
        choices = page.locator(".bedside-right .lsf-choice:visible")
        assert choices.count() == 2
        choose(page, 0)
        assert choices.count() == 4
        choose(page, 3)
        assert choices.count() == 4, "no ends it"
        choose(page, 2)
        assert choices.count() == 6
        choose(page, 4)
        submit(page)
    pull(plan, run, server)
    assert labels(run) == {"tree_1": "Yes", "tree_2": "Yes", "tree_3": "Yes", "tree_d": "deep"}


def test_lists_are_linked_and_words_marked(studio: own.OwnServer, server: LabelStudioClient, tmp_path: Path) -> None:  # noqa: F811
    """The first finding is the first concern, of its category and by turn 1; the other two are none."""
    run = link_study(tmp_path, 1)
    plan = of_one(run, MATCHING)
    with labelling(run, plan, studio, server) as page:
        choices = page.locator(".bedside-right .lsf-choice:visible")
        assert choices.count() == 3 * 4
        choose(page, 0)
        assert choices.count() == 3 * 4 + 2, "whether the category agrees is asked of a link"
        choose(page, 4)
        page.keyboard.press("Shift+1")
        turn(page, 1).locator("button[aria-label='Label whole utterance']").click()
        page.wait_for_timeout(300)
        choose(page, 4 + 2 + 3)
        choose(page, 4 + 2 + 4 + 3)
        submit(page)
    pull(plan, run, server)
    # By hand: of 3 findings and 3 concerns one is linked.
    rated = labels(run, "value")
    assert rated["concern_matching"] == 1
    assert rated["concern_precision"] == rated["concern_recall"] == pytest.approx(1 / 3)


def test_a_judges_list_is_corrected(studio: own.OwnServer, server: LabelStudioClient, tmp_path: Path) -> None:  # noqa: F811
    """The first entry is kept in better words, the second moved, the third removed, and one added."""
    run, every = listed(tmp_path)
    others = [(item.transcript, "transcript") for item in every.items if place(every, item.id)]
    plan = make_plan(
        run, mode="audit", rubrics=(FINDINGS,), raters=("anna",), overlap=1, judge=JUDGE, without=others
    )  # fmt: skip
    with labelling(run, plan, studio, server) as page:
        choices = page.locator(".bedside-right .lsf-choice:visible")
        assert choices.count() == 3 * 5 + 2
        for at in (1, 5, 14):
            choose(page, at)
        page.get_by_placeholder("In better words").first.fill("Afraid of the pain")
        choose(page, 15)
        assert choices.count() == 3 * 5 + 2 + 4
        choose(page, 20)
        box = page.locator(f".bedside-rubric input[name^='{FINDINGS.name}__3']")
        box.fill("Travels far")
        box.press("Enter")
        page.wait_for_timeout(300)
        submit(page)
    pull(plan, run, server)
    (reason,) = rows_of_people(run, f"{FINDINGS.name}.audited")["reason"]
    made = [(one["category"], one["text"], "of_judge" in one) for one in json.loads(reason)["findings"]]
    assert made == [
        (FEAR, "Afraid of the pain", True), (MYTH, "Trusts herbs", True), (COST, "Travels far", False),
    ]  # fmt: skip
