"""How many of the cases that are there enter a comparison of two systems, and why the others don't."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from bedside.analysis.case_values import CaseValues, own_case

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
        reasons = (
            (self.no_value, _NO_VALUE),
            (self.other_settings, _OTHER_SETTINGS),
            (self.no_partner, _NO_PARTNER),
        )
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
    cases = pl.concat([rows.select("system", own_case()) for rows in (values, unrated)])
    by_system = cases.drop_nulls("system").unique().partition_by("system", as_dict=True)
    return {str(system): frozenset(part["case"]) for (system,), part in by_system.items()}


def entered_cases(
    every_case: CasesThere,
    values: pl.DataFrame,
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
        values: transcripts' values of one metric under one group of raters, before settings were matched.
        systems: the two.
        matched: their values by case, in the settings of both.
        entered: their cases that entered.
        paired: whether all that enter are cases of both systems, which are then left out as one, too.
        once: whether a case of both systems counts once among all.
    """
    rated = values.drop_nulls("value").select("system", own_case())
    of_systems = [
        _Cases(
            every=every_case.get(system, frozenset()) | set(matched[side].cases),
            rated=frozenset(rated.filter(pl.col("system") == system)["case"]),
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
