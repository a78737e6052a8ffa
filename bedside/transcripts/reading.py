"""From paths to transcripts: finds files, recognises their format by content, reads, checks.

One :class:`Reading` is one pass over the given paths. It yields transcripts one by one, so memory holds
one transcript and the ids seen, whatever the size of the files.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from bedside.errors import BedsideError, InputError
from bedside.registry import Registry
from bedside.transcripts.model import Transcript
from bedside.transcripts.source import (
    ENDINGS,
    ReadOptions,
    Source,
    SplitError,
    ending_of,
    shown,
    without_endings,
)

__all__ = ["READERS", "Head", "InputFile", "ReadOptions", "Reader", "Reading", "Source", "read_transcripts"]


class Head:
    """What a reader sees of a file to say whether it is its own; nothing is read before it is asked for.

    Attributes:
        source: the file.
    """

    __slots__ = ("source",)

    def __init__(self, source: Source) -> None:
        self.source = source

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
        return None if self.source.json is None else self.source.json[1]

    @property
    def is_array(self) -> bool:
        """Whether the file is one JSON array."""
        return self.source.json is not None and self.source.json[0] == "array"

    @property
    def columns(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and first rows of a table; None where the file is none."""
        return self.source.columns


@dataclass(frozen=True, slots=True)
class Reader:
    """One file format.

    Attributes:
        name: the entry's name, equal to its file name.
        title: what the format is, in a few words.
        description: what the reader expects, a short paragraph of Markdown.
        example: a minimal file, as text.
        example_name: a file name for the example.
        claims: given a :class:`Head`, ``"transcripts"`` if the file is of this format, ``"companion"`` if it
            belongs to the format but holds no transcripts (read by ``read`` from its main file), else None.
            The first reader that claims a file gets it.
        read: yields the transcripts of a :class:`Source`.
        priority: readers are asked in order of this number, most specific format first.
    """

    name: str
    title: str
    description: str
    example: str
    example_name: str
    claims: Callable[[Head], Literal["transcripts", "companion"] | None]
    read: Callable[[Source], Iterator[Transcript]]
    priority: int = 50


READERS: Registry[Reader] = Registry(
    "bedside.transcripts.readers", "READER", "reader", Reader, group="bedside.readers"
)


@dataclass(slots=True)
class InputFile:
    """A file that was read, for the manifest: path as given, reader, SHA-256, bytes, transcripts read."""

    path: str
    format: str
    sha256: str = ""
    bytes: int = 0
    transcripts: int = 0
    skipped: int = 0


