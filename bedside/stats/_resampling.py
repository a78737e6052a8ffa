"""The bootstrap, once for all statistics: weights of resampled units, in blocks of bounded memory.

A statistic is a function of weights: given a matrix of resamples × units that holds how often each unit was
drawn, it returns one value a resample (NaN where undefined). Equal units are merged beforehand and drawn by
multinomial counts, so a table of two raters' joint counts is resampled in the same way as a list of items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._blocks import BUDGET_BYTES, block_rows, blocks, deviate, sums_by_cluster
from bedside.stats._exact import (
    pairwise_difference,
    rank_sum_distribution,
    signed_rank_distribution,
    tail,
    walsh_average,
)
from bedside.stats.arrays import Array, Indices, Mask, Seed, average_ranks, constant, generator, seed_in_words
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems

# -- The bootstrap --------------------------------------------------------------------------------------

Statistic = Callable[[Array], Array]


@runtime_checkable
class LeaveOneOutStatistic(Protocol):
    """A statistic that knows a faster way to its values without each unit than a row of weights for each."""

    def __call__(self, weights: Array) -> Array:
        """Rows of weights of units → values."""

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        """The values without one of each column's equal units, or without each cluster; NaN where undefined.

        Args:
            multiplicity: how many equal units each column stands for; all 1 with clusters.
            member: for each column the cluster it belongs to, 0 … clusters − 1; None without clusters.
        """


@runtime_checkable
class SampledStatistic(Protocol):
    """A statistic that knows a faster way to its values without each cluster of items drawn with unequal chances."""

    def left_out_of(self, sample: SampledItems) -> Array:
        """The values without each cluster, the others of its strata standing for it; NaN where undefined."""


@dataclass(frozen=True, slots=True)
class StatisticOfTotals:
    """A statistic of what units add up to: without a unit, its part is taken from the totals.

    Attributes:
        parts: what each unit adds, units × totals.
        value: rows of totals → values.
    """

    parts: Array
    value: Statistic

    def __call__(self, weights: Array) -> Array:
        """Rows of weights of units → values."""
        return self.value(weights @ self.parts)

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        """As :class:`LeaveOneOutStatistic` says."""
        whole = multiplicity @ self.parts
        parts = self.parts if member is None else sums_by_cluster(self.parts, member)
        values = []
        start = 0
        for rows in blocks(parts.shape[0], parts.shape[1]):
            values.append(self.value(whole - parts[start : start + rows]))
            start += rows
        return np.concatenate(values)

    def left_out_of(self, sample: SampledItems) -> Array:
        """As :class:`SampledStatistic` says."""
        return self.value(sample.sums_left_out(self.parts))


def aligned(clusters: Any, size: int) -> Any:
    """Cluster labels as an array of the right length.

    Raises:
        DataError: not one label a unit.
    """
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (size,):
        raise DataError(f"{size} units need {size} cluster labels, not {labels.size}")
    return labels


def draw(multiplicity: Array, rows: int, rng: np.random.Generator) -> Array:
    """How often each unit is drawn when the units are resampled: rows × units, each row sums to their number.

    Args:
        multiplicity: how many equal units each column stands for (whole numbers).
    """
    total = int(multiplicity.sum())
    units = multiplicity.size
    if units * 8 <= total:
        return rng.multinomial(total, multiplicity / total, size=rows).astype(np.float64)
    owner = np.repeat(np.arange(units), multiplicity.astype(np.intp))
    drawn = owner[rng.integers(0, total, size=(rows, total))]
    drawn += units * np.arange(rows)[:, None]
    counts: Array = np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)
    return counts


def _places(keys: Array) -> Indices:
    """Where each row stands when rows are ordered by what is in them, whatever their order was.

    What differs in the last digits only counts as equal, as sums of the same terms in another order do.
    """
    largest = np.abs(keys).max(axis=0, initial=0.0)
    rounded = np.round(keys / np.where(largest > 0, largest, 1.0), 9)
    places = np.empty(len(keys), dtype=np.intp)
    places[np.lexsort(rounded.T[::-1])] = np.arange(len(keys))
    return places


def every_resample(units: int) -> Array:
    """Counts of all ``units ** units`` resamples."""
    drawn = np.stack(np.meshgrid(*[np.arange(units)] * units, indexing="ij"), axis=-1).reshape(-1, units)
    return np.stack([(drawn == unit).sum(axis=1) for unit in range(units)], axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Jackknife:
    """Values of a statistic with each unit or cluster left out once.

    Attributes:
        estimate: on all data.
        values: with each left out; NaN where the statistic is undefined then.
        folds: how many equal units each value stands for.
        sample: how the units were drawn; None where with the same chance each.
    """

    estimate: float
    values: Array
    folds: Array
    sample: SampledItems | None = None

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the standard error."""
        if self.sample is not None:
            return self.sample.error(self.estimate, self.values)[1]
        return float(self.folds.sum()) - 1

    @property
    def standard_error(self) -> float | None:
        """The jackknife's standard error; None where a value is undefined or there is one unit."""
        if self.sample is not None:
            return self.sample.error(self.estimate, self.values)[0]
        n = float(self.folds.sum())
        if n < 2 or np.isnan(self.values).any():
            return None
        mean = float(np.average(self.values, weights=self.folds))
        return float(np.sqrt((n - 1) / n * (self.folds @ (self.values - mean) ** 2)))

    @property
    def bias(self) -> float:
        """How far the estimate lies above the pseudovalues' mean."""
        if self.sample is not None:
            return self.sample.bias(self.estimate, self.values)
        return float((self.folds.sum() - 1) * (np.average(self.values, weights=self.folds) - self.estimate))


