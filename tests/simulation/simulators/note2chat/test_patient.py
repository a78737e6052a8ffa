"""The vignette patient: its two sentences, its checks, and what becomes of each fault of a model that plays it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.note2chat import SIMULATOR
from tests.simulation.simulators.note2chat.cases_for_tests import actors, case, questions
from tests.simulation.simulators.playing import Played, play

ANSWER = "It began two days ago."


def replying(*replies: str | ActorReply, number: int = 1, **more: Any) -> Played:
    """An interview of one question or more, with these replies of the patient."""
    return play(SIMULATOR, case(), actors(questions(number), list(replies)), **more)


def test_the_opening_of_the_case_is_said_without_asking() -> None:
    played = play(SIMULATOR, case(opening="  I ache. "), actors(questions(0)))
    assert played.ended.turns[0].text == "I ache."
    assert not played.asked("opening")


def test_an_opening_is_made_once_for_all_conversations_about_a_case() -> None:
    (call,) = play(SIMULATOR, case(), actors(questions(1))).asked("opening")
    assert (call.scope, call.history) == ("case", ())
    assert "qzcomplaint" in call.instruction
    (same,) = play(SIMULATOR, case(), actors(questions(5)), setting="40-messages", seed=3).asked("opening")
    assert same == call


def test_the_fixed_sentences_stand_in_the_prompt_and_in_the_transcripts_reference() -> None:
    options = {"dont_know_en": "Beats me.", "already_asked_en": "You asked me that."}
    played = replying("Beats me.", options=options)
    brief = played.asked("reply")[0].brief
    assert "Beats me." in brief
    assert "You asked me that." in brief
    assert played.ended.reference["patient_sentences"] == {
        "dont_know": "Beats me.",
        "already_asked": "You asked me that.",
    }


def test_the_fixed_sentences_can_be_said_again_and_again() -> None:
    played = replying("Sorry, I don't know.", number=6)
    assert played.ended.flags == {}
    assert len(played.asked("reply")) == 6


def test_chinese_cases_have_chinese_sentences_and_prompts() -> None:
    chinese = case(vignette="胸痛两天。", text="胸痛两天。收入院。", opening="我胸口疼。").model_copy(
        update={"language": "zh"}
    )
    played = play(SIMULATOR, chinese, actors(questions(1), "抱歉，我不知道。"))
    assert "抱歉，我不知道。" in played.asked("reply")[0].brief
    assert played.asked("reply")[0].prompt.startswith("patient.zh@")
    assert played.ended.reference["patient_sentences"]["already_asked"] == "抱歉，这个问题您已经问过了。"


# -- faults -----------------------------------------------------------------------------------------

#: A reply that is given up where it stays so, and its reason.
UNUSABLE = [
    ("", "empty"),
    ("...", "empty"),
    ("**", "empty"),
    ("Doctor: where does it hurt?\nPatient: in my chest.", "speaks for the clinician"),
    ("*sighs* in my chest", "stage directions"),
    ("(nods) yes", "stage directions"),
    ("As an AI language model I feel no pain.", "refusal"),
    ("The vignette doesn't say.", "speaks of the case"),
    ("Patient: in my chest.", "speaker label"),
    ("Reasoning: it is not in my notes.", "leaked reasoning"),
    ("How can I help you today?", "becomes the helper"),
    ("疼痛是两天以前开始的。", "wrong language"),
]
#: A reply that is kept and flagged where it stays so.
KEPT = [("It hurts. It began two days ago.", "too long"), ("ache " * 61, "too long")]


@pytest.mark.parametrize(("text", "reason"), UNUSABLE)
def test_a_patient_that_breaks_its_role_is_missing_data(text: str, reason: str) -> None:
    played = replying(text)
    assert played.failure is not None
    assert (played.failure.whose, played.failure.reason) == ("patient", reason)
    calls = played.asked("reply")
    assert [call.attempt for call in calls] == [1, 2, 3]
    assert all(call.objection for call in calls[1:])
    # What was refused before the last attempt stands among the states of what failed.
    assert played.failure.detail


@pytest.mark.parametrize(("text", "reason"), UNUSABLE + KEPT)
def test_a_reply_that_is_right_the_second_time_is_taken(text: str, reason: str) -> None:
    played = replying(text, ANSWER)
    assert (played.ended.turns[2].text, played.ended.turns[2].meta) == (ANSWER, {})
    assert played.ended.flags == {f"patient, refused: {reason}": 1}
    refused = [state for state in played.ended.states if "refused" in state]
    assert refused == [{"turn": 2, "purpose": "reply", "refused": text.strip(), "reason": reason}]


@pytest.mark.parametrize(("text", "reason"), KEPT)
def test_a_reply_that_stays_too_long_is_kept_and_flagged(text: str, reason: str) -> None:
    played = replying(text)
    assert played.ended.turns[2].text == text.strip()
    assert played.ended.turns[2].meta == {"flags": [reason]}
    assert played.ended.flags == {f"patient: {reason}": 1, f"patient, refused: {reason}": 2}
    assert len(played.asked("reply")) == 3
    unbounded = replying(text, options={"strict": "off"})
    assert (unbounded.ended.flags, len(unbounded.asked("reply"))) == ({}, 1)


def test_a_reply_that_is_cut_off_or_declined_is_not_taken() -> None:
    for reply, reason in (
        (ActorReply("It began two", cut=True), "cut off"),
        (ActorReply("", declined="content filter"), "refusal"),
    ):
        played = replying(reply)
        assert played.failure is not None
        assert (played.failure.whose, played.failure.reason) == ("patient", reason)


def test_an_answer_in_the_same_words_is_a_repetition_and_no_is_none() -> None:
    played = replying("It began two days ago, in the night.", number=2)
    assert played.ended.flags == {"patient: repeats itself": 1, "patient, refused: repeats itself": 2}
    assert "Sorry, you've already asked this question." in played.calls[-2].objection
    assert replying("No, never.", number=5).ended.flags == {}


def test_a_thought_of_the_patient_is_kept_apart() -> None:
    played = replying(f"<think>what do I know?</think>{ANSWER}")
    assert (played.ended.turns[2].text, played.ended.turns[2].meta) == (ANSWER, {"thought": "what do I know?"})


def test_what_went_before_a_failure_is_told() -> None:
    played = replying("Fine.", "", number=2)
    assert played.failure is not None
    assert [(state["turn"], state["purpose"]) for state in played.failure.states] == [
        (1, "decision"), (3, "decision"),
    ]  # fmt: skip


# -- the judge of replies ---------------------------------------------------------------------------


def judged(verdict: Any, *replies: str, number: int = 1) -> Played:
    script = actors(questions(number), list(replies), {"reply_check": verdict})
    return play(SIMULATOR, case(), script, options={"strict": "judge"})


def verdict(only: bool, conflict: bool) -> str:
    return json.dumps({"only_what_was_asked": only, "conflict": conflict})


@pytest.mark.parametrize(
    ("only", "conflict", "reason"),
    [
        (False, False, "tells what was not asked"),
        (True, True, "conflicts with the vignette"),
        (False, True, "conflicts with the vignette"),
    ],
)
def test_a_reply_that_a_judge_objects_to_is_kept_after_three_attempts(only: bool, conflict: bool, reason: str) -> None:
    played = judged(verdict(only, conflict), ANSWER)
    assert (played.ended.turns[2].text, played.ended.turns[2].meta) == (ANSWER, {"flags": [reason]})
    assert len(played.asked("reply")) == len(played.asked("reply_check")) == 3
    verdicts = [state for state in played.ended.states if state["purpose"] == "reply_check"]
    assert len(verdicts) == 3
    assert verdicts[0] == {
        "turn": 2, "purpose": "reply_check", "text": ANSWER, "only_what_was_asked": only, "conflict": conflict,
    }  # fmt: skip


def test_the_judge_sees_question_reply_and_vignette() -> None:
    def check(call: Call) -> str:
        return verdict("two" in call.material["reply"], False)

    played = judged(check, "It began, and I smoke.", "It began two days ago.")
    first, second = played.asked("reply_check")
    assert "I smoke" in first.instruction
    assert "qzvignette" in first.instruction
    assert played.ended.turns[1].text in first.instruction
    assert played.ended.turns[2].text == "It began two days ago."
    assert played.ended.flags == {"patient, refused: tells what was not asked": 1}
    assert (first.ordinal, second.ordinal) == (1, 2)


def test_the_fixed_sentences_are_not_judged() -> None:
    assert not judged(verdict(False, True), "Sorry, I don't know.").asked("reply_check")


def test_a_judge_that_cannot_be_read_is_missing_data() -> None:
    played = judged("fine", ANSWER)
    assert played.failure is not None
    assert (played.failure.whose, played.failure.reason) == ("evaluator", "reply can't be read")


# -- who sees what ----------------------------------------------------------------------------------


#: What each side may be asked with, of all that the case holds.
ALLOWED = {"patient": {"qzvignette", "qzcomplaint"}, "clinician": set(), "evaluator": {"qzvignette"}}
CANARIES = {
    "qzvignette", "qzcomplaint", "qzintervention", "qzdiagnosis", "qzfinding", "qzchart", "qznarrative", "qzfact",
    "qzextra",
}  # fmt: skip


@pytest.mark.parametrize("decision", ["clinician", "evaluator"])
@pytest.mark.parametrize("brief", ["general", "tuned"])
def test_no_side_is_asked_with_what_it_must_not_know(decision: str, brief: str) -> None:
    def worst(call: Call) -> str:
        if call.purpose == "decision":
            return '{"diagnoses": null}' if call.attempt == 2 else ""
        if call.purpose == "reply_check":
            return verdict(False, True)
        return f"Words {call.ordinal} {call.attempt}." if call.attempt > 1 else "* *"

    options = {"strict": "judge", "decision": decision, "brief": brief}
    played = play(SIMULATOR, case(), worst, options=options)
    assert played.outcome is not None
    assert {call.actor for call in played.calls} == {"patient", "clinician", "evaluator"}
    for call in played.calls:
        # What scripts, functions and people are given holds no more than what models are.
        everything = f"{call.messages()} {call.schema} {call.material} {call.prompt}"
        seen = {canary for canary in CANARIES if canary in everything}
        assert seen <= ALLOWED[call.actor], (call.purpose, seen)
    assert "qz" not in SIMULATOR.briefs(case(), "26-messages")


def test_the_opening_is_made_of_the_complaint_alone() -> None:
    (call,) = play(SIMULATOR, case(), actors(questions(1))).asked("opening")
    everything = f"{call.messages()} {call.material}"
    assert {canary for canary in CANARIES if canary in everything} == {"qzcomplaint"}
    replies = play(SIMULATOR, case(), actors(questions(1))).asked("reply")
    assert "qzcomplaint" not in str(replies[0].messages())


def test_a_copy_patient_conveys_nothing_that_the_note_lacks() -> None:
    own = case()
    assert own.note is not None

    def copying(call: Call) -> str:
        return str(call.material["sentences"][(call.ordinal - 1) % 2])

    played = play(SIMULATOR, own, actors(questions(2), copying))
    for turn in played.ended.turns[2::2]:
        assert turn.text in own.note.vignette
