"""The JSON values of one file: one a line, as items of an array, or one alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from bedside.support.errors import InputError
from bedside.transcripts.byte_source import HEAD_SIZE, MAX_RECORD, ByteSource
from bedside.transcripts.json_pieces import ArrayError, array_items, beginning
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.spans import Divider, NotDivisible, Owners, Span

#: Longest text that may be a name, such as of a role, in characters.
_MARK = 12
_MEND = "mend or remove it"

#: How the JSON values of a file stand: one a line, as items of an array, or one alone.
Form = Literal["lines", "array", "object"]


class JsonContent(NamedTuple):
    """What is known of a file of JSON without reading all of it.

    Attributes:
        form: how its values stand.
        first: the first of them, as far as it can be told.
    """

    form: Form
    first: Any


class JsonSource(ByteSource):
    """The JSON values of one file.

    Args:
        path: the file.
        stem: what the ids of its values begin with.
        span: the piece of the file to read; None for all of it.
        options: what the user said of the file.
    """

    def __init__(
        self, path: Path, stem: str, span: Span | None = None, options: ReadOptions | None = None
    ) -> None:
        super().__init__(path, span, options)
        self.stem = stem
        self._value: Any = None

    @cached_property
    def json(self) -> JsonContent | None:
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
                    return JsonContent("lines", value)
                if isinstance(value, list):
                    return JsonContent("array", value[0] if value else None)
                return JsonContent("object", value)
        # Not one JSON value, or more than is held. A line or an item that is one tells, even if the first is broken.
        for line in self.head.split(b"\n"):
            if line[:1] == start or lined:
                value = _loaded(line)
                if value and isinstance(value, dict | list):
                    return JsonContent("lines", value)
        if lined or (start == b"{" and b"\n" not in self.head and self.whole is None):
            return JsonContent("lines", beginning(self.head))
        if start == b"{":
            return JsonContent("object", beginning(self.head))
        try:
            items = array_items(io.BytesIO(self.head).read, HEAD_SIZE)
            return JsonContent("array", next(value for _, item in items if (value := _loaded(item))))
        except (ArrayError, StopIteration):
            first = beginning(self.head)
            return JsonContent("array", first[0] if isinstance(first, list) and first else None)

    def json_values(self) -> Iterator[tuple[str, str, Any]]:
        """Place, id for want of another, and value of each JSON value of the file.

        In place of a value that can't be read stands its :class:`InputError`; what follows goes on where
        the format allows.
        """
        form, _ = self.json or ("object", None)
        if form == "object":
            yield self.name, self.stem, self._without_left_out(self._object(), self.name)
        elif form == "lines":
            for position, (number, line) in enumerate(self.lines(), self.values_before):
                value = line if isinstance(line, InputError) else self._parsed(line, number)
                yield (
                    f"{self.name}:{number}",
                    f"{self.stem}#{position}",
                    self._without_left_out(value, f"{self.name}:{number}"),
                )
        elif self._value is not None:
            for position, value in enumerate(self._value):
                where = f"{self.name} item {position}"
                yield where, f"{self.stem}#{position}", self._without_left_out(value, where)
        else:
            yield from self._items()

    def _items(self) -> Iterator[tuple[str, str, Any]]:
        position = 0
        with self.open() as file:
            items = array_items(lambda size: self.unpacking(file.read, size), MAX_RECORD)
            try:
                for position, (line, item) in enumerate(items):
                    where = f"{self.name} item {position}"
                    value = self._parsed(item, line, " of the item")
                    yield where, f"{self.stem}#{position}", self._without_left_out(value, where)
            except ArrayError as error:
                where = f"{self.name}:{error.line}"
                yield where, self.stem, InputError(f"not JSON ({error.what})", where=where, todo=_MEND)

    def _without_left_out(self, value: Any, where: str, path: str = "") -> Any:
        """A value without the keys that the user left out, whose texts are counted."""
        if not self.options.leave_out or not isinstance(value, dict | list):
            return value
        if isinstance(value, list):
            return [self._without_left_out(part, where, path) for part in value]
        kept = {}
        for key, part in value.items():
            below = f"{path}.{key}" if path else key
            if not self.options.leaves_out(key) and not self.options.leaves_out(below):
                kept[key] = self._without_left_out(part, where, below)
                continue
            for text in _texts(part):
                self.account.note_unread(below, text, where)
        return kept

    def _object(self) -> Any:
        if self._value is not None:
            return self._value
        data = self.whole
        if data is None:
            with self.open() as file:
                data = self.unpacking(file.read, MAX_RECORD + 1)
            if len(data) > MAX_RECORD:
                return InputError(
                    f"the file is larger than {MAX_RECORD // 2**20} MB and neither a JSON array nor JSON lines",
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
                    f"the transcript is larger than {MAX_RECORD // 2**20} MB",
                    where=self.name,
                    todo="split it",
                )
        for _, _, item in self.json_values():
            if isinstance(item, InputError):
                raise item
            items.append(item)
        return items


def _texts(value: Any) -> Iterator[str]:
    """All texts within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _repeats(before: bytes, line: bytes) -> bool:
    """Whether a line of JSON says most of what the line before says."""
    said, again = ({text for text in _texts(_loaded(each)) if len(text) > _MARK} for each in (before, line))
    return 2 * len(said & again) > len(said)


def _loaded(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def line_spans(
    source: JsonSource,
    size: int,
    owner: Callable[[bytes], str | None] | None = None,
    *,
    growing: bool = False,
) -> list[Span]:
    """Pieces of a file of JSON lines; none where it isn't one.

    Args:
        source: the file.
        size: of a piece, in bytes.
        owner: the id of the transcript a line belongs to, where a transcript is of several lines; None for a line that
            can't be read.
        growing: whether a line that repeats the one before may be of the same transcript.
    """
    if source.json is None or source.json.form != "lines":
        return []
    divider, owners = Divider(size), Owners()
    offset = values = 0
    last = b""
    for lines, line in enumerate(source.plain_lines()):
        if not line.isspace():
            if owner is None:
                if not (growing and divider.is_due(offset) and _repeats(last, line)):
                    divider.here(offset, lines, values)
                last = line
            else:
                name = owner(line)
                if name is None:
                    raise NotDivisible
                if owners.changes(name):
                    divider.here(offset, lines, values)
            values += 1
        offset += len(line)
    return divider.spans(offset)
