"""By which factors systems are matched: one decision, from the kinds of factors and the design of the study."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bedside.core.errors import DataError
from bedside.transcripts.factor_kinds import MANY_LEVELS, Kind, kind_of

#: A factor of unknown kind is a condition where, of the places that a level has on cases of two systems, at least this
#: share has as many transcripts of the one as of the other: for each level.
CROSSED_SHARE = 2 / 3
#: Why systems are not matched by a factor.
NO_CASE = "systems share no case"
NOT_CROSSED = "systems have its levels unequally often on their cases"
#: The same of a factor that lies as a design lays it, though its name says that it is no condition.
NO_CONDITION: Mapping[Kind | None, str] = {
    "provenance": "provenance is no condition",
    "label": "a label is no condition",
    "repeat": "a repeat is no condition",
}
#: Begins the names of factors' columns beside values.
FACTOR_COLUMN = "factor "
#: What a transcript is placed by; a factor of such a name says no more than it. Tables of placed transcripts have a row
#: for each one: these, and a column for each factor; of kinds, what is None is decided by the design.
PLACE = ("transcript_id", "system", "case_id")


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A factor that systems are not matched by, where that makes a difference.

    Attributes:
        name: the factor.
        why: why they are not.
        kept: how many of the systems' transcripts would have a counterpart if they were, besides what is matched.
    """

    name: str
    why: str
    kept: int


