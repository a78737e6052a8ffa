"""The bytes of one file: unpacked, in UTF-8 whatever its encoding, hashed, line by line.

Memory holds a line at a time, and a small file whole, whatever the size of the file.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bedside.core.errors import BedsideError, InputError
from bedside.core.files import opened, piped
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading_account import FileAccount
from bedside.transcripts.spans import NotDivisible, Span
from bedside.transcripts.text_encoding import (
    checked_encoding,
    encoding_title,
    guessed_encoding,
    recoded,
    recoded_pieces,
    recognised_encoding,
)

#: Longest single record (a line, a cell, an item of a JSON array, the rows of one transcript), in bytes.
MAX_RECORD = 16 * 2**20
#: A file that is no larger than this unpacked is held whole.
MAX_WHOLE = 4 * 2**20
#: How much of a larger file is looked at to recognise its format.
HEAD_SIZE = 64 * 2**10
#: A file that goes on in one line for so many bytes beyond the longest record is given up.
LONGEST_LINE = 2**30
#: Largest file that goes with another and is held whole (labels, speakers), in bytes.
MAX_COMPANION = 64 * 2**20

#: How much is read of a file at once.
_PIECE = 1 << 18
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
#: How files of SPSS, Stata and SAS begin.
STATISTICS = re.compile(
    rb"\$FL[23]@\(#\)|<stata_dta>|[\x69-\x73][\x01\x02]\x01\0|\0{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}"
)
_MARK = b"\xef\xbb\xbf"


def _is_binary(data: bytes) -> bool:
    """Whether a file begins as one that is read and is no text."""
    return data[:4] in (_ZIP, b"PAR1") or STATISTICS.match(data) is not None


def printable_path(path: str | Path) -> str:
    """The path as text that can be printed, whatever bytes its name is made of."""
    text = str(path)
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def ending_of(name: str) -> str:
    """The ending of a file's name in lower case without ``.gz``, e.g. ``.jsonl``."""
    return os.path.splitext(name.lower().removesuffix(".gz"))[1]


def without_endings(path: str, endings: Collection[str]) -> str:
    """The path without ``.gz`` and without its ending, if that is one of those given."""
    if path.lower().endswith(".gz"):
        path = path[:-3]
    stem, ending = os.path.splitext(path)
    return stem if ending.lower() in endings else path


def unreadable(what: str, error: OSError, name: str) -> InputError:
    """The message for a file or folder that can't be read."""
    return InputError(f"the {what} can't be read ({error.strerror})", where=name, todo="check it")


@contextmanager
def one_damage(what: str, where: str, todo: str) -> Iterator[None]:
    """One error for a damaged file, of which a library raises whatever its parts happen to raise; ours stay.

    Raises:
        InputError: what is read within can't be.
    """
    try:
        yield
    except BedsideError:
        raise
    except Exception as error:
        raise InputError(what, where=where, todo=todo) from error


class _Pieces(io.RawIOBase):
    """A stream of bytes that come in pieces.

    Args:
        pieces: none of them is empty.
        source: what they come from, which is closed along.
    """

    def __init__(self, pieces: Iterator[bytes], source: Any = None) -> None:
        self._pieces = pieces
        self._source = source
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._ready = self._ready or memoryview(next(self._pieces, b""))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        super().close()


