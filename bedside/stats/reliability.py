"""How reliable are several raters' ratings? Krippendorff's alpha, and of numbers the intraclass correlation.

``ratings`` is a table of items (rows) by raters (columns), None or NaN where a rater didn't rate an item. Intervals of
alpha resample items, or clusters of items such as transcripts, never single ratings. In the place of ``clusters``
:class:`~bedside.stats.sampled_items.SampledItems` says how items were drawn with unequal chances: the statistic is then
that of all that the sample stands for, with the jackknife's interval by strata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats._blocks import sums_by_cluster
from bedside.stats._kappa_parts import NO_PAIR, level_counts, merged, rated_items
from bedside.stats._resampling import COEFFICIENT_INTERVALS, CoefficientInterval, ResamplingPlan, StatisticOfTotals
from bedside.stats.arrays import Array, Indices, Mask, Scale, Seed, matrix
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems

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
    one_of(metric, METRICS, "metric", DataError)
    one_of(interval, COEFFICIENT_INTERVALS, "interval", DataError)
    plan = ResamplingPlan(interval, clusters, resamples, level, seed)
    items = rated_items(ratings, scale, fewest=2)
    if scale is None and metric != "nominal" and any(isinstance(label, str) for label in items.scale):
        raise DataError(f"alpha of labels needs the scale for the {metric} metric", todo="give its levels in order")
    positions = _positions(items.scale, metric)
    name = f"Krippendorff's alpha ({metric})"
    blank = Result(
        name=name,
        method=f"{name}, {items.raters} raters",
        n=items.n,
        dropped=items.dropped,
        options={**plan.options(), "metric": metric, "scale": None if scale is None else tuple(scale)},
    )
    if not items.n:
        return blank.no_value(NO_PAIR)
    members = plan.members(items.kept)
    disagreement, multiplicity = _disagreement(items.codes, positions, metric, members)
    observed, expected = (float(part[0]) for part in disagreement.means(multiplicity[None, :]))
    if not expected > 1e-12:
        return blank.no_value("all ratings are the same")
    ratings = float((items.codes >= 0).sum())
    details: dict[str, float | None] = {
        "observed disagreement": observed, "expected disagreement": expected, "ratings used": ratings,
    }  # fmt: skip
    return plan.filled(
        replace(blank, details=details),
        1 - observed / expected,
        disagreement,
        multiplicity=multiplicity,
        members=members,
        raters=ratings / items.n,
    )


def _positions(scale: Sequence[Any], metric: str) -> Array:
    """Numeric positions of the levels, as far as the metric needs them."""
    if metric == "nominal" or any(isinstance(label, str) for label in scale):
        return np.arange(len(scale), dtype=np.float64)
    positions = np.asarray(scale, dtype=np.float64)
    if metric == "ratio" and (positions < 0).any():
        raise DataError("a ratio scale has no negative values", todo="use the interval metric")
    return positions


def _alpha(observed: Array, expected: Array) -> Array:
    """Alpha from mean disagreements; NaN where no disagreement is to be expected."""
    ratio: Array = np.divide(observed, expected, out=np.full(observed.size, np.nan), where=expected > 1e-12)
    return 1 - ratio


class _Disagreement(Protocol):
    """Alpha as a function of the weights of items, and the two disagreements that it is made of."""

    def means(self, weights: Array) -> tuple[Array, Array]:
        """Rows of weights of items → mean observed and mean expected disagreement of pairs of ratings."""

    def __call__(self, weights: Array) -> Array:
        """Rows of weights of items → alpha; NaN where no disagreement is to be expected."""

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        """Alpha without one of each column's equal items, or without each cluster."""


