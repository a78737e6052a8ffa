"""Do several raters agree? Fleiss' and Conger's kappa, Krippendorff's alpha, Gwet's AC, ICC, pairwise kappa.

``ratings`` is a table of items (rows) by raters (columns), None or NaN where a rater didn't rate an item.
Intervals resample items, or clusters of items such as transcripts, never single ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bedside.stats._resampling import COEFFICIENT_INTERVALS, CoefficientInterval, ResamplingPlan
from bedside.stats._weights import agreement_weights, penalties
from bedside.stats.arrays import (
    Array,
    Indices,
    Mask,
    Scale,
    Seed,
    chosen,
    coded,
    levels,
    matrix,
    scale_of,
)
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result
from bedside.stats.two_raters import chance_corrected, kappa_values, two_sided
from bedside.support.errors import DataError


def _rated(ratings: Any, scale: Scale | None) -> tuple[Scale, Indices]:
    """The scale, and the table as codes.

    Raises:
        DataError: not a table of items by at least two raters, or a rating off the scale.
    """
    try:
        table = np.asarray(ratings, dtype=object)
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2:
        raise DataError(
            "ratings must be a table of items by raters", todo="give None where a rating is missing"
        )
    if table.shape[1] < 2 and table.shape[0]:
        raise DataError("agreement needs at least two raters")
    if scale is not None:
        levels(scale)
    used: Any = scale_of(table) if scale is None else scale
    return used, coded(table, used)


def _counts(codes: Indices, k: int) -> Array:
    """How many raters put each item (row) on each level (column)."""
    item, rater = np.nonzero(codes >= 0)
    cells = item * k + codes[item, rater]
    counts: Array = (
        np.bincount(cells, minlength=codes.shape[0] * k).reshape(codes.shape[0], k).astype(np.float64)
    )
    return counts


def _merged(rows: Array, members: Any) -> tuple[Array, Array]:
    """Rows and how often each occurs; equal rows are merged unless they belong to clusters."""
    if members is not None:
        return rows, np.ones(rows.shape[0])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return distinct, counts.astype(np.float64)


def _per_item(counts: Array, weights: Array) -> Array:
    """Share of agreeing pairs of raters on each item (weighted); every item has at least two ratings."""
    raters = counts.sum(axis=1)
    agreeing: Array = (counts * (counts @ weights - 1)).sum(axis=1) / (raters * (raters - 1))
    return agreeing


def percent_agreement(
    ratings: Any,
    *,
    interval: Literal["bca", "percentile"] = "bca",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Mean over items of the share of pairs of raters that say the same, 0 … 1.

    Items with fewer than two ratings are dropped and counted.
    """
    chosen("interval", interval, ("bca", "percentile"))
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    scale, codes = _rated(ratings, None)
    counts = _counts(codes, len(scale))
    kept: Mask = counts.sum(axis=1) >= 2
    dropped = int((~kept).sum())
    name, words = "percent agreement", "mean share of agreeing pairs of raters"
    if not kept.any():
        return Result(name, words, dropped=dropped, options=plan.options(), missing="no item has two ratings")
    members = plan.members(kept)
    rows, multiplicity = _merged(_per_item(counts[kept], np.eye(counts.shape[1]))[:, None], members)
    share = rows[:, 0]
    bounds, error, reason, remarks = plan.run(
        lambda weights: weights @ share / weights.sum(axis=1), multiplicity, members
    )
    return Result(
        name, words, float(np.average(share, weights=multiplicity)), bounds, n=int(kept.sum()), dropped=dropped,
        standard_error=error, options=plan.options(), missing=reason, remarks=remarks,
    )  # fmt: skip


