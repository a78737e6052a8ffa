"""Statistics that bedside computes itself beside the library call that comes nearest, as ratios in one run.

Prints, for statistics of docs/statistics.md that a library has too, the processor time of both and the largest
relative difference of the numbers that both return. Where both draw at random only the times compare.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats import inter_rater

from bedside.stats import effects, intervals, many_raters, paired, sample_size, two_raters, unpaired

CASES, FLIPS = 300, 10_000
RNG = np.random.default_rng(0)
X, Y = np.clip(np.round(3 + RNG.normal(size=(2, CASES))), 1, 5)
D = X - Y
#: 660 columns, as many as 66 pairs of systems have on 10 metrics.
LEFT, RIGHT = np.clip(np.round(3 + RNG.normal(size=(2, 660, CASES))), 1, 5)
FEW_X, FEW_Y = np.clip(np.round(3 + RNG.normal(size=(2, 13))), 1, 5)
LEVELS = (1, 2, 3, 4, 5)
LATENT = RNG.normal(size=(CASES, 1))
RATINGS = np.digitize(LATENT + 0.6 * RNG.normal(size=(CASES, 3)), (-1, -0.3, 0.3, 1)) + 1
JOINT = np.zeros((5, 5))
np.add.at(JOINT, (RATINGS[:, 0] - 1, RATINGS[:, 1] - 1), 1)
QUADRATIC = np.subtract.outer(range(5), range(5)) ** 2 / 16.0
COUNTS = np.stack([(level == RATINGS).sum(axis=1) for level in LEVELS], axis=1)


@dataclass(frozen=True)
class Row:
    """One statistic: ours and the library's, each as a function that returns numbers to be compared."""

    name: str
    library: str
    ours: Callable[[], Sequence[float]]
    theirs: Callable[[], Sequence[float]]
    random: bool = False


def bounds(interval: Any) -> tuple[float, float]:
    return interval.low, interval.high


def mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(values, axis=axis)


def flips(d: np.ndarray) -> list[float]:
    tested = stats.permutation_test(
        (d,), mean, permutation_type="samples", vectorized=True, n_resamples=FLIPS, axis=0,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    return [float(tested.pvalue)]


def bootstrap() -> tuple[float, float]:
    return bounds(
        stats.bootstrap((D,), mean, n_resamples=FLIPS, method="BCa", rng=np.random.default_rng(0)).confidence_interval
    )


def t_tests_by_one() -> list[float]:
    return [float(stats.ttest_rel(x, y).pvalue) for x, y in zip(LEFT, RIGHT, strict=True)]


def statsmodels_kappa() -> tuple[float, float, float]:
    found = inter_rater.cohens_kappa(JOINT, weights=QUADRATIC)
    return found.kappa, found.std_kappa, found.std_kappa0


def our_kappa() -> tuple[float, float, float]:
    found = two_raters.kappa_from_counts(JOINT, scale=LEVELS, weights="quadratic", interval="analytic")
    return found.estimate, found.standard_error, found.details["standard error under chance"]


def t_by_hand(simulations: int = 2000) -> list[float]:
    draws = np.random.default_rng(0)
    found = 0
    for _ in range(simulations):
        found += stats.ttest_1samp(D[draws.integers(0, CASES, size=50)], 0.0).pvalue <= 0.05
    return [found / simulations]


ROWS = (
    Row("paired.t_tests of 660 columns", "ttest_rel, one by one",
        lambda: [r.p for r in paired.t_tests(list(zip(LEFT, RIGHT, strict=True)))], t_tests_by_one),
    Row("paired.permutation, 300 pairs", "permutation_test",
        lambda: [paired.permutation(X, Y).p], partial(flips, D), random=True),
    Row("paired.permutation, 13 pairs, all patterns", "permutation_test",
        lambda: [paired.permutation(FEW_X, FEW_Y).p], partial(flips, FEW_X - FEW_Y)),
    Row("paired.wilcoxon, normal, 300 pairs", "wilcoxon",
        lambda: [paired.wilcoxon(X, Y, shift=False).p],
        lambda: [stats.wilcoxon(X, Y, zero_method="pratt", correction=True, method="asymptotic").pvalue]),
    Row("paired.wilcoxon, exact, 13 pairs with ties", "wilcoxon by PermutationMethod",
        lambda: [paired.wilcoxon(FEW_X, FEW_Y, shift=False).p],
        lambda: [stats.wilcoxon(FEW_X, FEW_Y, zero_method="pratt", method=stats.PermutationMethod()).pvalue]),
    Row("unpaired.mann_whitney, exact, 8 and 8 with ties", "mannwhitneyu by PermutationMethod",
        lambda: [unpaired.mann_whitney(FEW_X[:8], FEW_Y[:8], method="exact", shift=False).p],
        lambda: [stats.mannwhitneyu(
            FEW_X[:8], FEW_Y[:8], method=stats.PermutationMethod(n_resamples=20_000)).pvalue]),
    Row("effects.cliffs_delta", "mannwhitneyu, 2 U / m n − 1",
        lambda: [effects.cliffs_delta(X, Y).estimate],
        lambda: [2 * stats.mannwhitneyu(X, Y).statistic / CASES**2 - 1]),
    Row("intervals.mean_t", "ttest_1samp's interval",
        lambda: bounds(intervals.mean_t(D).interval),
        lambda: bounds(stats.ttest_1samp(D, 0.0).confidence_interval(0.95))),
    Row("intervals.paired_difference_interval", "ttest_1samp's interval",
        lambda: bounds(intervals.paired_difference_interval(D)),
        lambda: bounds(stats.ttest_1samp(D, 0.0).confidence_interval(0.95))),
    Row("intervals.welch_interval", "ttest_ind's interval",
        lambda: bounds(intervals.welch_interval(X, Y)),
        lambda: bounds(stats.ttest_ind(X, Y, equal_var=False).confidence_interval(0.95))),
    Row("intervals.mean_bootstrap, BCa", "bootstrap",
        lambda: bounds(intervals.mean_bootstrap(D).interval), bootstrap, random=True),
    Row("two_raters.kappa_from_counts, analytic", "statsmodels' cohens_kappa", our_kappa, statsmodels_kappa),
    Row("many_raters.fleiss_kappa_from_counts, jackknife", "statsmodels' fleiss_kappa, no interval",
        lambda: [many_raters.fleiss_kappa_from_counts(COUNTS).estimate],
        lambda: [inter_rater.fleiss_kappa(COUNTS)]),
    Row("sample_size.simulated_power, 2 000 samples of 50", "ttest_1samp, one by one",
        lambda: [sample_size.simulated_power(D, 50, seed=0).reached], t_by_hand),
)  # fmt: skip


def seconds(call: Callable[[], Any]) -> float:
    """The least processor time of a call, of five measurements; calls that take half a second are made once more."""
    call()
    least = math.inf
    for _ in range(5):
        start, times = time.process_time(), 0
        while time.process_time() - start < 0.05:
            call()
            times += 1
        least = min(least, (time.process_time() - start) / times)
        if least > 0.5:
            break
    return least


def largest_difference(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return max(abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0 for a, b in zip(ours, theirs, strict=True))


def main() -> None:
    print("| bedside | library | bedside, ms | library, ms | ratio | largest relative difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in ROWS:
        differ = "random" if row.random else f"{largest_difference(row.ours(), row.theirs()):.0e}"
        ours, theirs = seconds(row.ours), seconds(row.theirs)
        print(
            f"| {row.name} | {row.library} | {1000 * ours:.3f} | {1000 * theirs:.3f} | {theirs / ours:.1f} × "
            f"| {differ} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
