"""The client's side: how it takes the therapist's last message, how it is then, what it does, and its message.

Its calls hold the public talk, the client's life and way of thinking, and its own column. What the therapist takes
it to be like, and what it means to do, is in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from bedside.simulation.simulators.asking import Fault
from bedside.simulation.simulators.calls import Call, Exchange
from bedside.simulation.simulators.calm_it.candidates import RankedChoice, Ranking, patient_candidates
from bedside.simulation.simulators.calm_it.client_fields import CalmItFields
from bedside.simulation.simulators.calm_it.columns import ClientColumn, Feeling, SessionMoment
from bedside.simulation.simulators.calm_it.labels import APPRAISALS, NEUTRAL, labels, listed
from bedside.simulation.simulators.calm_it.session_sentences import counter, phase
from bedside.simulation.simulators.calm_it.state_calls import (
    SideCalls,
    as_json,
    last_messages,
    prompt_text,
    read_appraisal,
)
from bedside.simulation.simulators.calm_it.turn_rules import (
    MOST_WORDS,
    TurnLength,
    allowed_actions,
    allowed_stages,
)
from bedside.simulation.simulators.draws import Draws
from bedside.simulation.simulators.faults import patient_fault

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
