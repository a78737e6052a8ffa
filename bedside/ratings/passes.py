"""A rater's passes of one unit, taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def taken_together(values: Sequence[Any]) -> Any:
    """A rater's value from its passes in their order: the most frequent, of several the one nearest their mean.

    Of two that are as near, or labels, the one given first counts: passes are as good as each other, so that no rating
    is shifted to one side, as by the lower of them, and no unit is left out because it is hard to rate.

    Args:
        values: one or more numbers, or labels.
    """
    if len(values) == 1:
        return values[0]
    counts = Counter(values)
    most = max(counts.values())
    top = [value for value, count in counts.items() if count == most]
    if len(top) == 1 or isinstance(top[0], str):
        return top[0]
    mean = sum(values) / len(values)
    return min(top, key=lambda value: abs(value - mean))
