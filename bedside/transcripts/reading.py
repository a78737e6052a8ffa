"""From paths to transcripts: finds files, recognises their format by content, streams, checks.

One :class:`Reading` is one pass over the given paths. It yields transcripts one by one, so memory holds
one transcript and the ids seen, whatever the size of the files.
"""

from __future__ import annotations

import csv
import glob
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import orjson

from bedside.errors import BedsideError, InputError
from bedside.registry import Registry
from bedside.transcripts.model import Role, Transcript, Turn, role_of

T = TypeVar("T")

#: Longest single record (a JSONL line, a CSV field, an item of a JSON array), in bytes.
MAX_RECORD = 64 * 1024 * 1024
#: A JSON file up to this many bytes is parsed at once, a larger one item by item.
WHOLE_JSON = 16 * 1024 * 1024
#: How much of a file is looked at to recognise its format, in bytes.
HEAD = 64 * 1024
#: File name endings looked at in a folder; each may be followed by ``.gz``.
ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx")


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


@dataclass(frozen=True, slots=True)
class Head:
    """What a reader sees of a file to say whether it is its own.

    Attributes:
        path: the file.
        ending: its name's ending in lower case without ``.gz``, e.g. ``.jsonl``.
        text: the first 64 KiB as text, without byte order mark; empty for a workbook.
        first: the first JSON value where the text begins with one that is complete (for an array its
            first item, for JSON lines the first line), else None.
        is_array: whether the text begins a JSON array.
    """

    path: Path
    ending: str
    text: str
    first: Any
    is_array: bool


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


class _Hashing(io.RawIOBase):
    """Passes a binary file through and hashes what is read."""

    def __init__(self, raw: IO[bytes]) -> None:
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

    def drain(self) -> None:
        """Read to the end, so that the hash is that of the whole file."""
        while data := self._raw.read(1 << 20):
            self.digest.update(data)
            self.count += len(data)


