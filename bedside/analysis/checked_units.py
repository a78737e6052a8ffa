"""The units on which a judge is checked, as a grid of ratings: who said what, which share a case, how drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.juries import taken_together
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rubric_metrics import FinalLabels
from bedside.stats.arrays import Array
from bedside.stats.result import Result

# -- Between which ends a metric's values lie -----------------------------------------------------------

#: The least and the greatest value that there can be; None where there is none.
Bounds = tuple[float | None, float | None]
OPEN: Bounds = (None, None)


def value_bounds(view: RatingsView, metric: str) -> Bounds:
    """The ends of a metric's values: of its scale where it has one, else as its family states them.

    Of a metric that nothing is known of they are 0 and 1 where it has no other values. Labels count as their places on
    their scale, from 0, as they do where they are compared.
    """
    scale = view.scales.get(metric)
    if scale is not None:
        numbers = [level for level in scale.levels if not isinstance(level, str)]
        if numbers:
            return (min(numbers), max(numbers)) if len(numbers) > 1 else OPEN
        return (0.0, float(len(scale.levels) - 1)) if scale.ordered or len(scale.levels) == 2 else OPEN
    facts = view.facts(metric)
    if facts.defined or facts.low is not None:
        return facts.low, facts.high
    return view.once(("zeros and ones alone", metric), lambda: _zeros_and_ones(view, metric))


def _zeros_and_ones(view: RatingsView, metric: str) -> Bounds:
    values = view.ratings.filter(pl.col("metric") == metric)["value"].drop_nulls()
    return (0.0, 1.0) if values.len() and values.is_in([0.0, 1.0]).all() else OPEN


def mean_within(values: Array, bounds: Bounds, *, clusters: Any = None, linearised: bool = False) -> Result:
    """The mean with an interval that stays within the bounds; Student's where a value lies outside them.

    Args:
        values: numbers, none missing.
        bounds: as :func:`value_bounds` gives them.
        clusters: for each value the cluster it belongs to, such as its case.
        linearised: whether the values are those of a ratio of sums, which may lie outside where the ratio doesn't.
    """
    from bedside.stats.scale_means import scale_mean

    low, high = bounds
    held = values.mean(keepdims=True) if linearised and values.size else values
    below = low is not None and bool((held < low).any())
    above = high is not None and bool((held > high).any())
    if below or above:
        low = high = None
    return scale_mean(values, low=low, high=high, clusters=clusters)


# -- Ratings of one metric as a grid --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grid:
    """Ratings of one metric: units in rows, raters in columns.

    Attributes:
        cells: None where a rater gave none.
        raters: those of the columns.
        transcripts, units: of each row.
        cases: the case of each row, which is what a study draws; a transcript without one is a case of its own.
    """

    cells: np.ndarray[Any, Any]
    raters: tuple[str, ...]
    transcripts: np.ndarray[Any, Any]
    units: np.ndarray[Any, Any]
    cases: np.ndarray[Any, Any]


def grid_of(ratings: pl.DataFrame) -> Grid:
    """The ratings of one metric as units by raters, each rater's passes taken together as :func:`agree` says.

    Of what a person was shown twice the first rating counts: the second says how well they agree with themselves
    (:mod:`~bedside.analysis.drift`). Where several rounds of annotation are taken, a person's ratings of a unit in
    them are passes, too. Cells are labels where the metric has any, else numbers.
    """
    column = "label" if ratings["label"].is_not_null().any() else "value"
    second = rated_by_humans() & (pl.col("replicate") > 0)
    if ratings.select(second.any()).item():
        first = pl.col("replicate") == pl.col("replicate").min().over("transcript_id", "unit", "rater")
        ratings = ratings.drop_nulls(column).filter(~second | first)
    one_pass = (
        ratings.drop_nulls(column)
        .group_by("transcript_id", "unit", "rater", maintain_order=True)
        .agg(pl.col(column).sort_by("replicate"))
    )
    values = one_pass[column].list.first().to_list()
    for place in (one_pass[column].list.len() > 1).arg_true():
        values[place] = taken_together(one_pass[column][place].to_list())
    kind = pl.String() if column == "label" else pl.Float64()
    wide = one_pass.with_columns(pl.Series(column, values, dtype=kind)).pivot(
        "rater", index=["transcript_id", "unit"], values=column, sort_columns=True
    )
    raters = tuple(name for name in wide.columns if name not in ("transcript_id", "unit"))
    case_of = dict(ratings.select("transcript_id", own_case()).unique("transcript_id").iter_rows())
    return Grid(
        cells=np.array(wide.select(raters).rows(), dtype=object).reshape(wide.height, len(raters)),
        raters=raters,
        transcripts=wide["transcript_id"].to_numpy(),
        units=wide["unit"].to_numpy(),
        cases=np.array([case_of[name] for name in wide["transcript_id"]], dtype=object),
    )


# -- The units on which a judge is checked --------------------------------------------------------------

#: How people's units were drawn: with one chance for all, with chances that differ, with chances that are not known (or
#: come from several rounds), or not at all: each was picked for what it is.
Chances = Literal["equal", "unequal", "unknown", "none"]
_KEY = "key"


@dataclass(frozen=True, slots=True)
class CheckedUnits:
    """Units of one metric that a judge and at least one person rated.

    Attributes:
        judge: the judge's value or label of each unit; of several passes the most frequent.
        people: units × people, None where a person gave none.
        keys: of each unit its name among all units.
        transcripts: the transcript of each unit.
        cases: the case of each unit, which is what was drawn independently; a transcript without one is its own.
        chances: how the units that people rated were drawn.
        weights: one over the chance with which each unit was drawn, where these differ; else 1.
        judged: units that the judge rated, whether or not people did.
        picked: units left out because they were picked for what they are, by disagreement or the like, and not drawn.
        final: the final label of each unit that was adjudicated, else None.
    """

    judge: np.ndarray[Any, Any]
    people: np.ndarray[Any, Any]
    keys: np.ndarray[Any, Any]
    transcripts: np.ndarray[Any, Any]
    cases: np.ndarray[Any, Any]
    chances: Chances
    weights: npt.NDArray[np.float64]
    judged: int
    picked: int
    final: np.ndarray[Any, Any]

    @property
    def size(self) -> int:
        """Number of units."""
        return len(self.judge)

    @property
    def case_count(self) -> int:
        """Number of cases that the units are of."""
        return len(set(self.cases.tolist()))

    @property
    def has_labels(self) -> bool:
        """Whether the units are given labels, not numbers."""
        return any(isinstance(cell, str) for cell in self.judge)

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Units × people: whether there is a rating."""
        present: npt.NDArray[np.bool_] = self.people != None  # noqa: E711
        return present

    @property
    def reference(self) -> np.ndarray[Any, Any]:
        """What people say together, units × people: of a unit that was adjudicated the final label alone.

        A judge's errors are told by it. Whether the judge is as good as a person is told by :attr:`people`.
        """
        settled = self.final != None  # noqa: E711
        reference = self.people.copy()
        reference[settled] = None
        reference[settled, 0] = self.final[settled]
        return reference

    @property
    def adjudicated(self) -> int:
        """Units with a final label."""
        return int((self.final != None).sum())  # noqa: E711

    def people_numbers(self) -> npt.NDArray[np.float64]:
        """People's mean of each unit, or its final label; the ratings must be numbers."""
        cells = np.array([[np.nan if cell is None else cell for cell in row] for row in self.reference], dtype=float)
        return np.array(np.nanmean(cells, axis=1))

    def units_given(self, level: Any) -> int:
        """Units that at least one person gave this level."""
        return int((self.people == level).any(axis=1).sum())


