"""The part of a study that an answer is about, and the order in which systems and levels of factors stand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from bedside.core.errors import BedsideError, DataError, nearest, one_of
from bedside.core.words import counted
from bedside.ratings.names import is_human
from bedside.ratings.study_design import PLACE, varying_factors
from bedside.ratings.suites import Suite
from bedside.transcripts.factor_kinds import Kind

# -- The part of a study that an answer is about --------------------------------------------------------

#: Stands for the level of a factor that a transcript doesn't have.
WITHOUT = "none given"
#: Stands for every round of annotation.
ALL_ROUNDS = "all"
#: The factor that says of a transcript that it was simulated, and the level that says so.
SYNTHETIC, SIMULATED = "synthetic", "True"
_NOT_SIMULATED = "False"
#: The factor that a transcript's system becomes where groups stand in the place of systems.
OF_SYSTEM = "of_system"
#: Stands for matching systems by no factor.
NO_MATCH = "none"


@dataclass(frozen=True, slots=True)
class StudyPart:
    """What was chosen of a study; nothing unless said.

    Attributes:
        rounds: the rounds of annotation whose ratings by people count; empty where nothing was chosen.
        where: the levels of factors whose transcripts count.
        complete: of simulated conversations, how many combinations of case, persona, setting and length are complete
            for all systems, and so looked at, and how many there are; None where that doesn't matter.
        match: the factors by which systems are matched, none for an empty tuple; None leaves it to the study's design.
        groups: the factor whose levels stand in the place of systems; None where systems are compared.
        grouping: what these groups are, in words.
    """

    rounds: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    complete: tuple[int, int] | None = None
    match: tuple[str, ...] | None = None
    groups: str | None = None
    grouping: str = ""

    def sentences(self) -> list[str]:
        """What was chosen, in words."""
        chosen = "; ".join(f"{factor} {' or '.join(levels)}" for factor, levels in self.where.items())
        sentences = [self.grouping] if self.grouping else []
        sentences += [f"Only transcripts with {chosen} are looked at."] if chosen else []
        if self.complete is not None:
            kept, every = self.complete
            sentences.append(
                f"Only cases that are complete for all systems are looked at: {kept:,} of {every:,} combinations of "
                "case, persona, setting and length have every conversation."
            )
        if self.match is not None and self.match != (OF_SYSTEM,):
            by = " and ".join(self.match) if self.match else "no factor"
            sentences.append(f"Systems are matched by {by}, as was asked for.")
        if self.rounds == (ALL_ROUNDS,):
            sentences.append(
                "People's ratings of all rounds count; several by one person of one thing are repeated ratings."
            )
        elif self.rounds:
            noun = "round" if len(self.rounds) == 1 else "rounds"
            sentences.append(f"People's ratings are those of the {noun} {', '.join(map(_printed, self.rounds))}.")
        return sentences


def _printed(name: str) -> str:
    """A round's name, or the quotation marks that stand for the round without one."""
    return name or '""'


def level_order(levels: Sequence[str]) -> list[str]:
    """Levels of a factor in order, each once: numbers by size, words by letters, what is not given last.

    Words that begin with a number stand by it: 8 turns before 16 turns.
    """

    def key(value: str) -> tuple[int, float, str]:
        if value == WITHOUT:
            return 2, 0.0, ""
        try:
            return 0, float(value), value
        except ValueError:
            begins = re.match(r"\d+(?:\.\d+)?", value)
            return 1, float(begins[0]) if begins else math.inf, value

    return sorted(set(levels), key=key)


def ratings_of_rounds(ratings: pl.DataFrame, rounds: Sequence[str] | None, where: str) -> pl.DataFrame:
    """The ratings, of those by people the ones of the rounds named.

    Labels that came with the transcripts have no round. They stay where people rated their metric in no round besides.

    Args:
        ratings: a ratings table.
        rounds: names of rounds, or :data:`ALL_ROUNDS`; without them, people must have rated each metric in one.
        where: the run or file, for messages.

    Raises:
        DataError: there is no such round; or none is named, and people rated a metric in more than one.
    """
    if rounds is not None and ALL_ROUNDS in rounds:
        return ratings
    if rounds is None and ratings["round"].n_unique() <= 1:
        return ratings
    people = [rater for rater in ratings["rater"].unique() if is_human(rater)]
    by_person = pl.col("rater").is_in(people)
    rated = ratings.lazy().filter(by_person).select("metric", "round").unique().collect()
    if rounds is None:
        _check_one_round(rated, where)
        return ratings
    names = sorted(rated["round"].unique())
    for name in rounds:
        if name not in names:
            own = [other for other in names if other]
            nameless = "their ratings are of no round" if names else "people rated nothing here"
            todo = nearest(name, [*own, ALL_ROUNDS]) if own else f"{nameless}: leave `rounds` out"
            raise DataError(f"there is no round {name!r}", where=where, todo=todo)
    with_round = rated.filter(pl.col("round") != "")["metric"].unique()
    unnamed = (pl.col("round") == "") & ~pl.col("metric").is_in(with_round.implode())
    return ratings.filter(~by_person | pl.col("round").is_in(list(rounds)) | unnamed)


