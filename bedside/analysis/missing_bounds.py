"""How far could a mean move, were all that is missing the worst, or all the best?

Bounds without any assumption on why values are missing (Manski 1989): they hold where values are missing because they
are bad, which no imputation can see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import polars as pl

from bedside.analysis.case_values import mean_in_group
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.metrics import FAMILIES

#: Means nearer to each other than this differ by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SystemBounds:
    """Where a system's mean could lie.

    Attributes:
        system: the system.
        mean: as reported: over the transcripts that have a value; None where none has.
        lowest, highest: the mean over all transcripts were each missing rating at the scale's lower, or upper, end.
        ratings: number of ratings that there should be.
        missing: number of these without a value.
        swaps: systems whose mean could come to lie on the other side of this one's.
    """

    system: str
    mean: float | None
    lowest: float
    highest: float
    ratings: int
    missing: int
    swaps: tuple[str, ...] = ()

    @property
    def share_missing(self) -> float:
        """Share of the ratings without a value, 0 … 1."""
        return self.missing / self.ratings


@dataclass(frozen=True, slots=True)
class MissingBounds(MetricRatings):
    """The bounds of one metric under one group of raters, of which some rating is missing.

    Attributes:
        facts, raters: what was rated, by whom.
        low, high: the ends of the scale.
        systems: each system's bounds, sorted by name.
    """

    raters: str
    low: float
    high: float
    systems: tuple[SystemBounds, ...]


@dataclass(frozen=True, slots=True)
class BoundedMeans:
    """What :func:`missing_bounds` says.

    Attributes:
        metrics: the bounds, in the order of tables.
        without_ends: metrics with missing values that have no bounds, as nobody says where their scale ends.
    """

    metrics: tuple[MissingBounds, ...]
    without_ends: tuple[str, ...]


def missing_bounds(view: RatingsView) -> BoundedMeans:
    """Bounds of the means of whole transcripts' metrics that miss some value and have another.

    A rater's passes are averaged, then people, then transcripts, as in a table of results; what is missing is set to
    either end of the scale before. The ends are those of the metric's scale, or of its range.
    """
    rated = view.ratings.lazy().filter(pl.col("unit") == "transcript", pl.col("label").is_null())
    counts = (
        rated.group_by("metric")
        .agg(pl.col("value").null_count().alias("missing"), pl.col("value").count().alias("present"))
        .filter(pl.col("missing") > 0, pl.col("present") > 0)
        .collect()
    )
    names = [name for name in view.metrics() if name in set(counts["metric"])]
    ends = {name: pair for name in names if (pair := scale_ends(view, name)) is not None}
    if not ends:
        return BoundedMeans((), tuple(names))
    tables = _system_means(view, rated.filter(pl.col("metric").is_in(list(ends))), ends).partition_by(
        "metric", "group", as_dict=True
    )
    bounds = []
    for metric, group in sorted(tables, key=lambda key: (names.index(str(key[0])), key[1] != PEOPLE, str(key[1]))):
        table = tables[metric, group]
        if table["missing"].sum() and table["mean"].count():
            low, high = ends[str(metric)]
            bounds.append(
                MissingBounds(
                    facts=view.facts(str(metric)), raters=str(group), low=low, high=high, systems=_swapped(table)
                )
            )  # fmt: skip
    return BoundedMeans(tuple(bounds), tuple(name for name in names if name not in ends))


def scale_ends(view: RatingsView, metric: str) -> tuple[float, float] | None:
    """The ends of a metric's ordered scale, else of the range its family states; None where an end is open."""
    scale = view.scales.get(metric)
    if scale is not None:
        return (float(scale.levels[0]), float(scale.levels[-1])) if scale.ordered else None
    return _ranges().get(metric.partition(".")[0])


@cache
def _ranges() -> Mapping[str, tuple[float, float]]:
    """The range of each metric of a family that states both ends, without role."""
    return {
        metric.name: (metric.low, metric.high)
        for family in FAMILIES.all().values()
        for metric in family.metrics
        if metric.low is not None and metric.high is not None
    }


def _system_means(view: RatingsView, rated: pl.LazyFrame, ends: Mapping[str, tuple[float, float]]) -> pl.DataFrame:
    """One row for each metric, group of raters and system: mean, lowest, highest, ratings, missing."""
    value = pl.col("value")
    sides = {
        name: value.fill_null(pl.col("metric").replace_strict({metric: pair[side] for metric, pair in ends.items()}))
        for side, name in enumerate(("lowest", "highest"))
    }
    means = [mean_in_group(name) for name in ("mean", "lowest", "highest")]
    counts = [pl.col(name).sum() for name in ("ratings", "missing")]
    transcript = ("metric", "group", "transcript_id")
    return (
        rated.with_columns(
            view.rater_group().alias("group"),
            pl.col("system").fill_null(ALL),
            value.alias("mean"),
            pl.lit(1).alias("ratings"),
            value.is_null().cast(pl.Int64()).alias("missing"),
            **sides,
        )
        .group_by(*transcript, "rater")
        .agg(pl.col("system").first(), *means, *counts)
        .group_by(transcript)
        .agg(pl.col("system").first(), *means, *counts)
        .group_by("metric", "group", "system")
        .agg(*means, *counts)
        .sort("metric", "group", "system")
        .collect()
    )


def _swapped(table: pl.DataFrame) -> tuple[SystemBounds, ...]:
    """The bounds of each system, with the systems it could change places with."""
    systems = [SystemBounds(**row) for row in table.drop("metric", "group").iter_rows(named=True)]
    return tuple(
        replace(
            bounds, swaps=tuple(other.system for other in systems if other is not bounds and _could_swap(bounds, other))
        )
        for bounds in systems
    )


def _could_swap(first: SystemBounds, second: SystemBounds) -> bool:
    """Whether some values of what is missing turn the order of two means round, or make one of a tie."""
    first_falls = first.lowest < second.highest - _ROUNDING
    second_falls = second.lowest < first.highest - _ROUNDING
    if first.mean is None or second.mean is None:
        return first_falls and second_falls
    if abs(first.mean - second.mean) <= _ROUNDING:
        return first_falls or second_falls
    return first_falls if first.mean > second.mean else second_falls
