"""How often does ``bedside validate`` say yes to a judge, and do its intervals cover? Seeded simulations, as tables.

    python benchmarks/validate_error_rates.py [--runs 5000] [--only WORD] [--seed 1]

Each run draws people and a judge, and asks for the verdict as ``validate`` does: sensitivity and specificity of each
decision beside one person's, by case, kappa of the judge with each person by case, and the rules of
``bedside.analysis.validation``. "Test alone" is the alternative annotator test of items taken as independent, without
those rules. A judge that is no good must be let in in 5 % at most; Monte Carlo error at 5,000 runs: ± 0.6 percentage
points at 5 %, ± 1.1 at 80 % (two standard errors).

"Short by exactly ε": people find 80 % of what is so and clear 98 % of the rest; the judge clears as much, and its
sensitivity beside a person, who errs too, is one person's less ε. The units are so many that 24, 40 or 90 cases carry
it in effect.

The second table is of intervals: how often that of a sensitivity holds the truth, of turns that are alike within their
transcript, by case as ``validate`` gives it and of turns taken as independent. It is of a fifth of the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from bedside.analysis.checked_units import CheckedUnits
from bedside.analysis.judge_accuracy import decisions
from bedside.analysis.validation import verdict_on
from bedside.stats import shares as clustered_shares
from bedside.stats.alternative_annotator import alternative_annotator
from bedside.stats.diagnostic_accuracy import diagnostic_accuracy
from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.stats.stand_in import EFFECTIVE, no_worse_than_one_person

Values = npt.NDArray[Any]
Levels = tuple[float, ...]
#: A judge's values, people's (units × people), and the case of each unit.
Draw = tuple[Values, Values, Values]
YES_NO: Levels = (0.0, 1.0)
FIVE: Levels = (1.0, 2.0, 3.0, 4.0, 5.0)
SKEWED = (0.02, 0.03, 0.1, 0.7, 0.15)
EVEN = (0.2, 0.2, 0.2, 0.2, 0.2)


@dataclass(frozen=True, slots=True)
class Design:
    """One line of the table.

    Attributes:
        name: what is drawn.
        levels: of the scale.
        draw: one study.
        bound: what the share of yeses must keep to, in words.
        epsilon: how much worse than a person the judge may be.
        alone: whether the alternative annotator test is asked alone, too.
    """

    name: str
    levels: Levels
    draw: Callable[[np.random.Generator], Draw]
    bound: str
    epsilon: float = 0.2
    alone: bool = True


def shares(design: Design, runs: int, seed: int) -> tuple[float, float]:
    """The share of runs with a yes: of ``validate``, and of the test of items alone."""
    rng = np.random.default_rng(seed)
    yes = alone = 0
    for _ in range(runs):
        judge, people, cases = design.draw(rng)
        clustered = len(set(cases.tolist())) < len(cases)
        options: dict[str, Any] = {"epsilon": design.epsilon, "score": "distance"}
        alone += design.alone and bool(alternative_annotator(judge, people, **options).replaceable)
        units = CheckedUnits(
            judge=judge.astype(object),
            people=people.astype(object),
            keys=np.arange(len(judge)),
            transcripts=cases,
            cases=cases,
            chances="unknown",
            weights=np.ones(len(judge)),
            judged=len(judge),
            picked=0,
            final=np.full(len(judge), None),
        )
        decided = decisions(units, design.levels, margin=design.epsilon, ordered=True)
        if not decided or not all(decision.is_shown for decision in decided):
            continue
        test = alternative_annotator(judge, people, clusters=cases if clustered else None, **options)
        columns = people.shape[1]
        kappa = mean_pairwise_kappa(
            np.column_stack([people, judge]), scale=design.levels, pairs=[(k, columns) for k in range(columns)],
            clusters=cases if clustered else None,
        )  # fmt: skip
        yes += verdict_on(units, test, kappa, design.levels, decided).stands_in is True
    return yes / runs, alone / runs


def flipped(truth: Values, rate: float | Values, rng: np.random.Generator) -> Values:
    """Yes or no, wrong at a rate."""
    return np.where(rng.random(truth.shape) < rate, 1 - truth, truth)


def constant(units: int, prevalence: float, raters: int = 3, error: float = 0.05) -> Callable[..., Draw]:
    """A judge that always says no; people miss or flag a twentieth."""

    def draw(rng: np.random.Generator) -> Draw:
        truth = (rng.random(units) < prevalence).astype(float)
        people = flipped(np.repeat(truth[:, None], raters, axis=1), error, rng)
        return np.zeros(units), people, np.arange(units, dtype=float)

    return draw


def at_random(units: int, prevalence: float, share: float) -> Callable[..., Draw]:
    """A judge that flags a share of the units whatever they are."""

    def draw(rng: np.random.Generator) -> Draw:
        _, people, cases = constant(units, prevalence)(rng)
        return (rng.random(units) < share).astype(float), people, cases

    return draw


def on_levels(units: int, mix: tuple[float, ...], judge: str) -> Callable[..., Draw]:
    """Three people on five levels, off by one in three of ten; the judge as one of them, constant or at random."""

    def seen(truth: Values, rng: np.random.Generator) -> Values:
        off = rng.choice([-1, 0, 1], truth.shape, p=[0.15, 0.7, 0.15])
        return np.asarray(np.clip(truth + off, 1, 5))

    def draw(rng: np.random.Generator) -> Draw:
        truth = rng.choice(FIVE, units, p=mix)
        people = seen(np.repeat(truth[:, None], 3, axis=1), rng)
        kinds: dict[str, Callable[[], Values]] = {
            "as good": lambda: seen(truth, rng),
            "constant": lambda: np.full(units, 4.0),
            "random": lambda: rng.choice(FIVE, units, p=mix),
            "two levels": lambda: rng.choice([4.0, 5.0], units),
        }
        return np.asarray(kinds[judge](), dtype=float), people, np.arange(units, dtype=float)

    return draw


def as_good(units: int, prevalence: float = 0.4, error: float = 0.1) -> Callable[..., Draw]:
    """Yes or no, independent units; three people, and the judge errs as often as one of them."""

    def draw(rng: np.random.Generator) -> Draw:
        truth = (rng.random(units) < prevalence).astype(float)
        people = flipped(np.repeat(truth[:, None], 3, axis=1), error, rng)
        return flipped(truth, error, rng), people, np.arange(units, dtype=float)

    return draw


def boundary(transcripts: int, turns: int, alike: float, raters: int = 3) -> Callable[..., Draw]:
    """A judge that loses to each person by exactly .2: people err in 10 %, it errs in 35 %.

    Args:
        transcripts, turns: how many, and turns of each.
        alike: intraclass correlation of the judge's errors within a transcript.
        raters: people.
    """
    error = 0.35

    def draw(rng: np.random.Generator) -> Draw:
        truth = (rng.random(transcripts * turns) < 0.4).astype(float)
        people = flipped(np.repeat(truth[:, None], raters, axis=1), 0.1, rng)
        spread = (1 - alike) / alike
        rates = (
            rng.beta(error * spread, (1 - error) * spread, transcripts) if turns > 1 else np.full(transcripts, error)
        )
        cases = np.repeat(np.arange(transcripts, dtype=float), turns)
        return flipped(truth, np.repeat(rates, turns), rng), people, cases

    return draw


#: Of people: what they find of what is so, and what they clear of the rest.
FOUND, CLEARED = 0.8, 0.98
#: Intraclass correlation within a case of what is so, and of whether the judge finds it.
ALIKE = 0.3


def short_by(
    rng: np.random.Generator, *, cases: int, turns: int, prevalence: float, raters: int, shortfall: float
) -> Draw:
    """Yes or no: beside a person the judge finds less by exactly the shortfall than another person, and clears as much.

    Args:
        rng: what draws.
        cases, turns: how many, and units of each.
        prevalence: of a yes.
        raters: people.
        shortfall: of the judge's sensitivity.
    """
    noisy = (prevalence * FOUND + (1 - prevalence) * (1 - CLEARED)) / (prevalence * FOUND)
    finds = FOUND - shortfall * noisy
    spread = (1 - ALIKE) / ALIKE

    def rates(mean: float) -> Values:
        drawn = rng.beta(mean * spread, (1 - mean) * spread, cases) if turns > 1 else np.full(cases, mean)
        return np.repeat(drawn, turns)

    truth = rng.random(cases * turns) < rates(prevalence)
    chance = np.where(truth, FOUND, 1 - CLEARED)
    people = (rng.random((cases * turns, raters)) < chance[:, None]).astype(float)
    judge = rng.random(cases * turns) < np.where(truth, rates(finds), 1 - CLEARED)
    return judge.astype(float), people, np.repeat(np.arange(cases, dtype=float), turns)


def shortfalls() -> Iterator[Design]:
    """Designs in which the judge's sensitivity is short by exactly ε."""
    for epsilon, prevalence, raters, turns in product((0.1, 0.2), (0.02, 0.05, 0.1, 0.3, 0.5), (2, 3, 5), (1, 5)):
        options: dict[str, Any] = {"turns": turns, "prevalence": prevalence, "raters": raters, "shortfall": epsilon}
        judge, people, cases = short_by(np.random.default_rng(0), cases=20_000, **options)
        pilot = no_worse_than_one_person(judge, people, margin=epsilon, clusters=cases)[0].details[EFFECTIVE] or 0.0
        for carried in (24, 40, 90):
            count = round(carried * 20_000 / pilot)
            of = f"{count:,} cases × {turns} units, ICC {ALIKE:g}" if turns > 1 else f"{count:,} units"
            name = f"short by exactly ε = {epsilon:g}, yes {prevalence:.0%}, {raters} people, {of}, {carried} in effect"
            yield Design(name, YES_NO, partial(short_by, cases=count, **options), "≤ 5 %", epsilon, alone=False)


