"""Does a study of the planned size reach what `bedside plan` prints? Seeded simulations, printed as tables.

    python benchmarks/study_size_power.py [--runs 5000] [--only differences|kappa|shared|raters]

1. Differences: the number of cases that is planned for power .8, the power printed, and the share of studies of that
   size in which scipy's t test and signed-rank test (exact up to 50 cases, as bedside compare takes it) find the
   difference; beside it the same with one case fewer, and in studies without any difference. Differences are normal.
   "Whole levels": the signed-rank test as bedside compare takes it (ties and zeros by Pratt), where ratings are whole
   levels and the standard deviation of the differences is one level; a fifth of the runs.
2. Kappa: the number of transcripts that is planned, the half-width printed, and the mean half-width and the coverage of
   the interval of bedside agree in studies of that size, with raters who miss by a level and raters who guess. A tenth
   of the runs.
3. Partly shared cases: the smallest difference that `bedside sample` prints for a plan, and the share of studies in
   which the test of bedside compare finds it, where systems' values of a case are not alike and where they are.
4. Raters after a pilot: variances are drawn, then a pilot, what is planned for eight raters, and 50 studies of that
   size. What is reached, over all pilots that tell it: the Φ that the variances have, an interval as narrow, or the
   difference found by the test of bedside compare; and how many pilots tell it. A twentieth of the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy import stats

from bedside.analysis.study_size import sizes_for_difference, sizes_for_kappa
from bedside.stats import crossed_raters, overlapping, paired
from bedside.stats._kappa_parts import penalties
from bedside.stats.generalisability import rater_study
from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.stats.rater_models import rater_model
from bedside.stats.sample_size import cases_for_raters

#: Difference in standard deviations, and the number of tests that are corrected together.
DIFFERENCES = [(2.0, 1), (2.0, 20), (1.5, 1), (1.5, 3), (1.0, 1), (1.0, 10), (0.8, 1), (0.5, 1), (0.5, 10), (0.3, 1)]
#: Kappa, half-width, shares of the levels, numbers of raters.
KAPPAS = [
    (0.6, 0.1, (0.1, 0.2, 0.4, 0.2, 0.1), (2, 3)),
    (0.4, 0.15, (0.1, 0.2, 0.4, 0.2, 0.1), (2, 3)),
    (0.8, 0.1, (0.05, 0.1, 0.2, 0.3, 0.35), (2,)),
    (0.6, 0.1, (0.1, 0.9), (2,)),
]
#: Cases that both systems have, and cases that each has alone.
SHARED = [(3, 7), (5, 5), (6, 14), (10, 10), (12, 28)]


def p_values(test: str, studies: np.ndarray) -> np.ndarray:
    """p of each study (row)."""
    if test == "t":
        return stats.ttest_1samp(studies, 0.0, axis=1).pvalue
    if studies.shape[1] <= 50:
        return stats.wilcoxon(studies, axis=1, method="exact").pvalue
    return stats.wilcoxon(studies, axis=1, method="asymptotic", correction=True).pvalue


def differences(runs: int) -> Iterator[str]:
    yield (
        "| difference / SD | tests | test | cases | fewest | power printed | power | one fewer | no difference | "
        "alpha | whole levels |"
    )
    yield "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for effect, tests in DIFFERENCES:
        sizes = sizes_for_difference(effect, sd=1.0, tests=tests)
        for size in sizes.by_test:
            n = size.cases.n
            assert n is not None
            studies = np.random.default_rng(101).normal(size=(runs, n))
            power, fewer, null = (
                float((p_values(size.test, sample) <= sizes.alpha).mean())
                for sample in (studies + effect, studies[:, : n - 1] + effect, studies)
            )
            yield (
                f"| {effect:g} | {tests} | {size.test} | {n} | {size.fewest} | {size.cases.reached:.3f} | "
                f"{power:.3f} | {fewer:.3f} | {null:.4f} | {sizes.alpha:.4f} | "
                f"{whole_levels(effect, n, sizes.alpha, runs // 5) if size.test == 'wilcoxon' else ''} |"
            )


def whole_levels(effect: float, cases: int, alpha: float, runs: int) -> str:
    """Power where differences are whole levels with a standard deviation of one level."""
    rng = np.random.default_rng(103)
    # Rounding adds a variance of 1/12.
    studies = np.round(rng.normal(effect, np.sqrt(1 - 1 / 12), size=(runs, cases)))
    tested = (paired.wilcoxon(study, np.zeros(cases), shift=False).p for study in studies)
    return f"{np.mean([p is not None and p <= alpha for p in tested]):.3f}"


def kappas(runs: int) -> Iterator[str]:
    yield "| kappa | shares | raters | they | transcripts | half-width printed | half-width | coverage |"
    yield "| ---: | --- | ---: | --- | ---: | ---: | ---: | ---: |"
    for kappa, half_width, shares, raters in KAPPAS:
        levels = np.arange(1.0, len(shares) + 1)
        for size in sizes_for_kappa(kappa, half_width, shares=shares, raters=raters).by_raters:
            n = size.simulation.n
            assert n is not None
            model = rater_model(kappa, shares, size.disagreement, penalties("quadratic", levels)[0])
            rng = np.random.default_rng(102)
            widths, covered = [], 0
            for _ in range(runs):
                interval = mean_pairwise_kappa(
                    levels[model.draw(rng, n, size.raters)], scale=list(levels), weights="quadratic"
                ).interval
                if interval is not None:
                    widths.append((interval.high - interval.low) / 2)
                    covered += interval.low <= kappa <= interval.high
            they = {"near": "miss by a level", "guessing": "guess"}[size.disagreement]
            of_levels = ", ".join(f"{share:g}" for share in shares)
            yield (
                f"| {kappa:g} ± {half_width:g} | {of_levels} | {size.raters} | {they} | {n} | "
                f"{size.simulation.reached:.3f} | {np.mean(widths):.3f} | {covered / runs:.3f} |"
            )


def shared(runs: int) -> Iterator[str]:
    yield "| cases of both | of one only | smallest difference / SD | power | power, r .5 | no difference, r .5 |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for pairs, alone in SHARED:
        smallest = overlapping.detectable_difference(pairs, alone, alone)
        assert smallest is not None
        shares = [
            power_of_shared(pairs, alone, correlation=r, difference=difference, runs=runs)
            for r, difference in ((0.0, smallest), (0.5, smallest), (0.5, 0.0))
        ]
        yield (f"| {pairs} | {alone} and {alone} | {smallest:.2f} | " + " | ".join(f"{s:.3f}" for s in shares) + " |")


def power_of_shared(pairs: int, alone: int, *, correlation: float, difference: float, runs: int) -> float:
    """The share of studies in which the t test of partially overlapping samples rejects at 5 %."""
    rng = np.random.default_rng([104, pairs, alone])
    both = rng.multivariate_normal([difference, 0.0], [[1.0, correlation], [correlation, 1.0]], size=(runs, pairs))
    own = rng.normal(size=(runs, 2, alone)) + np.array([difference, 0.0])[:, None]
    tested = (overlapping.t_test(*two.T, *only).p for two, only in zip(both, own, strict=True))
    return float(np.mean([p is not None and p <= 0.05 for p in tested]))


def rated(rng: np.random.Generator, parts: np.ndarray, cases: int, raters: int) -> np.ndarray:
    """Values, cases × raters, of these variances of cases, raters and both."""
    spreads = np.sqrt(parts)
    values = rng.normal(size=(cases, 1)) * spreads[0] + rng.normal(size=(1, raters)) * spreads[1]
    return values + rng.normal(size=(cases, raters)) * spreads[2]


def raters(runs: int) -> Iterator[str]:
    yield "| to reach | pilot, cases × raters | pilots that tell it | planned, median | reached |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for aim in ("Φ .80", "± 0.4", "difference 0.6"):
        for cases, people in ((12, 4), (20, 5), (30, 8)):
            rng = np.random.default_rng([105, cases])
            planned, reached = [], []
            for _ in range(runs):
                parts = np.array([1.0, 0.05, 0.6]) * np.exp(rng.normal(size=3) * [0.4, 1.0, 0.4])
                rows, columns = np.indices((cases, people))
                pilot = rater_study(rows.ravel(), columns.ravel(), rated(rng, parts, cases, people).ravel(), seed=rng)
                if aim == "Φ .80":
                    enough = [n for n in range(1, 21) if pilot.chance("absolute", 0.8, raters=n) >= 0.8][:1]
                    planned += enough
                    reached += [parts[0] / (parts[0] + (parts[1] + parts[2]) / n) >= 0.8 for n in enough]
                    continue
                asked = {"half_width": 0.4} if aim == "± 0.4" else {"difference": 0.6}
                n = cases_for_raters(pilot, raters=8, seed=rng, **asked).n
                if n is None:
                    continue
                planned.append(n)
                for _ in range(50):
                    values = rated(rng, parts, n, 8) + asked.get("difference", 0.0)
                    test = crossed_raters.paired_difference(values, np.zeros_like(values))
                    half = (test.interval.high - test.interval.low) / 2
                    reached.append(test.estimate > half if aim.startswith("d") else half <= 0.4)
            yield (
                f"| {aim} | {cases} × {people} | {len(planned)} of {runs} | {np.median(planned):.0f} | "
                f"{np.mean(reached):.2f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000, help="simulated studies of each cell")
    parser.add_argument("--only", choices=("differences", "kappa", "shared", "raters"), help="one of the tables")
    arguments = parser.parse_args()
    tables = {"differences": differences, "kappa": kappas, "shared": shared, "raters": raters}
    for name, table in tables.items():
        if arguments.only in (None, name):
            runs = max(1, arguments.runs // {"kappa": 10, "raters": 20}.get(name, 1))
            print("\n".join(table(runs)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
