"""The conversation: the patient opens, the sensemaker or agent answers, stage by stage, to the message of exit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from bedside.metrics.protocols.label_files import Strict, complaint
from bedside.simulation.simulators.asking import Spoken, ask_for_data, choice_of, part_of, texts_of
from bedside.simulation.simulators.calls import Call, Exchange, Line, together
from bedside.simulation.simulators.case import Case, Persona, patient_facts
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.ledger import ProtocolTalk
from bedside.simulation.simulators.multisense.stages import (
    EXIT,
    FOLDER,
    FOSTERING,
    MOST_MESSAGES,
    NAMES,
    ChoiceGuide,
    Goal,
    Guides,
    Intent,
    StagedMessage,
    guides,
    guides_reference,
    prompt_text,
)
from bedside.simulation.simulators.prompt_files import FilledPrompt, listed, numbered, prompt_call

# -- What is prepared once a case -----------------------------------------------------------------------

#: Where a case keeps what is this protocol's own.
OWN = "multisense"


class SensemakingCase(Strict):
    """What a case can say under ``extra: {multisense: …}``."""

    study: str = Field(default="", description="The case study; facts are made of it where the case has none.")
    intent: Intent | None = Field(default=None, description="Why the patient turns to a language model.")
    goal: Goal | None = Field(default=None, description="What the patient wants most.")
    question: str = Field(default="", description="The examination's question, which nobody is shown.")


@dataclass(frozen=True, slots=True)
class PreparedPatient:
    """What is known of a patient before the first word.

    Attributes:
        facts: what the patient knows, in order.
        observations: what the sensemaker knows from the start.
        intent: why the patient writes.
        goal: what it wants most.
        states: how that came about.
    """

    facts: tuple[str, ...]
    observations: tuple[str, ...]
    intent: Intent
    goal: Goal
    states: tuple[dict[str, Any], ...]


def own_part(case: Case) -> SensemakingCase:
    """What a case says for this protocol.

    Raises:
        ValidationError: a key is unknown or wrong.
    """
    return SensemakingCase.model_validate(dict(case.extra.get(OWN, {})))


def problems(case: Case) -> Iterator[str]:
    """What a case lacks or has wrong for this protocol, a sentence each."""
    try:
        own = own_part(case)
    except ValidationError as error:
        yield f"Its `extra.{OWN}` is wrong: {complaint(error)}."
        return
    if not case.patient.facts and not own.study.strip():
        yield f"It has neither `facts` under `patient` nor a `study` under `extra.{OWN}` that facts can be made of."


def known_facts(case: Case) -> tuple[str, ...]:
    """What is true of the patient by a case: its facts, and the case study where there is one."""
    study = own_part(case).study
    return (*patient_facts(case), *((study,) if study.strip() else ()))


def background(case: Case) -> str:
    """The case study; of a case without one, what it says of the patient."""
    side = case.patient
    parts = (side.narrative, *side.facts, *side.vitals, *side.psychosocial)
    return own_part(case).study or " ".join(parts).strip()


def chart_lines(case: Case) -> tuple[str, ...]:
    """The chart, a line each."""
    return tuple(f"{heading}: {text}" for heading, text in case.chart.items())


def prepared_patient(case: Case) -> Exchange[PreparedPatient]:
    """Facts, intent and goal of a case, asked for where it has none.

    Raises:
        UnusableConversationError: a reply can't be read.
    """
    own, side = own_part(case), case.patient
    vitals: tuple[str, ...] = ()
    about = (side.narrative,) if side.narrative.strip() else ()
    facts = (*about, *side.facts, *side.vitals, *side.psychosocial)
    states: list[dict[str, Any]] = []
    parts: list[Exchange[Any]] = []
    if not side.facts:
        parts.append(_decomposed(case))
    if own.intent is None:
        parts.append(_chosen(case, "intent", "reasons", guides(case.language).intents))
    if own.goal is None:
        parts.append(_chosen(case, "goal", "goals", guides(case.language).goals))
    replies = list((yield from together(*parts))) if parts else []
    if not side.facts:
        taken_apart = replies.pop(0)
        vitals = tuple(taken_apart["vitals"])
        facts = (*about, *taken_apart["facts"], *side.vitals, *side.psychosocial)
        states.append({"turn": 0, "purpose": "decomposition", **taken_apart})
    names: dict[str, Any] = {"intent": own.intent, "goal": own.goal}
    for purpose, name in names.items():
        if name is None:
            choice = replies.pop(0)
            names[purpose] = choice[purpose]
            states.append({"turn": 0, "purpose": purpose, **choice})
    return PreparedPatient(facts, (*chart_lines(case), *vitals), names["intent"], names["goal"], tuple(states))


def _decomposed(case: Case) -> Exchange[dict[str, Any]]:
    """The case study as two lists."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError("the reply must be an object")
        lists = {
            name: list(dict.fromkeys(" ".join(text.split()) for text in texts_of(value, name, "sentences")))
            for name in ("vitals", "facts")
        }
        if not lists["facts"]:
            raise ValueError('"facts" must hold at least one fact')
        return lists

    lists: dict[str, Any] = yield from _asked(case, "decomposition", read)
    return lists


