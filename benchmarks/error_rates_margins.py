"""How often a system that is worse by the margin is shown to be no worse, and how often one that is as good is.

Each study holds two systems against each other within a margin, at one-sided 5 %, by the tests that ``bedside compare
--margin`` and ``bedside gate`` take. Where the new system is worse by exactly the margin, a study that shows it to be
no worse is an error; where both are alike, it is what the study is for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import scipy.stats

from bedside.stats import crossed_raters
from bedside.stats.proportion_scores import miettinen_nurminen_statistic, tango_statistic

ALPHA = 0.05
Z = float(scipy.stats.norm.ppf(1 - ALPHA))
CASES = (10, 20, 40, 100)
STEPS = (-1.0, 0.0, 1.0)


def levels(runs: int, seed: int) -> Iterator[tuple[str, int, float, float]]:
    """Differences of levels, which a third to a half of cases have: the margin is .3."""
    for cases in CASES:
        rates = []
        for shares in ((0.4, 0.5, 0.1), (0.2, 0.6, 0.2)):
            drawn = np.random.default_rng((seed, cases)).choice(STEPS, size=(runs, cases), p=shares)
            spread = drawn.std(axis=1, ddof=1) / np.sqrt(cases)
            low = drawn.mean(axis=1) - scipy.stats.t.ppf(1 - ALPHA, cases - 1) * spread
            # A study in which all pairs differ alike has another interval, on the scale 1 to 5.
            bound = 4 * (1 - ALPHA ** (1 / cases))
            alike = spread == 0
            low = np.where(alike, drawn[:, 0] - bound * (4 + drawn[:, 0]) / 4, low)
            rates.append(float(np.mean(low > -0.3)))
        yield "levels, paired, margin .3", cases, *rates


def proportions(runs: int, seed: int) -> Iterator[tuple[str, int, float, float]]:
    """Zeros and ones: the margin is .1, of the same cases (a fifth differ) and of two groups."""
    for cases in CASES:
        rates = []
        for only_x, only_y in ((0.05, 0.15), (0.1, 0.1)):
            drawn = np.random.default_rng((seed, cases)).multinomial(
                cases, (only_x, only_y, 1 - only_x - only_y), size=runs
            )
            table, counts = np.unique(drawn[:, :2], axis=0, return_counts=True)
            shown = [tango_statistic(int(b), int(c), cases, -0.1) > Z for b, c in table]
            rates.append(float(counts[shown].sum() / runs))
        yield "0 and 1, paired, margin .1", cases, *rates
    for cases in CASES:
        rates = []
        for share in (0.7, 0.8):
            drawn = np.random.default_rng((seed, cases)).binomial(cases, (share, 0.8), size=(runs, 2))
            table, counts = np.unique(drawn, axis=0, return_counts=True)
            shown = [
                miettinen_nurminen_statistic(
                    ones_x=int(a), n_x=cases, ones_y=int(b), n_y=cases, difference=-0.1
                ) > Z
                for a, b in table
            ]  # fmt: skip
            rates.append(float(counts[shown].sum() / runs))
        yield "0 and 1, two groups, margin .1", cases, *rates


def raters(runs: int, seed: int) -> Iterator[tuple[str, int, float, float]]:
    """Three people who rate the same cases, with tastes of .15 points: the margin is .5."""
    for cases in CASES:
        rates = []
        for shift in (-0.5, 0.0):
            rng = np.random.default_rng((seed, cases))
            shown = 0
            for _ in range(runs):
                deltas = (
                    shift + rng.normal(0, 0.42, (cases, 1)) + rng.normal(0, 0.21, 3) + rng.normal(0, 0.9, (cases, 3))
                )
                result = crossed_raters.paired_difference(deltas, np.zeros_like(deltas))
                estimate, error = result.estimate, result.standard_error
                if estimate is None or error is None:
                    continue
                # The test of bedside.stats.equivalence.mean_difference, without the power that it looks for.
                shown += estimate - scipy.stats.t.ppf(1 - ALPHA, result.details[crossed_raters.DF]) * error > -0.5
            rates.append(shown / runs)
        yield "three raters, paired, margin .5", cases, *rates


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.runs} studies a row, seed {options.seed}\n")
    print("| values | cases | shown where worse by the margin | shown where alike |")
    print("| --- | --- | --- | --- |")
    for part in (levels, proportions, raters):
        for words, cases, wrong, right in part(options.runs, options.seed):
            print(f"| {words} | {cases} | {100 * wrong:.1f} % | {100 * right:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
