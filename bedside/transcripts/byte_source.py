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
import unicodedata
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bedside.core.errors import AmbiguousError, BedsideError, InputError
from bedside.core.files import opened, piped, undecodable, unreadable
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading_account import FileAccount
from bedside.transcripts.spans import NotDivisible, Span

# -- Which encoding a text is in ------------------------------------------------------------------------

#: Byte order marks, the longer first, and what they say.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: The byte that stands, in what is recoded, for one that its encoding doesn't have: UTF-8 has no such byte.
DAMAGE = b"\xff"
_DAMAGE_TEXT = "\udcff"
_DAMAGE_HANDLER = "bedside-damage"

#: How messages name encodings.
_TITLES = {
    "utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "utf-32-le": "UTF-32", "utf-32-be": "UTF-32",
    "cp1252": "CP1252", "gb18030": "GB18030",
}  # fmt: skip

#: Letters beyond ASCII of the languages that CP1252 was made for, and those that are at least half of them in any text.
#: A text is taken for CP1252 where all its letters are one language's; in Polish, Czech, Hungarian or Turkish text that
#: is taken for it, they are not.
_ALPHABETS = tuple(
    (frozenset(letters + letters.upper().replace("SS", "")), frozenset(frequent + frequent.upper()))
    for letters, frequent in (
        ("àâæçéèêëîïôœùûüÿ", "éèà"),  # French
        ("äöüßéàè", "äöüß"),  # German
        ("áéíñóúüªº", "áéíñóú"),  # Spanish
        ("áâãàçéêíóôõú", "áãçéóí"),  # Portuguese
        ("àèéìíîòóùú", "àèéìòù"),  # Italian
        ("áàäéèêëíïóöúü", "éëïè"),  # Dutch
        ("æøåäöéèêàòôóüâ", "æøåäö"),  # Danish, Norwegian, Swedish
        ("àçéèíïóòúü·", "àéèíóò"),  # Catalan
        ("áéíóúýþæðö", "áéíóúðþ"),  # Icelandic
    )
)
#: Signs of CP1252 that stand before, after or between words, and those that may stand within one.
_SIGNS = frozenset("“”‘’«»‹›–—…•€£¥§©®™°±²³¹µ¶·¼½¾¿¡×÷†‡‰\u00a0\u00ad¬¨´¸ªº¢")
_OPENING = frozenset("‚„")
_WITHIN_WORDS = frozenset("’‘–—…\u00ad·")
#: Frequent characters of Chinese speech: a tenth of any Chinese text, and a hundredth of what only happens to decode.
_FREQUENT = frozenset("的是不了我你您有在这他她们人个么吗吧呢很就说会要到没来好自己什觉得上下都也还和心那能可以为想")
_ENOUGH_CHINESE = 8
#: Encodings that are tried where a text is in doubt, how many are offered, and how much of a text is tried.
_OFTEN = (
    "cp1252", "cp1250", "cp1251", "iso8859_2", "koi8_r", "mac_roman", "cp850", "cp1253", "cp1254", "cp1255", "cp1256",
    "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr",
)  # fmt: skip
_OFFERED, _SAMPLE = 3, 1 << 14
#: Signs that hardly any text has, and frequent characters of Chinese as it is written elsewhere.
_RARE = frozenset("¤¦¨©¬®¯±¶¸¹²³¼½¾×÷†‡ˆ‰˜§ªº◊∆∂∑∏π∫Ω√≈∞") | frozenset(map(chr, range(0x2500, 0x25A0)))
_TRADITIONAL = frozenset("們個嗎麼說會來沒過還對時後")
_LETTERS_BEYOND = re.compile(r"[^\W\d_a-zA-Z]")
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
#: Characters of most texts of any language.
_COMMON = re.compile(r"[\t\n\r -\u024f\u0370-\u06ff\u2010-\u2044\u3000-\u30ff\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff5e]")
_HIGH = re.compile(rb"[\x80-\xff]")


def encoding_title(encoding: str) -> str:
    """An encoding as messages and the account name it."""
    return _TITLES.get(encoding, encoding.upper())


def checked_encoding(name: str) -> str:
    """The encoding that a user named.

    Raises:
        InputError: there is none of that name.
    """
    try:
        if not isinstance("".encode(name), bytes):
            raise LookupError
        return {"utf-16": "utf-16-le", "utf-8-sig": "utf-8", "utf8": "utf-8"}.get(
            name.lower(), codecs.lookup(name).name
        )
    except (LookupError, UnicodeError, TypeError, ValueError) as error:
        raise InputError(
            f"there is no encoding {name!r:.40} (`encoding`)", todo="name one such as utf-8, utf-16, cp1252 or gb18030"
        ) from error