class Source:
    """One file on its way to transcripts; what a reader is given.

    Attributes:
        path: the file.
        name: the path as shown in messages and kept as provenance.
        stem: the id given to a transcript that has none of its own: the path below the folder common to
            all files read, without endings.
        options: what the user said.
        companions: other files that were read along (labels, speakers), as paths.
    """

    def __init__(self, path: Path, stem: str, options: ReadOptions, skipped: list[BedsideError]) -> None:
        self.path = path
        self.name = str(path)
        self.stem = stem
        self.options = options
        self.companions: list[Path] = []
        self._skipped = skipped
        self._hashing: _Hashing | None = None
        self._roles: dict[str, Role] = {}

    # -- bytes and text ---------------------------------------------------------------------------

    def open(self) -> IO[bytes]:
        """The file's bytes, unpacked where gzipped; what passes through is hashed for the manifest."""
        self._hashing = _Hashing(self.path.open("rb"))
        buffered = io.BufferedReader(self._hashing, 1 << 18)
        if buffered.peek(2)[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=buffered)
        return buffered

    def finish(self) -> tuple[str, int]:
        """SHA-256 and size of the whole file as it stands on disk."""
        if self._hashing is None:
            self.open()
        assert self._hashing is not None
        self._hashing.drain()
        return self._hashing.digest.hexdigest(), self._hashing.count

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """1-based number and bytes of each line that isn't blank, without byte order mark.

        Raises:
            InputError: a line over :data:`MAX_RECORD`, or a gzip file that ends early.
        """
        with self.open() as file:
            number = 0
            while True:
                line = self.unpacking(lambda: file.readline(MAX_RECORD + 1), number + 1)
                if not line:
                    return
                number += 1
                if len(line) > MAX_RECORD:
                    raise InputError(
                        f"line is longer than {MAX_RECORD // 2**20} MB",
                        where=f"{self.name}:{number}",
                        todo="put one transcript on a line",
                    )
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield number, line

    def text_stream(self) -> Iterator[str]:
        """The lines of the file as text with line ends kept, checked to be UTF-8."""
        number = 0
        with self.open() as file:
            while line := self.unpacking(lambda: file.readline(MAX_RECORD + 1), number + 1):
                number += 1
                if len(line) > MAX_RECORD:
                    raise InputError(
                        f"line is longer than {MAX_RECORD // 2**20} MB", where=f"{self.name}:{number}"
                    )
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield self.decode(line, number)

    def unpacking(self, step: Callable[[], T], number: int | None = None) -> T:
        """Run one read, turning damage of a gzip file into a message."""
        try:
            return step()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            where = self.name if number is None else f"{self.name}:{number}"
            raise InputError(
                "the gzip file is truncated or damaged",
                where=where,
                todo="copy or download it again",
            ) from error

    def decode(self, data: bytes, number: int) -> str:
        """Line ``number`` as text; an error that names the byte where it isn't UTF-8."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"not UTF-8 (byte 0x{data[error.start]:02x} at column {error.start + 1})",
                where=f"{self.name}:{number}",
                todo="convert the file, e.g. iconv -f LATIN1 -t UTF-8",
            ) from error

    # -- JSON -------------------------------------------------------------------------------------

    def json_lines(self) -> Iterator[tuple[str, Any]]:
        """Place (``file:line``) and value of each line of a JSON-lines file."""
        for number, line in self.lines():
            where = f"{self.name}:{number}"
            value = self.attempt(self._parse, line, where, number)
            if value is not None:
                yield where, value

    def _parse(self, line: bytes, where: str, number: int) -> Any:
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            self.decode(line, number)
            raise InputError(f"not JSON ({_reason(error)})", where=where, todo="mend or remove it") from error

    def json_items(self) -> Iterator[tuple[str, Any]]:
        """Place and value of each item of a JSON file: of a top-level array, or the one top-level value.

        A small file is parsed at once; of a larger one only an array is read, item by item.
        """
        if self._unpacked_size_over(WHOLE_JSON):
            yield from self._streamed_items()
            return
        with self.open() as file:
            data = self.unpacking(file.read)
        data = data.removeprefix(b"\xef\xbb\xbf")
        if not data.strip():
            return
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            number = data.count(b"\n", 0, error.pos) + 1
            for line_number, line in enumerate(data.split(b"\n"), 1):
                self.decode(line, line_number)
            raise InputError(f"not JSON ({_reason(error)})", where=f"{self.name}:{number}") from error
        if isinstance(value, list):
            for position, item in enumerate(value):
                yield f"{self.name} item {position}", item
        else:
            yield self.name, value

    def _unpacked_size_over(self, limit: int) -> bool:
        if not self.path.name.lower().endswith(".gz"):
            return self.path.stat().st_size > limit
        with self.open() as file:
            return len(self.unpacking(lambda: file.read(limit + 1))) > limit

    def _streamed_items(self) -> Iterator[tuple[str, Any]]:
        import ijson

        with self.open() as file:
            position = -1
            items = ijson.items(file, "item", use_float=True)
            while True:
                where = f"{self.name} item {position + 1}"
                try:
                    item = self.unpacking(lambda: next(items, _END))
                except ijson.JSONError as error:
                    raise InputError(
                        f"not JSON ({' '.join(str(error).split())[:80]})", where=where
                    ) from error
                except UnicodeDecodeError as error:
                    raise InputError("not UTF-8", where=where, todo="convert the file to UTF-8") from error
                if item is _END:
                    break
                position += 1
                yield where, item
            if position < 0:
                raise InputError(
                    f"larger than {WHOLE_JSON // 2**20} MB and not a JSON array of transcripts",
                    where=self.name,
                    todo="write it as JSON lines, one transcript a line",
                )

    # -- tables -----------------------------------------------------------------------------------

    def table_rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Place (``file:row``) and cells by column name of each row of a CSV, TSV or XLSX file.

        All cells are text; an empty cell is an empty string.
        """
        if _ending(self.path) == ".xlsx":
            yield from self._workbook_rows()
            return
        csv.field_size_limit(MAX_RECORD)
        delimiter = "\t" if _ending(self.path) == ".tsv" else ","
        reader = csv.reader(self.text_stream(), delimiter=delimiter, strict=True)
        header: list[str] | None = None
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise InputError(
                    f"not a readable table ({error})", where=f"{self.name}:{reader.line_num}"
                ) from error
            if row is None:
                return
            if not any(row):
                continue
            where = f"{self.name}:{reader.line_num}"
            if header is None:
                header = self._header(row, where)
                continue
            if len(row) != len(header):
                raise InputError(
                    f"{len(row)} cells where the header has {len(header)}",
                    where=where,
                    todo="quote cells that hold commas or line breaks",
                )
            yield where, dict(zip(header, row, strict=True))

    def _header(self, row: Sequence[str], where: str) -> list[str]:
        names = [name.strip() for name in row]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise InputError(f"column {doubled[0]!r} stands twice in the header", where=where)
        return names

    def _workbook_rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        import zipfile

        import openpyxl

        try:
            book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
        except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
            raise InputError("not a readable XLSX workbook", where=self.name, todo="save it again") from error
        try:
            header: list[str] | None = None
            for number, cells in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
                row = ["" if cell is None else str(cell) for cell in cells]
                where = f"{self.name}:{number}"
                if not any(row):
                    continue
                if header is None:
                    header = self._header(row, where)
                    continue
                yield where, dict(zip(header, row, strict=False))
        finally:
            book.close()

    def column(self, name: str, known: Iterable[str], header: Iterable[str], where: str) -> str:
        """The file's column for bedside's ``name``: as mapped by the user, or one of the ``known`` names.

        Raises:
            InputError: there is none; the message lists the columns and shows how to map one.
        """
        columns = list(header)
        mapped = self.options.columns.get(name)
        if mapped is not None:
            if mapped in columns:
                return mapped
            raise InputError(
                f"there is no column {mapped!r}", where=where, todo=f"columns: {', '.join(columns)}"
            )
        lowered = {column.casefold(): column for column in columns}
        for candidate in known:
            if candidate in lowered:
                return lowered[candidate]
        raise InputError(
            f"no column holds the {name}",
            where=where,
            todo=f"say which with --columns {name}=NAME; columns: {', '.join(columns)}",
        )

    # -- making turns and transcripts ---------------------------------------------------------------

    def attempt(self, build: Callable[..., T], *arguments: Any) -> T | None:
        """``build(*arguments)``; where bad transcripts are to be skipped, its error is kept and None given."""
        try:
            return build(*arguments)
        except InputError as error:
            if self.options.on_error == "stop":
                raise
            self._skipped.append(error)
            return None

    def role(self, speaker: str, where: str) -> Role:
        """The role of a speaker, or an error that shows how to give one."""
        role = self._roles.get(speaker)
        if role is None:
            role = role_of(speaker, self.options.roles)
            if role is None:
                raise InputError(
                    f"unknown speaker {speaker!r}",
                    where=where,
                    todo=f"say who it is with --roles {_quoted(speaker)}=clinician (or patient, or other)",
                )
            self._roles[speaker] = role
        return role

    def turn(
        self, index: int, speaker: Any, text: Any, where: str, meta: Mapping[str, Any] | None = None
    ) -> Turn:
        """A checked turn.

        Raises:
            InputError: the speaker is unknown, or the text is missing, empty or not text.
        """
        if not isinstance(speaker, str) or not speaker.strip():
            raise InputError("the turn has no speaker", where=f"{where}, turn {index}")
        if not isinstance(text, str):
            what = "the turn has no text" if text is None else f"the text is not text but {_kind(text)}"
            raise InputError(what, where=f"{where}, turn {index}", todo="give its text as a string")
        if not text or text.isspace():
            raise InputError("the turn has no text", where=f"{where}, turn {index}", todo="remove or fill it")
        role = self._roles.get(speaker) or self.role(speaker, f"{where}, turn {index}")
        return Turn(index, role, speaker, text, meta if meta is not None else {})

    def transcript(
        self,
        turns: Sequence[Turn],
        where: str,
        *,
        id: Any = None,
        system: Any = None,
        case_id: Any = None,
        language: str | None = None,
        factors: Mapping[str, Any] | None = None,
        reference: Mapping[str, Any] | None = None,
    ) -> Transcript:
        """A checked transcript; fields of ``path_fields`` are filled in where the file has none.

        Raises:
            InputError: no turns, turns of one role only, or an id that is no text.
        """
        if not turns:
            raise InputError("the transcript has no turns", where=where, todo="remove it")
        roles = {turn.role for turn in turns}
        if "clinician" not in roles or "patient" not in roles:
            only = "clinician" if "clinician" in roles else "patient" if "patient" in roles else "other"
            raise InputError(
                f"the transcript has turns of one role only ({only})",
                where=where,
                todo="a conversation needs a clinician and a patient; map speakers with --roles",
            )
        fields = self._path_values()
        values = {"system": system, "case_id": case_id}
        for key in values:
            if values[key] is None:
                values[key] = fields.pop(key, None)
            values[key] = None if values[key] is None else str(values[key])
        name = self.stem if id is None or id == "" else id
        if not isinstance(name, str | int):
            raise InputError(f"the id is not text but {_kind(name)}", where=where)
        result = Transcript(
            id=str(name),
            turns=tuple(turns),
            system=values["system"],
            case_id=values["case_id"],
            language=language,
            factors={**fields, **(factors or {})},
            reference=reference or {},
            source=where,
        )
        return result

    def _path_values(self) -> dict[str, Any]:
        pattern = self.options.path_fields
        if pattern is None:
            return {}
        parts = re.split(r"\{(\w+)\}", pattern)
        expression = "".join(
            re.escape(part) if position % 2 == 0 else f"(?P<{part}>[^/]+?)"
            for position, part in enumerate(parts)
        )
        match = re.search(rf"(?:^|/){expression}$", without_endings(self.path).as_posix())
        if match is None:
            raise InputError(
                f"the path does not match --path-fields {pattern}",
                where=self.name,
                todo="give a pattern for the end of the path, such as {system}/{case_id}",
            )
        return dict(match.groupdict())


