"""Bad actors: asked again with what was wrong, then kept and flagged, or the session is missing by their doing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bedside.simulation.simulators.asking import ATTEMPTS
from bedside.simulation.simulators.calls import Call
from tests.simulation.simulators.calm_it.scenes import session
from tests.simulation.simulators.playing import Played

_UNUSABLE = {
    "Therapist: And how was that for you?": "speaks for the clinician",
    "Client: It was all right, I suppose.": "speaker label",
    "*sighs* It was all right, I suppose.": "stage directions",
    "As an AI language model, I don't have feelings.": "refusal",
    "The vignette says that I drink beer at night.": "speaks of the case",
    "How can I help you today?": "becomes the helper",
    "<think>Hm.</think><think>So.</think> Well, yes.": "leaked reasoning",
    "Ich habe das nicht gewusst und bin sehr müde.": "wrong language",
    "  ": "empty",
}
_KEPT = {" ".join(["word"] * 71): "too long"}


def plain(call: Call, text: str = "") -> dict[str, Any]:
    """A message that is like none before it, or this one."""
    return {"message": text or f"Well, it is number {call.ordinal} of the things that I have.", "end": False}


def said_once(text: str) -> Callable[[Call], Any]:
    """A client whose second message is this at its first attempt; after that it says what it is to."""

    def reply(call: Call) -> dict[str, Any]:
        bad = call.ordinal == 2 and call.attempt == 1
        return {
            "message": text if bad else f"Well, it is number {call.ordinal} of the things that I have.",
            "end": False,
        }

    return reply


@pytest.mark.parametrize(("text", "reason"), (_UNUSABLE | _KEPT).items())
def test_a_clients_message_that_cant_be_used_is_asked_for_again(text: str, reason: str) -> None:
    talk = session(length=12, options={"ranking": False}, own={"client candidate": said_once(text)})
    again = [call for call in talk.asked("client candidate") if call.attempt == 2]
    assert [call.ordinal for call in again] == [2]
    assert again[0].objection
    refused = {name: number for name, number in talk.ended.flags.items() if name.startswith("patient")}
    assert refused == {f"patient, refused: {reason}": 1}
    assert all(text.strip() != turn.text for turn in talk.ended.turns)


@pytest.mark.parametrize(("text", "reason"), _UNUSABLE.items())
def test_one_that_never_can_be_used_makes_the_session_missing(text: str, reason: str) -> None:
    talk = session(length=12, own={"client candidate": lambda call: {"message": text, "end": False}})
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("patient", reason)
    assert len(talk.asked("client candidate")) == 3 * ATTEMPTS
    assert [state["turn"] for state in talk.failure.states] == [1] * len(talk.failure.states)
    assert {"client summary", "client action"} <= {state["purpose"] for state in talk.failure.states}


@pytest.mark.parametrize(("text", "reason"), _KEPT.items())
def test_one_that_is_only_too_long_is_kept_and_flagged(text: str, reason: str) -> None:
    def reply(call: Call) -> dict[str, Any]:
        long = call.ordinal == 1
        return {
            "message": text if long else f"Well, it is number {call.ordinal} of the things that I have.",
            "end": False,
        }

    talk = session(length=12, options={"ranking": False}, own={"client candidate": reply})
    assert talk.ended.turns[1].meta["flags"] == [reason]
    assert talk.ended.flags[f"patient: {reason}"] == 1


def test_a_client_that_repeats_itself_is_kept_and_flagged_where_every_candidate_does() -> None:
    lines = ["I get home at six and sit down in my chair.", "Then I watch the news until I fall asleep."]

    def in_turn(call: Call) -> dict[str, Any]:
        said = sum(line.role == "patient" for line in call.history)
        return {"message": lines[said % 2] if said < 4 else f"And {said} more things.", "end": False}

    talk = session(length=12, own={"client candidate": in_turn})
    assert talk.ended.flags["patient: repeats itself"] == 2
    assert len(talk.asked("client candidate")) == 4 * 3 + 2 * 3 * ATTEMPTS


def test_a_client_that_says_the_same_for_ever_is_the_patients_fault() -> None:
    same = {"message": "I get home at six and sit down in my chair.", "end": False}
    talk = session(length=12, own={"client candidate": lambda call: same})
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("patient", "stuck")
    # The first is taken, the second kept as a repetition, and the third is said in vain three times.
    assert len(talk.asked("client candidate")) == 3 + 2 * 3 * ATTEMPTS


_BAD_LABELS: list[tuple[str, Any]] = [
    ("client action", {"label": "terminate"}),
    ("client action", {"label": "plan"}),
    ("client action", {"label": "ponder"}),
    ("client action", {}),
    ("client action", ["deny"]),
    ("client stage", {"label": "precontemplation"}),
    ("client stage", {"label": "action"}),
    ("client emotion", {"primary": "boredom", "secondary": [], "intensity": ""}),
    ("client emotion", {"primary": "frustration", "secondary": ["anger or irritation", "loneliness",
                                                               "shame or guilt"], "intensity": ""}),
    ("client emotion", {"primary": "frustration", "secondary": [], "intensity": "huge"}),
    ("client rapport", {"delta": 0.06}),
    ("client rapport", {"delta": -0.21}),
    ("client rapport", {"delta": "0.01"}),
    ("client rapport", {"delta": True}),
    ("client goal", {"goal": " "}),
    ("client summary", {"summary": 3}),
    ("therapist background", {"updates": [{"key": "shoes", "values": ["size 44"]}]}),
    ("therapist background", {"updates": [{"key": "family", "values": "a sister"}]}),
    ("therapist goal", {"goals": []}),
    ("therapist process", {"label": "planning"}),
    ("therapist process", {"label": "evoking"}),
    ("therapist strategies", {"strategies": ["summary", "summary", "affirmation"]}),
    ("therapist strategies", {"strategies": ["summary", "affirmation"]}),
    ("therapist strategies", {"strategies": ["summary", "affirmation", "assessing readiness"]}),
    ("therapist strategies", {"strategies": ["summary", "affirmation", "persuasion"]}),
]  # fmt: skip


def _first_attempts(talk: Played, purpose: str) -> list[Call]:
    return [call for call in talk.asked(purpose) if call.ordinal == 1]


@pytest.mark.parametrize(("purpose", "value"), _BAD_LABELS)
def test_a_label_that_isnt_allowed_is_asked_for_again_and_never_guessed(purpose: str, value: Any) -> None:
    """At a session's start: no plan, no leaving, no step back after a neutral message, no ruler, no skipping."""
    talk = session(length=12, options={"appraisal": "never"}, own={purpose: lambda call: value})
    assert talk.failure is not None
    assert (talk.failure.whose, talk.failure.reason) == ("evaluator", "reply can't be read")
    calls = _first_attempts(talk, purpose)
    assert [call.attempt for call in calls] == [1, 2, 3]
    assert all("could not be used" in call.objection for call in calls[1:])


def test_what_can_be_chosen_stands_in_the_schema_and_nothing_else() -> None:
    talk = session(length=20, options={"repetition": "model", "appraisal": "always"})
    for call in talk.calls:
        if call.actor != "evaluator" or call.schema is None or "label" not in call.schema["properties"]:
            continue
        allowed = call.schema["properties"]["label"]["enum"]
        assert list(call.material["allowed_label"]) == allowed
        for name in allowed:
            assert f"- {name}: " in call.instruction
        chosen = json.loads(talk.replies[talk.calls.index(call)].text)["label"]
        assert chosen in allowed
