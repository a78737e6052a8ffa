"""Preferences in the ratings table: which of two conversations is better by a rubric.

A preference is a rating of the transcript that was shown first; its unit names the one that was shown second
(:func:`bedside.ratings.names.pair_unit`). Its metric is ``<rubric>.preference``; its label is ``first``, ``second`` or
``tie``, and its value the share of the win that goes to the one shown first: 1, 0 or 0.5. The two orders of showing a
pair are two ratings. Better is what the rubric's direction says: where lower levels are better, the first one wins by
standing lower; where neither end is better, by standing higher.
"""

from __future__ import annotations

from collections.abc import Mapping

from bedside.ratings.scales import Scale

FIRST, SECOND, TIE = "first", "second", "tie"
#: The share of the win that each label gives to the transcript that was shown first.
SHARES: Mapping[str, float] = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
#: The shares in order: where people's agreement on preferences is asked for, a tie lies between the two.
SHARE_SCALE = Scale((0.0, 0.5, 1.0), True)
_PREFERENCE = ".preference"


def preference_metric(rubric: str) -> str:
    """The metric of which conversation is better by a rubric."""
    return f"{rubric}{_PREFERENCE}"


def is_preference(metric: str) -> bool:
    """Whether it is the metric of preferences by a rubric."""
    return metric.endswith(_PREFERENCE) and metric != _PREFERENCE


def preferred_by(metric: str) -> str:
    """The rubric of a metric of preferences; other metrics as they are."""
    return metric.removesuffix(_PREFERENCE)
