"""Do two raters agree? Percent agreement, kappa, Scott's pi, correlation, error, Bland–Altman.

``a`` and ``b`` hold one rating an item, in the same order; items that miss either rating are left out and
counted. Statistics on a scale take all its levels, also those that nobody used. Gwet's AC1 and AC2 stand in
:mod:`bedside.stats.many_raters` and take two raters as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats import sampled_means
from bedside.stats._blocks import deviate, two_sided
from bedside.stats._kappa_parts import chance_corrected, kappa_values, kappa_variances, penalties
from bedside.stats._resampling import (
    COEFFICIENT_INTERVALS,
    CoefficientInterval,
    ResamplingPlan,
    Statistic,
    StatisticOfTotals,
    aligned,
    leave_one_out,
)
from bedside.stats.arrays import Array, Indices, Scale, Seed, coded, constant, levels, matrix, pairs, scale_of, vector
from bedside.stats.intervals import mean_bootstrap, mean_t, wilson
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems

# -- Two raters' ratings of the same items --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _JointRatings:
    """Two raters' ratings of the items that both rated.

    Attributes:
        scale: the levels.
        x, y: positions in the scale of the first and the second rater's ratings, items.
        members: the cluster of each item; None without clusters.
        dropped: items that miss a rating.
    """

    scale: Scale
    x: Indices
    y: Indices
    members: Any
    dropped: int

    @property
    def cells(self) -> Indices:
        """The position of each item in the flattened joint counts."""
        return self.x * len(self.scale) + self.y

    def counts(self) -> _JointCounts:
        """How many items each pair of levels was given."""
        k = len(self.scale)
        counts = np.bincount(self.cells, minlength=k * k).reshape(k, k).astype(np.float64)
        clustered = None if self.members is None else (self.cells, self.members)
        return _JointCounts(counts, self.scale, self.dropped, clustered)


@dataclass(frozen=True, slots=True)
class _JointCounts:
    """Counts of items by the first rater's level (row) and the second's (column).

    Attributes:
        counts: levels × levels.
        scale: the levels.
        dropped: items that miss a rating.
        clustered: the cell and the cluster of each item; None without clusters.
    """

    counts: Array
    scale: Scale
    dropped: int = 0
    clustered: tuple[Indices, Any] | None = None

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    def blank(self, name: str, plan: ResamplingPlan, **options: Any) -> Result:
        """What a statistic of the counts is called, and with which options it is made."""
        return Result(
            name=name, method=f"{name} on {len(self.scale)} levels", n=self.n, dropped=self.dropped,
            options={**plan.options(), **options, "scale": tuple(self.scale)},
        )  # fmt: skip

    def filled(self, blank: Result, estimate: float, statistic: Statistic, plan: ResamplingPlan) -> Result:
        """A result with its estimate and the interval of a statistic of joint counts (… × levels × levels)."""
        k = self.counts.shape[0]
        members = None
        if self.clustered is None:
            cells = np.flatnonzero(self.counts)
            multiplicity = self.counts.ravel()[cells]
        else:
            cells, members = self.clustered
            multiplicity = np.ones(cells.size)
        spread = np.zeros((cells.size, k * k))
        spread[np.arange(cells.size), cells] = 1.0
        return plan.filled(
            blank,
            estimate,
            StatisticOfTotals(spread, lambda sums: statistic(sums.reshape(-1, k, k))),
            multiplicity=multiplicity,
            members=members,
        )


def _joint_ratings(a: Any, b: Any, scale: Scale | None, clusters: Any) -> _JointRatings:
    """Two lists of ratings as codes, without the items that miss one.

    Raises:
        DataError: unequal lengths, or a rating off the scale.
    """
    first, second = np.asarray(a, dtype=object), np.asarray(b, dtype=object)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(
            f"two raters need two lists of equal length, not {first.shape} and {second.shape}",
            todo="give None where a rating is missing",
        )
    used: Any = scale_of(first, second) if scale is None else scale
    if scale is not None:
        levels(scale)
    x = coded(first, used, "ratings of the first rater")
    y = coded(second, used, "ratings of the second rater")
    both = (x >= 0) & (y >= 0)
    members = None if clusters is None else aligned(clusters, first.size)[both]
    return _JointRatings(used, x[both], y[both], members, int(first.size - both.sum()))


# -- Do two raters agree? Percent agreement -------------------------------------------------------------

KappaInterval = Literal["jackknife", "bca", "percentile", "analytic"]


#: Why a statistic has no value.
_NO_COMMON_ITEM = "no item is rated by both"
_SAME_LEVEL = "both raters put every item on the same level"


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
    joint = _joint_ratings(a, b, scale, clusters).counts()
    return _kappa(joint, weights, ResamplingPlan(interval, clusters, resamples, level, seed))


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
    return _kappa(_JointCounts(table, used), weights, ResamplingPlan(interval, None, resamples, level, seed))


def _square(counts: Any) -> Array:
    table = matrix(counts, "counts")
    if table.shape[0] != table.shape[1] or np.isnan(table).any() or (table < 0).any() or (table % 1).any():
        raise DataError("joint counts must be a square table of whole numbers, 0 or more")
    return table


def _kappa(joint: _JointCounts, weights: str | Any, plan: ResamplingPlan) -> Result:
    interval, counts, k = plan.interval, joint.counts, joint.counts.shape[0]
    one_of(interval, (*COEFFICIENT_INTERVALS, "analytic"), "interval", DataError)
    if joint.clustered is not None and interval == "analytic":
        raise DataError("the analytic interval takes items as independent", todo="use the jackknife with clusters")
    positions = levels(joint.scale) if k > 1 else np.zeros(1)
    disagreement, called = penalties(weights, positions) if k > 1 else (np.zeros((1, 1)), "unweighted")
    w = 1 - disagreement / (disagreement.max() or 1.0)
    name = "Cohen's kappa" if called == "unweighted" else f"Cohen's kappa ({called} weights)"
    blank = joint.blank(name, plan, weights=called)
    if not joint.n:
        return blank.no_value(_NO_COMMON_ITEM)
    share = counts / joint.n
    details: dict[str, float | None] = {
        "observed agreement": float((share * w).sum()),
        "chance agreement": float(share.sum(axis=1) @ w @ share.sum(axis=0)),
        "percent agreement": float(np.trace(share)),
    }
    blank = replace(blank, details=details)
    estimate = float(kappa_values(counts, disagreement))
    if np.isnan(estimate):
        return blank.no_value(_SAME_LEVEL)

    def statistic(tables: Array) -> Array:
        return kappa_values(tables, disagreement)

    if joint.clustered is not None:
        result = joint.filled(blank, estimate, statistic, plan)
        remark = "no p-value: items within a cluster are not independent"
        return replace(result, remarks=(remark, *result.remarks))
    variance, null = kappa_variances(counts, w)
    error = float(np.sqrt(variance))
    blank = replace(blank, details={**details, "standard error under chance": float(np.sqrt(null))})
    if interval == "analytic":
        result = _with_analytic_interval(blank, estimate, error, plan.level)
    else:
        result = joint.filled(blank, estimate, statistic, plan)
    z = estimate / float(np.sqrt(null)) if null > 0 else None
    return replace(result, statistic=z, p=None if z is None else two_sided(z), standard_error=error)


def _with_analytic_interval(blank: Result, estimate: float, error: float, level: float) -> Result:
    """A result with its estimate, and the normal interval of this standard error."""
    result = replace(blank, estimate=estimate)
    if error == 0.0:
        return replace(result, missing="no interval: the standard error is 0")
    half = deviate(level) * error
    low, high = max(-1.0, estimate - half), min(1.0, estimate + half)
    return replace(result, interval=Interval(low, high, level, "analytic standard error, normal"))


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
    one_of(interval, COEFFICIENT_INTERVALS, "interval", DataError)
    joint = _joint_ratings(a, b, scale, clusters).counts()
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    blank = joint.blank("Scott's pi", plan)
    if not joint.n:
        return blank.no_value(_NO_COMMON_ITEM)
    estimate = float(_pi_values(joint.counts))
    if np.isnan(estimate):
        return blank.no_value(_SAME_LEVEL)
    return joint.filled(blank, estimate, _pi_values, plan)


def _pi_values(joint: Array) -> Array:
    """Scott's pi of tables of joint counts (… × levels × levels); NaN where undefined."""
    total = joint.sum(axis=(-2, -1), keepdims=True)
    share: Array = np.divide(joint, total, out=np.full(joint.shape, np.nan), where=total > 0)
    pooled = (share.sum(axis=-1) + share.sum(axis=-2)) / 2
    return chance_corrected(np.trace(share, axis1=-2, axis2=-1), (pooled**2).sum(axis=-1))


