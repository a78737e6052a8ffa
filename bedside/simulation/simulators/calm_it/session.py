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
    CLINICIAN_REPEATS,
    Fault,
    Spoken,
    silent_stop,
)
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.calm_it.candidates import (
    MessageCandidate,
    RankedChoice,
    Ranking,
    patient_candidates,
)
from bedside.simulation.simulators.calm_it.client_fields import CalmItFields, fields_of
from bedside.simulation.simulators.calm_it.columns import ClientColumn, Feeling, SessionMoment
from bedside.simulation.simulators.calm_it.labels import APPRAISALS, NEUTRAL, labels, listed
from bedside.simulation.simulators.calm_it.session_sentences import FAREWELL, GREETING, counter, phase
from bedside.simulation.simulators.calm_it.state_calls import (
    SideCalls,
    as_json,
    last_messages,
    prompt_text,
    read_appraisal,
)
from bedside.simulation.simulators.calm_it.therapist import (
    Therapist,
    TherapistChoices,
    TherapistPlan,
    stuck_by_rule,
)
from bedside.simulation.simulators.calm_it.turn_rules import (
    END_FROM,
    MOST_WORDS,
    Side,
    TurnLength,
    allowed_actions,
    allowed_stages,
    closing_from,
    drawn_length,
    plan_from,
    session_length,
)
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.draws import Draws
from bedside.simulation.simulators.faults import patient_fault

# -- The client's side ----------------------------------------------------------------------------------

#: How often the client appraises a message at all.
APPRAISED = 0.5


@dataclass(frozen=True, slots=True)
class ClientChoices:
    """What is set for the client.

    Attributes:
        has_state: whether it changes as it is talked to.
        appraisal: ``drawn``, ``always`` or ``never``.
        candidates: how many there are.
    """

    has_state: bool
    appraisal: str
    candidates: int


@dataclass(slots=True)
class SimulatedClient:
    """The client's part of one session.

    Attributes:
        fields: of the case.
        language: of the session.
        length: of the session, in messages.
        choices: what is set.
        ranking: how candidates are ranked.
        draws: chance in this session.
        column: how it is.
        calls: the evaluator's about it.
    """

    fields: CalmItFields
    language: str
    length: int
    choices: ClientChoices
    ranking: Ranking
    draws: Draws
    column: ClientColumn = field(init=False)
    calls: SideCalls = field(init=False)

    def __post_init__(self) -> None:
        self.calls = SideCalls("client", self.language)
        start = self.fields.initial
        self.column = ClientColumn(
            start.stage,
            None if start.emotion is None else Feeling(start.emotion),
            start.rapport,
            start.goal or self.fields.session_goal,
        )

    def _inputs(self, now: SessionMoment) -> dict[str, Any]:
        state = self.column.content() if self.choices.has_state else {}
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
            "background": {
                name: list(facts) for name, facts in self.fields.background.model_dump().items() if facts
            },
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
        if self.choices.appraisal != "drawn":
            return self.choices.appraisal == "always"
        return self.draws.stream("appraisal", number).random() < APPRAISED

    def act(self, now: SessionMoment) -> Exchange[str]:
        """What it does with its message."""
        inputs = self._inputs(now) | {"closing": now.closing}
        if not self.choices.has_state:
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
        calls = tuple(self._call(now, place, action, words) for place in range(self.choices.candidates))
        own = [line.text for line in now.lines if line.role == "patient"]

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=self.language, earlier=own, sentences=None, words=MOST_WORDS)

        candidates, refused = yield from patient_candidates(calls, check)
        return (yield from self.ranking.best("patient", now.number, now.lines, candidates, refused))

    def _call(self, now: SessionMoment, place: int, action: str, words: TurnLength) -> Call:
        state: dict[str, Any] = {"action": f"{action}: {labels('actions')[action]}"}
        if self.choices.has_state:
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
            (now.number - 1) * self.choices.candidates + place + 1,
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
