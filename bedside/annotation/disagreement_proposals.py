"""Units where judge and people are furthest apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bedside.annotation.rating_state import RatedUnit, RatingProposal, RatingState
from bedside.ratings.names import is_human
from bedside.ratings.scales import Scale


def disagreement_proposals(state: RatingState, judge: str, count: int) -> list[RatingProposal]:
    """The units to rate next, the one with the largest distance by any metric first."""
    widest: dict[RatedUnit, tuple[float, str]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    choices: dict[tuple[RatedUnit, str], dict[str, Any]] = {}
    for transcript, unit, metric, rater, value, label in state.ratings.select(columns).iter_rows():
        choice = label if label is not None else value
        choices.setdefault(((transcript, unit), metric), {}).setdefault(rater, choice)
    for (key, metric), by_rater in sorted(choices.items()):
        people = [choice for rater, choice in by_rater.items() if is_human(rater)]
        if not people:
            continue
        for distance, reason in _distances(metric, people, by_rater.get(judge), judge, state.scales[metric]):
            if distance > widest.get(key, (0.0, ""))[0]:
                widest[key] = (distance, reason)
    units = set(state.units)
    order = sorted((key for key in widest if key in units), key=lambda key: (-widest[key][0], key))
    return [state.proposal(key, 1, widest[key][1]) for key in order[:count]]


def _distances(
    metric: str, people: Sequence[Any], judge_choice: Any, judge: str, scale: Scale
) -> list[tuple[float, str]]:
    """How far apart people are, and judge and people, in parts of the scale (labels: 1 where they differ)."""
    if not scale.ordered:
        differ = len(set(people)) > 1
        judge_differs = judge_choice is not None and judge_choice not in people
        return [
            (float(differ), f"people differ on {metric}"),
            (float(judge_differs), f"{judge} differs from people on {metric}"),
        ]
    width = float(scale.levels[-1]) - float(scale.levels[0])
    middle = float(np.median(people))
    spread = (max(people) - min(people)) / width
    distances = [(spread, f"people gave {min(people):g} to {max(people):g} on {metric}")]
    if judge_choice is not None:
        distance = abs(judge_choice - middle) / width
        distances.append((distance, f"{judge} gave {judge_choice:g} on {metric}, people {middle:g}"))
    return distances
