"""From paths to transcripts: finds files, recognises their format by content, reads, checks.

One :class:`Reading` is one pass over the given paths. It yields transcripts one by one, so memory holds
one transcript and the ids seen, whatever the size of the files.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from bedside.core.errors import BedsideError, InputError
from bedside.core.files import unreadable
from bedside.core.words import counted
from bedside.transcripts.byte_source import ending_of, printable_path, without_endings
from bedside.transcripts.contract import READERS, Claim, Head, Reader, readers_by_priority, transcript_endings
from bedside.transcripts.factor_kinds import check_declared, declared_kinds
from bedside.transcripts.file_kinds import foreign_archive, foreign_kind
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading_account import MOST_FACTORS, ReadingAccount
from bedside.transcripts.simulation_folder import has_no_transcripts, without_simulators_own
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.spans import NotDivisible, Span
from bedside.transcripts.transcript import Transcript
from bedside.transcripts.transcript_maker import SplitError, UnknownSpeakerError
from bedside.transcripts.unknown_speakers import UnknownSpeakers

# Endings of files that are often no transcripts.
_PLAIN = (".txt", ".md")

#: Files, folders and glob patterns; a lone one is one path.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(slots=True)
class InputFile:
    """A file that was read, for the manifest: path as given (None for transcripts in memory), reader, SHA-256, bytes,
    transcripts read and left out."""

    path: str | None
    format: str
    sha256: str = ""
    bytes: int = 0
    transcripts: int = 0
    skipped: int = 0


class Reading:
    """One pass over files: iterate to get transcripts, then ask what was read.

    Args:
        paths: files, folders (searched through) and glob patterns; a lone one is one path.
        options: what the user said about the files.

    Attributes:
        inputs: what is known of each file read, complete once the iteration is over.
        skipped: the errors of transcripts and files that were left out (``on_error="skip"``).
        reasons: why they were left out, in which all unknown speakers are told at once; complete once the iteration is
            over.
        ignored: files of a searched folder whose ending is no transcript format's.
        companions: files that were read along with others, as shown.
        root: the folder common to all files, below which ids begin.
        account: what was understood of the files, complete once the iteration is over.

    Raises:
        InputError: a path leads to no file, or (while iterating) a file or transcript is bad.
    """

    _span: Span | None = None
    #: Takes the unknown speakers of a reading for them alone.
    _unknown: UnknownSpeakers | None = None

    def __init__(self, paths: Paths, options: ReadOptions | None = None) -> None:
        self.options: ReadOptions = options or ReadOptions()
        self.inputs: list[InputFile] = []
        self.skipped: list[BedsideError] = []
        self.reasons: list[str] = []
        self.ignored: list[Path] = []
        self.account: ReadingAccount = ReadingAccount(declared=declared_kinds(self.options))
        if self.options.format is None:
            self._readers = readers_by_priority()
        else:
            self._readers = [READERS.load(self.options.format)]
        self._endings = transcript_endings()
        self.companions: set[str] = set()
        self.root: str = ""
        self._recognised: dict[Path, tuple[Reader, Claim]] = {}
        self.files: list[Path] = self._find(paths)
        self.root = common_folder(self.files)
        self._seen: dict[bytes, tuple[int, str]] = {}

    def _find(self, paths: Paths) -> list[Path]:
        files: dict[Path, None] = {}
        for path_or_pattern in [paths] if isinstance(paths, str | os.PathLike) else paths:
            if not isinstance(path_or_pattern, str | os.PathLike) or not os.fspath(path_or_pattern):
                raise InputError(f"{path_or_pattern!r:.40} is no path", todo="name files, folders or patterns")
            path = Path(path_or_pattern)
            # Unlike a path's own methods, these raise nothing.
            if os.path.isdir(path):
                chosen = self._in_folder(path)
            elif os.path.exists(path):
                chosen = [path]
            else:
                matches = sorted(glob.glob(str(path_or_pattern), recursive=True))
                chosen = [Path(match) for match in matches if os.path.isfile(match)]
                if not chosen:
                    raise InputError("there is no such file", where=printable_path(path), todo="check the path")
            files.update(dict.fromkeys(chosen))
        if not files:
            raise InputError("no files were given", todo="name files, folders or patterns")
        return list(files)

    def _in_folder(self, folder: Path) -> list[Path]:
        """The transcript files below a folder, by their endings; other files are noted as ignored. Of a simulation,
        its transcripts are read, and the rest is neither."""
        chosen: list[Path] = []
        for inside in without_simulators_own(list(_files(str(folder)))):
            path = Path(inside)
            fits = ending_of(inside) in self._endings and not self._is_aside(path)
            (chosen if fits else self.ignored).append(path)
        if has_no_transcripts(folder) and not any(path.stat().st_size for path in chosen):
            raise InputError(
                "the folder is that of a simulation without transcripts, as none has come to its end",
                where=printable_path(folder),
                todo="run the same bedside simulate again, which goes on; bedside simulate failed says why",
            )
        if not chosen:
            raise InputError(
                "the folder holds no transcript file",
                where=printable_path(folder),
                todo=f"transcript files end in {', '.join(self._endings)} (or those with .gz)",
            )
        return chosen

    def _is_aside(self, path: Path) -> bool:
        """Whether a file of a searched folder is plain text in which nobody speaks, such as a README."""
        if ending_of(path.name) not in _PLAIN or self.options.format is not None:
            return False
        try:
            self._recognised[path] = self._recognise(self._source(path))
        except InputError:
            return False
        return self._recognised[path][1] == "aside"

    def __iter__(self) -> Iterator[Transcript]:
        for path in self.files:
            if self.is_companion(path):
                continue
            try:
                yield from self._file(path)
            except InputError as error:
                split = isinstance(error, SplitError) and self._unknown is None
                if split or self.options.on_error == "stop":
                    raise self.surveyed(error) from error
                self.skipped.append(error)
        self.finish()

    def surveyed(self, error: InputError) -> InputError:
        """An error as it is; in place of an unknown speaker's, one that tells all unknown speakers of all files."""
        if not isinstance(error, UnknownSpeakerError):
            return error
        unknown = self._unknown_speakers()
        # A reader may have asked in another way than by the name.
        if unknown is None:
            return error
        todo = f"{unknown[1]}; and {error.beside}" if error.beside else unknown[1]
        return UnknownSpeakerError(unknown[0], where=error.where, todo=todo)

    def _unknown_speakers(self) -> tuple[str, str] | None:
        """What is wrong with all unknown speakers of all files, and what to do; None where there are none."""
        survey = PartReading(self.files, replace(self.options, on_error="skip"), self.root)
        survey._unknown = unknown = UnknownSpeakers()
        for transcript in survey:
            unknown.add(transcript)
        return unknown.complaint() if unknown.speakers else None

    def _told_reasons(self) -> list[str]:
        """Why transcripts were left out, unknown speakers at once."""
        of_speakers = [error for error in self.skipped if isinstance(error, UnknownSpeakerError)]
        told = self._unknown_speakers() if of_speakers else None
        if told is None:
            return [str(error) for error in self.skipped]
        all_at_once = InputError(f"{counted(len(of_speakers), 'transcript')} with {told[0]}", todo=told[1])
        return [
            str(all_at_once if error is of_speakers[0] else error)
            for error in self.skipped
            if error is of_speakers[0] or not isinstance(error, UnknownSpeakerError)
        ]

    def is_companion(self, path: Path) -> bool:
        """Whether a file was read along with another."""
        return printable_path(path) in self.companions

    def finish(self) -> None:
        """What is checked when all files are read.

        Raises:
            InputError: there was no transcript, what is read along with another file stands without it, or no
                transcript has a factor whose kind was declared.
        """
        read = {file.path for file in self.inputs} | self.companions
        for path in self.files:
            lone = None if printable_path(path) in read else self._without_main(path)
            if lone is not None and self.options.on_error == "stop":
                raise lone
            self.skipped += [] if lone is None else [lone]
        if len(self.account.factors) < MOST_FACTORS:
            check_declared(self.account.declared, self.account.factors)
        self.reasons = self._told_reasons()
        self.account.skipped, self.account.ignored = len(self.skipped), len(self.ignored)
        if not any(file.transcripts for file in self.inputs) and not self.skipped:
            raise InputError(
                "none of the files holds a transcript", where=printable_path(self.root), todo="see bedside list readers"
            )

    def _without_main(self, path: Path) -> InputError | None:
        """The error for a file that wasn't read, where it holds a part of what a file begins that isn't given."""
        try:
            source = self._source(path)
            reader, claim = self._recognise(source)
            main = reader.main_file(Head(source)) if claim == "companion" and reader.main_file else None
        except InputError:
            return None  # It was told before.
        if main is None or os.path.abspath(main) in map(os.path.abspath, self.files):
            return None
        return InputError(
            f"this file is read along with {main.name}, which is not among the files",
            where=printable_path(path),
            todo=f"give {printable_path(main)} too, or the folder that holds both",
        )

    def spans(self, path: Path, size: int) -> tuple[list[Span], str]:
        """Pieces of about so many bytes that a file can be read in, and its SHA-256; none where it can't be divided."""
        source = self._source(path)
        try:
            reader, claim = self._recognise(source)
            if reader.spans is not None and claim == "transcripts":
                spans = reader.spans(source, size)
                return spans, source.finish()[0] if spans else ""
        except (InputError, NotDivisible):
            pass  # Whoever reads it whole meets what is wrong in its place.
        return [], ""

    def _source(self, path: Path, span: Span | None = None) -> SourceFile:
        stem = without_endings(os.path.abspath(path)[len(self.root) :], self._endings)
        source = SourceFile(
            path,
            printable_path(stem).replace(os.sep, "/").lstrip("/"),
            options=self.options,
            skipped=self.skipped,
            bare_path=without_endings(str(path), self._endings),
            span=span,
        )
        source.unknown = None if self._unknown is None else self._unknown.names
        return source

    def _file(self, path: Path) -> Iterator[Transcript]:
        source = self._source(path, self._span)
        known = self._recognised.pop(path) if path in self._recognised else None
        reader, claim = known or self._recognise(source)
        if claim == "companion":
            return
        record = InputFile(source.name, reader.name)
        self.inputs.append(record)
        number = len(self.inputs) - 1
        before = len(self.skipped)
        try:
            for transcript in reader.read(source):
                if source.attempt(self.admit, transcript.id, transcript.source, number):
                    record.transcripts += 1
                    self.account.add(transcript)
                    yield transcript
        finally:
            record.sha256, record.bytes = source.finish()
            record.skipped = len(self.skipped) - before
            self.account.add_file(source.name, reader.name, reader.title, source.account)
            for companion, digest, size in source.companions:
                if printable_path(companion) not in self.companions:
                    self.companions.add(printable_path(companion))
                    self.inputs.append(InputFile(printable_path(companion), f"{reader.name} (companion)", digest, size))
        self.check(record)

    def check(self, record: InputFile) -> None:
        """What is checked when a file is read.

        Raises:
            InputError: it held no transcript.
        """
        if not record.transcripts and not record.skipped:
            raise InputError("the file holds no transcript", where=record.path, todo="remove it")

    def admit(self, name: str, source: str, number: int) -> bool:
        """Take in a transcript, if no other has its id.

        Args:
            name: its id.
            source: where it was read.
            number: of its file among the inputs.

        Raises:
            InputError: another has it.
        """
        key = hashlib.blake2b(name.encode(), digest_size=12).digest()
        if key in self._seen:
            file, place = self._seen[key]
            of_systems = ", or say with `path_fields={system}` that each file or folder is of another system"
            raise InputError(
                f"two transcripts have the id {name!r}",
                where=f"{self.inputs[file].path}{place} and {source}",
                todo=f"give each its own id{of_systems if file != number else ''}",
            )
        self._seen[key] = (number, source.removeprefix(self.inputs[number].path or ""))
        return True

    def _recognise(self, source: SourceFile) -> tuple[Reader, Claim]:
        if self.options.format is not None:
            return self._claimed(source)
        foreign = foreign_kind(source, self._endings)
        if foreign is not None:
            raise foreign
        try:
            return self._claimed(source)
        except InputError:
            archive = foreign_archive(source)
            if archive is None:
                raise
            raise archive from None

    def _claimed(self, source: SourceFile) -> tuple[Reader, Claim]:
        head = Head(source)
        for reader in self._readers:
            claim = reader.claims(head)
            if claim is not None:
                return reader, claim
        if self.options.format is not None:
            return self._readers[0], "transcripts"
        todo = "see bedside list readers, or force one with `format`"
        if source.json is not None:
            values = [value for _, _, value in islice(source.json_values(), 1)]
            if not values:
                raise InputError("the file holds no transcript", where=source.name, todo="remove it")
            if isinstance(values[0], InputError):
                raise values[0]
            if source.json.form == "object" and isinstance(values[0], dict):
                lists = (
                    key
                    for key, value in values[0].items()
                    if isinstance(value, list) and value and isinstance(value[0], dict)
                )
                if (key := next(lists, None)) is not None:
                    todo = f"if the list under {key!r:.40} holds its transcripts, write that list as a file of its own"
        raise InputError("bedside knows no transcript format that fits this file", where=source.name, todo=todo)