def _check_one_round(rated: pl.DataFrame, where: str) -> None:
    """Raise DataError where a metric of these pairs of metric and round has several rounds."""
    several = rated.group_by("metric").agg(pl.col("round").sort()).filter(pl.col("round").list.len() > 1).sort("metric")
    if several.is_empty():
        return
    metric, rounds = several.row(0)
    more = f" (and {counted(several.height - 1, 'other metric')})" if several.height > 1 else ""
    raise DataError(
        f"people rated {metric}{more} in {len(rounds)} rounds: {', '.join(map(_printed, rounds))}",
        where=where,
        todo=f"choose one with `rounds={_printed(rounds[-1])}`, or take them together with `rounds={ALL_ROUNDS}`",
    )


def with_kinds(factors: pl.DataFrame) -> pl.DataFrame:
    """Factors by which a transcript was not simulated unless it says so, where any was."""
    if SYNTHETIC not in factors.columns or SIMULATED not in factors[SYNTHETIC]:
        return factors
    return factors.with_columns(pl.col(SYNTHETIC).fill_null(_NOT_SIMULATED))


def check_one_kind(transcripts: pl.DataFrame, factors: pl.DataFrame | None, where: str) -> None:
    """Check that no system has simulated conversations beside others: no value may be averaged over both unasked.

    Args:
        transcripts: a row for each transcript: ``transcript_id, system``.
        factors: a column for each factor, by ``transcript_id``; None where there are none.
        where: the run or file, for messages.

    Raises:
        DataError: a system has both.
    """
    if factors is None or SYNTHETIC not in factors.columns:
        return
    kinds = (
        transcripts.join(factors.select("transcript_id", SYNTHETIC), on="transcript_id", how="inner")
        .group_by("system")
        .agg((pl.col(SYNTHETIC) == SIMULATED).sum().alias("simulated"), pl.len().alias("all"))
        .filter(pl.col("simulated") > 0, pl.col("simulated") < pl.col("all"))
        .sort("system")
    )
    if kinds.is_empty():
        return
    system, simulated, every = kinds.row(0)
    whose = "there are" if system is None else f"{system} has"
    more = f" (and {counted(kinds.height - 1, 'other system')})" if kinds.height > 1 else ""
    raise DataError(
        f"{whose} {counted(simulated, 'simulated conversation')} and {every - simulated:,} not simulated{more}, and no "
        "number is to be of both",
        where=where,
        todo=f"choose one kind with `where={SYNTHETIC}={SIMULATED}` or `where={SYNTHETIC}={_NOT_SIMULATED}`, or take "
        f"them together with `where={SYNTHETIC}={SIMULATED},{SYNTHETIC}={_NOT_SIMULATED}`",
    )


def factor_names(factors: pl.DataFrame | None) -> list[str]:
    """The factors that a frame of them, by ``transcript_id``, has columns for."""
    return [] if factors is None else [name for name in factors.columns if name != "transcript_id"]


def checked_factor(
    factors: pl.DataFrame | None, name: str, where: str, error: type[BedsideError] = DataError
) -> pl.DataFrame:
    """The frame of factors, which has this one.

    Raises:
        BedsideError: of the class ``error``: it doesn't.
    """
    if factors is None:
        raise error(
            "a plain file of ratings has no factors", where=where,
            todo="give a run: bedside score makes one of transcripts, bedside ratings import adds the file",
        )  # fmt: skip
    names = factor_names(factors)
    todo = None if names else "give the transcripts factors"
    one_of(name, names, "factor", error, where=where, todo=todo)
    return factors


def checked_match(
    match: Sequence[str], factors: pl.DataFrame | None, kinds: Mapping[str, Kind | None], where: str
) -> tuple[str, ...]:
    """The factors that systems are to be matched by, each of which there is; :data:`NO_MATCH` stands for none.

    Raises:
        DataError: one isn't there, is called as systems or cases are, or is known only after the conversation.
    """
    if list(match) == [NO_MATCH]:
        return ()
    for name in match:
        checked_factor(factors, name, where)
        if name in PLACE:
            raise DataError(
                f"systems are not matched by {name}: it is what they are compared by",
                where="`match`",
                todo=f"name conditions, or {NO_MATCH}",
            )
        if kinds[name] == "outcome":
            raise DataError(
                f"{name} is an outcome: matched by it, systems would be compared on what is left of them",
                where="`match`", todo="name conditions; score with `conditions` where it was set before",
            )  # fmt: skip
    return tuple(dict.fromkeys(match))


