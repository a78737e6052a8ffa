"""Do two raters agree? Percent agreement, kappa, Scott's pi, correlation, error, Bland–Altman.

``a`` and ``b`` hold one rating an item, in the same order; items that miss either rating are left out and
counted. Statistics on a scale take all its levels, also those that nobody used. Gwet's AC1 and AC2 stand in
:mod:`bedside.stats.many_raters` and take two raters as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bedside.stats._resampling import (
    COEFFICIENT_INTERVALS,
    CoefficientInterval,
    ResamplingPlan,
    Statistic,
    aligned,
)
from bedside.stats._weights import penalties
from bedside.stats.arrays import (
    Array,
    Indices,
    Scale,
    Seed,
    chosen,
    coded,
    constant,
    levels,
    matrix,
    pairs,
    scale_of,
    vector,
)
from bedside.stats.intervals import mean_bootstrap, wilson
from bedside.stats.result import Interval, Result
from bedside.support.errors import DataError

KappaInterval = Literal["jackknife", "bca", "percentile", "analytic"]


def _paired_codes(
    a: Any, b: Any, scale: Scale | None, clusters: Any
) -> tuple[Scale, Indices, Indices, Any, int]:
    """Scale, codes of both raters without missing pairs, their clusters, and how many were dropped."""
    first, second = np.asarray(a, dtype=object), np.asarray(b, dtype=object)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(
            f"two raters need two lists of equal length, not {first.shape} and {second.shape}",
            todo="give None where a rating is missing",
        )
    used: Any = scale_of(first, second) if scale is None else scale
    if scale is not None:
        levels(scale)
    x, y = (
        coded(first, used, "ratings of the first rater"),
        coded(second, used, "ratings of the second rater"),
    )
    there = (x >= 0) & (y >= 0)
    member = None if clusters is None else aligned(clusters, first.size)[there]
    return used, x[there], y[there], member, int(first.size - there.sum())


def _shares(joint: Array) -> Array:
    """Joint counts over their sum; NaN where a table is empty."""
    total = joint.sum(axis=(-2, -1), keepdims=True)
    shares: Array = np.divide(joint, total, out=np.full(joint.shape, np.nan), where=total > 0)
    return shares


def kappa_values(joint: Array, penalties: Array) -> Array:
    """Weighted kappa of tables of joint counts (… × levels × levels); NaN where chance agreement is complete.

    Args:
        penalties: for disagreement, 0 on the diagonal, in any unit. With whole numbers all sums are exact, and so a
            kappa of 0 is 0 on every machine.
    """
    n = joint.sum(axis=(-2, -1))
    observed = n * (joint * penalties).sum(axis=(-2, -1))
    chance = ((joint.sum(axis=-1) @ penalties) * joint.sum(axis=-2)).sum(axis=-1)
    defined = chance > 1e-12 * n**2 * penalties.max()
    values: Array = np.divide(chance - observed, chance, out=np.full(observed.shape, np.nan), where=defined)
    return values


def chance_corrected(observed: Array, chance: Array) -> Array:
    """Agreement corrected for chance, (observed − chance) / (1 − chance)."""
    room = 1 - chance
    defined = room > 1e-12
    values: Array = np.divide(observed - chance, room, out=np.full(observed.shape, np.nan), where=defined)
    return values


def _pi_values(joint: Array) -> Array:
    share = _shares(joint)
    pooled = (share.sum(axis=-1) + share.sum(axis=-2)) / 2
    return chance_corrected(np.trace(share, axis1=-2, axis2=-1), (pooled**2).sum(axis=-1))


def joint_counts(a: Any, b: Any, scale: Scale) -> tuple[Array, int]:
    """Counts of items by the first rater's level (row) and the second's (column), and how many were dropped.

    Raises:
        DataError: unequal lengths, or a rating off the scale.
    """
    used, x, y, _, dropped = _paired_codes(a, b, scale, None)
    return _table(x, y, len(used)), dropped


def _table(x: Indices, y: Indices, k: int) -> Array:
    counts: Array = np.bincount(x * k + y, minlength=k * k).reshape(k, k).astype(np.float64)
    return counts


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


def kappa(
    a: Any,
    b: Any,
    *,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    interval: KappaInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Cohen's kappa of two raters, unweighted or weighted (Cohen 1960, 1968).

    Args:
        scale: all levels from lowest to highest; required where weighted. Numeric levels are weighted by their
            values, labels by their order.
        weights: ``"unweighted"``, ``"linear"``, ``"quadratic"``, or a table of penalties for disagreement.
        interval: ``"jackknife"`` leaves out each item or cluster in turn (t on Fisher's scale; it covers best);
            ``"bca"`` and ``"percentile"`` are bootstraps over items or clusters; ``"analytic"`` is normal with the
            standard error of Fleiss, Cohen and Everitt (1969).
        clusters: for each item the cluster it belongs to, such as its transcript; left out or drawn whole. The
            standard error is then the interval's, and there is no p-value.
        resamples, seed: of the bootstrap.

    Without clusters the standard error is Fleiss, Cohen and Everitt's; the statistic is z with their standard error
    under no agreement beyond chance, and p is two-sided. Undefined, and missing, where both raters put every item
    on the same one level.
    """
    if scale is None and not (isinstance(weights, str) and weights == "unweighted"):
        raise DataError("weighted kappa needs the scale", todo="give all its levels, also those nobody used")
    used, x, y, member, dropped = _paired_codes(a, b, scale, clusters)
    return _kappa(
        _table(x, y, len(used)), used, weights, ResamplingPlan(interval, clusters, resamples, level, seed), dropped,
        None if member is None else (x * len(used) + y, member),
    )  # fmt: skip


