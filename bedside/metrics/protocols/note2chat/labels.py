"""What Note2Chat's arithmetic is given: labels of findings and diagnosis, kinds of reply, the split of cases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import Field

from bedside.core.errors import InputError
from bedside.core.files import read_text
from bedside.metrics.protocols.label_files import Bit, Index, LabelForm, LabelledTranscript, Strict, Text, TurnKey
from bedside.transcripts.transcript import Transcript

# -- What Note2Chat's arithmetic is given ---------------------------------------------------------------

Category = Literal[
    "site", "onset", "character", "radiation", "associated", "timing", "exacerbating_relieving", "severity", "history"
]
#: The SOCRATES categories of a finding, and history (past illnesses and treatments).
CATEGORIES: tuple[Category, ...] = get_args(Category)

Reply = Literal["answer", "dont_know", "already_asked"]


class ClinicalFinding(Strict):
    """A finding of the note and the message that conveys it."""

    text: Text | None = Field(None, description="The finding in the note's words.")
    categories: tuple[Category, ...] = Field((), description="Its SOCRATES categories.")
    opening: bool = Field(
        False, description="Whether the opening complaint already says it; such a finding is not counted.", strict=True
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
LABELS = LabelForm("note2chat", HistoryLabels, role="patient", page="docs/suites/note2chat.md")
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
label_raters: Callable[[Transcript], list[str]] = LABELS.raters
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
rater_labels: Callable[[Transcript, str], HistoryLabels] = LABELS.of_rater
#: See :class:`bedside.metrics.protocols.label_files.LabelForm`.
with_labels: Callable[[Iterable[Transcript], str | os.PathLike[str]], Iterator[Transcript]] = LABELS.laid_over


# -- Which cases are trained on and which are kept for testing ------------------------------------------

Side = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """A division of cases.

    Attributes:
        train: ids of the cases that are trained on; None for all that aren't kept for testing.
        test: ids of the cases that are kept for testing.

    Raises:
        InputError: a case is in both.
    """

    train: frozenset[str] | None
    test: frozenset[str]

    def __post_init__(self) -> None:
        both = sorted((self.train or frozenset()) & self.test)
        if both:
            some = ", ".join(both[:3]) + (", …" if len(both) > 3 else "")
            raise InputError(
                f"{len(both)} cases are to be both trained and tested on ({some})",
                where="`train` and `test`",
                todo="take each out of one of the two",
            )

    def side(self, case: str) -> Side | None:
        """The side of a case; None where it is on neither."""
        if case in self.test:
            return "test"
        return "train" if self.train is None or case in self.train else None


def read_split(train: str | os.PathLike[str] | None = None, test: str | os.PathLike[str] | None = None) -> CaseSplit:
    """The division that files of case ids make, an id a line.

    Raises:
        InputError: a file can't be read or holds no ids, or a case is in both.
    """
    return CaseSplit(
        None if train is None else frozenset(_ids(train)), frozenset() if test is None else frozenset(_ids(test))
    )


def _ids(path: str | os.PathLike[str]) -> Iterable[str]:
    lines = read_text(path, "file of case ids").splitlines()
    ids = [line.strip() for line in lines if line.strip()]
    if not ids:
        raise InputError("it holds no ids of cases", where=str(path), todo="write one a line")
    return ids


# -- Kinds of patient reply -----------------------------------------------------------------------------

_LEAD = r"(?:(?:sorry|well|hmm*|um+|uh+|oh|honestly|actually|i'm afraid|no|but|doctor|doc)[,. …-]*)*"

#: The patient can't say. The first is what the published simulator answers, word for word.
DONT_KNOW: tuple[str, ...] = (
    r"i (?:really |honestly |just )?(?:don't|do not|didn't) (?:really |actually )?know"
    r"(?: that| about that| the answer)?",
    r"i(?:'m| am) (?:really |honestly )?not (?:really |too |quite )?(?:sure|certain)(?: about that| of that)?",
    r"i (?:have|'ve) no idea",
    r"no idea",
    r"not sure",
    r"i (?:can't|cannot|couldn't|can not) (?:say|tell|remember|recall)(?: that)?",
    r"i (?:don't|do not) (?:remember|recall)(?: that)?",
)
#: The patient was asked this before. The first is what the published simulator answers.
ALREADY_ASKED: tuple[str, ...] = (
    r"you(?:'ve| have)? already asked\b",
    r"you(?:'ve| have)? (?:just )?asked (?:me )?(?:that|this|about)\b.*\b(?:already|before|earlier)",
    r"\b(?:i|we)(?:'ve| have)? already (?:answered|told you|said|mentioned|discussed|talked about|went over|covered)\b",
    r"\b(?:like|as) i (?:said|mentioned|told you)\b",
    r"\bi (?:just |)told you\b",
)
_DONT_KNOW = re.compile(rf"^{_LEAD}(?:{'|'.join(DONT_KNOW)})(?:[,. …-]*(?:sorry|doctor|doc|really|though))*[.!…]*$")
_ALREADY_ASKED = re.compile("|".join(ALREADY_ASKED))


#: What surrounds the words of a reply and doesn't count.
_EDGES = " .,!?…。，！？\"'“”"


def reply_kind(text: str, sentences: Mapping[str, str] | None = None) -> Reply:
    """What kind of reply a text is.

    ``already_asked`` where it says so, ``dont_know`` where that is all it says, else ``answer``.

    Args:
        text: the reply.
        sentences: what this patient says word for word, as ``dont_know`` and ``already_asked``: such a reply is of that
            kind in any language (see :func:`says`).
    """
    if sentences is not None:
        if "already_asked" in sentences and says(text, sentences["already_asked"]):
            return "already_asked"
        if "dont_know" in sentences and says(text, sentences["dont_know"]):
            return "dont_know"
    plain = _folded(text)
    if _ALREADY_ASKED.search(plain):
        return "already_asked"
    return "dont_know" if _DONT_KNOW.match(plain) else "answer"


def says(text: str, sentence: str) -> bool:
    """Whether a text is a sentence and no more; case, white space and marks at either end don't count."""
    plain = _folded(text).strip(_EDGES)
    return bool(plain) and plain == _folded(sentence).strip(_EDGES)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())
