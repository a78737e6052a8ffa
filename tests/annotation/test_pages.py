"""What raters are shown and asked, in every language: all they need, nothing that tells systems; marked turns."""

from __future__ import annotations

import json
import re
import string
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.annotation import items
from bedside.annotation.annotation_plan import TrainingItem
from bedside.annotation.answers import in_order, listed_turns, mark_of, marked_turn, reason_with_evidence
from bedside.annotation.fields import LISTED, NONE, NOTHING
from bedside.annotation.items import dialogue, inputs_of, label_studio_tasks, problem
from bedside.annotation.labelling_page import instructions_page, labelling_page
from bedside.annotation.page_words import page_words
from bedside.annotation.rating_page.page_state import page_questions, training_feedback
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.prompt_words import languages
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run, write_manifest
from bedside.reports.build import cited
from bedside.transcripts.transcript import Transcript, Turn
from tests.annotation.builders import (
    ASKED,
    CLIENT_TALK,
    FINDINGS,
    QUESTION,
    controls,
    copy_of,
    odd_rubric,
    rater_answer,
    translated_plan,
)  # fmt: skip
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, rating_plan

NASTY = """$x <script>alert("1")</script> & 'q' ]]> <!-- {{idx}} \x0b"""
FIVE = ("1", "2", "3", "4", "5")


def first_shown(run: Run, **options: Any) -> dict[str, Any]:
    """What the first task of a plan shows."""
    data: dict[str, Any] = label_studio_tasks(rating_plan(run, **options), run)[0]["data"]
    return data


# -- tasks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "rate"}, {"mode": "findings", "rubrics": (FINDINGS,)},
        {"mode": "codes", "rubrics": (QUESTION, CLIENT_TALK)},
    ],
    ids=lambda options: options["mode"],
)  # fmt: skip
def test_nothing_gives_away_system_case_file_or_judge(run: Run, options: dict[str, Any]) -> None:
    plan = rating_plan(run, **options)
    for rater in (None, "anna"):
        text = json.dumps(label_studio_tasks(plan, run, rater)).casefold()
        for word in (*SYSTEMS, "secretfile", "hushcase", "in.jsonl", JUDGE, "Because", "bot", "length"):
            assert word.casefold() not in text, word


def test_a_rater_gets_their_items_in_their_order_which_titles_say(run: Run) -> None:
    plan = rating_plan(run, per=6)
    shown = items.shown_by_item(plan, run)
    for rater, order in plan.assignment.items():
        tasks = [task["data"] for task in label_studio_tasks(plan, run, rater)]
        assert tuple(data["external_id"] for data in tasks) == order
        numbers = range(1, len(tasks) + 1)
        assert [data["title"] for data in tasks] == [f"Conversation {at} of {len(tasks)}" for at in numbers]
        # A title is no part of an item's content.
        assert all(items.lasting_content(data) == shown[data["external_id"]] for data in tasks)
    assert len(label_studio_tasks(plan, run)) == 6


def test_what_a_rubric_needs_is_shown_and_only_then(run: Run) -> None:
    assert first_shown(run, per=2)["input_goal"].startswith("sleep better")
    without = first_shown(run, per=2, rubrics=(EMPATHY,))
    assert set(without) == {"external_id", "title", "dialogue"}
    assert [turn["speaker"] for turn in without["dialogue"][:2]] == ["Clinician", "Patient"]
    assert without["dialogue"][1]["text"] == 'Hard <b>&</b> "long"\nvery.'
    assert "$input_" not in labelling_page(rating_plan(run, rubrics=(EMPATHY,)))


def test_in_an_audit_score_and_reason_of_the_judge_are_shown(run: Run) -> None:
    data = first_shown(run, mode="audit", rubrics=(EMPATHY,))
    assert data["judge_empathy"] in FIVE
    assert data["judge_reason_empathy"] == "Because."
    marks = [data[f"judge_mark_empathy_{number}"] for number in range(5)]
    assert [number for number, mark in enumerate(marks, 1) if mark] == [int(data["judge_empathy"])]
    assert not any(word in json.dumps(data) for word in (JUDGE, *SYSTEMS))


def test_a_turn_is_shown_with_what_came_before(run: Run) -> None:
    plan = rating_plan(run, rubrics=(RUBRICS.load("open_question"),))
    for task, item in zip(label_studio_tasks(plan, run), plan.items, strict=True):
        last = int(item.unit.removeprefix("turn:"))
        assert (len(task["data"]["dialogue"]), task["data"]["rated_turn"]) == (last + 1, str(last))


