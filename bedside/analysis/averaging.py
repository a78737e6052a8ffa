"""What an answer averages over, and which cases enter a comparison of two systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bedside.analysis.case_values import CaseValues, mean_in_group, own_case
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.study_parts import AveragedFactor
from bedside.core.errors import DataError
from bedside.ratings.names import rated_by_humans
from bedside.ratings.study_design import FACTOR_COLUMN, beside_values, counterparts, shares_level, varying_factors
from bedside.stats.arrays import Array
from bedside.stats.result import Result

# -- What an answer averages over -----------------------------------------------------------------------


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
    corrected = family([interaction.test for interaction in tested], f"interactions of system and {factor.name}")
    return tuple(replace(interaction, test=test) for interaction, test in zip(tested, corrected, strict=True))


def _tested(
    view: RatingsView, factor: AveragedFactor, metrics: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Iterator[Interaction]:
    """The interactions, p not corrected yet."""
    levels_by_pair = {pair: factor.shared_levels(pair) for pair in pairs}
    testable = [(*pair, levels) for pair, levels in levels_by_pair.items() if len(levels) > 1]
    if not testable or view.factors is None:
        return
    place = view.factors.select("transcript_id", pl.col(factor.name).alias("level")).drop_nulls()
    rated = view.transcript_values(metrics).drop_nulls("value").with_columns(pl.col("system").fill_null(ALL))
    for (metric, group), table in rated.partition_by("metric", "group", as_dict=True, maintain_order=True).items():
        placed = table.join(place, on="transcript_id", how="inner", maintain_order="left")
        own = placed.group_by("system").agg(pl.col("case_id").is_null().all())
        caseless = set(own.filter("case_id")["system"])
        means = placed.group_by("system", own_case(), "level", maintain_order=True).agg(mean_in_group("value"))
        by_system = {str(name): rows for (name,), rows in means.partition_by("system", as_dict=True).items()}
        for a, b, levels in testable:
            if a in by_system and b in by_system:
                test = _interaction(by_system[a], by_system[b], levels, paired=not {a, b} <= caseless)
                yield Interaction(view.facts(str(metric)), str(group), a, b, factor.name, test)


def _interaction(a: pl.DataFrame, b: pl.DataFrame, levels: Sequence[str], *, paired: bool) -> Result:
    """The test of one metric on the case means of two systems at the levels.

    Args:
        a, b: a row for each case and level.
        levels: those that both systems have.
        paired: whether cases have names by which they pair.
    """
    from bedside.stats.interactions import between_cases, within_cases

    if not paired:
        return between_cases(*([_values(rows, level) for level in levels] for rows in (a, b)))
    both = a.join(b, on=["case", "level"]).filter(pl.col("level").is_in(list(levels)))
    differences = both.select("case", "level", (pl.col("value") - pl.col("value_right")).alias("difference"))
    columns = differences.pivot("level", index="case", values="difference") if both.height else both
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
    """Transcripts' values of systems that can be held against each other.

    Attributes:
        rows: values at levels of the factors that all systems have; on a case that they share, at levels that they
            share there. A case's levels weigh alike, however many transcripts each has.
        left_out: of each system, values to which another has no counterpart.
        by: the factors that they are matched by.
    """

    rows: pl.DataFrame
    left_out: tuple[int, ...]
    by: tuple[str, ...] = ()


def matched_rows(view: RatingsView, values: pl.DataFrame, *systems: str) -> MatchedRows:
    """The values of systems, without those at levels of a factor that another of them doesn't have.

    A difference of systems is one of systems only where they are taken in the same settings: the conditions that
    :func:`~bedside.ratings.study_design.matching` names are matched, first over all cases, then on each case that
    systems share. Of a factor of which these values share no level, each system is averaged over its own.

    Args:
        view: the ratings that the values are from.
        values: transcripts' values of one metric under one group of raters, in the columns of
            :meth:`~bedside.analysis.ratings_view.RatingsView.transcript_values`.
        systems: the systems, by name.

    Raises:
        DataError: it isn't known whether they are to be matched by a factor of many levels.
    """
    rows = values.filter(pl.col("system").is_in(systems))
    by = view.matching(systems).by
    if not by or view.factors is None:
        return MatchedRows(rows, (0,) * len(systems))
    columns = beside_values(by)
    placed = rows.join(
        view.factors.select("transcript_id", *columns.values()), on="transcript_id", how="left", maintain_order="left"
    )
    varying = list(columns) if view.part.match is not None else varying_factors(placed, list(columns))
    names = [name for name in varying if shares_level(placed, name, systems)]
    if not names:
        return MatchedRows(rows, (0,) * len(systems))
    matched = counterparts(placed, names, systems)
    left_out = tuple(
        placed.filter(pl.col("system") == system)["value"].count() - kept["value"].count()
        for system, kept in matched.items()
    )
    cell = [pl.col("system"), own_case()]
    of_case, of_cell = (pl.col("value").count().over(*cell, *levels) for levels in ([], names))
    levels = pl.struct(names).filter(pl.col("value").is_not_null()).n_unique().over(cell)
    weighed = pl.concat(matched.values()).with_columns(pl.col("value") * (of_case / (levels * of_cell)))
    matched_by = tuple(name.removeprefix(FACTOR_COLUMN) for name in names)
    return MatchedRows(weighed.select(rows.columns), left_out, matched_by)


# -- How many of the cases that are there enter a comparison of two systems -----------------------------

_NO_VALUE, _OTHER_SETTINGS, _NO_PARTNER = "no value", "other settings", "no partner"
#: The names of cases that each system has.
CasesThere = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class EnteredCases:
    """The cases of a comparison, and those that it leaves out by the first reason that holds.

    A case of both systems counts once in ``of`` where its values count as a pair, and once among those left out where
    all cases pair; else once for each.

    Attributes:
        of: cases that are there, rated or not.
        of_a, of_b: those of each system.
        no_value: left out since a system has no value there: it is missing, or nobody rated it.
        other_settings: left out since a system has no value in the settings of the other.
        no_partner: left out since the other system doesn't have the case.
    """

    of: int
    of_a: int
    of_b: int
    no_value: int
    other_settings: int
    no_partner: int

    @property
    def is_whole(self) -> bool:
        """Whether no case is left out."""
        return not (self.no_value or self.other_settings or self.no_partner)

    @property
    def why_not(self) -> str:
        """Why cases are left out, with the number of each; empty where all of these have no value."""
        reasons = ((self.no_value, _NO_VALUE), (self.other_settings, _OTHER_SETTINGS), (self.no_partner, _NO_PARTNER))
        if not (self.other_settings or self.no_partner):
            return ""
        return ", ".join(f"{count:,} {reason}" for count, reason in reasons if count)


def cases_there(transcripts: pl.DataFrame, values: pl.DataFrame) -> CasesThere:
    """The cases of each system, rated or not; a transcript without a case is one of its own.

    Args:
        transcripts: all of them, as :meth:`~bedside.analysis.ratings_view.RatingsView.transcripts` gives them.
        values: transcripts' values of one metric under one group of raters, which say their cases themselves.
    """
    unrated = transcripts.join(values, on="transcript_id", how="anti")
    return _by_system(pl.concat([rows.select("system", own_case()) for rows in (values, unrated)]))


def rated_cases(values: pl.DataFrame) -> CasesThere:
    """The cases of each system that have a value, of transcripts' values of one metric under one group of raters."""
    return _by_system(values.drop_nulls("value").select("system", own_case()))