def designs() -> Iterator[Design]:
    """The lines of the table."""
    for units in (50, 200):
        yield Design(f"always no, danger 10 %, {units} units", YES_NO, constant(units, 0.1), "≤ 5 %")
    for share in (0.03, 0.1):
        yield Design(
            f"flags {share:.0%} at random, danger 10 %, 200 units", YES_NO, at_random(200, 0.1, share), "≤ 5 %"
        )
    for kind in ("constant", "random", "two levels"):
        yield Design(f"five levels, skewed, {kind}, 200 units", FIVE, on_levels(200, SKEWED, kind), "≤ 5 %")
    for raters in (2, 3):
        for transcripts, turns, alike in (
            (20, 20, 0.15),
            (20, 20, 0.3),
            (10, 20, 0.3),
            (10, 20, 0.6),
            (15, 20, 0.3),
            (15, 20, 0.6),
            (40, 10, 0.3),
            (400, 1, 0.3),
        ):
            where = f"{transcripts} transcripts × {turns} turns, ICC {alike:g}" if turns > 1 else f"{transcripts} units"
            yield Design(
                f"at the boundary, {raters} people, {where}",
                YES_NO,
                boundary(transcripts, turns, alike, raters),
                "≤ 5 %",
            )
    for units in (30, 50, 100, 200, 220):
        bound = "≥ 80 %" if units >= 100 else "–"
        yield Design(f"as good as a person, yes or no, {units} units", YES_NO, as_good(units), bound)
        yield Design(f"as good as a person, yes or no, {units} units, ε .1", YES_NO, as_good(units), "–", 0.1)
        five = on_levels(units, EVEN, "as good")
        yield Design(f"as good as a person, five levels, {units} units", FIVE, five, "≥ 80 %" if units == 220 else "–")
    for units in (100, 200):
        rare = as_good(units, 0.1, 0.05)
        yield Design(f"as good as a person, danger 10 %, {units} units", YES_NO, rare, bound="–")
    skewed = on_levels(100, SKEWED, "as good")
    yield Design("as good as a person, five levels, skewed, 100 units", FIVE, skewed, "–")
    yield from shortfalls()


