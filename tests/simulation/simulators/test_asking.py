"""Retries, objections and who is to blame, against the one table of retries that all simulators share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bedside.simulation.simulators.asking import (
    Fault,
    ask_clinician,
    ask_for_data,
    ask_patient,
    plain_text,
    without_thought,
)
from bedside.simulation.simulators.calls import CLOSING_LINE, OPENING_LINE, ActorReply, Call, Exchange, Line, together
from bedside.simulation.simulators.contract import UnusableConversationError
from tests.simulation.simulators.playing import Table, run_exchange

ASK = Call("patient", "speak", 1, brief="You are Ann.")
DECISION = Call("evaluator", "decide", 1, kind="data", schema={"type": "object"})
RUDE = Fault("rude", "Be polite.")


def no_fault(text: str) -> Fault | None:
    return None


def rude(text: str) -> Fault | None:
    return RUDE if "rude" in text else None


def test_a_patient_is_told_what_was_wrong_and_asked_three_times() -> None:
    spoken, calls, _ = run_exchange(ask_patient(ASK, rude), Table({"speak": ["", "rude", " 'fine' "]}))
    assert spoken.text == "'fine'"
    assert spoken.refused == (("", "empty"), ("rude", "rude"))
    assert [call.attempt for call in calls] == [1, 2, 3]
    assert calls[0].objection == ""
    assert calls[2].objection == "Be polite."
    assert calls[2].messages()[-1].content == "Be polite."


def test_a_patient_that_stays_wrong_ends_the_conversation_as_the_patients_fault() -> None:
    with pytest.raises(UnusableConversationError) as caught:
        run_exchange(ask_patient(ASK, rude), Table({"speak": "rude"}))
    assert (caught.value.whose, caught.value.reason) == ("patient", "rude")


def test_a_patients_words_may_come_in_an_object_that_nobody_hears_read_out() -> None:
    ask = replace(ASK, schema={"type": "object"})
    good = '{"message": " fine ", "reasoning": "short"}'
    spoken, calls, _ = run_exchange(ask_patient(ask, rude), Table({"speak": ['{"mess', '{"reasoning": ""}', good]}))
    assert (spoken.text, spoken.fields) == ("fine", {"reasoning": "short"})
    assert [reason for _, reason in spoken.refused] == ["reply can't be read", "empty"]
    assert "one whole JSON object" in calls[1].objection
    plain, _, _ = run_exchange(ask_patient(ask, rude), Table({"speak": "fine"}))
    assert (plain.text, plain.fields) == ("fine", None)


def test_a_fault_that_is_kept_is_flagged_at_the_last_attempt() -> None:
    kept = Fault("long", "Be brief.", kept=True)
    spoken, calls, _ = run_exchange(ask_patient(ASK, lambda text: kept), Table({"speak": "blah"}))
    assert (spoken.text, spoken.flags, len(calls)) == ("blah", ("long",), 3)


def test_somebody_else_may_review_what_passes_the_check() -> None:
    def review(text: str, attempt: int) -> Exchange[Fault | None]:
        (reply,) = yield (Call("evaluator", "review", attempt, instruction=text),)
        return Fault("conflict", "Keep to the note.", kept=True) if reply.text == "no" else None

    table = Table({"speak": ["rude", "wrong", "right"], "review": ["no", "yes"]})
    spoken, calls, _ = run_exchange(ask_patient(ASK, rude, review=review), table)
    assert (spoken.text, spoken.flags) == ("right", ())
    assert spoken.refused == (("rude", "rude"), ("wrong", "conflict"))
    assert [(call.purpose, call.ordinal, call.attempt) for call in calls] == [
        ("speak", 1, 1), ("speak", 1, 2), ("review", 2, 1), ("speak", 1, 3), ("review", 3, 1),
    ]  # fmt: skip
    table = Table({"speak": "wrong", "review": "no"})
    spoken, _, _ = run_exchange(ask_patient(ASK, rude, review=review), table)
    assert (spoken.text, spoken.flags) == ("wrong", ("conflict",))


def test_a_fallback_is_said_after_the_last_attempt() -> None:
    exchange = ask_patient(ASK, rude, fallback=lambda fault: "I don't know.")
    spoken, _, _ = run_exchange(exchange, Table({"speak": "rude"}))
    assert (spoken.text, spoken.flags, len(spoken.refused)) == ("I don't know.", ("fallback",), 3)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ActorReply(""), "empty"),
        (ActorReply("half a", cut=True), "cut off"),
        (ActorReply("", declined="unsafe"), "refusal"),
    ],
)
def test_a_clinician_is_asked_once_more_and_then_taken_as_it_is(reply: ActorReply, reason: str) -> None:
    call = Call("clinician", "speak", 1)
    spoken, calls, _ = run_exchange(ask_clinician(call, lambda text: ("watched",)), Table({"speak": reply}))
    assert len(calls) == 2
    assert spoken.text == reply.text
    assert spoken.flags == ((reason, "watched") if reply.text else (reason,))


@pytest.mark.parametrize(
    ("reply", "text", "fields"),
    [
        ('```json\n{"message": "Goodbye.", "end": true}\n```', "Goodbye.", {"end": True}),
        ('{"message": "", "end": true}', "", {"end": True}),
        ("Hello.", "Hello.", None),
    ],
    ids=["both", "end without words", "words alone"],
)
def test_a_clinicians_message_may_have_fields(reply: str, text: str, fields: dict[str, bool] | None) -> None:
    call = Call("clinician", "speak", 1, schema={"type": "object"})
    spoken, calls, _ = run_exchange(ask_clinician(call, lambda text: ()), Table({"speak": reply}))
    assert (spoken.text, spoken.fields, spoken.flags, len(calls)) == (text, fields, (), 1)


def number(value: object) -> int:
    if not isinstance(value, dict) or not isinstance(value.get("n"), int):
        raise ValueError("there is no number n")
    return int(value["n"])


def test_data_are_asked_for_until_they_can_be_read() -> None:
    decided, calls, _ = run_exchange(
        ask_for_data(DECISION, number), Table({"decide": ["nonsense", '{"m": 1}', '<think>x</think>{"n": 3}']})
    )
    assert decided.value == 3
    assert [reason for _, reason in decided.refused][1] == "there is no number n"
    assert "there is no number n" in calls[2].objection


def test_data_that_stay_unreadable_are_the_evaluators_fault() -> None:
    with pytest.raises(UnusableConversationError) as caught:
        run_exchange(ask_for_data(DECISION, number), Table({"decide": "nonsense"}))
    assert (caught.value.whose, caught.value.reason) == ("evaluator", "reply can't be read")


def test_a_clinicians_decision_that_stays_unreadable_takes_the_neutral_course() -> None:
    call = Call("clinician", "decide", 1, kind="data", schema={"type": "object"})
    decided, calls, _ = run_exchange(ask_for_data(call, number, neutral=0), Table({"decide": "?"}))
    assert (decided.value, decided.readable, len(calls)) == (0, False, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('  "Hello."  ', "Hello."),
        ("“Hello.”", "Hello."),
        ("「你好。」", "你好。"),
        ('"Yes," she said, "no."', '"Yes," she said, "no."'),
        ('"', '"'),
        ("(smiles) Hi", "(smiles) Hi"),
    ],
)
def test_only_white_space_and_one_pair_of_quotes_are_taken_away(text: str, words: str) -> None:
    assert plain_text(text) == words


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<think>hm</think> Hi", ("hm", " Hi")),
        ("hm\n</think>Hi", ("hm", "Hi")),
        ("Hi <think>", ("", "Hi <think>")),
        ("<thinking>a\nb</thinking>Hi", ("a\nb", "Hi")),
    ],
)
def test_thoughts_are_no_words(text: str, parts: tuple[str, str]) -> None:
    assert without_thought(text) == parts


def test_parts_side_by_side_keep_their_replies() -> None:
    first = ask_patient(Call("patient", "left", 1), rude)
    second = ask_patient(Call("patient", "right", 1), no_fault)

    def parts() -> Exchange[tuple[Any, ...]]:
        return (yield from together(first, second))

    results, calls, _ = run_exchange(parts(), Table({"left": ["rude", "L"], "right": "R"}))
    assert [spoken.text for spoken in results] == ["L", "R"]
    assert [call.purpose for call in calls] == ["left", "right", "left"]


def test_a_chat_begins_and_ends_with_the_other_side_and_loses_nothing() -> None:
    history = (Line("patient", "Hello."), Line("clinician", "Hi."), Line("patient", "Well."))
    chat = Call("patient", "speak", 2, brief="Be Ann.", history=history, instruction="Now.").messages()
    assert [(message.role, message.content) for message in chat] == [
        ("system", "Be Ann.\n\nNow."),
        ("user", OPENING_LINE),
        ("assistant", "Hello."),
        ("user", "Hi."),
        ("assistant", "Well."),
        ("user", CLOSING_LINE),
    ]


def test_the_digest_is_of_what_a_model_is_asked() -> None:
    assert ASK.digest() == Call("patient", "speak", 7, brief="You are Ann.", prompt="x@y").digest()
    assert ASK.digest() != ASK.again("No.").digest()
    assert ASK.digest() != Call("patient", "speak", 1, brief="You are Ann.", schema={}).digest()