def _disagreement(codes: Indices, positions: Array, metric: str, members: Any) -> tuple[_Disagreement, Array]:
    """Disagreement of distinct items by their weights, and how often each of these occurs.

    Of n ratings in all, both kinds are means over pairs of ratings, by Krippendorff's squared distances.

    Args:
        codes: items × raters, positions of the levels; −1 where missing.
        positions: the levels' numeric positions.
        members: for each item the cluster it belongs to, or None.
    """
    if metric == "interval":
        return _interval_disagreement(codes, positions, members)
    rows, multiplicity = merged(level_counts(codes, positions.size), members)
    if metric == "ordinal":
        return _OrdinalDisagreement(rows), multiplicity
    if metric == "nominal":
        distances = 1 - np.eye(positions.size)
    else:
        total = positions[:, None] + positions[None, :]
        gap = positions[:, None] - positions[None, :]
        distances = np.divide(gap, total, out=np.zeros_like(total), where=total > 0) ** 2
    return _disagreement_by_distance(rows, distances), multiplicity


@dataclass(frozen=True, slots=True)
class _DisagreementOfSums:
    """Disagreement that follows from sums over items.

    Attributes:
        parts: what each item adds, items × sums.
        of_sums: rows of sums → both disagreements, and the number of ratings n; observed ones sum up to n times their
            mean, expected ones to n (n − 1) times theirs.
    """

    parts: Array
    of_sums: Callable[[Array], tuple[Array, Array, Array]]

    def means(self, weights: Array) -> tuple[Array, Array]:
        """As :class:`_Disagreement` says."""
        return _means(*self.of_sums(weights @ self.parts))

    def __call__(self, weights: Array) -> Array:
        """As :class:`_Disagreement` says."""
        return self._statistic()(weights)

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        """As :class:`_Disagreement` says."""
        return self._statistic().left_out(multiplicity, member)

    def _statistic(self) -> StatisticOfTotals:
        return StatisticOfTotals(self.parts, lambda sums: _alpha(*_means(*self.of_sums(sums))))


def _means(observed: Array, expected: Array, n: Array) -> tuple[Array, Array]:
    """Means from sums; NaN where there are not two ratings."""
    several = n > 1
    blank = np.full(n.shape, np.nan)
    return (
        np.divide(observed, n, out=blank.copy(), where=several),
        np.divide(expected, n * (n - 1), out=blank, where=several),
    )


def _interval_disagreement(codes: Indices, positions: Array, members: Any) -> tuple[_DisagreementOfSums, Array]:
    """By the squared differences of values; their sums and sums of squares are enough, however many values occur."""
    length = positions[-1] - positions[0] or 1.0
    present = codes >= 0
    place = np.where(present, (positions[codes] - positions.mean()) / length, 0.0)
    items, multiplicity = merged(
        np.column_stack([present.sum(axis=1), place.sum(axis=1), (place**2).sum(axis=1)]).astype(np.float64), members
    )
    raters, sums, squares = items.T
    within = 2 * (raters * squares - sums**2) / (raters - 1)

    def of_sums(totals: Array) -> tuple[Array, Array, Array]:
        n, whole, of_squares, observed = totals.T
        return observed, 2 * (n * of_squares - whole**2), n

    return _DisagreementOfSums(np.column_stack([items, within]), of_sums), multiplicity


def _disagreement_by_distance(rows: Array, distances: Array) -> _DisagreementOfSums:
    """By fixed distances of levels.

    Args:
        rows: counts of raters, items × levels.
        distances: levels × levels.
    """
    per_item = ((rows @ distances) * rows).sum(axis=1) / (rows.sum(axis=1) - 1)

    def of_sums(totals: Array) -> tuple[Array, Array, Array]:
        used = totals[:, :-1]
        return totals[:, -1], ((used @ distances) * used).sum(axis=1), used.sum(axis=1)

    return _DisagreementOfSums(np.column_stack([rows, per_item]), of_sums)


