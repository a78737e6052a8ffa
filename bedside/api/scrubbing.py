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
from bedside.core.question_settings import HOW, OUTPUT, option, question, settings_class
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


@settings_class
class ScrubSettings:
    """Warn of what may say who somebody is, before transcripts leave.

    It looks for names, dates, numbers and addresses. It ends with exit code 1 where it saw any, else with 0. It is no
    promise of anonymity: a person must read what is to be handed on.

    Examples:
        $ bedside scrub talks/
        $ bedside scrub talks/ --show
        $ bedside scrub talks/ --out masked
    """

    out: str | os.PathLike[str] | None = option(
        "Folder for a copy of the transcripts in which what was seen is its kind, such as [NAME]. Nothing there is "
        "overwritten.",
        "--out", "-o", default=None, heading=OUTPUT, metavar="FOLDER", form="path",
    )  # fmt: skip
    show: bool = option("Print what was seen as it stands; else it is covered.", default=False, heading=OUTPUT)
    model: str | None = option(
        "Package or folder of a spaCy pipeline that sees English names; none takes patterns alone. Without it, spaCy's "
        "small English model where it is installed. Nothing is downloaded.",
        default=None, heading=HOW, metavar="NAME",
    )  # fmt: skip
    options: ReadOptions | None = option("How the files are read.", default=None, heading=None)
    on_seen: Callable[[SeenIdentifier], None] | None = option(
        "Called with each identifier as it is seen; only counts are kept then.", default=None, heading=None
    )


@question(ScrubSettings, "Files, folders and patterns of transcripts, in any form that can be read.")
def scrub(paths: Paths, settings: ScrubSettings) -> Tables[Scrubbing]:
    """What isn't seen may still say who somebody is. Nothing leaves the machine, and nothing is fetched. The copy is
    ``transcripts.jsonl``.

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

    reading = Reading(paths, settings.options)
    kept: list[SeenIdentifier] = []
    counts: Counter[str] = Counter()
    with_kind: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    left = 0
    with ExitStack() as stack:
        copies = None if settings.out is None else stack.enter_context(_copies(Path(settings.out)))
        recognition = Recognition("" if settings.model == "none" else settings.model)
        for transcript in reading:
            seen = identifiers_of(transcript, recognition)
            languages[language_of(transcript)] += 1
            counts.update(identifier.kind for identifier in seen)
            with_kind.update({identifier.kind for identifier in seen})
            left += sum(identifier.field in KEPT for identifier in seen)
            if settings.on_seen is None:
                kept += seen
            else:
                for identifier in seen:
                    settings.on_seen(identifier)
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
    return Tables([*([] if settings.on_seen else [identifiers_table(kept, show=settings.show)]), by_kind], results)


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
                "there is such a file, and nothing is overwritten", where=str(target), todo="name another folder"
            )

    check()
    with saying_where(folder):
        make_folder(folder)
    with replacing(target) as temporary:
        with temporary.open("wb") as file:
            yield file
        check()  # again: looking through took its time
