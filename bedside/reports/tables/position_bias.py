"""Position bias: whether the one shown first is preferred, and whether verdicts stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bedside.analysis.pair_preferences import PositionBias
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.columns import recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, p_value, rater_words, share_words
from bedside.reports.preference_notes import PREFERENCE_RECORD, heading, preferences_of
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.reports.table_kind import TableKind

_TITLE = "Preferences: whether the place counts"


def _of_orders(name: str) -> Callable[[PositionBias], Any]:
    """What there is of pairs asked in both orders."""
    return lambda bias: getattr(bias.orders, name) if bias.orders else None


COLUMNS = (
    PREFERENCE_RECORD,
    recorded(cell=lambda bias: f"{bias.metric}@{bias.raters}"),
    Column("Raters", "left", text=lambda bias: rater_words(bias.raters)),
    Column("Comparisons", field="comparisons"),
    Column("Ties", field="ties"),
    Column("First won [95 % CI]", field="first", form=share_words),
    Column("p", field="p", value="first.p", form=p_value),
    recorded("balanced", "one_order"),
    Column("Pairs in both orders", field="both_orders", value=lambda bias: bias.orders.same.n if bias.orders else 0,
           text=lambda bias: f"{bias.orders.same.n:,}" if bias.orders else DASH),
    Column("Same verdict [95 % CI]", field="same", value=_of_orders("same"), form=share_words),
    Column("Reversed [95 % CI]", field="reversed", value=_of_orders("reversed"), form=share_words),
    Column("to first, second",
           text=lambda bias: f"{bias.orders.to_first:,}, {bias.orders.to_second:,}" if bias.orders else DASH),
    recorded(**{name: _of_orders(name) for name in ("to_first", "to_second", "with_tie")}),
    Column("Same in two passes [95 % CI]", field="same_in_passes", value="passes", form=share_words),
    recorded(method="first.method", missing="first.missing"),
)  # fmt: skip
MEANING = Note(
    "position bias.meaning",
    "First won: of the comparisons with a winner, the share that the conversation shown first won; .5 where the place "
    "doesn't count. Same verdict: of the pairs asked in both orders in one pass, the share with the "
    "same winner, or a tie, in both. Reversed: the share in which the other one won when the order changed. Beside it "
    "stands how many went to the one shown first each time, and to the second. The rest had a tie in one order. Same "
    "in two passes: the same order asked again; verdicts that change there change without another order. All "
    "intervals are over cases.",
)


@note("position bias.p", "p")
def tests(shown: Sequence[PositionBias]) -> Iterator[str]:
    """How p came to be."""
    for method in dict.fromkeys(bias.first.method.partition("; ")[2] for bias in shown if bias.first.p is not None):
        yield f"p: {method.replace('cluster', 'case')}."


@note("position bias.orders", "First won [95 % CI]")
def orders(shown: Sequence[PositionBias]) -> Iterator[str]:
    """What it means that pairs were shown in one order."""
    for bias in shown:
        if not bias.balanced:
            yield (
                f"{heading(bias.facts, bias.raters)}: most pairs were shown in one order, and First won is of all. "
                "It speaks of the place only if chance chose which one stood first."
            )
        elif bias.one_order:
            yield (
                f"{heading(bias.facts, bias.raters)}: First won leaves out {counted(bias.one_order, 'pair')} that "
                "were shown in one order only."
            )


def position_table(shown: Sequence[PositionBias]) -> Table:
    """The table of position biases already analysed."""
    return table_of("position_bias", _TITLE, shown, COLUMNS, group=lambda bias: bias.facts.title,
                    notes=(MEANING, tests, orders))  # fmt: skip


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = preferences_of(view, seed)
    return position_table([preferences.position for preferences in shown]) if shown else None


TABLE = TableKind("position_bias", _TITLE, 24, _build, heading="Preferences: the place", shown="always", averages=False)
