"""What raters are shown: all they need, and nothing that gives a system or a judge away."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bedside.annotation import items
from bedside.annotation.items import dialogue, inputs_of, label_studio_tasks, problem
from bedside.annotation.page_words import page_words
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from bedside.transcripts import Transcript, Turn
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, rating_plan


@pytest.mark.parametrize("mode", ["rate", "findings", "codes"])
def test_nothing_gives_away_system_case_file_or_judge(run: Run, mode: str) -> None:
    rubrics = {
        "rate": (EMPATHY, GOAL),
        "findings": (RUBRICS.load("finding_extraction"),),
        "codes": (CODEBOOK.load("question"), CODEBOOK.load("client_talk")),
    }[mode]
    plan = rating_plan(run, mode=mode, rubrics=rubrics)
    for rater in (None, "anna"):
        text = json.dumps(label_studio_tasks(plan, run, rater)).casefold()
        for word in (*SYSTEMS, "secretfile", "hushcase", "in.jsonl", JUDGE, "Because", "bot", "length"):
            assert word.casefold() not in text, word


def test_a_rater_gets_their_items_in_their_order(run: Run) -> None:
    plan = rating_plan(run, per=6)
    shown = [task["data"]["external_id"] for task in label_studio_tasks(plan, run, "ben")]
    assert tuple(shown) == plan.assignment["ben"]
    assert len(label_studio_tasks(plan, run)) == 6


def test_what_a_rubric_needs_is_shown_and_only_then(run: Run) -> None:
    with_goal = label_studio_tasks(rating_plan(run, per=2), run)[0]["data"]
    assert with_goal["input_goal"].startswith("sleep better")
    without = label_studio_tasks(rating_plan(run, per=2, rubrics=(EMPATHY,)), run)[0]["data"]
    assert set(without) == {"external_id", "title", "dialogue"}
    assert without["dialogue"][:2] == [
        {"speaker": "Clinician", "text": without["dialogue"][0]["text"]},
        {"speaker": "Patient", "text": 'Hard <b>&</b> "long"\nvery.'},
    ]


def test_in_an_audit_score_and_reason_of_the_judge_are_shown(run: Run) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,))
    data = label_studio_tasks(plan, run)[0]["data"]
    assert data["judge_empathy"] in {"1", "2", "3", "4", "5"}
    assert data["judge_reason_empathy"] == "Because."
    text = json.dumps(data)
    marks = [data[f"judge_mark_empathy_{number}"] for number in range(5)]
    assert [number for number, mark in enumerate(marks, 1) if mark] == [int(data["judge_empathy"])]
    assert JUDGE not in text
    assert not any(system in text for system in SYSTEMS)


def test_a_turn_is_shown_with_what_came_before(run: Run) -> None:
    plan = rating_plan(run, rubrics=(RUBRICS.load("open_question"),))
    for task, item in zip(label_studio_tasks(plan, run), plan.items, strict=True):
        last = int(item.unit.removeprefix("turn:"))
        assert len(task["data"]["dialogue"]) == last + 1
        assert task["data"]["rated_turn"] == str(last)


def test_coded_turns_are_those_of_the_codes_roles(run: Run) -> None:
    plan = rating_plan(run, mode="codes", rubrics=(CODEBOOK.load("client_talk"),))
    data = label_studio_tasks(plan, run)[0]["data"]
    assert [turn["turn"] for turn in data["patient_turns"]] == ["1", "3"]
    assert "clinician_turns" not in data
    assert data["patient_turns"][1] == {"turn": "3", **data["dialogue"][3]}


def test_the_turns_to_be_coded_are_marked_in_the_order_spoken(run: Run) -> None:
    plan = rating_plan(run, mode="codes", rubrics=(CODEBOOK.load("client_talk"), CODEBOOK.load("question")))
    (marks,) = label_studio_tasks(plan, run)[0]["predictions"]
    regions = [mark["value"] for mark in marks["result"]]
    assert [region["start"] for region in regions] == ["0", "1", "2", "3"]
    assert [region["paragraphlabels"] for region in regions] == [["Clinician"], ["Patient"]] * 2
    emoji = Transcript("t", (Turn(0, "patient", "x", "so 😀\n tired"),))
    (mark,) = items.turn_marks(page_words("en"), (CODEBOOK.load("client_talk"),), emoji)
    assert mark["value"]["endOffset"] == len("so 😀\n tired") + 1  # a browser counts an emoji as two


def test_titles_say_where_an_item_stands_and_are_no_part_of_its_content(run: Run) -> None:
    plan = rating_plan(run, per=3, raters=("anna", "ben"))
    for rater in ("anna", "ben"):
        tasks = [task["data"] for task in label_studio_tasks(plan, run, rater)]
        assert [data["title"] for data in tasks] == [f"Conversation {at} of {len(tasks)}" for at in (1, 2, 3)]
        shown = items.shown_by_item(plan, run)
        assert all(items.lasting_content(data) == shown[data["external_id"]] for data in tasks)


def test_what_no_database_takes_is_made_visible() -> None:
    talk = Transcript(
        "t", (Turn(0, "patient", "x", "a\x00b\ud800c\x1b[1m\td\ne"), Turn(1, "clinician", "y", "  "))
    )
    words = page_words("en")
    assert [turn["text"] for turn in dialogue(words, talk)] == ["a�b�c�[1m\td\ne", words.say("nothing_said")]
    json.dumps(dialogue(words, talk)).encode()


def test_inputs_are_written_as_lines() -> None:
    rubric = RUBRICS.load("concern_matching")
    talk = Transcript(
        "t",
        (),
        reference={
            "concerns": [{"category": "fear", "text": "needles"}, "cost"],
            "submitted_findings": "none",
        },
    )
    assert inputs_of((rubric,), talk) == {
        "submitted_findings": "none",
        "concerns": "1. category: fear; text: needles\n2. cost",
    }


def test_what_cannot_be_shown_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn(0, "patient", "x", "hello")
    assert problem((EMPATHY,), Transcript("t", ())) == "no turns"
    assert problem((GOAL,), Transcript("t", (turn,))) == "no goal"
    assert problem((CODEBOOK.load("question"),), Transcript("t", (turn,))) == "no turn of the clinician"
    assert problem((EMPATHY,), Transcript("t", (turn,))) is None
    monkeypatch.setattr(items, "MAX_TURNS", 1)
    long = Transcript("t", (turn, replace(turn, index=1)))
    assert str(problem((EMPATHY,), long)).startswith("too long for a page")


def test_what_became_too_long_is_refused_before_it_is_sent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = rating_plan(run, per=2)
    monkeypatch.setattr(items, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="can't be shown: too long for a page"):
        label_studio_tasks(plan, run)


def test_an_audit_of_what_was_not_judged_is_refused(run: Run) -> None:
    import polars as pl

    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,))
    kept = run.ratings.filter(pl.col("transcript_id") != plan.items[0].transcript)
    kept.write_parquet(run.path / "ratings.parquet")
    with pytest.raises(DataError, match=f"{JUDGE} has not rated transcript"):
        label_studio_tasks(plan, Run(run.path))