def test_coded_turns_are_those_of_the_codes_roles_marked_in_the_order_spoken(run: Run) -> None:
    data = first_shown(run, mode="codes", rubrics=(CLIENT_TALK,))
    assert [turn["turn"] for turn in data["patient_turns"]] == ["1", "3"]
    assert "clinician_turns" not in data
    assert data["patient_turns"][1] == {"turn": "3", **data["dialogue"][3]}
    plan = rating_plan(run, mode="codes", rubrics=(CLIENT_TALK, QUESTION))
    (marks,) = label_studio_tasks(plan, run)[0]["predictions"]
    regions = [mark["value"] for mark in marks["result"]]
    assert [region["start"] for region in regions] == ["0", "1", "2", "3"]
    assert [region["paragraphlabels"] for region in regions] == [["Clinician"], ["Patient"]] * 2
    emoji = Transcript("t", (Turn(0, "patient", "x", "so 😀\n tired"),))
    (mark,) = items.turn_marks(page_words("en"), (CLIENT_TALK,), emoji)
    assert mark["value"]["endOffset"] == len("so 😀\n tired") + 1  # a browser counts an emoji as two


def test_what_no_database_takes_is_made_visible() -> None:
    odd = Turn(0, "patient", "x", "a\x00b\ud800c\x1b[1m\td\ne")
    words = page_words("en")
    shown = dialogue(words, Transcript("t", (odd, Turn(1, "clinician", "y", "  "))))
    assert [turn["text"] for turn in shown] == ["a�b�c�[1m\td\ne", words.say("nothing_said")]
    json.dumps(shown).encode()


def test_inputs_are_written_as_lines() -> None:
    concerns = [{"category": "fear", "text": "needles"}, "cost"]
    talk = Transcript("t", (), reference={"concerns": concerns, "submitted_findings": "none"})
    expected = {"submitted_findings": "none", "concerns": "1. category: fear; text: needles\n2. cost"}
    assert inputs_of((RUBRICS.load("concern_matching"),), talk) == expected


HELLO = (Turn(0, "patient", "x", "hello"),)