def levels_of(factors: pl.DataFrame, name: str) -> list[str]:
    """The levels of a factor that transcripts have, in order."""
    return level_order(factors[name].drop_nulls().unique().to_list())


def transcripts_where(factors: pl.DataFrame | None, where: Mapping[str, Sequence[str]], source: str) -> pl.DataFrame:
    """The rows of a frame of factors that have, of each factor named, one of the levels named.

    Args:
        factors: a column for each factor, by ``transcript_id``.
        where: levels by factor.
        source: the run or file, for messages.

    Raises:
        DataError: there is no such factor or level, or no transcript has what is asked of all factors.
    """
    kept = None
    for name, levels in where.items():
        known = checked_factor(factors, name, source)
        names = levels_of(known, name)
        if not levels:
            raise DataError(f"no level of {name} is named", where="`where`", todo="name some, or leave it out")
        for level in levels:
            one_of(level, names, name, DataError, where=source)
        kept = (known if kept is None else kept).filter(pl.col(name).is_in(list(levels)))
    assert kept is not None
    if kept.is_empty():
        asked = " and ".join(f"{name} {' or '.join(levels)}" for name, levels in where.items())
        raise DataError(f"no transcript has {asked}", where=source, todo="ask for fewer factors at once")
    return kept


@dataclass(frozen=True, slots=True)
class AveragedFactor:
    """A factor that an answer averages over.

    Attributes:
        name: the factor.
        levels: its levels, in order.
        by_system: the levels that each system's transcripts have.
    """

    name: str
    levels: tuple[str, ...]
    by_system: Mapping[str, tuple[str, ...]]

    def shared_levels(self, systems: Sequence[str]) -> list[str]:
        """The levels that all of these systems have, in order."""
        by_system = [self.by_system.get(system, ()) for system in systems]
        return [level for level in self.levels if all(level in levels for levels in by_system)]


def averaged_factors(
    rated: pl.DataFrame,
    factors: pl.DataFrame | None,
    conditions: Collection[str],
    ordered_levels: Callable[[str, Sequence[str]], list[str]] = lambda _, levels: level_order(levels),
) -> tuple[AveragedFactor, ...]:
    """The conditions that vary within a system and case, or within a system where there are no cases.

    A factor of which every level belongs to one transcript of a system tells transcripts apart, and is left out.

    Args:
        rated: a row for each transcript that is rated: ``transcript_id, system, case_id``.
        factors: a column for each factor, by ``transcript_id``; None where there are none.
        conditions: the factors that are conditions.
        ordered_levels: puts levels of a factor in order; by size and by letters unless given.
    """
    names = [name for name in factor_names(factors) if name in conditions]
    if factors is None or not names:
        return ()
    placed = rated.unique().join(factors.select("transcript_id", *names), on="transcript_id", how="inner")
    averaged = []
    for name in varying_factors(placed, names):
        by_system = placed.group_by("system").agg(pl.col(name).fill_null(WITHOUT).unique()).sort("system")
        averaged.append(
            AveragedFactor(
                name,
                tuple(ordered_levels(name, placed[name].drop_nulls().unique().to_list())),
                {str(system): tuple(ordered_levels(name, levels)) for system, levels in by_system.iter_rows()},
            )
        )
    return tuple(averaged)


# -- The order in which systems and levels of factors are shown and compared ----------------------------


@dataclass(frozen=True, slots=True)
class StudyOrder:
    """The order and the labels that suites give to systems and levels; what none of them lists comes after.

    Attributes:
        systems: the label of each system, in order.
        levels: the label of each level, in order, by factor (or code, such as ``stage``).
    """

    systems: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def ordered_systems(self, systems: Iterable[str]) -> list[str]:
        """Systems in order, each once: those that are listed, then the others by letters."""
        names = set(systems)
        return [*(name for name in self.systems if name in names), *sorted(names - set(self.systems))]

    def ordered_levels(self, factor: str, levels: Iterable[str]) -> list[str]:
        """Levels of a factor in order, each once: those that are listed, then the others as numbers or words go."""
        names = set(levels)
        listed = [level for level in self.levels.get(factor, {}) if level in names and level != WITHOUT]
        return [*listed, *level_order([level for level in names if level not in listed])]

    def system_label(self, system: str) -> str:
        """How a system is called in print."""
        return self.systems.get(system, system)

    def level_label(self, factor: str, level: str) -> str:
        """How a level of a factor is called in print."""
        return self.levels.get(factor, {}).get(level, level)


def study_order(suites: Iterable[Suite]) -> StudyOrder:
    """The order that suites give; of what several of them order, that of the first."""
    systems: Mapping[str, str] = {}
    levels: dict[str, Mapping[str, str]] = {}
    for suite in suites:
        systems = systems or suite.systems
        for factor, labels in suite.levels.items():
            levels.setdefault(factor, labels)
    return StudyOrder(systems, levels)


#: Systems and levels by size and letters, under their own names.
UNLISTED = StudyOrder()
