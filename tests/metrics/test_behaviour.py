"""Behaviour counts: what each rater gets, what is missing and why, and AnnoMI counted another way."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.metrics import FAMILIES
from bedside.metrics.coders.contract import CODERS
from bedside.ratings.values import Value
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import CODES, Transcript

Talk = Callable[..., Transcript]
FAMILY = FAMILIES.load("behaviour")
EVERYTHING = frozenset(metric.name for metric in FAMILY.metrics)
RULES = CODERS.load("rules").rater


def rate(transcript: Transcript, *wanted: str, **given: Any) -> list[Value]:
    return list(FAMILY.compute(transcript, frozenset(wanted) if wanted else EVERYTHING, **FAMILY.settings(given)))


def anna(**codes: str) -> dict[str, Any]:
    return {"codes": {"anna": codes}}


def test_every_rater_codes_every_turn_of_the_role(talk: Talk) -> None:
    transcript = talk(
        ("clinician", "Why now?", {"codes": {"ben": {"question": "closed"}, "anna": {"question": "open"}}}),
        ("patient", "My wife."),
        ("clinician", "I see.", {"codes": {"ben": {"question": "none"}}}),
        ("other", "The recording stops."),
    )
    assert rate(transcript, "question") == [
        Value("question", label="open", turn=0, rater="human:anna"),
        Value("question", turn=2, rater="human:anna", error="not coded"),
        Value("question", label="closed", turn=0, rater="human:ben"),
        Value("question", label="none", turn=2, rater="human:ben"),
        Value("question", label="open", turn=0, rater=RULES),
        Value("question", label="none", turn=2, rater=RULES),
    ]


def test_partial_codes_are_remarked_on(talk: Talk) -> None:
    transcript = talk(
        ("clinician", "Why now?", anna(question="open")),
        ("clinician", "Do you smoke?", anna(question="closed")),
        ("clinician", "How much?"),
    )
    (value,) = rate(transcript, "percent_open_questions", coders="human")
    assert value.value == 50
    assert value.reason == "2 of the 3 clinician turns coded"


def test_missing_says_why(talk: Talk) -> None:
    uncoded = talk(("clinician", "Good morning."), ("patient", "Good morning."))
    errors = {value.metric: (value.rater, value.error) for value in rate(uncoded) if value.error}
    assert errors == {
        "reflection": (None, "no codes of reflections"),
        "therapist_input": (None, "no codes of therapist input"),
        "main_behaviour": (None, "no codes of main behaviour"),
        "client_talk": (None, "no codes of client talk"),
        "percent_open_questions": (RULES, "no question"),
        "reflection_to_question_ratio": (None, "no codes of reflections"),
        "percent_complex_reflections": (None, "no codes of reflections"),
        "percent_change_talk": (None, "no codes of client talk"),
        "inputs_per_turn": (None, "no codes of therapist input"),
    }
    by_people = {value.metric: value.error for value in rate(uncoded, coders="human")}
    assert by_people["question"] == "no codes of questions"
    assert by_people["reflection_to_question_ratio"] == "no codes of reflections and questions"
    assert {value.error for value in rate(talk(("patient", "Hello."))) if value.metric != "client_talk"} == {
        "no clinician turn",
        "no codes of client talk",
    }
    split = talk(("clinician", "Why?", {"codes": {"anna": {"question": "open"}, "ben": {"reflection": "none"}}}))
    (value,) = rate(split, "reflection_to_question_ratio")
    assert value.error == "no rater has codes of both reflections and questions"


def test_early_turns(talk: Talk) -> None:
    labels = ["open", "none", "closed", "open", "none", "open", "open"]
    transcript = talk(*(("clinician", "…", anna(question=label)) for label in labels))
    (value,) = rate(transcript, "early_open_question_ratio", coders="human")
    assert (value.value, value.reason, value.rater) == (2 / 5, None, "human:anna")
    (value,) = rate(transcript, "early_open_question_ratio", coders="human", early_turns=1)
    assert (value.value, value.rater) == (1, "human:anna+early_turns=1")
    (value,) = rate(transcript, "early_open_question_ratio", coders="human", early_turns=9)
    assert (value.value, value.reason) == (4 / 7, "7 clinician turns, fewer than 9")
    late = talk(*(("clinician", "…") for _ in range(5)), ("clinician", "…", anna(question="open")))
    (value,) = rate(late, "early_open_question_ratio", coders="human")
    assert value.error == "none of the 5 first clinician turns is coded"


def test_a_wrong_label_is_named_and_not_counted(talk: Talk) -> None:
    transcript = talk(("clinician", "Why?", anna(question="Open")), ("clinician", "Where?", anna(question="open")))
    values = rate(transcript, "question", "percent_open_questions", coders="human")
    assert values[0].error == "'Open' is not one of none, open, closed"
    assert values[2].value == 100
    assert values[2].reason == "1 of the 2 clinician turns coded"


def test_the_rule_coder_refuses_other_languages(talk: Talk) -> None:
    transcript = talk(("clinician", "最近睡得怎么样？", anna(question="open")), ("patient", "不好。"), language="zh")
    values = rate(transcript, "question", "open_question_ratio")
    assert [(v.metric, v.rater, v.label or v.value) for v in values] == [
        ("question", "human:anna", "open"),
        ("question", RULES, None),
        ("open_question_ratio", "human:anna", 1.0),
        ("open_question_ratio", RULES, None),
    ]
    assert all("English" in str(v.error) for v in values if v.rater == RULES)


def test_annomi_counted_from_its_table(annomi: Path) -> None:
    """Codes and measures of every session and coder equal counts taken from the columns of the table."""
    rows: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with annomi.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["transcript_id"], row["annotator_id"]].append(row)

    def count(table: list[dict[str, str]], column: str, *values: str) -> int:
        return sum(row[column] in values for row in table)

    expected: dict[tuple[str, str, str], float | None] = {}
    for (transcript, coder), table in rows.items():
        table.sort(key=lambda row: int(row["utterance_id"]))
        clinician = [row for row in table if row["interlocutor"] == "therapist"]
        questions, turns = count(table, "question_exists", "True"), len(clinician)
        reflections = count(table, "reflection_exists", "True")
        opened = count(table, "question_subtype", "open")
        talks = count(table, "client_talk_type", "change", "sustain")
        for name, over, under in (
            ("percent_open_questions", 100 * opened, questions),
            ("reflection_to_question_ratio", reflections, questions),
            ("percent_complex_reflections", 100 * count(table, "reflection_subtype", "complex"), reflections),
            ("percent_change_talk", 100 * count(table, "client_talk_type", "change"), talks),
            ("questions_per_turn", questions, turns),
            ("inputs_per_turn", count(table, "therapist_input_exists", "True"), turns),
            ("open_question_ratio", opened, turns),
            ("early_open_question_ratio", count(clinician[:5], "question_subtype", "open"), min(5, turns)),
        ):
            expected[transcript, f"human:{coder}", name] = over / under if under else None
    found: dict[tuple[str, str, str], float | None] = {}
    labels = 0
    for session in read_transcripts(annomi):
        for value in rate(session, coders="human"):
            if value.metric in CODES:
                labels += value.label is not None
            else:
                found[session.id, str(value.rater), value.metric] = value.value
    assert found == pytest.approx(expected)
    coded = [row for table in rows.values() for row in table]
    assert labels == 4 * count(coded, "interlocutor", "therapist") + count(
        coded, "client_talk_type", "change", "sustain", "neutral"
    )
