"""A number, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, or the reason why it is missing.

    Attributes:
        value: the number; None where missing.
        missing: why there is none.
        n: over several cases: number of cases the value rests on.
        dropped: over several cases: number left out because they have no value.
    """

    value: float | None = None
    missing: str | None = None
    n: int = 1
    dropped: int = 0


def ratio(numerator: float, denominator: float, empty: str, *, n: int = 1, dropped: int = 0) -> Measured:
    """``numerator / denominator``; missing because of ``empty`` where the denominator is 0."""
    if denominator == 0:
        return Measured(missing=empty, n=n, dropped=dropped)
    return Measured(numerator / denominator, n=n, dropped=dropped)


def mean(values: Iterable[Measured], empty: str) -> Measured:
    """The mean of the values that are there; missing because of ``empty`` where there is none."""
    measured = list(values)
    numbers = [case.value for case in measured if case.value is not None]
    return ratio(sum(numbers), len(numbers), empty, n=len(numbers), dropped=len(measured) - len(numbers))
