"""The conversation: the patient opens, the sensemaker or agent answers, stage by stage, to the message of exit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Fault,
    Spoken,
    ask_for_data,
    ask_patient,
)
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.multisense.patient_preparation import (
    PreparedPatient,
    background,
    prepared_patient,
)
from bedside.simulation.simulators.multisense.plain_agent import AgentMessage, PlainAgent
from bedside.simulation.simulators.multisense.prompt_guides import (
    guides,
    guides_reference,
    listed,
    numbered,
    prompt_text,
)
from bedside.simulation.simulators.multisense.sensemaker import ROUNDS, Sensemaker, SensemakerMessage
from bedside.simulation.simulators.multisense.stages import EXIT, FOSTERING, MOST_MESSAGES, NAMES

# -- The patient ----------------------------------------------------------------------------------------

#: Facts that an answer may rest on.
MOST_FACTS = 3
#: The stage from which on the goal stands in the intent's place and the closed world is dropped.
DECISIONS = 4
#: Words of a reply above which it is asked for again: about 400 tokens, which is the publication's limit.
WORDS = 300


@dataclass(frozen=True, slots=True)
class PatientAnswer:
    """What the patient said, and from what.

    Attributes:
        spoken: the words.
        purpose: the call that made them: ``answer`` or ``no_facts``.
        facts: those it was shown.
        state: for the hidden states.
    """

    spoken: Spoken
    purpose: str
    facts: tuple[str, ...]
    state: Mapping[str, Any]


class SensemakingPatient:
    """The patient of one conversation.

    Args:
        case: who it is.
        persona: how it talks; None for nobody in particular.
        prepared: what it knows.
    """

    def __init__(self, case: Case, persona: Persona | None, prepared: PreparedPatient) -> None:
        self.case = case
        self.persona = persona
        self.prepared = prepared
        self.style: str = persona_text(case, persona)

    def opening(self) -> Exchange[Spoken]:
        """Its first message, the same for all clinicians.

        Raises:
            UnusableConversationError: no reply could be used.
        """
        facts = self.facts(1)
        filled = prompt_text("opening", self.case.language, persona=self.style, facts=numbered(facts))
        call = Call(
            "patient",
            "opening",
            1,
            brief=filled.brief,
            instruction=filled.instruction,
            schema=filled.schema,
            material={"intent": self.prepared.intent, "facts": facts, **self._manner()},
            scope="persona",
            prompt=self._reference(filled.reference),
        )
        return (yield from ask_patient(call, lambda text: self._fault(text, ())))

    def answer(self, message: str, stage: int, number: int, said: Sequence[str]) -> Exchange[PatientAnswer]:
        """Its answer to a message.

        Args:
            message: what was said to it.
            stage: the message's, from 1.
            number: of the answer, from 1.
            said: its own messages so far.

        Raises:
            UnusableConversationError: no reply could be used.
        """
        facts = self.facts(stage)
        heard = (Line("clinician", message),)
        filled = prompt_text("selection", self.case.language, facts=numbered(facts), most=MOST_FACTS)
        selection = yield from ask_for_data(
            Call(
                "patient",
                "selection",
                number,
                brief=filled.brief,
                history=heard,
                instruction=filled.instruction,
                kind="data",
                schema=_up_to(len(facts), filled.schema or {}),
                material={"facts": facts, "stage": stage},
                prompt=self._reference(filled.reference),
            ),
            lambda value: _selected(value, len(facts)),
        )
        places, reasoning = selection.value
        chosen = tuple(facts[place - 1] for place in places)
        purpose = "answer" if chosen else "no_facts"
        spoken = yield from self._spoken(purpose, chosen, heard, stage, number, said)
        state = {
            "stage": stage,
            "facts": list(facts),
            "selected": list(places),
            "selection": reasoning,
            "made_by": purpose,
            "reasoning": str((spoken.fields or {}).get("reasoning", "")),
            "refused": [list(refused) for refused in (*selection.refused, *spoken.refused)],
        }
        return PatientAnswer(spoken, purpose, chosen, state)

    def facts(self, stage: int) -> tuple[str, ...]:
        """All that it may choose from in a stage: intent or goal, then the facts of the case."""
        own = guides(self.case.language)
        first = own.goals[self.prepared.goal] if stage >= DECISIONS else own.intents[self.prepared.intent]
        return (first.definition, *self.prepared.facts)

    def _spoken(
        self,
        purpose: str,
        chosen: tuple[str, ...],
        heard: tuple[Line, ...],
        stage: int,
        number: int,
        said: Sequence[str],
    ) -> Exchange[Spoken]:
        if chosen:
            name = "answer_decision" if stage >= DECISIONS else "answer_inquiry"
            filled = prompt_text(name, self.case.language, persona=self.style, facts=listed(chosen))
        else:
            filled = prompt_text("no_facts", self.case.language, persona=self.style)
        call = Call(
            "patient",
            purpose,
            number,
            brief=filled.brief,
            history=heard,
            instruction=filled.instruction,
            schema=filled.schema,
            material={"facts": chosen, "stage": stage, **self._manner()},
            prompt=self._reference(filled.reference),
        )
        return (yield from ask_patient(call, lambda text: self._fault(text, said)))

    def _manner(self) -> dict[str, Any]:
        """The persona, for actors that are no language models."""
        if self.persona is None:
            return {"traits": {}, "health_literacy": None}
        return {"traits": dict(self.persona.traits), "health_literacy": self.persona.health_literacy}

    def _reference(self, own: str) -> str:
        persona = prompt_text("persona", self.case.language, style="").reference
        return f"{own} {persona} {guides_reference(self.case.language)}"

    def _fault(self, text: str, said: Sequence[str]) -> Fault | None:
        sentences = self.persona.sentences if self.persona is not None else None
        return patient_fault(
            text, language=self.case.language, earlier=said, sentences=sentences, words=WORDS
        )


def persona_text(case: Case, persona: Persona | None) -> str:
    """How the patient is and talks: each trait with its definition, health literacy, manner, the case's own style."""
    own = guides(case.language)
    lines = []
    if case.speaker == "caregiver":
        lines.append(own.caregiver)
    if persona is not None:
        for name, guide in own.traits.items():
            level = persona.traits.get(name)
            if level is not None:
                words = guide.high if level == "high" else guide.low
                lines.append(f"{name.capitalize()}, {level}. {guide.definition} {words}")
        if persona.health_literacy is not None:
            words = own.literacy[persona.health_literacy]
            lines.append(f"Health literacy, {persona.health_literacy}. {words}")
        lines.append(persona.manner)
    style = [line for line in (*lines, case.patient.style) if line.strip()]
    if not style:
        return ""
    return prompt_text("persona", case.language, style=listed(style)).brief.strip()


def _up_to(number: int, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The selection's schema for so many facts."""
    properties = dict(schema["properties"])
    properties["facts"] = {
        "type": "array",
        "maxItems": MOST_FACTS,
        "items": {"type": "integer", "minimum": 1, "maximum": number},
    }
    return {**schema, "properties": properties}


def _selected(value: Any, number: int) -> tuple[tuple[int, ...], str]:
    """The numbers of the facts that were chosen, each once, and why."""
    places = value.get("facts") if isinstance(value, dict) else None
    if not isinstance(places, list) or any(
        isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= number for place in places
    ):
        raise ValueError(f'"facts" must be a list of numbers from 1 to {number}')
    chosen = tuple(dict.fromkeys(places))
    if len(chosen) > MOST_FACTS:
        raise ValueError(f'"facts" must hold {MOST_FACTS} numbers at most')
    return chosen, str(value.get("reasoning") or "")


# -- The conversation -----------------------------------------------------------------------------------

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
