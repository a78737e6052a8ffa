"""Sign flips and bootstraps of the means of many columns at once, as few matrix products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bedside.stats._blocks import block_rows, blocks
from bedside.stats._resampling import Jackknife, Resamples, draw, every_resample
from bedside.stats.arrays import Array, Mask, generator
from bedside.stats.result import Interval


def _signs(n: int, *, resamples: int, seed: int, exact: bool, columns: int) -> Iterator[Array]:
    """Blocks of sign patterns of ``n`` rows: all there are, or random ones."""
    rng = generator(seed)
    done = 0
    for rows in blocks(2**n if exact else resamples, max(n, columns)):
        if exact:
            negative = (np.arange(done, done + rows)[:, None] >> np.arange(n)) & 1 == 1
        else:
            negative = rng.random((rows, n)) < 0.5
        yield np.where(negative, -1.0, 1.0)
        done += rows


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


def sign_flip_p_values(d: Array, *, resamples: int, seed: int, alternative: str, exact: bool) -> Array:
    """p-values of the columns' means when every row's sign is flipped at random (or in all ways)."""
    n = d.shape[0]
    observed = d.sum(axis=0)
    # Sums of the same terms in another order differ in the last digits; they count as ties.
    slack = 1e-12 * np.abs(d).sum(axis=0)
    extreme = np.zeros(d.shape[1])
    total = 2**n if exact else resamples
    for signs in _signs(n, resamples=resamples, seed=seed, exact=exact, columns=d.shape[1]):
        sums = signs @ d
        if alternative == "two-sided":
            extreme += (np.abs(sums) >= np.abs(observed) - slack).sum(axis=0)
        elif alternative == "greater":
            extreme += (sums >= observed - slack).sum(axis=0)
        else:
            extreme += (sums <= observed + slack).sum(axis=0)
    p: Array = extreme / total if exact else (extreme + 1) / (total + 1)
    return p


def sign_flip_intervals(
    d: Array,
    present: Mask,
    *,
    resamples: int,
    seed: int,
    exact: bool,
    level: float,
    alternative: str,
) -> list[Interval | None]:
    """For every column the shifts that the sign flips of :func:`sign_flip_p_values` don't reject.

    With a shift taken off, a pattern's sum is as large as the data's where the mean of the rows that it turns is no
    larger than the shift, and as large on the other side where that of the rows it leaves is (Tritchler 1984). So the
    bounds are two of these means, in order. Of a one-sided test they are those at half of ``1 − level`` a side.

    Returns:
        None where no shift is rejected: too few rows.
    """
    turned_sums, turned_counts = [], []
    for signs in _signs(d.shape[0], resamples=resamples, seed=seed, exact=exact, columns=d.shape[1]):
        turned = (signs < 0).astype(np.float64)
        turned_sums.append(turned @ d)
        turned_counts.append(turned @ present)
    sums, counts = np.concatenate(turned_sums), np.concatenate(turned_counts)
    total = sums.shape[0] + (0 if exact else 1)
    most = (1 - level) * total if alternative == "two-sided" else (1 - level) / 2 * total
    intervals: list[Interval | None] = []
    for column in range(d.shape[1]):
        means, always = _means_of_parts(sums[:, column], counts[:, column])
        if alternative == "two-sided":
            n, whole = present[:, column].sum(), d[:, column].sum()
            left, left_always = _means_of_parts(whole - sums[:, column], n - counts[:, column])
            means, always = np.concatenate([means, left]), always + left_always
        # Patterns without such a mean are as extreme as the data whatever the shift; to random ones, one is added.
        place = int(np.floor(most * (1 + 1e-12))) - always - (0 if exact else 1)
        if place < 0 or 2 * place >= means.size:
            intervals.append(None)
            continue
        means.sort()
        bounds = float(means[place]), float(means[-1 - place])
        intervals.append(Interval(*bounds, level, "sign flips inverted"))
    return intervals


def _means_of_parts(sums: Array, counts: Array) -> tuple[Array, int]:
    """The means of the patterns that have rows, and how many have none."""
    some = counts > 0.5
    return sums[some] / counts[some], int((~some).sum())


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
    means: Array = np.divide(
        weights @ d, counts, out=np.full((weights.shape[0], d.shape[1]), np.nan), where=counts > 0
    )
    return means
