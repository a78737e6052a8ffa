"""Label files: read, checked, and laid over transcripts.

A label file holds one object for each transcript and rater: JSON lines, a JSON array, or one object. In a transcript
the labels stand by protocol and rater: those of the whole in ``reference[protocol][rater]``, those of a turn
in its ``meta[protocol][rater]``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bedside.core.errors import DataError, InputError
from bedside.core.records import FileRecord, file_records
from bedside.core.words import counted
from bedside.transcripts.transcript import Role, Transcript

Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Index = Annotated[int, Field(ge=0, strict=True)]
#: Position of a turn as an object's key, which JSON writes as text.
TurnKey = Annotated[int, Field(ge=0)]
Bit = Annotated[int, Field(ge=0, le=1, strict=True)]
Text = Annotated[str, Field(pattern=r"\S", strict=True)]
Rater = Annotated[str, Field(pattern=r"^(human|judge|algorithm):\S.*$")]


class Strict(BaseModel):
    """Data from outside: an unknown key is an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


def complaint(error: ValidationError) -> str:
    """The first thing wrong, as one phrase: as models are told it, whose requests are known by every word."""
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    return f"{key}: {first['msg']}" if key else str(first["msg"])


class LabelledTranscript(Strict):
    """What every label file's object holds."""

    id: Text = Field(description="The transcript's id.")
    rater: Rater = Field(
        description="Who gave the labels: human:NAME, judge:MODEL or algorithm:NAME; the ratings made from them "
        "are under this rater."
    )

    def whole(self) -> dict[str, Any]:
        """The labels of the transcript as a whole, as they are kept in its reference."""
        return self.model_dump(mode="json", exclude={"id", "rater", "turns"}, exclude_unset=True)

    def by_turn(self) -> dict[int, dict[str, Any]]:
        """The labels of turns, as they are kept in the turns' meta."""
        dumped: dict[int, dict[str, Any]] = self.model_dump(include={"turns"}, exclude_unset=True).get("turns", {})
        return dumped


Labels = TypeVar("Labels", bound=LabelledTranscript)