@dataclass(frozen=True, slots=True)
class Resamples:
    """Values of a statistic on bootstrap resamples, with what BCa needs.

    Attributes:
        values: on the resamples; NaN where the statistic is undefined there.
        jackknife: the statistic with each unit left out.
        exhaustive: whether all possible resamples were taken.
        words: how they were made.
    """

    values: Array
    jackknife: Jackknife
    exhaustive: bool
    words: str

    @property
    def undefined(self) -> int:
        """Number of resamples on which the statistic is undefined."""
        return int(np.isnan(self.values).sum())

    @property
    def standard_error(self) -> float | None:
        """Standard deviation of the defined values."""
        defined = self.values[~np.isnan(self.values)]
        return float(defined.std(ddof=0 if self.exhaustive else 1)) if defined.size > 1 else None


def _folds(multiplicity: Array, member: Indices | None) -> tuple[Array, Callable[[Array], Array]]:
    """What is drawn or left out (units or clusters), and how its weights become weights of units."""
    if member is None:
        return multiplicity, lambda weights: weights
    return np.ones(int(member.max()) + 1), lambda weights: weights[:, member]


def _member(clusters: Any) -> Indices | None:
    """The cluster of each unit, from 0 on in the order of their names; None without clusters."""
    if clusters is None:
        return None
    member: Indices = np.unique(np.asarray(clusters).astype(str), return_inverse=True)[1]
    return member


def leave_one_out(statistic: Statistic, multiplicity: Array, *, clusters: Any = None) -> Jackknife:
    """Values of ``statistic`` without one unit, or without one cluster; arguments as for :func:`resample`.

    Of units that were drawn with unequal chances, ``clusters`` says how, and the multiplicity is their weights.
    """
    if isinstance(clusters, SampledItems):
        return _leave_one_out_of(clusters, statistic)
    member = _member(clusters)
    folds, spread = _folds(multiplicity, member)
    estimate = float(statistic(spread(folds[None, :]))[0])
    if folds.sum() <= 1:
        # Without its only unit there is nothing left to compute.
        return Jackknife(estimate, np.full(folds.size, np.nan), folds)
    if isinstance(statistic, LeaveOneOutStatistic):
        return Jackknife(estimate, statistic.left_out(multiplicity, member), folds)
    values = []
    start = 0
    for rows in blocks(folds.size, max(multiplicity.size, folds.size)):
        weights = np.tile(folds, (rows, 1))
        weights[np.arange(rows), np.arange(start, start + rows)] -= 1
        values.append(statistic(spread(weights)))
        start += rows
    return Jackknife(estimate, np.concatenate(values), folds)


