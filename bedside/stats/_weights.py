"""Weights of agreement between the levels of a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, chosen, matrix

WEIGHTS = ("unweighted", "linear", "quadratic")


def penalties(weights: str | Any, positions: Array) -> tuple[Array, str]:
    """Penalties for disagreement between levels, 0 on the diagonal, and what the weighting is called.

    Args:
        weights: ``"unweighted"``, ``"linear"``, ``"quadratic"``, or a square table of penalties for
            disagreement with zeros on its diagonal.
        positions: numeric positions of the scale's levels. Linear penalties are their distances, quadratic ones the
            squares of these: whole numbers where the positions are, so that sums of them are exact.

    Raises:
        DataError: unknown weights, or a table that doesn't fit.
    """
    if isinstance(weights, str):
        chosen("weights", weights, WEIGHTS)
        if weights == "unweighted":
            return 1 - np.eye(positions.size), weights
        distance: Array = np.abs(positions[:, None] - positions[None, :])
        return distance if weights == "linear" else distance**2, weights
    table = matrix(weights, "weights")
    if table.shape != (positions.size, positions.size):
        raise DataError(
            f"a scale of {positions.size} levels needs penalties of {positions.size} × {positions.size}"
        )
    if np.isnan(table).any() or (table < 0).any() or table.diagonal().any() or not table.any():
        raise DataError("penalties must be 0 on the diagonal, and 0 or more elsewhere with one above 0")
    return table, "custom penalties"


def agreement_weights(weights: str | Any, positions: Array) -> tuple[Array, str]:
    """Agreement weights (1 on the diagonal, 0 at the largest disagreement), and what they are called.

    With equally spaced levels, weighting by their positions equals weighting by their order. Arguments and errors as
    for :func:`penalties`.
    """
    by_levels, called = penalties(weights, positions)
    return 1 - by_levels / by_levels.max(), called
