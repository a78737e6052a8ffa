"""Weights of agreement between the levels of a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.errors import DataError
from bedside.stats._arrays import Array, chosen, matrix

WEIGHTS = ("unweighted", "linear", "quadratic")


def agreement_weights(weights: str | Any, positions: Array) -> tuple[Array, str]:
    """Agreement weights (1 on the diagonal, 0 at the largest disagreement), and what they are called.

    Args:
        weights: ``"unweighted"``, ``"linear"``, ``"quadratic"``, or a square table of penalties for
            disagreement with zeros on its diagonal.
        positions: numeric positions of the scale's levels. Linear weights fall with their distance, quadratic
            ones with its square, both relative to the scale's length; with equally spaced levels this equals
            weighting by the levels' order.

    Raises:
        DataError: unknown weights, or a table that doesn't fit.
    """
    if isinstance(weights, str):
        chosen("weights", weights, WEIGHTS)
        if weights == "unweighted":
            return np.eye(positions.size), weights
        distance = np.abs(positions[:, None] - positions[None, :]) / (positions[-1] - positions[0])
        return 1 - (distance if weights == "linear" else distance**2), weights
    penalties = matrix(weights, "weights")
    if penalties.shape != (positions.size, positions.size):
        raise DataError(
            f"a scale of {positions.size} levels needs penalties of {positions.size} × {positions.size}"
        )
    if (
        np.isnan(penalties).any()
        or (penalties < 0).any()
        or penalties.diagonal().any()
        or not penalties.any()
    ):
        raise DataError("penalties must be 0 on the diagonal, and 0 or more elsewhere with one above 0")
    return 1 - penalties / penalties.max(), "custom penalties"