def _by_system(cases: pl.DataFrame) -> CasesThere:
    by_system = cases.drop_nulls("system").unique().partition_by("system", as_dict=True)
    return {str(system): frozenset(part["case"]) for (system,), part in by_system.items()}


def planned_cases(view: RatingsView, planned: Collection[str]) -> dict[str, int]:
    """How many cases of each system people are to rate, by the transcripts that they are to."""
    rows = view.transcripts().filter(pl.col("transcript_id").is_in(list(planned)))
    cases = rows.select(pl.col("system").fill_null(ALL), own_case()).unique()
    return dict(cases.group_by("system").len().iter_rows())


def settled_ratings(
    view: RatingsView, metrics: Sequence[str], unfinished: Collection[str] | None
) -> tuple[RatingsView, int]:
    """The ratings without people's of cases whose values later answers change; and how many transcripts have some of
    people's by these metrics that wait for others.

    Args:
        view: the ratings.
        metrics: names of metrics.
        unfinished: transcripts of which a planned answer is open. Without a plan, None: nothing is left out then, and
            those are counted that fewer people rated than others.

    Raises:
        DataError: people have rated, and nothing is left of it.
    """
    people = view.ratings.filter(rated_by_humans(), pl.col("metric").is_in(list(metrics)), pl.col("error").is_null())
    if unfinished is None:
        raters = people.group_by("metric", "transcript_id", "unit").agg(pl.col("rater").n_unique())
        fewer = raters.filter(pl.col("rater") < pl.col("rater").max().over("metric"))
        return view, fewer["transcript_id"].n_unique()
    every = view.transcripts().with_columns(own_case())
    is_open = pl.col("transcript_id").is_in(list(unfinished))
    cases = every.join(every.filter(is_open), on=("system", "case"), how="semi", nulls_equal=True)
    waits = pl.col("transcript_id").is_in(cases["transcript_id"].implode())
    waiting = people.filter(waits)
    if waiting.height == people.height > 0:
        raise DataError(
            "no case has all of its planned answers yet", where=view.name, todo="look again later, or leave `looks` out"
        )
    return replace(view, ratings=view.ratings.filter(~(rated_by_humans() & waits))), waiting["transcript_id"].n_unique()


