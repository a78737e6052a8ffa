"""How often the cumulative odds ratio of two systems is found where there is none, and how often its parts are covered.

Null data are levels 1 to 5 of a latent rating, with each person's severity and
taste for a system. Of ratings that follow the model itself, the second table says how often 95 % intervals hold the
true odds ratio and a rater's severity beside the raters' mean. The docs have ``--runs 400``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain, product

import numpy as np

from bedside.stats import crossed_raters, ordinal_mixed
from benchmarks.error_rates_raters import Table, ratings


def labels(cases: int, raters: int, *, paired: bool) -> tuple[Table, Table, Table]:
    """For ratings of two tables of cases × raters: whether it is the first, the case and the rater."""
    first = np.repeat([True, False], cases * raters)
    case = np.tile(np.repeat(np.arange(cases), raters), 2) + (0 if paired else cases * ~first)
    return first, case, np.tile(np.arange(raters), 2 * cases)


def false_findings(runs: int, seed: int) -> Iterator[str]:
    """A row for each design: in how many of the studies each test rejects at 5 %, and how many have no odds ratio."""
    yield "| cases | people | taste | odds ratio | quasi-F of means | no odds ratio |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for paired, cases, raters, taste in product((True, False), (10, 20, 60), (3, 5, 10), (0.0, 0.3)):
        yield false_row(runs, seed, cases, raters, taste, paired=paired)


def false_row(runs: int, seed: int, cases: int, raters: int, taste: float, *, paired: bool) -> str:
    rng = np.random.default_rng((seed, cases, raters, int(100 * taste), paired))
    first, case, rater = labels(cases, raters, paired=paired)
    test = crossed_raters.paired_difference if paired else crossed_raters.unpaired_difference
    p = np.empty((runs, 2))
    for run in range(runs):
        x, y = ratings(rng, cases, raters, taste, paired=paired)
        levels = np.concatenate([x.ravel(), y.ravel()])
        tests = ordinal_mixed.odds_ratio(levels, first, case, rater), test(x, y)
        p[run] = [np.nan if result.p is None else result.p for result in tests]
    odds, means = (f"{100 * np.mean(column <= 0.05):.1f} %" for column in p.T)
    words, none = f"{cases} {'paired' if paired else 'each'}", f"{100 * np.isnan(p[:, 0]).mean():.1f} %"
    return f"| {words} | {raters} | {taste:g} | {odds} | {means} | {none} |"


def coverage(runs: int, seed: int) -> Iterator[str]:
    """A row for each design: how often 95 % intervals hold the true odds ratio, and the first rater's severity."""
    yield "| cases | people | odds ratio | severity |"
    yield "| --- | --- | --- | --- |"
    cuts, effect = np.array([-2.5, -0.8, 0.8, 2.5]), 0.8
    for cases, raters in product((20, 60), (3, 5, 10)):
        rng = np.random.default_rng((seed, cases, raters))
        first, case, rater = labels(cases, raters, paired=True)
        covered = np.zeros((runs, 2))
        for run in range(runs):
            severity = rng.normal(0, 1, raters)
            latent = (
                effect * first + rng.normal(0, 1.5, cases)[case] + severity[rater]
                + rng.normal(0, 0.5, (raters, 2))[rater, first * 1] + rng.normal(0, 0.7, (cases, 2))[case, first * 1]
                + rng.logistic(size=first.size)
            )  # fmt: skip
            levels = np.searchsorted(cuts, latent)
            interval = ordinal_mixed.odds_ratio(levels, first, case, rater).interval
            covered[run, 0] = interval is not None and interval.low <= np.exp(effect) <= interval.high
            by_case, by_rater = 2 * case + first, 2 * rater + first
            random = {"cases": case, "raters": rater, "cases × system": by_case, "raters × system": by_rater}
            model = ordinal_mixed.fit(levels, first[:, None], random)
            modes, errors = np.array(list(model.modes["raters"].values())).T
            off = modes[0] - modes.mean() - (severity[0] - severity.mean())
            covered[run, 1] = abs(off) <= 1.96 * errors[0]
        yield f"| {cases} | {raters} | {100 * covered[:, 0].mean():.1f} % | {100 * covered[:, 1].mean():.1f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for line in chain(false_findings(asked.runs, asked.seed), [""], coverage(asked.runs, asked.seed)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