def recognised_encoding(data: bytes, where: str, cut: bool = False) -> str | None:
    """The encoding of a text; None for what is no text.

    UTF-8 and UTF-16 are known by their bytes. Text that is neither is taken for CP1252 where its letters are those of
    one western European language, and for GB18030 where it is common Chinese: both may be wrong, so it has to be said.

    Args:
        data: the text, or its beginning.
        where: the file, for messages.
        cut: whether a character may be cut off at the end.

    Raises:
        AmbiguousError: it may be in one of several encodings.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    if b"\x00" in data:
        return _wide(data)
    if data.isascii() or _decoded(data, "utf-8", cut) is not None:
        return "utf-8"
    beyond = len(_HIGH.findall(data))
    whole = sum(len(sequence) for sequence in _SEQUENCE.findall(data))
    if 4 * (beyond - whole) <= beyond:
        # Text in UTF-8 of which some is damaged; each damaged place is told where it stands.
        return "utf-8"
    if _is_chinese(data, cut):
        return "gb18030"
    if _is_western(data):
        return "cp1252"
    raise _doubt(data, where, cut)


def guessed_encoding(data: bytes) -> str | None:
    """What a piece of text that is not UTF-8 most likely is in, as a suggestion; None where nothing is likely."""
    if _is_chinese(data, cut=True):
        return "gb18030"
    return "cp1252" if _is_western(data) else None


def _decoded(data: bytes, encoding: str, cut: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=not cut)
    except UnicodeDecodeError:
        return None


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: line breaks, spaces and commas have a byte of zeros, always the first or the second.

    A text of Latin letters has one in nearly every character, any other has the high bytes that ASCII lacks.
    """
    zeros, high = data.count(0), len(_HIGH.findall(data))
    if zeros < 0.05 * len(data) and not (zeros >= 0.005 * len(data) and high >= 0.1 * len(data)):
        return None
    for encoding, ascii_place in (("utf-16-le", 1), ("utf-16-be", 0)):
        text = _decoded(data, encoding, cut=True)
        if (
            text
            # A few characters beyond ASCII end in such a byte.
            and data[ascii_place::2].count(0) >= 0.8 * zeros
            and len(_COMMON.findall(text)) >= 0.9 * len(text)
        ):
            return encoding
    return None


def _is_chinese(data: bytes, cut: bool) -> bool:
    text = _decoded(data, "gb18030", cut)
    if text is None:
        return False
    characters = [character for character in text if "\u4e00" <= character <= "\u9fff"]
    others = len(_LETTERS_BEYOND.findall(text)) - len(characters)
    frequent = sum(character in _FREQUENT for character in characters)
    return len(characters) >= _ENOUGH_CHINESE and frequent >= 0.1 * len(characters) and others <= 0.1 * len(characters)


def _is_western(data: bytes) -> bool:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    beyond = _LETTERS_BEYOND.findall(text)
    letters = set(beyond)
    if not any(
        letters <= alphabet and 2 * sum(letter in frequent for letter in beyond) >= len(beyond)
        for alphabet, frequent in _ALPHABETS
    ):
        return False
    last, run = len(text) - 1, 0
    for at, character in enumerate(text):
        if character < "\x80":
            run = 0
            continue
        run += 1
        before, after = text[max(at - 1, 0)], text[min(at + 1, last)]
        if character in letters:
            # Other alphabets are whole words of such letters; a capital stands at a beginning, or among capitals.
            if run > 2 or (character.isupper() and before.islower()):
                return False
        elif character in _OPENING:
            if before.isalpha() or not after.isalpha():
                return False
        elif character not in _SIGNS or (character not in _WITHIN_WORDS and before.isalpha() and after.isalpha()):
            return False
    return True


def _doubt(data: bytes, where: str, cut: bool) -> InputError:
    """The error for a text in doubt: the likely encodings, each with how the first line beyond ASCII reads in it."""
    from charset_normalizer import from_bytes

    guesses = [match.encoding for match in from_bytes(data[: 1 << 16])]
    texts = {name: _decoded(data[:_SAMPLE], name, cut=True) for name in dict.fromkeys((*_OFTEN, *guesses))}
    likely: dict[str, str] = {}
    for encoding in sorted(texts, key=lambda name: _strangeness(texts[name] or "\x80")):
        text = texts[encoding]
        if text and text not in likely.values() and _decoded(data, encoding, cut) is not None:
            likely[encoding] = text
            if len(likely) == _OFFERED:
                break
    if not likely:
        return InputError(
            "the text is not UTF-8, nor in another encoding that bedside can tell",
            where=where,
            todo="say which with `encoding=NAME`, or save it as UTF-8",
        )
    # The first line that tells them apart; of a file of several encodings, one that isn't UTF-8.
    lines = list(zip(*(re.split(r"\r\n?|\n", text) for text in likely.values()), strict=False))
    beyond = [at for at, line in enumerate(lines) if not line[0].isascii()]
    other = {at for at, line in enumerate(re.split(rb"\r\n?|\n", data)) if _decoded(line, "utf-8", False) is None}
    beyond = [at for at in beyond if at in other] or beyond
    at = next((at for at in beyond if len({*lines[at]}) == len(likely)), beyond[0] if beyond else 0)
    shown = " or ".join(
        f"{encoding_title(encoding)} ({_sample(line)!r})" for encoding, line in zip(likely, lines[at], strict=True)
    )
    return AmbiguousError(
        f"the text is not UTF-8, and may be {shown}",
        where=f"{where}:{at + 1}",
        todo=f"say in which the line reads right: {', '.join(f'`encoding={encoding}`' for encoding in likely)} or "
        "another, or save it as UTF-8",
    )


