"""Arguments that take one name or several: a lone string is one name, and never its letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import overload

from bedside.core.errors import InputError

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
