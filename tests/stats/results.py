"""What the tests of statistics take from results."""

from __future__ import annotations

from typing import get_args

from bedside.stats.arrays import Alternative
from bedside.stats.result import Effect, Interval, Result

ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)


def interval_of(found: Result | Effect) -> Interval:
    """The interval, which must be there."""
    assert found.interval is not None, found.missing
    return found.interval


def ends(found: Result | Effect | Interval | None) -> tuple[float, float]:
    """The two ends of an interval, which must be there."""
    interval = interval_of(found) if isinstance(found, Result | Effect) else found
    assert interval is not None
    return interval.low, interval.high


def estimate(found: Result | Effect) -> float:
    """The estimate, which must be there."""
    assert found.estimate is not None, found.missing
    return found.estimate
