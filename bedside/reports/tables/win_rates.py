"""Win rates: systems two by two, when their conversations are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.pair_preferences import PairVerdicts, SystemPreferences
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.number_text import DASH, bounded_record, decimal, p_value, share_words
from bedside.reports.preference_notes import (
    heading,
    left_out_words,
    preferences_of,
    record_head,
    with_preference_notes,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import BY_WHERE, BY_WITHIN

_TITLE = "Preferences: systems two by two"


def win_rate_table(shown: Sequence[SystemPreferences], view: RatingsView, levels: str = BY_WITHIN) -> Table:
    """The table of preferences already analysed.

    Args:
        shown: the preferences.
        view: the ratings they are of.
        levels: what shows the levels of a factor one by one.
    """
    blocks = [(preferences, pair) for preferences in shown for pair in preferences.pairs]
    table = Table(
        name="win_rates",
        title=_TITLE,
        columns=(
            Column("Systems", "left"), Column("Cases"), Column("First better"), Column("Second better"),
            Column("Tie"), Column("Depends on order"), Column("First's share of wins [95 % CI]"),
            Column("By strengths"), Column("p"), Column("p corrected"),
        ),
        rows=tuple(
            Row(tuple(_cells(pair, record)), heading(preferences.facts, preferences.raters))
            for record, (preferences, pair) in enumerate(blocks)
        ),
        notes=tuple(_notes(shown)),
        records=tuple(_record(preferences, pair) for preferences, pair in blocks),
    )  # fmt: skip
    systems = sorted({system.system for preferences in shown for system in preferences.systems})
    return with_preference_notes(table, view, systems, levels)


def _cells(pair: PairVerdicts, record: int) -> Iterator[Cell]:
    yield Cell(f"{pair.a} beside {pair.b}")
    numbers = (pair.cases, pair.better, pair.worse, pair.ties, pair.unsettled)
    for text in (
        *(f"{number:,}" if pair.cases else DASH for number in numbers),
        share_words(pair.wins),
        decimal(pair.expected),
        p_value(pair.difference.p),
        p_value(pair.difference.p_adjusted),
    ):
        yield Cell(text, record=record)


def _record(preferences: SystemPreferences, pair: PairVerdicts) -> Mapping[str, Any]:
    return {
        **record_head(preferences.facts, preferences.raters),
        "cell": f"{preferences.metric}@{preferences.raters}/{pair.a}-{pair.b}",
        "a": pair.a,
        "b": pair.b,
        "verdicts": pair.conversations,
        "cases": pair.cases,
        "better": pair.better,
        "worse": pair.worse,
        "ties": pair.ties,
        "depends_on_order": pair.unsettled,
        "one_order": pair.one_order,
        **bounded_record("wins", pair.wins),
        "interval": pair.wins.interval.method if pair.wins.interval else None,
        "expected": pair.expected,
        **bounded_record("difference", pair.difference),
        "statistic": pair.difference.statistic,
        "p": pair.difference.p,
        "p_corrected": pair.difference.p_adjusted,
        "correction": pair.difference.correction,
        "family_size": pair.difference.family_size,
        "method": pair.difference.method,
        "missing": pair.difference.missing,
    }


def _notes(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    yield (
        "First and Second are the systems of the row, whichever was shown first. Better, Tie: verdicts on two "
        "conversations (of each person) that are the same in every order that was asked, over all passes of it; "
        "Depends on order: those that aren't. Share of wins: a tie is half a win for each, cases count once and both "
        "orders the same; its interval is over cases and stays within 0 and 1. By strengths: the share that Bradley "
        "and Terry's model expects; one far from the share of wins says that no single strength describes the systems."
    )
    tested = [pair.difference for own in shown for pair in own.pairs if pair.difference.p is not None]
    for method in dict.fromkeys(result.method.rpartition("; ")[2] for result in tested):
        sizes = sorted({result.family_size or 0 for result in tested})
        yield (
            f"p: {method}; it takes up what the comparisons with other systems say of the two. Corrected by Holm over "
            f"the pairs of a block ({' or '.join(map(str, sizes))})."
        )
    if any(pair.difference.p is None and pair.cases for own in shown for pair in own.pairs):
        yield f"{DASH} p: under equal strengths nothing is left that could differ."
    one_order = sum(pair.one_order for preferences in shown for pair in preferences.pairs)
    every = sum(pair.conversations for preferences in shown for pair in preferences.pairs)
    if one_order:
        yield (
            f"{one_order:,} of {every:,} verdicts rest on one order, so that the place is in them; it is not in the "
            "strengths and p."
        )
    yield from left_out_words(shown)


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = preferences_of(view, seed)
    return win_rate_table(shown, view, BY_WHERE) if shown else None


TABLE = TableKind("win_rates", _TITLE, 23, _build)
