"""What a study needs: transcripts and raters for a kappa, cases for a difference, raters and cases after a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from bedside.analysis.choices import WEIGHTS
from bedside.analysis.comparison import compare
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.rater_effects import passes_of_cases, rows_of_raters, unit_numbers
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, one_of
from bedside.stats import sample_size
from bedside.stats.crossed_raters import FEWEST_RATERS
from bedside.stats.generalisability import RaterStudy, rater_study
from bedside.stats.rater_models import Disagreement
from bedside.stats.result import Result
from bedside.stats.sample_size import SMALL_PILOT, RatedLevels, RaterCases, SampleSize

#: The level of a test, or of all tests of a family together.
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class KappaSize:
    """Transcripts that so many raters must all rate.

    Attributes:
        disagreement: what raters are taken to do where they disagree.
        raters: number of raters.
        formula: by the large-sample variance; None of more than two raters.
        simulation: by simulated studies; ``reached`` is the half-width they reach.
    """

    disagreement: Disagreement
    raters: int
    formula: SampleSize | None
    simulation: SampleSize

    @property
    def ratings(self) -> int | None:
        """Ratings in all; None where no number of transcripts is known."""
        return None if self.simulation.n is None else self.simulation.n * self.raters


@dataclass(frozen=True, slots=True)
class KappaSizes:
    """What :func:`sizes_for_kappa` says, with what it was asked.

    Attributes:
        kappa, half_width, shares, weights, seed: as asked.
        by_raters: the sizes, one for each number of raters; where the order of levels counts, for raters who miss by a
            little first, and then for raters who guess.
    """

    kappa: float
    half_width: float
    shares: tuple[float, ...]
    weights: str
    seed: int
    by_raters: tuple[KappaSize, ...]


def sizes_for_kappa(
    kappa: float,
    half_width: float,
    *,
    shares: Sequence[float],
    raters: Sequence[int],
    weights: str = "quadratic",
    seed: int = 0,
) -> KappaSizes:
    """Transcripts needed for kappa's interval, for each number of raters.

    What is needed depends on how raters disagree (:class:`~bedside.stats.rater_models.RaterModel`): where most
    disagreements are by one level, as ordered levels have it, a weighted kappa is known from fewer transcripts than
    where raters guess. Nobody knows beforehand, so both are said. Without weights, or with two levels, there is no
    near and far, and only guessing is left.

    Args:
        kappa: the expected agreement, the mean over pairs of raters.
        half_width: half the width of its 95 % interval.
        shares: how often each level is expected, lowest first; they sum to 1.
        raters: numbers of raters, each two or more.
        weights: of kappa: ``quadratic``, ``linear`` or ``none``.
        seed: of the simulated studies.

    Raises:
        DataError: impossible values.
    """
    one_of(weights, WEIGHTS, "weighting", DataError, where="`weights`")
    called = "unweighted" if weights == "none" else weights
    ordered = weights != "none" and len(shares) > 2
    readings: tuple[Disagreement, ...] = ("near", "guessing") if ordered else ("guessing",)
    sizes = []
    for disagreement in readings:
        for count in raters:
            formula = None
            if count == 2:
                formula = sample_size.items_for_kappa(
                    kappa, half_width, shares=shares, disagreement=disagreement, weights=called
                )
            simulation = sample_size.simulated_items_for_kappa(
                kappa, half_width, shares=shares, raters=count, disagreement=disagreement, weights=called, seed=seed
            )
            sizes.append(KappaSize(disagreement, count, formula, simulation))
    return KappaSizes(
        kappa=kappa, half_width=half_width, shares=tuple(shares), weights=weights, seed=seed, by_raters=tuple(sizes)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pilot:
    """Differences of two systems, case by case, and who rated them.

    Attributes:
        differences: one for each case, two or more.
        raters: :data:`~bedside.analysis.ratings_view.PEOPLE`, or a rater's name.
    """

    differences: np.ndarray[Any, Any]
    raters: str


def pilot_differences(pilot: RatingsView, metric: str | None, systems: Sequence[str] | None) -> Pilot:
    """The differences of two systems on one metric of a pilot, as rated by people where they rated any.

    Raises:
        DataError: no metric or not two systems are named, or their cases don't pair.
    """
    if metric is None or systems is None or len(systems) != 2:
        raise DataError(
            "a pilot needs one metric and two systems", where="`pilot`", todo="add `metric` and `systems=A,B`"
        )
    names = pilot.metrics([metric])
    if len(names) > 1:
        raise DataError(
            f"{len(names)} metrics match {metric!r}", where="`metric`", todo=f"name one: {', '.join(names)}"
        )
    first = compare(pilot, systems=systems, metrics=names, test="t").pairs[0]
    if first.differences is None or len(first.differences) < 2:
        raise DataError(f"fewer than two cases of {first.facts.title} pair", where="`pilot`", todo="give `sd`")
    return Pilot(np.array(first.differences), first.raters)


@dataclass(frozen=True, slots=True)
class PairedTestSize:
    """Cases that a test needs.

    Attributes:
        test: the paired t test, or Wilcoxon's signed-rank test.
        cases: by formula, of few cases by simulation; ``reached`` is the power of that many.
        fewest: cases with which the test can be significant at all.
        pilot_power: the power of the t test in samples drawn from the pilot; None without one.
    """

    test: Literal["t", "wilcoxon"]
    cases: SampleSize
    fewest: int
    pilot_power: float | None


@dataclass(frozen=True, slots=True)
class DifferenceSizes:
    """What :func:`sizes_for_difference` says, with what it was asked.

    Attributes:
        difference, power, tests, pilot, seed: as asked.
        sd: the standard deviation of the differences: the pilot's where there is one.
        alpha: the level of a single test.
        by_test: the sizes, one for each kind of test.
    """

    difference: float
    power: float
    tests: int
    pilot: Pilot | None
    seed: int
    sd: float
    alpha: float
    by_test: tuple[PairedTestSize, ...]


def sizes_for_difference(
    difference: float,
    *,
    sd: float | None = None,
    pilot: Pilot | None = None,
    power: float = 0.8,
    tests: int = 1,
    seed: int = 0,
) -> DifferenceSizes:
    """Cases needed to find a mean difference with two tests, checked on the pilot where there is one.

    Args:
        difference: the smallest difference worth finding.
        sd: standard deviation of the differences within cases; where a pilot is given, the pilot's.
        pilot: differences of a pilot study.
        power: the chance to find the difference if it is there.
        tests: number of tests in the family, over which the level is divided.
        seed: of simulated studies, and of samples drawn from the pilot.

    Raises:
        DataError: impossible values, or neither a standard deviation nor a pilot.
    """
    if pilot is not None:
        sd = float(np.std(pilot.differences, ddof=1))
    if sd is None:
        raise DataError("the differences' standard deviation isn't known", todo="give `sd` or a `pilot`")
    if tests < 1:
        raise DataError("a family has at least one test", where="`tests`")
    alpha = _LEVEL / tests
    kinds: tuple[Literal["t", "wilcoxon"], ...] = ("t", "wilcoxon")
    sizes = []
    for test in kinds:
        cases = sample_size.pairs_for_difference(difference, sd, power=power, alpha=alpha, test=test, seed=seed)
        fewest = sample_size.fewest_signed_rank_pairs(alpha) if test == "wilcoxon" else 2
        pilot_power = None
        if pilot is not None and cases.n is not None and test == "t":
            # The pilot's spread around the difference that is asked for.
            shifted = pilot.differences - pilot.differences.mean() + difference
            pilot_power = sample_size.simulated_power(shifted, cases.n, alpha=alpha, seed=seed).reached
        sizes.append(PairedTestSize(test, cases, fewest, pilot_power))
    return DifferenceSizes(
        difference=difference, power=power, tests=tests, pilot=pilot, seed=seed, sd=sd, alpha=alpha,
        by_test=tuple(sizes),
    )  # fmt: skip


# -- Raters, passes and cases, after a pilot ------------------------------------------------------------

#: What a study is to reach: Φ where each unit may have other raters, G where all have the same, an interval, a test.
Goal = Literal["Φ", "G", "half-width", "difference"]
#: Numbers of raters that are planned for unless others are asked; and those of pilots that are tried.
_RATERS, _PILOTS = (1, 2, 3, 4, 5, 6, 8, 10), (5, 8, 12, 20, 30)
#: Most levels of a scale to which ratings are rounded.
_MOST_LEVELS = 25


@dataclass(frozen=True, slots=True)
class PlannedRaters:
    """A study of so many raters, who all rate everything.

    Attributes:
        raters, passes: how many rate each unit or case, and how often each.
        ratings: in all, or of each unit where a coefficient is to be reached; None where no number of cases is known.
        coefficient: what is to be reached, by the pilot; None where it is an interval or a difference.
        cases: the cases needed; None where a coefficient is to be reached.
        chance: of reaching it, over all that the pilot leaves open.
        reaches: whether the chance is the one asked for.
        missing: why it isn't known.
    """

    raters: int
    passes: int
    ratings: int | None = None
    coefficient: Result | None = None
    cases: RaterCases | None = None
    chance: float | None = None
    reaches: bool = False
    missing: str = ""


@dataclass(frozen=True, slots=True)
class RaterPlan(MetricRatings):
    """What :func:`plan_after_pilot` says, with what it was asked.

    Attributes:
        facts: the metric.
        goal, target, power, systems, seed: as asked; no system where all stand together, or none is named.
        study: what the pilot's ratings vary by, or its differences.
        cases, pooled: of the pilot its cases, and the systems that stand together.
        several: whether a case has several transcripts of a system.
        levels: what ratings are rounded to; None of a coefficient, and of a metric without levels.
        designs: those that reach it first, the cheapest before the others.
        larger: raters and cases of a pilot that would tell, if its estimates were the same; None where this one does,
            or none that was tried would.
    """

    goal: Goal
    target: float
    power: float
    systems: tuple[str, ...]
    seed: int
    study: RaterStudy
    cases: int
    pooled: int
    several: bool
    levels: RatedLevels | None
    designs: tuple[PlannedRaters, ...]
    larger: tuple[int, int] | None


def plan_after_pilot(
    pilot: RatingsView,
    metric: str | None,
    goal: Goal,
    target: float,
    *,
    systems: Sequence[str] = (),
    raters: Sequence[int] | None = None,
    passes: Sequence[int] | None = None,
    power: float = 0.8,
    seed: int = 0,
) -> RaterPlan:
    """Raters, passes and cases that a study needs, from what the ratings of a pilot vary by.

    Args:
        pilot: the pilot's ratings.
        metric: that is planned for; the only one that is rated unless given.
        goal, target: what is to be reached.
        systems: of a coefficient, those whose units count; of an interval one system, or two for their difference; of a
            difference two.
        raters, passes: numbers to plan for; passes unless given 1, and 2 where the pilot has any.
        power: the chance to reach it.
        seed: of draws and simulated studies.

    Raises:
        DataError: impossible values, an unknown metric or system, not as many systems as the goal needs, or a pilot
            that tells nothing.
    """
    names = pilot.metrics(None if metric is None else [metric])
    if len(names) > 1:
        raise DataError(f"{len(names)} metrics are rated", where="`metric`", todo=f"name one: {', '.join(names)}")
    rows = rows_of_raters(pilot, names[0], systems)
    rated = rows["system"].drop_nulls().unique().sort().to_list()
    is_coefficient = goal in ("Φ", "G")
    fitting = (2,) if goal == "difference" else (1, 2) if systems else (0, 1)
    if set(systems) - set(rated) or not (is_coefficient or len(systems or rated) in fitting):
        wanted = "two systems" if goal == "difference" else "a system, or two for their difference,"
        todo = f"name {wanted} of {', '.join(pilot.systems())}"
        raise DataError("these aren't systems that this can be planned for", where="`systems`", todo=todo)
    if not is_coefficient:
        systems = systems or rated
    levels = None
    try:
        if is_coefficient:
            study = rater_study(unit_numbers(rows), rows["rater"], rows["value"], clusters=rows["case"], seed=seed)
        else:
            study, levels = _study_of_cases(pilot, names[0], tuple(systems), seed)
    except DataError as error:
        todo = f"let {FEWEST_RATERS} raters or more rate the same cases"
        raise DataError(f"what a study needs is not known: {error}", where="`pilot`", todo=todo) from None
    if levels and goal == "difference" and abs(target) / 2 >= min(abs(np.array(levels.levels)[[0, -1]] - levels.mean)):
        ends = f"from {levels.levels[0]:g} to {levels.levels[-1]:g}"
        raise DataError(f"means around {levels.mean:.2f} {ends} can't differ by so much", where="`difference`")
    plans = [
        _planned(study, goal, target, count, often, power, levels, max(1, len(systems)), seed)
        for count in raters or (_RATERS if is_coefficient else _RATERS[FEWEST_RATERS - 1 :])
        for often in passes or (1, 2)[: 1 + (study.of_repeats is not None)]
    ]
    plans.sort(key=lambda plan: (not plan.reaches, plan.ratings or 0, plan.raters, plan.passes))
    transcripts = rows.group_by("system", "case").agg(pl.col("transcript_id").n_unique())["transcript_id"]
    return RaterPlan(
        facts=pilot.facts(names[0]), goal=goal, target=target, power=power, systems=tuple(systems), seed=seed,
        study=study, cases=rows["case"].n_unique(), pooled=len(rated) if is_coefficient else 1,
        several=bool((transcripts > 1).any()), levels=levels, designs=tuple(plans),
        larger=None if plans[0].reaches else _larger_pilot(study, goal, target, plans, power, seed),
    )  # fmt: skip


def _study_of_cases(
    pilot: RatingsView, metric: str, systems: tuple[str, ...], seed: int
) -> tuple[RaterStudy, RatedLevels | None]:
    """What a system's ratings vary by, or the differences of two by the same rater, and what they are rounded to."""
    cells = passes_of_cases(pilot, metric, systems)
    paired, own = cells, cells.partition_by("system")
    if len(systems) == 2:
        first, second = (cells.filter(pl.col("system") == system) for system in systems)
        paired = first.join(second, on=["case", "rater", "pass"], suffix="_b")
        paired = paired.with_columns(pl.col("value") - pl.col("value_b"))
    if paired.is_empty():
        raise DataError("nobody rated whole transcripts of a case with all these systems")
    study = rater_study(paired["case"], paired["rater"], paired["value"], seed=seed)
    scale = pilot.scales.get(metric)
    if scale is None or not (scale.ordered and scale.numeric) or not 1 < len(scale.levels) <= _MOST_LEVELS:
        return study, None
    numbers = [table["value"].to_numpy() for table in own]
    mean, spread = (float(np.mean([of(values) for values in numbers])) for of in (np.mean, np.var))
    is_inside = float(scale.levels[0]) < mean < float(scale.levels[-1])
    spread = spread if len(systems) == 2 else 0.0
    return study, RatedLevels(tuple(map(float, scale.levels)), mean, spread) if is_inside else None