def _leave_one_out_of(sample: SampledItems, statistic: Statistic) -> Jackknife:
    """Values without one cluster of units drawn with unequal chances."""
    estimate = float(statistic(sample.weights[None, :])[0])
    folds = np.ones(sample.cluster_count)
    if folds.size <= 1:
        values: Array = np.full(folds.size, np.nan)
    elif isinstance(statistic, SampledStatistic):
        values = statistic.left_out_of(sample)
    else:
        values = np.concatenate([statistic(rows) for rows in sample.weights_left_out()])
    return Jackknife(estimate, values, folds, sample)


def resample(
    statistic: Statistic, multiplicity: Array, *, resamples: int, seed: Seed, over: str = "items", clusters: Any = None
) -> Resamples:
    """Values of ``statistic`` on bootstrap resamples of the units, or of clusters of units.

    Which are drawn follows from the seed and from what the units or clusters add to the statistic, or else from what it
    is without each. So neither their names nor their order changes a number.

    Args:
        statistic: weights (rows × units) → values (rows).
        multiplicity: how many equal units each column of the weights stands for; all 1 with clusters.
        over: what is resampled, in words.
        clusters: for each unit the cluster it belongs to; clusters are then drawn whole.
    """
    if resamples < 1:
        raise DataError("at least one resample is needed")
    rng = generator(seed)
    member = _member(clusters)
    if isinstance(statistic, StatisticOfTotals) and member is not None:
        # Clusters are drawn whole, so that what each adds is enough.
        parts = sums_by_cluster(statistic.parts, member)
        statistic, multiplicity, member = StatisticOfTotals(parts, statistic.value), np.ones(len(parts)), None
        clusters = None
    folds, spread = _folds(multiplicity, member)
    left_out = leave_one_out(statistic, multiplicity, clusters=clusters)
    total = int(folds.sum())
    exhaustive = total == folds.size <= 6 and float(total) ** total <= resamples
    if exhaustive:
        values = statistic(spread(every_resample(total)))
    else:
        width = max(multiplicity.size, total)
        keys = statistic.parts if isinstance(statistic, StatisticOfTotals) else left_out.values[:, None]
        places = _places(keys)
        ordered = np.empty_like(folds)
        ordered[places] = folds
        values = np.concatenate(
            [statistic(spread(draw(ordered, rows, rng)[:, places])) for rows in blocks(resamples, width)]
        )
    words = f"all {values.size} resamples" if exhaustive else f"{resamples} resamples, {seed_in_words(seed)}"
    return Resamples(values, left_out, exhaustive, f"bootstrap over {over}, {words}")


def percentile_bounds(values: Array, level: float) -> tuple[float, float]:
    """The middle ``level`` of the values, by linear interpolation."""
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="linear")
    return float(low), float(high)


def bca_bounds(values: Array, left_out: Jackknife, level: float) -> tuple[float, float] | None:
    """Bias-corrected and accelerated bounds (Efron 1987); None where they are undefined."""
    from scipy.special import ndtr, ndtri

    estimate, folds = left_out.estimate, left_out.folds
    tolerance = 1e-12 * max(1.0, abs(estimate))
    tied = np.abs(values - estimate) <= tolerance
    below = float(((values < estimate) & ~tied).mean() + 0.5 * tied.mean())
    if not 0 < below < 1 or np.isnan(left_out.values).any():
        return None
    deviation = np.average(left_out.values, weights=folds) - left_out.values
    spread = float(folds @ deviation**2)
    if spread == 0.0:
        return None
    acceleration = float(folds @ deviation**3) / (6 * spread**1.5)
    bias = ndtri(below)
    z = bias + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    low, high = np.quantile(values, ndtr(bias + z / (1 - acceleration * z)), method="linear")
    return float(low), float(high)


