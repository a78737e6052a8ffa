"""Label files: read, checked, and laid over transcripts.

A label file holds one object for each transcript and rater: JSON lines, a JSON array, or one object. In a transcript
the labels stand by protocol and rater: those of the whole in ``reference[protocol][rater]``, those of a turn
in its ``meta[protocol][rater]``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bedside.support.errors import DataError, InputError
from bedside.support.files import contents
from bedside.transcripts.transcript import Role, Transcript

#: Largest label file, in bytes.
MOST_BYTES = 2**27
Model = TypeVar("Model", bound=BaseModel)

Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Index = Annotated[int, Field(ge=0, strict=True)]
#: Position of a turn as an object's key, which JSON writes as text.
TurnKey = Annotated[int, Field(ge=0)]
Bit = Annotated[int, Field(ge=0, le=1, strict=True)]
Text = Annotated[str, Field(pattern=r"\S", strict=True)]
Rater = Annotated[str, Field(pattern=r"^(human|judge|algorithm):\S.*$")]


class Strict(BaseModel):
    """Data from outside: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def complaint(error: ValidationError) -> str:
    """The first thing wrong, as one phrase."""
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"]))
    return f"{key}: {first['msg']}" if key else str(first["msg"])


def objects(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """Place (``file:line`` or ``file, item n``) and content of each object of a JSON or JSON-lines file.

    Raises:
        InputError: the file can't be read or is neither.
    """
    try:
        data = contents(path, MOST_BYTES).removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror or error})", where=str(path)) from error
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        whole = None
    if isinstance(whole, list):
        for number, item in enumerate(whole):
            yield f"{path}, item {number}", item
        return
    if whole is not None:
        yield str(path), whole
        return
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield f"{path}:{number}", orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(f"not JSON ({error.msg})", where=f"{path}:{number}") from error


def read_models(path: str | os.PathLike[str], model: type[Model], see: str) -> Iterator[tuple[str, Model]]:
    """Place and content of each object of a file, checked.

    Raises:
        InputError: an object is not of the form that ``see`` describes; the key is named.
    """
    for where, item in objects(path):
        try:
            yield where, model.model_validate(item)
        except ValidationError as error:
            raise InputError(complaint(error), where=where, todo=f"see {see}") from error


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
        dumped: dict[int, dict[str, Any]] = self.model_dump(include={"turns"}, exclude_unset=True).get(
            "turns", {}
        )
        return dumped


def laid_over(
    transcripts: Iterable[Transcript],
    path: str | os.PathLike[str],
    protocol: str,
    model: type[LabelledTranscript],
    role: Role | None,
    see: str,
) -> Iterator[Transcript]:
    """The transcripts with the labels of a file; those without labels there pass unchanged.

    Labels that a rater already has in a transcript are replaced by the file's, part by part. With ``role``, only turns
    of that role have labels.

    Raises:
        InputError: the file is bad, labels one transcript twice for one rater, or labels a turn that isn't there.
        DataError: at the end, labels are left of transcripts that aren't there.
    """
    given: dict[str, dict[str, tuple[str, LabelledTranscript]]] = {}
    for where, labels in read_models(path, model, see):
        raters = given.setdefault(labels.id, {})
        if labels.rater in raters:
            raise InputError(
                f"transcript {labels.id!r} has labels of {labels.rater} twice", where=where,
                todo=f"keep one of them; the first is at {raters[labels.rater][0]}",
            )  # fmt: skip
        raters[labels.rater] = (where, labels)
    if not given:
        raise InputError("holds no labels", where=str(path), todo=f"see {see}")
    for transcript in transcripts:
        for where, labels in given.pop(transcript.id, {}).values():
            transcript = _laid(transcript, labels, protocol, role, where)
        yield transcript
    if given:
        some = ", ".join(map(repr, list(given)[:3]))
        raise DataError(
            f"labels of {len(given)} transcripts that aren't there ({some}{', …' if len(given) > 3 else ''})",
            where=str(path),
            todo="check the ids",
        )


def _laid(
    transcript: Transcript, labels: LabelledTranscript, protocol: str, role: Role | None, where: str
) -> Transcript:
    by_turn = labels.by_turn()
    for index in by_turn:
        if index >= len(transcript.turns):
            what = f"has no turn {index}"
        elif role is not None and transcript.turns[index].role != role:
            what = f"turn {index} is not the {role}'s"
        else:
            continue
        raise InputError(f"transcript {transcript.id!r}: {what}", where=where, todo="turns count from 0")
    turns = tuple(
        replace(turn, meta=_merged(turn.meta, protocol, labels.rater, by_turn[turn.index], transcript))
        if turn.index in by_turn
        else turn
        for turn in transcript.turns
    )
    whole = labels.whole()
    reference = (
        _merged(transcript.reference, protocol, labels.rater, whole, transcript)
        if whole
        else transcript.reference
    )
    return replace(transcript, turns=turns, reference=reference)


def _merged(
    into: Mapping[str, Any], protocol: str, rater: str, labels: dict[str, Any], transcript: Transcript
) -> dict[str, Any]:
    kept = into.get(protocol, {})
    before = kept.get(rater, {}) if isinstance(kept, Mapping) else None
    if not isinstance(before, Mapping):
        raise InputError(
            f"what transcript {transcript.id!r} holds under {protocol!r} is not labels by rater",
            where=transcript.source,
            todo="remove it, or call it otherwise",
        )
    return {**into, protocol: {**kept, rater: {**before, **labels}}}


def raters_of(transcript: Transcript, protocol: str) -> list[str]:
    """Raters that gave a transcript or its turns labels of a protocol, sorted."""
    found: set[str] = set()
    for kept in (transcript.reference, *(turn.meta for turn in transcript.turns)):
        part = kept.get(protocol)
        if isinstance(part, Mapping):
            found.update(part)
    return sorted(found)


def labels_of(transcript: Transcript, protocol: str, rater: str, model: type[Model]) -> Model:
    """All that one rater says of a transcript.

    Raises:
        DataError: labels that are not of the protocol's form.
    """
    turns = {
        str(turn.index): turn.meta[protocol][rater]
        for turn in transcript.turns
        if rater in _kept(turn.meta, protocol)
    }
    whole = _kept(transcript.reference, protocol).get(rater, {})
    try:
        return model.model_validate({**whole, "id": transcript.id, "rater": rater, "turns": turns})
    except (ValidationError, TypeError) as error:
        said = complaint(error) if isinstance(error, ValidationError) else "the labels are no object"
        raise DataError(f"labels of {rater} can't be read: {said}") from error


def _kept(of: Mapping[str, Any], protocol: str) -> Mapping[str, Any]:
    part = of.get(protocol)
    return part if isinstance(part, Mapping) else {}


def schema(model: type[BaseModel]) -> str:
    """The JSON Schema of one object of a label file, as text."""
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(made, ensure_ascii=False, indent=2) + "\n"
