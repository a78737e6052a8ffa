"""Do several raters agree? Percent agreement, Fleiss' and Conger's kappa, pairwise kappa, Gwet's AC, F1 of links.

``ratings`` is a table of items (rows) by raters (columns), None or NaN where a rater didn't rate an item.
Intervals resample items, or clusters of items such as transcripts, never single ratings. In the place of
``clusters`` :class:`~bedside.stats.sampled_items.SampledItems` says how items were drawn with unequal chances:
the statistic is then that of all that the sample stands for, with the jackknife's interval by strata, and no
p-value. Krippendorff's alpha and the intraclass correlation stand in :mod:`bedside.stats.reliability`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats import sampled_means
from bedside.stats._blocks import two_sided
from bedside.stats._kappa_parts import (
    NO_COMPLETE_ITEM,
    NO_PAIR,
    ONE_LEVEL,
    PairKappas,
    RatedItems,
    agreement_weights,
    chance_corrected,
    level_counts,
    merged,
    pair_agreement,
    penalties,
    rated_items,
)
from bedside.stats._resampling import (
    COEFFICIENT_INTERVALS,
    CoefficientInterval,
    ResamplingPlan,
    StatisticOfTotals,
    leave_one_out,
)
from bedside.stats.arrays import Array, Indices, Mask, Scale, Seed, levels, matrix
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems

#: Items that two raters share on average, below which the kappa of a pair is too low; how the reason begins.
FEWEST_SHARED, FEW_SHARED = 20, "no interval: two raters share too few items for a kappa of their own"

# -- Gwet's AC as a function of how often each item counts ----------------------------------------------


@dataclass(frozen=True, slots=True)
class _GwetParts:
    """What Gwet's AC takes from each distinct item.

    Attributes:
        several: whether it has two ratings or more, items.
        agreement_of_item: share of its agreeing pairs of raters, items; 0 where it has one rating.
        shares: of its ratings on each level, items × levels.
        factor: of the chance agreement.
    """

    several: Mask
    agreement_of_item: Array
    shares: Array
    factor: float

    @classmethod
    def of(cls, rows: Array, weights: Array) -> _GwetParts:
        """From counts of raters (items × levels) and weights of agreement (levels × levels)."""
        k = weights.shape[0]
        several = rows.sum(axis=1) >= 2
        agreement = np.zeros(rows.shape[0])
        agreement[several] = pair_agreement(rows[several], weights)
        shares = rows / rows.sum(axis=1, keepdims=True)
        return cls(several, agreement, shares, weights.sum() / (k * (k - 1)))

    def statistic(self) -> StatisticOfTotals:
        """AC as a function of the weights of items."""
        several = self.several.astype(np.float64)
        ones = np.ones(several.size)
        return StatisticOfTotals(
            np.column_stack([self.shares, self.agreement_of_item, several, ones]),
            lambda sums: chance_corrected(*self._agreement(sums)),
        )

    def agreement(self, drawn: Array) -> tuple[Array, Array]:
        """Rows of weights of items → observed agreement (NaN where no item has two ratings) and that by chance."""
        return self._agreement(drawn @ self.statistic().parts)

    def _agreement(self, sums: Array) -> tuple[Array, Array]:
        """The same from sums over items of the statistic's parts."""
        pairable = sums[:, -2]
        observed = np.divide(sums[:, -3], pairable, out=np.full(pairable.size, np.nan), where=pairable > 0)
        pooled = sums[:, :-3] / sums[:, -1:]
        return observed, self.factor * (pooled * (1 - pooled)).sum(axis=1)

    def squared_influence(self, multiplicity: Array, estimate: float, chance: float) -> float:
        """Sum over items of the squared difference of Gwet's linearised contribution from the estimate."""
        n = float(multiplicity.sum())
        pooled = multiplicity @ self.shares / n
        scaling = n / float(multiplicity @ self.several)
        of_item = scaling * (self.agreement_of_item - chance) * self.several / (1 - chance)
        chance_of_item = self.factor * self.shares @ (1 - pooled)
        influence = of_item - 2 * (1 - estimate) * (chance_of_item - chance) / (1 - chance)
        return float(multiplicity @ (influence - estimate) ** 2)


