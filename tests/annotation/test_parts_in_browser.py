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
from tests.annotation.study import EMPATHY, JUDGE
from tests.annotation.test_composites import TREE, composite_study
from tests.annotation.test_corrected_lists import MYTH, listed, place
from tests.annotation.test_label_studio import (  # noqa: F401
    begin,
    browser_of,
    browser_of_all,
    key,
    next_task,
    server,
    studio,
    submit,
    tasks_of,
)
from tests.annotation.test_labelling_in_browser import shown, turn
from tests.annotation.test_links import MATCHING, link_study
from tests.conftest import Call, works

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


#: What two people click: empathy, and the concern (from 1; 0 is none) that each finding is linked to.
CLICKS: dict[str, dict[str, tuple[int, tuple[int, ...]]]] = {
    "anna": {
        "hidden-0": (4, (1, 0, 0)), "hidden-1": (2, (1,)), "hidden-2": (5, (1, 0, 2)), "hidden-3": (1, (0,)),
        "hidden-4": (3, (0, 0, 0)),
    },
    "ben": {
        "hidden-0": (4, (1, 0, 2)), "hidden-1": (3, (0,)), "hidden-2": (3, (1, 0, 2)), "hidden-4": (4, (0, 0, 0)),
    },
}  # fmt: skip


def test_two_people_share_a_project(
    studio: own.OwnServer, server: LabelStudioClient, tmp_path: Path, call: Call,  # noqa: F811
) -> None:  # fmt: skip
    """Ben skips a conversation; anna goes back to hers and changes it: the ratings are what was clicked last."""
    run = link_study(tmp_path, 5)
    plan = make_plan(run, mode="rate", rubrics=(EMPATHY, MATCHING), raters=("anna", "ben"), overlap=2)
    (address,) = push(plan, run, server).projects.values()
    names = {task.id: plan.by_id[task.data["external_id"]].transcript for task in tasks_of(server, plan)}
    texts: dict[str, list[str]] = {"anna": [], "ben": []}
    with browser_of_all(studio, "anna", "ben") as pages:
        people = dict(zip(CLICKS, pages, strict=True))
        for page in pages:
            begin(page, address)
            shown(page)
            page.keyboard.press("Escape")  # the instructions
        for task in range(len(names)):
            for rater, page in people.items():
                name = names[next_task(page)]
                texts[rater] += texts_of(page)
                if (rater, task) == ("anna", len(names) - 1):
                    texts[rater] += change_empathy(page, names, "hidden-2", 5, 3)
                    while names[next_task(page)] != name:
                        page.get_by_test_id("next-task").click()
                if name in CLICKS[rater]:
                    rate(page, rater, *CLICKS[rater][name])
                    submit(page)
                else:
                    page.get_by_role("button", name="Skip").click()
                    page.wait_for_timeout(1000)
    # Who goes back sees what they wrote, and not what the other did; nobody sees a system.
    assert "by anna" in texts["anna"]
    assert not [text for text in (*texts["anna"], *texts["ben"]) for name in ("by ben", "Secret") if name in text]
    assert "by anna" not in texts["ben"]
    kept = pull(plan, run, server).stored
    assert (kept.submitted, kept.skipped, kept.unfinished) == (9, 1, 0)
    rows = rows_of_people(run, "empathy", "concern_matching").filter(pl.col("error").is_null())
    found = {(who, name, metric): value for who, name, metric, value in rows.select(
        "rater", "transcript_id", "metric", "value").iter_rows()}  # fmt: skip
    changed = {**CLICKS, "anna": {**CLICKS["anna"], "hidden-2": (3, (1, 0, 2))}}
    assert found == {
        (f"human:{rater}", name, metric): value
        for rater, clicks in changed.items()
        for name, (level, links) in clicks.items()
        for metric, value in (("empathy", level), ("concern_matching", sum(link > 0 for link in links)))
    }
    out, _ = works(call, "agree", run.path, "--json")
    kappas = {
        row["metric"]: (row["units"], row["estimate"])
        for row in json.loads(out)[0]["rows"]
        if row["between"] == "people" and row["statistic"] == "kappa"
    }
    # By hand. Empathy, of the 4 conversations of both: 4 2 3 3 and 4 3 3 4 are 2/4 apart, squared, and 16/16 by chance.
    assert kappas["empathy"] == (4, pytest.approx(1 - 2 / 4))
    # Of their 10 findings 8 are linked alike; to two concerns and to none 3, 1, 6 are by anna, and 2, 2, 6 by ben.
    assert kappas["concern_matching.link"] == (10, pytest.approx((0.8 - 0.44) / (1 - 0.44)))


def texts_of(page: Any) -> list[str]:
    """All that a page shows, in boxes and beside them."""
    boxes: list[str] = page.locator("textarea").evaluate_all("all => all.map(box => box.value)")
    return [*boxes, *page.locator("body").inner_text().splitlines()]


def rate(page: Any, rater: str, level: int, links: tuple[int, ...]) -> None:
    """Click a level, and what each finding is linked to, with the patient's words and its category."""
    empathy, matching = (page.locator(".bedside-rubric").nth(place) for place in (0, 1))
    empathy.locator(".lsf-choice label").nth(level - 1).click()
    empathy.get_by_placeholder("Why").fill(f"by {rater}")
    for row, link in enumerate(links):
        # Of the entries before this one, those with a link have two choices more: whether the category agrees.
        first = row * 4 + 2 * sum(before > 0 for before in links[:row])
        matching.locator(".lsf-choice:visible label").nth(first + (link or 4) - 1).click()
        page.wait_for_timeout(300)
        if link:
            matching.locator(".lsf-choice:visible label").nth(first + 4).click()
            page.keyboard.press(f"Shift+{row + 2}")
            turn(page, 1 if link == 1 else 3).locator("button[aria-label='Label whole utterance']").click()
            page.wait_for_timeout(300)


def change_empathy(page: Any, names: dict[int, str], name: str, before: int, after: int) -> list[str]:
    """Go back to a conversation, and change what was said of it; what is there."""
    while names[next_task(page)] != name:
        page.get_by_test_id("prev-task").click()
    texts, empathy = texts_of(page), page.locator(".bedside-rubric").nth(0)
    assert empathy.locator("input:checked").get_attribute("name").startswith(f"{before}: ")
    empathy.locator(".lsf-choice label").nth(after - 1).click()
    page.wait_for_timeout(300)
    with page.expect_response(lambda reply: reply.request.method == "PATCH" and "/annotations" in reply.url) as reply:
        page.get_by_test_id("bottombar-update-button").click()
    assert reply.value.ok
    return texts