_END: Any = object()


def _quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"\W", name) else name


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return {"list": "a list", "dict": "an object", "NoneType": "null"}.get(
        type(value).__name__, "another value"
    )


def _reason(error: orjson.JSONDecodeError) -> str:
    return error.msg


def _ending(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def without_endings(path: Path) -> Path:
    """The path without ``.gz`` and without its format's ending."""
    name = path.name
    if name.lower().endswith(".gz"):
        name = name[:-3]
    for ending in ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
            break
    return path.with_name(name or path.name)


def look(path: Path) -> Head:
    """The head of a file, for readers to recognise it by.

    Raises:
        InputError: the file is empty, truncated, or not UTF-8 text.
    """
    ending = _ending(path)
    try:
        with path.open("rb") as raw:
            start = raw.read(4)
            raw.seek(0)
            file: IO[bytes] = gzip.GzipFile(fileobj=raw) if start[:2] == b"\x1f\x8b" else raw
            data = file.read(HEAD)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            "the gzip file is truncated or damaged", where=str(path), todo="copy or download it again"
        ) from error
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", where=str(path)) from error
    if data[:4] == b"PK\x03\x04":
        return Head(path, ending, "", None, False)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("UTF-16 text", where=str(path), todo="save the file as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise InputError("the file is empty", where=str(path), todo="remove it")
    if b"\x00" in data:
        raise InputError("not a text file", where=str(path), todo="give a transcript file")
    text = data.decode("utf-8", errors="replace")
    first, is_array = _first_value(text)
    return Head(path, ending, text, first, is_array)


def _first_value(text: str) -> tuple[Any, bool]:
    import json

    body = text.lstrip()
    is_array = body.startswith("[")
    if is_array:
        body = body[1:].lstrip()
    if body[:1] not in ("{", "["):
        return None, is_array
    try:
        return json.JSONDecoder().raw_decode(body)[0], is_array
    except (ValueError, RecursionError):
        return None, is_array


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
        self._readers: list[Reader] | None = None
        if self.options.format is not None:
            READERS.load(self.options.format)
        self.files = self._find(paths)
        folders = {path.parent for path in self.files}
        self._root = Path(os.path.commonpath(folders)) if folders else Path()
        self._seen: dict[bytes, tuple[int, str]] = {}

    def _find(self, paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
        found: dict[Path, None] = {}
        for given in paths:
            path = Path(given)
            if path.is_dir():
                inside = sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p, path))
                chosen = [p for p in inside if _ending(p) in ENDINGS]
                self.ignored += [p for p in inside if _ending(p) not in ENDINGS]
                if not chosen:
                    raise InputError(
                        "the folder holds no transcript file",
                        where=str(given),
                        todo=f"transcript files end in {', '.join(ENDINGS)} (or those with .gz)",
                    )
            elif path.exists():
                chosen = [path]
            else:
                chosen = [Path(p) for p in sorted(glob.glob(str(given), recursive=True)) if Path(p).is_file()]
                if not chosen:
                    raise InputError("there is no such file", where=str(given))
            found.update(dict.fromkeys(chosen))
        if not found:
            raise InputError("no files were given", todo="name files, folders or patterns")
        return list(found)

    def __iter__(self) -> Iterator[Transcript]:
        for path in self.files:
            try:
                yield from self._file(path)
            except InputError as error:
                if self.options.on_error == "stop":
                    raise
                self.skipped.append(error)
        if not any(file.transcripts for file in self.inputs) and not self.skipped:
            raise InputError("none of the files holds a transcript", where=str(self._root))

    def _file(self, path: Path) -> Iterator[Transcript]:
        head = look(path)
        reader, role = self._recognise(head)
        if role == "companion":
            return
        stem = without_endings(path).relative_to(self._root).as_posix()
        source = Source(path, stem, self.options, self.skipped)
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
        for companion in source.companions:
            data = companion.read_bytes()
            self.inputs.append(
                InputFile(
                    str(companion), f"{reader.name} (companion)", hashlib.sha256(data).hexdigest(), len(data)
                )
            )
        if not record.transcripts and not record.skipped:
            raise InputError("the file holds no transcript", where=source.name)

    def _admit(self, transcript: Transcript, number: int) -> bool:
        key = hashlib.blake2b(transcript.id.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        here = transcript.source.removeprefix(self.inputs[number].path)
        if key in self._seen:
            file, place = self._seen[key]
            raise InputError(
                f"two transcripts have the id {transcript.id!r}",
                where=f"{self.inputs[file].path}{place} and {transcript.source}",
                todo="give each its own id",
            )
        self._seen[key] = (number, here)
        return True

    def _recognise(self, head: Head) -> tuple[Reader, str]:
        if self._readers is None:
            self._readers = sorted(READERS.all().values(), key=lambda reader: reader.priority)
        claims = [(reader, reader.claims(head)) for reader in self._readers]
        companion = next((r for r, claim in claims if claim == "companion"), None)
        if companion is not None:
            return companion, "companion"
        if self.options.format is not None:
            return READERS.load(self.options.format), "transcripts"
        for reader, claim in claims:
            if claim == "transcripts":
                return reader, "transcripts"
        raise InputError(
            "not a transcript format that bedside knows",
            where=str(head.path),
            todo="see bedside readers, or force one with --format",
        )


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


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