def percent_agreement(
    a: Any, b: Any, *, clusters: Any = None, resamples: int = 2000, level: float = 0.95, seed: Seed = 0
) -> Result:
    """Share of items on which both raters say the same, 0 … 1.

    Args:
        clusters: for each item the cluster it belongs to; the interval is then a BCa bootstrap over clusters,
            else Wilson's.
    """
    joint = _joint_ratings(a, b, None, clusters)
    same = (joint.x == joint.y).astype(float)
    if joint.members is None:
        result = wilson(int(same.sum()), same.size, level=level)
    else:
        result = mean_bootstrap(same, method="bca", clusters=joint.members, resamples=resamples, level=level, seed=seed)
    result = replace(
        result, name="percent agreement", method="share of items rated the same", dropped=joint.dropped, details={}
    )
    return result if same.size else result.no_value(_NO_COMMON_ITEM)


def correlation(
    a: Any, b: Any, *, kind: Literal["spearman", "kendall", "pearson"] = "spearman", level: float = 0.95
) -> Result:
    """Spearman's rho, Kendall's tau-b or Pearson's r of two raters.

    Args:
        kind: ``"spearman"`` (p from t with n − 2 degrees of freedom), ``"kendall"`` (p exact without ties below
            50 items, else asymptotic), ``"pearson"`` (p from t).

    Spearman's is computed of whole numbers, twice the ranks: a correlation of 0 is 0 on every machine.
    Intervals on Fisher's scale: standard error 1 / √(n − 3) for Pearson, √((1 + r²/2) / (n − 3)) for Spearman and
    √(.437 / (n − 4)) for Kendall (Bonett and Wright 2000).
    """
    one_of(kind, ("spearman", "kendall", "pearson"), "choice", DataError, where="`kind`")
    x, y, dropped = pairs(a, b)
    n = x.size
    tied = np.unique(x).size < n or np.unique(y).size < n
    exact = kind == "kendall" and not tied and n < 50
    name = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b", "pearson": "Pearson's r"}[kind]
    blank = Result(
        name=name,
        method=f"{name}, two-sided, {'exact' if exact else 'asymptotic' if kind == 'kendall' else 't'}",
        n=n,
        dropped=dropped,
        options={"kind": kind, "level": level},
    )
    if n < 2:
        return blank.no_value("fewer than two items")
    if constant(x) or constant(y):
        return blank.no_value("a rater gives the same value to every item")
    if n == 2:
        return blank.no_value("only two items")
    if kind == "spearman":
        estimate, p = _rank_correlation(x, y)
    else:
        from scipy import stats

        how = {"method": "exact" if exact else "asymptotic", "variant": "b", "nan_policy": "propagate"}
        tested = stats.kendalltau(x, y, **how) if kind == "kendall" else stats.pearsonr(x, y)
        estimate, p = float(tested.statistic), float(tested.pvalue)
    result = replace(blank, estimate=estimate, statistic=estimate, p=p)
    fewest = 4 if kind == "kendall" else 3
    if n <= fewest or abs(estimate) > 1 - 1e-12:
        reason = "too few items" if n <= fewest else "the correlation is perfect"
        return replace(result, missing=f"no interval: {reason}")
    variance = {"kendall": 0.437, "pearson": 1.0, "spearman": 1 + estimate**2 / 2}[kind]
    return replace(result, interval=_fisher_interval(estimate, np.sqrt(variance / (n - fewest)), level))


