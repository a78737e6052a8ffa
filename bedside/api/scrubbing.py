"""Transcripts are looked through for what may say who somebody is, and copied without it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bedside.core.errors import InputError, RunError
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.transcripts.identifiers.transcript_identifiers import SeenIdentifier
    from bedside.transcripts.read_options import ReadOptions
    from bedside.transcripts.reading import Paths

#: The file of masked copies.
COPIES = "transcripts.jsonl"


@dataclass(frozen=True, slots=True)
class Scrubbing:
    """What was seen in transcripts.

    Attributes:
        identifiers: what was seen, in the order of files and turns; empty where each was handed on instead.
        counts: identifiers by kind.
        transcripts: how many transcripts were looked at.
        languages: how many of them by language: ``en``, ``de``, ``zh``, another tag, or ``und`` where it isn't known.
        model: the model that saw names; None without one.
        left: identifiers in ids, systems and cases, which masked copies keep.
        skipped: why transcripts were left out.
    """

    identifiers: tuple[SeenIdentifier, ...]
    counts: dict[str, int]
    transcripts: int
    languages: dict[str, int]
    model: str | None
    left: int
    skipped: tuple[str, ...]


def scrub(
    paths: Paths,
    *,
    options: ReadOptions | None = None,
    model: str | None = None,
    show: bool = False,
    out: str | os.PathLike[str] | None = None,
    on_seen: Callable[[SeenIdentifier], None] | None = None,
) -> Tables[Scrubbing]:
    """Look for names, dates, numbers and addresses in transcripts that may say who somebody is.

    This is no promise of anonymity: what isn't seen may still say who somebody is. Nothing leaves the machine, and
    nothing is fetched.

    Args:
        paths: files, folders and patterns of transcripts, in any form that can be read.
        options: how they are read.
        model: package or folder of a spaCy pipeline that sees English names. Without it spaCy's small English one is
            taken where it is installed; ``""`` takes none.
        show: whether the tables show what was seen as it stands; else it is covered.
        out: folder for a copy of the transcripts, ``transcripts.jsonl``, in which what was seen is its kind, such as
            ``[NAME]``. Nothing there is overwritten.
        on_seen: is handed each identifier as it is seen, and only counts are kept.

    Returns:
        The identifiers and how many there are of each kind; ``results`` has the same as values.

    Raises:
        BedsideError: presidio isn't installed, a file can't be read or all were skipped, or the folder holds a copy
            already.
    """
    from bedside.reports.identifiers import counts_table, identifiers_table
    from bedside.transcripts.identifiers.masking import KEPT, masked
    from bedside.transcripts.identifiers.recognition import Recognition
    from bedside.transcripts.identifiers.transcript_identifiers import identifiers_of, language_of
    from bedside.transcripts.reading import Reading

    reading = Reading(paths, options)
    kept: list[SeenIdentifier] = []
    counts: Counter[str] = Counter()
    with_kind: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    left = 0
    with ExitStack() as stack:
        copies = None if out is None else stack.enter_context(_copies(Path(out)))
        recognition = Recognition(model)
        for transcript in reading:
            seen = identifiers_of(transcript, recognition)
            languages[language_of(transcript)] += 1
            counts.update(identifier.kind for identifier in seen)
            with_kind.update({identifier.kind for identifier in seen})
            left += sum(identifier.field in KEPT for identifier in seen)
            if on_seen is None:
                kept += seen
            else:
                for identifier in seen:
                    on_seen(identifier)
            if copies is not None:
                copies.write(masked(transcript, seen).to_json() + b"\n")
        if not languages:  # nothing was seen, and nothing was looked at
            raise InputError(f"every transcript was skipped, the first because: {reading.reasons[0]}")
    results = Scrubbing(
        identifiers=tuple(kept),
        counts=dict(counts),
        transcripts=sum(languages.values()),
        languages=dict(languages),
        model=recognition.model,
        left=left,
        skipped=tuple(reading.reasons),
    )
    by_kind = counts_table(counts, with_kind, languages=languages, model=recognition.model)
    return Tables([*([] if on_seen else [identifiers_table(kept, show=show)]), by_kind], results)


@contextmanager
def _copies(folder: Path) -> Iterator[BinaryIO]:
    """The file of masked copies, which is there whole or not at all.

    Raises:
        RunError: the folder has one, or can't be written.
    """
    from bedside.core.files import make_folder, replacing, saying_where

    target = folder / COPIES

    def check() -> None:
        if os.path.lexists(target):
            raise RunError(
                "there is such a file, and nothing is overwritten",
                where=str(target),
                todo="name another folder",
            )

    check()
    with saying_where(folder):
        make_folder(folder)
    with replacing(target) as temporary:
        with temporary.open("wb") as file:
            yield file
        check()  # again: looking through took its time
