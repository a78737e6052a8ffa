"""What is prepared once a case: the facts that the patient knows, why it writes, and what it wants most.

The calls are of scope ``case``: all personas and all clinicians share their replies. What a case brings itself isn't
asked for. No call holds the diagnosis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from bedside.metrics.protocols.label_files import Strict, complaint
from bedside.simulation.simulators.asking import ask_for_data, choice_of, texts_of
from bedside.simulation.simulators.calls import Exchange, together
from bedside.simulation.simulators.case import Case, patient_facts
from bedside.simulation.simulators.multisense.stages import (
    ChoiceGuide,
    Goal,
    Intent,
    guides,
    guides_reference,
    prompt_text,
)
from bedside.simulation.simulators.prompt_files import listed, prompted

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
    call = prompted(
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
