"""The researcher's page and an adjudicator's queue in a real browser, while raters rate: on a screen and on a phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bedside.annotation.assignment_by_need import WorkDone, need_design, stop
from bedside.annotation.page_words import page_words
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from tests.annotation.builders import gold_cases
from tests.annotation.rating_page.pages import serving
from tests.annotation.rating_page.recruiting import write_study
from tests.annotation.rating_page.test_page_in_browsers import (
    LOWEST_CONTRAST,
    axe_finds_nothing,
    has_left,
    opened,
    title,
)
from tests.annotation.rating_page.test_study_page import Browser, done, levels
from tests.annotation.study import new_study, rating_plan

pytestmark = [pytest.mark.server, pytest.mark.slow]


def reads_well(page: Any, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ratio, element = page.evaluate(LOWEST_CONTRAST)
    assert ratio >= 4.5, element
    axe_finds_nothing(page)


def cells(page: Any, name: str) -> list[list[str]]:
    """The rows of a table in sight."""
    rows = page.locator(f"#table-{name} tbody tr:not(.group)").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


@pytest.mark.parametrize("width", [1280, 360])
def test_the_researcher_watches(browser: Any, tmp_path: Path, width: int) -> None:
    run = new_study(tmp_path, cases=10)
    plan = rating_plan(run, overlap=3, by=("system",), training=gold_cases(tmp_path, 2), training_kappa=0.1)
    with serving(plan, run) as served:
        raters = Browser(served)
        hosts: set[str] = set()
        page = opened(browser, served.researcher, None if width == 360 else hosts, width, 800)
        page.locator("#table-status").wait_for()
        assert cells(page, "status")[0][:4] == ["all items", "0", "0", "20"]
        for name in ("anna", "ben"):
            for place, item in enumerate(raters.items(name)):
                raters.hand_in(name, item["item"], levels(1 + place % 5, 5 - place % 5), seconds=40 + place)
        raters.until("?", "/study", lambda study: done(study)["ben"] == 20)
        # It comes by itself, and whoever is in a table stays there.
        region = page.get_by_role("region", name="Where the raters are")
        region.focus()
        page.locator("#done", has_text="40 of 60 answers in").wait_for(timeout=40_000)
        page.locator("#table-agreement").wait_for(timeout=40_000)
        assert region.evaluate("region => region === document.activeElement")
        first, *_ = cells(page, "status")
        assert first == ["all items", "20", "0", "0", "52 s", "0 s"]
        texts = page.locator("main").inner_text()
        assert "passed" in texts
        page.locator("#table-agreement summary").click()
        page.get_by_text("Agreement: share of pairs of raters that say the same.").wait_for()
        assert page.locator("#time").inner_text().startswith("As of ")
        page.screenshot(path=tmp_path / "study.png", full_page=True)
        if width == 1280:
            assert hosts == {served.address.removeprefix("http://")}
        else:
            reads_well(page, width)
        served.kill()
        page.get_by_text("The server can't be reached. The same command starts it again. The numbers are of").wait_for()
        assert page.locator("#table-agreement").is_visible()
        if width == 360:
            axe_finds_nothing(page)
        served.start()
        page.get_by_text("As of ").wait_for()
        # A rater's link opens nothing here, and this one no items.
        other = opened(browser, f"{served.address}/files/study.html#{served.secret('anna')}")
        other.get_by_text("This link doesn't open the page.").wait_for()
        axe_finds_nothing(other)
        other = opened(browser, f"{served.address}/#{served.researcher.partition('#')[2]}")
        other.get_by_text("This link doesn't open that.").wait_for()


def test_trouble_is_in_sight(browser: Any, tmp_path: Path) -> None:
    run = new_study(tmp_path)
    with serving(rating_plan(run), run) as served:
        raters = Browser(served)
        page = opened(browser, served.researcher)
        page.locator("#table-status").wait_for()
        with Run(run.path).locked():
            raters.hand_in("anna", raters.items("anna")[0]["item"], levels(2))
            page.get_by_text("1 answer on the way into the run.").wait_for()
            page.locator(".notice", has_text="Answers are kept, and not in the run yet").wait_for()
            axe_finds_nothing(page)
        page.locator(".notice", has_text="Answers go into the run again.").wait_for()
        page.screenshot(path=tmp_path / "trouble.png")
        assert page_folder(run, rating_plan(run)).database.is_file()


@pytest.mark.parametrize("width", [1280, 360])
def test_an_adjudicator_settles_what_comes(browser: Any, tmp_path: Path, width: int) -> None:
    run = new_study(tmp_path)
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    items = [item.id for item in plan.items]
    with serving(plan, run, "--adjudicator", "dora") as served:
        raters = Browser(served)
        page = opened(browser, served.links["dora"], None, width, 800, often="page.js")
        page.get_by_text("Nothing is to be settled now.").wait_for()
        reads_well(page, width)
        for item in items[:2]:
            raters.hand_in("anna", item, levels(1), reason__empathy="too short")
            raters.hand_in("ben", item, levels(4))
        page.get_by_text("Conversation 2 of 2: open").wait_for(timeout=40_000)
        assert page.locator(".items button").all_inner_texts() == [
            "Conversation 1 of 2: open", "Conversation 2 of 2: open"
        ]  # fmt: skip
        page.locator(".items button").first.click()
        page.locator("fieldset").first.wait_for()
        assert page.locator("fieldset").count() == 1
        said = page.locator(".judged").inner_text()
        assert "too short" in said
        assert not [name for name in ("anna", "ben") if re.search(rf"\b{name}\b", page.locator("body").inner_text())]
        reads_well(page, width)
        page.screenshot(path=tmp_path / "settling.png", full_page=True)
        for _ in range(2):
            before = title(page)
            page.locator("input[name=empathy][value='3']").click()
            page.get_by_role("button", name="Hand in").click()
            has_left(page, before)
        page.get_by_text("Nothing is to be settled now.").wait_for()
        # What comes later joins the same list.
        for rater, level in (("anna", 5), ("ben", 2)):
            raters.hand_in(rater, items[2], levels(3, level))
        page.get_by_text("Conversation 3 of 3: open").wait_for(timeout=40_000)
        page.get_by_text("Conversation 3 of 3: open").click()
        page.locator("input[name=goal_alignment]").first.wait_for()
        assert page.locator("fieldset legend").all_inner_texts()[0].startswith("1. ")
        page.screenshot(path=tmp_path / "later.png", full_page=True)


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_what_is_said_is_in_every_language(language: str) -> None:
    words = page_words(language)
    assert words.say("other_link") != words.say("nothing_to_settle_now")


@pytest.mark.parametrize("width", [1280, 360])
def test_who_comes_when_it_is_enough_is_told_kindly(browser: Any, tmp_path: Path, width: int) -> None:
    """And who was invited has help where risk is rated."""
    run = new_study(tmp_path)
    plan = rating_plan(run, raters=("rater-1", "anna"), overlap=2, rubrics=(RUBRICS.load("safety"),))
    study = write_study(tmp_path / "study")
    with serving(plan, run, "--study", str(study), "--until", "mean±.2") as served:
        page = opened(browser, served.links["anna"], None, width, 800)
        page.get_by_role("button", name="Begin").click()
        page.locator(".help", has_text="116 123").wait_for()
        reads_well(page, width)
        page.screenshot(path=tmp_path / "help.png")
        stop(run, need_design(run, plan), WorkDone())
        link = served.enrolment.replace("{{%PROLIFIC_PID%}}", "abc").replace("{{%STUDY_ID%}}", "s")
        page = opened(browser, link.replace("{{%SESSION_ID%}}", "t"), None, width, 800)
        page.get_by_text("this study has all the ratings that it needs").wait_for()
        assert page.locator("output.code").inner_text() == "C4"
        reads_well(page, width)
        page.screenshot(path=tmp_path / "closed.png")