def fleiss_kappa(
    ratings: Any,
    *,
    scale: Scale | None = None,
    interval: CoefficientInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Fleiss' (1971) kappa of raters that need not be the same for every item.

    Items that any rater missed are dropped and counted, never rescaled. Arguments and result as for
    :func:`fleiss_kappa_from_counts`; ``clusters`` gives for each item the cluster it belongs to.
    """
    used, codes = _rated(ratings, scale)
    kept: Mask = np.all(codes >= 0, axis=1)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    return _fleiss(
        _counts(codes[kept], len(used)), used, codes.shape[1], plan, plan.members(kept), int((~kept).sum())
    )


def fleiss_kappa_from_counts(
    counts: Any,
    *,
    scale: Scale | None = None,
    interval: CoefficientInterval = "jackknife",
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Fleiss' kappa from counts of raters: items (rows) by levels (columns).

    Args:
        counts: whole numbers; every row has the same sum (the number of raters), or is dropped if it falls short.
        scale: names of the levels; 1, 2, 3 … without it.
        interval: ``"jackknife"`` over items (t on Fisher's scale), or a ``"bca"`` or ``"percentile"`` bootstrap.

    The statistic is z with the standard error under chance of Fleiss, Nee and Landis (1979); details hold kappa
    per level, None where nobody or everybody used it.
    """
    table = matrix(counts, "counts")
    if np.isnan(table).any() or (table < 0).any() or (table % 1).any():
        raise DataError("counts must be whole numbers, 0 or more")
    used = list(range(1, table.shape[1] + 1)) if scale is None else scale
    if len(used) != table.shape[1]:
        raise DataError(f"a scale of {len(used)} levels doesn't fit {table.shape[1]} columns")
    raters = int(table.sum(axis=1).max()) if table.size else 0
    kept = table.sum(axis=1) == raters
    plan = ResamplingPlan(interval, None, resamples, level, seed)
    return _fleiss(table[kept], used, raters, plan, None, int((~kept).sum()))


def _fleiss(
    counts: Array, scale: Scale, raters: int, plan: ResamplingPlan, members: Any, dropped: int
) -> Result:
    chosen("interval", plan.interval, COEFFICIENT_INTERVALS)
    name = "Fleiss' kappa"
    words = f"Fleiss' kappa, {raters} raters, {len(scale)} levels, z after Fleiss, Nee and Landis"
    options = {**plan.options(), "scale": tuple(scale)}
    n = counts.shape[0]
    if n == 0 or raters < 2:
        reason = "no item is rated by all raters" if n == 0 else "fewer than two raters"
        return Result(name, words, dropped=dropped, options=options, missing=reason)
    rows, multiplicity = _merged(counts, members)
    agreement = _per_item(rows, np.eye(rows.shape[1]))

    def statistic(weights: Array) -> Array:
        total = weights.sum(axis=1)
        chance = ((weights @ rows / (total[:, None] * raters)) ** 2).sum(axis=1)
        return chance_corrected(weights @ agreement / total, chance)

    estimate = float(statistic(multiplicity[None, :])[0])
    if np.isnan(estimate):
        return Result(
            name,
            words,
            n=n,
            dropped=dropped,
            options=options,
            missing="all raters put every item on one level",
        )
    share = counts.sum(axis=0) / (n * raters)
    room = share * (1 - share)
    spread = float(room.sum())
    null = float(
        np.sqrt(2 * (spread**2 - (room * (1 - 2 * share)).sum()) / (n * raters * (raters - 1))) / spread
    )
    details: dict[str, float | None] = {
        "observed agreement": float(np.average(agreement, weights=multiplicity)),
        "chance agreement": float((share**2).sum()),
        "standard error under chance": null,
    }
    for column, level_name in enumerate(map(str, scale)):
        within = (counts[:, column] * (raters - counts[:, column])).sum()
        details[f"kappa of {level_name}"] = (
            float(1 - within / (n * raters * (raters - 1) * room[column])) if room[column] > 0 else None
        )
    bounds, error, why, remarks = plan.run(statistic, multiplicity, members)
    z = estimate / null
    return Result(
        name,
        words,
        estimate,
        bounds,
        z,
        two_sided(z),
        n,
        dropped,
        error,
        None,
        details,
        options,
        why,
        remarks,
    )


def conger_kappa(
    ratings: Any,
    *,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    interval: CoefficientInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Conger's (1980) kappa of the same raters on every item; with two raters it is Cohen's.

    Args:
        weights: as for :func:`bedside.stats.two_raters.kappa`; weighted needs the scale.

    Chance agreement is the mean over pairs of raters of that of their own distributions. Items that any rater
    missed are dropped and counted.
    """
    chosen("interval", interval, COEFFICIENT_INTERVALS)
    if scale is None and not (isinstance(weights, str) and weights == "unweighted"):
        raise DataError("weighted kappa needs the scale", todo="give all its levels, also those nobody used")
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    used, codes = _rated(ratings, scale)
    kept: Mask = np.all(codes >= 0, axis=1)
    codes, dropped, n = codes[kept], int((~kept).sum()), int(kept.sum())
    k, raters = len(used), codes.shape[1]
    w, called = agreement_weights(weights, levels(used)) if k > 1 else (np.ones((1, 1)), "unweighted")
    name = "Conger's kappa" if called == "unweighted" else f"Conger's kappa ({called} weights)"
    words = f"{name}, {raters} raters, {k} levels"
    options = {**plan.options(), "weights": called, "scale": tuple(used)}
    if n == 0:
        return Result(name, words, dropped=dropped, options=options, missing="no item is rated by all raters")
    members = plan.members(kept)
    rows, multiplicity = _merged(codes.astype(np.float64), members)
    agreement = _per_item(_counts(rows.astype(np.intp), k), w)
    used_level = np.concatenate([rows == code for code in range(k)], axis=1).astype(np.float64)

    def statistic(drawn: Array) -> Array:
        total = drawn.sum(axis=1)
        shares = (drawn @ used_level).reshape(-1, k, raters) / total[:, None, None]
        pooled = shares.sum(axis=2)
        own = (np.einsum("rkg,kl->rlg", shares, w) * shares).sum(axis=(1, 2))
        chance = (((pooled @ w) * pooled).sum(axis=1) - own) / (raters * (raters - 1))
        return chance_corrected(drawn @ agreement / total, chance)

    estimate = float(statistic(multiplicity[None, :])[0])
    if np.isnan(estimate):
        return Result(
            name,
            words,
            n=n,
            dropped=dropped,
            options=options,
            missing="all raters put every item on one level",
        )
    bounds, error, reason, remarks = plan.run(statistic, multiplicity, members)
    return Result(
        name, words, estimate, bounds, n=n, dropped=dropped, standard_error=error, options=options, missing=reason,
        remarks=remarks,
    )  # fmt: skip


def mean_pairwise_kappa(
    ratings: Any,
    *,
    scale: Scale,
    weights: str | Any = "quadratic",
    pairs: Sequence[tuple[int, int]] | None = None,
    interval: CoefficientInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Mean of Cohen's (weighted) kappa over all pairs of raters (Light 1971), or over those named.

    Args:
        pairs: column numbers of the pairs that count, such as one rater with each of the others; all unless given.

    Each pair uses the items both rated. Pairs on which kappa is undefined are left out, with a remark. Details
    hold the kappa of each pair, by the raters' column numbers from 0. Items with fewer than two ratings are
    dropped and counted.
    """
    chosen("interval", interval, COEFFICIENT_INTERVALS)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    used, codes = _rated(ratings, scale)
    k = len(used)
    disagreement, called = penalties(weights, levels(used))
    kept: Mask = (codes >= 0).sum(axis=1) >= 2
    codes, dropped, n = codes[kept], int((~kept).sum()), int(kept.sum())
    name = f"mean pairwise kappa ({called} weights)" if called != "unweighted" else "mean pairwise kappa"
    words = f"{name}, {codes.shape[1]} raters, {k} levels"
    options = {**plan.options(), "weights": called, "scale": tuple(used)}
    if n == 0:
        return Result(name, words, dropped=dropped, options=options, missing="no item has two ratings")
    members = plan.members(kept)
    rows, multiplicity = _merged(codes.astype(np.float64), members)
    whole = rows.astype(np.intp)
    duos = list(combinations(range(codes.shape[1]), 2)) if pairs is None else list(pairs)

    def by_pair(drawn: Array) -> Array:
        values = []
        for first, second in duos:
            both = (whole[:, first] >= 0) & (whole[:, second] >= 0)
            cells = np.zeros((whole.shape[0], k * k))
            cells[both, whole[both, first] * k + whole[both, second]] = 1.0
            values.append(kappa_values((drawn @ cells).reshape(-1, k, k), disagreement))
        return np.stack(values, axis=1)

    def statistic(drawn: Array) -> Array:
        values = by_pair(drawn)
        defined = ~np.isnan(values)
        count = defined.sum(axis=1)
        means: Array = np.divide(
            np.where(defined, values, 0.0).sum(axis=1),
            count,
            out=np.full(count.size, np.nan),
            where=count > 0,
        )
        return means

    found = by_pair(multiplicity[None, :])[0]
    details: dict[str, float | None] = {
        f"kappa of raters {first} and {second}": None if np.isnan(value) else float(value)
        for (first, second), value in zip(duos, found, strict=True)
    }
    undefined = int(np.isnan(found).sum())
    if undefined == len(duos):
        return Result(
            name, words, n=n, dropped=dropped, details=details, options=options,
            missing="kappa is undefined for every pair of raters",
        )  # fmt: skip
    bounds, error, reason, remarks = plan.run(statistic, multiplicity, members)
    if undefined:
        remarks = (
            f"kappa is undefined for {undefined} of {len(duos)} pairs of raters, which are left out",
            *remarks,
        )
    return Result(
        name, words, float(np.nanmean(found)), bounds, n=n, dropped=dropped, standard_error=error, details=details,
        options=options, missing=reason, remarks=remarks,
    )  # fmt: skip


def gwet_ac(
    ratings: Any,
    *,
    scale: Scale,
    weights: str | Any = "unweighted",
    interval: Literal["jackknife", "bca", "percentile", "analytic"] = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Gwet's AC1 (unweighted) or AC2 (weighted) of two or more raters; raters may be missing.

    Args:
        scale: all levels, also those nobody used: their number enters the chance agreement.
        interval: as for :func:`bedside.stats.two_raters.kappa`; ``"analytic"`` is t with n − 1 degrees of freedom
            and Gwet's standard error. Raters are taken as fixed.

    Gwet (2008, 2014). Items without any rating are dropped and counted; items with one rating count towards the
    distribution over levels only.
    """
    chosen("interval", interval, ("analytic", *COEFFICIENT_INTERVALS))
    if clusters is not None and interval == "analytic":
        raise DataError(
            "the analytic interval takes items as independent", todo="use the jackknife with clusters"
        )
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    used, codes = _rated(ratings, scale)
    k = len(used)
    w, called = agreement_weights(weights, levels(used))
    counts = _counts(codes, k)
    kept: Mask = counts.sum(axis=1) >= 1
    counts, dropped, n = counts[kept], int((~kept).sum()), int(kept.sum())
    name = "Gwet's AC1" if called == "unweighted" else f"Gwet's AC2 ({called} weights)"
    words = f"{name}, {codes.shape[1]} raters, {k} levels"
    options = {**plan.options(), "weights": called, "scale": tuple(used)}
    if not (counts.sum(axis=1) >= 2).any():
        return Result(name, words, n=n, dropped=dropped, options=options, missing="no item has two ratings")
    factor = w.sum() / (k * (k - 1))
    members = plan.members(kept)
    rows, multiplicity = _merged(counts, members)
    several = rows.sum(axis=1) >= 2
    shares = rows / rows.sum(axis=1, keepdims=True)
    agreement = np.zeros(rows.shape[0])
    agreement[several] = _per_item(rows[several], w)

    def parts(drawn: Array) -> tuple[Array, Array]:
        pairable = drawn @ several.astype(np.float64)
        observed = np.divide(
            drawn @ agreement, pairable, out=np.full(drawn.shape[0], np.nan), where=pairable > 0
        )
        pooled = drawn @ shares / drawn.sum(axis=1, keepdims=True)
        return observed, factor * (pooled * (1 - pooled)).sum(axis=1)

    def statistic(drawn: Array) -> Array:
        return chance_corrected(*parts(drawn))

    observed, chance = (float(part[0]) for part in parts(multiplicity[None, :]))
    estimate = (observed - chance) / (1 - chance)
    pooled = multiplicity @ shares / n
    # Gwet's linearised contribution of each item.
    scaling = n / float(multiplicity @ several)
    item = scaling * (agreement - chance) * several / (1 - chance)
    item_chance = factor * shares @ (1 - pooled)
    influence = item - 2 * (1 - estimate) * (item_chance - chance) / (1 - chance)
    spread = float(multiplicity @ (influence - estimate) ** 2)
    # Gwet's formula for a table of two raters divides by n, that for raw ratings by n − 1.
    error = float(np.sqrt(spread / (n * (n if codes.shape[1] == 2 else n - 1)))) if n > 1 else 0.0
    details: dict[str, float | None] = {"observed agreement": observed, "chance agreement": chance}
    bounds: Interval | None = None
    reason: str | None
    remarks: tuple[str, ...] = ()
    if interval != "analytic":
        bounds, _, reason, remarks = plan.run(statistic, multiplicity, members)
    elif error <= 1e-12:
        reason = "no interval: one item" if n == 1 else "no interval: the standard error is 0"
    else:
        full = t_interval(estimate, error, n - 1, level, "analytic standard error, t")
        bounds, reason = Interval(full.low, min(1.0, full.high), level, full.method), None
    return Result(
        name, words, estimate, bounds, None, None, n, dropped, error if n > 1 else None, None, details, options,
        reason, remarks,
    )  # fmt: skip


METRICS = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    ratings: Any,
    *,
    metric: Literal["nominal", "ordinal", "interval", "ratio"],
    scale: Scale | None = None,
    interval: CoefficientInterval = "jackknife",
    clusters: Any = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Krippendorff's alpha (2011) of any number of raters, with missing ratings.

    Args:
        metric: the distance between values: ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``.
        scale: all levels in order. Needed for labels unless nominal; numbers carry their own distances, and
            levels nobody used don't matter to alpha.

    Items with fewer than two ratings are dropped and counted. Undefined, and missing, where all values are the
    same: there is then no disagreement to be expected by chance.

    Raises:
        DataError: a negative value on a ratio scale, labels without a scale, or a rating off the scale.
    """
    chosen("metric", metric, METRICS)
    chosen("interval", interval, COEFFICIENT_INTERVALS)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    used, codes = _rated(ratings, scale)
    if scale is None and metric != "nominal" and any(isinstance(label, str) for label in used):
        raise DataError(
            f"alpha of labels needs the scale for the {metric} metric", todo="give its levels in order"
        )
    positions = _positions(used, metric)
    kept: Mask = np.sum(codes >= 0, axis=1) >= 2
    dropped, n = int((~kept).sum()), int(kept.sum())
    name = f"Krippendorff's alpha ({metric})"
    words = f"{name}, {codes.shape[1]} raters"
    options = {**plan.options(), "metric": metric, "scale": None if scale is None else tuple(scale)}
    if n == 0:
        return Result(name, words, dropped=dropped, options=options, missing="no item has two ratings")
    members = plan.members(kept)
    disagreement, multiplicity = _disagreements(codes[kept], positions, metric, members)

    def statistic(drawn: Array) -> Array:
        observed, expected = disagreement(drawn)
        ratio: Array = np.divide(
            observed, expected, out=np.full(observed.size, np.nan), where=expected > 1e-12
        )
        return 1 - ratio

    observed, expected = (float(part[0]) for part in disagreement(multiplicity[None, :]))
    if not expected > 1e-12:
        return Result(name, words, n=n, dropped=dropped, options=options, missing="all ratings are the same")
    estimate = 1 - observed / expected
    bounds, error, reason, remarks = plan.run(statistic, multiplicity, members)
    details: dict[str, float | None] = {
        "observed disagreement": observed, "expected disagreement": expected,
        "ratings used": float((codes[kept] >= 0).sum()),
    }  # fmt: skip
    return Result(
        name, words, estimate, bounds, n=n, dropped=dropped, standard_error=error, details=details, options=options,
        missing=reason, remarks=remarks,
    )  # fmt: skip


def _positions(scale: Sequence[Any], metric: str) -> Array:
    """Numeric positions of the levels, as far as the metric needs them."""
    if metric == "nominal" or any(isinstance(label, str) for label in scale):
        return np.arange(len(scale), dtype=np.float64)
    positions = np.asarray(scale, dtype=np.float64)
    if metric == "ratio" and (positions < 0).any():
        raise DataError("a ratio scale has no negative values", todo="use the interval metric")
    return positions


Disagreement = Callable[[Array], tuple[Array, Array]]


def _disagreements(codes: Indices, positions: Array, metric: str, members: Any) -> tuple[Disagreement, Array]:
    """A function from weights of items to mean observed and expected disagreement, and how often each item stands.

    With n ratings in all, both are means over pairs of ratings, by Krippendorff's squared distances.
    """

    def means(observed: Array, expected: Array, n: Array) -> tuple[Array, Array]:
        return observed / n, expected / (n * (n - 1))

    if metric == "interval":
        # Sums of values and squares are enough, so that ratings may be of any number of values.
        length = positions[-1] - positions[0] or 1.0
        there = codes >= 0
        place = np.where(there, (positions[codes] - positions.mean()) / length, 0.0)
        sums = np.column_stack([there.sum(axis=1), place.sum(axis=1), (place**2).sum(axis=1)]).astype(
            np.float64
        )
        merged, multiplicity = _merged(sums, members)
        raters, sums, squares = merged.T
        within = 2 * (raters * squares - sums**2) / (raters - 1)

        def on_interval(drawn: Array) -> tuple[Array, Array]:
            n = drawn @ raters
            return means(drawn @ within, 2 * (n * (drawn @ squares) - (drawn @ sums) ** 2), n)

        return on_interval, multiplicity
    rows, multiplicity = _merged(_counts(codes, positions.size), members)
    raters = rows.sum(axis=1)
    if metric == "ordinal":

        def ordinal(drawn: Array) -> tuple[Array, Array]:
            # Distances between levels depend on how often they occur: a level's place is its mean rank.
            used = drawn @ rows
            n = used.sum(axis=1)
            place = np.cumsum(used, axis=1) - used / 2 - n[:, None] / 2
            sums, squares = place @ rows.T, place**2 @ rows.T
            observed = (drawn * 2 * (raters * squares - sums**2) / (raters - 1)).sum(axis=1)
            expected = 2 * (n * (used * place**2).sum(axis=1) - (used * place).sum(axis=1) ** 2)
            return means(observed, expected, n)

        return ordinal, multiplicity
    if metric == "nominal":
        distances = 1 - np.eye(positions.size)
    else:
        total = positions[:, None] + positions[None, :]
        gap = positions[:, None] - positions[None, :]
        distances = np.divide(gap, total, out=np.zeros_like(total), where=total > 0) ** 2
    per_item = ((rows @ distances) * rows).sum(axis=1) / (raters - 1)

    def fixed(drawn: Array) -> tuple[Array, Array]:
        used = drawn @ rows
        return means(drawn @ per_item, ((used @ distances) * used).sum(axis=1), used.sum(axis=1))

    return fixed, multiplicity


def icc(ratings: Any, *, average: bool = False, level: float = 0.95) -> Result:
    """Intraclass correlation of absolute agreement, ICC(2,1), or of the raters' mean, ICC(2,k).

    Two-way random effects (Shrout and Fleiss 1979), with their F interval.

    Args:
        ratings: numbers, items by raters. Items that any rater missed are dropped and counted.
        average: ICC(2,k), the reliability of the mean of these k raters.

    The statistic is F of items against error with (n − 1) and (n − 1)(k − 1) degrees of freedom.
    """
    from scipy.stats import f

    table = matrix(ratings)
    if table.shape[1] < 2 and table.shape[0]:
        raise DataError("agreement needs at least two raters")
    kept = ~np.isnan(table).any(axis=1)
    values, dropped = table[kept], int((~kept).sum())
    n, k = values.shape
    name = "ICC(2,k)" if average else "ICC(2,1)"
    words = f"{name}, two-way random effects, absolute agreement, {k} raters"
    options = {"average": average, "level": level}
    if n < 2:
        return Result(
            name,
            words,
            n=n,
            dropped=dropped,
            options=options,
            missing="fewer than two items rated by all raters",
        )
    # From the first rating on, and times n k: of whole numbers all sums are exact, and so an ICC of 0 is 0.
    shifted = values - values[0, 0]
    whole = shifted.sum() ** 2
    total = n * k * (shifted**2).sum() - whole
    if total <= 1e-24 * n * k * max(1.0, float((values**2).sum())):
        return Result(name, words, n=n, dropped=dropped, options=options, missing="all ratings are the same")
    of_items = n * (shifted.sum(axis=1) ** 2).sum() - whole
    of_raters = k * (shifted.sum(axis=0) ** 2).sum() - whole
    rest = total - of_items - of_raters
    items = float(of_items / (n * k * (n - 1)))
    raters = 0.0 if of_raters <= 1e-12 * total else float(of_raters / (n * k * (k - 1)))
    error = 0.0 if rest <= 1e-12 * total else float(rest / (n * k * (n - 1) * (k - 1)))
    single = (items - error) / (items + (k - 1) * error + k * (raters - error) / n)
    estimate = (items - error) / (items + (raters - error) / n) if average else single
    details: dict[str, float | None] = {
        "mean square of items": items, "mean square of raters": raters, "mean square of error": error,
    }  # fmt: skip
    if error == 0.0:
        return Result(
            name, words, estimate, n=n, dropped=dropped, details=details, options=options,
            missing="no p-value and no interval: there is no error beside items and raters",
        )  # fmt: skip
    tail = (1 + level) / 2
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    df = (a * raters + b * error) ** 2 / (
        (a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    )
    upper_f, lower_f = float(f.ppf(tail, n - 1, df)), float(f.ppf(tail, df, n - 1))
    mixed = k * raters + (k * n - k - n) * error
    low = n * (items - upper_f * error) / (upper_f * mixed + n * items)
    high = n * (lower_f * items - error) / (mixed + n * lower_f * items)
    if average:
        low, high = (bound * k / (1 + bound * (k - 1)) for bound in (low, high))
    statistic = items / error
    return Result(
        name, words, estimate, Interval(float(low), float(high), level, "F (Shrout and Fleiss)"), statistic,
        float(f.sf(statistic, n - 1, (n - 1) * (k - 1))), n, dropped, None, None, details, options,
    )  # fmt: skip
