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


# -- Text of others on a terminal -----------------------------------------------------------------------

#: What commands a terminal, or has letters shown in another order than they stand in; neither tabs nor line breaks.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def terminal_text(text: str) -> str:
    """A text that can do nothing to a terminal: what would command it is written out, as ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    return _COMMANDS.sub(lambda letter: letter[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


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
