"""One file on its way to transcripts: its bytes, lines and JSON values, and the making of checked turns.

Memory holds one transcript at a time, and a small file whole, whatever the size of the file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import orjson

from bedside.support.errors import BedsideError, InputError
from bedside.support.files import opened, piped
from bedside.transcripts.json_pieces import ArrayError, array_items, beginning
from bedside.transcripts.spans import FilePiece, NotDivisible, Span
from bedside.transcripts.transcript import Role, Transcript, Turn, new_turns, role_of

T = TypeVar("T")

#: Longest single record (a line, a cell, an item of a JSON array, the rows of one transcript), in bytes.
MAX_RECORD = 16 * 2**20
#: A file that is no larger than this unpacked is held whole.
WHOLE = 4 * 2**20
#: How much of a larger file is looked at to recognise its format.
HEAD = 64 * 2**10
#: A file that goes on in one line for so many bytes beyond the longest record is given up.
LONGEST_LINE = 2**30
#: Most turns of one transcript.
MAX_TURNS = 100_000
#: Largest file that goes with another and is held whole (labels, speakers), in bytes.
MAX_COMPANION = 64 * 2**20
#: Deepest nesting of what is kept beside the turns.
MAX_DEPTH = 50
#: File name endings looked at in a folder; each may be followed by ``.gz``.
ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx")

#: How the JSON values of a file stand: one a line, as items of an array, or one alone.
Form = Literal["lines", "array", "object"]

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user can say about the files.

    Attributes:
        format: name of the reader to use; None recognises each file by its content.
        roles: speaker name → role, looked at before the known aliases.
        columns: bedside's column name → the file's, for tables.
        path_fields: pattern such as ``{system}/{case_id}`` matched against the end of each file's path
            (without ending); ``system`` and ``case_id`` are set from it, other names become factors.
        on_error: ``stop`` at the first bad transcript, or ``skip`` it, keep the reason and go on.
    """

    format: str | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    path_fields: str | None = None
    on_error: Literal["stop", "skip"] = "stop"


class SplitError(InputError):
    """A transcript comes back after another: what was already given of it is not whole, so nothing goes on."""