def coverage(
    transcripts: int, turns: int, alike: float, sensitivity: float, *, runs: int, seed: int
) -> tuple[float, float]:
    """How often the 95 % interval of a sensitivity holds it: by transcript, and of turns as independent.

    Args:
        transcripts, turns: how many, and turns of each; two in five are a yes.
        alike: intraclass correlation within a transcript of whether the judge finds a yes.
        sensitivity: of the judge.
        runs, seed: of the simulation.
    """
    rng = np.random.default_rng(seed)
    by_case = alone = 0
    for run in range(runs):
        rates: Values = np.full(transcripts, sensitivity)
        if alike:
            spread = (1 - alike) / alike
            rates = rng.beta(sensitivity * spread, (1 - sensitivity) * spread, transcripts)
        truth = rng.random((transcripts, turns)) < 0.4
        says = (truth & (rng.random((transcripts, turns)) < rates[:, None])).ravel()
        cases = np.repeat(np.arange(transcripts), turns)
        yes = truth.ravel()
        for clusters in (cases, None):
            members = None if clusters is None else clusters[yes]
            bounds = clustered_shares.share(says[yes].astype(float), clusters=members).interval
            if run < 10:
                whole = diagnostic_accuracy(says, yes, positive=True, clusters=clusters)
                assert whole.sensitivity.interval == bounds, "the judge card's is the interval of this share"
            holds = bounds is not None and bounds.low <= sensitivity <= bounds.high
            by_case, alone = by_case + (holds and clusters is not None), alone + (holds and clusters is None)
    return by_case / runs, alone / runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5000, help="studies drawn for each line")
    parser.add_argument("--only", default="", help="only lines whose name holds this word")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{arguments.runs:,} studies a line, seed {arguments.seed}\n")
    print("| three people and a judge, ε .2 unless said | yes | test alone | should be |")
    print("| --- | --- | --- | --- |")
    for design in designs():
        if arguments.only in design.name:
            yes, alone = shares(design, arguments.runs, arguments.seed)
            beside = f"{alone:.1%}" if design.alone else "–"
            print(f"| {design.name} | {yes:.1%} | {beside} | {design.bound} |", flush=True)
    if arguments.only not in "sensitivity":
        return
    print(f"\n{arguments.runs // 5:,} studies a line\n")
    print("| interval of a sensitivity | by case | turns as independent |\n| --- | --- | --- |")
    for transcripts, turns in ((10, 20), (20, 20), (40, 10)):
        for alike in (0.0, 0.3):
            for sensitivity in (0.5, 0.8, 0.95):
                by_case, alone = coverage(
                    transcripts, turns, alike, sensitivity, runs=arguments.runs // 5, seed=arguments.seed
                )
                where = f"{transcripts} transcripts × {turns} turns, ICC {alike:g}, truth {sensitivity:g}"
                print(f"| {where} | {by_case:.1%} | {alone:.1%} |", flush=True)


if __name__ == "__main__":
    main()
