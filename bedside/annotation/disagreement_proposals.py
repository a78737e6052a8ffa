"""Units where judge and people are furthest apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bedside.annotation.rating_state import RatedUnit, RatingProposal, RatingState


def disagreement_proposals(state: RatingState, judge: str, count: int) -> list[RatingProposal]:
    found: dict[RatedUnit, tuple[float, str]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    said: dict[tuple[RatedUnit, str], dict[str, Any]] = {}
    for transcript, unit, metric, rater, value, label in state.ratings.select(columns).iter_rows():
        given = label if label is not None else value
        said.setdefault(((transcript, unit), metric), {}).setdefault(rater, given)
    for (key, metric), by_rater in sorted(said.items()):
        people = [given for rater, given in by_rater.items() if rater.startswith("human:")]
        if not people:
            continue
        for score, why in _apart(metric, people, by_rater.get(judge), judge, state.scales[metric]):
            if score > found.get(key, (0.0, ""))[0]:
                found[key] = (score, why)
    known = set(state.units)
    order = sorted((key for key in found if key in known), key=lambda key: (-found[key][0], key))
    return [state.proposal(key, 1, found[key][1]) for key in order[:count]]


def _apart(metric: str, people: Sequence[Any], own: Any, judge: str, scale: Any) -> list[tuple[float, str]]:
    """How far apart people are, and judge and people, in parts of the scale (labels: 1 where they differ)."""
    if not scale.ordered:
        differ = len(set(people)) > 1
        off = own is not None and own not in people
        return [
            (float(differ), f"people differ on {metric}"),
            (float(off), f"{judge} differs from people on {metric}"),
        ]
    width = scale.levels[-1] - scale.levels[0]
    middle = float(np.median(people))
    spread = (max(people) - min(people)) / width
    found = [(spread, f"people gave {min(people):g} to {max(people):g} on {metric}")]
    if own is not None:
        found.append((abs(own - middle) / width, f"{judge} gave {own:g} on {metric}, people {middle:g}"))
    return found