def drawn_ratings(ratings: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The ratings of one metric without people's of units that were picked, and how many units those are.

    Where all of people's units were picked, they stay.
    """
    picked = rated_by_humans() & (pl.col("drawn") == 0).fill_null(False)
    units = ratings.filter(picked).select("transcript_id", "unit").n_unique()
    left = ratings.filter(~picked)
    if units and left.filter(rated_by_humans()).is_empty():
        return ratings, 0
    return left, units


def checked_units(ratings: pl.DataFrame, judge: str, picked: int, final: FinalLabels | None = None) -> CheckedUnits:
    """The units that a judge and people rated.

    Args:
        ratings: of one metric, as :func:`drawn_ratings` leaves them.
        judge: the judge's name.
        picked: how many units that took away.
        final: final labels of units that were adjudicated.
    """
    settled = {f"{transcript}\n{unit}": label for (transcript, unit), label in (final or {}).items()}
    of_judge = pl.col("rater") == judge
    rated = ratings.filter(rated_by_humans() | of_judge, pl.col("error").is_null()).with_columns(unit_keys())
    grid = grid_of(rated.with_columns(pl.col(_KEY).alias("transcript_id")))
    if judge in grid.raters:
        column = grid.raters.index(judge)
        verdicts, people = grid.cells[:, column], np.delete(grid.cells, column, axis=1)
    else:
        verdicts, people = np.full(len(grid.cells), None, dtype=object), grid.cells
    both = (verdicts != None) & (people != None).any(axis=1)  # noqa: E711
    # Where the final answers to a flow's questions give no result, there is nothing that a judge could meet.
    both &= np.array([settled.get(str(key), "") is not None for key in grid.transcripts], dtype=bool)
    keys = grid.transcripts[both]
    chance = pl.col("drawn").filter(rated_by_humans())
    of_units = (
        rated.group_by(_KEY)
        .agg(
            pl.col("transcript_id").first(),
            own_case().first(),
            pl.when(chance.n_unique() == 1).then(chance.first()).alias("chance"),
        )
        .join(pl.DataFrame({_KEY: keys.astype(str)}), on=_KEY, how="right", maintain_order="right")
    )
    several = rated.filter(rated_by_humans())["round"].n_unique() > 1
    chances, weights = _weights(of_units["chance"], several)
    return CheckedUnits(
        judge=verdicts[both],
        people=people[both],
        keys=keys,
        transcripts=of_units["transcript_id"].to_numpy(),
        cases=of_units["case"].to_numpy(),
        chances=chances,
        weights=weights,
        judged=int((verdicts != None).sum()),  # noqa: E711
        picked=picked,
        final=np.array([settled.get(str(key)) for key in keys], dtype=object),
    )


def unit_keys() -> pl.Expr:
    """A name of each row's unit that no other unit of a run shares."""
    return pl.concat_str("transcript_id", "unit", separator="\n").alias(_KEY)


def _weights(chances: pl.Series, several: bool) -> tuple[Chances, npt.NDArray[np.float64]]:
    """How the units were drawn, and what each weighs; ``several``: whether they came in several rounds."""
    alike = np.ones(len(chances))
    if several or chances.null_count() or not len(chances):
        return "unknown", alike
    if (chances == 0).all():
        return "none", alike
    if chances.n_unique() == 1:
        return "equal", alike
    return "unequal", 1 / chances.to_numpy()
