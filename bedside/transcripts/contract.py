"""What a reader of a transcript format states, and what it is shown of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bedside.core.registry import Registry
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.spans import Span
from bedside.transcripts.transcript import Transcript

#: How a file belongs to a form.
Claim = Literal["transcripts", "companion", "aside"]


class Head:
    """What a reader sees of a file to say whether it is its own; nothing is read before it is asked for.

    Attributes:
        source: the file.
    """

    __slots__ = ("source",)

    def __init__(self, source: SourceFile) -> None:
        self.source: SourceFile = source

    @property
    def path(self) -> Path:
        """The file's path."""
        return self.source.path

    @property
    def ending(self) -> str:
        """The name's ending in lower case without ``.gz``, e.g. ``.jsonl``."""
        return self.source.ending

    @property
    def text(self) -> str:
        """The first 64 KiB as text, without byte order mark."""
        return self.source.head.decode("utf-8", "replace")

    @property
    def first(self) -> Any:
        """The first JSON value (of an array its first item), as far as the first 64 KiB tell; else None."""
        return None if self.source.json is None else self.source.json.first

    @property
    def is_array(self) -> bool:
        """Whether the file is one JSON array."""
        return self.source.json is not None and self.source.json.form == "array"

    @property
    def columns(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and first rows of a table; None where the file is none."""
        return self.source.columns


#: What a reader states of its form in a few words of Markdown, and how it is headed: what its files have and no others,
#: what becomes turns, what else is kept and as what, what is left and counted, and the options that decide.
FACTS: Mapping[str, str] = {
    "known_by": "known by",
    "turns": "turns",
    "kept": "kept as fields",
    "left": "left and counted",
    "decided_by": "decided by",
}


@dataclass(frozen=True, slots=True)
class Reader:
    """One file format.

    Attributes:
        name: the entry's name, equal to its file name.
        title: what the format is, in a few words.
        description: what the reader expects, a short paragraph of Markdown.
        example: a minimal file, as text.
        example_name: a file name for the example.
        endings: of the names of files that are looked at in a folder, in lower case with their point; each may be
            followed by ``.gz``. A file that is named itself may have any.
        claims: given a :class:`Head`, ``"transcripts"`` if the file is of this format, ``"companion"`` if it
            belongs to the format but holds no transcripts (read by ``read`` from its main file), ``"aside"`` if it
            may be something else, such as a README: it is left alone in a folder, and read where it is named
            itself; else None.
            The first reader that claims a file gets it.
        read: yields the transcripts of a :class:`SourceFile`.
        priority: readers are asked in order of this number, most specific format first.
        main_file: given a :class:`Head` that is claimed as ``"companion"``, the file that it is read along with, where
            what it holds is lost without that; None where nothing is.
        spans: pieces of about so many bytes that a file can be read in, one apart from the other; None where the format
            can't be divided. It may raise NotDivisible for a file.
        facts: the form in short: its ``family`` (own, tables, recordings or logs), and the keys of :data:`FACTS`.
    """

    name: str
    title: str
    description: str
    example: str
    example_name: str
    endings: tuple[str, ...]
    claims: Callable[[Head], Claim | None]
    read: Callable[[SourceFile], Iterator[Transcript]]
    priority: int = 50
    main_file: Callable[[Head], Path | None] | None = None
    spans: Callable[[SourceFile, int], list[Span]] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


READERS: Registry[Reader] = Registry("bedside.transcripts.readers", "READER", "reader", Reader, group="bedside.readers")


def readers_by_priority() -> list[Reader]:
    """All readers, in the order in which they are asked about a file."""
    return sorted(READERS.all().values(), key=lambda reader: reader.priority)


def transcript_endings() -> tuple[str, ...]:
    """The endings of names of files that are looked at in a folder, whichever reader states them."""
    return tuple(dict.fromkeys(ending for reader in readers_by_priority() for ending in reader.endings))