class _Hashing(io.RawIOBase):
    """Passes a binary file through and hashes what is read."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self.digest = hashlib.sha256()
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self.digest.update(data)
        self.count += len(data)
        return len(data)

    def finish(self) -> tuple[str, int]:
        """Read to the end, so that the hash is that of the whole file, and close."""
        while data := self._raw.read(1 << 20):
            self.digest.update(data)
            self.count += len(data)
        self._raw.close()
        return self.digest.hexdigest(), self.count


class SourceFile:
    """One file on its way to transcripts; what a reader is given.

    Attributes:
        path: the file.
        name: the path as shown in messages and kept as provenance.
        stem: the id given to a transcript that has none of its own: the path below the folder common to
            all files read, without endings.
        options: what the user said.
        aliases: further speaker names that a reader's format knows, in lower case.
        companions: other files that were read along (labels, speakers): path, SHA-256, bytes.
        span: the piece of the file that is read; None for all of it.
    """

    def __init__(
        self,
        path: Path,
        stem: str,
        options: ReadOptions,
        skipped: list[BedsideError],
        span: Span | None = None,
    ) -> None:
        self.path = path
        self.span = span
        self.name = shown(path)
        self.stem = stem
        self.options = options
        self.aliases: Mapping[str, Role] = {}
        self.companions: list[tuple[str, str, int]] = []
        self._skipped = skipped
        self._hashing: _Hashing | None = None
        self._roles: dict[str, Role] = {}
        self._value: Any = None

    # -- bytes ------------------------------------------------------------------------------------

    @cached_property
    def packed(self) -> bytes | None:
        """The bytes on disk of a file of at most :data:`WHOLE`, else None."""
        if self.span is not None:
            return None
        try:
            with opened(self.path) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    data = piped(file, WHOLE + 1)
                elif status.st_size > WHOLE:
                    return None
                else:
                    # A read may give less than asked for, and some files of the system say that they are empty.
                    data = file.read(status.st_size or WHOLE + 1) or b""
                    while len(data) != status.st_size and (more := file.read(WHOLE + 1 - len(data))):
                        data += more
        except OSError as error:
            raise InputError(f"can't be read ({error.strerror})", where=self.name, todo="check it") from error
        if len(data) > WHOLE and not stat.S_ISREG(status.st_mode):
            raise InputError("a large input that is no ordinary file", where=self.name, todo="save it first")
        return data if len(data) <= WHOLE else None

    @cached_property
    def whole(self) -> bytes | None:
        """The content, unpacked and without byte order mark, if it is at most :data:`WHOLE`, else None."""
        data = self.packed
        if data is not None and data[:2] == _GZIP:
            data = self.unpacking(gzip.GzipFile(fileobj=io.BytesIO(data)).read, WHOLE + 1)
            if len(data) > WHOLE:
                return None
        return None if data is None else data.removeprefix(_MARK)

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of the content, unpacked and without byte order mark.

        Raises:
            InputError: the file is empty, can't be read or unpacked, or is UTF-16 or no text.
        """
        if self.whole is not None:
            data = self.whole[:HEAD]
        else:
            with self._unpacked(self._raw()) as file:
                data = self.unpacking(file.read, HEAD).removeprefix(_MARK)
        if data[:4] == _ZIP:
            return data
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(
                "UTF-16 text", where=self.name, todo="convert the file, e.g. iconv -f UTF-16 -t UTF-8"
            )
        if not data or data.isspace():
            raise InputError("the file is empty", where=self.name, todo="remove it")
        if b"\x00" in data:
            raise InputError("not a text file", where=self.name, todo="give a transcript file")
        return data

    @cached_property
    def ending(self) -> str:
        """The name's ending in lower case without ``.gz``, e.g. ``.jsonl``."""
        return ending_of(self.name)

    def _raw(self) -> io.FileIO:
        try:
            return opened(self.path)
        except OSError as error:
            raise InputError(f"can't be read ({error.strerror})", where=self.name, todo="check it") from error

    @staticmethod
    def _unpacked(raw: io.RawIOBase | io.BytesIO) -> io.BufferedReader[Any] | _Gunzip:
        buffered = io.BufferedReader(raw, 1 << 18)
        return _Gunzip(buffered) if buffered.peek(2)[:2] == _GZIP else buffered

    def open(self) -> io.BytesIO | io.BufferedReader[Any] | _Gunzip:
        """The content, unpacked and without byte order mark; what passes through is hashed for the manifest."""
        if self.whole is not None:
            return io.BytesIO(self.whole)
        if self.packed is not None:
            file = self._unpacked(io.BytesIO(self.packed))
        elif self.span is not None:
            file = io.BufferedReader(FilePiece(self._raw(), self.span), 1 << 18)
        else:
            self._hashing = _Hashing(self._raw())
            file = self._unpacked(self._hashing)
        if self.unpacking(file.peek, 3)[:3] == _MARK:
            file.read(3)
        return file

    def finish(self) -> tuple[str, int]:
        """SHA-256 and size of the whole file as it stands on disk; closes it. Of a piece it isn't known."""
        if self.span is not None:
            return "", 0
        if self.packed is not None:
            return hashlib.sha256(self.packed).hexdigest(), len(self.packed)
        hashing = self._hashing or _Hashing(self._raw())
        self._hashing = None
        return hashing.finish()

    def unpacking(self, step: Callable[..., bytes], *arguments: Any) -> bytes:
        """``step(*arguments)``, with damage of the file or its gzip packing turned into a message."""
        try:
            return step(*arguments)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                "the gzip file is truncated or damaged", where=self.name, todo="copy or download it again"
            ) from error
        except OSError as error:
            raise InputError(f"can't be read ({error.strerror})", where=self.name, todo="check it") from error

    def companion(self, *parts: str) -> bytes | None:
        """Content of another file that belongs to this one; None where there is no such file.

        Args:
            parts: its path, beginning in the folder of this one.
        """
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), *parts))
        if not os.path.exists(path):
            return None
        other = SourceFile(Path(path), "", self.options, [])
        data = other.whole
        if data is None:
            with other.open() as file:
                data = self.unpacking(file.read, MAX_COMPANION + 1)
                if len(data) > MAX_COMPANION:
                    raise InputError(f"larger than {MAX_COMPANION // 2**20} MB", where=other.name)
        self.companions.append((path, *other.finish()))
        return data

    @property
    def lines_before(self) -> int:
        """What a line's number in the piece that is read lacks to that in the file."""
        return 0 if self.span is None else self.span.lines

    @property
    def values_before(self) -> int:
        """JSON values or rows of the file that precede the piece that is read."""
        return 0 if self.span is None else self.span.values

    def plain_lines(self) -> Iterator[bytes]:
        """The lines as they are on disk, byte order mark and all; what passes through is hashed.

        Raises:
            NotDivisible: the file is packed, or a line is too long.
        """
        self._hashing = _Hashing(self._raw())
        with io.BufferedReader(self._hashing, 1 << 20) as file:
            if file.peek(4)[:2] == _GZIP or file.peek(4)[:4] == _ZIP:
                raise NotDivisible
            while line := self.unpacking(file.readline, MAX_RECORD + 1):
                if len(line) > MAX_RECORD:
                    raise NotDivisible
                yield line

    def lines(self) -> Iterator[tuple[int, bytes | InputError]]:
        """1-based number and bytes of each line that isn't blank; an error in place of a line too long."""
        if self.whole is not None:
            for number, line in enumerate(self.whole.split(b"\n"), 1):
                if line and not line.isspace():
                    yield number, line
            return
        with self.open() as file:
            number = self.lines_before
            while line := self.unpacking(file.readline, MAX_RECORD + 1):
                number += 1
                if len(line) > MAX_RECORD:
                    yield number, self.too_long(number)
                    self.pass_over(line, file)
                elif not line.isspace():
                    yield number, line.removesuffix(b"\n")

    def pass_over(self, line: bytes, file: io.BytesIO | io.BufferedReader[Any] | _Gunzip) -> None:
        """Read what is left of a line that is too long and begins with ``line``.

        Raises:
            InputError: it doesn't end.
        """
        left = LONGEST_LINE
        while line and not line.endswith(b"\n"):
            line = self.unpacking(file.readline, 1 << 20)
            left -= len(line)
            if left < 0:
                raise InputError(
                    f"a line goes on for more than {LONGEST_LINE // 2**20} MB",
                    where=self.name,
                    todo="remove it",
                )

    def too_long(self, number: int) -> InputError:
        """The message for a line over :data:`MAX_RECORD`."""
        return InputError(
            f"the line is longer than {MAX_RECORD // 2**20} MB",
            where=f"{self.name}:{number}",
            todo="put one transcript on a line",
        )

    def undecodable(self, data: bytes, error: UnicodeDecodeError, number: int, of: str = "") -> InputError:
        """The message for text that isn't UTF-8; ``number`` is the line where ``data`` begins."""
        lines = data.count(b"\n", 0, error.start)
        column = error.start - data.rfind(b"\n", 0, error.start)
        return InputError(
            f"not UTF-8 (byte 0x{data[error.start]:02x} at column {column}{'' if lines else of})",
            where=f"{self.name}:{number + lines}",
            todo="convert the file, e.g. iconv -f LATIN1 -t UTF-8",
        )

    # -- JSON -------------------------------------------------------------------------------------

    @cached_property
    def json(self) -> tuple[Form, Any] | None:
        """How the JSON values of the file stand, and the first of them as far as it can be told.

        None where the file is not JSON.
        """
        lined = self.ending in (".jsonl", ".ndjson")
        start = self.whole[:1] if self.whole else b""
        if start not in (b"{", b"["):
            start = self.head.lstrip()[:1]
        if (start not in (b"{", b"[") and not lined) or self.ending in (".csv", ".tsv"):
            return None
        if self.whole is not None:
            try:
                self._value = value = orjson.loads(self.whole)
            except orjson.JSONDecodeError:
                pass
            else:
                if lined and b"\n" not in self.whole.strip():
                    return "lines", value
                if isinstance(value, list):
                    return "array", value[0] if value else None
                return "object", value
        # Not one JSON value, or more than is held. A line or an item that is one tells, even if the first is broken.
        for line in self.head.split(b"\n"):
            if line[:1] == start or lined:
                value = _loaded(line)
                if value and isinstance(value, dict | list):
                    return "lines", value
        if lined or (start == b"{" and b"\n" not in self.head and self.whole is None):
            return "lines", beginning(self.head)
        if start == b"{":
            return "object", beginning(self.head)
        try:
            items = array_items(io.BytesIO(self.head).read, HEAD)
            return "array", next(value for _, item in items if (value := _loaded(item)))
        except (ArrayError, StopIteration):
            first = beginning(self.head)
            return "array", first[0] if isinstance(first, list) and first else None

    def json_values(self) -> Iterator[tuple[str, str, Any]]:
        """Place, id for want of another, and value of each JSON value of the file.

        In place of a value that can't be read stands its :class:`InputError`; what follows goes on where
        the format allows.
        """
        form, _ = self.json or ("object", None)
        if form == "object":
            yield self.name, self.stem, self._object()
        elif form == "lines":
            for position, (number, line) in enumerate(self.lines(), self.values_before):
                value = line if isinstance(line, InputError) else self._parsed(line, number)
                yield f"{self.name}:{number}", f"{self.stem}#{position}", value
        elif self._value is not None:
            for position, value in enumerate(self._value):
                yield f"{self.name} item {position}", f"{self.stem}#{position}", value
        else:
            yield from self._items()

    def _items(self) -> Iterator[tuple[str, str, Any]]:
        position = 0
        with self.open() as file:
            items = array_items(lambda size: self.unpacking(file.read, size), MAX_RECORD)
            try:
                for position, (line, item) in enumerate(items):
                    yield (
                        f"{self.name} item {position}",
                        f"{self.stem}#{position}",
                        self._parsed(item, line, " of the item"),
                    )
            except ArrayError as error:
                where = f"{self.name}:{error.line}"
                yield where, self.stem, InputError(f"not JSON ({error.what})", where=where, todo=_MEND)

    def _object(self) -> Any:
        if self._value is not None:
            return self._value
        data = self.whole
        if data is None:
            with self.open() as file:
                data = self.unpacking(file.read, MAX_RECORD + 1)
            if len(data) > MAX_RECORD:
                return InputError(
                    f"larger than {MAX_RECORD // 2**20} MB and neither a JSON array nor JSON lines",
                    where=self.name,
                    todo="write one transcript a line",
                )
        return self._parsed(data, 1)

    def _parsed(self, text: bytes, number: int, of: str = "") -> Any:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            try:
                text.decode()
            except UnicodeDecodeError as undecodable:
                return self.undecodable(text, undecodable, number, of)
            return InputError(
                f"not JSON ({error.msg} at column {error.colno}{of if error.lineno == 1 else ''})",
                where=f"{self.name}:{number + error.lineno - 1}",
                todo=_MEND,
            )

    def all_items(self) -> list[Any]:
        """All items of a JSON array that is one transcript.

        Raises:
            InputError: one can't be read, or the file is too large for a transcript.
        """
        items = []
        with self.open() as file:
            if len(self.unpacking(file.read, MAX_RECORD + 1)) > MAX_RECORD:
                raise InputError(
                    f"one transcript larger than {MAX_RECORD // 2**20} MB", where=self.name, todo="split it"
                )
        for _, _, item in self.json_values():
            if isinstance(item, InputError):
                raise item
            items.append(item)
        return items

    def json_transcripts(
        self, build: Callable[[SourceFile, Any, str, str], Transcript]
    ) -> Iterator[Transcript]:
        """``build(source, value, place, id)`` of each JSON value; bad ones are left out where so wished."""
        for where, name, value in self.json_values():
            transcript = self.attempt(_built, build, self, value, where, name)
            if transcript is not None:
                yield transcript

    # -- tables -----------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and first rows of a table; None where the file is none."""
        from bedside.transcripts.table_rows import first_rows

        return first_rows(self)

    def table_rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Place (``file:row``) and cells by column name of each row of a CSV, TSV or XLSX file.

        All cells are text; an empty cell is an empty string.

        Raises:
            InputError: a row that can't be read.
        """
        from bedside.transcripts.table_rows import table

        header, rows = table(self)
        for where, row in rows:
            if isinstance(row, InputError):
                raise row
            yield where, dict(zip(header, row, strict=True))

    def column(self, name: str, known: Iterable[str], header: Sequence[str]) -> str | None:
        """The file's column for bedside's ``name``: as mapped by the user, or one of the ``known`` names.

        None where there is none.

        Raises:
            InputError: the user named a column that is not there.
        """
        mapped = self.options.columns.get(name)
        if mapped is not None:
            if mapped in header:
                return mapped
            raise InputError(
                f"there is no column {mapped!r}", where=f"{self.name}:1", todo=f"columns: {', '.join(header)}"
            )
        lowered = {column.casefold(): column for column in reversed(header)}
        return next((lowered[candidate] for candidate in known if candidate in lowered), None)

    def needed(self, name: str, known: Iterable[str], header: Sequence[str]) -> str:
        """As :meth:`column`; an error where there is none lists the columns and shows how to map one."""
        column = self.column(name, known, header)
        if column is None:
            raise InputError(
                f"no column holds the {name}",
                where=f"{self.name}:1",
                todo=f"say which with --columns {name}=NAME; columns: {', '.join(header)}",
            )
        return column

    def grouped(
        self, rows: Iterable[tuple[str, str, int, T] | InputError]
    ) -> Iterator[tuple[str, list[tuple[str, T]]]]:
        """Id and rows of each transcript of a file that has one turn a row.

        A row that can't be read may belong to the transcript before it or to the one after it: where bad
        transcripts are left out, both are.

        Args:
            rows: place, id of the transcript, size in bytes and content of each row.

        Raises:
            InputError: a row that can't be read, or a transcript that is too large.
            SplitError: a transcript's rows don't stand together.
        """
        seen: dict[bytes, str] = {}
        name: str | None = None
        held: list[tuple[str, T]] = []
        size = 0
        spoilt: InputError | None = None
        last: InputError | None = None
        for row in rows:
            if isinstance(row, InputError):
                if self.options.on_error == "stop":
                    raise row
                spoilt = last = row
                continue
            where, own, weight, item = row
            if own != name or not held:
                if held and name is not None and self._sound(name, spoilt):
                    yield name, held
                key = _digest(own)
                if key in seen:
                    raise SplitError(
                        f"the rows of transcript {own!r} don't stand together (it began at {seen[key]})",
                        where=where,
                        todo="sort the file by transcript",
                    )
                seen[key] = where.removeprefix(self.name).lstrip(":")
                name, held, size, spoilt = own, [], 0, last
            last = None
            held.append((where, item))
            size += weight
            if size > MAX_RECORD or len(held) > MAX_TURNS:
                raise SplitError(
                    f"transcript {own!r} is larger than {MAX_RECORD // 2**20} MB or {MAX_TURNS} rows",
                    where=where,
                    todo="see that the right column holds the id",
                )
        if held and name is not None:
            if self._sound(name, spoilt):
                yield name, held
        elif spoilt is not None:
            self._skipped.append(spoilt)

    def _sound(self, name: str, spoilt: InputError | None) -> bool:
        if spoilt is not None:
            self._skipped.append(
                InputError(
                    f"{spoilt.what}, so transcript {name!r} is left out", where=spoilt.where, todo=spoilt.todo
                )
            )
        return spoilt is None

    # -- making turns and transcripts ---------------------------------------------------------------

    def attempt(self, build: Callable[..., T], *arguments: Any) -> T | None:
        """``build(*arguments)``; where bad transcripts are to be skipped, its error is kept and None given."""
        try:
            return build(*arguments)
        except InputError as error:
            if self.options.on_error == "stop" or isinstance(error, SplitError):
                raise
            self._skipped.append(error)
            return None

    def role(self, speaker: Any, where: str) -> Role:
        """The role of a speaker, or an error that shows how to give one."""
        role = self._roles.get(speaker) if type(speaker) is str else None
        if role is None:
            check_speaker(speaker, where)
            role = role_of(speaker, self.options.roles) or self.aliases.get(_plain(speaker))
            if role is None:
                raise InputError(
                    f"unknown speaker {speaker!r}",
                    where=where,
                    todo=f"say who it is with --roles {_quoted(speaker)}=clinician (or patient, or other)",
                )
            self._roles[speaker] = role
        return role

    def turns(
        self,
        speakers: Sequence[Any],
        texts: Sequence[Any],
        where: str | Sequence[str],
        metas: Sequence[Mapping[str, Any]] | None = None,
        roles: Sequence[Role] | None = None,
    ) -> list[Turn]:
        """Checked turns of speakers and texts, and of what else is known of each where given.

        Args:
            where: the place of the transcript, or the places of the turns.
            roles: of the turns, where the speakers' names don't tell them.

        Raises:
            InputError: a speaker is unknown, or a text is missing, empty or not text.
        """
        # Whole lists are checked at once, for this is most of what reading a corpus costs; what is wrong is
        # looked for only where something is.
        try:
            sound = all(texts) and not any(map(str.isspace, texts))
        except TypeError:
            sound = False
        if not sound:
            for index, text in enumerate(texts):
                check_text(text, _place(where, index))
        if roles is not None:
            for index, speaker in enumerate(speakers):
                check_speaker(speaker, _place(where, index))
            return new_turns(roles, speakers, texts, metas)
        try:
            roles = [self._roles[speaker] for speaker in speakers]
        except (KeyError, TypeError):
            roles = [self.role(speaker, _place(where, index)) for index, speaker in enumerate(speakers)]
        return new_turns(roles, speakers, texts, metas)

    def transcript(
        self,
        turns: Sequence[Turn],
        where: str,
        *,
        id: Any = None,
        system: Any = None,
        case_id: Any = None,
        language: Any = None,
        factors: Mapping[str, Any] | None = None,
        reference: Mapping[str, Any] | None = None,
    ) -> Transcript:
        """A checked transcript; fields of ``path_fields`` are filled in where the file has none.

        Raises:
            InputError: no turns, turns of one role only, a name that is no text, a factor that is not a
                single value, a language that is no tag.
        """
        if not turns:
            raise InputError("the transcript has no turns", where=where, todo="remove it")
        if len(turns) > MAX_TURNS:
            raise InputError(
                f"the transcript has {len(turns):,} turns, more than {MAX_TURNS:,}",
                where=where,
                todo="split it",
            )
        roles = [turn.role for turn in turns]
        for role in ("clinician", "patient"):
            if role not in roles:
                there = " and ".join(sorted(set(roles)))
                raise InputError(
                    f"the transcript has no {role}, only {there}",
                    where=where,
                    todo="a conversation needs a clinician and a patient; map speakers with --roles",
                )
        pattern = self.options.path_fields
        fields = {} if pattern is None else path_values(self.path, pattern)
        names = {"id": self.stem if id is None or id == "" else id, "system": system, "case_id": case_id}
        for key, value in names.items():
            if value is None or value == "":
                names[key] = fields.pop(key, None)
            elif type(value) is int:
                names[key] = str(value)
            elif type(value) is not str:
                raise InputError(
                    f"{key!r} is not text but {kind(value)}", where=where, todo="make it a string"
                )
        if language is not None and not is_language(language):
            raise InputError(
                f"the language {language!r:.40} is no language tag",
                where=where,
                todo="write it as en or zh-CN",
            )
        factors = {**fields, **(factors or {})}
        for key, value in factors.items():
            if not isinstance(value, Scalar):
                raise InputError(
                    f"the factor {key!r} is not a single value but {kind(value)}",
                    where=where,
                    todo="put lists and objects in 'reference'",
                )
        if reference:
            self.kept(reference, where)
        return Transcript(
            id=names["id"],
            turns=tuple(turns),
            system=names["system"],
            case_id=names["case_id"],
            language=language,
            factors=factors,
            reference=reference or {},
            source=where,
        )

    def kept(self, value: Any, where: str, depth: int = MAX_DEPTH) -> None:
        """Check that what is kept beside the turns is not nested too deeply to be written again."""
        if depth == 0:
            raise InputError(f"nested deeper than {MAX_DEPTH} levels", where=where, todo="flatten it")
        for part in value.values() if isinstance(value, dict) else value:
            if isinstance(part, dict | list):
                self.kept(part, where, depth - 1)


_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_MARK = b"\xef\xbb\xbf"
_MEND = "mend or remove it"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")


class _Gunzip(gzip.GzipFile):
    """A gzip file that closes what it reads from, as :func:`open` does."""

    def __init__(self, packed: io.BufferedReader[Any]) -> None:
        super().__init__(fileobj=packed)
        self._packed = packed

    def close(self) -> None:
        super().close()
        self._packed.close()


def _loaded(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _built(
    build: Callable[[SourceFile, Any, str, str], Transcript],
    source: SourceFile,
    value: Any,
    where: str,
    name: str,
) -> Transcript:
    if isinstance(value, InputError):
        raise value
    return build(source, value, where, name)


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8"), digest_size=12).digest()


def _plain(speaker: str) -> str:
    return speaker.strip().rstrip(":：").strip().casefold()


def _place(where: str | Sequence[str], index: int) -> str:
    return f"{where}, turn {index}" if isinstance(where, str) else where[index]


def check_speaker(speaker: Any, where: str) -> None:
    """An error for a turn's speaker that is missing, empty or not text."""
    if isinstance(speaker, str) and speaker.strip():
        return
    what = "the turn has no speaker"
    if not isinstance(speaker, str | None):
        what = f"the speaker is not text but {kind(speaker)}"
    raise InputError(what, where=where, todo="say who speaks, as a string")


