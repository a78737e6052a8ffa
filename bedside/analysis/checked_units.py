"""The units on which a judge is checked: who said what, which units share a case, and how they were drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.grid import grid_of
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rubric_metrics import FinalLabels

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
        cells = np.array(
            [[np.nan if cell is None else cell for cell in row] for row in self.reference], dtype=float
        )
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


def checked_units(
    ratings: pl.DataFrame, judge: str, picked: int, final: FinalLabels | None = None
) -> CheckedUnits:
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