@dataclass(frozen=True, slots=True)
class _OrdinalDisagreement:
    """By distances that depend on how often levels occur: a level's place is its mean rank.

    Attributes:
        rows: counts of raters, items × levels.
    """

    rows: Array

    def means(self, weights: Array) -> tuple[Array, Array]:
        """As :class:`_Disagreement` says."""
        raters = self.rows.sum(axis=1)
        used = weights @ self.rows
        place = _mean_ranks(used) - used.sum(axis=1, keepdims=True) / 2
        sums, squares = place @ self.rows.T, place**2 @ self.rows.T
        observed = (weights * 2 * (raters * squares - sums**2) / (raters - 1)).sum(axis=1)
        return _means(observed, *_expected_of_places(used, place))

    def __call__(self, weights: Array) -> Array:
        """As :class:`_Disagreement` says."""
        return _alpha(*self.means(weights))

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        """As :class:`_Disagreement` says: what is left out moves every place by its own mean ranks.

        With places p of all items, the disagreement of the others at places p − d is pᵀCp − 2dᵀCp + dᵀCd less that of
        what is left out; C sums up over items how far each pair of levels counts.
        """
        rows, raters = self.rows, self.rows.sum(axis=1)
        share = 2 * multiplicity / (raters - 1)
        pairs = np.diag((share * raters) @ rows) - (rows * share[:, None]).T @ rows
        folds = rows if member is None else sums_by_cluster(rows, member)
        used = multiplicity @ rows
        place = _mean_ranks(used[None, :])[0] - used.sum() / 2
        moved = _mean_ranks(folds) - folds.sum(axis=1, keepdims=True) / 2
        by_level = pairs @ place
        whole = place @ by_level - 2 * moved @ by_level + ((moved @ pairs) * moved).sum(axis=1)
        places = place - moved
        of_item = places if member is None else places[member]
        sums, squares = (rows * of_item).sum(axis=1), (rows * of_item**2).sum(axis=1)
        own = 2 * (raters * squares - sums**2) / (raters - 1)
        if member is not None:
            own = np.bincount(member, weights=own)
        return _alpha(*_means(whole - own, *_expected_of_places(used - folds, places)))


def _mean_ranks(used: Array) -> Array:
    """The mean rank of each level from how often levels occur, rows × levels."""
    ranks: Array = np.cumsum(used, axis=1) - used / 2
    return ranks


def _expected_of_places(used: Array, place: Array) -> tuple[Array, Array]:
    """Sum of the expected disagreement, and number of ratings, of levels used so often at these places."""
    n = used.sum(axis=1)
    return 2 * (n * (used * place**2).sum(axis=1) - (used * place).sum(axis=1) ** 2), n


