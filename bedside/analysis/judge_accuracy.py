"""How well a judge tells one level from the rest, beside people; and whether what it expects comes true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import eq
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.agreement_statistics import ScaleLevels
from bedside.analysis.case_values import mean_in_group
from bedside.analysis.checked_units import CheckedUnits, checked_units, drawn_ratings, unit_keys
from bedside.analysis.fresh_view import fresh_view
from bedside.analysis.label_numbers import affirmed
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import rated_by_humans
from bedside.stats.diagnostic_accuracy import (
    CalibrationCurve,
    DiagnosticAccuracy,
    area_under_curve,
    calibration,
    diagnostic_accuracy,
)
from bedside.stats.result import Result
from bedside.stats.stand_in import P_WORSE, Costs, no_worse_than_one_person

#: Ends the name of the metric that holds a judge's expected level: the mean of the levels by their probabilities.
EXPECTED = ".expected"
#: Without a scale, most whole numbers that are taken for levels.
_MOST_GIVEN = 11
#: A level that people gave to fewer units says too little.
FEWEST_OF_LEVEL = 5
#: Level of the one-sided tests of a decision.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class LevelAccuracy:
    """How well a judge finds one level that people give.

    Attributes:
        level: the level; all others count as its opposite.
        given: units that at least one person gave it.
        units: units that the judge and people rated.
        judge: the judge against each person in turn, each unit with one vote; against the final label where a unit was
            adjudicated.
        people: one person against each other person, in the same way; None where no two people rated a unit.
    """

    level: float | str
    given: int
    units: int
    judge: DiagnosticAccuracy
    people: DiagnosticAccuracy | None


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """A judge's expected levels beside what people say.

    Attributes:
        curve: expected and observed, each person in turn, or the final label where a unit was adjudicated.
        area: the area under the ROC curve, where there are two levels; else None.
        units: units with an expected level that people rated.
    """

    curve: CalibrationCurve
    area: Result | None
    units: int


@dataclass(frozen=True, slots=True)
class LevelDecision:
    """A level, or a cut of an ordered scale, by which people decide, and whether a judge decides no worse than one.

    Attributes:
        words: what is decided: a level, ``≥ 3``, or ``fails (≤ 2)``.
        given: units to which at least one person gave it; units: those that two people or more rated.
        tests: sensitivity, specificity and, where errors have costs, loss, beside one person's; of a level that the
            judge alone gives, specificity alone.
    """

    words: str
    given: int
    units: int
    tests: tuple[Result, ...]

    @property
    def is_shown(self) -> bool:
        """Whether the judge is shown to be no worse than one person by the margin."""
        return all(test.p is not None and test.p < ALPHA for test in self.tests)


def is_worse(test: Result, tests: int) -> bool:
    """Whether the judge is shown to be worse than one person by more than the margin, of so many tests (Bonferroni)."""
    p = test.details.get(P_WORSE)
    return p is not None and p * tests < ALPHA


def decisions(
    units: CheckedUnits,
    levels: tuple[float | str, ...],
    *,
    margin: float,
    ordered: bool,
    fails: tuple[float, bool] | None = None,
    costs: Costs | None = None,
) -> tuple[LevelDecision, ...]:
    """What people decide by a scale, and whether the judge decides it no worse than one of them.

    Args:
        units: what the judge and people rated.
        levels: of the scale, the lowest first; empty where there is none.
        margin: by how much the judge may fall short.
        ordered: whether the levels have an order, so that cuts are decided, else levels.
        fails: the level from which on a transcript fails, and whether that is so of lower ones; then it alone is
            decided.
        costs: of errors, where there are two levels or a transcript fails: elsewhere nothing is missed.

    Returns:
        Of two levels one decision; none where people and judge are all on one side of a cut, or no two people rated.
    """
    asked: list[tuple[str, Callable[[Any], bool]]] = []
    places = {level: place for place, level in enumerate(levels)}
    if fails is not None:
        level, is_below = fails
        sign = "≤" if is_below else "≥"
        asked = [(f"fails ({sign} {level:g})", lambda cell: cell <= level if is_below else cell >= level)]
    elif len(levels) == 2:
        yes = yes_level(units, levels)
        asked = [(level_words(yes), lambda cell: bool(cell == yes))]
    elif ordered:
        asked = [(f"≥ {level_words(cut)}", partial(_reaches, places, cut)) for cut in levels[1:]]
    else:
        asked = [(level_words(level), partial(eq, level)) for level in levels]
    decided = []
    costs = costs if fails is not None or len(levels) == 2 else None
    present = units.present
    twice = present.sum(axis=1) > 1
    for words, holds in asked:
        people = np.full(units.people.shape, np.nan)
        people[present] = [float(holds(cell)) for cell in units.people[present]]
        judge = np.array([float(holds(cell)) for cell in units.judge])
        said = {*judge[twice], *people[present & twice[:, None]]}
        if len(said) > 1:
            tests = no_worse_than_one_person(
                judge, people, margin=margin, clusters=units.cases, weights=units.weights, costs=costs
            )
            tests = tuple(test for test in tests if test.estimate is not None)
            given = int((np.nansum(people, axis=1) > 0)[twice].sum())
            decided.append(LevelDecision(words, given, int(twice.sum()), tests))
    return tuple(decided)


def _reaches(places: Mapping[float | str, int], cut: float | str, level: float | str) -> bool:
    return places[level] >= places[cut]


def level_words(level: object) -> str:
    """A level as printed."""
    return f"{level:g}" if isinstance(level, float) else str(level)


def level_accuracy(units: CheckedUnits, level: float | str) -> LevelAccuracy:
    """How well the judge finds a level that people give; intervals by case."""
    reference, says = units.reference, units.judge == level
    is_so = (reference == level).sum(axis=1) / (reference != None).sum(axis=1)  # noqa: E711
    judge = _accuracy(units, [(says, True, is_so), (says, False, 1 - is_so)])
    votes, yes = units.present.sum(axis=1), (units.people == level).sum(axis=1)
    # Of the ordered pairs of people who rated a unit, the shares in which one says so and the other does or doesn't.
    pairs = np.maximum(1, votes * (votes - 1))
    both, split = yes * (yes - 1) / pairs, yes * (votes - yes) / pairs
    neither = (votes - yes) * (votes - yes - 1) / pairs
    everyone, nobody = np.ones(units.size, dtype=bool), np.zeros(units.size, dtype=bool)
    people = None
    if (votes > 1).any():
        people = _accuracy(
            units, [(everyone, True, both), (everyone, False, split), (nobody, True, split), (nobody, False, neither)]
        )
    return LevelAccuracy(level, units.units_given(level), units.size, judge, people)


def _accuracy(
    units: CheckedUnits, parts: Sequence[tuple[npt.NDArray[np.bool_], bool, npt.NDArray[np.float64]]]
) -> DiagnosticAccuracy:
    """The accuracy over parts of the units' votes: whether the level is said, is so, and the part of each vote."""
    says = np.concatenate([said for said, _, _ in parts])
    is_so = np.repeat([truth for _, truth, _ in parts], units.size)
    weights = np.concatenate([share * units.weights for _, _, share in parts])
    counted = weights > 0
    return diagnostic_accuracy(
        says[counted], is_so[counted], positive=True, clusters=np.tile(units.cases, len(parts))[counted],
        weights=weights[counted],
    )  # fmt: skip


