"""The rating page in German and Chinese in a real browser: every mode that translated rubrics can be rated in."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bedside.annotation.answer_store import read_store
from bedside.annotation.fields import LISTED
from bedside.annotation.page_words import page_words
from bedside.annotation.plan_file import read_plan
from bedside.ratings.run import Run
from tests.annotation.rating_page.server import ServedPage
from tests.annotation.rating_page.test_page_in_browsers import browser  # noqa: F401
from tests.annotation.translated_plans import translated_plan

pytestmark = [pytest.mark.server, pytest.mark.slow]

#: All that a reader sees or is read out, once each; what was said and written by people is marked.
TEXTS = """() => {
  const found = new Set();
  for (const element of document.querySelectorAll("body, body *")) {
    for (const name of ["aria-label", "title", "placeholder"]) found.add(element.getAttribute(name) ?? "");
    if (element.matches(".said, .instructions *") || !element.checkVisibility()) continue;
    for (const node of element.childNodes) if (node.nodeType === 3) found.add(node.data.trim());
  }
  found.add(document.title);
  return [...found];
}"""
#: Names of keys.
KEPT = {"Enter", "Ctrl", "Tab"}


@contextmanager
def rating(browser: Any, run: Run, name: str, language: str) -> Iterator[tuple[Any, ServedPage]]:  # noqa: F811
    """Dora's page of a plan."""
    served = ServedPage(translated_plan(run, name, language), run)
    served.start()
    try:
        # axe-core is put into the page from outside, which its policy wouldn't let in.
        page = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True).new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(served.links["dora"])
        yield page, served
        page.context.close()
    finally:
        if served.stands:
            served.kill()


def english_left(texts: set[str], language: str) -> set[str]:
    """Texts that the English page has, but for those that the language shares with it."""
    english, own = page_words("en").texts, page_words(language).texts
    patterns = []
    for key, text in english.items():
        fixed = [part for part, *_ in string.Formatter().parse(text.strip())]
        if text != own[key] and re.search("[A-Za-z]{3}", "".join(fixed)):
            patterns.append(re.compile(".+".join(map(re.escape, fixed))))
    return {text for text in texts if any(pattern.fullmatch(text) for pattern in patterns)}


def axe_finds_nothing(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.base").AXE_FILE_PATH.read_text("utf-8")
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


@pytest.mark.parametrize("language", ["de", "zh"])
@pytest.mark.parametrize("name", ["audit", "findings", "pairs", "adjudicate", "turns"])
def test_all_of_it_is_in_the_language_and_can_be_handed_in(
    run: Run, browser: Any, name: str, language: str  # noqa: F811
) -> None:  # fmt: skip
    words = page_words(language)
    texts: set[str] = set()
    with rating(browser, run, name, language) as (page, served):
        page.get_by_role("button", name=words.say("begin")).click()
        plan = read_plan(served.plan_file)
        for place in range(len(plan.items)):
            page.locator("fieldset").first.wait_for()
            if place == 0:
                texts |= _looked_through(page, language)
            _answer(page)
            before = page.locator("h1").inner_text()
            page.get_by_role("button", name=words.say("hand_in"), exact=True).click()
            page.locator("h1").and_(page.get_by_text(before, exact=True)).wait_for(state="detached")
        page.get_by_text(words.say("all_handed_in")).wait_for()
        texts |= set(page.evaluate(TEXTS))
        axe_finds_nothing(page)
        assert served.stop()[0] == 0
    assert english_left(texts, language) == set()
    if language == "zh":
        latin = {word for text in texts for word in re.findall("[A-Za-z]{3,}", text)}
        assert latin <= KEPT
    answers = read_store(Run(run.path), plan).answers()
    assert {answers[item.id, "dora"].state for item in plan.items} == {"submitted"}
    if name == "findings":
        assert {answer.choices["finding_extraction"] for answer in answers.values()} == {(LISTED,)}


def _looked_through(page: Any, language: str) -> set[str]:
    """What the first item says: as it is opened, where something is missing, where turns are marked, and of keys."""
    words = page_words(language)
    axe_finds_nothing(page)
    texts = set(page.evaluate(TEXTS))
    page.get_by_role("button", name=words.say("hand_in"), exact=True).click()
    page.locator(".wanted:not(:empty)").first.wait_for()
    texts |= set(page.evaluate(TEXTS))
    marking = page.get_by_role("button", name=words.say("mark_turns"))
    if marking.count():
        marking.first.click()
        page.locator("#turn-0 .marks button").click()
        texts |= set(page.evaluate(TEXTS))
        page.get_by_role("button", name=words.say("done_marking")).first.click()
    page.get_by_role("button", name=words.say("keys")).click()
    page.locator("dialog").wait_for()
    texts |= set(page.evaluate(TEXTS))
    page.get_by_role("button", name=words.say("close")).click()
    return texts


def _answer(page: Any) -> None:
    """The first choice of every question; of a list, one entry."""
    for group in page.locator("fieldset").all():
        group.locator("input").first.click()
    if page.locator(".entries textarea").count():
        page.locator(".entries textarea").first.fill("12 %")