def icc(
    ratings: Any, *, model: Literal[1, 2, 3] = 2, average: bool = False, clusters: Any = None, level: float = 0.95
) -> Result:
    """Intraclass correlation in the forms of Shrout and Fleiss (1979), ICC(1,1) to ICC(3,k).

    Of n items by k raters, with mean squares of items (B), of raters (J), of error (E), and within items (W):

    - ``model=1``, one-way random: each item has raters of its own. (B − W) / (B + (k − 1) W), of means (B − W) / B.
    - ``model=2``, two-way random, absolute agreement: (B − E) / (B + (k − 1) E + k (J − E) / n), of means
      (B − E) / (B + (J − E) / n).
    - ``model=3``, two-way mixed, consistency: these raters and no others, and that one rates higher than another is no
      error. (B − E) / (B + (k − 1) E), of means (B − E) / B, which is Cronbach's alpha.

    McGraw and Wong (1996) call them ICC(1), ICC(A,1), ICC(C,1), and with k for 1 those of means.

    Args:
        ratings: numbers, items by raters. Items that any rater missed are dropped and counted. Of model 1 it doesn't
            matter who rated an item: k is the most frequent number of ratings from two on, and items with another
            number are dropped and counted.
        model: which of the three.
        average: of the mean of these k raters in place of one rater.
        clusters: for each item the cluster it belongs to. The interval is then the jackknife's over clusters, t on
            Fisher's scale, and there is no p-value.

    The statistic is F of items against error (model 1: within items), with its p-value; the interval is Shrout and
    Fleiss's. Of model 2 below 0, where Satterthwaite's degrees of freedom fall below k − 1, they are raised to that,
    and the interval's name says so. Missing where the denominator is not above 0.
    """
    from scipy.special import fdtrc

    one_of(model, (1, 2, 3), "ICC model", DataError)
    table = matrix(ratings)
    if table.shape[1] < 2 and table.shape[0]:
        raise DataError("agreement needs at least two raters")
    kept: Mask
    kept, values = _equally_often_rated(table) if model == 1 else _rated_by_all(table)
    n, k = values.shape
    name = f"ICC({model},{'k' if average else 1})"
    blank = Result(
        name=name,
        method=f"{name}, {ICC_MODELS[model]}, {k} {'ratings an item' if model == 1 else 'raters'}",
        n=n,
        dropped=int((~kept).sum()),
        options={"model": model, "average": average, "clusters": clusters is not None, "level": level},
    )
    if n < 2:
        several = "with as many ratings as each other" if model == 1 else "rated by all raters"
        return blank.no_value(f"fewer than two items {several}")
    # From the first rating on: of whole numbers all sums are exact, and so an ICC of 0 is 0.
    parts = _sums_of_squares(values - values[0, 0])
    plan = ResamplingPlan("jackknife", clusters, 0, level, 0)
    members = plan.members(kept)
    sums = (members.weights if isinstance(members, SampledItems) else np.ones(n)) @ parts
    squares = _MeanSquares.of(sums[None, :])
    if sums[-1] - squares.whole[0] / (n * k) <= 1e-24 * max(1.0, float((values**2).sum())):
        return blank.no_value("all ratings are the same")
    items, raters, error, within = squares.scalars()
    blank = replace(blank, details={
        "mean square of items": items, "mean square of raters": raters,
        "mean square of error": error, "mean square within items": within,
    })  # fmt: skip
    estimate = float(squares.icc(model, average=average)[0])
    if np.isnan(estimate):
        return blank.no_value(_NO_VARIANCE)
    result = replace(blank, estimate=estimate)
    noise = within if model == 1 else error
    if noise == 0.0:
        return replace(result, missing="no p-value and no interval: there is no error beside items and raters")
    if clusters is not None:
        statistic = StatisticOfTotals(parts, lambda rows: _MeanSquares.of(rows).icc(model, average=average))
        return plan.filled(result, estimate, statistic, multiplicity=np.ones(n), members=members)
    df = n * (k - 1) if model == 1 else (n - 1) * (k - 1)
    result = replace(result, statistic=items / noise, p=float(fdtrc(n - 1, df, items / noise)))
    single = _bounds(items, raters, noise, model, n=n, k=k, level=level)
    if single is None:
        return replace(result, missing="no interval: items don't differ")
    *bounds, words = single
    low, high = (_of_means(bound, k) if average else bound for bound in bounds)
    if low is None or high is None:
        return replace(result, missing=f"no interval: perhaps {_NO_VARIANCE}")
    return replace(result, interval=Interval(low, high, level, words))


def _rated_by_all(table: Array) -> tuple[Mask, Array]:
    """Which items every rater rated, and their ratings."""
    kept: Mask = np.isnan(table).sum(axis=1) == 0
    return kept, table[kept]


def _equally_often_rated(table: Array) -> tuple[Mask, Array]:
    """Which items have the most frequent number of ratings, from two on, and these side by side, whoever gave them."""
    rated: Mask = ~np.isnan(table)
    counts: Indices = rated.sum(axis=1)
    frequency = np.bincount(counts, minlength=3)[2:]
    # Of equally frequent numbers the larger.
    k = 2 + int(np.flatnonzero(frequency == frequency.max())[-1])
    kept: Mask = np.equal(counts, k)
    return kept, table[kept][rated[kept]].reshape(-1, k)


#: The interval of an intraclass correlation as it was published.
_PUBLISHED_BOUNDS = "F (Shrout and Fleiss)"
#: Why an intraclass correlation has no value.
_NO_VARIANCE = "items differ less than the disagreement of raters alone would make them"
#: The forms of the intraclass correlation, in words.
ICC_MODELS: Mapping[int, str] = {
    1: "one-way random effects, absolute agreement",
    2: "two-way random effects, absolute agreement",
    3: "two-way mixed effects, consistency",
}


def _of_means(single: float, k: int) -> float | None:
    """The correlation of means of k raters from that of one (Spearman and Brown); None where there is none."""
    room = 1 + single * (k - 1)
    return k * single / room if room > 1e-12 else None


def _sums_of_squares(values: Array) -> Array:
    """What each item adds to the sums that mean squares are made of: 1, its ratings, its squared sum, its squares."""
    return np.column_stack([np.ones(len(values)), values, values.sum(axis=1) ** 2, (values**2).sum(axis=1)])


