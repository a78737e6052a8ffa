"""The session: therapist and client in turn, each after the calls about its own side, up to the target length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bedside.core.errors import InputError
from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    CLINICIAN_REPEATS,
    Spoken,
    silent_stop,
)
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.calm_it.candidates import MessageCandidate, RankedChoice, Ranking
from bedside.simulation.simulators.calm_it.client import ClientChoices, SimulatedClient
from bedside.simulation.simulators.calm_it.client_fields import fields_of
from bedside.simulation.simulators.calm_it.columns import SessionMoment
from bedside.simulation.simulators.calm_it.session_sentences import FAREWELL, GREETING
from bedside.simulation.simulators.calm_it.state_calls import SideCalls, last_messages
from bedside.simulation.simulators.calm_it.therapist import (
    Therapist,
    TherapistChoices,
    TherapistPlan,
    stuck_by_rule,
)
from bedside.simulation.simulators.calm_it.turn_rules import (
    END_FROM,
    Side,
    closing_from,
    drawn_length,
    plan_from,
    session_length,
)
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError

#: The setting in which the clinician's messages are made as the protocol makes them; the other is a clinician's own.
SCAFFOLD, FREE = "scaffold", "free"
#: Candidates for a message.
CANDIDATES = 3
#: Messages in a row in which the clinician repeats itself that end the session.
REPEATS = 3
#: Calls about a side before its message, at most: summary, state, then strategies or action.
_THERAPIST_CALLS, _CLIENT_CALLS = 9, 7


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    session = _Session(situation)
    try:
        stop = yield from session.held()
    except UnusableConversationError as error:
        raise UnusableConversationError(
            error.whose, error.reason, error.detail, session.states_so_far()
        ) from error
    return session.outcome(stop)


class _Session:
    """One session while it is held."""

    def __init__(self, situation: Situation) -> None:
        case, options = situation.case, situation.options
        self.draws = situation.draws
        self.length = session_length(situation.length)
        self.free = situation.setting == FREE
        self.fields = fields_of(case)
        dynamics = bool(options["dynamics"])
        candidates = CANDIDATES if options["ranking"] else 1
        ranking = Ranking(
            bool(options["ranking"]), str(options["rank"]), _ranked_after(situation), case.language
        )
        self.therapist = Therapist(
            self.fields,
            case.language,
            self.length,
            TherapistChoices(
                infers=dynamics and bool(options["therapist_state"]),
                repetition=str(options["repetition"]) if dynamics else "off",
                each=options["strategy_use"] == "each",
                candidates=candidates,
            ),
            ranking,
        )
        self.client = SimulatedClient(
            self.fields,
            case.language,
            self.length,
            ClientChoices(
                has_state=dynamics and bool(options["client_state"]),
                appraisal=str(options["appraisal"]),
                candidates=candidates,
            ),
            ranking,
            self.draws,
        )
        self.summary = ""
        self.lines: list[Line] = []
        self.turns: list[SpokenTurn] = []
        self.states: list[dict[str, Any]] = []
        self.flags: Counter[str] = Counter()
        self.in_a_row = 0
        #: Messages of each side whose candidates were ranked, and those that the most repetitive candidate won.
        self.ranked: dict[str, Counter[str]] = {"clinician": Counter(), "patient": Counter()}

    def held(self) -> Exchange[str]:
        """The whole of it; why it ended."""
        self._say_for("clinician", GREETING, {"fixed": "greeting"})
        for index in range(1, self.length):
            if index == self.length - 2:
                self._say_for("clinician", FAREWELL, {"fixed": "farewell"})
                continue
            stop = yield from self._patient(index) if index % 2 else self._clinician(index)
            if stop and index < self.length - 1:
                return stop
        return "target"

    def _now(self, index: int) -> SessionMoment:
        return SessionMoment(
            (index + 1) // 2,
            index,
            tuple(self.lines),
            self.summary,
            index >= closing_from(self.length),
        )

    def _summed_up(self, index: int, calls: SideCalls) -> Exchange[SessionMoment]:
        """Where the session stands, its summary brought up to date."""
        now = self._now(index)
        inputs = {"summary": self.summary, "messages": last_messages(now.lines)}
        self.summary = yield from calls.text("summary", now.number, inputs, "summary")
        return self._now(index)

    # -- the client -----------------------------------------------------------------------------------

    def _patient(self, index: int) -> Exchange[str]:
        """The client's turn; why the session ends with it, or nothing."""
        client = self.client
        now = yield from self._summed_up(index, client.calls)
        if client.choices.has_state:
            yield from client.change(now)
        action = yield from client.act(now)
        words = drawn_length("patient", self.draws.stream("client length", now.number))
        chosen = yield from client.speak(now, action, words)
        meta: dict[str, Any] = {"action": action, "words": [words.low, words.high]}
        if client.choices.has_state:
            state = client.column.content()
            meta |= {name: state[name] for name in ("appraisal", "stage", "emotion", "rapport")}
        self._note(index, client.calls, chosen, {"action": action, "state": client.column.content()})
        self._say("patient", chosen.candidate, meta)
        if action == "terminate":
            return "client_terminated"
        return self._left("patient", chosen.candidate.ends, index)

    # -- the therapist --------------------------------------------------------------------------------

    def _clinician(self, index: int) -> Exchange[str]:
        """The therapist's turn; why the session ends with it, or nothing."""
        if self.free:
            return (yield from self._freely(index))
        therapist = self.therapist
        now = yield from self._summed_up(index, therapist.calls)
        if therapist.choices.infers:
            yield from therapist.infer(now)
        circles = stuck_by_rule(now.lines, self.client.column.actions)
        plan = yield from therapist.plan(now, circles=circles)
        words = drawn_length("clinician", self.draws.stream("therapist length", now.number))
        chosen = yield from therapist.speak(now, plan, words)
        if isinstance(chosen, tuple):
            self._note(index, therapist.calls, None, {})
            self.flags.update(f"clinician: {flag}" for flag in chosen)
            return silent_stop(chosen)
        meta = self._intended(plan, chosen) | {"words": [words.low, words.high]}
        self._note(index, therapist.calls, chosen, {**meta, "state": therapist.column.content()})
        stage = therapist.column.process if therapist.choices.infers else None
        return self._took_clinician(index, chosen.candidate, meta, stage)

    def _intended(self, plan: TherapistPlan, chosen: RankedChoice) -> dict[str, Any]:
        """What the therapist meant to do with its message."""
        meta: dict[str, Any] = {"strategy": plan.strategies[chosen.candidate.place]}
        if plan.pivot:
            meta["pivot"] = plan.pivot
            self.flags["therapist: pivot"] += 1
        if self.therapist.choices.infers:
            state = self.therapist.column.content()
            meta |= {f"inferred_{name}": state[name] for name in ("stage", "emotion", "rapport")}
        return meta

    def _freely(self, index: int) -> Exchange[str]:
        spoken: Spoken = yield from self.therapist.speak_freely(self._now(index))
        if spoken.refused:
            refused = [list(each) for each in spoken.refused]
            self.states.append({"turn": index, "purpose": "message", "refused": refused})
        if not spoken.text:
            self.flags.update(f"clinician: {flag}" for flag in spoken.flags)
            return silent_stop(spoken.flags)
        ends = spoken.fields is not None and spoken.fields.get("end") is True
        return self._took_clinician(
            index, MessageCandidate(spoken.text, 0, ends, spoken.thought, spoken.flags), {}, None
        )

    def _took_clinician(
        self, index: int, candidate: MessageCandidate, meta: Mapping[str, Any], stage: str | None
    ) -> str:
        self._say("clinician", candidate, meta, stage)
        self.in_a_row = self.in_a_row + 1 if "repeats itself" in candidate.flags else 0
        if self.in_a_row == REPEATS:
            return CLINICIAN_REPEATS
        return self._left("clinician", candidate.ends, index)

    # -- what is written down -------------------------------------------------------------------------

    def _left(self, side: Side, ends: bool, index: int) -> str:
        """Why the session ends where a side leaves it; at its very start that isn't taken, and flagged."""
        if not ends:
            return ""
        if index < END_FROM:
            self.flags[f"{side}: end before it could be"] += 1
            return ""
        return {"clinician": "therapist_token", "patient": "client_token"}[side]

    def _say_for(self, side: Side, text: str, meta: Mapping[str, Any]) -> None:
        self._say(side, MessageCandidate(text, 0), meta)

    def _say(
        self, side: Side, candidate: MessageCandidate, meta: Mapping[str, Any], stage: str | None = None
    ) -> None:
        own: dict[str, Any] = {"simulation": {**meta, "target_length": self.length}}
        if stage is not None:
            own["stage"] = stage
        if candidate.thought:
            own["thought"] = candidate.thought
        if candidate.flags:
            own["flags"] = list(candidate.flags)
        self.flags.update(f"{side}: {flag}" for flag in candidate.flags)
        self.lines.append(Line(side, candidate.text))
        self.turns.append(SpokenTurn(side, candidate.text, own))

    def _note(
        self, index: int, calls: SideCalls, chosen: RankedChoice | None, meant: Mapping[str, Any]
    ) -> None:
        """Keep a turn's calls, what was meant by it, and its candidates."""
        self.states += [{"turn": index, **note} for note in calls.end_turn()]
        if chosen is None:
            return
        self.states.append({"turn": index, "purpose": f"{calls.side} state", **meant})
        self.states.append({"turn": index, "purpose": f"{calls.side} candidates", **chosen.note()})
        side = {"therapist": "clinician", "client": "patient"}[calls.side]
        self.flags.update(f"{side}, refused: {reason}" for _, reason in chosen.refused)
        if chosen.scores:
            self.ranked[side]["messages"] += 1
            self.ranked[side]["won by the most repetitive"] += chosen.bland

    def states_so_far(self) -> list[dict[str, Any]]:
        """The states, with those of a turn that isn't over."""
        notes = [*self.therapist.calls.notes, *self.client.calls.notes]
        return [*self.states, *({"turn": len(self.turns), **note} for note in notes)]

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        for calls in (self.therapist.calls, self.client.calls):
            self.flags.update(calls.counts)
        return Outcome(
            turns=tuple(self.turns),
            stop=stop,
            completed=len(self.turns) >= self.length,
            reference={
                "background": self.fields.background_text(),
                "goal": self.fields.session_goal,
            },
            factors={"target_length": self.length, "topic": self.fields.topic},
            states=tuple(self.states),
            flags={name: number for name, number in self.flags.items() if number},
            simulation={
                "closing_from": closing_from(self.length),
                "plan_from": plan_from(self.length),
                "ranked": {side: dict(counts) for side, counts in self.ranked.items() if counts},
            },
        )


def _ranked_after(situation: Situation) -> int:
    """After how many messages a candidate is weighed.

    Raises:
        InputError: after none.
    """
    messages = int(situation.options["rank_messages"])
    if messages < 1:
        raise InputError(
            f"the option rank_messages can't be {messages}",
            where="`options`",
            todo="give a whole number from 1",
        )
    return messages


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that a session can take, by role, attempts included."""
    length = session_length(situation.length)
    therapist, client = length // 2 - 2, length // 2
    ranked = client if situation.setting == FREE else client + therapist
    candidates = CANDIDATES if situation.options["ranking"] else 1
    about_therapist = 0 if situation.setting == FREE else therapist * _THERAPIST_CALLS
    return {
        "clinician": therapist * CLINICIAN_ATTEMPTS * (1 if situation.setting == FREE else candidates),
        "patient": client * ATTEMPTS * candidates,
        "evaluator": (about_therapist + client * _CLIENT_CALLS) * ATTEMPTS,
        "ranker": ranked * ATTEMPTS if situation.options["ranking"] else 0,
    }
