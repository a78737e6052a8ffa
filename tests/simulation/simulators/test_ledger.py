"""The one ledger of turns, states and counts."""

from __future__ import annotations

import pytest

from bedside.simulation.simulators.asking import Spoken
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.contract import SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.ledger import REPEATS, Ledger
from tests.simulation.simulators.playing import run_exchange


def test_a_message_is_written_down_with_its_marks_and_counted() -> None:
    ledger = Ledger()
    ledger.say("clinician", Spoken("Hello.", flags=("too long",), refused=(("", "empty"),)))
    ledger.say(
        "patient",
        Spoken("Hm.", thought="Well.", refused=(("", "empty"),)),
        {"stage": "exit"},
        {"p": {"z": 1}},
    )
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
    ("flags", "stop"),
    [(("refusal",), "refused"), (("failed",), "clinician failed"), (("empty",), "clinician empty")],
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
