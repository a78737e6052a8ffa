"""Errors a user meets: what happened, where, and what to do about it, in one line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

#: Most characters of what is wrong, and of what to do: both may quote a file.
_LONGEST = 1000
#: Most characters of a place; a path has 4096 at most.
_LONGEST_PLACE = 5000
#: An argument as a message names it: `name`, or `name=value`.
_ARGUMENT = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")


class BedsideError(Exception):
    """Base of every error bedside raises on purpose.

    Args:
        what: what is wrong, as a short sentence without a final full stop.
        where: the place: a file and line, or a transcript and turn.
        todo: what the user can do about it.

    ``str(error)`` is one line: ``where: what; todo``. An argument of the function that was called stands in backquotes,
    as `` `seed` `` or `` `seed=1` ``: :meth:`name_options` writes a command's option in its place.
    """

    def __init__(self, what: str, *, where: str | None = None, todo: str | None = None) -> None:
        self.what: str = what
        self.where: str | None = where
        self.todo: str | None = todo
        super().__init__(self._line())

    def _line(self) -> str:
        line = _printable(" ".join(self.what.split()), _LONGEST)
        if self.where is not None:
            line = f"{_printable(self.where, _LONGEST_PLACE)}: {line}"
        if self.todo is not None:
            line = f"{line}; {_printable(' '.join(self.todo.split()), _LONGEST)}"
        return line

    def name_options(self, options: Mapping[str, str]) -> None:
        """Write a command's options in place of the arguments that the message names.

        Args:
            options: the option by the name of the argument, such as ``--seed`` by ``seed``; arguments that it doesn't
                have stay as they are.
        """
        self.what = with_options(self.what, options)
        self.where = None if self.where is None else with_options(self.where, options)
        self.todo = None if self.todo is None else with_options(self.todo, options)
        self.args: tuple[object, ...] = (self._line(),)


def with_options(text: str, options: Mapping[str, str]) -> str:
    """A message with a command's options in place of the arguments in backquotes, as :meth:`BedsideError.name_options`
    has them."""

    def option(argument: re.Match[str]) -> str:
        name, value = argument.groups()
        if name not in options:
            return argument[0]
        # Of what is true or false, the option alone says which.
        return options[name] if value in (None, "True", "False") else f"{options[name]} {value}"

    return _ARGUMENT.sub(option, text)


def _printable(text: str, longest: int) -> str:
    """A text on one line: line breaks, and what a terminal would act on or a file can't hold, are written out."""
    line = f"{text[:longest]} …" if len(text) > longest else text
    if line.isprintable():
        return line
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)


class InputError(BedsideError):
    """A file that holds transcripts or ratings can't be read as given."""


class AmbiguousError(InputError):
    """A file can be read in two ways that say different things: ``what`` names both, ``todo`` the option for each."""


class RegistryError(BedsideError):
    """A metric, suite, reader or other named entry is unknown, doubled or malformed."""


class RunError(BedsideError):
    """A run folder is missing, foreign, locked or can't be written."""


class DataError(BedsideError):
    """Ratings don't allow what was asked: no such system, rater, metric or pair."""


class ModelError(BedsideError):
    """A model on this computer isn't there, or can't be loaded or used."""


class MissingExtraError(BedsideError):
    """An optional library is needed and isn't installed."""


@contextmanager
def from_extra(extra: str, need: str, *, where: str | None = None, instead: str = "") -> Iterator[None]:
    """Import libraries of an extra within; MissingExtraError, with what needs which, where one isn't installed."""
    try:
        yield
    except ImportError as error:
        todo = f'pip install "bedside[{extra}]"{instead}'
        raise MissingExtraError(f"{need}, which isn't installed", where=where, todo=todo) from error


class LabelStudioError(BedsideError):
    """A Label Studio server can't be installed, started or reached, or doesn't hold what was pushed."""


class EngineError(BedsideError):
    """An engine that spreads work can't be started or reached, or lost work."""


def nearest(name: str, candidates: Iterable[str]) -> str:
    """What to say of a misspelt ``name``: the closest of ``candidates``, or all of them."""
    import difflib

    names = sorted(set(candidates))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    if not names:
        return "there are none"
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return "known: " + ", ".join(names[:20]) + more


def one_of(
    value: T,
    choices: Collection[T],
    what: str,
    error: type[BedsideError],
    *,
    where: str | None = None,
    todo: str | None = None,
) -> T:
    """``value``, which is one of ``choices``.

    Args:
        value: what was named; it must be hashable where ``choices`` are.
        choices: all that may be named.
        what: what a choice is called in the message, e.g. ``"factor"``.
        error: the class of the error.
        where: the place, or the argument in backquotes.
        todo: what can be done about it, where that helps more than the nearest choices.

    Raises:
        BedsideError: of the class ``error``: ``value`` is none of them.
    """
    if value in choices:
        return value
    raise error(f"there is no {what} {value!r:.200}", where=where, todo=todo or nearest(str(value), map(str, choices)))