def bootstrap_interval(
    drawn: Resamples, *, level: float, method: str
) -> tuple[Interval | None, str | None, tuple[str, ...]]:
    """An interval from resamples, or why there is none, and remarks.

    Args:
        method: ``"percentile"`` or ``"bca"``.

    Resamples on which the statistic is undefined are left out and counted in a remark. BCa falls back to
    percentiles, with a remark, where its correction is undefined.
    """
    defined = drawn.values[~np.isnan(drawn.values)]
    remarks: tuple[str, ...] = ()
    if drawn.undefined:
        remarks = (f"undefined on {drawn.undefined} of {drawn.values.size} resamples, which are left out",)
    if defined.size == 0:
        return None, "no interval: the statistic is undefined on every resample", ()
    if np.ptp(defined) <= 1e-12 * max(1.0, abs(drawn.jackknife.estimate)):
        return None, "no interval: every resample gives the same value", remarks
    bounds = bca_bounds(defined, drawn.jackknife, level) if method == "bca" else None
    words = "percentile" if bounds is None else "BCa"
    if bounds is None:
        bounds = percentile_bounds(defined, level)
        if method == "bca":
            remarks += ("the BCa interval is undefined here; percentiles are given",)
    return Interval(*bounds, level, f"{words} {drawn.words}"), None, remarks


def jackknife_interval(
    left_out: Jackknife, *, over: str, level: float, raters: float = 2.0, both_centres: bool = False
) -> tuple[Interval | None, str | None]:
    """An interval of a coefficient whose largest value is 1, or why there is none.

    On Fisher's scale of two raters ``tanh(atanh(estimate) ± t · s)`` with the jackknife's standard error carried to it,
    ``s = standard error / (1 − estimate²)``; of more raters, whose mean says where an item stands, on that of
    :func:`_of_many`, and of two as well with ``both_centres``: for coefficients that few items make too high. t has one
    degree of freedom less than units or clusters; Satterthwaite's over strata where units were drawn from these with
    unequal chances.
    """
    from scipy.special import stdtrit

    estimate, error = left_out.estimate, left_out.standard_error
    if error is None:
        return None, f"no interval: the statistic is undefined without one of the {over}"
    if error <= 1e-12 or not -1 < estimate < 1:
        return None, f"no interval: leaving out any of the {over} changes nothing"
    t = float(stdtrit(left_out.freedom, (1 + level) / 2))
    if (raters > 2 or both_centres) and (bounds := _of_many(left_out, raters, t)) is not None:
        return Interval(*bounds, level, f"jackknife over {over}, t on Fisher's scale of {raters:.3g} raters"), None
    half = t * error / (1 - estimate**2)
    middle = np.arctanh(estimate)
    return (
        Interval(
            float(np.tanh(middle - half)), float(np.tanh(middle + half)), level,
            f"jackknife over {over}, t on Fisher's scale",
        ),
        None,
    )  # fmt: skip


def _of_many(left_out: Jackknife, raters: float, t: float) -> tuple[float, float] | None:
    """Bounds on Fisher's (1925) scale of an intraclass correlation of k raters, ``log((1 + (k − 1)·r) / (1 − r))``, on
    which what items differ by has a spread that doesn't hang on how much it is.

    Pseudovalues take out the bias of few items, as far as they can: the interval is around both centres, theirs and the
    estimate. None where the coefficient is outside the scale, with some unit left out or without.
    """
    coefficients = np.append(left_out.values, left_out.estimate)
    if not ((1 + (raters - 1) * coefficients > 0) & (coefficients < 1)).all():
        return None
    scaled = np.log((1 + (raters - 1) * coefficients) / (1 - coefficients))
    moved = replace(left_out, estimate=float(scaled[-1]), values=scaled[:-1])
    middle = moved.estimate - moved.bias
    half = t * (moved.standard_error or 0.0)
    ends = np.exp([min(middle, moved.estimate) - half, max(middle, moved.estimate) + half])
    low, high = (ends - 1) / (ends + raters - 1)
    return float(low), float(high)


#: Intervals of a coefficient of agreement.
COEFFICIENT_INTERVALS = ("jackknife", "bca", "percentile")
CoefficientInterval = Literal["jackknife", "bca", "percentile"]