def entered_cases(
    every_case: CasesThere,
    rated: CasesThere,
    systems: tuple[str, str],
    *,
    matched: tuple[CaseValues, CaseValues],
    entered: tuple[Collection[str], Collection[str]],
    paired: bool,
    once: bool,
) -> EnteredCases:
    """What becomes of each case.

    Args:
        every_case: the cases of each system.
        rated: those that have a value of one metric under one group of raters, before settings were matched.
        systems: the two.
        matched: their values by case, in the settings of both.
        entered: their cases that entered.
        paired: whether all that enter are cases of both systems, which are then left out as one, too.
        once: whether a case of both systems counts once among all.
    """
    of_systems = [
        _Cases(
            every=every_case.get(system, frozenset()) | set(matched[side].cases),
            rated=rated.get(system, frozenset()),
            matched=frozenset(matched[side].cases),
        )
        for side, system in enumerate(systems)
    ]
    reasons: dict[object, str] = {}
    for side, own in enumerate(of_systems):
        for case in own.every - set(entered[side]):
            reasons[case if paired else (side, case)] = own.reason(case, of_systems[1 - side])
    sizes = [len(cases.every) for cases in of_systems]
    counts = Counter(reasons.values())
    return EnteredCases(
        of=len(of_systems[0].every | of_systems[1].every) if once else sum(sizes),
        of_a=sizes[0], of_b=sizes[1], no_value=counts[_NO_VALUE], other_settings=counts[_OTHER_SETTINGS],
        no_partner=counts[_NO_PARTNER],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Cases:
    """The cases of a system: all, those with a value, and those with one in the settings of the other."""

    every: frozenset[str]
    rated: frozenset[str]
    matched: frozenset[str]

    def reason(self, case: str, other: _Cases) -> str:
        """Why a case didn't enter; of a case of both systems the same from either side."""
        if case not in self.rated or (case in other.every and case not in other.rated):
            return _NO_VALUE
        if case not in self.matched or case in other.every:
            return _OTHER_SETTINGS
        return _NO_PARTNER