def levels_of_units(units: CheckedUnits, levels: ScaleLevels) -> tuple[float | str, ...]:
    """The levels of the scale; without one, the labels or few whole numbers that were given, or 0 and 1 where there
    are no other numbers; none of other numbers."""
    if levels is not None:
        return levels
    cells = {cell for cell in (*units.judge, *units.people.ravel()) if cell is not None}
    if units.has_labels:
        return tuple(sorted(cells))
    if cells <= {0.0, 1.0}:
        return (0.0, 1.0)
    return tuple(sorted(cells)) if len(cells) <= _MOST_GIVEN and all(cell == round(cell) for cell in cells) else ()


def yes_level(units: CheckedUnits, levels: tuple[float | str, ...]) -> float | str | None:
    """Of two levels the one that is asked about: the higher number; of labels the one that affirms, else the rarer;
    None unless there are two."""
    if len(levels) != 2:
        return None
    if not isinstance(levels[1], str):
        return levels[1]
    return affirmed([str(level) for level in levels]) or min(reversed(levels), key=units.units_given)


def judge_calibration(
    units: CheckedUnits, ratings: pl.DataFrame, levels: tuple[float | str, ...]
) -> JudgeCalibration | None:
    """The judge's expected levels beside people's; None where it gave none.

    Args:
        units: the units that both rated.
        ratings: the judge's of the metric of expected levels; passes are averaged.
        levels: of the metric's scale.
    """
    means = ratings.drop_nulls("value").with_columns(unit_keys()).group_by("key").agg(mean_in_group("value"))
    expected_by_key = dict(means.iter_rows())
    expected = np.array([expected_by_key.get(str(key), np.nan) for key in units.keys], dtype=float)
    reference = units.reference
    counted = (reference != None) & ~np.isnan(expected)[:, None]  # noqa: E711
    rows, columns = np.nonzero(counted)
    if units.has_labels or not rows.size:
        return None
    votes = counted.sum(axis=1)
    curve = calibration(
        expected[rows],
        reference[rows, columns].astype(float),
        clusters=units.cases[rows],
        weights=(units.weights / np.maximum(1, votes))[rows],
    )
    area = None
    if len(levels) == 2:
        yes = ((reference == levels[1]) & counted).sum(axis=1) / np.maximum(1, votes)
        weights = np.concatenate([yes, (votes > 0) - yes]) * np.tile(units.weights, 2)
        kept = weights > 0
        area = area_under_curve(
            np.tile(expected, 2)[kept],
            np.repeat([1.0, 0.0], units.size)[kept],
            clusters=np.tile(units.cases, 2)[kept],
            weights=weights[kept],
        )
    return JudgeCalibration(curve, area, len(set(rows.tolist())))


def calibrations(view: RatingsView, metrics: Sequence[str]) -> Iterator[tuple[str, str, JudgeCalibration]]:
    """Each of these metrics of which judges gave expected levels and people rated it: metric, judge, calibration."""
    view = fresh_view(view)
    for name in metrics:
        expected = view.ratings.filter(pl.col("metric") == name + EXPECTED)
        ratings, picked = drawn_ratings(view.ratings.filter(pl.col("metric") == name))
        if expected.is_empty() or ratings.filter(rated_by_humans()).is_empty():
            continue
        scale = view.scales.get(name)
        for judge in sorted(expected["rater"].unique()):
            units = checked_units(ratings, judge, picked, view.final_labels(name))
            levels = levels_of_units(units, scale.levels if scale is not None else None)
            calibration_of_judge = judge_calibration(units, expected.filter(pl.col("rater") == judge), levels)
            if calibration_of_judge is not None:
                yield name, judge, calibration_of_judge
