"""By which factors systems are matched: one decision, from the kinds of factors and the design of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bedside.analysis.study_parts import checked_factor, factor_names, is_settled, varying_factors
from bedside.support.errors import DataError
from bedside.transcripts.factor_kinds import MANY_LEVELS, Kind, kind_of

#: A factor of unknown kind is a condition where, of the places that a level has on cases of two systems, at least this
#: share has as many transcripts of the one as of the other: for each level.
CROSSED_SHARE = 2 / 3
#: Why systems are not matched by a factor.
NO_CASE = "systems share no case"
NOT_CROSSED = "on a case they don't have its levels alike"


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A factor that systems are not matched by, where that makes a difference.

    Attributes:
        name: the factor.
        why: why they are not.
        kept: how many of the systems' transcripts would have a counterpart if they were.
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
        for name in factor_names(factors)
    }


def checked_match(
    match: Sequence[str], factors: pl.DataFrame | None, kinds: Mapping[str, Kind | None], where: str
) -> tuple[str, ...]:
    """The factors that systems are to be matched by, each of which there is.

    Raises:
        DataError: one isn't there, or is known only after the conversation.
    """
    for name in match:
        checked_factor(factors, name, where)
        if kinds[name] == "outcome":
            raise DataError(
                f"{name} is an outcome: matched by it, systems would be compared on what is left of them",
                where="`match`", todo="name conditions; score with `conditions` where it was set before",
            )  # fmt: skip
    return tuple(dict.fromkeys(match))


def conditions_of(placed: pl.DataFrame, kinds: Mapping[str, Kind | None]) -> tuple[str, ...]:
    """The factors that are conditions: by their kind, or where none is known by the design.

    Args:
        placed: a row for each transcript: ``transcript_id, system, case_id`` and a column for each factor.
        kinds: of the factors.
    """
    return tuple(
        name
        for name, kind in kinds.items()
        if kind == "condition" or (kind is None and _is_crossed(placed, name))
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
    varying = [
        name for name in varying_factors(within, list(possible)) if shares_level(own, name, systems)
    ]
    conditions = conditions_of(own, {name: possible[name] for name in varying}) if pairs else ()
    for name in conditions:
        if possible[name] is None:
            _check_few_levels(own, name, systems, where)
    unmatched = []
    for name in varying:
        if name not in conditions and not is_settled(own, name, conditions):
            kept = _matched_count(within, [name], systems)
            if kept < own.height:
                unmatched.append(Unmatched(name, NOT_CROSSED if pairs else NO_CASE, kept))
    return Matching(conditions, tuple(unmatched), own.height, _matched_count(own, conditions, systems))


def _check_few_levels(own: pl.DataFrame, name: str, systems: Sequence[str], where: str) -> None:
    """Check that it makes no difference whether systems are matched by a factor of many levels and of unknown kind.

    Raises:
        DataError: it does.
    """
    levels = own[name].n_unique()
    kept = _matched_count(own, [name], systems) if levels > MANY_LEVELS else own.height
    if kept < own.height:
        raise DataError(
            f"{name} has {levels} levels, and it isn't known whether it is a condition: matched by it, {kept:,} of "
            f"{own.height:,} transcripts enter; not matched, all",
            where=where, todo=f"choose with `match={name}` or `match=none`",
        )  # fmt: skip


def shares_level(placed: pl.DataFrame, name: str, systems: Sequence[str]) -> bool:
    """Whether all systems have some level of a factor."""
    levels = placed.drop_nulls(name).group_by(name).agg(pl.col("system").n_unique().alias("systems"))
    return bool(levels.select((pl.col("systems") == len(set(systems))).any()).item())


def _matched_count(placed: pl.DataFrame, names: Sequence[str], systems: Sequence[str]) -> int:
    """How many transcripts have a counterpart in every other system; all where nothing is matched."""
    if not names:
        return placed.height
    rows = placed.with_columns(pl.lit(1.0).alias("value"))
    return sum(kept.height for kept in counterparts(rows, names, systems).values())


def counterparts(
    placed: pl.DataFrame, names: Sequence[str], systems: Sequence[str]
) -> dict[str, pl.DataFrame]:
    """Of each system, the rows to which every other system has a counterpart: at the same levels, on a case that both
    have on that case.

    Args:
        placed: a row for each transcript: ``system, case_id, value`` and a column for each factor.
        names: the factors.
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
        cases = present["case_id"].drop_nulls().unique()
        cells = present.select("case_id", *names).unique().with_columns(pl.lit(True).alias("there"))
        own = (
            own.join(cells, on=["case_id", *names], how="left", nulls_equal=True, maintain_order="left")
            .filter(
                pl.col("there").fill_null(False) | ~pl.col("case_id").is_in(cases.implode()).fill_null(False)
            )
            .drop("there")
        )
    return own
