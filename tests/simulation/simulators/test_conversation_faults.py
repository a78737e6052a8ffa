"""Faults of patients over whole conversations: planted ones are found, and clean conversations are left in peace."""

from __future__ import annotations

from collections import Counter

import pytest

from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.case import HiddenConcern
from bedside.simulation.simulators.conversation_faults import KINDS, CaseTruth, conversation_faults
from tests.simulation.simulators.planted_faults import (
    PROTOCOLS,
    harmless,
    natural_talks,
    planted,
    reworded,
    scripted_talks,
)

SENSITIVITY, FALSE_ALARMS = 0.95, 0.02
FACTS = (
    "Age: 46", "I have no pain in my belly.", "I have smoked for twenty years, a pack a day.",
    "The cough began four days ago.", "I take a pill for my thyroid.", "My pulse was 76.",
)  # fmt: skip
CONCERN = HiddenConcern(
    id="debts",
    category="financial or insurance concern",
    text="She hides debts of nine thousand on credit cards from her husband.",
    voiced=("I hide the bills from my husband, nine thousand on credit cards.",),
)


def kinds(*said: str, language: str = "en", **truth: object) -> list[tuple[str, int]]:
    """What is found in lines that begin with the clinician's."""
    lines = [Line("patient" if place % 2 else "clinician", text) for place, text in enumerate(said)]
    faults = conversation_faults(lines, CaseTruth(**truth), language=language)  # type: ignore[arg-type]
    return [(fault.kind, fault.turn) for fault in faults]


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("How old are you?", "I'm 52.", "contradiction"),
        ("How old are you?", "I'm 46, nearly 47.", None),
        ("Tell me more.", "I have pain in my belly, doctor.", "contradiction"),
        ("Tell me more.", "I have no pain in my belly.", None),
        ("Do you have any pain in your belly?", "Yes.", "contradiction"),
        ("Do you have any pain in your belly?", "No.", None),
        ("Do you have any pain in your belly or your back?", "Yes.", None),
        ("Do you smoke?", "No, never.", "contradiction"),
        ("Do you smoke?", "No, not since this morning.", None),
        ("Tell me more.", "I have smoked for five years.", "contradiction"),
        ("Tell me more.", "I have smoked for about twenty years.", None),
        ("Tell me more.", "The cough began two weeks ago.", "contradiction"),
        ("Tell me more.", "The cough began four days ago.", None),
        ("Tell me more.", "If I took no pill for my thyroid, I'd be tired.", None),
        ("Tell me more.", "I don't take a pill for my thyroid.", "contradiction"),
        ("Tell me more.", "My pulse was 120.", "contradiction"),
    ],
)
def test_statements_are_held_against_the_case(question: str, answer: str, expected: str | None) -> None:
    assert kinds(question, answer, facts=FACTS) == ([] if expected is None else [(expected, 1)])


def test_what_is_denied_and_told_is_found_where_it_is_told() -> None:
    assert kinds("Do you gamble?", "No.", "And at home?", "All is well.", "Go on.", "I gamble at night.") == [
        ("denial then reveal", 5)
    ]
    assert kinds("你抽烟吗？", "没有。", "还有吗？", "我抽烟，一天半包。", language="zh") == [("denial then reveal", 3)]
    # Of another time, and of another person: nothing was denied.
    assert kinds("Tell me.", "I have no headaches now.", "And before?", "I had headaches last year.") == []


def test_a_hidden_concern_is_told_when_it_is_released_and_not_denied_before() -> None:
    said = ("Are you worried about anything?", "It is what it is.", "Go on.", CONCERN.voiced[0])
    assert kinds(*said, concerns=(CONCERN,), released={"debts": 2}) == []
    assert kinds(*said, concerns=(CONCERN,)) == [("over-disclosure", 3)]
    denied = (said[0], "No, nothing worries me.", *said[2:])
    assert kinds(*denied, concerns=(CONCERN,), released={"debts": 2}) == [("denial then reveal", 3)]
    assert kinds(*denied, concerns=(CONCERN,), released={"debts": 2}, fixed_lines=(denied[1],)) == []


def test_too_much_at_once_and_a_diagnosis_nobody_told() -> None:
    told = (
        "I wake at four every morning.", "I have lost about four kilos.", "My husband moved out in January.",
        "I make mistakes in the accounts.", "I drink one coffee in the morning.",
    )  # fmt: skip
    assert kinds("What is it?", " ".join(told), facts=told) == [("over-disclosure", 1)]
    assert kinds("What is it?", " ".join(told[:2]), facts=told) == []
    assert kinds("What is it?", "I have gout.", diagnosis="Gout") == [("over-disclosure", 1)]
    assert kinds("It is gout.", "Gout, then.", diagnosis="Gout") == []


def test_a_patient_is_stuck_where_it_answers_other_questions_in_the_same_words() -> None:
    answer = "It is just the way it is at my age."
    questions = ("How are you?", "And your sleep?", "And your work?", "What helps?")
    said = [text for question in questions for text in (question, answer)]
    assert kinds(*said) == [("stuck", 7)]
    assert kinds(*said, fixed_lines=(answer,)) == []
    assert kinds(*(text for _ in questions for text in (questions[0], answer))) == []
    byes = ("Goodbye.", "Goodbye, doctor.", "Take care.", "Thank you, bye.", "Bye.", "See you, take care.")
    assert kinds(*byes) == [("stuck", 5)]


@pytest.mark.parametrize("talk", [pytest.param(talk, id=talk.name) for talk in natural_talks()])
def test_conversations_in_the_words_of_people_have_no_fault(talk: object) -> None:
    assert talk.found() == ()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_planted_faults_are_found_and_clean_conversations_are_not() -> None:
    talks = [*scripted_talks(seeds=1), *natural_talks()]
    assert {talk.protocol for talk in talks} == set(PROTOCOLS)
    clean = [*talks, *harmless(talks)]
    assert sum(bool(talk.found()) for talk in clean) <= FALSE_ALARMS * len(clean)
    number: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for plant in planted(talks[::4]):
        number[plant.kind] += 1
        found[plant.kind] += plant.kind in {fault.kind for fault in plant.talk.found()}
    assert set(number) == set(KINDS)
    assert {kind for kind in KINDS if found[kind] < SENSITIVITY * number[kind]} == set()


def test_other_words_for_the_opposite_are_beyond_rules() -> None:
    """What the page says that only a model or people find: if rules do one day, it is to say so no more."""
    other = list(reworded(list(natural_talks())))
    assert len(other) > 20
    assert sum(bool(plant.talk.found()) for plant in other) < 0.2 * len(other)