def check_text(text: Any, where: str) -> None:
    """An error for a turn's text that is missing, empty or not text."""
    if isinstance(text, str) and text and not text.isspace():
        return
    what = "the turn has no text"
    if not isinstance(text, str | None):
        what = f"the text is not text but {kind(text)}"
    raise InputError(what, where=where, todo="give its text as a string, or remove the turn")


def _quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"\W", name) else name


def kind(value: Any) -> str:
    """What a JSON value is, in words, for messages."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return {"list": "a list", "dict": "an object", "NoneType": "null"}.get(type(value).__name__, "a string")


def is_language(value: Any) -> bool:
    """Whether a value looks like a BCP 47 tag."""
    return isinstance(value, str) and _LANGUAGE.fullmatch(value) is not None


def number_or_text(text: str) -> str | int | float:
    """A number written plainly (20, -0.5) as a number; anything else, such as 007 or 1e3, as it stands."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    return float(text) if match[2] else int(text)


def shown(path: str | Path) -> str:
    """The path as text that can be printed, whatever bytes its name is made of."""
    text = str(path)
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def ending_of(name: str) -> str:
    """The ending of a file's name in lower case without ``.gz``, e.g. ``.jsonl``."""
    return os.path.splitext(name.lower().removesuffix(".gz"))[1]


