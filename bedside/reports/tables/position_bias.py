"""Position bias: whether the one shown first is preferred, and whether verdicts stay the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.pair_preferences import PositionBias
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.number_text import DASH, bounded_record, p_value, rater_words, share_words
from bedside.reports.preference_notes import heading, preferences_of, record_head
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Preferences: whether the place counts"


def position_table(shown: Sequence[PositionBias]) -> Table:
    """The table of position biases already analysed."""
    return Table(
        name="position_bias",
        title=_TITLE,
        columns=(
            Column("Raters", "left"), Column("Comparisons"), Column("Ties"), Column("First won [95 % CI]"), Column("p"),
            Column("Pairs in both orders"), Column("Same verdict [95 % CI]"), Column("Reversed [95 % CI]"),
            Column("to first, second"), Column("Same in two passes [95 % CI]"),
        ),
        rows=tuple(
            Row(tuple(_cells(bias, record)), bias.facts.title) for record, bias in enumerate(shown)
        ),
        notes=tuple(_notes(shown)),
        records=tuple(map(_record, shown)),
    )  # fmt: skip


def _cells(bias: PositionBias, record: int) -> Iterator[Cell]:
    orders = bias.orders
    yield Cell(rater_words(bias.raters))
    for text in (
        f"{bias.comparisons:,}",
        f"{bias.ties:,}",
        share_words(bias.first),
        p_value(bias.first.p),
        f"{orders.same.n:,}" if orders else DASH,
        share_words(orders.same if orders else None),
        share_words(orders.reversed if orders else None),
        f"{orders.to_first:,}, {orders.to_second:,}" if orders else DASH,
        share_words(bias.passes),
    ):
        yield Cell(text, record=record)


def _record(bias: PositionBias) -> Mapping[str, Any]:
    orders = bias.orders
    return {
        **record_head(bias.facts, bias.raters),
        "cell": f"{bias.metric}@{bias.raters}",
        "comparisons": bias.comparisons,
        "ties": bias.ties,
        **bounded_record("first", bias.first),
        "p": bias.first.p,
        "balanced": bias.balanced,
        "one_order": bias.one_order,
        "both_orders": orders.same.n if orders else 0,
        **bounded_record("same", orders.same if orders else None),
        **bounded_record("reversed", orders.reversed if orders else None),
        "to_first": orders.to_first if orders else None,
        "to_second": orders.to_second if orders else None,
        "with_tie": orders.with_tie if orders else None,
        **bounded_record("same_in_passes", bias.passes),
        "method": bias.first.method,
        "missing": bias.first.missing,
    }


def _notes(shown: Sequence[PositionBias]) -> Iterator[str]:
    yield (
        "First won: of the comparisons with a winner, the share that the conversation shown first won; .5 where the "
        "place doesn't count. Same verdict: of the pairs asked in both orders (by each rater, in each pass), the share "
        "with the same winner, or a tie, in both; Reversed: the share in which the other one won when the order "
        "changed, and how many of them went to the one shown first each time, and to the second. The rest had a tie in "
        "one order. Same in two passes: the same order asked again; verdicts that change there too change without any "
        "help of the order. All intervals are over cases."
    )
    for method in dict.fromkeys(bias.first.method.partition("; ")[2] for bias in shown if bias.first.p is not None):
        yield f"p: {method.replace('cluster', 'case')}."
    for bias in shown:
        if not bias.balanced:
            yield (
                f"{heading(bias.facts, bias.raters)}: most pairs were shown in one order, and First won is of all of "
                "them: it speaks of the place only if chance chose which one stood first."
            )
        elif bias.one_order:
            yield (
                f"{heading(bias.facts, bias.raters)}: First won leaves out {counted(bias.one_order, 'pair')} that "
                "were shown in one order only."
            )


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = preferences_of(view, seed)
    return position_table([preferences.position for preferences in shown]) if shown else None


TABLE = TableKind("position_bias", _TITLE, 24, _build)
