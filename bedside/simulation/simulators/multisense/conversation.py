"""The conversation: the patient opens, the sensemaker or agent answers, stage by stage, to the message of exit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedside.simulation.simulators.asking import ATTEMPTS, CLINICIAN_ATTEMPTS, Spoken
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.ledger import HeldTalk
from bedside.simulation.simulators.multisense.patient_preparation import (
    PreparedPatient,
    background,
    prepared_patient,
)
from bedside.simulation.simulators.multisense.sensemaker import ROUNDS, PlainAgent, Sensemaker, read_numbers
from bedside.simulation.simulators.multisense.stages import (
    EXIT,
    FOLDER,
    FOSTERING,
    MOST_MESSAGES,
    NAMES,
    Guides,
    guides,
    guides_reference,
    prompt_text,
)
from bedside.simulation.simulators.prompt_files import FilledPrompt, listed, numbered

# -- The patient ----------------------------------------------------------------------------------------

#: Facts that an answer may rest on.
MOST_FACTS = 3
#: The stage from which on the goal stands in the intent's place and the closed world is dropped.
DECISIONS = 4
#: Words of a reply above which it is asked for again: about 400 tokens, which is the publication's limit.
WORDS = 300


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
    fact = {"type": "integer", "minimum": 1, "maximum": number}
    facts = {"type": "array", "maxItems": MOST_FACTS, "items": fact}
    return {**schema, "properties": {**schema["properties"], "facts": facts}}


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


class SensemakingTalk(HeldTalk):
    """One conversation while it is held."""

    folder = FOLDER

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self.guides: Guides = guides(self.language)
        self.persona: Persona | None = situation.persona
        self.style: str = persona_text(self.case, self.persona)
        self.reference: dict[str, Any] = {}

    def course(self) -> Exchange[str]:
        """Opening, messages and answers; why it ended."""
        ledger, own = self.ledger, self.guides
        prepared = yield from prepared_patient(self.case)
        ledger.states += prepared.states
        self.reference = {
            "background": background(self.case),
            "intent": f"{prepared.intent}: {own.intents[prepared.intent].definition}",
            "goal": f"{prepared.goal}: {own.goals[prepared.goal].definition}",
        }
        if self.case.hidden.diagnosis:
            self.reference["diagnosis"] = self.case.hidden.diagnosis
        opening = yield from self._opening(prepared)
        ledger.note("opening", reasoning=_reasoning(opening), refused=opening.refused)
        ledger.say("patient", opening, {"stage": NAMES[FOSTERING]})
        speaker = self._speaker(prepared.observations)
        for number in range(1, MOST_MESSAGES + 1):
            state: dict[str, Any] = {}
            try:
                message = yield from speaker.message(ledger.lines, number, state)
            finally:  # what was replied stays in the log where it can't be gone on with
                ledger.note("message", **state)
            if not message.spoken.text:
                return message.stop or ledger.silence(message.spoken.flags)
            ledger.say("clinician", message.spoken, {"stage": NAMES[message.stage]})
            if message.stage == EXIT:
                return "exit"
            if self.situation.setting == FREE and (stop := ledger.repeated()):
                return stop
            if number == MOST_MESSAGES:
                break
            answer, state = yield from self._answer(prepared, message.spoken.text, message.stage, number)
            ledger.note("answer", **state)
            ledger.say("patient", answer, {"stage": NAMES[message.stage]})
        return "turn limit"

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        return self.ledger.outcome(stop, completed=stop == "exit", reference=self.reference)

    def _speaker(self, observations: tuple[str, ...]) -> Sensemaker | PlainAgent:
        if self.situation.setting == FREE:
            return PlainAgent(self.language, observations)
        risk_line = bool(self.options["risk_line"])
        return Sensemaker(self.language, observations, self.situation.draws, self.ledger, risk_line=risk_line)

    # -- the patient ----------------------------------------------------------------------------------

    def _opening(self, prepared: PreparedPatient) -> Exchange[Spoken]:
        """Its first message, the same for all clinicians."""
        facts = self._facts(prepared, 1)
        filled = self.prompt("opening", persona=self.style, facts=numbered(facts))
        material = {"intent": prepared.intent, "facts": facts, **self._manner()}
        call = self._patient_call("opening", 1, filled, material=material, scope="persona")
        return (yield from self.ask_patient(call, sentences=self._most_sentences(), words=WORDS))

    def _answer(
        self, prepared: PreparedPatient, message: str, stage: int, number: int
    ) -> Exchange[tuple[Spoken, dict[str, Any]]]:
        """Its answer number ``number`` to a message, and how it came about."""
        facts = self._facts(prepared, stage)
        heard = (Line("clinician", message),)
        filled = self.prompt("selection", facts=numbered(facts), most=MOST_FACTS)
        schema, material = _up_to(len(facts), filled.schema or {}), {"facts": facts, "stage": stage}
        call = self._patient_call("selection", number, filled, history=heard, schema=schema, material=material)
        selection = yield from self.decide(call, lambda value: _selected(value, len(facts)))
        places, reasoning = selection.value
        chosen = tuple(facts[place - 1] for place in places)
        purpose = "answer" if chosen else "no_facts"
        if chosen:
            name = "answer_decision" if stage >= DECISIONS else "answer_inquiry"
            filled = self.prompt(name, persona=self.style, facts=listed(chosen))
        else:
            filled = self.prompt(purpose, persona=self.style)
        material = {"facts": chosen, "stage": stage, **self._manner()}
        call = self._patient_call(purpose, number, filled, history=heard, material=material)
        spoken = yield from self.ask_patient(call, sentences=self._most_sentences(), words=WORDS)
        return spoken, {
            "stage": stage,
            "facts": list(facts),
            "selected": list(places),
            "selection": reasoning,
            "made_by": purpose,
            "reasoning": _reasoning(spoken),
            "refused": (*selection.refused, *spoken.refused),
        }

    def _facts(self, prepared: PreparedPatient, stage: int) -> tuple[str, ...]:
        """All that it may choose from in a stage: intent or goal, then the facts of the case."""
        own = self.guides
        first = own.goals[prepared.goal] if stage >= DECISIONS else own.intents[prepared.intent]
        return (first.definition, *prepared.facts)

    def _patient_call(self, purpose: str, number: int, filled: FilledPrompt, **more: Any) -> Call:
        sources = [self.prompt("persona", style="").reference, guides_reference(self.language)]
        return self.call("patient", purpose, number, filled, sources=sources, **more)

    def _manner(self) -> dict[str, Any]:
        """The persona, for actors that are no language models."""
        if self.persona is None:
            return {"traits": {}, "health_literacy": None}
        return {"traits": dict(self.persona.traits), "health_literacy": self.persona.health_literacy}

    def _most_sentences(self) -> int | None:
        return self.persona.sentences if self.persona is not None else None


def _reasoning(spoken: Spoken) -> str:
    return str((spoken.fields or {}).get("reasoning", ""))


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
