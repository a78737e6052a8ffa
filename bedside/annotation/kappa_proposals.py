"""Units that narrow the interval of people's kappa."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bedside.annotation.rating_state import (
    FEWEST,
    SIMULATIONS,
    ExpectedGain,
    RatingProposal,
    RatingState,
    half_width,
)
from bedside.ratings.scales import Scale

_QUANTITY = "kappa of people"


def kappa_proposals(state: RatingState, count: int, rng: random.Random) -> list[RatingProposal]:
    """The units to rate next: those that one person rated, then those that nobody did, each at random."""
    rated_once = [unit for unit in state.units if state.rated_by(unit) == 1]
    unrated = [unit for unit in state.units if state.rated_by(unit) == 0]
    rng.shuffle(rated_once)
    rng.shuffle(unrated)
    pair = "one person rated it: a second rating makes a pair"
    proposals = [state.proposal(unit, 1, pair) for unit in rated_once]
    proposals += [state.proposal(unit, 2, "nobody rated it") for unit in unrated]
    return proposals[:count]


def kappa_gains(state: RatingState, chosen: Sequence[RatingProposal], seed: int) -> list[ExpectedGain]:
    """What the proposed ratings would bring to each metric's kappa."""
    gains = []
    added = len(chosen)
    for metric in state.metrics:
        table = state.people.filter(pl.col("metric") == metric)
        if table.is_empty() or metric not in state.scales:
            gains.append(ExpectedGain(metric, _QUANTITY, 0, added, missing="nobody has rated it"))
            continue
        grid = state.grid(metric)
        rated_twice = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
        cells, members = grid.cells[rated_twice], grid.cases[rated_twice]
        transcripts = len(set(grid.transcripts[rated_twice]))
        if transcripts < FEWEST:
            reason = f"two people rated {transcripts} of it, fewer than {FEWEST}"
            gains.append(ExpectedGain(metric, _QUANTITY, len(cells), added, missing=reason))
            continue
        # What is drawn are cases, with as many units as those that were rated have.
        cases = max(1, round(added * len(set(members)) / len(cells)))
        gain = _kappa_gain(metric, state.scales[metric], cells, members, added=cases, seed=seed)
        gains.append(replace(gain, added=added))
    return gains


def _kappa_gain(
    metric: str, scale: Scale, cells: NDArray[Any], members: NDArray[Any], *, added: int, seed: int
) -> ExpectedGain:
    """What new cases would bring that are rated like those there are.

    Args:
        metric: what is rated.
        scale: its scale.
        cells: a row a unit, a column a rater.
        members: the case of each row.
        added: how many cases are added.
        seed: of the simulations.
    """
    rng = np.random.default_rng(seed)
    cases = list(dict.fromkeys(members))
    cells_by_case = {case: cells[members == case] for case in cases}
    widths = []
    for _ in range(SIMULATIONS):
        positions = rng.integers(len(cases), size=added)
        drawn = [cells_by_case[cases[position]] for position in positions]
        clusters = [members, *(np.full(len(rows), f"new {place}") for place, rows in enumerate(drawn))]
        width = _kappa_half_width(scale, np.concatenate([cells, *drawn]), np.concatenate(clusters))
        if width is not None:
            widths.append(width)
    width_now = _kappa_half_width(scale, cells, members)
    expected = float(np.mean(widths)) if widths else None
    missing = None if width_now is not None and expected is not None else "kappa has no interval yet"
    return ExpectedGain(metric, _QUANTITY, len(cells), added, width_now, expected, missing)


def _kappa_half_width(scale: Scale, rows: NDArray[Any], clusters: NDArray[Any]) -> float | None:
    from bedside.stats import many_raters

    nested = len(set(clusters)) < len(clusters)
    kappa = many_raters.mean_pairwise_kappa(
        rows,
        scale=scale.levels,
        weights="quadratic" if scale.ordered else "unweighted",
        clusters=clusters if nested else None,
    )
    return half_width(kappa)
