"""Which ratings an analysis takes: those of the systems, metrics and raters that are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import polars as pl

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView, with_computed
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.ratings.names import rated_by_algorithms
from bedside.ratings.study_design import kinds_of
from bedside.transcripts.factor_kinds import Kind

#: Factors, and levels of one, that an error offers to compare by name.
_MOST_OFFERED = 3
#: Kinds of factors that make no groups.
_NO_GROUPS: tuple[Kind, ...] = ("outcome", "repeat", "identifier")


class NothingError(DataError):
    """The ratings hold nothing of what was asked for; a report then leaves the table out."""


def beside_preferences(view: RatingsView) -> str:
    """What ends the way out of a message that there is nothing, where two conversations were compared."""
    if view.preferences.is_empty():
        return ""
    return f"; {counted(view.preferences.height, 'preference')} are shown by bedside compare --preferences"


def quality_metrics(view: RatingsView) -> list[str]:
    """Metrics that say something of quality: with a better direction, or rated by people or judges."""
    rated = view.ratings.filter(~rated_by_algorithms())["metric"].unique()
    by_hand = {name for name in rated if not view.facts(name).defined}
    return [name for name in view.metrics() if view.facts(name).direction != "none" or name in by_hand]


def by_raters(view: RatingsView, raters: Sequence[str] | None) -> RatingsView:
    """The view with the ratings by raters that match one of these names or patterns; with all where None.

    Raises:
        DataError: a pattern matches no rater.
    """
    if raters is None:
        return view
    named = pl.col("rater").is_in(view.raters(raters))
    ratings, final = view.ratings.filter(named), view.final.filter(named)
    return replace(view, ratings=ratings, final=with_computed(final, ratings, view.rubrics, view.shares))


def chosen_systems(view: RatingsView, systems: Sequence[str] | None, *, fewest: int = 2) -> list[str]:
    """The systems named, or all.

    Raises:
        DataError: one is unknown, or there are too few.
    """
    rated = view.systems()
    chosen = list(dict.fromkeys(systems)) if systems is not None else rated
    for system in chosen:
        one_of(system, rated, view.compared, DataError, where=view.name)
    if len(chosen) < fewest:
        raise DataError(
            f"a comparison needs two {view.compared}s, and "
            + (f"there is only {chosen[0]!r}" if chosen else "no transcript names one"),
            where=view.name,
            todo=_two_to_compare(view),
        )
    return chosen


def _two_to_compare(view: RatingsView) -> str:
    """What can be done where there are fewer than two systems: groups that could be compared, by name."""
    todo = "score transcripts of two systems: see the docs on transcripts for how to name them"
    groups = comparable_groups(view.factors, view.order, view.declared)
    if view.part.groups is not None or not groups:
        return todo
    words = [f"`groups={name}` ({_sizes(sizes)})" for name, sizes in list(groups.items())[:_MOST_OFFERED]]
    return f"compare groups with {' or '.join(words)}, or {todo}"


def _sizes(sizes: Mapping[str, int]) -> str:
    """The levels of a factor with their transcripts, or how many levels where they are many."""
    if len(sizes) > _MOST_OFFERED:
        return f"{len(sizes)} levels"
    return ", ".join(f"{level} {count:,}" for level, count in sizes.items())


def comparable_groups(
    factors: pl.DataFrame | None, order: StudyOrder = UNLISTED, declared: Mapping[str, Kind] = MappingProxyType({})
) -> dict[str, dict[str, int]]:
    """The factors of which two levels at least have several transcripts each, the fewest levels first.

    What is known after a conversation, or only names or counts it, makes no groups that are offered.

    Args:
        factors: a column for each factor, by ``transcript_id``; None where there are none.
        order: of levels.
        declared: kinds of factors as the user declared them.

    Returns:
        By factor the number of transcripts of each level, in order.
    """
    if factors is None:
        return {}
    groups: dict[str, dict[str, int]] = {}
    for name, kind in kinds_of(factors, declared).items():
        if kind in _NO_GROUPS:
            continue
        counts = dict(factors.drop_nulls(name).group_by(name).len().iter_rows())
        if sum(count > 1 for count in counts.values()) > 1:
            groups[name] = {level: counts[level] for level in order.ordered_levels(name, counts)}
    return dict(sorted(groups.items(), key=lambda entry: (len(entry[1]), entry[0])))


def systems_or_all(view: RatingsView, systems: Sequence[str] | None) -> list[str]:
    """The systems named, or each that is rated; :data:`ALL` where no transcript names its system.

    Raises:
        DataError: one is unknown.
    """
    if not view.systems() and systems is None:
        return [ALL]
    return chosen_systems(view, systems, fewest=1)


def system_values(view: RatingsView, metrics: Iterable[str], systems: Sequence[str] | None) -> pl.DataFrame:
    """The values of whole transcripts of these systems, or of all; :data:`ALL` where one names none.

    The columns are those of :meth:`~bedside.analysis.ratings_view.RatingsView.transcript_values`.
    """
    values = view.transcript_values(metrics).with_columns(pl.col("system").fill_null(ALL))
    return values if systems is None else values.filter(pl.col("system").is_in(systems))


def rated_groups(
    view: RatingsView, values: pl.DataFrame, metrics: Sequence[str]
) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    """The values of each metric, group of raters and system, in the order of tables; not where all are missing.

    Args:
        view: the ratings.
        values: as :func:`system_values` gives them.
        metrics: the metrics in their order.
    """
    tables: Mapping[tuple[object, ...], pl.DataFrame] = values.partition_by("metric", "group", "system", as_dict=True)
    positions = {name: position for position, name in enumerate(metrics)}
    systems = view.order.ordered_systems(str(key[2]) for key in tables)
    with_values = {key[:2] for key, table in tables.items() if table["value"].count()}
    for metric, group, system in sorted(
        tables, key=lambda key: (positions[str(key[0])], key[1] != PEOPLE, str(key[1]), systems.index(str(key[2])))
    ):
        if (metric, group) in with_values:
            yield str(metric), str(group), str(system), tables[metric, group, system]
