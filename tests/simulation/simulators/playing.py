"""Playing a controller without an engine: every call goes to a function, and all calls are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bedside.simulation.simulators.calls import ActorReply, Call, Exchange
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import Draws, Outcome, Simulator, Situation, UnusableConversationError
from bedside.simulation.simulators.scripts import read_script
from bedside.transcripts.transcript import Transcript, Turn

T = TypeVar("T")
#: What is replied to a call.
Replies = Callable[[Call], "str | ActorReply"]


@dataclass(frozen=True)
class Played:
    """A conversation that was played.

    Attributes:
        outcome: what it came to; None where it can't be used.
        failure: why it can't be used.
        calls: every call, in the order in which they were asked.
        replies: the replies to them.
    """

    outcome: Outcome | None
    failure: UnusableConversationError | None
    calls: tuple[Call, ...]
    replies: tuple[ActorReply, ...]

    def asked(self, purpose: str) -> list[Call]:
        """The calls at one site."""
        return [call for call in self.calls if call.purpose == purpose]

    @property
    def ended(self) -> Outcome:
        """The outcome of a conversation that can be used."""
        assert self.outcome is not None, self.failure
        return self.outcome


@dataclass
class Table:
    """Replies by call site: the next of each site's in order, the last one again where they run out."""

    replies: Mapping[str, list[str | ActorReply] | str | ActorReply]
    given: dict[str, int] = field(default_factory=dict)

    def __call__(self, call: Call) -> str | ActorReply:
        own = self.replies[call.purpose]
        if not isinstance(own, list):
            return own
        number = self.given.get(call.purpose, 0)
        self.given[call.purpose] = number + 1
        return own[min(number, len(own) - 1)]


def run_exchange(
    exchange: Exchange[T], replies: Replies, *, most: int = 10_000
) -> tuple[T, list[Call], list[ActorReply]]:
    """Run a controller or a part of one to its end; its result, its calls and their replies.

    Raises:
        AssertionError: it asks more than ``most`` calls, asks nothing, or asks a call twice.
    """
    calls: list[Call] = []
    answers: list[ActorReply] = []
    sites: set[tuple[object, ...]] = set()
    try:
        asked = next(exchange)
        while True:
            batch = _answered(asked, replies, calls, answers, sites=sites)
            assert len(calls) <= most, "it does not end"
            asked = exchange.send(batch)
    except StopIteration as end:
        return end.value, calls, answers


def _answered(
    asked: tuple[Call, ...],
    replies: Replies,
    calls: list[Call],
    answers: list[ActorReply],
    *,
    sites: set[tuple[object, ...]],
) -> tuple[ActorReply, ...]:
    assert isinstance(asked, tuple)
    assert asked, "nothing is asked"
    batch = []
    for call in asked:
        site = (call.scope, call.purpose, call.ordinal, call.attempt)
        assert site not in sites, site
        sites.add(site)
        reply = replies(call)
        reply = ActorReply(reply) if isinstance(reply, str) else reply
        calls.append(call)
        answers.append(reply)
        batch.append(reply)
    return tuple(batch)


def situation(
    simulator: Simulator,
    case: Case,
    *,
    setting: str | None = None,
    length: int | None = None,
    persona: Persona | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    repeat: int = 1,
) -> Situation:
    """What a conversation starts from; the simulator's own choices where nothing is said."""
    return Situation(
        case,
        persona,
        setting or simulator.settings[0].name,
        length or (simulator.lengths[0] if simulator.lengths else None),
        {option.name: option.default for option in simulator.options} | dict(options or {}),
        Draws(seed, f"conversation {case.id}" if repeat == 1 else f"conversation {case.id} {repeat}"),
        Draws(seed, f"case {case.id}"),
        repeat,
    )


def play(
    simulator: Simulator,
    case: Case,
    replies: Replies,
    *,
    setting: str | None = None,
    length: int | None = None,
    persona: Persona | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    repeat: int = 1,
    most: int = 10_000,
) -> Played:
    """Play one conversation; ``replies`` answers each call."""
    calls: list[Call] = []
    answers: list[ActorReply] = []

    def kept(call: Call) -> ActorReply:
        reply = replies(call)
        reply = ActorReply(reply) if isinstance(reply, str) else reply
        calls.append(call)
        answers.append(reply)
        return reply

    start = situation(
        simulator, case, setting=setting, length=length, persona=persona, options=options, seed=seed, repeat=repeat
    )
    try:
        outcome, _, _ = run_exchange(simulator.converse(start), kept, most=most)
    except UnusableConversationError as failure:
        return Played(None, failure, tuple(calls), tuple(answers))
    return Played(outcome, None, tuple(calls), tuple(answers))


def by_rules(simulator: Simulator) -> Replies:
    """Replies of the simulator's own actors that need no model."""
    return lambda call: simulator.rules[call.actor](call)


def by_script(simulator: Simulator, name: str) -> Replies:
    """Replies of a bundled clinician, and of the simulator's own actors."""
    rules, script = by_rules(simulator), read_script(name, simulator.scripts).script
    return lambda call: script.reply(call) if call.actor == "clinician" else rules(call)


def check_recorded(simulator: Simulator, talk: Played) -> None:
    """See that all that the bundled recording holds was asked, and nothing else."""
    assert simulator.scripts is not None
    replies = [json.loads(line) for line in (simulator.scripts / "recorded.jsonl").open(encoding="utf-8")]
    assert [(call.actor, call.purpose, call.ordinal, call.attempt) for call in talk.calls] == [
        (reply["actor"], reply["purpose"], reply["ordinal"], reply["attempt"]) for reply in replies
    ]


def transcript_of(talk: Played, name: str, **fields: Any) -> Transcript:
    """A conversation that was played, as the engine would write it down."""
    turns = tuple(
        Turn(index, turn.role, turn.role, turn.text, dict(turn.meta)) for index, turn in enumerate(talk.ended.turns)
    )
    return Transcript(name, turns, **{"reference": dict(talk.ended.reference), **fields})