class PartReading(Reading):
    """The reading of a file, or of a piece of it, as a part of a larger reading.

    What only the whole can tell is left to it: whether ids are unique, and whether there is a transcript at all.

    Args:
        paths: the file, or several.
        options: how to read it.
        root: of the whole.
        span: the piece.
    """

    def __init__(self, paths: Paths, options: ReadOptions, root: str, span: Span | None = None) -> None:
        super().__init__(paths, options)
        self.root = root
        self._span = span

    def admit(self, name: str, source: str, number: int) -> bool:
        return True

    def check(self, record: InputFile) -> None:
        if self._span is None:
            super().check(record)

    def finish(self) -> None:
        pass


def common_folder(paths: Iterable[str | Path]) -> str:
    """The folder that all files lie in or below; empty where none holds them all, as on several drives of Windows."""
    try:
        return os.path.commonpath({os.path.dirname(os.path.abspath(path)) for path in paths})
    except ValueError:
        return ""


def _files(folder: str) -> Iterator[str]:
    """All files below a folder in order of their names; hidden ones are left out."""
    try:
        with os.scandir(folder) as inside:
            entries = sorted(inside, key=lambda entry: entry.name)
    except OSError as error:
        raise unreadable(error, printable_path(folder), "folder", kind=InputError) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        # Links to folders are not followed: they may lead in a circle.
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.is_file():
            yield entry.path


def read_account(paths: Paths, options: ReadOptions | None = None) -> ReadingAccount:
    """What is understood of files: forms, columns, speakers and their roles, systems, cases; ``str`` of it is text.

    Args:
        paths: one path or several.
        options: as for :func:`read_transcripts`.

    Raises:
        InputError: a bad file or transcript, with its place and what to do.
    """
    reading = Reading(paths, options)
    for _ in reading:
        pass
    return reading.account


def read_transcripts(paths: Paths, options: ReadOptions | None = None) -> Iterator[Transcript]:
    """Transcripts of files, folders or glob patterns, one by one, in order of the paths.

    Args:
        paths: one path or several.
        options: format, role and column mappings, what to do on a bad transcript.

    Raises:
        InputError: a bad file or transcript, with its place and what to do.
    """
    return iter(Reading(paths, options))