def _planned(
    study: RaterStudy, goal: Goal, target: float, raters: int, passes: int, power: float,
    levels: RatedLevels | None, systems: int, seed: int,
) -> PlannedRaters:  # fmt: skip
    """One design."""
    if min(raters, passes) < 1:
        raise DataError("a study has at least one rater and one pass", where="`raters` and `passes`")
    if passes > 1 and study.of_repeats is None:
        return PlannedRaters(raters, passes, missing="nobody rated anything twice")
    if goal in ("Φ", "G"):
        kind: Literal["absolute", "relative"] = "absolute" if goal == "Φ" else "relative"
        chance = study.chance(kind, target, raters=raters, repeats=passes)
        coefficient = study.coefficient(kind, raters=raters, repeats=passes)
        return PlannedRaters(raters, passes, raters * passes, coefficient, chance=chance, reaches=chance >= power)
    if raters < FEWEST_RATERS:
        return PlannedRaters(raters, passes, missing=f"raters like these need {FEWEST_RATERS} or more")
    half_width, difference = (target, 0.0) if goal == "half-width" else (None, target)
    cases = sample_size.cases_for_raters(
        study, raters=raters, repeats=passes, half_width=half_width, difference=difference, power=power,
        levels=levels, seed=seed,
    )  # fmt: skip
    ratings = None if cases.n is None else systems * cases.n * raters * passes
    return PlannedRaters(raters, passes, ratings, None, cases, cases.reached, cases.n is not None, cases.missing)


def _larger_pilot(
    study: RaterStudy, goal: Goal, target: float, plans: Sequence[PlannedRaters], power: float, seed: int
) -> tuple[int, int] | None:
    """Raters and cases of the smallest pilot tried whose plan would be known, if it came to the same estimates."""
    reached = [
        plan for plan in plans
        if plan.missing == SMALL_PILOT or (plan.coefficient and (plan.coefficient.estimate or 0) >= target)
    ]  # fmt: skip
    if not reached:
        return None
    best = max(reached, key=lambda plan: (plan.raters, plan.passes))
    for count in (study.raters, *(number for number in _PILOTS if number > study.raters)):
        for cases in (study.cases, 2 * study.cases, 4 * study.cases)[count == study.raters :]:
            pilot = study.of_pilot(cases, count, seed=seed)
            if _planned(pilot, goal, target, best.raters, best.passes, power, None, 1, seed).reaches:
                return count, cases
    return None
