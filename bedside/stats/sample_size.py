"""How many items are to be annotated? Sizes for a kappa's interval and for a paired difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bedside.stats._kappa_arithmetic import kappa_variances
from bedside.stats._resampling import blocks
from bedside.stats._weights import agreement_weights
from bedside.stats.arrays import (
    Alternative,
    Array,
    Scale,
    Seed,
    chosen,
    clean,
    constant,
    generator,
    levels,
    vector,
)
from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.stats.paired import ALTERNATIVES
from bedside.support.errors import DataError


@dataclass(frozen=True, slots=True)
class SampleSize:
    """A number of items or pairs.

    Attributes:
        n: the number; None where none would do.
        method: how it was found, with its assumptions, as one line.
        reached: what that many reach: the half-width, or the power.
        missing: why there is no number.
    """

    n: int | None
    method: str
    reached: float | None = None
    missing: str | None = None


def expected_table(kappa: float, shares: Any) -> Array:
    """Joint shares of two raters who use the levels alike: agreement by ``kappa``, the rest by chance.

    ``kappa · diag(shares) + (1 − kappa) · shares sharesᵀ``. Every kappa of this table, weighted or not, is
    ``kappa``.

    Args:
        kappa: 0 … below 1.
        shares: how often each level is expected, lowest first; they sum to 1.

    Raises:
        DataError: impossible values.
    """
    expected = vector(shares, "shares")
    if not 0 <= kappa < 1:
        raise DataError(f"the expected kappa must lie from 0 to below 1, not {kappa}")
    if expected.size < 2 or (expected <= 0).any() or abs(expected.sum() - 1) > 1e-6:
        raise DataError("shares must be positive and sum to 1, one a level")
    return kappa * np.diag(expected) + (1 - kappa) * np.outer(expected, expected)


def items_for_kappa(
    kappa: float,
    half_width: float,
    *,
    shares: Any,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    level: float = 0.95,
) -> SampleSize:
    """Items that two raters must both rate so that kappa's interval is no wider than ± ``half_width``.

    ``z² · n · variance / half_width²`` with the large-sample variance of Fleiss, Cohen and Everitt (1969) at the
    expected table (:func:`expected_table`).

    Args:
        kappa: the expected agreement.
        half_width: half the interval's width.
        shares: expected share of each level.
        scale: the levels; 1, 2, 3 … without it.
        weights: as for kappa.
        level: of the interval.
    """
    from scipy.special import ndtri

    if half_width <= 0:
        raise DataError("the half-width must be above 0")
    table = expected_table(kappa, shares)
    w, called = agreement_weights(weights, _levels(scale, table.shape[0]))
    variance = kappa_variances(table, w)[0]
    z = float(ndtri((1 + level) / 2))
    n = max(2, int(np.ceil(z**2 * variance / half_width**2 - 1e-9)))
    words = (
        f"two raters, kappa {kappa:g} ({called}), {table.shape[0]} levels, {level:.0%} interval of half-width "
        f"{half_width:g}, large-sample variance"
    )
    return SampleSize(n, words, z * float(np.sqrt(variance / n)))


def _levels(scale: Scale | None, k: int) -> Array:
    if scale is not None and len(scale) != k:
        raise DataError(f"{k} shares don't fit a scale of {len(scale)} levels")
    return levels(list(range(1, k + 1)) if scale is None else scale)


def simulated_half_width(
    n: int,
    kappa: float,
    *,
    shares: Any,
    raters: int = 2,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    level: float = 0.95,
    simulations: int = 200,
    seed: Seed = 0,
) -> SampleSize:
    """What half-width ``n`` items reach on average, by simulation with the jackknife interval that is reported.

    Each rater gives an item's own level with probability √kappa and otherwise draws one by ``shares``, so that every
    pair of raters has the joint shares of :func:`expected_table`.

    Args:
        raters: number of raters, all of whom rate every item; of more than two, kappa is the mean over pairs.
        simulations: simulated studies; those without an interval are left out.
        seed: seed or generator. Other arguments as for :func:`items_for_kappa`.
    """
    table = expected_table(kappa, shares)
    k = table.shape[0]
    used: Any = list(range(1, k + 1)) if scale is None else scale
    _levels(scale, k)
    if raters < 2:
        raise DataError("agreement needs at least two raters")
    rng = generator(seed)
    expected = vector(shares, "shares") / vector(shares, "shares").sum()
    names = np.array(used, dtype=object)
    widths = []
    for _ in range(simulations):
        own = rng.choice(k, size=(n, 1), p=expected)
        drawn = np.where(
            rng.random((n, raters)) < np.sqrt(kappa), own, rng.choice(k, size=(n, raters), p=expected)
        )
        interval = mean_pairwise_kappa(names[drawn], scale=used, weights=weights, level=level).interval
        if interval is not None:
            widths.append((interval.high - interval.low) / 2)
    words = f"mean half-width of {len(widths)} of {simulations} simulated studies of {n} items and {raters} raters"
    if not widths:
        return SampleSize(n, words, missing="no simulated study had an interval")
    return SampleSize(n, words, float(np.mean(widths)))


def simulated_items_for_kappa(
    kappa: float,
    half_width: float,
    *,
    shares: Any,
    raters: int,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    level: float = 0.95,
    simulations: int = 200,
    seed: int = 0,
) -> SampleSize:
    """Items that ``raters`` raters must all rate so that kappa's interval is about ± ``half_width`` on average.

    Starts from the two-rater formula and corrects it by the half-width simulated there, which falls with the root of
    the number of items. Arguments as for :func:`simulated_half_width`.
    """
    better = (
        items_for_kappa(kappa, half_width, shares=shares, scale=scale, weights=weights, level=level).n or 2
    )
    for _ in range(4):
        n = max(better, 4)
        plan = simulated_half_width(
            n, kappa, shares=shares, raters=raters, scale=scale, weights=weights, level=level,
            simulations=simulations, seed=seed,
        )  # fmt: skip
        if plan.reached is None:
            return SampleSize(None, plan.method, missing=plan.missing)
        better = int(np.ceil(n * (plan.reached / half_width) ** 2))
        if abs(better - n) <= max(1, n // 50):
            break
    words = (
        f"{raters} raters, kappa {kappa:g}, {len(expected_table(kappa, shares))} levels, {level:.0%} interval of "
        f"half-width {half_width:g}, by {simulations} simulated studies"
    )
    return SampleSize(n, words, plan.reached)


def pairs_for_difference(
    difference: float,
    sd: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    test: Literal["t", "wilcoxon"] = "t",
) -> SampleSize:
    """Pairs needed to find a mean difference with the given power.

    Args:
        difference: the smallest difference worth finding, in the unit of the ratings; its sign doesn't matter.
        sd: expected standard deviation of the differences.
        power: chance of a significant result if the difference is so large.
        alpha: level of the test; for a family of m tests, alpha / m is safe.
        alternative: ``"two-sided"``, or one-sided in the direction of the difference (``"greater"`` and
            ``"less"`` need the same number).
        test: ``"t"``, or ``"wilcoxon"``: the t test's number over the asymptotic relative efficiency 3 / π under
            normal differences.
    """
    from statsmodels.stats.power import TTestPower

    chosen("alternative", alternative, ALTERNATIVES)
    chosen("test", test, ("t", "wilcoxon"))
    if sd <= 0 or not 0 < alpha < power < 1:
        raise DataError("the standard deviation must be above 0, and 0 < alpha < power < 1")
    words = (
        f"paired {'t test' if test == 't' else 'signed-rank test'}, difference {difference:g}, standard deviation "
        f"of the differences {sd:g}, power {power:.0%}, alpha {alpha:g}, {alternative}"
    )
    if difference == 0:
        return SampleSize(None, words, missing="no number of pairs finds a difference of 0")
    effect = abs(difference) / sd
    side = "two-sided" if alternative == "two-sided" else "larger"
    efficiency = 1.0 if test == "t" else 3 / np.pi

    def reached(pairs: int) -> float:
        size = pairs * efficiency
        return (
            float(TTestPower().power(effect, size, alpha, df=size - 1, alternative=side)) if size > 1 else 0.0
        )

    low, high = 1, 2
    while not reached(high) >= power:
        low, high = high, 2 * high
        if high > 10**9:
            return SampleSize(None, words, missing="more than a thousand million pairs")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return SampleSize(high, words, reached(high))


def simulated_power(
    differences: Any,
    n: int,
    *,
    alpha: float = 0.05,
    simulations: int = 2000,
    seed: Seed = 0,
) -> SampleSize:
    """Power of the paired t test with ``n`` pairs, if differences come as in a pilot study.

    Args:
        differences: the pilot's differences; drawn from with replacement, so a small pilot promises too much or
            too little by chance.
        n: planned number of pairs, at least two.
        alpha: level of the two-sided test.
    """
    from scipy.stats import ttest_1samp

    pilot, _ = clean(differences, "differences")
    words = (
        f"paired t test with {n} pairs, {simulations} samples from a pilot of {pilot.size}, alpha {alpha:g}"
    )
    if n < 2:
        raise DataError("a paired test needs at least two pairs")
    if pilot.size < 2 or constant(pilot):
        reason = "fewer than two pilot differences" if pilot.size < 2 else "the pilot's differences are equal"
        return SampleSize(n, words, missing=reason)
    rng = generator(seed)
    significant = 0
    for rows in blocks(simulations, n):
        samples = pilot[rng.integers(0, pilot.size, size=(rows, n))]
        # Of a sample without variation the test is undefined, so nothing is found.
        varying = np.ptp(samples, axis=1) > 1e-12 * np.abs(samples).max(axis=1)
        if varying.any():
            tested = ttest_1samp(samples[varying], 0.0, axis=1, nan_policy="propagate")
            significant += int((tested.pvalue <= alpha).sum())
    return SampleSize(n, words, significant / simulations)