# -- Do several raters agree? Percent agreement ---------------------------------------------------------


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

    Items with fewer than two ratings are dropped and counted. The interval is a bootstrap's; of items drawn with
    unequal chances it is that of :func:`~bedside.stats.sampled_means.share`.
    """
    one_of(interval, ("bca", "percentile"), "interval", DataError)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    items = rated_items(ratings, None, fewest=2)
    blank = Result(
        name="percent agreement", method="mean share of agreeing pairs of raters", n=items.n, dropped=items.dropped,
        options=plan.options(),
    )  # fmt: skip
    if not items.n:
        return blank.no_value(NO_PAIR)
    members = plan.members(items.kept)
    agreement = pair_agreement(items.level_counts(), np.eye(len(items.scale)))
    if isinstance(members, SampledItems):
        return replace(
            sampled_means.share(agreement, members, level=level),
            name=blank.name, method=blank.method, dropped=blank.dropped,
        )  # fmt: skip
    rows, multiplicity = merged(agreement[:, None], members)
    share = rows[:, 0]
    return plan.filled(
        blank,
        float(np.average(share, weights=multiplicity)),
        StatisticOfTotals(np.column_stack([share, np.ones(share.size)]), lambda sums: sums[:, 0] / sums[:, 1]),
        multiplicity=multiplicity,
        members=members,
    )


def fleiss_kappa(
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
    """Fleiss' (1971) kappa of raters that need not be the same for every item, unweighted or weighted.

    Items that any rater missed are dropped and counted, never rescaled. Arguments and result as for
    :func:`fleiss_kappa_from_counts`; ``clusters`` gives for each item the cluster it belongs to.
    """
    _need_scale(scale, weights)
    items = rated_items(ratings, scale, fewest=None)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    return _fleiss(
        items.level_counts(), items.scale, weights=weights, raters=items.raters, plan=plan,
        members=plan.members(items.kept), dropped=items.dropped,
    )  # fmt: skip


def fleiss_kappa_from_counts(
    counts: Any,
    *,
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    interval: CoefficientInterval = "jackknife",
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Fleiss' kappa from counts of raters: items (rows) by levels (columns).

    Args:
        counts: whole numbers; every row has the same sum (the number of raters), or is dropped if it falls short.
        scale: names of the levels; 1, 2, 3 … without it.
        weights: as for :func:`bedside.stats.two_raters.kappa`: with them pairs of raters that differ agree in part, and
            so do pairs of ratings drawn at random (Gwet 2014); the square table of weights 1, 0 gives Fleiss' own.
        interval: ``"jackknife"`` over items (t on Fisher's scale), or a ``"bca"`` or ``"percentile"`` bootstrap.

    Unweighted, the statistic is z with the standard error under chance of Fleiss, Nee and Landis (1979), and details
    hold kappa per level, None where nobody or everybody used it. Weighted, there is neither.
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
    return _fleiss(
        table[kept], used, weights=weights, raters=raters, plan=plan, members=None, dropped=int((~kept).sum())
    )


def _fleiss(
    counts: Array, scale: Scale, *, weights: str | Any, raters: int, plan: ResamplingPlan, members: Any, dropped: int
) -> Result:
    one_of(plan.interval, COEFFICIENT_INTERVALS, "interval", DataError)
    n, k = counts.shape
    unweighted = k < 2 or (isinstance(weights, str) and weights == "unweighted")
    w, called = (np.eye(k), "unweighted") if unweighted else agreement_weights(weights, levels(scale))
    weighted = called != "unweighted"
    name = f"Fleiss' kappa ({called} weights)" if weighted else "Fleiss' kappa"
    tested = "" if weighted or isinstance(members, SampledItems) else ", z after Fleiss, Nee and Landis"
    blank = Result(
        name=name, method=f"{name}, {raters} raters, {len(scale)} levels{tested}", n=n if raters > 1 else 0,
        dropped=dropped, options={**plan.options(), "weights": called, "scale": tuple(scale)},
    )  # fmt: skip
    if n == 0 or raters < 2:
        return blank.no_value(NO_COMPLETE_ITEM if n == 0 else "fewer than two raters")
    rows, multiplicity = merged(counts, members)
    agreement = pair_agreement(rows, w)

    def kappas(sums: Array) -> Array:
        total = sums[:, -1]
        share = sums[:, :k] / (total[:, None] * raters)
        return chance_corrected(sums[:, k] / total, ((share @ w) * share).sum(axis=1))

    statistic = StatisticOfTotals(np.column_stack([rows, agreement, np.ones(agreement.size)]), kappas)
    estimate = float(statistic(multiplicity[None, :])[0])
    if np.isnan(estimate):
        return blank.no_value(ONE_LEVEL)
    share = multiplicity @ rows / (n * raters)
    details: dict[str, float | None] = {
        "observed agreement": float(np.average(agreement, weights=multiplicity)),
        "chance agreement": float(share @ w @ share),
    }
    result = plan.filled(blank, estimate, statistic, multiplicity=multiplicity, members=members, raters=raters)
    if weighted or isinstance(members, SampledItems):
        return replace(result, details=details)
    null = _fleiss_error_under_chance(share, n, raters)
    details = {**details, "standard error under chance": null, **_fleiss_by_level(counts, share, scale, raters)}
    z = estimate / null
    return replace(result, statistic=z, p=two_sided(z), details=details)


def _need_scale(scale: Scale | None, weights: str | Any) -> None:
    if scale is None and not (isinstance(weights, str) and weights == "unweighted"):
        raise DataError("weighted kappa needs the scale", todo="give all its levels, also those nobody used")


def _fleiss_error_under_chance(share: Array, n: int, raters: int) -> float:
    """The standard error of Fleiss' kappa without agreement beyond chance (Fleiss, Nee and Landis 1979).

    Args:
        share: of each level among all ratings.
    """
    room = share * (1 - share)
    spread = float(room.sum())
    return float(np.sqrt(2 * (spread**2 - (room * (1 - 2 * share)).sum()) / (n * raters * (raters - 1))) / spread)


def _fleiss_by_level(counts: Array, share: Array, scale: Scale, raters: int) -> dict[str, float | None]:
    """Kappa of each level against all others; None where nobody or everybody used it."""
    n, room = counts.shape[0], share * (1 - share)
    by_level: dict[str, float | None] = {}
    for column, level_name in enumerate(map(str, scale)):
        within = (counts[:, column] * (raters - counts[:, column])).sum()
        by_level[f"kappa of {level_name}"] = (
            float(1 - within / (n * raters * (raters - 1) * room[column])) if room[column] > 0 else None
        )
    return by_level


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
    one_of(interval, COEFFICIENT_INTERVALS, "interval", DataError)
    _need_scale(scale, weights)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    items = rated_items(ratings, scale, fewest=None)
    k = len(items.scale)
    w, called = agreement_weights(weights, levels(items.scale)) if k > 1 else (np.ones((1, 1)), "unweighted")
    name = "Conger's kappa" if called == "unweighted" else f"Conger's kappa ({called} weights)"
    blank = _blank(items, plan, name, called)
    if not items.n:
        return blank.no_value(NO_COMPLETE_ITEM)
    members = plan.members(items.kept)
    rows, multiplicity = merged(items.codes.astype(np.float64), members)
    statistic = _conger_statistic(rows.astype(np.intp), w)
    estimate = float(statistic(multiplicity[None, :])[0])
    if np.isnan(estimate):
        return blank.no_value(ONE_LEVEL)
    return plan.filled(blank, estimate, statistic, multiplicity=multiplicity, members=members, raters=items.raters)


def _conger_statistic(codes: Indices, weights: Array) -> StatisticOfTotals:
    """Conger's kappa as a function of the weights of items (rows of codes) by raters (columns)."""
    k, raters = weights.shape[0], codes.shape[1]
    agreement = pair_agreement(level_counts(codes, k), weights)
    used_level = np.concatenate([codes == code for code in range(k)], axis=1).astype(np.float64)

    def kappas(sums: Array) -> Array:
        total = sums[:, -1]
        shares = sums[:, : k * raters].reshape(-1, k, raters) / total[:, None, None]
        pooled = shares.sum(axis=2)
        own = (np.einsum("rkg,kl->rlg", shares, weights) * shares).sum(axis=(1, 2))
        chance = (((pooled @ weights) * pooled).sum(axis=1) - own) / (raters * (raters - 1))
        return chance_corrected(sums[:, -2] / total, chance)

    return StatisticOfTotals(np.column_stack([used_level, agreement, np.ones(agreement.size)]), kappas)