class _Hashing:
    """The pieces of a binary file, hashed as they pass."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self._digest = hashlib.sha256()
        self._count = 0

    def __iter__(self) -> Iterator[bytes]:
        while data := self._raw.read(_PIECE):
            self._digest.update(data)
            self._count += len(data)
            yield data

    def finish(self) -> tuple[str, int]:
        """Read to the end, so that the hash is that of the whole file, and close."""
        for _ in self:
            pass
        self._raw.close()
        return self._digest.hexdigest(), self._count


def _span_pieces(raw: io.FileIO, span: Span) -> Iterator[bytes]:
    """The bytes of a span, behind those of its head."""
    for start, end in ((0, span.head), (span.start, span.end)):
        raw.seek(start)
        while start < end and (data := raw.read(min(_PIECE, end - start))):
            start += len(data)
            yield data


class _Gunzip(gzip.GzipFile):
    """A gzip file that closes what it reads from, as :func:`open` does."""

    def __init__(self, packed: io.BufferedReader[Any]) -> None:
        super().__init__(fileobj=packed)
        self._packed = packed

    def close(self) -> None:
        super().close()
        self._packed.close()


class ByteSource:
    """The bytes of one file, as they are on disk and unpacked; those of a text in UTF-8.

    Args:
        path: the file.
        span: the piece of the file to read; None for all of it.
        options: what the user said of the file.

    Attributes:
        path: the file.
        name: the path as shown in messages and kept as provenance.
        companions: other files that were read along (labels, speakers): path, SHA-256, bytes.
        span: the piece of the file that is read; None for all of it.
        options: what the user said of the file.
        account: what was understood of the file.
        readable: whether a file that may end the process that reads it was read by another; None while untried.
        book, worksheets: a workbook, and its worksheets by their names; None and empty until it is opened.
    """

    def __init__(self, path: Path, span: Span | None = None, options: ReadOptions | None = None) -> None:
        self.path = path
        self.span = span
        self.options: ReadOptions = options or ReadOptions()
        self.account: FileAccount = FileAccount()
        self.readable: bool | None = None
        self.book: Any = None
        self.worksheets: dict[str, Any] = {}
        self.name: str = printable_path(path)
        self.companions: list[tuple[str, str, int]] = []
        self._hashing: _Hashing | None = None

    @cached_property
    def packed(self) -> bytes | None:
        """The bytes on disk of a file of at most :data:`MAX_WHOLE`, else None."""
        if self.span is not None:
            return None
        try:
            with opened(self.path) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    data = piped(file, MAX_WHOLE + 1)
                elif status.st_size > MAX_WHOLE:
                    return None
                else:
                    # A read may give less than asked for, and some files of the system say that they are empty.
                    data = file.read(status.st_size or MAX_WHOLE + 1) or b""
                    while len(data) != status.st_size and (more := file.read(MAX_WHOLE + 1 - len(data))):
                        data += more
        except OSError as error:
            raise unreadable("file", error, self.name) from error
        if len(data) > MAX_WHOLE and not stat.S_ISREG(status.st_mode):
            raise InputError(
                "this is too large for an input that isn't an ordinary file",
                where=self.name,
                todo="save it first",
            )
        return data if len(data) <= MAX_WHOLE else None

    @cached_property
    def unpacked(self) -> bytes | None:
        """The content, unpacked but in its own encoding, if it is at most :data:`MAX_WHOLE`, else None."""
        data = self.packed
        if data is not None and data[:2] == _GZIP:
            data = self.unpacking(gzip.GzipFile(fileobj=io.BytesIO(data)).read, MAX_WHOLE + 1)
            if len(data) > MAX_WHOLE:
                return None
        return data

    @cached_property
    def _start(self) -> bytes:
        """The first 64 KiB of the content, unpacked but in its own encoding."""
        if self.unpacked is not None:
            return self.unpacked[:HEAD_SIZE]
        with self._unpacked(self._raw()) as file:
            return self.unpacking(file.read, HEAD_SIZE)

    @cached_property
    def encoding(self) -> str | None:
        """The encoding of a text, as the user said or as its bytes tell; None for what is no text.

        Raises:
            AmbiguousError: it may be in one of several.
            InputError: the user named none that there is.
        """
        if self.span is not None:
            return "utf-8"
        if _is_binary(self._start):
            return None
        if self.options.encoding is not None:
            encoding: str | None = checked_encoding(self.options.encoding)
            if encoding == "utf-16-le" and self._start.startswith(codecs.BOM_UTF16_BE):
                encoding = "utf-16-be"
        elif self.unpacked is not None:
            encoding = recognised_encoding(self.unpacked, self.name)
        else:
            encoding = recognised_encoding(self._start, self.name, cut=True)
        if encoding not in (None, "utf-8"):
            self.account.encoding = encoding_title(encoding)
        return encoding

    @cached_property
    def whole(self) -> bytes | None:
        """The content, unpacked, a text in UTF-8 without byte order mark, if it is at most :data:`MAX_WHOLE`."""
        data = self.unpacked
        if data is None or self.encoding is None:
            return data
        return data.removeprefix(_MARK) if self.encoding == "utf-8" else recoded(data, self.encoding)

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of the content, unpacked, a text in UTF-8 without byte order mark.

        Raises:
            InputError: the file is empty, can't be read or unpacked, or is no text.
        """
        data = self.whole[:HEAD_SIZE] if self.whole is not None else self._start
        if _is_binary(data):
            return data
        if self.whole is None:
            if self.encoding not in (None, "utf-8"):
                data = recoded(data, self.encoding, cut=True)
            data = data.removeprefix(_MARK)
        if not data or data.isspace():
            raise InputError("the file is empty", where=self.name, todo="remove it")
        if b"\x00" in data:
            raise InputError("this is not a text file", where=self.name, todo="give a transcript file")
        return data

    @cached_property
    def ending(self) -> str:
        """The name's ending in lower case without ``.gz``, e.g. ``.jsonl``."""
        return ending_of(self.name)

    def _raw(self) -> io.FileIO:
        try:
            return opened(self.path)
        except OSError as error:
            raise unreadable("file", error, self.name) from error

    @staticmethod
    def _unpacked(raw: io.RawIOBase | io.BytesIO) -> io.BufferedReader[Any] | _Gunzip:
        buffered = io.BufferedReader(raw, _PIECE)
        return _Gunzip(buffered) if buffered.peek(2)[:2] == _GZIP else buffered

    def open(self) -> io.BytesIO | io.BufferedReader[Any] | _Gunzip:
        """The content, unpacked, a text in UTF-8 without byte order mark; what passes through is hashed."""
        if self.whole is not None:
            return io.BytesIO(self.whole)
        if self.packed is not None:
            file = self._unpacked(io.BytesIO(self.packed))
        elif self.span is not None:
            raw = self._raw()
            file = io.BufferedReader(_Pieces(_span_pieces(raw, self.span), raw), _PIECE)
        else:
            self._hashing = _Hashing(self._raw())
            file = self._unpacked(_Pieces(iter(self._hashing)))
        if self.encoding not in (None, "utf-8"):
            pieces = recoded_pieces(partial(self.unpacking, file.read, _PIECE), self.encoding)
            return io.BufferedReader(_Pieces(pieces, file), _PIECE)
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
            raise unreadable("file", error, self.name) from error

    def companion(self, *parts: str) -> bytes | None:
        """Content of another file that belongs to this one; None where there is no such file.

        Args:
            parts: its path, beginning in the folder of this one.
        """
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), *parts))
        if not os.path.exists(path):
            return None
        companion = ByteSource(Path(path), options=self.options)
        data = companion.whole
        if data is None:
            with companion.open() as file:
                data = self.unpacking(file.read, MAX_COMPANION + 1)
                if len(data) > MAX_COMPANION:
                    raise InputError(
                        f"the file is larger than {MAX_COMPANION // 2**20} MB", where=companion.name
                    )
        self.companions.append((path, *companion.finish()))
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
            NotDivisible: the file is packed or not in UTF-8, or a line is too long.
        """
        if self.encoding != "utf-8":
            raise NotDivisible
        self._hashing = _Hashing(self._raw())
        with io.BufferedReader(_Pieces(iter(self._hashing)), 1 << 20) as file:
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
        allowance = LONGEST_LINE
        while line and not line.endswith(b"\n"):
            line = self.unpacking(file.readline, 1 << 20)
            allowance -= len(line)
            if allowance < 0:
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
        """The message for text that isn't in its file's encoding; ``number`` is the line where ``data`` begins."""
        lines = data.count(b"\n", 0, error.start)
        column = error.start - data.rfind(b"\n", 0, error.start)
        at, where = f"at column {column}{'' if lines else of}", f"{self.name}:{number + lines}"
        if self.encoding not in (None, "utf-8"):
            return InputError(
                f"not {encoding_title(self.encoding)} ({at})",
                where=where,
                todo="mend it, or say which encoding the file is in with `encoding=NAME`",
            )
        likely = guessed_encoding(data)
        return InputError(
            f"not UTF-8 (byte 0x{data[error.start]:02x} {at})",
            where=where,
            todo="mend it, or say which encoding the file is in with "
            + ("`encoding=NAME`" if likely is None else f"`encoding={likely}` (this line may be in it)"),
        )
