"""Transcripts in memory, read as files are: checked by the same rules, and told of in the manifest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import BedsideError, InputError
from bedside.transcripts.factor_kinds import check_declared, declared_kinds
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.readers.jsonl import transcript_of
from bedside.transcripts.reading import InputFile, Paths, Reading
from bedside.transcripts.reading_account import ReadingAccount
from bedside.transcripts.transcript import ROLES, Transcript, Turn, provenance_kind
from bedside.transcripts.transcript_maker import TranscriptMaker, check_speaker, check_text

#: Files, folders and patterns, or transcripts in memory; a lone one of either is one.
TranscriptInput = Paths | Transcript | Iterable[Transcript]


class MemoryReading:
    """One pass over transcripts in memory; what is asked of it is what is asked of a :class:`Reading`.

    Args:
        transcripts: are gone through once, and each is checked as one of a file is.
        options: the kinds of factors that they declare.

    Attributes:
        inputs: what is known of the transcripts, complete once the iteration is over; hash and size are of the file of
            JSON lines that holds them in this order (:meth:`Transcript.to_json`, each with a line feed).
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
        self.inputs: list[InputFile] = [InputFile(None, "memory")]
        self.skipped: list[BedsideError] = []
        self.reasons: list[str] = []
        self.ignored: list[Path] = []
        self.account: ReadingAccount = ReadingAccount(declared=declared_kinds(self.options))

    def __iter__(self) -> Iterator[Transcript]:
        (record,) = self.inputs
        digest, places = hashlib.sha256(), dict[str, str]()
        maker = TranscriptMaker(Path("memory"), "", ReadOptions(), [], "memory")
        for number, transcript in enumerate(self._transcripts):
            sound = _checked(transcript, maker, f"transcript {number} in memory")
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
        self.account.left_out.update(maker.account.left_out)
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


def _checked(transcript: Any, maker: TranscriptMaker, place: str) -> Transcript:
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
    try:
        data = orjson.loads(transcript.to_json())
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"the transcript can't be written as JSON ({error})",
            where=where,
            todo="keep only text, numbers, lists and objects beside the words",
        ) from error
    if data["id"] is None or data["id"] == "":
        raise InputError("the transcript has no id", where=where, todo="give each its own id")
    # Turns of systems and tools become provenance, and what is stated stands before one of the others.
    apart = [provenance_kind(turn["speaker"], turn["role"]) is not None for turn in data["turns"]]
    for item in data.get("provenance", ()):
        if type(item["before"]) is int:
            item["before"] -= sum(apart[: item["before"]])
    return transcript_of(maker, data, where, "")


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
