"""How much a test that can go on for ever does: little in every run, far more where ``BEDSIDE_SOAK`` asks for it."""

from __future__ import annotations

import os

_VARIABLE = "BEDSIDE_SOAK"


def budget(small: int, large: int) -> int:
    """How many inputs, repetitions or seconds a test marked ``soak`` takes.

    Args:
        small: in ``make test``.
        large: with ``BEDSIDE_SOAK=1``, as ``make soak`` sets it; ``BEDSIDE_SOAK=4`` takes four times that.

    Raises:
        ValueError: the variable is no whole number, or a negative one.
    """
    times = int(os.environ.get(_VARIABLE) or 0)
    if times < 0:
        raise ValueError(f"{_VARIABLE} must be a whole number from 0, and {times} is not")
    return large * times if times else small
