"""Why tests were taken, as notes say it of many comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A whole number, with commas between thousands.
_COUNT = re.compile(r"\d+(?:,\d{3})*")


def said_once(reasons: Iterable[str]) -> list[str]:
    """Reasons in order; of those that differ in their numbers alone one, with the least and the greatest of each."""
    alike: dict[str, list[list[str]]] = {}
    for reason in reasons:
        alike.setdefault(_COUNT.sub("{}", reason), []).append(_COUNT.findall(reason))
    said = []
    for words, counts in alike.items():
        ranges = []
        for numbers in zip(*counts, strict=True):
            ordered = sorted(set(numbers), key=lambda number: int(number.replace(",", "")))
            ranges.append(" to ".join(dict.fromkeys((ordered[0], ordered[-1]))))
        said.append(words.format(*ranges))
    return said