@dataclass(frozen=True, slots=True)
class LabelForm(Generic[Labels]):
    """The labels of one protocol: their form, and where they stand in transcripts.

    Attributes:
        protocol: the protocol's name, the key under which labels stand.
        model: the form of one rater's labels of one transcript.
        role: whose turns have labels; None where anybody's may.
        page: the page of the documentation that describes a label file.
    """

    protocol: str
    model: type[Labels]
    role: Role | None
    page: str

    def laid_over(self, transcripts: Iterable[Transcript], path: str | os.PathLike[str]) -> Iterator[Transcript]:
        """Transcripts with the labels of a file, in their reference and their turns' meta.

        Transcripts without labels in the file pass unchanged. Labels that a rater already has in a transcript are
        replaced by the file's, part by part. What they hold counts for a transcript's content hash: labelled
        transcripts make a run of their own.

        Raises:
            InputError: the file is bad, labels one transcript twice for one rater, or labels a turn that isn't there
                or isn't the role's.
            DataError: at the end, labels are left of transcripts that aren't there.
        """
        unplaced = self._read(path)
        for transcript in transcripts:
            for record, labels in unplaced.pop(transcript.id, {}).values():
                transcript = self._laid(transcript, labels, record.place())
            yield transcript
        if unplaced:
            some = ", ".join(map(repr, list(unplaced)[:3]))
            more = ", …" if len(unplaced) > 3 else ""
            absent = counted(len(unplaced), "transcript")
            raise DataError(
                f"there are labels of {absent} that {'is' if len(unplaced) == 1 else 'are'} not there ({some}{more})",
                where=str(path),
                todo="check the ids",
            )

    def _read(self, path: str | os.PathLike[str]) -> dict[str, dict[str, tuple[FileRecord, Labels]]]:
        """The labels in a file, with the record of each, by transcript and rater."""
        by_transcript: dict[str, dict[str, tuple[FileRecord, Labels]]] = {}
        for record in file_records(Path(path), "label file"):
            labels = record.to_model(self.model, f"see {self.page}")
            by_rater = by_transcript.setdefault(labels.id, {})
            if labels.rater in by_rater:
                raise InputError(
                    f"transcript {labels.id!r} has labels of {labels.rater} twice",
                    where=record.place(),
                    todo=f"keep one of them; the first is at {by_rater[labels.rater][0].place()}",
                )
            by_rater[labels.rater] = (record, labels)
        if not by_transcript:
            raise InputError("the file holds no labels", where=str(path), todo=f"see {self.page}")
        return by_transcript

    def _laid(self, transcript: Transcript, labels: Labels, where: str) -> Transcript:
        by_turn = labels.by_turn()
        for index in by_turn:
            if index >= len(transcript.turns):
                what = f"transcript {transcript.id!r} has no turn {index}"
            elif self.role is not None and transcript.turns[index].role != self.role:
                what = f"in transcript {transcript.id!r} turn {index} is not the {self.role}'s"
            else:
                continue
            raise InputError(what, where=where, todo="turns count from 0")
        turns = tuple(
            replace(turn, meta=self._merged(turn.meta, labels.rater, by_turn[turn.index], transcript))
            if turn.index in by_turn
            else turn
            for turn in transcript.turns
        )
        whole = labels.whole()
        reference = (
            self._merged(transcript.reference, labels.rater, whole, transcript) if whole else transcript.reference
        )
        return replace(transcript, turns=turns, reference=reference)

    def _merged(
        self, into: Mapping[str, Any], rater: str, labels: dict[str, Any], transcript: Transcript
    ) -> dict[str, Any]:
        """A reference or a turn's meta with a rater's labels."""
        by_rater = into.get(self.protocol, {})
        before = by_rater.get(rater, {}) if isinstance(by_rater, Mapping) else None
        if not isinstance(before, Mapping):
            raise InputError(
                f"what transcript {transcript.id!r} holds under {self.protocol!r} is not labels by rater",
                where=transcript.source,
                todo="remove it, or call it otherwise",
            )
        return {**into, self.protocol: {**by_rater, rater: {**before, **labels}}}

    def replaced(
        self, transcript: Transcript, rater: str, whole: Mapping[str, Any], by_turn: Mapping[int, Mapping[str, Any]]
    ) -> Transcript:
        """The transcript with one rater's labels, in place of all others of the protocol.

        Args:
            transcript: what is labelled.
            rater: who gave the labels.
            whole: those of the transcript as a whole.
            by_turn: those of turns, by index.
        """
        turns = []
        for turn in transcript.turns:
            meta = {key: value for key, value in turn.meta.items() if key != self.protocol}
            if turn.index in by_turn:
                meta[self.protocol] = {rater: by_turn[turn.index]}
            turns.append(replace(turn, meta=meta))
        reference = {**transcript.reference, self.protocol: {rater: whole}}
        return replace(transcript, turns=tuple(turns), reference=reference)

    def raters(self, transcript: Transcript) -> list[str]:
        """The raters that gave a transcript or its turns labels, sorted."""
        raters: set[str] = set()
        for place in (transcript.reference, *(turn.meta for turn in transcript.turns)):
            raters.update(self._by_rater(place))
        return sorted(raters)

    def of_rater(self, transcript: Transcript, rater: str) -> Labels:
        """All that one rater says of a transcript.

        Raises:
            DataError: the labels are not of the protocol's form.
        """
        turns = {
            str(turn.index): turn.meta[self.protocol][rater]
            for turn in transcript.turns
            if rater in self._by_rater(turn.meta)
        }
        whole = self._by_rater(transcript.reference).get(rater, {})
        try:
            return self.model.model_validate({**whole, "id": transcript.id, "rater": rater, "turns": turns})
        except (ValidationError, TypeError) as error:
            why = complaint(error) if isinstance(error, ValidationError) else "the labels are no object"
            raise DataError(f"labels of {rater} can't be read: {why}") from error

    def _by_rater(self, place: Mapping[str, Any]) -> Mapping[str, Any]:
        """A reference's or a turn's labels."""
        labels = place.get(self.protocol)
        return labels if isinstance(labels, Mapping) else {}


# -- A number -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, or the reason why it is missing.

    Attributes:
        value: the number; None where missing.
        missing: why there is none.
        n: over several cases: number of cases the value rests on.
        dropped: over several cases: number left out because they have no value.
    """

    value: float | None = None
    missing: str | None = None
    n: int = 1
    dropped: int = 0


def ratio(numerator: float, denominator: float, empty: str, *, n: int = 1, dropped: int = 0) -> Measured:
    """``numerator / denominator``; missing because of ``empty`` where the denominator is 0."""
    if denominator == 0:
        return Measured(missing=empty, n=n, dropped=dropped)
    return Measured(numerator / denominator, n=n, dropped=dropped)


def mean(values: Iterable[Measured], empty: str) -> Measured:
    """The mean of the values that are there; missing because of ``empty`` where there is none."""
    measured = list(values)
    numbers = [case.value for case in measured if case.value is not None]
    return ratio(sum(numbers), len(numbers), empty, n=len(numbers), dropped=len(measured) - len(numbers))
