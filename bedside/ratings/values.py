"""One value of a metric, or why there is none; and which way is better."""

from __future__ import annotations

from typing import Literal, NamedTuple

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
