"""Preferences as they are compared: rows of who was shown first and second on which case, and what is left out."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.errors import DataError
from bedside.core.registry import nearest
from bedside.ratings.names import is_human, second_ids
from bedside.ratings.rubric_metrics import preferred_by
from bedside.stats.arrays import Array

#: Why a preference isn't counted.
FAILED = "no verdict was given"
UNKNOWN = "a conversation's system isn't known"
ONE_SYSTEM = "both conversations are of one system"
OTHER_CASES = "the conversations are of different cases"


@dataclass(frozen=True, slots=True)
class PreferenceRows:
    """The preferences by one rubric of one group of raters.

    Attributes:
        rubric: its name.
        raters: :data:`~bedside.analysis.ratings_view.PEOPLE`, or a rater's own name.
        systems: those that were compared, sorted.
        rows: columns ``rater, replicate, round, case, first, second`` (ids of conversations), ``first_system``,
            ``second_system``, ``share`` (of the win, that the first has), ``low, high`` (the two ids in their order)
            and ``low_share`` (of the win, that ``low`` has).
        left_out: number of preferences that aren't counted, by why.
    """

    rubric: str
    raters: str
    systems: tuple[str, ...]
    rows: pl.DataFrame
    left_out: Mapping[str, int]

    def shares(self) -> Array:
        """Cases × systems × systems: the mean share of the win of the row's system, shown first; NaN where none."""
        means = self.rows.group_by("case", "first_system", "second_system", maintain_order=True).agg(
            pl.col("share").mean()
        )
        cases = {case: place for place, case in enumerate(means["case"].unique(maintain_order=True))}
        places = {system: place for place, system in enumerate(self.systems)}
        table: Array = np.full((len(cases), len(places), len(places)), np.nan)
        for case, first, second, share in means.iter_rows():
            table[cases[case], places[first], places[second]] = share
        return table

    def by_order(self) -> pl.DataFrame:
        """A row for each pair, rater and pass: the case, and the share of the one shown first in either order.

        Columns ``case, one, other``: ``one`` where ``low`` was shown first, ``other`` where ``high`` was; null where a
        pair wasn't shown so. The first pass in one order stands beside the first in the other, whichever passes they
        are: a person who is shown a pair again sees it the other way round.
        """
        lower = pl.col("first") == pl.col("low")
        keys = ["rater", "round", "low", "high"]
        passes = pl.col("replicate").rank("ordinal").over(*keys, "first").alias("pass")
        return self.rows.group_by(*keys, passes, maintain_order=True).agg(
            pl.col("case").first(),
            pl.col("share").filter(lower).first().alias("one"),
            pl.col("share").filter(~lower).first().alias("other"),
        )

    def verdicts(self, by: Sequence[str] = ("rater",)) -> pl.DataFrame:
        """A row for each pair (and rater): ``low_share``, the mean over orders of the mean over passes, and ``orders``.

        Args:
            by: what has a verdict of its own besides the pair; with nothing, raters are averaged, too.
        """
        keys = ("low", "high", *by)
        systems = pl.when(pl.col("first") == pl.col("low"))
        return (
            self.rows.with_columns(
                systems.then("first_system").otherwise("second_system").alias("low_system"),
                systems.then("second_system").otherwise("first_system").alias("high_system"),
            )
            .group_by(*keys, "first", maintain_order=True)
            .agg(
                pl.col("case").first(), pl.col("low_system").first(), pl.col("high_system").first(),
                pl.col("low_share").mean(),
            )
            .group_by(keys, maintain_order=True)
            .agg(
                pl.col("case").first(), pl.col("low_system").first(), pl.col("high_system").first(),
                pl.col("low_share").mean(), pl.len().alias("orders"),
            )
        )  # fmt: skip


def preference_rows(view: RatingsView) -> tuple[PreferenceRows, ...]:
    """The preferences, by rubric and group of raters; people first.

    Raises:
        NothingError: nothing was compared.
    """
    if view.preferences.is_empty():
        raise NothingError(
            "no two conversations were compared with each other",
            where=view.name,
            todo="ask a judge with bedside judge pairs, or import people's preferences",
        )
    groups = [
        _group(str(rubric), str(group), rows)
        for (rubric, group), rows in _with_systems(view).group_by("rubric", "group", maintain_order=True)
    ]
    return tuple(sorted(groups, key=lambda own: (own.rubric, own.raters != PEOPLE, own.raters)))


