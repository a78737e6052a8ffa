"""The conversation: the patient opens, the sensemaker or agent answers, stage by stage, to the message of exit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.multisense.patient_preparation import (
    PreparedPatient,
    background,
    prepared_patient,
)
from bedside.simulation.simulators.multisense.sensemaker import ROUNDS, PlainAgent, Sensemaker, read_numbers
from bedside.simulation.simulators.multisense.stages import (
    EXIT,
    FOSTERING,
    MOST_MESSAGES,
    NAMES,
    guides,
    guides_reference,
    prompt_text,
)
from bedside.simulation.simulators.prompt_files import listed, numbered

# -- The patient ----------------------------------------------------------------------------------------

#: Facts that an answer may rest on.
MOST_FACTS = 3
#: The stage from which on the goal stands in the intent's place and the closed world is dropped.
DECISIONS = 4
#: Words of a reply above which it is asked for again: about 400 tokens, which is the publication's limit.
WORDS = 300


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

    def answer(
        self, message: str, stage: int, number: int, said: Sequence[str]
    ) -> Exchange[tuple[Spoken, dict[str, Any]]]:
        """Its answer to a message, and how it came about.

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
            "refused": (*selection.refused, *spoken.refused),
        }
        return spoken, state

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
        return patient_fault(text, language=self.case.language, earlier=said, sentences=sentences, words=WORDS)


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
    chosen = read_numbers(value, "facts", number)
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
    return (yield from conversation.ledger.keep(conversation.whole()))


class _SensemakingTalk:
    """One conversation while it is held."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.case = situation.case
        self.ledger = Ledger()
        self.reference: dict[str, Any] = {}

    def whole(self) -> Exchange[Outcome]:
        """All of it."""
        stop = yield from self._course()
        return self.ledger.outcome(stop, completed=stop == "exit", reference=self.reference)

    def _course(self) -> Exchange[str]:
        """Opening, messages and answers; why it ended."""
        ledger = self.ledger
        prepared = yield from prepared_patient(self.case)
        ledger.states += prepared.states
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
        reasoning = str((opening.fields or {}).get("reasoning", ""))
        ledger.note("opening", reasoning=reasoning, refused=opening.refused)
        ledger.say("patient", opening, {"stage": NAMES[FOSTERING]})
        speaker = self._speaker(prepared.observations)
        for number in range(1, MOST_MESSAGES + 1):
            message = yield from speaker.message(ledger.lines, number)
            ledger.note("message", **message.state)
            if not message.spoken.text:
                return message.stop or ledger.silence(message.spoken.flags)
            ledger.say("clinician", message.spoken, {"stage": NAMES[message.stage]})
            if message.stage == EXIT:
                return "exit"
            if self.situation.setting == FREE and (stop := ledger.repeated()):
                return stop
            if number == MOST_MESSAGES:
                break
            said = [line.text for line in ledger.lines if line.role == "patient"]
            answer, state = yield from patient.answer(message.spoken.text, message.stage, number, said)
            ledger.note("answer", **state)
            ledger.say("patient", answer, {"stage": NAMES[message.stage]})
        return "turn limit"

    def _speaker(self, observations: tuple[str, ...]) -> Sensemaker | PlainAgent:
        if self.situation.setting == FREE:
            return PlainAgent(self.case.language, observations)
        return Sensemaker(
            self.case.language,
            observations,
            self.situation.draws,
            self.ledger,
            risk_line=bool(self.situation.options["risk_line"]),
        )


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
