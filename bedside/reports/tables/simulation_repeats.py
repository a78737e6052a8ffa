"""Spread between repeats of simulated conversations beside that between cases; the repeats that a difference needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.simulated_talks import PairRepeats, SystemSpread, simulated_spreads
from bedside.reports.number_text import ARROWS, DASH, cell_name, number, rater_words, several_raters
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Spread between repeats, and the repeats that a difference needs"
#: The test that the numbers are for.
LEVEL, POWER = 0.95, 0.8


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """Spread by metric and system, then what each pair of systems needs; None where nothing was repeated."""
    try:
        spreads, pairs = simulated_spreads(view)
    except NothingError:
        return None
    return spread_table(spreads, pairs)


def spread_table(spreads: Sequence[SystemSpread], pairs: Sequence[PairRepeats]) -> Table:
    """The table of spreads already computed."""
    doubled = several_raters({(spread.metric, spread.raters) for spread in spreads})
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    groups = dict.fromkeys((spread.metric, spread.raters) for spread in spreads)
    for key in groups:
        for spread in (each for each in spreads if (each.metric, each.raters) == key):
            rows.append(_row(spread, doubled, _spread_texts(spread), len(records)))
            records.append(_spread_record(spread, doubled))
        for pair in (each for each in pairs if (each.metric, each.raters) == key):
            rows.append(_row(pair, doubled, _pair_texts(pair), len(records)))
            records.append(_pair_record(pair, doubled))
    return Table(
        name="simulation_repeats",
        title=_TITLE,
        columns=(
            Column("System, or two", "left"), Column("Cases"), Column("Mean, or difference"), Column("SD of cases"),
            Column("SD of repeats"), Column("Share of repeats"), Column("Repeats needed"), Column("Or cases"),
        ),
        rows=tuple(rows),
        notes=_notes(pairs),
        records=tuple(records),
    )  # fmt: skip


def _row(of: SystemSpread | PairRepeats, doubled: frozenset[str], texts: Sequence[str], record: int) -> Row:
    by = f" ({rater_words(of.raters)})" if of.metric in doubled else ""
    cells = (Cell(texts[0]), *(Cell(text, record=record) for text in texts[1:]))
    return Row(cells, of.facts.title + ARROWS[of.facts.direction] + by)


def _spread_texts(of: SystemSpread) -> tuple[str, ...]:
    spread, digits = of.spread, of.facts.digits
    return (
        of.system,
        f"{spread.cases:,}",
        number(spread.mean, digits),
        _root(spread.between, digits),
        _root(spread.within, digits),
        DASH if spread.share is None else f"{spread.share:.0%}",
        "",
        "",
    )


def _pair_texts(of: PairRepeats) -> tuple[str, ...]:
    needed, digits = of.needed, of.facts.digits
    return (
        f"{of.a} − {of.b}",
        f"{needed.cases:,}",
        number(needed.difference, digits),
        _root(needed.between, digits),
        _root(needed.within, digits),
        "",
        needed.missing or DASH if needed.needed is None else f"{needed.needed:,}",
        DASH if needed.needed_cases is None else f"{needed.needed_cases:,}",
    )


def _root(variance: float | None, digits: int) -> str:
    return DASH if variance is None else number(variance**0.5, digits)


def _spread_record(of: SystemSpread, doubled: frozenset[str]) -> dict[str, Any]:
    spread = of.spread
    return {
        "cell": cell_name(of.metric, of.raters, doubled, of.system), "metric": of.metric, "raters": of.raters,
        "system": of.system, "cases": spread.cases, "n": spread.values, "mean": spread.mean,
        "variance_between_cases": spread.between, "variance_between_repeats": spread.within,
        "share_of_repeats": spread.share,
    }  # fmt: skip


def _pair_record(of: PairRepeats, doubled: frozenset[str]) -> dict[str, Any]:
    needed = of.needed
    return {
        "cell": cell_name(of.metric, of.raters, doubled, f"{of.a}/{of.b}"), "metric": of.metric, "raters": of.raters,
        "a": of.a, "b": of.b, "cases": needed.cases, "difference": needed.difference, "repeats": needed.repeats,
        "variance_between_cases": needed.between, "variance_between_repeats": needed.within,
        "repeats_needed": needed.needed, "cases_needed": needed.needed_cases, "missing": needed.missing,
    }  # fmt: skip


def _notes(pairs: Sequence[PairRepeats]) -> tuple[str, ...]:
    notes = [
        "SD of repeats: between repeats of one case, persona and setting with the same system. SD of cases: between "
        "cases, without what repeats add. Share of repeats: of the variance of single conversations. Components of the "
        "analysis of variance (Searle, Casella and McCulloch 1992). Conversations without a value count in nothing.",
    ]
    if pairs:
        notes.append(
            "Of two systems, SD of cases is that of their true difference, and SD of repeats that of both together. "
            f"Repeats needed: of each case, for a paired t test over these cases at {1 - LEVEL:.0%} to find a "
            f"difference as large as the one seen with a chance of {POWER:.0%} (Miller 2024, arXiv:2411.00640); or "
            "cases, with as many repeats as there are. The difference is taken as it was seen: the true one may be "
            "smaller, and then more are needed. Where cases differ too much, no number of repeats will do."
        )
    return tuple(notes)


TABLE = TableKind("simulation_repeats", _TITLE, 73, build, heading="Simulation: repeats", shown="always")