class Reading:
    """One pass over files: iterate to get transcripts, then ask what was read.

    Args:
        paths: files, folders (searched through) and glob patterns.
        options: what the user said about the files.

    Attributes:
        inputs: what is known of each file read, complete once the iteration is over.
        skipped: the errors of transcripts and files that were left out (``on_error="skip"``).
        ignored: files of a searched folder whose ending is no transcript format's.

    Raises:
        InputError: a path leads to no file, or (while iterating) a file or transcript is bad.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]], options: ReadOptions | None = None) -> None:
        self.options = options or ReadOptions()
        self.inputs: list[InputFile] = []
        self.skipped: list[BedsideError] = []
        self.ignored: list[Path] = []
        if self.options.format is None:
            self._readers = sorted(READERS.all().values(), key=lambda reader: reader.priority)
        else:
            self._readers = [READERS.load(self.options.format)]
        self._companions: set[str] = set()
        self.files = self._find(paths)
        self._root = os.path.commonpath({os.path.dirname(os.path.abspath(path)) for path in self.files})
        self._seen: dict[bytes, tuple[int, str]] = {}

    def _find(self, paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
        found: dict[Path, None] = {}
        for given in paths:
            path = Path(given)
            if path.is_dir():
                chosen: list[Path] = []
                for inside in _files(str(path)):
                    (chosen if ending_of(inside) in ENDINGS else self.ignored).append(Path(inside))
                if not chosen:
                    raise InputError(
                        "the folder holds no transcript file",
                        where=shown(path),
                        todo=f"transcript files end in {', '.join(ENDINGS)} (or those with .gz)",
                    )
            elif path.exists():
                chosen = [path]
            else:
                chosen = [Path(p) for p in sorted(glob.glob(str(given), recursive=True)) if Path(p).is_file()]
                if not chosen:
                    raise InputError("there is no such file", where=shown(path), todo="check the path")
            found.update(dict.fromkeys(chosen))
        if not found:
            raise InputError("no files were given", todo="name files, folders or patterns")
        return list(found)

    def __iter__(self) -> Iterator[Transcript]:
        for path in self.files:
            if str(path) in self._companions:
                continue
            try:
                yield from self._file(path)
            except SplitError:
                raise
            except InputError as error:
                if self.options.on_error == "stop":
                    raise
                self.skipped.append(error)
        if not any(file.transcripts for file in self.inputs) and not self.skipped:
            raise InputError(
                "none of the files holds a transcript", where=shown(self._root), todo="see bedside readers"
            )

    def _file(self, path: Path) -> Iterator[Transcript]:
        stem = without_endings(os.path.abspath(path)[len(self._root) :])
        stem = shown(stem).replace(os.sep, "/").lstrip("/")
        source = Source(path, stem, self.options, self.skipped)
        reader, claim = self._recognise(source)
        if claim == "companion":
            return
        record = InputFile(source.name, reader.name)
        self.inputs.append(record)
        number = len(self.inputs) - 1
        before = len(self.skipped)
        try:
            for transcript in reader.read(source):
                if source.attempt(self._admit, transcript, number):
                    record.transcripts += 1
                    yield transcript
        finally:
            record.sha256, record.bytes = source.finish()
            record.skipped = len(self.skipped) - before
            for companion, digest, size in source.companions:
                if companion not in self._companions:
                    self._companions.add(companion)
                    self.inputs.append(
                        InputFile(shown(companion), f"{reader.name} (companion)", digest, size)
                    )
        if not record.transcripts and not record.skipped:
            raise InputError("the file holds no transcript", where=source.name, todo="remove it")

    def _admit(self, transcript: Transcript, number: int) -> bool:
        key = hashlib.blake2b(transcript.id.encode(), digest_size=12).digest()
        if key in self._seen:
            file, place = self._seen[key]
            raise InputError(
                f"two transcripts have the id {transcript.id!r}",
                where=f"{self.inputs[file].path}{place} and {transcript.source}",
                todo="give each its own id",
            )
        self._seen[key] = (number, transcript.source.removeprefix(self.inputs[number].path))
        return True

    def _recognise(self, source: Source) -> tuple[Reader, Literal["transcripts", "companion"]]:
        head = Head(source)
        for reader in self._readers:
            claim = reader.claims(head)
            if claim is not None:
                return reader, claim
        if self.options.format is not None:
            return self._readers[0], "transcripts"
        if source.json is not None:
            values = [value for _, _, value in islice(source.json_values(), 1)]
            if not values:
                raise InputError("the file holds no transcript", where=source.name, todo="remove it")
            if isinstance(values[0], InputError):
                raise values[0]
        raise InputError(
            "not a transcript format that bedside knows",
            where=source.name,
            todo="see bedside readers, or force one with --format",
        )


def _files(folder: str) -> Iterator[str]:
    """All files below a folder in order of their names; hidden ones are left out."""
    try:
        with os.scandir(folder) as inside:
            entries = sorted(inside, key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", where=shown(folder), todo="check it") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        # Links to folders are not followed: they may lead in a circle.
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.is_file():
            yield entry.path


def read_transcripts(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], options: ReadOptions | None = None
) -> Iterator[Transcript]:
    """Transcripts of files, folders or glob patterns, one by one, in order of the paths.

    Args:
        paths: one path or several.
        options: format, role and column mappings, what to do on a bad transcript.

    Raises:
        InputError: a bad file or transcript, with its place and what to do.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    return iter(Reading(paths, options))