def chosen_preferences(
    view: RatingsView,
    *,
    rubrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
) -> RatingsView:
    """The view with the preferences by these rubrics, of these raters and between these systems; all unless named.

    Args:
        view: the ratings.
        rubrics: rubrics or patterns, or names of their preferences.
        raters: raters or patterns such as ``human:*``.
        systems: only comparisons among these.

    Raises:
        NothingError: nothing was compared, or no two of the systems.
        DataError: a name or pattern matches nothing that was compared.
    """
    if rubrics is None and raters is None and systems is None:
        return view
    preference_rows(view)
    table = _with_systems(view)
    table = _chosen(table, "rubric", rubrics and [preferred_by(name) for name in rubrics], view.name)
    table = _chosen(table, "rater", raters, view.name)
    if systems is not None:
        named = sorted(set(table["first_system"].drop_nulls()) | set(table["second_system"].drop_nulls()))
        for system in systems:
            if system not in named:
                raise DataError(
                    f"no conversation of system {system!r} was compared",
                    where=view.name,
                    todo=nearest(system, named),
                )
        table = table.filter(pl.col("first_system").is_in(systems), pl.col("second_system").is_in(systems))
    if table.is_empty():
        raise NothingError(
            "no two of these systems were compared", where=view.name, todo="name others with `systems`"
        )
    return replace(view, preferences=view.preferences[table["row"].to_list()])


def _chosen(table: pl.DataFrame, column: str, names: Sequence[str] | None, where: str) -> pl.DataFrame:
    """The rows whose name matches one of the patterns; all without any."""
    if names is None:
        return table
    known = sorted(table[column].unique())
    for name in names:
        if not any(fnmatch.fnmatchcase(known_name, name) for known_name in known):
            what = (
                "rater compared anything that matches"
                if column == "rater"
                else "conversations were compared by"
            )
            raise DataError(f"no {what} {name!r}", where=where, todo=nearest(name, known))
    kept = [
        known_name for known_name in known if any(fnmatch.fnmatchcase(known_name, name) for name in names)
    ]
    return table.filter(pl.col(column).is_in(kept))


def _with_systems(view: RatingsView) -> pl.DataFrame:
    """The preferences with the system and case of both conversations."""
    rows = view.preferences
    about = (
        pl.concat([view.transcripts(), rows.select("transcript_id", "system", "case_id")])
        .unique("transcript_id", keep="first", maintain_order=True)
        .rename({"system": "second_system", "case_id": "second_case", "transcript_id": "second"})
    )
    return (
        rows.with_row_index("row")
        .with_columns(second_ids().alias("second"))
        .join(about, on="second", how="left", maintain_order="left")
        .with_columns(
            own_case(),
            pl.col("metric").map_elements(preferred_by, return_dtype=pl.String).alias("rubric"),
            pl.when(pl.col("rater").map_elements(is_human, return_dtype=pl.Boolean))
            .then(pl.lit(PEOPLE))
            .otherwise("rater")
            .alias("group"),
        )
        .rename({"transcript_id": "first", "system": "first_system", "value": "share"})
    )


def _group(rubric: str, group: str, table: pl.DataFrame) -> PreferenceRows:
    """The rows of one group that count, and the numbers of the others."""
    why = (
        pl.when(pl.col("share").is_null()).then(pl.lit(FAILED))
        .when(pl.col("first_system").is_null() | pl.col("second_system").is_null()).then(pl.lit(UNKNOWN))
        .when(pl.col("first_system") == pl.col("second_system")).then(pl.lit(ONE_SYSTEM))
        .when(pl.col("case_id").ne_missing(pl.col("second_case"))).then(pl.lit(OTHER_CASES))
    )  # fmt: skip
    told = table.with_columns(why.alias("why"))
    left_out = dict(told["why"].drop_nulls().value_counts(sort=True).iter_rows())
    ordered = pl.col("first") < pl.col("second")
    rows = told.filter(pl.col("why").is_null()).select(
        "rater", "replicate", "round", "first", "second", "first_system", "second_system", "share",
        pl.when(ordered).then("first").otherwise("second").alias("low"),
        pl.when(ordered).then("second").otherwise("first").alias("high"),
        pl.when(ordered).then("share").otherwise(1 - pl.col("share")).alias("low_share"),
        # Two conversations without a case make up one of their own.
        pl.when(pl.col("case_id").is_null()).then(pl.min_horizontal("first", "second")).otherwise("case").alias("case"),
    )  # fmt: skip
    systems = sorted(set(rows["first_system"]) | set(rows["second_system"]))
    return PreferenceRows(rubric, group, tuple(systems), rows, left_out)
