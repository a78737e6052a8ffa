"""What pages for raters say is the same in every language, and nothing that a reader sees stands outside the words."""

from __future__ import annotations

import re
import string
from importlib.resources import files

import pytest

from bedside.annotation.annotation_plan import TrainingItem
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.page_words import page_words
from bedside.annotation.rating_page.page_state import page_questions, training_feedback
from bedside.judges.rubrics.prompt_words import languages
from bedside.ratings.run import Run
from tests.annotation.translated_plans import translated_plan

SCRIPTS = ("page.js", "questions.js", "conversation.js", "server.js")
PAGE = files("bedside.annotation.rating_page").joinpath("files")
#: Names, symbols and words that the languages share, by language.
SAME = {"de": {"key_notes", "patient", "said_of"}, "zh": {"key_notes"}}
#: What scripts say to browsers and servers, not to readers.
UNSEEN = {"Clinician", "Content-Type", "Enter", "Escape", "GET", "PUT"}


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("tag", languages())
def test_every_language_says_the_same_things(tag: str) -> None:
    english, other = page_words("en").texts, page_words(tag).texts
    assert list(other) == list(english)
    assert {key: places(text) for key, text in other.items()} == {
        key: places(text) for key, text in english.items()
    }
    if tag != "en":
        assert {key for key, text in other.items() if text == english[key]} == SAME[tag]


def test_every_text_is_said_by_the_page_and_there_is_a_text_for_all_that_it_says() -> None:
    scripts = "".join(PAGE.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    said = set(re.findall(r'say\("(\w+)"', scripts))
    said |= {f"{key}_{form}" for key in re.findall(r'counting\("(\w+)"', scripts) for form in ("one", "many")}
    assert len(said) > 60
    assert said <= set(page_words("en").texts)


def test_scripts_and_page_hold_no_words_of_their_own() -> None:
    for name in SCRIPTS:
        code = re.sub(r"(?m)^\s*(//|/?\*).*$|/\*\*.*?\*/", "", PAGE.joinpath(name).read_text("utf-8"))
        literals = re.findall(r'"([^"\n]*)"', code) + re.findall(r"`([^`\n]*)`", code)
        texts = [re.sub(r"\$\{[^}]*\}", "", text) for text in literals]
        wordy = {text for text in texts if re.search(r"\b[A-Z][a-z]+|[a-z]{2,} [a-z]{2,}.*[.?!]", text)}
        assert wordy <= UNSEEN | {text for text in wordy if text.startswith("Bearer ")}, name
    page = PAGE.joinpath("page.html").read_text("utf-8")
    seen = re.sub(r"<[^>]*>|\{\w+\}", "", page)
    assert not seen.strip()


@pytest.mark.parametrize("tag", languages())
def test_the_page_says_its_language(tag: str) -> None:
    page = page_words(tag).page(PAGE.joinpath("page.html").read_bytes()).decode()
    assert f'<html lang="{tag}">' in page
    assert page_words(tag).say("loading") in page
    assert "{" not in page


def test_a_label_is_shown_by_its_title_and_recorded_as_it_is(run: Run) -> None:
    plans = {tag: translated_plan(run, "findings", tag) for tag in ("en", "de")}
    fields = {tag: page_questions(plan)[0]["entries"] for tag, plan in plans.items()}
    assert [entry["field"] for entry in fields["de"]] == [entry["field"] for entry in fields["en"]]
    assert fields["en"][2]["title"] == "communication barrier"
    assert fields["de"][2]["title"] == "Verständigungshindernis"
    answer = RaterAnswer(
        plans["de"].items[0].id, "dora", "submitted", {"finding_extraction": ("listed",)},
        {"finding_extraction__2": ("kein Dolmetscher",)},
    )  # fmt: skip
    known = [{"category": "financial or insurance concern", "text": "Zuzahlung"}]
    item = TrainingItem(id=answer.item, transcript="t", answers={"finding_extraction": known})
    others = tuple(other for other in plans["de"].items if other.id != answer.item)
    plan = plans["de"].model_copy(update={"items": others, "training": (item,)})
    (line,) = training_feedback(plan, answer, {})
    assert line["own"] == "Verständigungshindernis: kein Dolmetscher"
    assert line["known"] == "Sorge um Kosten oder Versicherung: Zuzahlung"