def _rank_correlation(x: Array, y: Array) -> tuple[float, float]:
    """Spearman's rho, and its two-sided p from t; scipy's would load all of its statistics."""
    from scipy.special import stdtr

    first, second = _centred_ranks(x), _centred_ranks(y)
    rho = float((first * second).sum() / np.sqrt(float((first**2).sum()) * float((second**2).sum())))
    freedom = x.size - 2
    statistic = np.inf if abs(rho) >= 1 else abs(rho) * np.sqrt(freedom / ((1 + rho) * (1 - rho)))
    return rho, 2 * float(stdtr(freedom, -statistic))


def _centred_ranks(values: Array) -> Indices:
    """Twice the mean ranks, less their mean: whole numbers."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Indices = (2 * counts.cumsum() - counts + 1)[places] - (values.size + 1)
    return ranks


def _fisher_interval(estimate: float, error: float, level: float) -> Interval:
    """A normal interval on Fisher's scale, where the standard error is ``error``."""
    half = deviate(level) * error
    middle = np.arctanh(estimate)
    return Interval(float(np.tanh(middle - half)), float(np.tanh(middle + half)), level, "Fisher's scale")


def mean_absolute_error(
    a: Any, b: Any, *, clusters: Any = None, resamples: int = 2000, level: float = 0.95, seed: Seed = 0
) -> Result:
    r"""Mean of \|a − b\|, in the unit of the ratings, with a BCa bootstrap interval over items or clusters.

    Where ``clusters`` says how items were drawn with unequal chances, it is weighted, with the jackknife's t interval.
    """
    first, second = vector(a, "a"), vector(b, "b")
    pairs(first, second)
    if isinstance(clusters, SampledItems):
        return replace(sampled_means.mean(np.abs(first - second), clusters, level=level), name="mean absolute error")
    result = mean_bootstrap(
        np.abs(first - second), method="bca", clusters=clusters, resamples=resamples, level=level, seed=seed
    )
    return replace(
        result,
        name="mean absolute error",
        method=f"mean absolute difference of two raters, {level:.0%} BCa bootstrap interval",
    )


