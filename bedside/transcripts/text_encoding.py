"""Which encoding a text is in, told from its bytes: known for sure, safely enough to be said, or in doubt."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator

from bedside.core.errors import AmbiguousError, InputError

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
_FREQUENT = frozenset(
    "的是不了我你您有在这他她们人个么吗吧呢很就说会要到没来好自己什觉得上下都也还和心那能可以为想"
)
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
_COMMON = re.compile(
    r"[\t\n\r -\u024f\u0370-\u06ff\u2010-\u2044\u3000-\u30ff\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff5e]"
)
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
            f"there is no encoding {name!r:.40} (`encoding`)",
            todo="name one such as utf-8, utf-16, cp1252 or gb18030",
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
    return (
        len(characters) >= _ENOUGH_CHINESE
        and frequent >= 0.1 * len(characters)
        and others <= 0.1 * len(characters)
    )


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
        elif character not in _SIGNS or (
            character not in _WITHIN_WORDS and before.isalpha() and after.isalpha()
        ):
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
    other = {
        at for at, line in enumerate(re.split(rb"\r\n?|\n", data)) if _decoded(line, "utf-8", False) is None
    }
    beyond = [at for at in beyond if at in other] or beyond
    at = next((at for at in beyond if len({*lines[at]}) == len(likely)), beyond[0] if beyond else 0)
    shown = " or ".join(
        f"{encoding_title(encoding)} ({_sample(line)!r})"
        for encoding, line in zip(likely, lines[at], strict=True)
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
            strange += 0.3 * (
                "\u4e00" <= letter <= "\u9fff" and letter not in _FREQUENT and letter not in _TRADITIONAL
            )
    return strange / max(beyond, 1)


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


# -- recoding -----------------------------------------------------------------------------------------


def _damage(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _DAMAGE_TEXT, error.end


codecs.register_error(_DAMAGE_HANDLER, _damage)


def _as_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def recoded(data: bytes, encoding: str, cut: bool = False) -> bytes:
    """The text in UTF-8; what its encoding doesn't have becomes :data:`DAMAGE`.

    Args:
        data: the text, or its beginning.
        encoding: of the text.
        cut: whether a character may be cut off at the end.
    """
    decoder = codecs.getincrementaldecoder(encoding)(_DAMAGE_HANDLER)
    return _as_utf8(decoder.decode(data, final=not cut).removeprefix("\ufeff"))


def recoded_pieces(read: Callable[[], bytes], encoding: str) -> Iterator[bytes]:
    """As :func:`recoded`, piece by piece, of what ``read`` gives until it gives nothing."""
    decoder = codecs.getincrementaldecoder(encoding)(_DAMAGE_HANDLER)
    data, mark = b" ", "\ufeff"
    while data:
        data = read()
        text = decoder.decode(data, final=not data)
        if said := text.removeprefix(mark):
            yield _as_utf8(said)
        mark = "" if text else mark