@dataclass(frozen=True, slots=True)
class ResamplingPlan:
    """How the interval of a coefficient of agreement is to be made.

    Attributes:
        interval: one of :data:`COEFFICIENT_INTERVALS`.
        clusters: for each item the cluster it belongs to, how items were drawn with unequal chances, or None.
        resamples, seed: of the bootstrap.
        level: nominal coverage.
    """

    interval: str
    clusters: Any
    resamples: int
    level: float
    seed: Seed

    def options(self) -> dict[str, Any]:
        """As they stand in a result."""
        options = {"interval": self.interval, "clusters": self.clusters is not None, "level": self.level}
        if isinstance(self.clusters, SampledItems):
            options["weighted"] = True
        if self.interval in ("bca", "percentile"):
            options |= {"resamples": self.resamples, "seed": self.seed}
        return options

    def members(self, kept: Mask) -> Any:
        """Clusters of the items kept, or how these were drawn."""
        if isinstance(self.clusters, SampledItems):
            return self.clusters.of(kept)
        return None if self.clusters is None else aligned(self.clusters, kept.size)[kept]

    def filled(
        self, blank: Result, estimate: float, statistic: Statistic, *, multiplicity: Array, members: Any,
        raters: float = 2.0, both_centres: bool = False,
    ) -> Result:  # fmt: skip
        """A result with its estimate, interval and standard error, why there is no interval, and remarks.

        Args:
            blank: what the statistic is, and what it counted.
            statistic: weights (rows × units) → values (rows).
            multiplicity: how many equal units each column of the weights stands for; all 1 with clusters.
            members: for each unit the cluster it belongs to, how units were drawn, or None.
            raters: of a unit, on average, where the coefficient is about how far they set units apart.
            both_centres: as for :func:`jackknife_interval`.

        Raises:
            DataError: a bootstrap of units that were drawn with unequal chances.
        """
        over = "items" if members is None else "clusters"
        if isinstance(members, SampledItems):
            over = "clusters within strata"
            if self.interval != "jackknife":
                raise DataError(
                    "the bootstrap takes items as drawn with one chance",
                    todo="use the jackknife with items drawn by strata",
                )
        result = replace(blank, estimate=estimate)
        if self.interval == "jackknife":
            left_out = leave_one_out(statistic, multiplicity, clusters=members)
            bounds, reason = jackknife_interval(
                left_out, over=over, level=self.level, raters=raters, both_centres=both_centres
            )
            return replace(result, interval=bounds, standard_error=left_out.standard_error, missing=reason)
        drawn = resample(statistic, multiplicity, resamples=self.resamples, seed=self.seed, over=over, clusters=members)
        bounds, reason, remarks = bootstrap_interval(drawn, level=self.level, method=self.interval)
        return replace(result, interval=bounds, standard_error=drawn.standard_error, missing=reason, remarks=remarks)


# -- Sign flips and bootstraps of the means of many columns at once -------------------------------------


#: Signs times columns of a block of patterns, so that it stays near the processor.
_NEAR = 2**20


def _turned(n: int, *, total: int, seed: int, exact: bool, step: int) -> Iterator[Mask]:
    """Blocks of sign patterns of ``n`` rows, true where a row's sign is turned: all there are, or random ones."""
    rng = generator(seed)
    for start in range(0, total, step):
        rows = min(step, total - start)
        every = np.arange(start, start + rows)[:, None] if exact else None
        yield rng.random((rows, n)) < 0.5 if every is None else every >> np.arange(n) & 1 == 1


@lru_cache(maxsize=1)
def _few_turned(n: int, total: int, seed: int, exact: bool) -> Mask:
    """The same in one, kept since the tables of other systems turn the same rows."""
    return np.concatenate([*_turned(n, total=total, seed=seed, exact=exact, step=block_rows(n))])


