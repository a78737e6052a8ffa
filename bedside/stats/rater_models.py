"""Raters who are simulated to plan a study: how two of them disagree, for an expected kappa and shares of levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats._kappa_parts import kappa_values
from bedside.stats.arrays import Array, Indices, vector

#: What raters do where they disagree.
Disagreement = Literal["guessing", "near"]
DISAGREEMENTS = ("guessing", "near")
#: The strongest correlation that is tried.
_STRONGEST = 1 - 1e-8


@dataclass(frozen=True, slots=True)
class RaterModel:
    """Raters who all use the levels alike, and of whom any two agree by the same kappa.

    Attributes:
        disagreement: ``"guessing"``: a rater gives an item's own level or draws one by the shares, as likely far from
            it as near; levels need no order. ``"near"``: a rater sees the item's place on a normal scale with a normal
            error, and the scale is cut into ordered levels, so that most disagreements are by one level.
        shares: how often each level is used, lowest first.
        strength: the chance √kappa to give the item's own level (guessing), or the correlation of what two raters see
            (near).
        table: joint shares of two raters, levels × levels.
    """

    disagreement: Disagreement
    shares: Array
    strength: float
    table: Array

    def draw(self, rng: np.random.Generator, items: int, raters: int) -> Indices:
        """Ratings as positions of levels from 0, items × raters."""
        k = self.shares.size
        if self.disagreement == "near":
            seen = np.sqrt(self.strength) * rng.standard_normal((items, 1))
            seen = seen + np.sqrt(1 - self.strength) * rng.standard_normal((items, raters))
            codes: Indices = np.searchsorted(_cuts(self.shares), seen)
            return codes
        own = rng.choice(k, size=(items, 1), p=self.shares)
        knows = rng.random((items, raters)) < self.strength
        return np.where(knows, own, rng.choice(k, size=(items, raters), p=self.shares))


def rater_model(kappa: float, shares: Any, disagreement: Disagreement, penalties: Array) -> RaterModel:
    """The raters whose weighted kappa is ``kappa``.

    Guessing raters have the joint shares ``kappa · diag(shares) + (1 − kappa) · shares sharesᵀ``, so that every kappa
    of theirs, weighted or not, is ``kappa``. Of raters who miss by a little, the joint shares are those of a bivariate
    normal distribution cut at the quantiles of the shares, with the correlation that gives the kappa asked for.

    Args:
        kappa: 0 … below 1.
        shares: how often each level is expected, lowest first; they sum to 1.
        disagreement: what raters do where they disagree.
        penalties: of the kappa, for disagreement, levels × levels.

    Raises:
        DataError: impossible values.
    """
    one_of(disagreement, DISAGREEMENTS, "disagreement", DataError)
    expected = vector(shares, "shares")
    if not 0 <= kappa < 1:
        raise DataError(f"the expected kappa must lie from 0 to below 1, not {kappa}")
    if expected.size < 2 or (expected <= 0).any() or abs(expected.sum() - 1) > 1e-6:
        raise DataError("shares must be positive and sum to 1, one a level")
    expected = expected / expected.sum()
    if disagreement == "guessing":
        table = kappa * np.diag(expected) + (1 - kappa) * np.outer(expected, expected)
        return RaterModel(disagreement, expected, float(np.sqrt(kappa)), table)
    correlation = _correlation(kappa, expected, penalties)
    return RaterModel(disagreement, expected, correlation, _normal_table(expected, correlation))


def _correlation(kappa: float, shares: Array, penalties: Array) -> float:
    """The correlation of what two raters see that gives their levels this kappa."""
    from scipy.optimize import brentq

    def excess(correlation: float) -> float:
        return float(kappa_values(_normal_table(shares, correlation), penalties)) - kappa

    if kappa == 0:
        return 0.0
    if excess(_STRONGEST) <= 0:
        raise DataError(f"an expected kappa of {kappa} is too near to 1 to plan for", todo="expect a lower kappa")
    return float(brentq(excess, 0.0, _STRONGEST, xtol=1e-10))


def _normal_table(shares: Array, correlation: float) -> Array:
    """Joint shares of two raters whose views are normal with this correlation, cut at the quantiles of the shares."""
    from scipy.stats import multivariate_normal

    k, cuts = shares.size, _cuts(shares)
    below = np.zeros((k + 1, k + 1))
    below[:, k] = below[k] = np.concatenate([[0.0], np.cumsum(shares)])
    places = np.stack(np.meshgrid(cuts, cuts, indexing="ij"), axis=-1)
    covariance = [[1.0, correlation], [correlation, 1.0]]
    below[1:k, 1:k] = multivariate_normal.cdf(places, mean=[0.0, 0.0], cov=covariance)
    table: Array = np.clip(np.diff(np.diff(below, axis=0), axis=1), 0.0, None)
    return table


def _cuts(shares: Array) -> Array:
    """The quantiles of the normal distribution that divide it by the shares."""
    from scipy.special import ndtri

    cuts: Array = ndtri(np.cumsum(shares)[:-1])
    return cuts