@pytest.mark.parametrize(
    ("rubric", "turns", "reason"),
    [
        (EMPATHY, (), "no turns"), (GOAL, HELLO, "no goal"), (QUESTION, HELLO, "no turn of the clinician"),
        (EMPATHY, HELLO, None), (EMPATHY, (*HELLO, replace(HELLO[0], index=1)), "too long for a page"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_says_why(
    rubric: Rubric, turns: tuple[Turn, ...], reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MAX_TURNS", 1)
    said = problem((rubric,), Transcript("t", turns))
    assert said == reason or (len(turns) == 2 and str(said).startswith(str(reason)))


def test_what_became_too_long_or_was_not_judged_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,))
    kept = run.ratings.filter(pl.col("transcript_id") != plan.items[0].transcript)
    kept.write_parquet(run.path / "ratings.parquet")
    write_manifest(run.path, run.manifest)
    with pytest.raises(DataError, match=f"{JUDGE} has not rated transcript"):
        label_studio_tasks(plan, Run(run.path))
    short = rating_plan(run, per=2)
    monkeypatch.setattr(items, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="too long for a page"):
        label_studio_tasks(short, run)


# -- turns marked as evidence -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "turns"),
    [
        ("3; 5", "3 5"), ("turns 5, 3 and 3", "3 5"), ("[2]\nTurn 4", "2 4"), ("1-3; 7", "1 2 3 7"), ("", ""),
        *((cell, None) for cell in ("3.5", "the second", "5-3", "0-99999", "-1")),
    ],
)  # fmt: skip
def test_a_cell_names_turns(cell: str, turns: str | None) -> None:
    if turns is not None:
        assert listed_turns(cell) == tuple(turns.split())
    else:
        with pytest.raises(ValueError, match="is not the number of a turn"):
            listed_turns(cell)


def test_marks_are_in_the_order_of_turns() -> None:
    assert in_order([mark_of(10), mark_of(2, " so\n hard "), mark_of(10)]) == ("2: so hard", "10")
    assert marked_turn("2: so hard") == 2
    with pytest.raises(ValueError, match="names no turn"):
        marked_turn("two")


@pytest.mark.parametrize(
    ("reason", "marks", "expected", "turns"),
    [
        (
            "It names the worry.", ("0", "2", '1: I "can\'t" sleep'),
            "It names the worry. Evidence: turns 0, 2; turn 1 “I 'can't' sleep”.", {0, 1, 2},
        ),
        ("", ("1: can't sleep at",), "Evidence: turn 1 “can't sleep at”.", {1}),
        ("Because.", (), "Because.", set()),
    ],
)  # fmt: skip
def test_reports_find_the_turns_that_a_rater_marked(
    reason: str, marks: tuple[str, ...], expected: str, turns: set[int]
) -> None:
    texts = ["a", "I can't sleep at night", "c"]
    talk = Transcript("t", tuple(Turn(n, "patient", "x", text) for n, text in enumerate(texts)))
    assert reason_with_evidence(reason, marks) == expected
    assert {mark.turn for mark in cited(expected, talk) if mark.why == "named in the reason"} == turns


# -- Label Studio's page ----------------------------------------------------------------------------


def test_rate_asks_every_level_and_shows_its_descriptor(run: Run) -> None:
    page = labelling_page(rating_plan(run))
    assert controls(page) == {
        "empathy": FIVE, "goal_alignment": FIVE, "reason__empathy": (), "reason__goal_alignment": (),
        "evidence__empathy": ("evidence",), "evidence__goal_alignment": ("evidence",), "notes": (),
        "$chat": ("$dialogue",),
    }  # fmt: skip
    root = ElementTree.fromstring(page)
    texts = [choice.get("value", "") for choice in root.iter("Choice")]
    for rubric in (EMPATHY, GOAL):
        assert {f"{level.value}: {level.descriptor}" for level in rubric.shown().scale} <= set(texts)
    inputs = [text.get("value") for text in root.iter("Text") if "shown__" in text.get("name", "")]
    assert inputs == ["$input_goal"]
    assert [choice.get("hotkey") for choice in root.iter("Choice")] == list("12345qwert")
    assert all(control.get("required") == "true" for control in root.iter("Choices"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "audit", "rubrics": (EMPATHY,)}, {"empathy": FIVE, "evidence__empathy": ("evidence",)}),
        ({"mode": "findings", "rubrics": (FINDINGS,)}, {FINDINGS.name: (LISTED, NOTHING), f"{FINDINGS.name}__3": ()}),
        (
            {"mode": "codes", "rubrics": (QUESTION,)},
            {"question": ("none", "open", "closed"), "coded_turn": ("Clinician",)},
        ),
        ({"rubrics": (RUBRICS.load("values_detected"),)}, {"values_detected": NONE}),
    ],
    ids=["audit", "findings", "codes", "sets"],
)  # fmt: skip
def test_other_modes_ask_by_the_names_that_answers_are_read_by(
    run: Run, options: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = controls(labelling_page(rating_plan(run, **options)))
    for name, choices in expected.items():
        assert found[name][-1] == choices if isinstance(choices, str) else found[name] == choices


def test_a_rubric_can_say_anything(run: Run) -> None:
    plan = rating_plan(run, rubrics=(odd_rubric(NASTY, 'a "b" <c>', "$d & e"),))
    root = ElementTree.fromstring(labelling_page(plan))
    assert not list(root.iter("script"))
    # What the server would take for a variable of the task: a word after a dollar sign, wherever it stands.
    values = [part.get("value", "") for part in root.iter() if part.tag in ("Header", "Choice", "Text")]
    assert {word for value in values for word in re.findall(r"\$\w+", value)} == {"$title"}
    assert [value for value in values if value.startswith("$")] == ["$title"]
    assert "<script" not in instructions_page(plan, f"# Hello\n\n{NASTY}")
    # A label that begins with a dollar sign is recorded as it is.
    page = labelling_page(rating_plan(run, rubrics=(odd_rubric("Cost", "$5", "free"),)))
    assert controls(page)["odd"] == ("$5", "free")


def test_instructions_are_the_users_text_and_then_the_rubrics(run: Run) -> None:
    html = instructions_page(rating_plan(run), "# Consent\n\nYou **agree**.")
    assert html.startswith("<h1>Consent</h1>\n<p>You <strong>agree</strong>.</p>")
    assert EMPATHY.title in html
    assert (EMPATHY.instructions or "")[:30] in html


# -- languages --------------------------------------------------------------------------------------


def shown_texts(page: str) -> set[str]:
    """All that a page shows, but what comes from the tasks."""
    attributes = ("value", "requiredMessage", "placeholder")
    texts = {part.get(name, "") for part in ElementTree.fromstring(page).iter() for name in attributes}
    return {text for text in texts if text and not text.startswith("$")}


@pytest.mark.parametrize("language", ["de", "zh"])
@pytest.mark.parametrize("name", ASKED)
def test_a_page_is_in_the_language_of_its_rubrics_and_records_the_same(
    run: Run, tmp_path: Path, name: str, language: str
) -> None:
    runs = {tag: copy_of(run, tmp_path / tag) for tag in ("en", language)}
    plans = {tag: translated_plan(copy, name, tag) for tag, copy in runs.items()}
    english, page = labelling_page(plans["en"]), labelling_page(plans[language])
    words = page_words(language)
    assert controls(page) == controls(english)
    assert not shown_texts(page) & shown_texts(english)
    assert len(re.findall(r"dialoguename[^{]*\{color:", page)) == 1 + len(words.roles)
    tasks, english_tasks = (
        [task["data"] for task in label_studio_tasks(plans[tag], runs[tag])] for tag in (language, "en")
    )
    assert {turn["speaker"] for data in tasks for turn in data["dialogue"]} <= set(words.roles.values())
    for data, same in zip(tasks, english_tasks, strict=True):
        own = [name for name in data if name == "title" or name.startswith(("said_", "judge_mark"))]
        assert [name for name in own if data[name] and data[name] == same[name]] == []
        # Whose task it is and which levels the judge gave are the same.
        shown, expected = ({name for name in of if name.startswith(("judge_", "input_"))} for of in (data, same))
        assert shown == expected


@pytest.mark.parametrize("language", ["de", "zh"])
def test_what_a_shared_choice_records_is_the_same_in_every_language(run: Run, language: str) -> None:
    words = page_words(language)
    root = ElementTree.fromstring(labelling_page(translated_plan(run, "findings", language)))
    named = {str(choice.get("alias")): choice.get("value") for choice in root.iter("Choice")}
    assert (named[LISTED], named[NOTHING]) == (words.say("value_listed"), words.say("value_nothing"))
    assert next(filter(None, (view.get("whenChoiceValue") for view in root.iter("View")))) == LISTED


SCRIPTS = ("page.js", "enrolment.js", "views.js", "questions.js", "conversation.js", "server.js")
PAGE = files("bedside.annotation.rating_page").joinpath("files")
#: Names, symbols and words that the languages share, by language.
SAME = {"en": set(page_words("en").texts), "de": {"key_notes", "patient", "said_of"}, "zh": {"key_notes"}}
#: What scripts say to browsers and servers, not to readers.
UNSEEN = {"Clinician", "Content-Type", "Date", "Enter", "Escape", "GET", "PUT"}


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("tag", languages())
def test_every_language_says_the_same_things_and_its_page_names_it(tag: str) -> None:
    english, other = page_words("en").texts, page_words(tag).texts
    assert list(other) == list(english)
    assert [places(text) for text in other.values()] == [places(text) for text in english.values()]
    assert {key for key, text in other.items() if text == english[key]} == SAME[tag]
    page = page_words(tag).page(PAGE.joinpath("page.html").read_bytes()).decode()
    assert f'<html lang="{tag}">' in page
    assert page_words(tag).say("loading") in page
    assert "{" not in page


def test_scripts_and_page_hold_no_words_of_their_own_and_every_text_is_said() -> None:
    said = set()
    for name in SCRIPTS:
        script = PAGE.joinpath(name).read_text("utf-8")
        said |= set(re.findall(r'say\("(\w+)"', script))
        said |= {f"{key}_{form}" for key in re.findall(r'counting\("(\w+)"', script) for form in ("one", "many")}
        code = re.sub(r"(?m)^\s*(//|/?\*).*$|/\*\*.*?\*/", "", script)
        literals = re.findall(r'"([^"\n]*)"', code) + re.findall(r"`([^`\n]*)`", code)
        texts = [re.sub(r"\$\{[^}]*\}", "", text) for text in literals]
        wordy = {text for text in texts if re.search(r"\b[A-Z][a-z]+|[a-z]{2,} [a-z]{2,}.*[.?!]", text)}
        assert {text for text in wordy if not text.startswith("Bearer ")} <= UNSEEN, name
    assert len(said) > 60
    assert said <= set(page_words("en").texts)
    page = PAGE.joinpath("page.html").read_text("utf-8")
    assert not re.sub(r"<[^>]*>|\{\w+\}", "", page).strip()


def test_a_label_is_shown_by_its_title_and_recorded_as_it_is(run: Run) -> None:
    plans = {tag: translated_plan(run, "findings", tag) for tag in ("en", "de")}
    fields = {tag: page_questions(plan)[0]["entries"] for tag, plan in plans.items()}
    assert [entry["field"] for entry in fields["de"]] == [entry["field"] for entry in fields["en"]]
    assert fields["en"][2]["title"] == "communication barrier"
    assert fields["de"][2]["title"] == "Verständigungshindernis"
    first, *others = plans["de"].items
    texts = {f"{FINDINGS.name}__2": ("kein Dolmetscher",)}
    answer = rater_answer(first.id, "dora", {FINDINGS.name: LISTED}, texts=texts)
    known = [{"category": "financial or insurance concern", "text": "Zuzahlung"}]
    item = TrainingItem(id=first.id, transcript="t", answers={FINDINGS.name: known})
    plan = plans["de"].model_copy(update={"items": tuple(others), "training": (item,)})
    (line,) = training_feedback(plan, answer, {})
    assert line["own"] == "Verständigungshindernis: kein Dolmetscher"
    assert line["known"] == "Sorge um Kosten oder Versicherung: Zuzahlung"
