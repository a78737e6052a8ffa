"""The transcripts that a judge rated, those of them that people rated, and how people's were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.plan_draws import MERGED_RUN, cell_levels, drawn_by, drawn_rounds, misdrawn_rounds
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.ratings.run import Run
from bedside.stats.sampling_cells import FEWEST_CASES, Levels, sampling_cells
from bedside.stats.stratified_means import JudgedUnits, judged_units


@dataclass(frozen=True, slots=True)
class PeopleSample:
    """A system's transcripts on one metric.

    Attributes:
        units: those that the judge rated, with people's ratings of those they rated and the cells they were drawn by.
        by: the factors that divide the cells, beside the system.
        cells: how many of the cells the transcripts are in, before any were joined.
        joined: the levels of cells that were joined because people rated fewer than two cases of one.
        picked: transcripts that people rated and that were left out, because they were picked for what they are.
        assumed: in a file of ratings, transcripts that people rated of which it isn't said with what chance they were
            drawn; 0 where they rated all.
        unjudged: transcripts that people rated and the judge didn't.
        adjudicated: transcripts that people and the judge rated whose final label stands in place of people's mean.
        undrawn: why what people rated is no random sample; None where it is one, or they rated all.
        unsampled: of a merged run, those runs of whose transcripts people rated fewer than two cases: what they rated
            of the others' says nothing of them.
    """

    units: JudgedUnits
    by: tuple[str, ...]
    cells: int
    joined: tuple[tuple[Levels, ...], ...]
    picked: int
    assumed: int
    unjudged: int
    adjudicated: int
    undrawn: str | None = None
    unsampled: tuple[str, ...] = ()

    @property
    def labelled(self) -> int:
        """Transcripts that people and the judge rated."""
        return int(self.units.labelled.sum())

    @property
    def labelled_cases(self) -> frozenset[str]:
        """The cases of those."""
        return frozenset(self.units.cases[self.units.labelled].tolist())

    @property
    def has_repeated_cases(self) -> bool:
        """Whether a case has several transcripts that the judge rated."""
        return bool(np.unique(self.units.cases).size < self.units.cases.size)


def is_share(view: RatingsView, metric: str, judge: str) -> bool:
    """Whether a metric is of zeros and ones: its scale has no other level, and nobody gave another value."""
    scale = view.scales.get(metric)
    if scale is not None and not set(scale.levels) <= {0.0, 1.0}:
        return False
    rated = view.ratings.filter(
        pl.col("metric") == metric,
        pl.col("unit") == TRANSCRIPT,
        rated_by_humans() | (pl.col("rater") == judge),
    )
    final = view.final.filter(pl.col("metric") == metric, pl.col("unit") == TRANSCRIPT)
    values = pl.concat([rated["value"], final["value"]]).drop_nulls()
    return bool(values.is_in([0.0, 1.0]).all())


def people_samples(
    view: RatingsView, metric: str, judge: str, systems: Sequence[str]
) -> dict[str, PeopleSample]:
    """The transcripts of each system on one metric; none where people or the judge rated nothing by it.

    Ratings of transcripts that were picked for what they are (with chance 0) are left out: they are no random sample.
    """
    rated = view.ratings.filter(pl.col("metric") == metric, pl.col("unit") == TRANSCRIPT)
    of_people = rated.filter(rated_by_humans(), pl.col("value").is_not_null())
    if of_people.is_empty() or rated.filter(pl.col("rater") == judge)["value"].drop_nulls().is_empty():
        return {}
    rounds = of_people["round"].unique().to_list()
    by = drawn_by(view.run, rounds)
    levels = cell_levels(view.run, by, rounds)
    drawn = _drawn(view.run, of_people)
    settled = pl.col("transcript_id").is_in(
        [name for name, unit in view.final_labels(metric) if unit == TRANSCRIPT]
    )
    values = (
        _values(view, metric, judge)
        .join(drawn, on="transcript_id", how="left")
        .with_columns((settled & pl.col("human").is_not_null()).alias("settled"))
    )
    return {
        system: _sample(
            values.filter(pl.col("system") == system), by=by, levels=levels, in_run=view.run is not None
        )
        for system in systems
    }


def _drawn(run: Run | None, of_people: pl.DataFrame) -> pl.DataFrame:
    """Of each transcript that people rated, how that came to be.

    Columns: whether it was ``picked``; ``unknown``, the round in which it was rated where nothing says that it was
    drawn; ``chance`` with which it was drawn by no known plan; ``misdrawn``, the plan whose chances are wrong.
    """
    misdrawn = {} if run is None else misdrawn_rounds(run)
    planned = pl.col("round").is_in([] if run is None else list(drawn_rounds(run)))
    picked = (pl.col("drawn") == 0).fill_null(False)
    stated = (pl.col("drawn") > 0).fill_null(False)
    drawn = (stated | (planned & ~picked)).any()
    plans = pl.col("round").replace_strict(misdrawn, default=None, return_dtype=pl.String())
    return of_people.group_by("transcript_id").agg(
        picked.all().alias("picked"),
        pl.when(~drawn).then(pl.col("round").filter(~picked).first()).alias("unknown"),
        pl.col("drawn").filter(stated & ~planned).first().alias("chance"),
        plans.drop_nulls().first().alias("misdrawn"),
    )


def _why_undrawn(judged: pl.DataFrame, in_run: bool) -> str | None:
    """Why what people rated of a system is no random sample with known strata; None where it is, or all was rated.

    Args:
        judged: what the judge rated, as :func:`_values` has it beside :func:`_drawn`, with the ``cell`` of each.
        in_run: whether it is known by which plans people rated.
    """
    rated = judged.filter(pl.col("human").is_not_null())
    if rated.height == judged.height:
        return None
    rounds, plans = (rated[name].drop_nulls().unique().sort() for name in ("unknown", "misdrawn"))
    if plans.len():
        return (
            f"plan {' and '.join(plans)} drew the transcripts of a case together, and so those of a case of many "
            "systems more rarely than it states: draw another sample"
        )
    if in_run and rounds.len():
        names = " and ".join(f"round {name}" if name else "a round without a name" for name in rounds)
        return (
            f"no draw is known for these ratings: no plan of the run drew what people rated in {names}. Import them "
            "again with their plan, or with a column drawn that says each one's chance"
        )
    if (rated.drop_nulls("chance").group_by("cell").agg(pl.col("chance").n_unique())["chance"] > 1).any():
        return "the chances stated for these ratings differ, and by which strata they were drawn is not known"
    return None


def _values(view: RatingsView, metric: str, judge: str) -> pl.DataFrame:
    """A row a transcript: the judge's value and people's, of those of their ratings that were not picked."""
    picked = rated_by_humans() & (pl.col("drawn") == 0).fill_null(False)
    everything = view.transcript_values([metric]).with_columns(pl.col("system").fill_null(ALL))
    drawn = replace(view, ratings=view.ratings.filter(~picked))
    people = drawn.transcript_values([metric]).filter(pl.col("group") == PEOPLE)
    columns = ("transcript_id", "system", "case_id")
    judged = everything.filter(pl.col("group") == judge).select(
        "transcript_id", pl.col("value").alias("judge")
    )
    return (
        everything.select(columns)
        .unique(maintain_order=True)
        .join(judged, on="transcript_id", how="left")
        .join(people.select("transcript_id", pl.col("value").alias("human")), on="transcript_id", how="left")
        .with_columns(own_case())
        .sort("transcript_id")
    )


def _sample(
    values: pl.DataFrame, *, by: tuple[str, ...], levels: dict[str, Levels], in_run: bool
) -> PeopleSample:
    judged = values.filter(pl.col("judge").is_not_null())
    human = judged["human"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    cases = judged["case"].to_numpy().astype(str)
    judge = judged["judge"].to_numpy().astype(np.float64)
    own = [levels.get(name, ()) for name in judged["transcript_id"]]
    labelled = ~np.isnan(human)
    # No cell is joined with one of another merged run: what people rated there is no sample of it.
    parts = np.array([level[0] if by[:1] == (MERGED_RUN,) else "" for level in own], dtype=str)
    numbers, joined = np.zeros(len(own), dtype=np.intp), list[tuple[Levels, ...]]()
    unsampled, following = [], 0
    for part in sorted(set(parts.tolist())):
        inside = np.flatnonzero(parts == part)
        cells = sampling_cells(
            [own[place] for place in inside], judge[inside], labelled[inside], cases[inside]
        )
        numbers[inside] = cells.numbers + following
        following += int(cells.numbers.max()) + 1
        joined += cells.joined
        if part and np.unique(cases[inside][labelled[inside]]).size < FEWEST_CASES:
            unsampled.append(part)
    picked = pl.col("picked").fill_null(False)
    return PeopleSample(
        units=judged_units(judge, human, cells=numbers, cases=cases),
        by=by,
        cells=len(set(own)),
        joined=tuple(joined),
        picked=values.filter(picked).height,
        assumed=0 if in_run or labelled.all() else judged["unknown"].count(),
        unjudged=values.filter(pl.col("judge").is_null(), pl.col("human").is_not_null()).height,
        adjudicated=judged.filter("settled").height,
        undrawn=_why_undrawn(judged.with_columns(pl.Series("cell", numbers)), in_run),
        unsampled=tuple(unsampled),
    )
