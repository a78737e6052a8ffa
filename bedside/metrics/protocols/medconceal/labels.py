"""What MedConceal's arithmetic is given: hidden concerns, and what a judge or people say of a conversation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from bedside.core.errors import DataError
from bedside.metrics.protocols.label_files import (
    Index,
    LabelForm,
    LabelledTranscript,
    Share,
    Strict,
    Text,
    TurnKey,
    complaint,
)
from bedside.transcripts.transcript import Transcript


def _plain(value: Any) -> Any:
    return " ".join(value.casefold().split()) if isinstance(value, str) else value


CategoryName = Literal[
    "misinformation or misconception",
    "emotional discomfort or fear",
    "communication barrier",
    "financial or insurance concern",
]
CATEGORIES: tuple[CategoryName, ...] = get_args(CategoryName)
Category = Annotated[CategoryName, BeforeValidator(_plain)]

Intent = Literal[
    "gather_data", "elicit_concern", "give_space", "respond_to_emotion", "build_partnership", "explain", "plan",
    "meta_probe", "other",
]  # fmt: skip
#: What a clinician turn is mainly for; ``meta_probe`` blocks the turn.
INTENTS: tuple[Intent, ...] = get_args(Intent)


Question = Literal["none", "open", "closed"]


class Features(Strict):
    """The turn evaluator's vector z: how far a clinician turn shows each of ten behaviours, from 0 to 1."""

    data_gathering: Share = Field(description="Asks for facts of the illness (Roter Interaction Analysis System).")
    emotional_responsiveness: Share = Field(
        description="Names, legitimates or shares a feeling (Roter Interaction Analysis System)."
    )
    partnership: Share = Field(
        description="Builds a partnership and activates the patient (Roter Interaction Analysis System)."
    )
    concern_elicitation: Share = Field(description="Asks for concerns (Verona Coding Definitions).")
    space_provision: Share = Field(description="Leaves room to say more of a concern (Verona Coding Definitions).")
    necessity_support: Share = Field(
        description="Supports the belief that the treatment is needed (Necessity–Concerns Framework)."
    )
    concern_mitigation: Share = Field(
        description="Lessens concerns about the treatment (Necessity–Concerns Framework)."
    )
    plan_specificity: Share = Field(description="Gives a concrete plan or a safety net.")
    pending_question_coverage: Share = Field(description="Answers the question the patient has left open.")
    meta_probe_risk: Share = Field(
        description="Asks after hidden concerns as such or runs through their categories, not after this patient's."
    )


#: Names of the ten features, in order.
FEATURES: tuple[str, ...] = tuple(Features.model_fields)


class ConcernTurnLabels(Strict):
    """What is said of one clinician turn."""

    z: Features = Field(description="The ten features.")
    intent: Intent | None = Field(None, description="What the turn is mainly for; meta_probe blocks the turn.")
    intent_probabilities: Mapping[Intent, Share] | None = Field(None, description="How probable each intent is.")
    empathy_strength: Share | None = Field(None, description="How strong the turn's empathy is.")
    question: Question | None = Field(None, description="Whether the turn asks an open or a closed question.")
    reason: str | None = Field(None, description="Why, in words.")


