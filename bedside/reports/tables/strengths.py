"""Strengths: systems by how they fare when two conversations are compared, with the place taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.leaderboard import ALPHA
from bedside.analysis.pair_preferences import SystemPreferences, SystemStrength
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.number_text import bounded_record, decimal, plain_words, share_words
from bedside.reports.preference_notes import (
    heading,
    left_out_words,
    preferences_of,
    reasons,
    record_head,
    with_preference_notes,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import BY_WHERE, BY_WITHIN

_TITLE = "Preferences: how strong each system is"


def strength_table(shown: Sequence[SystemPreferences], view: RatingsView, levels: str = BY_WITHIN) -> Table:
    """The table of preferences already analysed.

    Args:
        shown: the preferences.
        view: the ratings they are of.
        levels: what shows the levels of a factor one by one.
    """
    blocks = [(preferences, system) for preferences in shown for system in preferences.systems]
    table = Table(
        name="strengths",
        title=_TITLE,
        columns=(
            Column("System", "left"), Column("Strength [95 % CI]"), Column("Preferred to the mean [95 % CI]"),
            Column("Share of wins [95 % CI]"), Column("Rank"), Column("Cases"),
        ),
        rows=tuple(
            Row(tuple(_cells(preferences, system, record)), heading(preferences.facts, preferences.raters))
            for record, (preferences, system) in enumerate(blocks)
        ),
        notes=tuple(_notes(shown)),
        records=tuple(_record(preferences, system) for preferences, system in blocks),
    )  # fmt: skip
    return with_preference_notes(table, view, sorted({system.system for _, system in blocks}), levels)


def _cells(preferences: SystemPreferences, system: SystemStrength, record: int) -> Iterator[Cell]:
    low, high = system.ranks
    yield Cell(system.system)
    yield Cell(plain_words(system.strength), marks=system.letters, record=record)
    yield Cell(share_words(system.chance), record=record)
    yield Cell(share_words(system.wins), record=record)
    yield Cell(str(low) if low == high else f"{low}–{high}")
    yield Cell(f"{preferences.cases:,}")


def _record(preferences: SystemPreferences, system: SystemStrength) -> Mapping[str, Any]:
    return {
        **record_head(preferences.facts, preferences.raters),
        "cell": f"{preferences.metric}@{preferences.raters}/{system.system}",
        "system": system.system,
        **bounded_record("strength", system.strength),
        **bounded_record("chance", system.chance),
        **bounded_record("wins", system.wins),
        "letters": system.letters,
        "best_rank": system.ranks[0],
        "worst_rank": system.ranks[1],
        "cases": preferences.cases,
        "comparisons": preferences.comparisons,
        **bounded_record("position_effect", preferences.position_effect),
        "method": system.strength.method,
        "interval": system.strength.interval.method if system.strength.interval else None,
        "missing": system.strength.missing,
    }


def _notes(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    yield (
        "Strength: the log-odds of Bradley and Terry's model, with a tie as half a win for each; within a block they "
        "sum to 0. Preferred to the mean: the chance to be preferred to a system of mean strength if the place didn't "
        "count. Share of wins: of all comparisons of the system, each case counting once and both orders the same. "
        "Intervals are of a jackknife over cases, with all comparisons on a case together."
    )
    tests = list(
        dict.fromkeys(
            pair.difference.method.rpartition("; ")[2]
            for preferences in shown
            for pair in preferences.pairs
            if pair.difference.p is not None
        )
    )
    if tests:
        yield (
            f"Letters: two systems that share one can't be told apart ({'; '.join(tests)}; p corrected by Holm over "
            f"the pairs of a block, below {decimal(ALPHA)}). Rank: the best and the worst place that these tests leave "
            "open."
        )
    yield from _position_words(shown)
    for preferences in shown:
        for remark in preferences.remarks:
            yield f"{heading(preferences.facts, preferences.raters)}: {remark}."
        results = [system.strength for system in preferences.systems]
        for reason in reasons(results):
            yield f"{heading(preferences.facts, preferences.raters)}: {reason}"
        placed = [system.system for system in preferences.systems if system.strength.estimate is not None]
        if placed and len(placed) < len(results):
            yield (
                f"{heading(preferences.facts, preferences.raters)}: the strengths are those of {', '.join(placed)} "
                "among themselves."
            )
    yield from left_out_words(shown)


def _position_words(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    """How much the place would shift a comparison of equals."""
    from scipy.special import expit

    words = []
    for preferences in shown:
        effect = preferences.position_effect
        if effect is None or effect.estimate is None:
            continue
        ends = (
            ""
            if effect.interval is None
            else f" [{decimal(float(expit(effect.interval.low)))}, {decimal(float(expit(effect.interval.high)))}]"
        )
        own = heading(preferences.facts, preferences.raters)
        words.append(f"{own} {decimal(float(expit(effect.estimate)))}{ends}")
    if words:
        yield (
            "The place has a term of its own, and so isn't in the strengths. Of two equals, the one shown first has "
            f"this share of the wins: {'; '.join(words)}."
        )


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = preferences_of(view, seed)
    return strength_table(shown, view, BY_WHERE) if shown else None


TABLE = TableKind("strengths", _TITLE, 22, _build)
