"""Which intervals stand beside means, in the words of a note or caption."""

from __future__ import annotations

from collections.abc import Iterable

from bedside.reports.samples import Sample, SampleLevel, interval_of

#: How the words of an interval's method begin, and what a note says of it; the longest beginnings first.
_METHODS = (
    ("Wilson on the scale", "Wilson's on the scale for means between two ends"),
    ("Wilson", "Wilson's for shares"),
    ("t ", "t for the rest"),
)


def interval_note(samples: Iterable[tuple[Sample, SampleLevel]]) -> str:
    """How the 95 % intervals of these means and ratios were made, as a sentence; empty where none has one.

    They stay within what the values can be, as :func:`~bedside.reports.samples.interval_of` makes them.
    """
    shown = list(samples)
    intervals = [interval_of(sample, level) for sample, level in shown]
    kinds = {_kind(interval.method) for interval in intervals if interval is not None}
    if not kinds:
        return ""
    words = [word for _, word in _METHODS if word in kinds]
    if len(words) == 1:
        words = [words[0].replace(" for the rest", "")]
    clustered = not all(sample.is_single for sample, _ in shown)
    over = "cases, whose transcripts are not independent" if clustered else "transcripts"
    return f"95 % intervals over {over}: {', '.join(words)}."


def _kind(method: str) -> str:
    return next(word for begin, word in _METHODS if method.startswith(begin))
