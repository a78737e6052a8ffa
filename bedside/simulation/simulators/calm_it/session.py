"""The session: therapist and client in turn, each after the calls about its own side, up to the target length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bedside.core.errors import InputError
from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Fault,
    Spoken,
)
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange
from bedside.simulation.simulators.calm_it.candidates import (
    SPEAKERS,
    RankedChoice,
    Ranking,
    ends_with,
    patient_candidates,
)
from bedside.simulation.simulators.calm_it.client_fields import (
    APPRAISALS,
    NEUTRAL,
    CalmItFields,
    ClientColumn,
    Feeling,
    SessionMoment,
    fields_of,
    labels,
    listed,
)
from bedside.simulation.simulators.calm_it.state_calls import (
    END_FROM,
    MOST_WORDS,
    Side,
    SideCalls,
    TurnLength,
    allowed_actions,
    allowed_stages,
    as_json,
    closing_from,
    drawn_length,
    last_messages,
    plan_from,
    prompt_text,
    read_appraisal,
    session_length,
)
from bedside.simulation.simulators.calm_it.therapist import (
    FAREWELL,
    GREETING,
    Therapist,
    TherapistPlan,
    counter,
    phase,
    stuck_by_rule,
)
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.draws import Draws
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.ledger import Ledger

# -- The client's side ----------------------------------------------------------------------------------
# Its calls hold the public talk, the client's life and way of thinking, and its own column. What the therapist takes
# it to be like, and what it means to do, is in none of them.

#: How often the client appraises a message at all.
APPRAISED = 0.5


@dataclass(slots=True)
class SimulatedClient:
    """The client's part of one session.

    Attributes:
        fields: of the case.
        language: of the session.
        length: of the session, in messages.
        has_state: whether it changes as it is talked to.
        appraisal: ``drawn``, ``always`` or ``never``.
        candidates: how many there are.
        ranking: how candidates are ranked.
        draws: chance in this session.
        ledger: of the session.
        column: how it is.
        calls: the evaluator's about it.
    """

    fields: CalmItFields
    language: str
    length: int
    has_state: bool
    appraisal: str
    candidates: int
    ranking: Ranking
    draws: Draws
    ledger: Ledger
    column: ClientColumn = field(init=False)
    calls: SideCalls = field(init=False)

    def __post_init__(self) -> None:
        self.calls = SideCalls("client", self.language, self.ledger)
        start = self.fields.initial
        self.column = ClientColumn(
            start.stage,
            None if start.emotion is None else Feeling(start.emotion),
            start.rapport,
            start.goal or self.fields.session_goal,
        )

    def _inputs(self, now: SessionMoment) -> dict[str, Any]:
        state = self.column.content() if self.has_state else {}
        return {
            **self._person(),
            "session_goal": self.fields.session_goal,
            "topic": self.fields.topic,
            "state": state,
            "summary": now.summary,
            "messages": last_messages(now.lines),
        }

    def _person(self) -> dict[str, Any]:
        return {
            "profile": self.fields.profile.model_dump(),
            "background": {name: list(facts) for name, facts in self.fields.background.model_dump().items() if facts},
            "cognitive_model": dict(self.fields.cognitive_model),
        }

    # -- how it is ------------------------------------------------------------------------------------

    def change(self, now: SessionMoment) -> Exchange[None]:
        """Appraisal, stage, emotion, rapport and goal, in this order, each with what is new before it."""
        ask = self.calls
        appraisal, reason = NEUTRAL, ""
        if self._appraises(now.number):
            names = tuple(labels("appraisals"))
            appraisal, reason = yield from ask.ask(
                "appraisal",
                now.number,
                self._inputs(now),
                read_appraisal,
                choices=listed("appraisals", names),
                enums={"label": names},
            )
        self.column = replace(self.column, appraisal=appraisal, reason=reason)
        allowed = allowed_stages(self.column.stage, appraisal)
        stage = yield from ask.label("stage", now.number, self._inputs(now), "stages", allowed)
        self.column = replace(self.column, stage=stage)
        feeling = yield from ask.feeling(now.number, self._inputs(now))
        self.column = replace(self.column, feeling=feeling)
        inputs = self._inputs(now) | {"appraisal_1_to_5": APPRAISALS.index(appraisal) + 1}
        rapport = yield from ask.rapport(now.number, inputs, self.column.rapport)
        self.column = replace(self.column, rapport=rapport)
        goal = yield from ask.text("goal", now.number, self._inputs(now), "goal")
        self.column = replace(self.column, goal=goal)

    def _appraises(self, number: int) -> bool:
        """Whether the client appraises the message that it answers: drawn by itself for each of its turns."""
        if self.appraisal != "drawn":
            return self.appraisal == "always"
        return self.draws.stream("appraisal", number).random() < APPRAISED

    def act(self, now: SessionMoment) -> Exchange[str]:
        """What it does with its message."""
        inputs = self._inputs(now) | {"closing": now.closing}
        if not self.has_state:
            inputs["state"] = {"previous_action": self.column.actions[-1] if self.column.actions else ""}
        allowed = allowed_actions(now.index, self.length, self.column.stage)
        action = yield from self.calls.label("action", now.number, inputs, "actions", allowed)
        self.column = replace(self.column, actions=(*self.column.actions, action))
        return action

    # -- its message ----------------------------------------------------------------------------------

    def speak(self, now: SessionMoment, action: str, words: TurnLength) -> Exchange[RankedChoice]:
        """The message: candidates that can be used, ranked.

        Args:
            now: where the session stands.
            action: what it does.
            words: how long the message is to be.
        """
        calls = tuple(self._call(now, place, action, words) for place in range(self.candidates))
        own = [line.text for line in now.lines if line.role == "patient"]

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=self.language, earlier=own, sentences=None, words=MOST_WORDS)

        candidates, refused = yield from patient_candidates(calls, check)
        return (yield from self.ranking.best("patient", now.number, now.lines, candidates, refused))

    def _call(self, now: SessionMoment, place: int, action: str, words: TurnLength) -> Call:
        state: dict[str, Any] = {"action": f"{action}: {labels('actions')[action]}"}
        if self.has_state:
            own = self.column.content()
            state |= {name: own[name] for name in own if name != "previous_action"}
        state |= {"summary": now.summary, "closing": now.closing}
        person = self._person()
        prompt = prompt_text(
            "client_message",
            self.language,
            person=as_json(person),
            goal=self.fields.session_goal,
            state=as_json(state),
            counter=counter(now.index, self.length),
            words=words.text,
            phase=phase("patient", now.index, closing=now.closing, last=now.index == self.length - 1),
        )
        return Call(
            "patient",
            "client candidate",
            (now.number - 1) * self.candidates + place + 1,
            brief=prompt.brief,
            history=now.lines,
            instruction=prompt.instruction,
            schema=prompt.schema,
            material={
                **person,
                **state,
                "session_goal": self.fields.session_goal,
                "words": [words.low, words.high],
                "number": now.number,
                "place": place,
            },
            prompt=prompt.reference,
        )


# -- The session ----------------------------------------------------------------------------------------

#: The setting in which the clinician's messages are made as the protocol makes them; the other is a clinician's own.
SCAFFOLD, FREE = "scaffold", "free"
#: Candidates for a message.
CANDIDATES = 3
#: Calls about a side before its message, at most: summary, state, then strategies or action.
_THERAPIST_CALLS, _CLIENT_CALLS = 9, 7


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    session = _Session(situation)
    return (yield from session.ledger.keep(session.whole()))


class _Session:
    """One session while it is held."""

    def __init__(self, situation: Situation) -> None:
        case, options = situation.case, situation.options
        self.draws = situation.draws
        self.ledger = Ledger()
        self.length = session_length(situation.length)
        self.free = situation.setting == FREE
        self.fields = fields_of(case)
        dynamics = bool(options["dynamics"])
        candidates = CANDIDATES if options["ranking"] else 1
        ranking = Ranking(bool(options["ranking"]), str(options["rank"]), _ranked_after(situation), case.language)
        self.therapist = Therapist(
            self.fields,
            case.language,
            self.length,
            infers=dynamics and bool(options["therapist_state"]),
            repetition=str(options["repetition"]) if dynamics else "off",
            varied=options["strategy_use"] == "each",
            candidates=candidates,
            ranking=ranking,
            ledger=self.ledger,
        )
        self.client = SimulatedClient(
            self.fields,
            case.language,
            self.length,
            has_state=dynamics and bool(options["client_state"]),
            appraisal=str(options["appraisal"]),
            candidates=candidates,
            ranking=ranking,
            draws=self.draws,
            ledger=self.ledger,
        )
        self.summary = ""
        #: Messages of each side whose candidates were ranked, and those that the most repetitive candidate won.
        self.ranked: dict[str, Counter[str]] = {"clinician": Counter(), "patient": Counter()}

    def whole(self) -> Exchange[Outcome]:
        """All of it."""
        return self._outcome((yield from self._course()))

    def _course(self) -> Exchange[str]:
        """Greeting, messages and farewell; why it ended."""
        self._say("clinician", Spoken(GREETING), {"fixed": "greeting"})
        for index in range(1, self.length):
            if index == self.length - 2:
                self._say("clinician", Spoken(FAREWELL), {"fixed": "farewell"})
                continue
            stop = yield from self._patient(index) if index % 2 else self._clinician(index)
            if stop and index < self.length - 1:
                return stop
        return "target"

    def _now(self, index: int) -> SessionMoment:
        return SessionMoment(
            (index + 1) // 2,
            index,
            tuple(self.ledger.lines),
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
        if client.has_state:
            yield from client.change(now)
        action = yield from client.act(now)
        words = drawn_length("patient", self.draws.stream("client length", now.number))
        chosen = yield from client.speak(now, action, words)
        meta: dict[str, Any] = {"action": action, "words": [words.low, words.high]}
        if client.has_state:
            state = client.column.content()
            meta |= {name: state[name] for name in ("appraisal", "stage", "emotion", "rapport")}
        self._note("patient", chosen, {"action": action, "state": client.column.content()})
        self._say("patient", chosen.spoken(), meta)
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
        if therapist.infers:
            yield from therapist.infer(now)
        circles = stuck_by_rule(now.lines, self.client.column.actions)
        plan = yield from therapist.plan(now, circles=circles)
        words = drawn_length("clinician", self.draws.stream("therapist length", now.number))
        chosen = yield from therapist.speak(now, plan, words)
        if isinstance(chosen, tuple):
            return self.ledger.silence(chosen)
        meta = self._intended(plan, chosen) | {"words": [words.low, words.high]}
        self._note("clinician", chosen, {**meta, "state": therapist.column.content()})
        self.ledger.flags.update(f"clinician, refused: {reason}" for _, reason in chosen.refused)
        stage = therapist.column.process if therapist.infers else None
        self._say("clinician", chosen.spoken(), meta, stage)
        return self.ledger.repeated() or self._left("clinician", chosen.candidate.ends, index)

    def _intended(self, plan: TherapistPlan, chosen: RankedChoice) -> dict[str, Any]:
        """What the therapist meant to do with its message."""
        meta: dict[str, Any] = {"strategy": plan.strategies[chosen.candidate.place]}
        if plan.pivot:
            meta["pivot"] = plan.pivot
            self.ledger.flags["therapist: pivot"] += 1
        if self.therapist.infers:
            state = self.therapist.column.content()
            meta |= {f"inferred_{name}": state[name] for name in ("stage", "emotion", "rapport")}
        return meta

    def _freely(self, index: int) -> Exchange[str]:
        spoken: Spoken = yield from self.therapist.speak_freely(self._now(index))
        if spoken.refused:
            self.ledger.note("message", refused=spoken.refused)
        if not spoken.text:
            return self.ledger.silence(spoken.flags)
        self._say("clinician", spoken, {})
        return self.ledger.repeated() or self._left("clinician", ends_with(spoken.fields), index)

    # -- what is written down -------------------------------------------------------------------------

    def _left(self, side: Side, ends: bool, index: int) -> str:
        """Why the session ends where a side leaves it; at its very start that isn't taken, and flagged."""
        if not ends:
            return ""
        if index < END_FROM:
            self.ledger.flags[f"{side}: end before it could be"] += 1
            return ""
        return {"clinician": "therapist_token", "patient": "client_token"}[side]

    def _say(self, side: Side, spoken: Spoken, meta: Mapping[str, Any], stage: str | None = None) -> None:
        marks: dict[str, Any] = {"simulation": {**meta, "target_length": self.length}}
        if stage is not None:
            marks["stage"] = stage
        self.ledger.say(side, spoken, marks)

    def _note(self, side: Side, chosen: RankedChoice, meant: Mapping[str, Any]) -> None:
        """Keep what was meant by a turn, and its candidates."""
        speaker = SPEAKERS[side]
        self.ledger.note(f"{speaker} state", **meant)
        self.ledger.note(f"{speaker} candidates", **chosen.note())
        if chosen.scores:
            self.ranked[side]["messages"] += 1
            self.ranked[side]["won by the most repetitive"] += chosen.bland

    def _outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return self.ledger.outcome(
            stop,
            completed=len(self.ledger.turns) >= self.length,
            reference={
                "background": self.fields.background_text(),
                "goal": self.fields.session_goal,
            },
            factors={"target_length": self.length, "topic": self.fields.topic},
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
