"""Which cases are trained on and which are kept for testing: by case, so that no case is on both sides."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bedside.core.errors import InputError
from bedside.core.files import read_text

Side = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """A division of cases.

    Attributes:
        train: ids of the cases that are trained on; None for all that aren't kept for testing.
        test: ids of the cases that are kept for testing.

    Raises:
        InputError: a case is in both.
    """

    train: frozenset[str] | None
    test: frozenset[str]

    def __post_init__(self) -> None:
        both = sorted((self.train or frozenset()) & self.test)
        if both:
            some = ", ".join(both[:3]) + (", …" if len(both) > 3 else "")
            raise InputError(
                f"{len(both)} cases are to be both trained and tested on ({some})",
                where="`train` and `test`",
                todo="take each out of one of the two",
            )

    def side(self, case: str) -> Side | None:
        """The side of a case; None where it is on neither."""
        if case in self.test:
            return "test"
        return "train" if self.train is None or case in self.train else None


def read_split(
    train: str | os.PathLike[str] | None = None, test: str | os.PathLike[str] | None = None
) -> CaseSplit:
    """The division that files of case ids make, an id a line.

    Raises:
        InputError: a file can't be read or holds no ids, or a case is in both.
    """
    return CaseSplit(
        None if train is None else frozenset(_ids(train)),
        frozenset() if test is None else frozenset(_ids(test)),
    )


def _ids(path: str | os.PathLike[str]) -> Iterable[str]:
    lines = read_text(path, "file of case ids").splitlines()
    ids = [line.strip() for line in lines if line.strip()]
    if not ids:
        raise InputError("it holds no ids of cases", where=str(path), todo="write one a line")
    return ids