def _blank(items: RatedItems, plan: ResamplingPlan, name: str, weights: str) -> Result:
    """What a coefficient of these items is called, what it counted, and with which options it is made."""
    return Result(
        name=name, method=f"{name}, {items.raters} raters, {len(items.scale)} levels", n=items.n, dropped=items.dropped,
        options={**plan.options(), "weights": weights, "scale": tuple(items.scale)},
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

    Each pair uses the items both rated. Pairs on which kappa is undefined are left out, with a remark; a remark says,
    too, where one of a pair gives a single level to all that both rated: kappa is then 0 by its formula, whatever the
    other says. Details hold the kappa of each pair, by the raters' column numbers from 0, and the mean without pairs of
    that kind. Items with fewer than two ratings are dropped and counted. There is no interval where two raters share
    fewer than half of the items, and fewer than :data:`FEWEST_SHARED` on average: the kappa of each pair is too low
    then (of 30 items and 20 raters, half of the ratings missing, the mean is .56 for .65).
    """
    one_of(interval, COEFFICIENT_INTERVALS, "interval", DataError)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    items = rated_items(ratings, scale, fewest=2)
    disagreement, called = penalties(weights, levels(items.scale))
    name = f"mean pairwise kappa ({called} weights)" if called != "unweighted" else "mean pairwise kappa"
    blank = _blank(items, plan, name, called)
    if not items.n:
        return blank.no_value(NO_PAIR)
    members = plan.members(items.kept)
    rows, multiplicity = merged(items.codes.astype(np.float64), members)
    duos = list(combinations(range(items.raters), 2)) if pairs is None else list(pairs)
    of_pairs = PairKappas(rows.astype(np.intp), duos, disagreement)
    kappas = of_pairs.of_all(multiplicity)
    details: dict[str, float | None] = {
        f"kappa of raters {first} and {second}": None if np.isnan(value) else float(value)
        for (first, second), value in zip(duos, kappas, strict=True)
    }
    blank = replace(blank, details=details)
    defined = ~np.isnan(kappas)
    undefined = int((~defined).sum())
    if undefined == len(duos):
        return blank.no_value("kappa is undefined for every pair of raters")
    result = plan.filled(
        blank, float(np.nanmean(kappas)), of_pairs, multiplicity=multiplicity, members=members,
        raters=float((items.codes >= 0).sum() / items.n) if pairs is None else 2,
    )  # fmt: skip
    if pairs is None and items.raters > 2:
        rated = (items.codes >= 0).astype(np.float64)
        shared = float((rated.T @ rated)[np.triu_indices(items.raters, 1)].mean())
        if shared < min(FEWEST_SHARED, items.n / 2):
            result = replace(result, interval=None, missing=f"{FEW_SHARED}, {shared:.0f} on average; see alpha")
    remarks = []
    if undefined:
        remarks.append(f"kappa is undefined for {undefined} of {len(duos)} pairs of raters, which are left out")
    constant = defined & np.array(of_pairs.constant_pairs(kappas))
    if constant.any():
        varied = kappas[defined & ~constant]
        without = float(varied.mean()) if varied.size else None
        details |= {"pairs with a constant rater": float(constant.sum()), "mean kappa of the other pairs": without}
        rest = "there is no other" if without is None else f"the mean of the other pairs is {without:.2f}"
        remarks.append(
            f"in {constant.sum()} of {len(duos)} pairs one rater gives a single level to all that both rated, which "
            f"makes kappa 0; {rest}"
        )
    return replace(result, details=details, remarks=(*remarks, *result.remarks))


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
        interval: as for :func:`bedside.stats.two_raters.kappa`, but the jackknife is around the estimate and its
            pseudovalues' mean, on Fisher's scale of as many raters; ``"analytic"`` is t with n − 1 degrees of freedom
            and Gwet's standard error. Raters are taken as fixed.

    Gwet (2008, 2014). Items without any rating are dropped and counted; items with one rating count towards the
    distribution over levels only.
    """
    one_of(interval, ("analytic", *COEFFICIENT_INTERVALS), "interval", DataError)
    if clusters is not None and interval == "analytic":
        raise DataError("the analytic interval takes items as independent", todo="use the jackknife with clusters")
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    items = rated_items(ratings, scale, fewest=1)
    w, called = agreement_weights(weights, levels(items.scale))
    name = "Gwet's AC1" if called == "unweighted" else f"Gwet's AC2 ({called} weights)"
    blank = _blank(items, plan, name, called)
    counts, n = items.level_counts(), items.n
    if not (counts.sum(axis=1) >= 2).any():
        return blank.no_value(NO_PAIR)
    members = plan.members(items.kept)
    rows, multiplicity = merged(counts, members)
    parts = _GwetParts.of(rows, w)
    observed, chance = (float(part[0]) for part in parts.agreement(multiplicity[None, :]))
    estimate = (observed - chance) / (1 - chance)
    # Gwet's formula for a table of two raters divides by n, that for raw ratings by n − 1.
    error = 0.0
    sampled = isinstance(members, SampledItems)
    if n > 1 and not sampled:
        spread = parts.squared_influence(multiplicity, estimate, chance)
        error = float(np.sqrt(spread / (n * (n if items.raters == 2 else n - 1))))
    blank = replace(blank, details={"observed agreement": observed, "chance agreement": chance})
    if interval != "analytic":
        # Chance agreement is too low in few items, by the variance of the shares of levels.
        result = plan.filled(
            blank, estimate, parts.statistic(), multiplicity=multiplicity, members=members,
            raters=max(2.0, float(counts.sum() / n)), both_centres=True,
        )  # fmt: skip
    elif error <= 1e-12:
        reason = "one item" if n == 1 else "the standard error is 0"
        result = replace(blank, estimate=estimate, missing=f"no interval: {reason}")
    else:
        full = t_interval(estimate, error, n - 1, level, "analytic standard error, t")
        bounds = Interval(full.low, min(1.0, full.high), level, full.method)
        result = replace(blank, estimate=estimate, interval=bounds)
    if result.interval is None and (counts.sum(axis=0) > 0).sum() == 1:
        result = replace(result, missing="no interval: all ratings are equal")
    return result if sampled else replace(result, standard_error=error if n > 1 else None)


def link_f1(
    cells: np.ndarray[Any, Any], *, none: object, pairs: Sequence[tuple[int, int]] | None = None, clusters: Any = None
) -> Result:
    """Mean over pairs of raters of ``2 · same / (links of one + links of the other)``, on entries that both rated.

    It is sklearn's ``f1_score(average="micro")`` with all labels but ``none``. Kappa with an unknown, large number of
    links that neither makes approaches it (Hripcsak and Rothschild 2005, JAMIA 12:296–298).

    Args:
        cells: entries × raters: what each is linked to, or ``none``; None or NaN where it isn't rated.
        none: the label of no link.
        pairs: columns that are compared; all unless given.
        clusters: the cluster of each entry, such as its case, or how they were drawn; each is its own unless given.
    """
    rated = (cells != None) & (cells == cells)  # noqa: E711
    links = rated & (cells != none)
    chosen = [
        (a, b)
        for a, b in pairs or list(combinations(range(cells.shape[1]), 2))
        if ((links[:, a] | links[:, b]) & rated[:, a] & rated[:, b]).any()
    ]
    blank = Result(
        name="F1 of links", method="mean over pairs of raters; jackknife, t", n=int((rated.sum(axis=1) > 1).sum())
    )
    if not chosen:
        return blank.no_value("nobody links anything")
    same = [2.0 * (links[:, a] & (cells[:, a] == cells[:, b])) for a, b in chosen]
    both = [(links[:, a].astype(float) + links[:, b]) * (rated[:, a] & rated[:, b]) for a, b in chosen]
    statistic = StatisticOfTotals(
        np.column_stack([*same, *both]), lambda sums: _mean_f1(sums[:, : len(chosen)], sums[:, len(chosen) :])
    )
    weights = clusters.weights if isinstance(clusters, SampledItems) else np.ones(len(cells))
    left_out = leave_one_out(statistic, weights, clusters=clusters)
    error = left_out.standard_error
    result = replace(blank, estimate=left_out.estimate, standard_error=error)
    if error is None or left_out.freedom < 1:
        return replace(result, missing="no interval: only one cluster has links")
    if error <= 1e-12:
        return replace(result, missing="no interval: leaving out any cluster changes nothing")
    interval = t_interval(left_out.estimate, error, left_out.freedom, 0.95, "jackknife, t")
    return replace(result, interval=replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0)))


def _mean_f1(same: Any, both: Any) -> Any:
    """Rows of sums of each pair → the mean over the pairs that have links; NaN where none has."""
    some = both > 0
    shares = np.divide(same, both, out=np.zeros_like(both), where=some)
    count = some.sum(axis=1)
    return np.divide(shares.sum(axis=1), count, out=np.full(count.size, np.nan), where=count > 0)