@dataclass(frozen=True, slots=True)
class Matching:
    """By what systems are matched.

    Attributes:
        by: the factors; a value enters only where every other system has one at the same levels.
        unmatched: factors that systems could be matched by.
        transcripts: how many the systems have.
        kept: how many of them have a counterpart; all where nothing is matched.
    """

    by: tuple[str, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    transcripts: int = 0
    kept: int = 0


def kinds_of(factors: pl.DataFrame | None, declared: Mapping[str, Kind]) -> dict[str, Kind | None]:
    """The kind of each factor of a frame of them, by ``transcript_id``; None where only the design can tell."""
    if factors is None:
        return {}
    return {
        name: kind_of(name, factors[name].drop_nulls().unique().to_list(), declared)
        for name in factors.columns
        if name not in PLACE
    }


def conditions_of(placed: pl.DataFrame, kinds: Mapping[str, Kind | None]) -> tuple[str, ...]:
    """The factors that are conditions, by their kind or else by the design; ``placed`` as :data:`PLACE`."""
    return tuple(
        name for name, kind in kinds.items() if kind == "condition" or (kind is None and _is_crossed(placed, name))
    )


def _is_crossed(placed: pl.DataFrame, name: str) -> bool:
    """Whether systems have each level of a factor alike on the cases that they share, as a design does.

    What comes about in a conversation, or by chance, lies otherwise in each system.
    """
    cells = placed.drop_nulls("case_id").group_by("case_id", "system", pl.col(name).alias("level")).len("n")
    places = cells.select("case_id", "system").unique()
    pairs = places.join(places, on="case_id", suffix="_b").filter(pl.col("system") < pl.col("system_b"))
    if pairs.is_empty():
        return False
    other = cells.rename({"system": "system_b", "n": "n_b"})
    shares = (
        pairs.join(cells.select("case_id", "level").unique(), on="case_id")
        .join(cells, on=["case_id", "system", "level"], how="left", nulls_equal=True)
        .join(other, on=["case_id", "system_b", "level"], how="left", nulls_equal=True)
        .with_columns(pl.col("n", "n_b").fill_null(0))
        .filter((pl.col("n") > 0) | (pl.col("n_b") > 0))
        .group_by("level")
        .agg((pl.col("n") == pl.col("n_b")).mean().alias("share"))
    )
    return bool(shares.select((pl.col("share") >= CROSSED_SHARE).all()).item())


def _is_laid_out(placed: pl.DataFrame, name: str) -> bool:
    """Whether each system has the same levels of a factor, equally often, on most of its cases, as a design does."""
    cells = placed.drop_nulls(["case_id", name]).group_by("system", "case_id", pl.col(name).alias("level")).len("n")
    of_case = cells.group_by("system", "case_id").agg(pl.struct("level", "n").sort().alias("levels"))
    alike = of_case.group_by("system", "levels").len("cases").group_by("system")
    shares = alike.agg(pl.col("cases").max() / pl.col("cases").sum(), pl.col("cases").max().alias("most"))
    return bool(shares.select(((pl.col("cases") >= CROSSED_SHARE) & (pl.col("most") > 1)).all()).item())


def matching(
    placed: pl.DataFrame,
    kinds: Mapping[str, Kind | None],
    systems: Sequence[str],
    match: Sequence[str] | None,
    where: str,
) -> Matching:
    """By which factors systems are matched.

    Where no two of them share a case, by none. Else by conditions that vary within a system and case, of which a level
    has several transcripts of a system, and of which they share a level.

    Args:
        placed: a row for each transcript: ``transcript_id, system, case_id`` and a column for each factor.
        kinds: of the factors; what is None is decided by the design.
        systems: the systems.
        match: the factors that were asked for, none for an empty list; None where nothing was.
        where: the run or file, for messages.

    Raises:
        DataError: a factor of unknown kind has many levels, and to match by it would leave transcripts out.
    """
    own = placed.filter(pl.col("system").is_in(list(systems)))
    if match is not None:
        by = tuple(name for name in match if shares_level(own, name, systems))
        return Matching(by, (), own.height, _matched_count(own, by, systems))
    possible = {name: kind for name, kind in kinds.items() if kind in (None, "condition")}
    paired = own.drop_nulls("case_id").group_by("case_id").agg(pl.col("system").n_unique())["system"].max()
    pairs = isinstance(paired, int) and paired > 1
    # Where no case pairs, only what varies within a system can be matched at all.
    within = own if pairs else own.with_columns(pl.lit(None, dtype=pl.String()).alias("case_id"))
    varying = [name for name in varying_factors(within, list(possible)) if shares_level(own, name, systems)]
    conditions = conditions_of(own, {name: possible[name] for name in varying}) if pairs else ()
    for name in conditions:
        if possible[name] is None:
            _check_few_levels(own, name, systems, where)
    others = {
        name: NOT_CROSSED if pairs else NO_CASE
        for name in varying
        if name not in conditions and not is_settled(own, name, conditions)
    }
    if pairs:
        others.update(_laid_out(own, kinds, conditions, systems))
    unmatched = []
    for name, why in others.items():
        kept = _matched_count(within, [*conditions, name], systems)
        if kept < own.height:
            unmatched.append(Unmatched(name, why, kept))
    return Matching(conditions, tuple(unmatched), own.height, _matched_count(own, conditions, systems))


def _laid_out(
    own: pl.DataFrame, kinds: Mapping[str, Kind | None], conditions: Sequence[str], systems: Sequence[str]
) -> dict[str, str]:
    """Factors that are no conditions by their names, and lie as a design lays them; with why they are not matched."""
    names = [
        name
        for name, kind in kinds.items()
        if kind in NO_CONDITION
        # Numbers of repeats are laid out by themselves.
        and not (kind == "repeat" and own[name].drop_nulls().str.contains(r"\d").all())
    ]
    return {
        name: NO_CONDITION[kinds[name]]
        for name in varying_factors(own, names)
        if shares_level(own, name, systems)
        and _is_laid_out(own, name)
        and not is_settled(own, name, ("system", *conditions))
    }


def _check_few_levels(own: pl.DataFrame, name: str, systems: Sequence[str], where: str) -> None:
    """Check that it makes no difference whether systems are matched by a factor of many levels and of unknown kind."""
    levels = own[name].n_unique()
    kept = _matched_count(own, [name], systems) if levels > MANY_LEVELS else own.height
    if kept < own.height:
        raise DataError(
            f"{name} has {levels} levels, and it isn't known whether it is a condition: matched by it, {kept:,} of "
            f"{own.height:,} transcripts enter; not matched, all",
            where=where, todo=f"choose with `match={name}` or `match=none`",
        )  # fmt: skip


def varying_factors(placed: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """The factors that vary within a system and case, and of which a level has several transcripts of a system.
    ``placed`` as :data:`PLACE`."""
    if not names:
        return []
    varying = placed.group_by("system", "case_id").agg(pl.col(name).drop_nulls().n_unique() for name in names)
    candidates = [name for name in names if (varying.select(pl.col(name).max()).item() or 0) > 1]
    return [name for name in candidates if placed.drop_nulls(name).select("system", name).is_duplicated().any()]


def is_settled(factors: pl.DataFrame | None, name: str, others: Collection[str]) -> bool:
    """Whether a factor has a single level wherever others have the same levels, as a task has in each setting.

    Args:
        factors: a column for each factor, by ``transcript_id``; None where there are none.
        name: the factor.
        others: names of other factors; those that no transcript has don't count.
    """
    if factors is None or name not in factors.columns:
        return False
    columns = [other for other in others if other in factors.columns]
    return bool(columns) and factors.group_by(columns).agg(pl.col(name).n_unique())[name].max() == 1


def shares_level(placed: pl.DataFrame, name: str, systems: Sequence[str]) -> bool:
    """Whether all systems have some level of a factor."""
    by_level = placed.drop_nulls(name).group_by(pl.col(name).alias("level"))
    levels = by_level.agg(pl.col("system").n_unique().alias("systems"))
    return bool(levels.select((pl.col("systems") == len(set(systems))).any()).item())


def _matched_count(placed: pl.DataFrame, names: Sequence[str], systems: Sequence[str]) -> int:
    """How many transcripts have a counterpart in every other system; all where nothing is matched."""
    if not names:
        return placed.height
    columns = beside_values(names)
    rows = placed.select("system", "case_id", *columns.values(), pl.lit(1.0).alias("value"))
    return sum(kept.height for kept in counterparts(rows, list(columns), systems).values())


def beside_values(names: Sequence[str]) -> dict[str, pl.Expr]:
    """Columns of factors that can stand beside values, even of a factor called ``value``; each by its name."""
    return {(column := f"{FACTOR_COLUMN}{name}"): pl.col(name).alias(column) for name in names}


def counterparts(placed: pl.DataFrame, names: Sequence[str], systems: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Of each system, the rows to which every other system has a counterpart: at the same levels, on a case that both
    have on that case.

    Args:
        placed: a row for each transcript: ``system, case_id, value`` and a column for each factor.
        names: of these columns, as :func:`beside_values` gives them.
        systems: the systems.
    """
    by_system = {system: placed.filter(pl.col("system") == system) for system in systems}
    return {
        system: _counterparts(own, [by_system[other] for other in systems if other != system], names)
        for system, own in by_system.items()
    }


def _counterparts(own: pl.DataFrame, others: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    """The rows of one system to which each of the others has a counterpart."""
    for other in others:
        present = other.filter(pl.col("value").is_not_null())
        own = own.join(present, on=names, how="semi", nulls_equal=True, maintain_order="left")
        is_shared = pl.col("case_id").is_in(present["case_id"].drop_nulls().unique().implode())
        cells = present.select("case_id", *names).unique().with_columns(pl.lit(True).alias("there"))
        own = own.join(cells, on=["case_id", *names], how="left", nulls_equal=True, maintain_order="left")
        own = own.filter(pl.col("there").fill_null(False) | ~is_shared.fill_null(False)).drop("there")
    return own


def pairing_factors(placed: pl.DataFrame, kinds: Mapping[str, Kind | None]) -> tuple[str, ...]:
    """The factors by which single conversations of two systems on one case are paired: conditions, and repeats.

    Each varies within a system's conversations on a case, and two systems share a level of it on some case.
    ``placed`` as :data:`PLACE`.
    """
    conditions = conditions_of(placed, kinds)
    names = [name for name, kind in kinds.items() if kind == "repeat" or name in conditions]
    if not names:
        return ()
    varying = placed.group_by("system", "case_id").agg(pl.col(name).drop_nulls().n_unique() for name in names)
    shared = (
        placed.drop_nulls(name).group_by("case_id", name).agg(pl.col("system").n_unique().alias("systems"))
        for name in names
    )
    return tuple(
        name
        for name, levels in zip(names, shared, strict=True)
        if varying.select((pl.col(name) > 1).any()).item() and levels.select((pl.col("systems") > 1).any()).item()
    )
