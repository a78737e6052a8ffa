"""What Note2Chat's arithmetic is given: where each finding is conveyed, and where the diagnosis ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, get_args

from pydantic import Field

from bedside.metrics.protocols.label_files import (
    Bit,
    Index,
    LabelForm,
    LabelledTranscript,
    Strict,
    Text,
    TurnKey,
)
from bedside.transcripts.transcript import Transcript

Category = Literal[
    "site",
    "onset",
    "character",
    "radiation",
    "associated",
    "timing",
    "exacerbating_relieving",
    "severity",
    "history",
]
#: The SOCRATES categories of a finding, and history (past illnesses and treatments).
CATEGORIES: tuple[Category, ...] = get_args(Category)

Reply = Literal["answer", "dont_know", "already_asked"]
#: Kinds of patient reply.
REPLIES: tuple[Reply, ...] = get_args(Reply)


class ClinicalFinding(Strict):
    """A finding of the note and the message that conveys it."""

    text: Text | None = Field(None, description="The finding in the note's words.")
    categories: tuple[Category, ...] = Field((), description="Its SOCRATES categories.")
    opening: bool = Field(
        False,
        description="Whether the opening complaint already says it; such a finding is not counted.",
        strict=True,
    )
    message: Index | None = Field(
        description="Position (from 0) of the last message that conveys it; null where none does."
    )


class HistoryTurnLabels(Strict):
    """What is said of one patient reply."""

    reply: Reply | None = Field(None, description="What kind of reply it is.")
    only_what_was_asked: Bit | None = Field(
        None, description="1 where it tells only what was asked (information control), else 0."
    )
    conflict: Bit | None = Field(None, description="1 where it contradicts the note, else 0.")


class HistoryLabels(LabelledTranscript):
    """One rater's labels of one transcript. A part that is left out was not labelled."""

    findings: tuple[ClinicalFinding, ...] | None = Field(None, description="The note's findings.")
    diagnosis_rank: Index | None = Field(
        None,
        description="Position (from 0) of the first candidate that is the true diagnosis or a more specific kind of "
        "it; null where none is. Left out where it was not judged.",
    )
    diagnosis_message: Index | None = Field(
        None,
        description="Position (from 0) of the final diagnosis message; null where there is none. Left out, it is the "
        "last message, if that is the clinician's.",
    )
    turns: Mapping[TurnKey, HistoryTurnLabels] = Field(
        default_factory=dict, description="Labels of patient turns, by the turn's position from 0."
    )


#: The labels of Note2Chat.
LABELS = LabelForm("note2chat", HistoryLabels, role="patient", page="docs/note2chat.md")
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
label_raters: Callable[[Transcript], list[str]] = LABELS.raters
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
rater_labels: Callable[[Transcript, str], HistoryLabels] = LABELS.of_rater
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
with_labels: Callable[[Iterable[Transcript], str | os.PathLike[str]], Iterator[Transcript]] = LABELS.laid_over
