"""JSON text in pieces: the items of an array too large to hold, and the beginning of a value cut short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

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


def _masked(text: bytes) -> bytes:
    return text.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")


class ArrayError(Exception):
    """The text is not a JSON array, or one of its items is too long or too deep."""

    def __init__(self, what: str, line: int) -> None:
        self.what = what
        self.line = line
        super().__init__(what)


def array_items(
    read: Callable[[int], bytes], longest: int, chunk: int = 1 << 20
) -> Iterator[tuple[int, bytes]]:
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
                        raise ArrayError(
                            f"an item of the array is nested more than {_DEEPEST:,} levels deep", line
                        )
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
