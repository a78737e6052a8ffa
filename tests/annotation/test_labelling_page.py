"""The labelling page as text: nothing a rubric says can break out of it, and it asks what the plan asks."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from bedside.annotation.fields import LISTED, NONE, NOTHING
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.labelling_page import instructions_page, labelling_page
from bedside.annotation.page_words import page_words
from bedside.judges.rubrics.rubric import read
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from tests.annotation.page_controls import controls
from tests.annotation.study import EMPATHY, GOAL, JUDGE, rating_plan
from tests.annotation.translated_plans import ASKED, translated_plan

NASTY = """$x <script>alert("1")</script> & 'q' ]]> <!-- {{idx}} \x0b"""


def test_rate_asks_every_level_and_shows_its_descriptor(run: Run) -> None:
    page = labelling_page(rating_plan(run))
    five = ("1", "2", "3", "4", "5")
    assert controls(page) == {
        "empathy": five, "goal_alignment": five, "reason__empathy": (), "reason__goal_alignment": (),
        "evidence__empathy": ("evidence",), "evidence__goal_alignment": ("evidence",), "notes": (),
        "$chat": ("$dialogue",),
    }  # fmt: skip
    root = ElementTree.fromstring(page)
    texts = [choice.get("value", "") for choice in root.iter("Choice")]
    for rubric in (EMPATHY, GOAL):
        for level in rubric.shown().scale:
            assert f"{level.value}: {level.descriptor}" in texts
    assert [each.get("value") for each in root.iter("Text") if "shown__" in each.get("name", "")] == [
        "$input_goal"
    ]
    keys = [choice.get("hotkey") for choice in root.iter("Choice")]
    assert keys == list("12345qwert")
    assert all(each.get("required") == "true" for each in root.iter("Choices"))


def test_what_no_rubric_needs_is_not_shown(run: Run) -> None:
    assert "$input_" not in labelling_page(rating_plan(run, rubrics=(EMPATHY,)))


@pytest.mark.parametrize(
    ("mode", "names", "expected"),
    [
        ("audit", ["empathy"], {"empathy": ("1", "2", "3", "4", "5"), "evidence__empathy": ("evidence",)}),
        ("findings", ["finding_extraction"], {"finding_extraction": (LISTED, NOTHING), "finding_extraction__3": ()}),
        ("codes", ["question"], {"question": ("none", "open", "closed"), "coded_turn": ("Clinician",)}),
        ("rate", ["values_detected"], {"values_detected": NONE}),
    ],
)  # fmt: skip
def test_other_modes_ask_by_the_names_that_answers_are_read_by(
    run: Run, mode: str, names: list[str], expected: dict[str, Any]
) -> None:
    rubrics = tuple(CODEBOOK.load(name) if mode == "codes" else RUBRICS.load(name) for name in names)
    given = {"judge": JUDGE} if mode == "audit" else {}
    found = controls(labelling_page(rating_plan(run, mode=mode, rubrics=rubrics, **given)))
    for name, choices in expected.items():
        assert found[name][-1] == choices if isinstance(choices, str) else found[name] == choices


def test_a_rubric_can_say_anything(run: Run) -> None:
    rubric = read({
        "name": "odd", "title": NASTY, "construct": NASTY, "definition": NASTY, "unit": "transcript",
        "kind": "label", "direction": "none", "source": "here", "instructions": NASTY,
        "labels": [{"label": 'a "b" <c>', "descriptor": NASTY}, {"label": "$d & e", "descriptor": NASTY}],
    })  # fmt: skip
    plan = rating_plan(run, rubrics=(rubric,))
    root = ElementTree.fromstring(labelling_page(plan))
    assert not list(root.iter("script"))
    # What the server would take for a variable of the task: a word after a dollar sign, wherever it stands.
    values = [each.get("value", "") for each in root.iter() if each.tag in ("Header", "Choice", "Text")]
    named = {word for value in values for word in re.findall(r"\$\w+", value)}
    assert named == {"$title"}
    assert [value for value in values if value.startswith("$")] == ["$title"]
    assert "<script" not in instructions_page(plan, f"# Hello\n\n{NASTY}")


def test_a_label_that_begins_with_a_dollar_sign_is_recorded_as_it_is(run: Run) -> None:
    labels = [{"label": "$5", "descriptor": "x"}, {"label": "free", "descriptor": "y"}]
    rubric = read({
        "name": "cost", "title": "Cost", "construct": "c", "definition": "d", "unit": "transcript", "kind": "label",
        "direction": "none", "source": "here", "labels": labels,
    })  # fmt: skip
    assert controls(labelling_page(rating_plan(run, rubrics=(rubric,))))["cost"] == ("$5", "free")


def test_instructions_are_the_users_text_and_then_the_rubrics(run: Run) -> None:
    html = instructions_page(rating_plan(run), "# Consent\n\nYou **agree**.")
    assert html.startswith("<h1>Consent</h1>\n<p>You <strong>agree</strong>.</p>")
    assert EMPATHY.title in html
    assert (EMPATHY.instructions or "")[:30] in html


def shown_texts(page: str) -> set[str]:
    """All that a page shows, but what comes from the tasks."""
    root = ElementTree.fromstring(page)
    attributes = ("value", "requiredMessage", "placeholder")
    texts = {each.get(name, "") for each in root.iter() for name in attributes}
    return {text for text in texts if text and not text.startswith("$")}


@pytest.mark.parametrize("language", ["de", "zh"])
@pytest.mark.parametrize("name", ASKED)
def test_a_page_is_in_the_language_of_its_rubrics_and_records_the_same(
    study_folder: Path, tmp_path: Path, name: str, language: str
) -> None:
    runs = {tag: Run(shutil.copytree(study_folder, tmp_path / tag)) for tag in ("en", language)}
    plans = {tag: translated_plan(run, name, tag) for tag, run in runs.items()}
    english, page = labelling_page(plans["en"]), labelling_page(plans[language])
    assert controls(page) == controls(english)
    assert not shown_texts(page) & shown_texts(english)
    assert len(re.findall(r"dialoguename[^{]*\{color:", page)) == 1 + len(page_words(language).roles)
    tasks = [task["data"] for task in label_studio_tasks(plans[language], runs[language])]
    words = page_words(language)
    assert {turn["speaker"] for data in tasks for turn in data["dialogue"]} <= set(words.roles.values())
    english_tasks = [task["data"] for task in label_studio_tasks(plans["en"], runs["en"])]
    for data, same in zip(tasks, english_tasks, strict=True):
        made_here = {name for name in data if name == "title" or name.startswith(("said_", "judge_mark"))}
        assert [name for name in made_here if data[name] and data[name] == same[name]] == []
        # Whose task it is and which levels the judge gave are the same.
        assert {name for name in data if name.startswith(("judge_", "input_"))} == {
            name for name in same if name.startswith(("judge_", "input_"))
        }


@pytest.mark.parametrize("language", ["de", "zh"])
def test_what_a_shared_choice_records_is_the_same_in_every_language(run: Run, language: str) -> None:
    words = page_words(language)
    root = ElementTree.fromstring(labelling_page(translated_plan(run, "findings", language)))
    named = {str(each.get("alias")): each.get("value") for each in root.iter("Choice")}
    assert (named[LISTED], named[NOTHING]) == (words.say("value_listed"), words.say("value_nothing"))
    shown_when = [each.get("whenChoiceValue") for each in root.iter("View") if each.get("whenChoiceValue")]
    assert shown_when[0] == LISTED
