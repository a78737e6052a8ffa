"""How often do the defaults of ``bedside compare`` reject where nothing differs? Seeded simulations, as a table.

    python benchmarks/error_rates.py [--runs 5000] [--only WORD] [--seed 1]

Each run draws systems that don't differ, as studies have them: several transcripts, passes or raters of a case, cases
that are shared, partly shared or not, answers of five levels or yes and no. It takes case values, the test that
``compare --test auto`` takes, and counts p <= .05. "By transcript" is the same data (every fifth run) with every
transcript taken for a case of its own, which is what must not be done. Exact tests of few values can't reach 5 %:
"attainable" is the share of runs that they could reject in at most, given ties, margins or discordant pairs. Monte
Carlo error at 5,000 runs: ± 0.6 percentage points at 5 % (two standard errors).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from scipy import stats

from bedside.analysis._label_numbers import LabelNumbers
from bedside.analysis.case_values import CaseValues
from bedside.analysis.comparison import SystemPair, system_pair, systems_at_once, tested
from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.table import frame_of
from bedside.stats._exact import signed_rank_distribution
from bedside.stats.paired import EXACT_PAIRS, signed_ranks

Values = npt.NDArray[np.float64]
FACTS = MetricFacts("empathy", "Empathy", "Rubrics")
NO_LABELS = LabelNumbers(RatingsView(frame_of(()), {}, None, "simulated"))
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Arm:
    """One system's values: cases in rows, their transcripts in columns.

    Attributes:
        first: the number of the first case; cases of equal numbers are the same case.
        values: the values.
    """

    first: int
    values: Values

    def by_case(self) -> CaseValues:
        """One value a case."""
        names = tuple(f"{self.first + i:05}" for i in range(self.values.shape[0]))
        counts = np.full(len(names), self.values.shape[1])
        return CaseValues(names, self.values.mean(axis=1), counts)

    def by_transcript(self) -> CaseValues:
        """Every transcript as a case of its own."""
        names = tuple(
            f"{self.first + i:05}.{k:03}" for i in range(self.values.shape[0]) for k in range(self.values.shape[1])
        )
        return CaseValues(names, self.values.ravel(), np.ones(len(names), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Design:
    """One line of the table.

    Attributes:
        name: what a study has.
        systems: how many.
        shared: the share of cases that neighbouring systems share.
        transcripts: of each case and system.
        raters: passes of each transcript, every one with a severity of its own, alike for all systems.
        yes_no: whether answers are yes or no; else one of five levels.
    """

    name: str
    systems: int = 2
    shared: float = 1.0
    transcripts: int = 1
    raters: int = 1
    yes_no: bool = False

    def draw(self, cases: int, rng: np.random.Generator) -> list[Arm]:
        """One study without a difference."""
        step = round(cases * (1 - self.shared))
        every = rng.normal(size=cases + step * (self.systems - 1))
        severity = 0.4 * rng.normal(size=self.raters)
        arms = []
        for position in range(self.systems):
            of_case = every[position * step : position * step + cases, None]
            # A case is easier for one system than for another; its transcripts have that in common.
            latent = of_case + 0.7 * rng.normal(size=(cases, 1)) + 0.5 * rng.normal(size=(cases, self.transcripts))
            seen = latent[:, :, None] + severity + 0.5 * rng.normal(size=(*latent.shape, self.raters))
            answers = seen > 0.6 if self.yes_no else np.clip(np.round(3 + seen), 1, 5)
            arms.append(Arm(position * step, answers.mean(axis=2)))
        return arms


DESIGNS = (
    Design("paired"),
    Design("paired, 5 transcripts", transcripts=5),
    Design("paired, 3 passes", raters=3),
    Design("paired, 2 transcripts, 3 passes", transcripts=2, raters=3),
    Design("paired, yes/no", yes_no=True),
    Design("paired, yes/no, 5 transcripts", yes_no=True, transcripts=5),
    Design("unpaired", shared=0.0),
    Design("unpaired, 5 transcripts", shared=0.0, transcripts=5),
    Design("unpaired, 3 passes", shared=0.0, raters=3),
    Design("unpaired, yes/no", shared=0.0, yes_no=True),
    Design("unpaired, yes/no, 5 transcripts", shared=0.0, yes_no=True, transcripts=5),
    Design("3 in 10 cases shared", shared=0.3),
    Design("3 in 10 cases shared, 5 transcripts", shared=0.3, transcripts=5),
    Design("3 in 10 cases shared, yes/no", shared=0.3, yes_no=True),
    Design("5 in 10 cases shared", shared=0.5),
    Design("7 in 10 cases shared, 5 transcripts", shared=0.7, transcripts=5),
    Design("3 systems, paired, 5 transcripts", systems=3, transcripts=5),
    Design("3 systems, paired, yes/no", systems=3, yes_no=True),
    Design("3 systems, unpaired, 5 transcripts", systems=3, shared=0.0, transcripts=5),
)


def pair_of(arms: Sequence[CaseValues]) -> SystemPair:
    """The pair of systems as ``compare`` makes it."""
    return system_pair(FACTS, "people", (arms[0], arms[1]), ("A", "B"), test="auto", labels=NO_LABELS, unmatched=(0, 0))


def p_values(runs: Sequence[Sequence[CaseValues]]) -> list[tuple[float | None, str]]:
    """p of the test that ``compare`` takes by default, and its name, of each run."""
    if runs and len(runs[0]) > 2:
        overall = [systems_at_once(FACTS, "people", dict(zip("ABC", arms, strict=True)), "auto") for arms in runs]
        return [(o.test.p, o.test.method.partition(" ")[0].removesuffix("'s")) for o in overall]
    pairs = [pair_of(arms) for arms in runs]
    # No interval is wanted: of this level there is none to look for.
    results = tested(pairs, [1 - 1e-12] * len(pairs), alternative="two-sided", seed=0)
    return [(test.p, pair.test) for pair, (test, _) in zip(pairs, results, strict=True)]


@cache
def attainable_of_sum(ranks: tuple[float, ...]) -> float:
    """The chance that the exact signed-rank test of these ranks rejects."""
    chances = signed_rank_distribution(np.array(ranks))
    # Sums are as likely as their mirror images.
    p = 2 * np.cumsum(chances)[: chances.size // 2]
    return float(p[p <= LEVEL].max(initial=0.0))


@cache
def attainable_of_margins(n_x: int, n_y: int, successes: int) -> float:
    """The chance that the central test of Fisher rejects, given the margins."""
    table = stats.hypergeom(n_x + n_y, successes, n_x)
    counts = np.arange(max(0, successes - n_y), min(n_x, successes) + 1)
    p = 2 * np.minimum(table.cdf(counts), table.sf(counts - 1))
    return float(table.pmf(counts)[p <= LEVEL].sum())


@cache
def attainable_of_discordant(discordant: int) -> float:
    """The chance that McNemar's exact test rejects, given the discordant pairs."""
    counts = np.arange(discordant + 1)
    p = 2 * np.minimum(stats.binom.cdf(counts, discordant, 0.5), stats.binom.sf(counts - 1, discordant, 0.5))
    return float(stats.binom.pmf(counts, discordant, 0.5)[p <= LEVEL].sum())


