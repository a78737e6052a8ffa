"""What a statistic returns: a value with its interval, test, counts and a sentence that says how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Attributes:
        low, high: the bounds, ``low <= high``.
        level: nominal coverage, e.g. ``0.95``.
        method: how it was made, in words, e.g. ``"BCa bootstrap over items, 2000 resamples, seed 0"``.
        low_open, high_open: whether the bound itself lies outside, as one that the test rejects and an infinite one do.
    """

    low: float
    high: float
    level: float
    method: str
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The size of an effect with its interval.

    Attributes:
        name: the field's name of it, e.g. ``"Cliff's delta"``.
        estimate: the value; None where it can't be computed.
        interval: its confidence interval; None where it can't be computed.
        n: number of units it rests on.
        dropped: units left out because a value was missing.
        missing: why estimate or interval is None.
    """

    name: str
    estimate: float | None = None
    interval: Interval | None = None
    n: int = 0
    dropped: int = 0
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One statistic on one set of data.

    A statistic begins with a result that says what it is and what it counted, and fills it in, or says with
    :meth:`no_value` why it can't.

    Attributes:
        name: what ``estimate`` is, e.g. ``"mean difference"`` or ``"Cohen's kappa"``.
        method: the test or formula with all its options, as one line for a caption.
        estimate: the value; None where it can't be computed.
        interval: confidence interval of ``estimate``.
        statistic: the test statistic (named in ``method``).
        p: p-value before any correction.
        n: number of units (pairs, items, values) used.
        dropped: units left out because a value was missing.
        standard_error: of ``estimate``, where it has an analytic or bootstrap one.
        effect: an effect size that belongs to the test.
        details: further numbers by name, e.g. group means or per-category values.
        options: every option that was in force, by name.
        missing: why ``estimate``, ``interval`` or ``p`` is None.
        remarks: what a reader should know of this value, e.g. that resamples were undefined.
        family: name of the family of tests this p-value was corrected in.
        family_size: number of p-values in that family.
        p_adjusted: the p-value after correction.
        correction: the correction's name.
    """

    name: str
    method: str
    estimate: float | None = None
    interval: Interval | None = None
    statistic: float | None = None
    p: float | None = None
    n: int = 0
    dropped: int = 0
    standard_error: float | None = None
    effect: Effect | None = None
    details: Mapping[str, float | None] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    missing: str | None = None
    remarks: tuple[str, ...] = ()
    family: str | None = None
    family_size: int | None = None
    p_adjusted: float | None = None
    correction: str | None = None

    def no_value(self, reason: str) -> Result:
        """The same, of data that allow no estimate, for this reason."""
        return replace(self, missing=reason)
