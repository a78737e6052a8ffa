"""Words and names: plurals, lists of names, texts of others on a terminal and in a shell, scripts without spaces."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import overload

from bedside.core.errors import InputError

# -- Characters of scripts that are written without spaces between words --------------------------------

#: Chinese characters.
HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
#: Those, kana, and the scripts of Thai, Lao, Khmer and Burmese.
UNSPACED = rf"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff{HAN}"


# -- Text of others, as it is shown ---------------------------------------------------------------------

_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
#: What commands a terminal, breaks a file, isn't seen, looks otherwise in each font, or turns letters round; no tabs or
#: line breaks. Joiners stay in words that aren't ASCII, marks of direction beside what runs from right to left.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
    "|(?<=[A-Za-z\u00c0-\u0fff\ufe00-\ufe0f])[\ufe00-\ufe0f]|(?:(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f]))"
    f"|(?<![{_RIGHT_TO_LEFT}])[\u061c\u200e\u200f](?![{_RIGHT_TO_LEFT}])"
)


def visible(text: str) -> str:
    """A text in which nothing hides: what isn't seen, or does something to its place, is written out, as ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(lambda letter: letter[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """As :func:`visible`, a name or what holds names: tabs and ends of lines are written out, too."""
    return visible(text.translate({9: "\\t", 10: "\\n", 13: "\\r"}))


# -- Patterns of others ---------------------------------------------------------------------------------


def finds(pattern: str, text: str) -> bool:
    """Whether a regular expression of somebody else's finds something in a text.

    The time it takes grows with the text and no faster, whatever the two are: look-around and back references, which
    can take for ever, are none of its language.

    Raises:
        ValueError: it is none.
    """
    import polars as pl

    try:
        return bool(pl.Series([text]).str.contains(pattern).item())
    except pl.exceptions.PolarsError as error:
        lines = [line.strip().removeprefix("error: ") for line in str(error).splitlines() if "error: " in line]
        raise ValueError(lines[-1] if lines else "it can't be read") from None


# -- Paths and names in commands that are printed to be typed -------------------------------------------


def typed(word: str | Path) -> str:
    """A path or name as a shell takes it for one word, and a command for no option."""
    text = str(word)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


# -- A count with its noun ------------------------------------------------------------------------------

_IRREGULAR = {"person": "people", "reply": "replies", "jury": "juries", "batch": "batches", "criterion": "criteria"}


def counted(count: int, noun: str) -> str:
    """A number of things, in words that fit it: ``1 turn``, ``1,200 turns``, ``2 people``."""
    return f"{count:,} {noun if count == 1 else _IRREGULAR.get(noun, f'{noun}s')}"


# -- Arguments that take one name or several ------------------------------------------------------------

#: One name, or several.
Names = str | Iterable[str]


@overload
def listed(names: Names, argument: str) -> list[str]: ...


@overload
def listed(names: Names | None, argument: str) -> list[str] | None: ...


def listed(names: Names | None, argument: str) -> list[str] | None:
    """The names of an argument as a list; None where none is given.

    Args:
        names: one name, or several; those of a set are sorted, for a set has no order.
        argument: what the argument is called.

    Raises:
        InputError: it is neither a name nor several.
    """
    if names is None or isinstance(names, str):
        return names if names is None else [names]
    try:
        several = sorted(names) if isinstance(names, set | frozenset) else list(names)
    except TypeError:
        several = [names]
    for name in several:
        if not isinstance(name, str):
            raise InputError(
                f"names are text, and {name!r:.40} is not",
                where=f"`{argument}`",
                todo="give one name as a string, or several in a list",
            )
    return several


def listed_by_name(names: Mapping[str, Names] | None, argument: str) -> dict[str, list[str]]:
    """The names under each name of an argument as a list; nothing where none is given.

    Args:
        names: one name or several, by the name that they stand under, such as the levels of a factor.
        argument: what the argument is called.

    Raises:
        InputError: it is no such mapping.
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise InputError(
            f"{names!r:.40} doesn't say what its names stand under",
            where=f"`{argument}`",
            todo="give a dict, such as {'setting': '8 turns'}",
        )
    return {str(name): listed(under, argument) for name, under in names.items()}