@dataclass(frozen=True, slots=True)
class _MeanSquares:
    """Mean squares of tables of items by raters, one of each for every table; 0 where rounding is all there is.

    Attributes:
        n: items; k: raters.
        whole: squared sums of all ratings.
        items, raters, error: mean squares of two ways.
        within: that of raters and error together.
    """

    n: Array
    k: int
    whole: Array
    items: Array
    raters: Array
    error: Array
    within: Array

    @classmethod
    def of(cls, sums: Array) -> _MeanSquares:
        """From rows of sums over :func:`_sums_of_squares`."""
        n, by_rater, k = sums[:, 0], sums[:, 1:-2], sums.shape[1] - 3
        whole = by_rater.sum(axis=1) ** 2
        # All n k times as large, so that sums of whole numbers are whole.
        total = n * k * sums[:, -1] - whole
        of_items, of_raters = n * sums[:, -2] - whole, k * (by_rater**2).sum(axis=1) - whole
        several = np.where(n > 1, n - 1, np.nan)

        def mean(square: Array, degrees: Array) -> Array:
            return np.where(square <= 1e-12 * total, 0.0, square / (n * k * degrees))

        return cls(
            n, k, whole, items=mean(of_items, several), raters=mean(of_raters, np.full(n.size, k - 1.0)),
            error=mean(total - of_items - of_raters, several * (k - 1)), within=mean(total - of_items, n * (k - 1)),
        )  # fmt: skip

    def scalars(self) -> tuple[float, float, float, float]:
        """The mean squares of the first table: items, raters, error, within."""
        items, raters, error, within = (
            float(square[0]) for square in (self.items, self.raters, self.error, self.within)
        )
        return items, raters, error, within

    def icc(self, model: int, *, average: bool) -> Array:
        """The correlation of each table; NaN where its denominator is not above 0."""
        error = self.within if model == 1 else self.error
        # Of absolute agreement, what raters differ by is part of what an item's ratings vary by.
        beside = (self.raters - error) / self.n if model == 2 else np.zeros(self.n.size)
        shared = self.items + beside if average else self.items + (self.k - 1) * error + self.k * beside
        defined = shared > 1e-12 * (self.items + self.raters + error)
        values: Array = np.divide(self.items - error, shared, out=np.full(shared.size, np.nan), where=defined)
        return values


def _bounds(
    items: float, raters: float, error: float, model: int, *, n: int, k: int, level: float
) -> tuple[float, float, str] | None:
    """The F interval of one rater's correlation from mean squares, and its name; None where items don't differ.

    Of the second form the bounds are Satterthwaite's (Fleiss and Shrout 1978), of the others exact.
    """
    from scipy.special import fdtri

    tail = (1 + level) / 2
    if items == 0.0:
        return None
    if model != 2:
        df = n * (k - 1) if model == 1 else (n - 1) * (k - 1)
        smallest = items / error / float(fdtri(n - 1, df, tail))
        largest = items / error * float(fdtri(df, n - 1, tail))
        return (smallest - 1) / (smallest + k - 1), (largest - 1) / (largest + k - 1), _PUBLISHED_BOUNDS
    single = (items - error) / (items + (k - 1) * error + k * (raters - error) / n)
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    df_error = (a * raters + b * error) ** 2 / ((a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1)))
    # Below 0 the parts' weights differ in sign and cancel, so that nothing is left of the degrees of freedom, and the
    # interval is beside its estimate. Wherever they don't differ, the smaller part's are the fewest there can be.
    words = _PUBLISHED_BOUNDS
    if df_error < k - 1.0:
        df_error, words = k - 1.0, "F, degrees of freedom raised to raters − 1"
    mixed = k * raters + (k * n - k - n) * error
    upper_f, lower_f = float(fdtri(n - 1, df_error, tail)), float(fdtri(df_error, n - 1, tail))
    low = n * (items - upper_f * error) / (upper_f * mixed + n * items)
    high = n * (lower_f * items - error) / (mixed + n * lower_f * items)
    return float(low), float(high), words
