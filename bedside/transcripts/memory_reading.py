"""Transcripts in memory, read as files are: checked by the same rules, and told of in the manifest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import orjson

from bedside.support.errors import BedsideError, InputError
from bedside.support.json_shape import json_kind
from bedside.transcripts.factor_kinds import check_declared, declared_kinds
from bedside.transcripts.language import is_language_tag
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Paths, Reading
from bedside.transcripts.reading_account import ReadingAccount
from bedside.transcripts.transcript import (
    ROLES,
    Provenance,
    Transcript,
    Turn,
    by_place,
    new_turns,
    provenance_kind,
)
from bedside.transcripts.transcript_maker import (
    check_factors,
    check_meta,
    check_nesting,
    check_provenance,
    check_speaker,
    check_text,
    check_turns,
    name_text,
)

#: Files, folders and patterns, or transcripts in memory; a lone one of either is one.
TranscriptInput = Paths | Transcript | Iterable[Transcript]


@dataclass(slots=True)
class MemoryInput:
    """Transcripts that came from no file, for the manifest.

    Attributes:
        path: None, for there is no file.
        format: ``memory``.
        sha256, bytes: of the file of JSON lines that holds these transcripts in this order
            (:meth:`Transcript.to_json`, each with a line feed).
        transcripts: how many there are.
        skipped: 0; what is wrong in memory is never skipped.
    """

    path: None = None
    format: str = "memory"
    sha256: str = ""
    bytes: int = 0
    transcripts: int = 0
    skipped: int = 0


class MemoryReading:
    """One pass over transcripts in memory; what is asked of it is what is asked of a :class:`Reading`.

    Args:
        transcripts: are gone through once, and each is checked as one of a file is.
        options: the kinds of factors that they declare.

    Attributes:
        inputs: what is known of the transcripts, complete once the iteration is over.
        skipped, reasons, ignored: empty.
        account: what came by, complete once the iteration is over.
        options: what was given.

    Raises:
        InputError: while iterating, at what is no sound transcript, where two have one id, or where no transcript has a
            factor whose kind was declared.
    """

    def __init__(self, transcripts: Iterable[Transcript], options: ReadOptions | None = None) -> None:
        self._transcripts = transcripts
        self.options: ReadOptions = options or ReadOptions()
        self.inputs: list[MemoryInput] = [MemoryInput()]
        self.skipped: list[BedsideError] = []
        self.reasons: list[str] = []
        self.ignored: list[Path] = []
        self.account: ReadingAccount = ReadingAccount(declared=declared_kinds(self.options))

    def __iter__(self) -> Iterator[Transcript]:
        (record,) = self.inputs
        digest, places = hashlib.sha256(), dict[str, str]()
        for number, transcript in enumerate(self._transcripts):
            sound = _checked(transcript, f"transcript {number} in memory")
            if sound.id in places:
                raise InputError(
                    f"two transcripts have the id {sound.id!r}",
                    where=f"{places[sound.id]} and {sound.source}",
                    todo="give each its own id",
                )
            places[sound.id] = sound.source
            line = sound.to_json() + b"\n"
            digest.update(line)
            record.bytes += len(line)
            record.transcripts += 1
            self.account.add(sound)
            yield sound
        check_declared(self.account.declared, self.account.factors)
        record.sha256 = digest.hexdigest()


def several_times(transcripts: TranscriptInput) -> TranscriptInput:
    """The same, to be gone through more than once: what can be gone through once only becomes a list."""
    return list(transcripts) if isinstance(transcripts, Iterator) else transcripts


def open_reading(transcripts: TranscriptInput, options: ReadOptions | None = None) -> Reading | MemoryReading:
    """One pass over files, or over transcripts in memory.

    Args:
        transcripts: which of the two, the first tells.
        options: how to read the files; of what is in memory, only kinds of factors can be declared.

    Raises:
        InputError: they are neither, or what is in memory is to be read in some way.
    """
    if isinstance(transcripts, str | os.PathLike):
        return Reading(transcripts, options)
    if isinstance(transcripts, Transcript):
        transcripts = [transcripts]
    # A data frame is gone through by the names of its columns.
    if hasattr(transcripts, "columns") or not isinstance(transcripts, Iterable):
        raise InputError(
            f"transcripts can't be read from what is of type {type(transcripts).__name__}",
            where="`transcripts`",
            todo="name files, or give `bedside.Transcript` objects",
        )
    rest: Iterator[Any] = iter(transcripts)
    first = next(rest, None)
    if not isinstance(first, Transcript | str | os.PathLike | None):
        raise InputError(
            f"what is of type {type(first).__name__} is neither a path nor a transcript",
            where="`transcripts`",
            todo="name files, or give `bedside.Transcript` objects",
        )
    if not isinstance(first, Transcript):
        return Reading(list(chain([] if first is None else [first], rest)), options)
    if options is not None and replace(options, conditions=(), outcomes=()) != ReadOptions():
        raise InputError(
            "options say how files are read, and transcripts in memory are read already",
            where="`options`",
            todo="leave them out, but for `conditions` and `outcomes`",
        )
    return MemoryReading(chain([first], rest), options)


def _checked(transcript: Any, place: str) -> Transcript:
    """The transcript as a run keeps it, and as it would be read from a file of JSON lines.

    Raises:
        InputError: a file that says the same would be refused.
    """
    if not isinstance(transcript, Transcript):
        raise InputError(
            f"something of type {type(transcript).__name__} stands among transcripts",
            where=place,
            todo="make a `bedside.Transcript` of it",
        )
    where = transcript.source or place
    for index, turn in enumerate(transcript.turns):
        _check_turn(turn, index, f"{where}, turn {index}")
    check_turns(transcript.turns, where, reference=transcript.reference)
    for number, item in enumerate(transcript.provenance):
        check_provenance(item, len(transcript.turns), f"{where}, provenance {number}")
    try:
        data = orjson.loads(transcript.to_json())
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"the transcript can't be written as JSON ({error})",
            where=where,
            todo="keep only text, numbers, lists and objects beside the words",
        ) from error
    names = {
        key: None if data[key] is None else name_text(key, data[key], where)
        for key in ("id", "system", "case_id")
    }
    if not names["id"]:
        raise InputError("the transcript has no id", where=where, todo="give each its own id")
    language = data["language"]
    if language is not None and not is_language_tag(language):
        raise InputError(
            f"the language {language!r:.40} is not a language tag",
            where=where,
            todo="write it as en or zh-CN",
        )
    for key in ("factors", "reference"):
        if not isinstance(data[key], dict):
            raise InputError(
                f"{key!r} must be an object, not {json_kind(data[key])}", where=where, todo="make it a dict"
            )
    check_factors(data["factors"], where)
    check_nesting(data["reference"], where)
    turns = data["turns"]
    for index, turn in enumerate(turns):
        check_meta(turn.get("meta"), f"{where}, turn {index}")
    kinds = [provenance_kind(turn["speaker"], turn["role"]) for turn in turns]
    spoken = [turn for turn, kind in zip(turns, kinds, strict=True) if kind is None]
    places = [0, *accumulate(int(kind is None) for kind in kinds)]
    apart = [
        Provenance(kind, place, turn["text"], turn["speaker"], turn.get("meta", {}))
        for turn, kind, place in zip(turns, kinds, places[:-1], strict=True)
        if kind is not None
    ]
    stated = [Provenance(**{**item, "before": places[item["before"]]}) for item in data.get("provenance", ())]
    return Transcript(
        id=names["id"],
        turns=tuple(
            new_turns(
                [turn["role"] for turn in spoken],
                [turn["speaker"] for turn in spoken],
                [turn["text"] for turn in spoken],
                [turn.get("meta", {}) for turn in spoken],
            )
        ),
        system=names["system"],
        case_id=names["case_id"],
        language=language,
        factors=data["factors"],
        reference=data["reference"],
        source=where,
        provenance=by_place((*stated, *apart)),
    )


def _check_turn(turn: Any, index: int, where: str) -> None:
    """Raise InputError unless it is a turn with this index, a role, a speaker and words."""
    if not isinstance(turn, Turn):
        raise InputError(
            f"something of type {type(turn).__name__} stands among the turns",
            where=where,
            todo="make a `bedside.Turn` of it",
        )
    if turn.index != index:
        raise InputError(
            f"the turn says it is number {turn.index!r:.20}", where=where, todo="number turns from 0 in order"
        )
    if turn.role not in ROLES:
        raise InputError(
            f"no role is called {turn.role!r:.40}", where=where, todo="a turn's role is " + ", ".join(ROLES)
        )
    check_speaker(turn.speaker, where)
    check_text(turn.text, where)
