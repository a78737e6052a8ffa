"""What the command that runs calls the arguments of the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from bedside.core.errors import BedsideError, with_options

_OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options")


@contextmanager
def naming_options(options: Mapping[str, str]) -> Iterator[None]:
    """While a command runs: errors of the library name its options where the library named arguments.

    Args:
        options: the option by the name of the argument, such as ``--seed`` by ``seed``.
    """
    token = _OPTIONS.set(options)
    try:
        yield
    except BedsideError as error:
        error.name_options(options)
        raise
    finally:
        _OPTIONS.reset(token)


def in_options(message: str) -> str:
    """A message of the library with the options of the command that runs in place of arguments."""
    return with_options(message, _OPTIONS.get({}))