def _chosen(case: Case, purpose: str, slot: str, choices: Any) -> Exchange[dict[str, Any]]:
    """One of several names, with a rationale."""

    def read(value: Any) -> dict[str, Any]:
        return {purpose: choice_of(value, purpose, choices), "rationale": str(value.get("rationale") or "")}

    shown = listed(_shown(name, choice) for name, choice in choices.items())
    choice: dict[str, Any] = yield from _asked(case, purpose, read, **{slot: shown})
    return choice


def _shown(name: str, choice: ChoiceGuide) -> str:
    patterns = f" For instance: {choice.patterns}" if choice.patterns else ""
    return f"{name} ({choice.title}): {choice.definition}{patterns}"


def _asked(case: Case, purpose: str, read: Callable[[Any], Any], **more: str) -> Exchange[Any]:
    study = background(case)
    call = prompt_call(
        "patient",
        purpose,
        1,
        prompt_text(purpose, case.language, study=study, **more),
        kind="data",
        material={"study": study},
        scope="case",
        sources=[guides_reference(case.language)],
    )
    return (yield from ask_for_data(call, read)).value


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


def read_numbers(value: Any, key: str, most: int) -> tuple[int, ...]:
    """The numbers under a key of an object, each once; a ValueError where they are none from 1 to ``most``."""
    places = part_of(value, key)
    if not isinstance(places, list) or any(
        isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= most for place in places
    ):
        raise ValueError(f'"{key}" must be a list of numbers from 1 to {most}')
    return tuple(dict.fromkeys(places))


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


class SensemakingTalk(ProtocolTalk):
    """One conversation while it is held; what the clinician says is :meth:`message`.

    Attributes:
        observations: what is known of the patient from the start.
        repeating_ends: whether a clinician that repeats itself several times running ends it.
    """

    folder = FOLDER
    repeating_ends = False

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self.guides: Guides = guides(self.language)
        self.persona: Persona | None = situation.persona
        self.style: str = persona_text(self.case, self.persona)
        self.reference: dict[str, Any] = {}
        self.observations: tuple[str, ...] = ()

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
        self.observations = prepared.observations
        for number in range(1, MOST_MESSAGES + 1):
            state: dict[str, Any] = {}
            try:
                message = yield from self.message(number, state)
            finally:  # what was replied stays in the log where it can't be gone on with
                ledger.note("message", **state)
            if not message.spoken.text:
                return message.stop or ledger.silence(message.spoken.flags)
            ledger.say("clinician", message.spoken, {"stage": NAMES[message.stage]})
            if message.stage == EXIT:
                return "exit"
            if self.repeating_ends and (stop := ledger.repeated()):
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

    def message(self, number: int, state: dict[str, Any]) -> Exchange[StagedMessage]:
        """What the clinician says to the patient's last message.

        Args:
            number: of its message, from 1.
            state: where it is written down how the message came about, also where it can't be gone on with.

        Raises:
            UnusableConversationError: a reply of the evaluator's can't be read.
        """
        raise NotImplementedError

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
