"""The bootstrap, once for all statistics: weights of resampled units, in blocks of bounded memory.

A statistic is a function of weights: given a matrix of resamples × units that holds how often each unit was
drawn, it returns one value a resample (NaN where undefined). Equal units are merged beforehand and drawn by
multinomial counts, so a table of two raters' joint counts is resampled in the same way as a list of items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bedside.errors import DataError
from bedside.stats._arrays import Array, Seed, generator, seed_in_words
from bedside.stats.results import Interval

#: No matrix of resamples is larger than this.
BUDGET_BYTES = 64 * 2**20

Statistic = Callable[[Array], Array]
BootstrapMethod = Literal["percentile", "bca", "fisher"]


def aligned(clusters: Any, size: int) -> Any:
    """Cluster labels as an array of the right length.

    Raises:
        DataError: not one label a unit.
    """
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (size,):
        raise DataError(f"{size} units need {size} cluster labels, not {labels.size}")
    return labels


def block_rows(width: int) -> int:
    """How many rows of ``width`` floats fit the budget, at least one."""
    return max(1, BUDGET_BYTES // (8 * max(1, width)))


def blocks(total: int, width: int) -> Iterator[int]:
    """Sizes of the blocks of rows that ``total`` rows are worked through in."""
    step = block_rows(width)
    for start in range(0, total, step):
        yield min(step, total - start)


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


def every_resample(units: int) -> Array:
    """Counts of all ``units ** units`` resamples."""
    drawn = np.stack(np.meshgrid(*[np.arange(units)] * units, indexing="ij"), axis=-1).reshape(-1, units)
    return np.stack([(drawn == unit).sum(axis=1) for unit in range(units)], axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Resamples:
    """Values of a statistic on resamples, with what BCa needs.

    Attributes:
        values: on the resamples; NaN where the statistic is undefined there.
        estimate: on the data.
        jackknife: with each unit or cluster left out once.
        folds: how many equal units each jackknife value stands for.
        exhaustive: whether all possible resamples were taken.
        words: how they were made.
    """

    values: Array
    estimate: float
    jackknife: Array
    folds: Array
    exhaustive: bool
    words: str

    @property
    def undefined(self) -> int:
        """Number of resamples on which the statistic is undefined."""
        return int(np.isnan(self.values).sum())

    @property
    def standard_error(self) -> float | None:
        """Standard deviation of the defined values."""
        there = self.values[~np.isnan(self.values)]
        return float(there.std(ddof=0 if self.exhaustive else 1)) if there.size > 1 else None


def resample(
    statistic: Statistic,
    multiplicity: Array,
    *,
    resamples: int,
    seed: Seed,
    over: str = "items",
    clusters: Any = None,
) -> Resamples:
    """Values of ``statistic`` on bootstrap resamples of the units, or of clusters of units.

    Args:
        statistic: weights (rows × units) → values (rows).
        multiplicity: how many equal units each column of the weights stands for; all 1 with clusters.
        over: what the units are called.
        clusters: for each unit the cluster it belongs to; clusters are then drawn whole.
    """
    if resamples < 1:
        raise DataError("at least one resample is needed")
    rng = generator(seed)
    if clusters is None:
        folds = multiplicity

        def spread(weights: Array) -> Array:
            return weights
    else:
        _, member = np.unique(np.asarray(clusters).astype(str), return_inverse=True)
        folds = np.ones(int(member.max()) + 1)

        def spread(weights: Array) -> Array:
            return weights[:, member]

    width = max(multiplicity.size, int(folds.sum()))
    count = folds.size
    total = int(folds.sum())
    exhaustive = total == count <= 6 and float(total) ** total <= resamples
    if exhaustive:
        values = statistic(spread(every_resample(count)))
    else:
        values = np.concatenate(
            [statistic(spread(draw(folds, rows, rng))) for rows in blocks(resamples, width)]
        )
    left_out = []
    start = 0
    for rows in blocks(count, width):
        weights = np.tile(folds, (rows, 1))
        weights[np.arange(rows), np.arange(start, start + rows)] -= 1
        left_out.append(statistic(spread(weights)))
        start += rows
    words = f"all {values.size} resamples" if exhaustive else f"{resamples} resamples, {seed_in_words(seed)}"
    return Resamples(
        values,
        float(statistic(spread(folds[None, :]))[0]),
        np.concatenate(left_out),
        folds,
        exhaustive,
        f"bootstrap over {over}, {words}",
    )


def percentile_bounds(values: Array, level: float) -> tuple[float, float]:
    """The middle ``level`` of the values, by linear interpolation."""
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="linear")
    return float(low), float(high)


def bca_bounds(
    values: Array, estimate: float, jackknife: Array, folds: Array, level: float
) -> tuple[float, float] | None:
    """Bias-corrected and accelerated bounds (Efron 1987); None where they are undefined."""
    from scipy.special import ndtr, ndtri

    tolerance = 1e-12 * max(1.0, abs(estimate))
    below = (
        (values < estimate - tolerance).sum() + 0.5 * (np.abs(values - estimate) <= tolerance).sum()
    ) / values.size
    if not 0 < below < 1 or np.isnan(jackknife).any():
        return None
    deviation = np.average(jackknife, weights=folds) - jackknife
    spread = float((folds * deviation**2).sum())
    if spread == 0.0:
        return None
    acceleration = float((folds * deviation**3).sum()) / (6 * spread**1.5)
    bias = ndtri(below)
    tail = np.array([(1 - level) / 2, (1 + level) / 2])
    z = bias + ndtri(tail)
    low, high = np.quantile(values, ndtr(bias + z / (1 - acceleration * z)), method="linear")
    return float(low), float(high)


def fisher_bounds(
    estimate: float, standard_error: float, df: int, level: float
) -> tuple[float, float] | None:
    """Bounds ``tanh(atanh(estimate) ± t · s)`` of a coefficient with largest value 1.

    ``s`` is the standard error carried to Fisher's scale, ``standard_error / (1 − estimate²)``. None at −1 and
    below, and at 1.
    """
    from scipy.special import stdtrit

    if not -1 < estimate < 1 - 1e-12 or df < 1:
        return None
    half = float(stdtrit(df, (1 + level) / 2)) * standard_error / (1 - estimate**2)
    middle = np.arctanh(estimate)
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))


def bootstrap_interval(
    drawn: Resamples, *, level: float, method: BootstrapMethod
) -> tuple[Interval | None, str | None, tuple[str, ...]]:
    """An interval from resamples, or why there is none, and remarks.

    Args:
        method: ``"percentile"``, ``"bca"``, or, for agreement and correlation, ``"fisher"``: the bootstrap's
            standard error with a t quantile on Fisher's scale.

    Resamples on which the statistic is undefined are left out and counted in a remark. BCa and Fisher fall back
    to percentiles, with a remark, where they are undefined.
    """
    there = drawn.values[~np.isnan(drawn.values)]
    remarks: tuple[str, ...] = ()
    if drawn.undefined:
        remarks = (f"undefined on {drawn.undefined} of {drawn.values.size} resamples, which are left out",)
    if there.size == 0:
        return None, "no interval: the statistic is undefined on every resample", ()
    if np.ptp(there) <= 1e-12 * max(1.0, abs(drawn.estimate)):
        return None, "no interval: every resample gives the same value", remarks
    bounds = None
    words = "percentile"
    if method == "bca":
        bounds = bca_bounds(there, drawn.estimate, drawn.jackknife, drawn.folds, level)
        words = "BCa"
    elif method == "fisher":
        bounds = fisher_bounds(drawn.estimate, drawn.standard_error or 0.0, int(drawn.folds.sum()) - 1, level)
        words = "Fisher-transformed t with standard error by"
    if bounds is None:
        bounds = percentile_bounds(there, level)
        if method != "percentile":
            remarks += (f"the {words.split()[0]} interval is undefined here; percentiles are given",)
        words = "percentile"
    return Interval(*bounds, level, f"{words} {drawn.words}"), None, remarks
