"""How often does a study that is looked at while it runs ever leave out the truth? Intervals for one look, and for all.

    python benchmarks/sequential_looks.py [REPLICATES]

A look after every fifth of 10 to 200 cases. Prints the table of docs/statistics.md: the studies in which an interval
ever left out the truth, and how wide the one for every look is at the last look, beside that for one look.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bedside.stats import confidence_sequences as sequences
from bedside.stats.intervals import t_interval, welch_error
from bedside.stats.stratified_means import judged_units, mean as corrected_mean

LOOKS, PLANNED, JUDGED = range(10, 201, 5), 200, 800
Array = np.ndarray[Any, Any]


def levels(rng: np.random.Generator, size: int = PLANNED) -> Array:
    return rng.choice(np.arange(1.0, 6.0), size, p=(0.1, 0.2, 0.4, 0.2, 0.1))


def yes(rng: np.random.Generator, size: int = PLANNED) -> Array:
    return (rng.random(size) < 0.05).astype(float)


def judged(human: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """People's ratings of the planned cases, and the judge's of all: of a quarter it gives that of another."""
    return human[:PLANNED], np.where(rng.random(JUDGED) < 0.25, rng.permutation(human), human)


def at_look(kind: str, x: Array, y: Array, truth: float, ends: tuple[float, float] | None) -> list[Any]:
    """The interval for one look, and for every look, as compare and estimate make them; None where there is none."""
    n, estimate, of = x.size, float(x.mean() - y[: x.size].mean()), [x - y[: x.size]]
    error, df = float(of[0].std(ddof=1) / n**0.5), n - 1.0
    if kind == "t, two groups":
        of = [x, y[:n]]
        error, df = welch_error(x.var(ddof=1) / n, n, y[:n].var(ddof=1) / n, n)
    plain = t_interval(estimate, error, df, 0.95, "t") if error else None
    if kind == "t, judge":
        of, seen = [x], np.concatenate([x, np.full(JUDGED - n, np.nan)])
        result = corrected_mean(judged_units(y, seen), share=ends == (0, 1))
        plain, estimate, error = result.interval, result.estimate or 0.0, result.standard_error or 0.0
        df = min(result.details["degrees of freedom"] or df, df)
    if kind == "bets" and ends is not None:
        return [plain, sequences.bounded_mean(of[0], low=ends[0], high=ends[1], null=truth).interval]
    error = sequences.error_with_unseen(error, [float(own.mean()) for own in of], [n] * len(of), ends)
    return [plain, sequences.any_estimate(estimate, error, cases=n, planned=PLANNED, df=df).interval]


def main(replicates: int) -> None:
    nothing = np.zeros(PLANNED)
    print("| values | by | one look: ever wrong, % | every look: ever wrong, % | width |\n" + "| --- " * 5 + "|")
    for name, kind, draw, truth, ends in (
        ("normal", "t", lambda rng: (rng.normal(size=PLANNED), nothing), 0.0, None),
        ("skewed (exponential)", "t", lambda rng: (rng.exponential(size=PLANNED), nothing), 1.0, None),
        ("differences, levels 1–5", "bets", lambda rng: (levels(rng), levels(rng)), 0.0, (-4, 4)),
        ("differences, 5 % are 4, the rest 0", "bets", lambda rng: (4 * yes(rng), nothing), 0.2, (-4, 4)),
        ("differences of yes or no, 5 % yes", "bets", lambda rng: (yes(rng), yes(rng)), 0.0, (-1, 1)),
        ("two groups, levels 1–5", "t, two groups", lambda rng: (levels(rng), levels(rng)), 0.0, (1, 5)),
        ("two groups, 5 % yes", "t, two groups", lambda rng: (yes(rng), yes(rng)), 0.0, (0, 1)),
        ("judge corrected, levels 1–5", "t, judge", lambda rng: judged(levels(rng, JUDGED), rng), 3.0, (1, 5)),
        ("judge corrected, 5 % yes", "t, judge", lambda rng: judged(yes(rng, JUDGED), rng), 0.05, (0, 1)),
    ):
        rng, wrong, widths = np.random.default_rng(1), np.zeros(2), np.zeros(2)
        for _ in range(replicates):
            x, y = draw(rng)
            looks = [at_look(kind, x[:n], y, truth, ends) for n in LOOKS]
            wrong += [any(i and not i.low <= truth <= i.high for i in own) for own in zip(*looks, strict=True)]
            widths += [i.high - i.low if i else 0.0 for i in looks[-1]]
        shares = " | ".join(f"{100 * share / replicates:.1f}" for share in wrong)
        print(f"| {name} | {kind} | {shares} | {widths[1] / widths[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)
