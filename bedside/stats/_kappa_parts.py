"""What kappas are made of: weights of disagreement, and agreement expected and seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, chosen, matrix

# -- Weights of agreement between the levels of a scale -------------------------------------------------

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


# -- Kappa of tables of joint counts --------------------------------------------------------------------


def kappa_values(joint: Array, penalties: Array) -> Array:
    """Weighted kappa of tables of joint counts (… × levels × levels); NaN where chance agreement is complete.

    Args:
        penalties: for disagreement, 0 on the diagonal, in any unit. With whole numbers all sums are exact, and so a
            kappa of 0 is 0 on every machine.
    """
    n = joint.sum(axis=(-2, -1))
    observed = (joint * penalties).sum(axis=(-2, -1))
    chance = ((joint.sum(axis=-1) @ penalties) * joint.sum(axis=-2)).sum(axis=-1)
    return kappa_values_of_sums(n, observed, chance, float(penalties.max()))


def kappa_values_of_sums(n: Array, observed: Array, chance: Array, largest: float) -> Array:
    """Weighted kappa from sums over items; NaN where chance agreement is complete.

    Args:
        n: number of items.
        observed: sum of the penalties of the items' pairs of levels.
        chance: sum over both levels of their penalty times how often each rater gives his.
        largest: the largest penalty.
    """
    together = n * observed
    defined = chance > 1e-12 * n**2 * largest
    values: Array = np.divide(chance - together, chance, out=np.full(together.shape, np.nan), where=defined)
    return values


def chance_corrected(observed: Array, chance: Array) -> Array:
    """Agreement corrected for chance, (observed − chance) / (1 − chance)."""
    room = 1 - chance
    defined = room > 1e-12
    values: Array = np.divide(observed - chance, room, out=np.full(observed.shape, np.nan), where=defined)
    return values


def kappa_variances(counts: Array, weights: Array) -> tuple[float, float]:
    """Large-sample variance of (weighted) kappa, and that under no agreement beyond chance.

    Fleiss, Cohen and Everitt (1969), with agreement weights.
    """
    n = counts.sum()
    share = counts / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    chance = float(rows @ weights @ columns)
    value = float(kappa_values(counts, 1 - weights))
    margin = (weights @ columns)[:, None] + (rows @ weights)[None, :]
    room = n * (1 - chance) ** 2
    spread = (share * (weights - margin * (1 - value)) ** 2).sum() - (value - chance * (1 - value)) ** 2
    null = (np.outer(rows, columns) * (weights - margin) ** 2).sum() - chance**2
    # A variance of 0 is left with the rounding of its terms.
    whole, chance_only = (0.0 if part < 1e-14 else float(part / room) for part in (spread, null))
    return whole, chance_only