def without_endings(path: str) -> str:
    """The path without ``.gz`` and without its format's ending."""
    if path.lower().endswith(".gz"):
        path = path[:-3]
    stem, ending = os.path.splitext(path)
    return stem if ending.lower() in ENDINGS else path


@lru_cache(maxsize=8)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    expression = "".join(
        re.escape(part) if position % 2 == 0 else f"(?P<{part}>[^/]+?)" for position, part in enumerate(parts)
    )
    try:
        return re.compile(rf"(?:^|/){expression}$")
    except re.error as error:
        raise InputError(
            f"--path-fields {pattern} is no pattern ({error})", todo="write it as {system}/{case_id}"
        ) from error


def path_values(path: Path, pattern: str) -> dict[str, Any]:
    """What the path says of its transcripts by the user's pattern.

    Raises:
        InputError: the path does not match, or the pattern is none.
    """
    text = shown(without_endings(str(path)))
    match = _path_pattern(pattern).search(text.replace(os.sep, "/"))
    if match is None:
        raise InputError(
            f"the path does not match --path-fields {pattern}",
            where=shown(path),
            todo="give a pattern for the end of the path, such as {system}/{case_id}",
        )
    return {
        key: value if key in ("system", "case_id") else number_or_text(value)
        for key, value in match.groupdict().items()
    }