def bias(a: Any, b: Any, *, clusters: Any = None, level: float = 0.95) -> Result:
    """Mean of a − b, in the unit of the ratings: how much higher the first rater rates; with t interval.

    Args:
        clusters: for each item the cluster it belongs to; the interval is then that of :func:`mean_t` over clusters,
            and there is no p-value. Or how items were drawn with unequal chances: the mean is then weighted.
    """
    from bedside.stats import paired

    if isinstance(clusters, SampledItems):
        weighted = sampled_means.mean(vector(a, "a") - vector(b, "b"), clusters, level=level)
        return replace(weighted, name="bias", method="weighted mean of differences")
    result = replace(paired.t_test(a, b, level=level), name="bias", effect=None)
    if clusters is None:
        return result
    mean = mean_t(vector(a, "a") - vector(b, "b"), clusters=clusters, level=level)
    return replace(
        result, method=f"{mean.method} of differences", interval=mean.interval, p=None, statistic=None,
        standard_error=mean.standard_error, missing=mean.missing, options=mean.options,
    )  # fmt: skip


def bland_altman(a: Any, b: Any, *, multiplier: float = 1.96, clusters: Any = None, level: float = 0.95) -> Result:
    """Bias of a − b and limits of agreement, bias ± ``multiplier`` standard deviations (Bland and Altman 1986).

    Estimate and interval are the bias with its t interval. Details hold both limits and their intervals, with the
    standard error √(sd² (1/n + multiplier² / (2 (n − 1)))) and a t quantile (Bland and Altman 1999). With clusters of
    items the standard error is the jackknife's over clusters, and t has one degree of freedom less than clusters.
    Where ``clusters`` says how items were drawn with unequal chances, means and deviations are weighted.
    """
    from scipy.special import stdtrit

    result = replace(
        bias(a, b, clusters=clusters, level=level),
        method=f"Bland–Altman limits of agreement, {multiplier} standard deviations",
        options={"multiplier": multiplier, "clusters": clusters is not None, "level": level}, p=None, statistic=None,
    )  # fmt: skip
    if isinstance(clusters, SampledItems):
        return _limits_of_sample(result, vector(a, "a") - vector(b, "b"), clusters)
    spread = result.details.get("standard deviation of the differences")
    if result.estimate is None or spread is None:
        return result
    n, tail = result.n, (1 + level) / 2
    details = dict(result.details)
    for name, sign in (("lower limit", -1), ("upper limit", 1)):
        limit = result.estimate + sign * multiplier * spread
        half: float | None = float(stdtrit(n - 1, tail) * spread * np.sqrt(1 / n + multiplier**2 / (2 * (n - 1))))
        if clusters is not None:
            half = _limit_half_width(a, b, clusters, sign * multiplier, tail)
        details[name] = limit
        details |= {
            f"{name}, low": None if half is None else limit - half,
            f"{name}, high": None if half is None else limit + half,
        }
    return replace(result, details=details)


def _limits_of_sample(bias_of_sample: Result, differences: Array, sample: SampledItems) -> Result:
    """Limits of agreement of items that were drawn with unequal chances, beside their bias."""
    multiplier, level = (float(bias_of_sample.options[name]) for name in ("multiplier", "level"))
    details = dict(bias_of_sample.details)
    for name, sign in (("lower limit", -1), ("upper limit", 1)):
        limit = sampled_means.limit_of_agreement(differences, sample, multiplier=sign * multiplier, level=level)
        bounds = limit.interval
        details[name] = limit.estimate
        details |= {f"{name}, low": bounds.low if bounds else None, f"{name}, high": bounds.high if bounds else None}
    return replace(bias_of_sample, details=details)


def _limit_half_width(a: Any, b: Any, clusters: Any, multiplier: float, tail: float) -> float | None:
    """Half the width of the interval of ``mean + multiplier · sd`` of a − b by clusters; None where it is undefined."""
    from scipy.special import stdtrit

    differences = vector(a, "a") - vector(b, "b")
    present = ~np.isnan(differences)
    kept = differences[present]
    # From their mean on: a variance from sums loses no digits then.
    from_mean = kept - kept.mean()

    def limits(sums: Array) -> Array:
        n, total, squares = sums.T
        several = n > 1
        room = np.where(several, n - 1, 1.0)
        variance = np.maximum(squares - total**2 / np.where(several, n, 1.0), 0.0) / room
        return np.where(several, total / np.where(several, n, 1.0) + multiplier * np.sqrt(variance), np.nan)

    parts = np.column_stack([np.ones(kept.size), from_mean, from_mean**2])
    left_out = leave_one_out(
        StatisticOfTotals(parts, limits), np.ones(kept.size), clusters=aligned(clusters, differences.size)[present]
    )
    error = left_out.standard_error
    return None if error is None else float(stdtrit(left_out.folds.size - 1, tail)) * error