def rows_in_order(d: Array, present: Mask) -> tuple[Array, Mask]:
    """Every column with its rows by size, those that miss a value last, and where values are present.

    Flips and resamples that a seed draws then follow from a column's values alone: neither the order of cases nor
    other columns change its p and its interval. A column with all signs turned is in the same order, so that what is
    computed of it is mirrored.
    """
    total = d.sum(axis=0)
    even = np.abs(total) <= 1e-12 * np.abs(d).sum(axis=0)
    turned = np.where(even, (d**3).sum(axis=0), total) < 0
    order = np.argsort(np.where(present, np.where(turned, -d, d), np.inf), axis=0, kind="stable")
    return np.take_along_axis(d, order, axis=0), np.take_along_axis(present, order, axis=0)


def sign_flips(
    d: Array, present: Mask | None = None, *, resamples: int, seed: int, alternative: str, exact: bool,
    mid: bool = False, level: float | None = None,
) -> tuple[Array, list[Interval | None]]:  # fmt: skip
    """p-values of the columns' means when every row's sign is flipped at random (or in all ways); for mid-p what is as
    extreme as the data counts half. With a level, also the shifts of every column that these flips don't reject.

    With a shift taken off, a pattern's sum is as large as the data's where the mean of the rows that it turns is no
    larger than the shift, and as large on the other side where that of the rows it leaves is (Tritchler 1984). So the
    bounds are two of these means, in order. Of a one-sided test they are those at half of ``1 − level`` a side.
    No interval is there where no shift is rejected, as of too few rows, or all but one are.
    """
    (n, columns), total = d.shape, 2 ** d.shape[0] if exact else resamples
    alike = present is None or bool(present.all())
    step = max(64, _NEAR // max(1, n * min(columns, 8)) // 64 * 64)
    parts: Iterable[Mask] = _turned(n, total=total, seed=seed, exact=exact, step=step)
    if n * total <= BUDGET_BYTES:
        parts = np.split(_few_turned(n, total, seed, exact), range(step, total, step))
    sums, counts, done = np.empty((columns, total)), np.empty((1 if alike else columns, total)), 0
    for part in parts:
        turned, place = part.astype(np.float64), slice(done, done := done + len(part))
        sums[:, place] = (turned @ d).T
        counts[:, place] = part.sum(axis=1) if present is None or alike else (turned @ present).T
    p_values = np.empty(columns)
    intervals: list[Interval | None] = []
    for column in range(columns):
        of_column, rows = sums[column], counts[0 if alike else column]
        p_values[column] = _flip_p_value(of_column, d[:, column], alternative, exact=exact, mid=mid)
        if level is not None:
            size = n if present is None else int(present[:, column].sum())
            both = (float(d[:, column].sum()), size) if alternative == "two-sided" else None
            most = (1 - level) / (1 if both else 2) * (total + (not exact))
            intervals.append(_flip_interval(of_column, rows, both, most, level, exact=exact, mid=mid))
    return p_values, intervals


def _flip_p_value(turned: Array, d: Array, alternative: str, *, exact: bool, mid: bool) -> float:
    """Of a column, and the sums of the rows that each pattern turns."""
    observed = d.sum()
    above = observed - 2 * turned
    if alternative == "two-sided":
        above, observed = np.abs(above, out=above), abs(observed)
    elif alternative == "less":
        above, observed = -above, -observed
    # Sums of the same terms in another order differ in the last digits; they count as ties.
    slack = 1e-12 * np.abs(d).sum()
    extreme: float = np.count_nonzero(above >= observed - slack)
    if mid:
        extreme = (extreme + np.count_nonzero(above > observed + slack)) / 2
    return float(extreme / above.size if exact else (extreme + (0.5 if mid else 1.0)) / (above.size + 1))


def _flip_interval(
    turned: Array, rows: Array, both: tuple[float, int] | None, most: float, level: float, *, exact: bool, mid: bool
) -> Interval | None:
    """Of a column, from the sums and numbers of the rows that each pattern turns, and of all rows where those that it
    leaves count too; ``most`` patterns may be as extreme as the data."""
    parts = [(turned, rows)] if both is None else [(turned, rows), (both[0] - turned, both[1] - rows)]
    means = np.concatenate([
        sums / counts if counts.min() > 0.5 else sums[counts > 0.5] / counts[counts > 0.5] for sums, counts in parts
    ])  # fmt: skip
    # Patterns without such a mean are as extreme as the data whatever the shift; to random ones, one is added.
    always = len(parts) * turned.size - means.size
    place = int(np.floor(most * (1 + 1e-12) - (always + (not exact)) * (0.5 if mid else 1)))
    if place < 0 or 2 * place >= means.size:
        return None
    bounds = []
    for at in (place, means.size - 1 - place):
        means.partition(at)
        bounds.append(float(means[at]))
    low, high = bounds
    return None if constant(np.array(bounds)) else Interval(low, high, level, "sign flips inverted")


def mean_bootstraps(d: Array, present: Mask, *, resamples: int, seed: int, words: str) -> list[Resamples]:
    """Resampled means of every column, all from the same resamples of the rows."""
    n, columns = d.shape
    every = 0 < n <= 5 and n**n <= resamples
    drawn = []
    width = block_rows(resamples)
    for start in range(0, columns, width):
        part, complete = d[:, start : start + width], present[:, start : start + width]
        rng = generator(seed)
        means: Array
        if n == 0:
            means = np.full((1, part.shape[1]), np.nan)
        elif every:
            means = _means(every_resample(n), part, complete)
        else:
            means = np.concatenate(
                [_means(draw(np.ones(n), rows, rng), part, complete) for rows in blocks(resamples, n)]
            )
        for column in range(part.shape[1]):
            values, kept = part[:, column], complete[:, column]
            count, total = int(kept.sum()), float(values.sum())
            left_out = (total - values[kept]) / (count - 1) if count > 1 else np.full(count, np.nan)
            how = f"all {means.shape[0]} resamples" if every else f"{resamples} resamples, {words}"
            drawn.append(
                Resamples(
                    means[:, column],
                    Jackknife(total / count if count else np.nan, left_out, np.ones(count)),
                    every,
                    f"bootstrap over pairs, {how}",
                )
            )
    return drawn


def _means(weights: Array, d: Array, present: Mask) -> Array:
    """Weighted means of the columns over the rows that are present; NaN where none is."""
    counts = weights @ present if not present.all() else weights.sum(axis=1, keepdims=True)
    means: Array = np.divide(weights @ d, counts, out=np.full((weights.shape[0], d.shape[1]), np.nan), where=counts > 0)
    return means


# -- Hodges and Lehmann's estimates with intervals that invert the rank test beside them ----------------
# A shift lies inside where the test of the data less that shift doesn't reject. Between two neighbouring averages (or
# differences) the rank sum is one number, and only values that are equal in the data are tied: there the test is asked.

#: From how many pairs (or values of both groups) on an interval is that of the normal approximation.
MOST_EXACT_VALUES = 50

#: Up to this many values, making all averages is quicker than looking for some.
_FEW = 100

Shift = tuple[float, Interval | None, str | None]
#: Of an interval without width: values of few levels have few averages and differences between them.
TIED = "no interval: ties leave it no width"


def pseudo_median(d: Array, level: float, *, exact: bool, continuity: bool) -> Shift:
    """Median of the Walsh averages, its interval, and why there is none.

    Args:
        d: differences, at least one, rounded.
        level: nominal coverage.
        exact: invert the exact test, on up to 50 differences.
        continuity: whether the normal approximation has its continuity correction.
    """
    n = d.size
    count = n * (n + 1) // 2
    ordered = np.sort(d)
    averages = ordered[np.array(np.triu_indices(n))].sum(axis=0) / 2 if n <= _FEW else None  # Walsh's
    if averages is None:
        middle = (walsh_average(ordered, (count + 1) // 2) + walsh_average(ordered, count // 2 + 1)) / 2
    else:
        middle = float(np.median(averages))
    if constant(d):
        return middle, None, "no interval: all differences are equal"
    few = f"no interval: too few pairs for {level:.0%}"
    if exact and averages is not None and n <= MOST_EXACT_VALUES:
        bounds = _inverted(np.unique(averages), middle, lambda shift: _signed_rank_p(d - shift), level)
        words = "Walsh averages, exact"
    else:
        # Equal differences stay tied whatever the shift; where they rank doesn't change the sum of squares.
        sizes = np.unique(d, return_counts=True)[1]
        variance = (n * (n + 1) * (2 * n + 1) / 6 - (sizes**3 - sizes).sum() / 12) / 4
        below = _rejected_below(count, float(np.sqrt(variance)), continuity, level)
        bounds = None
        if below >= 0:
            bounds = walsh_average(ordered, below + 1), walsh_average(ordered, count - below)
        words = "Walsh averages, normal approximation"
    if bounds is None or bounds[0] == bounds[1]:
        return middle, None, few if bounds is None else TIED
    return middle, Interval(*bounds, level, words), None


def _signed_rank_p(d: Array) -> float:
    """Two-sided exact p of differences of which none is zero."""
    ranks = average_ranks(np.abs(d))
    return tail(signed_rank_distribution(ranks), round(2 * float(ranks[d > 0].sum())), "two-sided")


def shift_of_groups(x: Array, y: Array, level: float, *, exact: bool, continuity: bool) -> Shift:
    """Median of all differences between two groups, its interval, and why there is none.

    Args:
        x, y: values of the groups, at least one each.
        level: nominal coverage.
        exact: invert the exact test, on up to 50 values together.
        continuity: whether the normal approximation has its continuity correction.
    """
    x, y = np.sort(x), np.sort(y)
    m, n = x.size, y.size
    count, total = m * n, m + n
    middle = (pairwise_difference(x, y, (count + 1) // 2) + pairwise_difference(x, y, count // 2 + 1)) / 2
    if constant(x) and constant(y):
        return middle, None, "no interval: all differences are equal"
    bounds = None
    if exact and total <= MOST_EXACT_VALUES:
        every = np.unique(np.subtract.outer(x, y))
        bounds = _inverted(every, middle, lambda shift: _rank_sum_p(x - shift, y), level)
        words = "ordered differences, exact"
    else:
        ties = sum(
            float((sizes**3 - sizes).sum()) for sizes in (np.unique(group, return_counts=True)[1] for group in (x, y))
        )
        variance = count / 12 * (total + 1 - ties / (total * max(total - 1, 1)))
        below = _rejected_below(count, float(np.sqrt(variance)), continuity, level) if variance > 0 else -1
        if below >= 0:
            bounds = pairwise_difference(x, y, below + 1), pairwise_difference(x, y, count - below)
        words = "ordered differences, normal approximation"
    if bounds is None or bounds[0] == bounds[1]:
        return middle, None, f"no interval: too few values for {level:.0%}" if bounds is None else TIED
    return middle, Interval(*bounds, level, words), None


def _rank_sum_p(x: Array, y: Array) -> float:
    """Two-sided exact p of two groups."""
    ranks = average_ranks(np.concatenate([x, y]))
    return tail(rank_sum_distribution(ranks, x.size), round(2 * float(ranks[: x.size].sum())), "two-sided")


def _rejected_below(count: int, deviation: float, continuity: bool, level: float) -> int:
    """How many of the ordered values may lie below a shift that the normal approximation still rejects; −1 for none."""
    step = 0.5 if continuity else 0.0
    return int(np.floor(count / 2 - step - deviate(level) * deviation))


def _inverted(
    values: Array, estimate: float, p_at: Callable[[float], float], level: float
) -> tuple[float, float] | None:
    """The least and the greatest of the values between which the test doesn't reject; None where it never rejects.

    Args:
        values: where the rank sum changes, ascending.
        estimate: the shift itself, which counts as inside.
        p_at: the test's two-sided p at a shift between two values.
        level: nominal coverage.
    """
    alpha = (1 - level) * (1 + 1e-9)
    # Shifts outside all values have one p, the least of all.
    if p_at(float(values[0]) - 1.0) > alpha:
        return None
    between = (values[1:] + values[:-1]) / 2
    centre = min(int(np.searchsorted(values, estimate)), values.size - 1)

    def rejects(place: int) -> bool:
        return p_at(float(between[place])) <= alpha

    low, high = -1, centre
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    lower = float(values[high])
    low, high = centre - 1, between.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return lower, float(values[high])
