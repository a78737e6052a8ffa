"""What a user would do today against bedside, as ratios in one run.

    python benchmarks/inference.py [--sample 6]

1. 300 cases × 12 systems × 10 metrics: for all 66 pairs of systems a paired permutation test (10 000 sign flips), a
   bootstrap interval (10 000 resamples) and Holm's correction; against a loop over scipy.stats.permutation_test and
   scipy.stats.bootstrap (both vectorised within one call), timed on a sample of the 660 comparisons and scaled up.
2. Weighted kappa of 300 items with 2 000 bootstrap resamples; against a loop over scikit-learn, timed in full.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from bedside.stats import families, paired, two_raters

CASES, SYSTEMS, METRICS, FLIPS = 300, 12, 10, 10_000


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.mean(values, axis=axis)


def comparisons(sample: int) -> list[str]:
    rng = np.random.default_rng(0)
    difficulty = rng.normal(size=(CASES, 1, METRICS))
    quality = 0.25 * rng.normal(size=(1, SYSTEMS, METRICS))
    scores = np.clip(np.round(3 + difficulty + quality + 0.8 * rng.normal(size=(CASES, SYSTEMS, METRICS))), 1, 5)
    pairs = list(combinations(range(SYSTEMS), 2))
    x = np.concatenate([scores[:, first] for first, _ in pairs], axis=1)
    y = np.concatenate([scores[:, second] for _, second in pairs], axis=1)

    def ours() -> Any:
        found = paired.permutations(x, y, resamples=FLIPS, interval="bca", seed=1)
        return families.family(found, "all pairs of systems on all metrics", method="holm")

    ours()  # imports
    seconds, results = timed(ours)
    columns = np.linspace(0, x.shape[1] - 1, sample).astype(int)
    spent, furthest, errors = 0.0, 0.0, 0.0
    for column in columns:
        d = x[:, column] - y[:, column]

        def theirs(d: np.ndarray = d) -> Any:
            test = stats.permutation_test(
                (d,), mean, permutation_type="samples", vectorized=True, n_resamples=FLIPS,
                alternative="two-sided", axis=0, rng=np.random.default_rng(2),
            )  # fmt: skip
            interval = stats.bootstrap(
                (d,), mean, vectorized=True, n_resamples=FLIPS, confidence_level=0.95, method="BCa", axis=0,
                rng=np.random.default_rng(3),
            )  # fmt: skip
            return test.pvalue, interval.confidence_interval

        one, (p, bounds) = timed(theirs)
        spent += one
        ours_p, ours_bounds = results[column].p, results[column].interval
        # scipy doubles the smaller one-sided p; ours counts both sides: variances p (2 − p) / R and p (1 − p) / R.
        middle = (p + ours_p) / 2
        error = np.sqrt(max(middle, 1 / FLIPS) * (3 - 2 * middle) / FLIPS)
        errors = max(errors, abs(p - ours_p) / error)
        width = bounds.high - bounds.low
        furthest = max(furthest, abs(bounds.low - ours_bounds.low) / width, abs(bounds.high - ours_bounds.high) / width)
    whole = spent / sample * x.shape[1]
    significant = sum(result.p_adjusted < 0.05 for result in results)
    return [
        f"| 660 paired comparisons, {FLIPS} flips and resamples, Holm | {whole:.0f} s (scaled up from {sample} of "
        f"660) | {seconds:.2f} s | {whole / seconds:.0f} × |",
        "",
        f"Largest difference in p: {errors:.1f} Monte Carlo standard errors; of a bound: {furthest:.1%} of the "
        f"interval's width. {significant} of 660 are significant after Holm (p cannot fall below 1 / {FLIPS + 1}).",
        "",
    ]


def kappa() -> list[str]:
    rng = np.random.default_rng(4)
    latent = rng.normal(size=(300, 1))
    ratings = np.digitize(latent + 0.6 * rng.normal(size=(300, 2)), (-1, -0.3, 0.3, 1)) + 1
    a, b = ratings.T

    def ours() -> Any:
        return two_raters.kappa(
            a, b, scale=(1, 2, 3, 4, 5), weights="quadratic", interval="percentile", resamples=2000, seed=5
        )

    def theirs() -> Any:
        draws = np.random.default_rng(6)
        values = []
        for _ in range(2000):
            chosen = draws.integers(0, 300, 300)
            values.append(cohen_kappa_score(a[chosen], b[chosen], labels=[1, 2, 3, 4, 5], weights="quadratic"))
        return cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic"), np.quantile(values, (0.025, 0.975))

    ours()
    seconds, result = min((timed(ours) for _ in range(5)), key=lambda pair: pair[0])
    whole, (estimate, bounds) = timed(theirs)
    return [
        f"| quadratic kappa, 300 items, 2 000 resamples | {whole:.2f} s | {1000 * seconds:.1f} ms "
        f"| {whole / seconds:.0f} × |",
        "",
        f"Kappa {result.estimate:.4f} and {estimate:.4f}; percentile interval {result.interval.low:.3f} to "
        f"{result.interval.high:.3f} and {bounds[0]:.3f} to {bounds[1]:.3f}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=12, help="comparisons timed with scipy")
    arguments = parser.parse_args()
    first, second = comparisons(arguments.sample), kappa()
    print("| what | a loop over scipy or scikit-learn | bedside | ratio |")
    print("| --- | --- | --- | --- |")
    print(first[0])
    print(second[0])
    print("\n".join(line for line in first[2:] + second[2:] if line))


if __name__ == "__main__":
    main()