class Concern(BaseModel):
    """A concern that the patient hides; further keys are left alone."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore", frozen=True)

    id: Text
    category: Category
    text: Text
    primary: bool = False


class SubmittedFinding(Strict):
    """A concern as the clinician submits it after the conversation."""

    category: Category = Field(description="One of the four categories.")
    text: Text = Field(description="The concern in words.")


class MatchProposal(Strict):
    """A finding and a concern that are said to be the same."""

    finding: Index = Field(description="Position of the finding, from 0.")
    concern: Text = Field(description="Id of the concern.")
    quote: str = Field(description="The patient's own words that support it, verbatim.")
    category_agrees: bool | None = Field(
        None, description="Whether the categories agree; without it, whether they are equal.", strict=True
    )
    reason: str | None = Field(None, description="Why they are the same, in words.")


class ConcernLabels(LabelledTranscript):
    """One rater's labels of one transcript. A part that is left out was not labelled; an empty list says that there is
    nothing."""

    findings: tuple[SubmittedFinding, ...] | None = Field(None, description="What the clinician submitted.")
    matches: tuple[MatchProposal, ...] | None = Field(None, description="Which findings are which concerns.")
    turns: Mapping[TurnKey, ConcernTurnLabels] = Field(
        default_factory=dict, description="Labels of clinician turns, by the turn's position from 0."
    )


_CONCERNS = TypeAdapter(tuple[Concern, ...])
_FINDINGS = TypeAdapter(tuple[SubmittedFinding, ...])


def submitted_findings(transcript: Transcript) -> tuple[SubmittedFinding, ...] | None:
    """What the clinician submitted, where the reference says it (``reference["submitted_findings"]``); else None.

    Raises:
        DataError: the entry is not of the form [{category, text}].
    """
    submitted = transcript.reference.get("submitted_findings")
    if submitted is None:
        return None
    try:
        return _FINDINGS.validate_python(submitted)
    except ValidationError as error:
        raise DataError(f"the reference's submitted_findings can't be read: {complaint(error)}") from error


def concerns_of(transcript: Transcript) -> tuple[Concern, ...]:
    """The hidden concerns in a transcript's reference (``reference["concerns"]``).

    Raises:
        DataError: there are none, or they are not of the form {id, category, text}.
    """
    try:
        concerns = _CONCERNS.validate_python(transcript.reference.get("concerns") or ())
    except ValidationError as error:
        raise DataError(f"the reference's concerns can't be read: {complaint(error)}") from error
    if not concerns:
        raise DataError("no hidden concerns in the reference")
    ids = [concern.id for concern in concerns]
    if len(set(ids)) < len(ids):
        raise DataError("two hidden concerns of the reference have one id")
    return concerns


def primary_of(concerns: Iterable[Concern]) -> str | None:
    """Id of the primary concern: the only one, or the one marked ``primary``; None where that leaves it open."""
    known = list(concerns)
    marked = known if len(known) == 1 else [concern for concern in known if concern.primary]
    return marked[0].id if len(marked) == 1 else None


def evaluated_turn(answer: Mapping[str, Any], question: Question | None = None) -> dict[str, Any]:
    """An answer to the rubric ``turn_evaluator`` as the labels of the turn: the intent is the likeliest one.

    Args:
        answer: as the rubric allows it.
        question: whether the turn asks a question, where somebody says so.
    """
    probabilities = {intent: answer["intent_probabilities"][intent] for intent in INTENTS}
    return {
        "z": {name: answer[name] for name in FEATURES},
        "intent": max(probabilities, key=probabilities.__getitem__),
        "intent_probabilities": probabilities,
        "empathy_strength": answer["empathy_strength"],
        "question": question,
        "reason": answer["reason"],
    }


def turn_rater(transcript: Transcript) -> str | None:
    """Who labelled the clinician turns as the conversation was simulated; None where it wasn't, or nobody did.

    The simulated patient went by these labels, so they are the turns' labels of every rater.
    """
    rater = simulation_of(transcript).get("turn_rater")
    return rater if isinstance(rater, str) else None


def simulation_of(transcript: Transcript) -> Mapping[str, Any]:
    """What a transcript says of its simulation; empty where it wasn't simulated."""
    simulation = transcript.reference.get("simulation")
    return simulation if isinstance(simulation, Mapping) else {}


def simulated_turns(transcript: Transcript) -> Mapping[int, ConcernTurnLabels] | None:
    """The labels by which the conversation was simulated, by turn; None where it wasn't by any. None are needed where
    the clinician said nothing.

    Raises:
        DataError: the transcript names their rater and doesn't hold them, or they can't be read.
    """
    rater = turn_rater(transcript)
    if rater is None:
        return None
    turns = rater_labels(transcript, rater).turns
    if not turns and transcript.turns:
        raise DataError(f"the turn labels by {rater}, which the patient went by, are not in the transcript")
    return turns


#: The labels of MedConceal.
LABELS = LabelForm("medconceal", ConcernLabels, role="clinician", page="docs/suites/medconceal.md")
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
label_raters: Callable[[Transcript], list[str]] = LABELS.raters
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
rater_labels: Callable[[Transcript, str], ConcernLabels] = LABELS.of_rater
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
with_labels: Callable[[Iterable[Transcript], str | os.PathLike[str]], Iterator[Transcript]] = LABELS.laid_over
