"""Units that narrow the interval of people's kappa."""

from __future__ import annotations

import random
from collections.abc import Sequence
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


def kappa_proposals(state: RatingState, count: int, rng: random.Random) -> list[RatingProposal]:
    half = [unit for unit in state.units if state.have(unit) == 1]
    new = [unit for unit in state.units if state.have(unit) == 0]
    rng.shuffle(half)
    rng.shuffle(new)
    found = [state.proposal(unit, 1, "one person rated it: a second rating makes a pair") for unit in half]
    found += [state.proposal(unit, 2, "nobody rated it") for unit in new]
    return found[:count]


def kappa_gains(state: RatingState, chosen: Sequence[RatingProposal], seed: int) -> list[ExpectedGain]:
    gains = []
    for metric in state.names:
        table = state.people.filter(pl.col("metric") == metric)
        if table.is_empty() or metric not in state.scales:
            gains.append(
                ExpectedGain(metric, "kappa of people", 0, len(chosen), missing="nobody has rated it")
            )
            continue
        grid = state.grid(metric)
        rated = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
        cells, members = grid.cells[rated], grid.transcripts[rated]
        groups = list(dict.fromkeys(members))
        if len(groups) < FEWEST:
            reason = f"two people rated {len(groups)} of it, fewer than {FEWEST}"
            gains.append(ExpectedGain(metric, "kappa of people", len(cells), len(chosen), missing=reason))
            continue
        gains.append(_kappa_gain(state, metric, cells, members, groups, len(chosen), seed))
    return gains


def _kappa_gain(
    state: RatingState,
    metric: str,
    cells: NDArray[Any],
    members: NDArray[Any],
    groups: Sequence[str],
    added: int,
    seed: int,
) -> ExpectedGain:
    scale = state.scales[metric]
    rng = np.random.default_rng(seed)
    by_group = {group: cells[members == group] for group in groups}

    def kappa_half_width(rows: NDArray[Any], clusters: NDArray[Any]) -> float | None:
        from bedside.stats import many_raters

        nested = len(set(clusters)) < len(clusters)
        kappa = many_raters.mean_pairwise_kappa(
            rows, scale=scale.levels, weights="quadratic" if scale.ordered else "unweighted",
            clusters=clusters if nested else None,
        )  # fmt: skip
        return half_width(kappa)

    widths = []
    for _ in range(SIMULATIONS):
        drawn = [by_group[groups[position]] for position in rng.integers(len(groups), size=added)]
        clusters = [members, *(np.full(len(rows), f"new {place}") for place, rows in enumerate(drawn))]
        width = kappa_half_width(np.concatenate([cells, *drawn]), np.concatenate(clusters))
        if width is not None:
            widths.append(width)
    now = kappa_half_width(cells, members)
    after = float(np.mean(widths)) if widths else None
    missing = None if now is not None and after is not None else "kappa has no interval yet"
    return ExpectedGain(metric, "kappa of people", len(cells), added, now, after, missing)
