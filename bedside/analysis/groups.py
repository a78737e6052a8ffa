"""Groups of transcripts in place of systems: the levels of a factor are compared as systems are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import chosen_systems
from bedside.analysis.study_parts import OF_SYSTEM, StudyOrder, checked_factor
from bedside.core.errors import DataError
from bedside.core.words import counted


def group_view(view: RatingsView, factor: str, systems: Sequence[str] | None = None) -> RatingsView:
    """The view in which the level of a factor stands in the place of each transcript's system.

    Cases stay as they are, so that groups which share cases pair by them. Of several systems, each transcript's own
    becomes a condition, by which groups are matched on their cases. Transcripts without the factor are left out.

    Args:
        view: the ratings.
        factor: whose levels are the groups.
        systems: the systems whose transcripts count; all unless named.

    Raises:
        DataError: there is no such factor or system, fewer than two of its levels, or there are several systems that
            share no case, by which groups could be matched.
    """
    factors = _factors(view, factor)
    own = view.transcripts()
    if systems is not None:
        own = own.filter(pl.col("system").is_in(chosen_systems(view, systems, fewest=1)))
    levels = factors.select("transcript_id", pl.col(factor).alias("group")).drop_nulls()
    placed = own.join(levels, on="transcript_id", how="inner", maintain_order="left")
    groups = view.order.ordered_levels(factor, placed["group"].unique().to_list())
    if len(groups) < 2:
        raise DataError(
            f"a comparison needs two groups, and {factor} has " + (f"{groups[0]!r} only" if groups else "no level"),
            where=view.name,
            todo="choose another factor with `groups`",
        )
    several = _checked_systems(placed, view)
    kept = factors.drop(factor)
    if several:
        kept = kept.join(placed.select("transcript_id", pl.col("system").alias(OF_SYSTEM)), on="transcript_id")
    match = view.part.match
    if match is None and several:
        groups_of_case = placed.drop_nulls("case_id").group_by("case_id").agg(pl.col("group").n_unique())["group"]
        if not (groups_of_case > 1).any():
            match = ()  # else nothing is matched, and groups would differ by their systems
    if match is not None:
        match = tuple(name for name in match if name != factor) + (OF_SYSTEM,) * bool(several)
    of_group = placed.select("transcript_id", "group")
    return replace(
        view,
        ratings=_in_groups(view.ratings, of_group),
        final=_in_groups(view.final, of_group),
        factors=kept.join(of_group, on="transcript_id", how="semi"),
        placed=placed.select("transcript_id", pl.col("group").alias("system"), "case_id"),
        part=replace(
            view.part, match=match, groups=factor, grouping=_words(factor, groups, placed, own.height, several, systems)
        ),
        declared={**view.declared, OF_SYSTEM: "condition"},
        order=StudyOrder({level: view.order.level_label(factor, level) for level in groups}, view.order.levels),
    )


def line_view(view: RatingsView, factor: str, whole: str) -> RatingsView:
    """The view in which each system at each level of a factor is one of its own, named ``system (level)`` by labels.

    Args:
        view: the ratings.
        factor: the factor.
        whole: name or label of a system that isn't divided; its label stands for all of its levels.

    Raises:
        DataError: there is no such factor or system.
    """
    factors, undivided = _factors(view, factor), view.order.system_label(whole)
    placed = (
        view.transcripts()
        .drop_nulls("system")
        .join(factors.select("transcript_id", pl.col(factor).alias("level")), on="transcript_id", maintain_order="left")
    )
    levels = [*view.order.ordered_levels(factor, placed["level"].drop_nulls()), None]
    names: list[tuple[str, str | None, str]] = []
    for system, level in product(view.order.ordered_systems(placed["system"]), levels):
        label = view.order.system_label(system)
        divided = level is not None and label != undivided
        names.append((system, level, f"{label} ({view.order.level_label(factor, str(level))})" if divided else label))
    labels = pl.DataFrame(names, schema=dict.fromkeys(("system", "level", "group"), pl.String), orient="row")
    lines = placed.join(labels, on=("system", "level"), nulls_equal=True, maintain_order="left")
    if undivided not in lines["group"]:
        raise DataError(f"{whole} has no transcript in these settings", where=view.name)
    return replace(
        view,
        ratings=_in_groups(view.ratings, lines),
        final=_in_groups(view.final, lines),
        factors=factors.drop(factor).join(lines, on="transcript_id", how="semi"),
        placed=lines.select("transcript_id", pl.col("group").alias("system"), "case_id"),
        order=StudyOrder({name: name for name in labels["group"]}, view.order.levels),
    )


def _factors(view: RatingsView, factor: str) -> pl.DataFrame:
    """The frame of factors, which has this one.

    Raises:
        DataError: it doesn't, or the ratings are a plain file.
    """
    if view.factors is None:
        raise DataError(
            "a plain file of ratings has no factors",
            where="`groups`",
            todo=f"take the column for systems with `columns=system={factor}`, or give a run",
        )
    return checked_factor(view.factors, factor, "`groups`")


def _checked_systems(placed: pl.DataFrame, view: RatingsView) -> tuple[str, ...]:
    """The systems of the transcripts, where they are several; each group's are matched by case then.

    Raises:
        DataError: no two of them share a case, and so groups would differ by their systems, too.
    """
    systems = view.order.ordered_systems(placed["system"].drop_nulls().unique())
    if len(systems) < 2:
        return ()
    shared = placed.drop_nulls("case_id").group_by("case_id").agg(pl.col("system").n_unique())["system"]
    if not (shared > 1).any():
        raise DataError(
            f"the groups are of several systems ({', '.join(systems)}), which share no case to match them by",
            where=view.name,
            todo=f"name one with `systems={systems[0]}`",
        )
    return tuple(systems)


def _in_groups(rows: pl.DataFrame, of_group: pl.DataFrame) -> pl.DataFrame:
    """Rows of a ratings table with the group of their transcript in the place of its system."""
    joined = rows.join(of_group, on="transcript_id", how="inner", maintain_order="left")
    return joined.with_columns(pl.col("group").alias("system")).select(rows.columns)


def _words(
    factor: str,
    groups: Sequence[str],
    placed: pl.DataFrame,
    every: int,
    several: Sequence[str],
    systems: Sequence[str] | None,
) -> str:
    """What the groups are, in a sentence or two."""
    sizes = ", ".join(f"{level} {placed.filter(pl.col('group') == level).height:,}" for level in groups)
    words = f"Groups are the levels of {factor} (transcripts: {sizes})."
    if several:
        words += f" Both sides of a comparison are of the same systems ({', '.join(several)})."
    elif systems is not None:
        words += f" They are of {', '.join(systems)} alone."
    without = every - placed.height
    return words + (f" {counted(without, 'transcript')} without {factor} left out." if without else "")
