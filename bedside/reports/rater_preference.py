"""Of which raters a figure shows each metric, where several gave values."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence


def preferred_keys(keys: Sequence[tuple[str, str]], raters: Sequence[str]) -> list[tuple[str, str]]:
    """Of each metric the group of raters that comes first in the order of preference.

    Args:
        keys: metric and group of raters of what has values.
        raters: groups or patterns such as ``judge:*``, the best first; without them all keys are kept.
    """
    if not raters:
        return list(keys)
    chosen = []
    for metric in dict.fromkeys(metric for metric, _ in keys):
        groups = [group for name, group in keys if name == metric]
        matching = [
            group
            for pattern in raters
            for group in groups
            if group == pattern or fnmatch.fnmatchcase(group, pattern)
        ]
        chosen += [(metric, group) for group in matching[:1]]
    return chosen