def kappa_from_counts(
    counts: Any,
    *,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    interval: KappaInterval = "jackknife",
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """:func:`kappa` from a square table of joint counts (rows: first rater); levels 1, 2, 3 … without ``scale``."""
    table = _square(counts)
    used = list(range(1, table.shape[0] + 1)) if scale is None else scale
    if len(used) != table.shape[0]:
        raise DataError(f"a scale of {len(used)} levels doesn't fit a table of {table.shape[0]}")
    return _kappa(table, used, weights, ResamplingPlan(interval, None, resamples, level, seed), 0, None)


def _square(counts: Any) -> Array:
    table = matrix(counts, "counts")
    if table.shape[0] != table.shape[1] or np.isnan(table).any() or (table < 0).any() or (table % 1).any():
        raise DataError("joint counts must be a square table of whole numbers, 0 or more")
    return table


def _kappa(
    counts: Array,
    scale: Scale,
    weights: str | Any,
    plan: ResamplingPlan,
    dropped: int,
    clustered: tuple[Indices, Any] | None,
) -> Result:
    interval, level = plan.interval, plan.level
    chosen("interval", interval, (*COEFFICIENT_INTERVALS, "analytic"))
    if clustered is not None and interval == "analytic":
        raise DataError(
            "the analytic interval takes items as independent", todo="use the jackknife with clusters"
        )
    k, n = counts.shape[0], int(counts.sum())
    positions = levels(scale) if k > 1 else np.zeros(1)
    disagreement, called = penalties(weights, positions) if k > 1 else (np.zeros((1, 1)), "unweighted")
    w = 1 - disagreement / (disagreement.max() or 1.0)
    name = "Cohen's kappa" if called == "unweighted" else f"Cohen's kappa ({called} weights)"
    words = f"{name} on {k} levels"
    options = {**plan.options(), "weights": called, "scale": tuple(scale)}
    if n == 0:
        return Result(name, words, dropped=dropped, options=options, missing="no item is rated by both")
    share = counts / n
    details: dict[str, float | None] = {
        "observed agreement": float((share * w).sum()),
        "chance agreement": float(share.sum(axis=1) @ w @ share.sum(axis=0)),
        "percent agreement": float(np.trace(share)),
    }
    estimate = float(kappa_values(counts, disagreement))
    if np.isnan(estimate):
        return Result(
            name, words, n=n, dropped=dropped, details=details, options=options,
            missing="both raters put every item on the same level",
        )  # fmt: skip
    variance, null = kappa_variances(counts, w)
    error = float(np.sqrt(variance))
    if clustered is not None:
        bounds, spread, reason, remarks = _run(
            plan, counts, lambda joint: kappa_values(joint, disagreement), clustered
        )
        remarks = ("no p-value: items within a cluster are not independent", *remarks)
        return Result(
            name,
            words,
            estimate,
            bounds,
            None,
            None,
            n,
            dropped,
            spread,
            None,
            details,
            options,
            reason,
            remarks,
        )
    details["standard error under chance"] = float(np.sqrt(null))
    if interval == "analytic":
        bounds, reason = _analytic(estimate, error, level)
        remarks = ()
    else:
        bounds, _, reason, remarks = _run(plan, counts, lambda joint: kappa_values(joint, disagreement), None)
    z = estimate / float(np.sqrt(null)) if null > 0 else None
    p = None if z is None else two_sided(z)
    return Result(
        name, words, estimate, bounds, z, p, n, dropped, error, None, details, options, reason, remarks
    )


def _analytic(estimate: float, error: float, level: float) -> tuple[Interval | None, str | None]:
    from scipy.special import ndtri

    if error == 0.0:
        return None, "no interval: the standard error is 0"
    half = float(ndtri((1 + level) / 2)) * error
    words = "analytic standard error, normal"
    return Interval(max(-1.0, estimate - half), min(1.0, estimate + half), level, words), None


def two_sided(z: float) -> float:
    """Two-sided p of a standard normal deviate."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))


def _run(
    plan: ResamplingPlan, counts: Array, statistic: Statistic, clustered: tuple[Indices, Any] | None
) -> tuple[Interval | None, float | None, str | None, tuple[str, ...]]:
    """Interval, standard error, why there is no interval, and remarks, of a statistic of joint counts."""
    k = counts.shape[0]
    if clustered is None:
        cells = np.flatnonzero(counts)
        multiplicity = counts.ravel()[cells]
        member = None
    else:
        cells, member = clustered
        multiplicity = np.ones(cells.size)
    spread = np.zeros((cells.size, k * k))
    spread[np.arange(cells.size), cells] = 1.0
    return plan.run(lambda weights: statistic((weights @ spread).reshape(-1, k, k)), multiplicity, member)


def scott_pi(
    a: Any,
    b: Any,
    *,
    scale: Scale | None = None,
    interval: CoefficientInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Scott's (1955) pi: agreement corrected by the pooled distribution of both raters.

    Arguments as for :func:`kappa`, whose intervals it shares, but for the analytic one.
    """
    chosen("interval", interval, COEFFICIENT_INTERVALS)
    used, x, y, member, dropped = _paired_codes(a, b, scale, clusters)
    counts = _table(x, y, len(used))
    n = x.size
    words = f"Scott's pi on {len(used)} levels"
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    options = {**plan.options(), "scale": tuple(used)}
    if n == 0:
        return Result(
            "Scott's pi", words, dropped=dropped, options=options, missing="no item is rated by both"
        )
    estimate = float(_pi_values(counts))
    if np.isnan(estimate):
        return Result(
            "Scott's pi", words, n=n, dropped=dropped, options=options,
            missing="both raters put every item on the same level",
        )  # fmt: skip
    clustered = None if member is None else (x * len(used) + y, member)
    bounds, error, reason, remarks = _run(plan, counts, _pi_values, clustered)
    return Result(
        "Scott's pi",
        words,
        estimate,
        bounds,
        n=n,
        dropped=dropped,
        standard_error=error,
        options=options,
        missing=reason,
        remarks=remarks,
    )


def percent_agreement(
    a: Any,
    b: Any,
    *,
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Share of items on which both raters say the same, 0 … 1.

    Args:
        clusters: for each item the cluster it belongs to; the interval is then a BCa bootstrap over clusters,
            else Wilson's.
    """
    _, x, y, member, dropped = _paired_codes(a, b, None, clusters)
    same = (x == y).astype(float)
    if member is None:
        result = wilson(int(same.sum()), same.size, level=level)
    else:
        result = mean_bootstrap(
            same, method="bca", clusters=member, resamples=resamples, level=level, seed=seed
        )
    return replace(
        result,
        name="percent agreement",
        method="share of items rated the same",
        dropped=dropped,
        details={},
        missing="no item is rated by both" if same.size == 0 else result.missing,
    )


def correlation(
    a: Any,
    b: Any,
    *,
    kind: Literal["spearman", "kendall", "pearson"] = "spearman",
    level: float = 0.95,
) -> Result:
    """Spearman's rho, Kendall's tau-b or Pearson's r of two raters.

    Args:
        kind: ``"spearman"`` (p from t with n − 2 degrees of freedom), ``"kendall"`` (p exact without ties below
            50 items, else asymptotic), ``"pearson"`` (p from t).

    Intervals on Fisher's scale: standard error 1 / √(n − 3) for Pearson, √((1 + r²/2) / (n − 3)) for Spearman and
    √(.437 / (n − 4)) for Kendall (Bonett and Wright 2000).
    """
    from scipy import stats
    from scipy.special import ndtri

    chosen("kind", kind, ("spearman", "kendall", "pearson"))
    x, y, dropped = pairs(a, b)
    n = x.size
    tied = np.unique(x).size < n or np.unique(y).size < n
    exact = kind == "kendall" and not tied and n < 50
    name = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b", "pearson": "Pearson's r"}[kind]
    words = f"{name}, two-sided, {'exact' if exact else 'asymptotic' if kind == 'kendall' else 't'}"
    options = {"kind": kind, "level": level}
    if n < 2 or constant(x) or constant(y):
        reason = "fewer than two items" if n < 2 else "a rater gives the same value to every item"
        return Result(name, words, n=n, dropped=dropped, options=options, missing=reason)
    if n == 2:
        return Result(name, words, n=n, dropped=dropped, options=options, missing="only two items")
    if kind == "kendall":
        found = stats.kendalltau(
            x,
            y,
            method="exact" if exact else "asymptotic",
            variant="b",
            alternative="two-sided",
            nan_policy="propagate",
        )
        variance, fewest = 0.437, 4
    else:
        # Of ranks: its sums are of whole numbers or halves, and so a correlation of 0 is 0 on every machine.
        test = stats.spearmanr if kind == "spearman" else stats.pearsonr
        found = test(x, y, alternative="two-sided")
        variance, fewest = 1.0, 3
    estimate, p = float(found.statistic), float(found.pvalue)
    if kind == "spearman":
        variance = 1 + estimate**2 / 2
    reason_none = None
    bounds = None
    if n <= fewest or abs(estimate) > 1 - 1e-12:
        reason_none = "no interval: " + ("too few items" if n <= fewest else "the correlation is perfect")
    else:
        half = float(ndtri((1 + level) / 2) * np.sqrt(variance / (n - fewest)))
        middle = np.arctanh(estimate)
        bounds = Interval(
            float(np.tanh(middle - half)), float(np.tanh(middle + half)), level, "Fisher's scale"
        )
    return Result(
        name, words, estimate, bounds, estimate, p, n, dropped, options=options, missing=reason_none
    )


def mean_absolute_error(
    a: Any,
    b: Any,
    *,
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    r"""Mean of \|a − b\|, in the unit of the ratings, with a BCa bootstrap interval over items or clusters."""
    first, second = vector(a, "a"), vector(b, "b")
    pairs(first, second)
    result = mean_bootstrap(
        np.abs(first - second), method="bca", clusters=clusters, resamples=resamples, level=level, seed=seed
    )
    return replace(
        result,
        name="mean absolute error",
        method=f"mean absolute difference of two raters, {level:.0%} BCa bootstrap interval",
    )


def bias(a: Any, b: Any, *, level: float = 0.95) -> Result:
    """Mean of a − b, in the unit of the ratings: how much higher the first rater rates; with t interval."""
    from bedside.stats import paired

    return replace(paired.t_test(a, b, level=level), name="bias", effect=None)


def bland_altman(a: Any, b: Any, *, multiplier: float = 1.96, level: float = 0.95) -> Result:
    """Bias of a − b and limits of agreement, bias ± ``multiplier`` standard deviations (Bland and Altman 1986).

    Estimate and interval are the bias with its t interval. Details hold both limits and their intervals, with
    the standard error √(sd² (1/n + multiplier² / (2 (n − 1)))) and a t quantile (Bland and Altman 1999).
    """
    from scipy.special import stdtrit

    result = replace(
        bias(a, b, level=level), method=f"Bland–Altman limits of agreement, {multiplier} standard deviations",
        options={"multiplier": multiplier, "level": level}, p=None, statistic=None,
    )  # fmt: skip
    spread = result.details.get("standard deviation of the differences")
    if result.estimate is None or spread is None:
        return result
    n = result.n
    half = float(stdtrit(n - 1, (1 + level) / 2) * spread * np.sqrt(1 / n + multiplier**2 / (2 * (n - 1))))
    lower, upper = result.estimate - multiplier * spread, result.estimate + multiplier * spread
    limits = {
        "lower limit": lower, "lower limit, low": lower - half, "lower limit, high": lower + half,
        "upper limit": upper, "upper limit, low": upper - half, "upper limit, high": upper + half,
    }  # fmt: skip
    return replace(result, details={**result.details, **limits})
