"""The JSON values of one file: one a line, as items of an array, or one alone; of one too large to hold, in pieces."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from bedside.core.errors import InputError
from bedside.core.files import not_json
from bedside.transcripts.byte_source import HEAD_SIZE, MAX_RECORD, ByteSource
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.spans import Divider, NotDivisible, Owners, Span

#: Longest text that may be a name, such as of a role, in characters.
_LONGEST_NAME = 12
_MEND = "mend or remove it"

# In text whose escaped quotes are masked: an object that holds no other (its brackets cancel out, and most
# of a transcript is of such objects), a string (its closing quote may lie beyond what was read), or a mark
# of structure. The possessive repeats keep no way back, so long strings cost no memory.
_TOKEN = re.compile(
    rb"""\{(?:\s*+"[^"]*+"\s*+:\s*+(?:"[^"]*+"|[^"\[\]{},]++),?+\s*+)*+\}"""
    rb"""|"[^"]*+("?)|[\[\]{},]"""
)
_MARK = re.compile(rb'"[^"]*+("?)|[\[\]{},]')
_OPEN = {b"{": b"}", b"[": b"]"}
#: Brackets that may be open at once: far more than any parser takes, few enough to be counted at once.
_DEEPEST = 1 << 16

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

    def __init__(self, path: Path, stem: str, span: Span | None = None, options: ReadOptions | None = None) -> None:
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
                value = loaded(line)
                if value and isinstance(value, dict | list):
                    return JsonContent("lines", value)
        if lined or (start == b"{" and b"\n" not in self.head and self.whole is None):
            return JsonContent("lines", beginning(self.head))
        if start == b"{":
            return JsonContent("object", beginning(self.head))
        try:
            items = array_items(io.BytesIO(self.head).read, HEAD_SIZE)
            return JsonContent("array", next(value for _, item in items if (value := loaded(item))))
        except (ArrayError, StopIteration):
            first = beginning(self.head)
            return JsonContent("array", first[0] if isinstance(first, list) and first else None)

    def json_values(self) -> Iterator[tuple[str, str, Any]]:
        """Place, id for want of another, and value of each JSON value of the file.

        In place of a value that can't be read stands its :class:`InputError`; what follows goes on where
        the format allows.
        """
        values = self._values()
        if not self.options.leave_out:
            return values
        return ((where, name, self._without_left_out(value, where)) for where, name, value in values)

    def _values(self) -> Iterator[tuple[str, str, Any]]:
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
            with self.open() as file:
                items = array_items(lambda size: self.unpacking(file.read, size), MAX_RECORD)
                try:
                    for position, (begun, item) in enumerate(items):
                        value = self._parsed(item, begun, " of the item")
                        yield f"{self.name} item {position}", f"{self.stem}#{position}", value
                except ArrayError as error:
                    where = f"{self.name}:{error.line}"
                    yield where, self.stem, InputError(f"not JSON ({error.what})", where=where, todo=_MEND)

    def _without_left_out(self, value: Any, where: str, path: str = "") -> Any:
        """A value without the keys that the user left out, whose texts are counted."""
        if not isinstance(value, dict | list):
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
                return self.undecodable(undecodable, number, of)
            return not_json(error, self.name, number, at=of, kind=InputError)

    def all_items(self) -> list[Any]:
        """All items of a JSON array that is one transcript.

        Raises:
            InputError: one can't be read, or the file is too large for a transcript.
        """
        items = []
        with self.open() as file:
            if len(self.unpacking(file.read, MAX_RECORD + 1)) > MAX_RECORD:
                raise InputError(
                    f"the transcript is larger than {MAX_RECORD // 2**20} MB", where=self.name, todo="split it"
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
    said, again = ({text for text in _texts(loaded(each)) if len(text) > _LONGEST_NAME} for each in (before, line))
    return 2 * len(said & again) > len(said)


def loaded(text: bytes) -> Any:
    """The JSON value that a text is; None where it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def line_spans(
    source: JsonSource, size: int, owner: Callable[[bytes], str | None] | None = None, *, growing: bool = False
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


# -- pieces of JSON text ----------------------------------------------------------------------------------


def _masked(text: bytes) -> bytes:
    return text.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")


class ArrayError(Exception):
    """The text is not a JSON array, or one of its items is too long or too deep."""

    def __init__(self, what: str, line: int) -> None:
        self.what = what
        self.line = line
        super().__init__(what)


def array_items(read: Callable[[int], bytes], longest: int, chunk: int = 1 << 20) -> Iterator[tuple[int, bytes]]:
    """Line number (from 1) and text of each item of a JSON array, which is read a piece at a time.

    Only strings and brackets are looked at: whether an item is JSON shows when it is parsed.

    Args:
        read: called with a number of bytes, gives up to so many; none at the end.
        longest: the longest item allowed, in bytes. Memory stays within a few times this.
        chunk: bytes to read at a time.

    Raises:
        ArrayError: the text does not begin with ``[``, ends before its ``]``, goes on after it, or holds an item
            that is too long, or nested absurdly deep.
    """
    text, start = _opening(read, chunk)
    line, position, depth = 1 + text.count(b"\n", 0, start), start, 1
    while True:
        for token in _TOKEN.finditer(_masked(text), position):
            mark = text[token.start()]
            if mark == 0x22:  # a quote
                if not token[1]:
                    position = token.start()
                    break
            elif mark in b"{[":
                if token.end() == token.start() + 1:
                    depth += 1
                    if depth > _DEEPEST:
                        raise ArrayError(f"an item of the array is nested more than {_DEEPEST:,} levels deep", line)
            elif mark == 0x2C:  # a comma
                if depth == 1:
                    yield _item(text, line, start, token.start(), longest=longest)
                    line += text.count(b"\n", start, token.end())
                    start = token.end()
            else:
                depth -= 1
                if depth == 0:
                    last = _item(text, line, start, token.start(), longest=longest)
                    if last[1]:
                        yield last
                    if _goes_on(text[token.end() :], read, chunk):
                        line += text.count(b"\n", start)
                        raise ArrayError("text after the end of the array", line)
                    return
            position = token.end()
        else:
            position = len(text)
        # A string cut short begins anew with more text; anything else goes on behind it.
        if len(text) - start > longest:
            raise _too_long(longest, line)
        more = read(max(chunk, len(text) - start))
        if not more:
            raise ArrayError("the file ends before the array does", line + text.count(b"\n", start))
        position -= start
        text = text[start:] + more
        start = 0


def _too_long(longest: int, line: int) -> ArrayError:
    return ArrayError(f"an item of the array is longer than {longest // 2**20} MB", line)


def _opening(read: Callable[[int], bytes], chunk: int) -> tuple[bytes, int]:
    """The first text that is more than space, and where it goes on behind the array's bracket."""
    text = read(chunk)
    while text.isspace() and (more := read(chunk)):
        text += more
    start = len(text) - len(text.lstrip()) + 1
    if text[start - 1 : start] != b"[":
        raise ArrayError("not a JSON array", 1)
    return text, start


def _goes_on(text: bytes, read: Callable[[int], bytes], chunk: int) -> bool:
    """Whether anything but space is in ``text`` and in what can yet be read."""
    while text:
        if not text.isspace():
            return True
        text = read(chunk)
    return False


def _item(text: bytes, line: int, start: int, end: int, *, longest: int) -> tuple[int, bytes]:
    """Line and text of an item, without the space around it."""
    if end - start > longest:
        raise _too_long(longest, line)
    item = text[start:end]
    bare = item.lstrip()
    return line + item.count(b"\n", 0, len(item) - len(bare)), bare.rstrip()


def beginning(text: bytes) -> Any:
    """The value that ``text`` begins, as far as it goes: what is cut off or broken at its end is left out.

    None where nothing of it can be told.
    """
    # What is open, innermost first, as linked pairs: kept at every mark, and never copied.
    unclosed: Any = None
    last_whole: tuple[int, Any] | None = None
    for token in _MARK.finditer(_masked(text)):
        mark = token[0][:1]
        if mark in _OPEN:
            unclosed = (_OPEN[mark], unclosed)
        elif mark in (b"}", b"]"):
            if unclosed is None or unclosed[0] != mark:
                break
            unclosed = unclosed[1]
            last_whole = (token.end(), unclosed)
            if unclosed is None:
                break
        elif mark == b",":
            last_whole = (token.start(), unclosed)
        elif not token[1]:
            break
    if last_whole is None:
        return None
    end, unclosed = last_whole
    closing = []
    while unclosed is not None:
        closing.append(unclosed[0])
        unclosed = unclosed[1]
    try:
        return orjson.loads(text[:end] + b"".join(closing))
    except orjson.JSONDecodeError:
        return None
