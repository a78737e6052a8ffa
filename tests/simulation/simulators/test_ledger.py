"""The one ledger of turns, states and counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import RegistryError
from bedside.simulation.simulators.asking import Spoken, part_of
from bedside.simulation.simulators.calls import ActorReply, Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import (
    Draws,
    Outcome,
    Situation,
    SpokenTurn,
    UnusableConversationError,
    facts_in,
)
from bedside.simulation.simulators.ledger import REPEATS, Ledger, ProtocolTalk
from tests.simulation.simulators.playing import run_exchange


def test_a_message_is_written_down_with_its_marks_and_counted() -> None:
    ledger = Ledger()
    ledger.say("clinician", Spoken("Hello.", flags=("too long",), refused=(("", "empty"),)))
    ledger.say("patient", Spoken("Hm.", thought="Well.", refused=(("", "empty"),)), {"stage": "exit"}, {"p": {"z": 1}})
    assert ledger.lines == [Line("clinician", "Hello."), Line("patient", "Hm.")]
    assert ledger.turns == [
        SpokenTurn("clinician", "Hello.", {"flags": ["too long"]}),
        SpokenTurn("patient", "Hm.", {"stage": "exit", "thought": "Well."}, {"p": {"z": 1}}),
    ]
    assert ledger.flags == {"clinician: too long": 1, "patient, refused: empty": 1}


def test_states_belong_to_the_turn_that_comes_or_came() -> None:
    ledger = Ledger()
    ledger.say("patient", Spoken("Hello."))
    ledger.note("reply", value=1)
    ledger.note_last("verdict", value=2)
    ledger.note_refused("message", Spoken("Yes.", refused=(("a", "empty"), ("b", "cut off"))))
    assert ledger.states == [
        {"turn": 1, "purpose": "reply", "value": 1},
        {"turn": 0, "purpose": "verdict", "value": 2},
        {"turn": 1, "purpose": "message", "refused": "a", "reason": "empty"},
        {"turn": 1, "purpose": "message", "refused": "b", "reason": "cut off"},
    ]


def test_a_clinician_that_repeats_itself_ends_the_conversation_the_third_time_running() -> None:
    ledger = Ledger()
    again = Spoken("Why?", flags=("repeats itself",))
    stops = []
    for spoken in (again, again, Spoken("And now?"), *[again] * REPEATS):
        ledger.say("clinician", spoken)
        ledger.say("patient", Spoken("No.", flags=("repeats itself",)))
        stops.append(ledger.repeated())
    assert stops == ["", "", "", "", "", "clinician repeats"]


@pytest.mark.parametrize(
    ("flags", "stop"), [(("refusal",), "refused"), (("failed",), "clinician failed"), (("empty",), "clinician empty")]
)
def test_a_silent_clinician_is_counted_and_ends_the_conversation(flags: tuple[str, ...], stop: str) -> None:
    ledger = Ledger()
    assert ledger.silence(flags) == stop
    assert ledger.flags == {f"clinician: {flag}": 1 for flag in flags}


def test_an_outcome_holds_what_was_written_down() -> None:
    ledger = Ledger()
    ledger.say("patient", Spoken("Hello.", flags=("too long",)))
    ledger.note("reply")
    ledger.flags["clinician: forced"] += 0
    outcome = ledger.outcome("exit", completed=True, factors={"sex": "female"})
    assert (outcome.turns, outcome.states) == (tuple(ledger.turns), tuple(ledger.states))
    assert (outcome.stop, outcome.completed, outcome.factors) == ("exit", True, {"sex": "female"})
    assert outcome.flags == {"patient: too long": 1}


def test_what_cannot_be_used_carries_the_states() -> None:
    ledger = Ledger()

    def course() -> Exchange[str]:
        yield (Call("patient", "reply", 1),)
        ledger.note("reply", value=1)
        raise UnusableConversationError("patient", "empty", "reply 1")

    with pytest.raises(UnusableConversationError) as raised:
        run_exchange(ledger.keep(course()), lambda call: "")
    assert (raised.value.whose, raised.value.reason, raised.value.detail) == ("patient", "empty", "reply 1")
    assert raised.value.states == ({"turn": 0, "purpose": "reply", "value": 1},)


# -- a protocol's talk ---------------------------------------------------------------------------------

PROMPT = """id: {name}
language: en
purpose: A prompt of a test.
brief: You are the {name}.
instruction: Say {name}.
"""
SCHEMA = "schema: {type: object, properties: {enough: {type: boolean}}}\n"


@pytest.fixture
def talk(tmp_path: Path) -> ProtocolTalk:
    (tmp_path / "prompts").mkdir()
    for name, schema in (("clinician", ""), ("patient", ""), ("decision", SCHEMA)):
        (tmp_path / "prompts" / f"{name}.en.yaml").write_text(PROMPT.format(name=name) + schema)

    class TinyTalk(ProtocolTalk):
        folder = tmp_path

        def course(self) -> Exchange[str]:
            clinician, patient = self.prompt("clinician"), self.prompt("patient")
            for number in (1, 2):
                spoken = yield from self.ask_clinician(number, clinician, material={"number": number})
                if not spoken.text:
                    return self.ledger.silence(spoken.flags)
                self.ledger.say("clinician", spoken)
                call = self.call("patient", "reply", number, patient)
                self.ledger.say("patient", (yield from self.ask_patient(call, sentences=1, words=9)))
                call = self.call("clinician", "decision", number, self.prompt("decision"), history=())
                decided = yield from self.decide(call, lambda value: bool(part_of(value, "enough")), neutral=False)
                if decided.value:
                    return "enough"
            return "limit"

        def outcome(self, stop: str) -> Outcome:
            return self.ledger.outcome(stop, completed=True)

    draws = Draws(0, "")
    return TinyTalk(Situation(Case(id="one"), None, "only", None, {}, draws, draws))


def replies(**changes: Any) -> Any:
    usual = {"message": "What is it?", "reply": "My chest.", "decision": '{"enough": true}'}
    return lambda call: {**usual, **changes}[call.purpose]


def test_a_talk_shows_its_sides_what_was_said_and_asks_for_objects_in_decisions(talk: ProtocolTalk) -> None:
    outcome, (message, reply, decision), _ = run_exchange(talk.hold(), replies())
    assert (outcome.stop, [turn.text for turn in outcome.turns]) == ("enough", ["What is it?", "My chest."])
    assert (message.brief, message.instruction) == ("You are the clinician.", "Say clinician.")
    assert (message.kind, message.history, message.material) == ("message", (), {"number": 1})
    assert reply.history == (Line("clinician", "What is it?"),)
    assert (decision.kind, decision.history) == ("data", ())
    assert decision.schema == {"type": "object", "properties": {"enough": {"type": "boolean"}}}
    assert [call.prompt.split("@")[0] for call in (message, reply, decision)] == [
        "clinician.en", "patient.en", "decision.en",
    ]  # fmt: skip


def test_what_a_talk_watches_for_is_counted(talk: ProtocolTalk) -> None:
    outcome, calls, _ = run_exchange(talk.hold(), replies(reply="One. Two.", decision="perhaps"))
    assert outcome.stop == "limit"
    assert outcome.flags == {
        "patient: too long": 2, "clinician: decision can't be read": 2, "patient, refused: too long": 4,
    }  # fmt: skip
    assert sum(call.purpose == "decision" for call in calls) == 6


def test_a_talk_with_a_silent_clinician_ends(talk: ProtocolTalk) -> None:
    outcome, _, _ = run_exchange(talk.hold(), replies(message=ActorReply("", declined="unsafe")))
    assert (outcome.stop, outcome.turns) == ("refused", ())


def test_facts_are_read_with_what_stands_beside_them(tmp_path: Path) -> None:
    facts = {
        "name": "tiny", "title": "Tiny", "version": 1, "source": "nobody", "languages": ["en"],
        "settings": [{"name": "only", "title": "the only", "description": "The only one."}],
        "options": [{"name": "many", "default": True, "description": "Whether."}],
    }  # fmt: skip
    (tmp_path / "simulator.yaml").write_text(json.dumps(facts))
    (tmp_path / "cases.yaml").touch()
    read = facts_in(tmp_path)
    assert (read["name"], read["cases"], "scripts" in read) == ("tiny", tmp_path / "cases.yaml", False)
    assert [option.default for option in read["options"]] == [True]
    other = tmp_path / "other"
    other.mkdir()
    (other / "simulator.yaml").write_text(json.dumps({**facts, "titel": "x"}))
    with pytest.raises(RegistryError, match="titel"):
        facts_in(other)
