"""How the units were drawn on which raters' agreement rests: with which chances, by which strata, of which cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.checked_units import Chances
from bedside.analysis.grid import Grid
from bedside.analysis.plan_draws import cell_levels, drawn_by
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.stats.arrays import Mask
from bedside.stats.sampled_items import SampledItems, sampled_items
from bedside.stats.sampling_cells import Levels, sampling_cells


@dataclass(frozen=True, slots=True, eq=False)
class AgreementSample:
    """How the units of one metric were drawn.

    Attributes:
        chances: how the units that people rated were drawn.
        partly_known: whether chances are known of some units only, or come from several rounds, so that nothing can be
            weighted.
        picked: units left out because they were picked for what they are, by disagreement or the like, and not drawn.
        by: the factors that divide the strata.
        cases: the case of each unit of the grid, which is what was drawn independently.
        strata: the stratum of each unit that people rated; −1 of others. Empty unless chances differ.
        drawn: the chance of each unit that people rated; NaN of others. Empty unless chances differ.
        sizes: how many units each stratum has.
    """

    chances: Chances
    partly_known: bool
    picked: int
    by: tuple[str, ...]
    cases: np.ndarray[Any, Any]
    strata: np.ndarray[Any, Any]
    drawn: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]

    def clusters(self, counted: Mask) -> np.ndarray[Any, Any] | SampledItems | None:
        """What is drawn together among the counted units: their cases; None where each is drawn alone.

        Where chances differ, how they were drawn; the units that count stand for all of each stratum.
        """
        cases = self.cases[counted]
        if self.chances != "unequal":
            return cases if 1 < len(set(cases)) < len(cases) else None
        strata, sizes = self.strata[counted], self.sizes
        used, places = np.unique(strata, return_inverse=True)
        return sampled_items(self.drawn[counted], strata=places, clusters=cases, sizes=sizes[used])


def agreement_sample(view: RatingsView, ratings: pl.DataFrame, grid: Grid, picked: int) -> AgreementSample:
    """How the units of a grid were drawn.

    Args:
        view: all ratings.
        ratings: those of one metric that count, without people's of units that were picked.
        grid: the same as a grid.
        picked: how many units that took away.
    """
    people = ratings.filter(rated_by_humans())
    chances = _chances(people)
    # Of one case nothing is drawn but its transcripts.
    cases = grid.cases if len(set(grid.cases)) > 1 else grid.transcripts
    nothing = np.empty(0)
    if chances != "unequal":
        partly = chances == "unknown" and people["drawn"].is_not_null().any()
        return AgreementSample(chances, bool(partly), picked, (), cases, nothing, nothing, nothing)
    rounds = people["round"].unique().to_list()
    by = drawn_by(view.run, rounds)
    of_units = people.group_by("transcript_id", "unit").agg(
        pl.col("drawn").first(), pl.col("system").first().fill_null(ALL)
    )
    places = {place: number for number, place in enumerate(zip(grid.transcripts, grid.units, strict=True))}
    levels_of = cell_levels(view.run, by, rounds)
    drawn = np.full(len(grid.cells), np.nan)
    levels: dict[int, Levels] = {}
    for transcript, unit, chance, system in of_units.iter_rows():
        number = places.get((transcript, unit))
        if number is not None:
            drawn[number] = chance
            levels[number] = (system, *levels_of.get(transcript, ()))
    rated = np.array(sorted(levels), dtype=np.intp)
    # Which cells are joined hangs on how alike their chances are, and on nothing that anybody said.
    cells = sampling_cells(
        [levels[number] for number in rated], drawn[rated], np.ones(rated.size, dtype=np.bool_), cases[rated]
    )
    strata = np.full(len(grid.cells), -1, dtype=np.intp)
    strata[rated] = cells.numbers
    counts = _transcript_counts(view, people, levels_of)
    if counts is None:
        sizes = np.bincount(cells.numbers, weights=1 / drawn[rated])
    else:
        stratum_of = {levels[unit]: stratum for unit, stratum in zip(rated, cells.numbers, strict=True)}
        sizes = np.bincount(list(stratum_of.values()), weights=[counts[own] for own in stratum_of])
    return AgreementSample(chances, False, picked, ("system", *by), cases, strata, drawn, sizes)


def _chances(people: pl.DataFrame) -> Chances:
    """How the units that people rated were drawn."""
    of_units = people.group_by("transcript_id", "unit").agg(
        pl.col("drawn").n_unique().alias("several"), pl.col("drawn").first()
    )
    drawn = of_units["drawn"]
    if (of_units["several"] > 1).any() or drawn.null_count() or people["round"].n_unique() != 1:
        return "unknown"
    if (drawn == 0).all():
        return "none"
    return "equal" if drawn.n_unique() == 1 else "unequal"


def _transcript_counts(
    view: RatingsView, people: pl.DataFrame, levels_of: dict[str, Levels]
) -> dict[Levels, int] | None:
    """How many transcripts each cell has; None where units are turns, or the transcripts are not known."""
    if view.run is None or not (people["unit"] == TRANSCRIPT).all():
        return None
    counts: dict[Levels, int] = {}
    for name, system, _ in view.transcripts().iter_rows():
        own = (ALL if system is None else str(system), *levels_of.get(name, ()))
        counts[own] = counts.get(own, 0) + 1
    return counts
