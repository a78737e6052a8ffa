"""What an answer averages over: does it matter, and what of two systems can be held against each other?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bedside.analysis.ratings_view import ALL, MetricRatings, RatingsView
from bedside.analysis.study_parts import AveragedFactor
from bedside.stats.arrays import Array
from bedside.stats.result import Result


@dataclass(frozen=True, slots=True)
class Interaction(MetricRatings):
    """Whether the difference of two systems on one metric under one group of raters depends on a factor.

    Attributes:
        facts, raters: what was tested, by whom it was rated.
        a, b: the systems.
        factor: the factor.
        test: its p corrected over all interactions with the factor that were tested together.
    """

    raters: str
    a: str
    b: str
    factor: str
    test: Result


def interactions(
    view: RatingsView, factor: AveragedFactor, metrics: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> tuple[Interaction, ...]:
    """Tests of the interaction of system and factor: of each metric, group of raters and pair of systems.

    Cases are the units; of several transcripts of a case at a level the mean counts. Where systems share cases,
    differences between systems are compared across the levels that both have, on cases with all of them; where
    transcripts name no case, each is one. p is corrected by Holm over all of these tests.

    Args:
        view: the ratings.
        factor: what the answer averages over.
        metrics: the metrics that the answer shows.
        pairs: the systems that it sets side by side, two by two.
    """
    from bedside.stats.families import family

    tested = list(_tested(view, factor, metrics, pairs))
    corrected = family(
        [interaction.test for interaction in tested], f"interactions of system and {factor.name}"
    )
    return tuple(replace(interaction, test=test) for interaction, test in zip(tested, corrected, strict=True))


def _tested(
    view: RatingsView, factor: AveragedFactor, metrics: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Iterator[Interaction]:
    """The interactions, p not corrected yet."""
    levels_by_pair = {(a, b): _shared_levels(factor, a, b) for a, b in pairs}
    testable = [(*pair, levels) for pair, levels in levels_by_pair.items() if len(levels) > 1]
    if not testable or view.factors is None:
        return
    wide = (
        view.transcript_values(metrics)
        .with_columns(pl.col("system").fill_null(ALL))
        .join(view.factors.select("transcript_id", pl.col(factor.name).alias("level")), on="transcript_id")
        .drop_nulls(["value", "level"])
        .with_columns(
            pl.coalesce("case_id", "transcript_id").alias("case"), pl.col("case_id").is_null().alias("own")
        )
        .group_by("metric", "group", "system", "case", "level", "own", maintain_order=True)
        .agg(pl.col("value").mean())
    )
    for (metric, group), table in wide.partition_by("metric", "group", as_dict=True).items():
        by_system = table.partition_by("system", as_dict=True)
        for a, b, levels in testable:
            if (a,) in by_system and (b,) in by_system:
                test = _interaction(by_system[a,], by_system[b,], levels)
                yield Interaction(view.facts(str(metric)), str(group), a, b, factor.name, test)


def _shared_levels(factor: AveragedFactor, a: str, b: str) -> list[str]:
    """The levels that both systems have, in order."""
    of_a, of_b = (factor.by_system.get(system, ()) for system in (a, b))
    return [level for level in factor.levels if level in of_a and level in of_b]


def _interaction(a: pl.DataFrame, b: pl.DataFrame, levels: Sequence[str]) -> Result:
    """The test of one metric on the case means of two systems at the levels."""
    from bedside.stats.interactions import between_cases, within_cases

    if a["own"].all() and b["own"].all():
        return between_cases(*([_values(rows, level) for level in levels] for rows in (a, b)))
    both = (
        a.filter(~pl.col("own"))
        .join(b.filter(~pl.col("own")), on=["case", "level"])
        .filter(pl.col("level").is_in(list(levels)))
        .with_columns((pl.col("value") - pl.col("value_right")).alias("difference"))
    )
    columns = both.pivot("level", index="case", values="difference") if both.height else both
    table = np.full((columns.height, len(levels)), np.nan)
    for position, level in enumerate(levels):
        if level in columns.columns:
            table[:, position] = columns[level].to_numpy()
    return within_cases(table)


def _values(rows: pl.DataFrame, level: str) -> Array:
    values: Array = rows.filter(pl.col("level") == level)["value"].to_numpy()
    return values


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Transcripts' values of two systems that can be held against each other.

    Attributes:
        rows: values at levels of the factors that both systems have; on a case that both have, at levels that both
            have there.
        left_out: values that the other system has no counterpart to, of the first and of the second system.
        unmatched: factors of which the systems share no level, so that each is averaged over its own.
    """

    rows: pl.DataFrame
    left_out: tuple[int, int] = (0, 0)
    unmatched: tuple[AveragedFactor, ...] = ()


def matched_rows(view: RatingsView, values: pl.DataFrame, a: str, b: str) -> MatchedRows:
    """The values of two systems, without those at levels of a factor that the other doesn't have.

    A difference of systems is one of systems only where both are taken in the same settings: what varies within a
    system and case is matched, first over all cases, then on each case that both systems have.

    Args:
        view: the ratings that the values are from.
        values: transcripts' values of one metric under one group of raters, in the columns of
            :meth:`~bedside.analysis.ratings_view.RatingsView.transcript_values`.
        a, b: the systems.
    """
    rows = values.filter(pl.col("system").is_in([a, b]))
    averaged = view.averaged_factors(values["metric"].unique(), (a, b))
    matching = [factor for factor in averaged if _shared_levels(factor, a, b)]
    unmatched = tuple(factor for factor in averaged if factor not in matching)
    if not matching or view.factors is None:
        return MatchedRows(rows, unmatched=unmatched)
    names = [factor.name for factor in matching]
    placed = rows.join(view.factors.select("transcript_id", *names), on="transcript_id", how="left")
    present = placed.filter(pl.col("value").is_not_null())
    cells = {system: present.filter(pl.col("system") == system) for system in (a, b)}
    kept = []
    for system, other in ((a, b), (b, a)):
        own, others = placed.filter(pl.col("system") == system), cells[other]
        own = own.join(others, on=names, how="semi", nulls_equal=True)
        shared = own.filter(pl.col("case_id").is_in(others["case_id"].drop_nulls().unique().implode()))
        alone = own.join(shared, on="transcript_id", how="anti")
        kept += [shared.join(others, on=["case_id", *names], how="semi", nulls_equal=True), alone]
    matched = pl.concat(kept).select(rows.columns)
    counts = [
        cells[system].height - matched.filter(pl.col("system") == system)["value"].count()
        for system in (a, b)
    ]
    # A case's levels weigh alike however many transcripts each has: both systems' means are of the same mixture.
    cell = (pl.col("system"), pl.coalesce("case_id", "transcript_id").alias("case"))
    weighed = matched.join(view.factors.select("transcript_id", *names), on="transcript_id", how="left")
    of_case, of_cell = pl.col("value").count().over(cell), pl.col("value").count().over(*cell, *names)
    levels = pl.struct(names).filter(pl.col("value").is_not_null()).n_unique().over(cell)
    weighed = weighed.with_columns(pl.col("value") * (of_case / (levels * of_cell))).select(rows.columns)
    return MatchedRows(weighed, (counts[0], counts[1]), unmatched)
