"""One value of a metric, or why there is none; and which way is better.

Reasons for missing values that differ only in their numbers are of one kind: ``17 words, fewer than 20``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from bedside.transcripts.transcript import Role

Direction = Literal["higher", "lower", "none"]

#: What a value's reason begins with where its number is not what it seems: the tables that hold it say so below.
WARNING = "Warning: "


class Value(NamedTuple):
    """What a metric says of one unit: a value or a label, or neither and the reason in ``error``.

    Attributes:
        metric: name of the metric, without role.
        value: the number; None where missing or where the metric gives labels.
        label: the label of a nominal code.
        role: for a metric kept per role, the role.
        turn: index of the turn; None where the unit is the transcript.
        rater: who gave it, where that is not the family's algorithm (``human:anna``).
        reason: a remark that belongs to the value (``14 sentences, fewer than 30``).
        error: why there is no value.
    """

    metric: str
    value: float | None = None
    label: str | None = None
    role: Role | None = None
    turn: int | None = None
    rater: str | None = None
    reason: str | None = None
    error: str | None = None


def missing(
    metric: str, error: str, *, role: Role | None = None, turn: int | None = None, rater: str | None = None
) -> Value:
    """A missing value with its reason."""
    # By place, which takes half the time: most ratings of many a corpus are missing.
    return Value(metric, None, None, role, turn, rater, None, error)


#: How the reason of a value begins that nobody asked for, as a model that it needs is named nowhere: no failure.
NO_MODEL = "no model is named"

# A whole number or one with decimals, not within a name or an identifier.
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?![\w-])")

# ``3 to 19 words, fewer than 20``: how many there are is not the cause.
_TOO_FEW = re.compile(r"(?:an? |[\d,.]+ (?:to [\d,.]+ )?)(\w+?)s?, fewer than ([\d,.]+)")


def is_failure(error: str) -> bool:
    """Whether a missing value was asked for."""
    return not error.startswith(NO_MODEL)


def failures(rows: Iterable[Mapping[str, Any]]) -> int:
    """How many values are missing that were asked for; rows as of :func:`kinds_of_reasons`."""
    return sum(row["n"] for row in rows if is_failure(row["error"]))


def cause(error: str) -> str:
    """A reason, or a kind of reasons, in short: ``fewer than 20 words`` of ``17 words, fewer than 20``."""
    few = _TOO_FEW.fullmatch(error)
    return error if few is None else f"fewer than {few[2]} {few[1]}s"


def causes(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Each cause of missing ratings with how many are missing for it, most first; rows as of
    :func:`kinds_of_reasons`."""
    counts: Counter[str] = Counter()
    for row in kinds_of_reasons({**row, "metric": "", "rater": ""} for row in rows):
        counts[cause(row["error"])] += row["n"]
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def kinds_of_reasons(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts of missing ratings with the reasons of one kind together, most first.

    Args:
        rows: ``metric``, ``rater``, ``error`` and ``n``, as :func:`bedside.ratings.table.missing_counts` gives them.

    Returns:
        The same; a number that varies within a kind is written from its least to its greatest: ``3 to 19 words, fewer
        than 20``.
    """
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["metric"], row["rater"], _NUMBER.sub("#", row["error"])), []).append(row)
    kinds = [
        {"metric": metric, "rater": rater, "error": _with_ranges(group), "n": sum(row["n"] for row in group)}
        for (metric, rater, _), group in groups.items()
    ]
    return sorted(kinds, key=lambda row: (-row["n"], row["metric"], row["rater"], row["error"]))


def _with_ranges(group: list[Mapping[str, Any]]) -> str:
    """The reasons of one kind as one: each number that varies from its least to its greatest."""
    columns = zip(*(_NUMBER.findall(row["error"]) for row in group), strict=True)
    spans = (sorted(set(column), key=lambda number: float(number.replace(",", ""))) for column in columns)
    return _NUMBER.sub(lambda _: " to ".join(dict.fromkeys((span := next(spans))[:1] + span[-1:])), group[0]["error"])