def attainable(arms: Sequence[CaseValues]) -> float | None:
    """The most that an exact test could reject of data like these; None of tests that aren't exact."""
    if len(arms) > 2:
        return None
    pair = pair_of(arms)
    if pair.test == "mcnemar":
        return attainable_of_discordant(int((pair.x != pair.y).sum()))
    if pair.test == "fisher":
        return attainable_of_margins(pair.x.size, pair.y.size, int(pair.x.sum() + pair.y.sum()))
    ranks = np.abs(signed_ranks(np.round(pair.x - pair.y, 9), "pratt")) if pair.test == "wilcoxon" else np.empty(0)
    moved = ranks[ranks > 0]
    if pair.test != "wilcoxon" or moved.size > EXACT_PAIRS:
        return None
    return attainable_of_sum(tuple(sorted(moved))) if moved.size else 0.0


@dataclass(frozen=True, slots=True)
class Rates:
    """What a cell of the table says.

    Attributes:
        test: the test taken most often.
        rejected: share of runs with p <= .05; runs without p don't reject.
        by_transcript: the same with transcripts taken for cases; None where each case has one.
        attainable: the most that the exact test could reject; None where it isn't exact.
    """

    test: str
    rejected: float
    by_transcript: float | None
    attainable: float | None


def rates(design: Design, cases: int, runs: int, seed: int) -> Rates:
    """The rates of one design with so many cases a system."""
    rng = np.random.default_rng([seed, cases])
    drawn = [design.draw(cases, rng) for _ in range(runs)]
    studies = [[arm.by_case() for arm in arms] for arms in drawn]
    answers = p_values(studies)
    most = [attainable(arms) for arms in studies]
    exact = [value for value in most if value is not None]
    alone = None
    if design.transcripts > 1:
        alone = rejected(p_values([[arm.by_transcript() for arm in arms] for arms in drawn[::5]]))
    return Rates(
        test=Counter(name for _, name in answers).most_common(1)[0][0],
        rejected=rejected(answers),
        by_transcript=alone,
        attainable=float(np.mean(exact)) if len(exact) == runs else None,
    )


def rejected(answers: Sequence[tuple[float | None, str]]) -> float:
    """The share of answers with p <= .05."""
    return sum(p is not None and p <= LEVEL for p, _ in answers) / len(answers)


def lines(designs: Sequence[Design], runs: int, seed: int) -> Iterator[str]:
    """The table, in Markdown."""

    def share(value: float | None) -> str:
        return "" if value is None else f"{100 * value:.1f}"

    yield "| design | cases | test | rejected, % | attainable, % | by transcript, % |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for design in designs:
        for cases in (10, 20, 40):
            cell = rates(design, cases, runs, seed)
            yield (
                f"| {design.name} | {cases} | {cell.test} | {share(cell.rejected)} | {share(cell.attainable)} | "
                f"{share(cell.by_transcript)} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--only", default="", help="designs whose name holds this word")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    show: Callable[[str], None] = partial(print, flush=True)
    show(f"{options.runs:,} studies a row (by transcript {options.runs // 5:,}), seed {options.seed}\n")
    for line in lines([d for d in DESIGNS if options.only in d.name], options.runs, options.seed):
        show(line)


if __name__ == "__main__":
    main()