def _sample(line: str) -> str:
    """The part of a line that has the first letter beyond ASCII."""
    read = " ".join(line.split())
    at = next((at for at, letter in enumerate(read) if letter > "\x7f"), 0)
    return read[max(0, at - 20) : at + 20]


def _strangeness(text: str) -> float:
    """The share of letters and signs beyond ASCII that stand as they do in no language: within a word of another
    script, as a capital within a word, or as a sign or control within one."""
    beyond, strange = 0, 0.0
    for at, letter in enumerate(text):
        if letter < "\x80":
            continue
        beyond += 1
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if not letter.isalpha():
            strange += (before.isalpha() and after.isalpha()) or letter < "\xa0" or letter in _RARE
        else:
            strange += letter.isupper() and before.islower()
            strange += any(near.isalpha() and _script(near) != _script(letter) for near in (before, after))
            strange += 0.3 * ("\u4e00" <= letter <= "\u9fff" and letter not in _FREQUENT and letter not in _TRADITIONAL)
    return strange / max(beyond, 1)


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


# -- recoding -----------------------------------------------------------------------------------------


def _damage(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _DAMAGE_TEXT, error.end


codecs.register_error(_DAMAGE_HANDLER, _damage)


def recoded(data: bytes, encoding: str, cut: bool = False) -> bytes:
    """The text in UTF-8; what its encoding doesn't have becomes :data:`DAMAGE`.

    Args:
        data: the text, or its beginning.
        encoding: of the text.
        cut: whether a character may be cut off at the end.
    """
    decoder = codecs.getincrementaldecoder(encoding)(_DAMAGE_HANDLER)
    return decoder.decode(data, final=not cut).removeprefix("\ufeff").encode("utf-8", "surrogateescape")


def recoded_pieces(read: Callable[[], bytes], encoding: str) -> Iterator[bytes]:
    """As :func:`recoded`, piece by piece, of what ``read`` gives until it gives nothing."""
    decoder = codecs.getincrementaldecoder(encoding)(_DAMAGE_HANDLER)
    data, mark = b" ", "\ufeff"
    while data:
        data = read()
        text = decoder.decode(data, final=not data)
        if said := text.removeprefix(mark):
            yield said.encode("utf-8", "surrogateescape")
        mark = "" if text else mark


# -- The bytes of one file ------------------------------------------------------------------------------

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
            raise unreadable(error, self.name, kind=InputError) from error
        if len(data) > MAX_WHOLE and not stat.S_ISREG(status.st_mode):
            raise InputError(
                "this is too large for an input that isn't an ordinary file", where=self.name, todo="save it first"
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
            raise unreadable(error, self.name, kind=InputError) from error

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
            raise unreadable(error, self.name, kind=InputError) from error

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
                    raise InputError(f"the file is larger than {MAX_COMPANION // 2**20} MB", where=companion.name)
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
                    f"a line goes on for more than {LONGEST_LINE // 2**20} MB", where=self.name, todo="remove it"
                )

    def too_long(self, number: int) -> InputError:
        """The message for a line over :data:`MAX_RECORD`."""
        return InputError(
            f"the line is longer than {MAX_RECORD // 2**20} MB",
            where=f"{self.name}:{number}",
            todo="put one transcript on a line",
        )

    def undecodable(self, error: UnicodeDecodeError, number: int, of: str = "") -> InputError:
        """The message for text that isn't in its file's encoding; ``number`` is the line where it begins."""
        encoding, name, remark = encoding_title(self.encoding or "utf-8"), "NAME", ""
        likely = guessed_encoding(error.object) if encoding == "UTF-8" else None
        if likely is not None:
            name, remark = likely, " (this line may be in it)"
        todo = f"mend it, or say which encoding the file is in with `encoding={name}`{remark}"
        return undecodable(error, self.name, number, at=of, encoding=encoding, kind=InputError, todo=todo)
