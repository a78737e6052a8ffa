"""The therapist's side: what it takes the client to be like, what it means to do, and its message.

Its calls hold the public talk, the client's data without the reason for coming, and its own column. The client's column
is in none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bedside.simulation.simulators.asking import Spoken, ask_clinician
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.calm_it.candidates import RankedChoice, Ranking, clinician_candidates
from bedside.simulation.simulators.calm_it.client_fields import (
    CalmItFields,
    SessionMoment,
    TherapistColumn,
    grown,
    labels,
    listed,
)
from bedside.simulation.simulators.calm_it.state_calls import (
    STRATEGIES_SHOWN,
    SideCalls,
    TurnLength,
    allowed_processes,
    allowed_strategies,
    as_json,
    goes_in_circles,
    last_messages,
    prompt_text,
    read_goals,
    read_repetition,
    read_updates,
    strategies_reader,
)
from bedside.simulation.simulators.faults import clinician_watch
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.prompt_files import FilledPrompt

# -- What is the same in every session ------------------------------------------------------------------

#: Message 0 and message T - 2, which the protocol says for the therapist.
GREETING = "Hello, good to have you here. What brings you in today?"
FAREWELL = (
    "Our time is up for today. Thank you for talking so openly with me. Is there anything that you would like to say "
    "before we stop?"
)

_OPEN = "There is time: nothing needs to be settled now."
_EARLY = "You hardly know each other yet: go gently."
_CLOSING = {
    "clinician": "The session is in its last messages: begin nothing new, gather, and bring it to a good end.",
    "patient": "The session is in its last messages: begin nothing new.",
}
_LAST = "The therapist has said goodbye: this is your last line."


def phase(side: str, index: int, *, closing: bool, last: bool = False) -> str:
    """What a side is told of the time.

    Args:
        side: ``clinician`` or ``patient``.
        index: of the message.
        closing: whether it is one of those that are kept for closing.
        last: whether it is the last.
    """
    if last:
        return _LAST
    if closing:
        return _CLOSING[side]
    return _EARLY if index < EARLY else _OPEN


def counter(index: int, length: int) -> str:
    """Which message of how many one is."""
    return f"{index + 1} of {length}"


#: Messages that count as early.
EARLY = 6


# -- The therapist's side -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TherapistPlan:
    """What the therapist means to do with a message.

    Attributes:
        strategies: the strategy of each candidate.
        pivot: how it changes course; empty where it doesn't.
    """

    strategies: tuple[str, ...]
    pivot: str = ""


@dataclass(slots=True)
class Therapist:
    """The therapist's part of one session.

    Attributes:
        fields: of the case; of them it is told the client's data and the topic.
        language: of the session.
        length: of the session, in messages.
        infers: whether it keeps a picture of the client.
        repetition: ``rules``, ``model``, or ``off`` for no check.
        varied: whether candidate i is to carry out strategy i, rather than all the first.
        candidates: how many there are.
        ranking: how candidates are ranked.
        ledger: of the session.
        column: what it takes the client to be like.
        calls: the evaluator's about it.
    """

    fields: CalmItFields
    language: str
    length: int
    infers: bool
    repetition: str
    varied: bool
    candidates: int
    ranking: Ranking
    ledger: Ledger
    column: TherapistColumn = field(default_factory=TherapistColumn)
    calls: SideCalls = field(init=False)

    def __post_init__(self) -> None:
        self.calls = SideCalls("therapist", self.language, self.ledger)

    # -- what it takes the client to be like ----------------------------------------------------------

    def infer(self, now: SessionMoment) -> Exchange[None]:
        """Background, emotion, stage, goals, rapport and process, in this order, each with what is new before it."""

        def inputs() -> dict[str, Any]:
            return {
                "topic": self.fields.topic,
                "picture": self.column.content(),
                "summary": now.summary,
                "messages": last_messages(now.lines),
            }

        ask = self.calls
        updates = yield from ask.ask("background", now.number, inputs(), read_updates)
        self.column = replace(self.column, background=grown(self.column.background, updates))
        feeling = yield from ask.feeling(now.number, inputs())
        self.column = replace(self.column, feeling=feeling)
        stage = yield from ask.label("stage", now.number, inputs(), "stages", labels("stages"))
        self.column = replace(self.column, stage=stage)
        goals = yield from ask.ask("goal", now.number, inputs(), read_goals)
        self.column = replace(self.column, goals=goals)
        rapport = yield from ask.rapport(now.number, inputs(), self.column.rapport)
        self.column = replace(self.column, rapport=rapport)
        allowed = allowed_processes(self.column.process, now.index, self.length)
        process = yield from ask.label("process", now.number, inputs(), "processes", allowed)
        self.column = replace(self.column, process=process)

    # -- what it means to do --------------------------------------------------------------------------

    def plan(self, now: SessionMoment, *, circles: bool) -> Exchange[TherapistPlan]:
        """Three strategies, or a pivot where the session goes in circles; the strategy then stays beside it.

        Args:
            now: where the session stands.
            circles: whether the rules find that the session goes in circles.
        """
        inputs: dict[str, Any] = {
            "topic": self.fields.topic,
            "client": self.fields.profile.demographics(),
            "picture": self.column.content() if self.infers else {},
            "summary": now.summary,
            "messages": last_messages(now.lines),
        }
        allowed = allowed_strategies(self.column.strategies, now.index)
        if (yield from self._repeats(now, circles=circles)):
            pivot = yield from self.calls.label("pivot", now.number, inputs, "pivots", labels("pivots"))
            kept = tuple(name for name in self.column.ranking if name in allowed)
            return TherapistPlan(self._of_candidates(kept), pivot)
        inputs |= {
            "last_strategies": list(self.column.strategies[-STRATEGIES_SHOWN:]),
            "closing": now.closing,
        }
        ranking = yield from self.calls.ask(
            "strategies",
            now.number,
            inputs,
            strategies_reader(allowed),
            choices=listed("strategies", allowed),
            enums={"strategies": allowed},
        )
        self.column = replace(self.column, ranking=ranking)
        return TherapistPlan(self._of_candidates(ranking))

    def _of_candidates(self, ranking: Sequence[str]) -> tuple[str, ...]:
        """The strategy of each candidate."""
        places = range(self.candidates)
        return tuple(ranking[place % len(ranking) if self.varied else 0] for place in places)

    def _repeats(self, now: SessionMoment, *, circles: bool) -> Exchange[bool]:
        """Whether the session goes in circles: not asked at the start, nor where nothing new is to begin."""
        if self.repetition == "off" or now.closing or not self.column.ranking:
            return False
        if self.repetition == "rules":
            return circles
        inputs = {"summary": now.summary, "messages": last_messages(now.lines)}
        repeats = yield from self.calls.ask("repetition", now.number, inputs, read_repetition)
        return bool(repeats)

    # -- its message ----------------------------------------------------------------------------------

    def speak(
        self, now: SessionMoment, plan: TherapistPlan, words: TurnLength
    ) -> Exchange[RankedChoice | tuple[str, ...]]:
        """The message: candidates, ranked; where nothing was said, twice, what is wrong with that.

        Args:
            now: where the session stands.
            plan: what it means to do.
            words: how long the message is to be.
        """
        calls = tuple(self._call(now, place, plan, words) for place in range(self.candidates))
        candidates, refused = yield from clinician_candidates(calls, clinician_watch(now.lines, self.language))
        if not candidates:
            return tuple(dict.fromkeys(reason for _, reason in refused[-len(calls) :]))
        chosen = yield from self.ranking.best("clinician", now.number, now.lines, candidates, refused)
        used = plan.strategies[chosen.candidate.place]
        self.column = replace(self.column, strategies=(*self.column.strategies, used))
        return chosen

    def _call(self, now: SessionMoment, place: int, plan: TherapistPlan, words: TurnLength) -> Call:
        strategy, pivot = plan.strategies[place], plan.pivot
        state: dict[str, Any] = {"strategy": f"{strategy}: {labels('strategies')[strategy]}"}
        if pivot:
            state["pivot"] = f"{pivot}: {labels('pivots')[pivot]}"
        if self.infers:
            state |= self.column.content()
            state["rapport"] = round((self.column.rapport + 1) / 2, 4)
            state["early"] = now.index < EARLY
        state |= {"summary": now.summary, "closing": now.closing}
        brief = scaffold_brief(self.fields, self.language)
        prompt = prompt_text(
            "therapist_message",
            self.language,
            **_told(self.fields),
            state=as_json(state),
            counter=counter(now.index, self.length),
            words=words.text,
            phase=phase("clinician", now.index, closing=now.closing),
        )
        return Call(
            "clinician",
            "therapist candidate",
            (now.number - 1) * self.candidates + place + 1,
            brief=brief.brief,
            history=now.lines,
            instruction=prompt.instruction,
            schema=prompt.schema,
            material={
                **state,
                "topic": self.fields.topic,
                "client": self.fields.profile.demographics(),
                "words": [words.low, words.high],
                "number": now.number,
                "place": place,
            },
            prompt=prompt.reference,
        )

    def speak_freely(self, now: SessionMoment) -> Exchange[Spoken]:
        """The message of a clinician that talks as it likes."""
        brief = free_brief(self.fields, self.language)
        prompt = prompt_text(
            "free_turn",
            self.language,
            counter=counter(now.index, self.length),
            phase=phase("clinician", now.index, closing=now.closing),
        )
        call = Call(
            "clinician",
            "message",
            now.number,
            brief=brief.brief,
            history=now.lines,
            instruction=prompt.instruction,
            schema=prompt.schema,
            material={
                "topic": self.fields.topic,
                "client": self.fields.profile.demographics(),
                "closing": now.closing,
                "number": now.number,
            },
            prompt=f"{brief.reference} {prompt.reference}",
        )
        return (yield from ask_clinician(call, clinician_watch(now.lines, self.language)))


def stuck_by_rule(lines: Sequence[Line], actions: Sequence[str]) -> bool:
    """Whether the session goes in circles by the words of the therapist or the acts of the client."""
    return goes_in_circles([line.text for line in lines if line.role == "clinician"], actions)


def scaffold_brief(fields: CalmItFields, language: str) -> FilledPrompt:
    """What a clinician is told at the start whose messages are scaffolded."""
    rest = dict.fromkeys(("state", "counter", "words", "phase"), "")
    return prompt_text("therapist_message", language, **_told(fields), **rest)


def free_brief(fields: CalmItFields, language: str) -> FilledPrompt:
    """What a clinician is told at the start that talks as it likes."""
    return prompt_text("therapist_free", language, **_told(fields))


def _told(fields: CalmItFields) -> dict[str, str]:
    return {"profile": as_json(fields.profile.demographics()), "topic": fields.topic}
