"""Sign flips and bootstraps of the means of many columns at once, as few matrix products."""

from __future__ import annotations

import numpy as np

from bedside.stats._resampling import Jackknife, Resamples, block_rows, blocks, draw, every_resample
from bedside.stats.arrays import Array, Mask, generator


def sign_flip_p_values(d: Array, *, resamples: int, seed: int, alternative: str, exact: bool) -> Array:
    """p-values of the columns' means when every row's sign is flipped at random (or in all ways)."""
    n = d.shape[0]
    observed = d.sum(axis=0)
    # Sums of the same terms in another order differ in the last digits; they count as ties.
    slack = 1e-12 * np.abs(d).sum(axis=0)
    rng = generator(seed)
    extreme = np.zeros(d.shape[1])
    total = 2**n if exact else resamples
    done = 0
    for rows in blocks(total, max(d.shape)):
        if exact:
            negative = (np.arange(done, done + rows)[:, None] >> np.arange(n)) & 1 == 1
        else:
            negative = rng.random((rows, n)) < 0.5
        sums = np.where(negative, -1.0, 1.0) @ d
        if alternative == "two-sided":
            extreme += (np.abs(sums) >= np.abs(observed) - slack).sum(axis=0)
        elif alternative == "greater":
            extreme += (sums >= observed - slack).sum(axis=0)
        else:
            extreme += (sums <= observed + slack).sum(axis=0)
        done += rows
    p: Array = extreme / total if exact else (extreme + 1) / (total + 1)
    return p


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
