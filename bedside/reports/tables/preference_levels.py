"""Preferences beside levels: whether two ways of asking the same raters say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.pair_preferences import PreferenceLevels
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.number_text import bounded_record, decimal, rater_words, share_words
from bedside.reports.preference_notes import heading, levels_of, record_head
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Preferences beside levels"


def preference_level_table(shown: Sequence[PreferenceLevels]) -> Table:
    """The table of what is already computed."""
    return Table(
        name="preference_levels",
        title=_TITLE,
        columns=(
            Column("Raters", "left"), Column("Pairs"), Column("Cases"), Column("Better level preferred [95 % CI]"),
            Column("Equal levels"), Column("No preference"), Column("Neither"), Column("τ of systems"),
        ),
        rows=tuple(
            Row(tuple(_cells(beside, record)), beside.facts.title) for record, beside in enumerate(shown)
        ),
        notes=tuple(_notes(shown)),
        records=tuple(map(_record, shown)),
    )  # fmt: skip


def _cells(beside: PreferenceLevels, record: int) -> Iterator[Cell]:
    yield Cell(rater_words(beside.raters))
    for text in (
        f"{beside.pairs:,}",
        f"{beside.cases:,}",
        share_words(beside.agreeing),
        f"{beside.level_ties:,}",
        f"{beside.verdict_ties:,}",
        f"{beside.both_ties:,}",
        decimal(beside.correlation),
    ):
        yield Cell(text, record=record)


def _record(beside: PreferenceLevels) -> Mapping[str, Any]:
    return {
        **record_head(beside.facts, beside.raters),
        "cell": f"{beside.metric}@{beside.raters}",
        "pairs": beside.pairs,
        "cases": beside.cases,
        **bounded_record("agreeing", beside.agreeing),
        "decided": beside.agreeing.n,
        "equal_levels": beside.level_ties,
        "no_preference": beside.verdict_ties,
        "neither": beside.both_ties,
        "tau": beside.correlation,
        "means": "; ".join(f"{system} {mean:.4f}" for system, mean in beside.means.items()),
        "turned": "; ".join(f"{a} over {b}" for a, b in beside.turned),
    }


def _notes(shown: Sequence[PreferenceLevels]) -> Iterator[str]:
    yield (
        "Pairs of conversations that the same raters compared and gave levels by the same rubric. Better level "
        "preferred: of the pairs with a preference and different levels, the share in which the preferred one has the "
        "better level; its interval is over cases. Equal levels: a preference all the same, which a finer look or the "
        "place may give. No preference: a tie, or a verdict that depends on the order, although levels differ. τ: "
        "Kendall's, of the systems' strengths and mean levels, where there are three or more."
    )
    for beside in shown:
        for a, b in beside.turned:
            yield (
                f"{heading(beside.facts, beside.raters)}: {a} is preferred to {b} by strength, and has the worse mean "
                f"level ({decimal(beside.means[a])} beside {decimal(beside.means[b])})."
            )


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = levels_of(view, seed)
    return preference_level_table(shown) if shown else None


TABLE = TableKind("preference_levels", _TITLE, 26, _build)
