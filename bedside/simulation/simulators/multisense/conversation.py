"""The conversation: the patient opens, the sensemaker or agent answers, stage by stage, to the message of exit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bedside.simulation.simulators.asking import ATTEMPTS, CLINICIAN_ATTEMPTS, Spoken
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.multisense.patient_preparation import background, prepared_patient
from bedside.simulation.simulators.multisense.plain_agent import AgentMessage, PlainAgent
from bedside.simulation.simulators.multisense.prompt_guides import guides
from bedside.simulation.simulators.multisense.sensemaker import ROUNDS, Sensemaker, SensemakerMessage
from bedside.simulation.simulators.multisense.simulated_patient import SensemakingPatient
from bedside.simulation.simulators.multisense.stages import EXIT, FOSTERING, MOST_MESSAGES, NAMES

SCAFFOLD, FREE = "scaffold", "free"
#: Calls of the preparation, and of the patient's for each answer; of the evaluator's for each message, without rounds.
_PREPARATIONS, _ANSWERING, _LEARNING = 3, 2, 2


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    conversation = _SensemakingTalk(situation)
    try:
        stop = yield from conversation.held()
    except UnusableConversationError as error:
        raise UnusableConversationError(
            error.whose, error.reason, error.detail, conversation.states
        ) from error
    return conversation.outcome(stop)


class _SensemakingTalk:
    """One conversation while it is held."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.case = situation.case
        self.turns: list[SpokenTurn] = []
        self.lines: list[Line] = []
        self.states: list[dict[str, Any]] = []
        self.flags: Counter[str] = Counter()
        self.reference: dict[str, Any] = {}

    def held(self) -> Exchange[str]:
        """The whole of it; why it ended."""
        prepared = yield from prepared_patient(self.case)
        self.states += prepared.states
        own = guides(self.case.language)
        self.reference = {
            "background": background(self.case),
            "intent": f"{prepared.intent}: {own.intents[prepared.intent].definition}",
            "goal": f"{prepared.goal}: {own.goals[prepared.goal].definition}",
        }
        if self.case.hidden.diagnosis:
            self.reference["diagnosis"] = self.case.hidden.diagnosis
        patient = SensemakingPatient(self.case, self.situation.persona, prepared)
        opening = yield from patient.opening()
        self._patient_turn(opening, FOSTERING, {"purpose": "opening", **_opening_state(opening)})
        speaker = self._speaker(prepared.observations)
        for number in range(1, MOST_MESSAGES + 1):
            message = yield from self._message(speaker, number)
            self.states.append({"turn": len(self.turns), "purpose": "message", **message.state})
            if not message.text:
                self.flags.update(f"clinician: {flag}" for flag in message.flags)
                return message.stop
            self._clinician_turn(message)
            if message.stage == EXIT:
                return "exit"
            if message.stop:
                return message.stop
            if number == MOST_MESSAGES:
                break
            said = [line.text for line in self.lines if line.role == "patient"]
            answer = yield from patient.answer(message.text, message.stage, number, said)
            self._patient_turn(answer.spoken, message.stage, {"purpose": "answer", **answer.state})
        return "turn limit"

    def _speaker(self, observations: tuple[str, ...]) -> Sensemaker | PlainAgent:
        if self.situation.setting == FREE:
            return PlainAgent(self.case.language, observations)
        return Sensemaker(
            self.case.language,
            observations,
            self.situation.draws,
            risk_line=bool(self.situation.options["risk_line"]),
        )

    def _message(
        self, speaker: Sensemaker | PlainAgent, number: int
    ) -> Exchange[SensemakerMessage | AgentMessage]:
        message: SensemakerMessage | AgentMessage
        if isinstance(speaker, Sensemaker):
            message = yield from speaker.message(self.lines[-1].text, number)
        else:
            message = yield from speaker.message(self.lines, number)
        self.flags.update(speaker.counted)
        speaker.counted.clear()
        return message

    def _clinician_turn(self, message: SensemakerMessage | AgentMessage) -> None:
        meta: dict[str, Any] = {"stage": NAMES[message.stage]}
        if isinstance(message, AgentMessage) and message.thought:
            meta["thought"] = message.thought
        if message.flags:
            meta["flags"] = list(message.flags)
        self.flags.update(f"clinician: {flag}" for flag in message.flags if flag != "forced")
        self.turns.append(SpokenTurn("clinician", message.text, meta))
        self.lines.append(Line("clinician", message.text))

    def _patient_turn(self, spoken: Spoken, stage: int, state: Mapping[str, Any]) -> None:
        self.states.append({"turn": len(self.turns), **state})
        meta: dict[str, Any] = {"stage": NAMES[stage]}
        if spoken.thought:
            meta["thought"] = spoken.thought
        if spoken.flags:
            meta["flags"] = list(spoken.flags)
        self.flags.update(f"patient: {flag}" for flag in spoken.flags)
        self.flags.update(f"patient, refused: {reason}" for _, reason in spoken.refused)
        self.turns.append(SpokenTurn("patient", spoken.text, meta))
        self.lines.append(Line("patient", spoken.text))

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return Outcome(
            turns=tuple(self.turns),
            stop=stop,
            completed=stop == "exit",
            reference=self.reference,
            states=tuple(self.states),
            flags=dict(self.flags),
        )


def _opening_state(opening: Spoken) -> dict[str, Any]:
    return {
        "reasoning": str((opening.fields or {}).get("reasoning", "")),
        "refused": [list(refused) for refused in opening.refused],
    }


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that a conversation can take, by role, attempts included."""
    patient = (_PREPARATIONS + 1 + _ANSWERING * (MOST_MESSAGES - 1)) * ATTEMPTS
    if situation.setting == FREE:
        return {
            "clinician": MOST_MESSAGES * CLINICIAN_ATTEMPTS,
            "patient": patient,
            "evaluator": MOST_MESSAGES * ATTEMPTS,
        }
    return {
        "clinician": MOST_MESSAGES * (1 + ROUNDS) * ATTEMPTS,
        "patient": patient,
        "evaluator": MOST_MESSAGES * (_LEARNING + ROUNDS) * ATTEMPTS,
    }
