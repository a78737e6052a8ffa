"""What a study needs: transcripts and raters for a kappa, cases for a difference of two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bedside.analysis.choices import WEIGHTS
from bedside.analysis.comparison import compare
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, one_of
from bedside.stats import sample_size
from bedside.stats.rater_models import Disagreement
from bedside.stats.sample_size import SampleSize

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
