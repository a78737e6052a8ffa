"""How far each mean could move, were all that is missing worst or best."""

from __future__ import annotations

from typing import Any

from bedside.analysis.missing_bounds import BoundedMeans, MissingBounds, SystemBounds, missing_bounds
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.number_text import ARROWS, DASH, cell_name, number, rater_words, several_raters
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Means with their bounds; None where nothing with a known scale is missing."""
    bounded = missing_bounds(view)
    if not bounded.metrics:
        return None
    doubled = several_raters({(bounds.metric, bounds.raters) for bounds in bounded.metrics})
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for bounds in bounded.metrics:
        by = f" ({rater_words(bounds.raters)})" if bounds.metric in doubled else ""
        for system in bounds.systems:
            texts = _texts(bounds, system)
            cells = [Cell(texts[0]), *(Cell(text, record=len(records)) for text in texts[1:])]
            rows.append(Row(tuple(cells), bounds.facts.title + ARROWS[bounds.facts.direction] + by))
            name = cell_name(bounds.metric, bounds.raters, doubled, system.system)
            records.append({"cell": name, **_record(bounds, system)})
    return Table(
        name="missing_bounds",
        title="Means were all that is missing worst, or all best",
        columns=(
            Column("System", "left"), Column("Mean"), Column("Missing"), Column("All worst"), Column("All best"),
            Column("Could change places with", "left"),
        ),
        rows=tuple(rows),
        notes=_notes(view, bounded),
        records=tuple(records),
    )  # fmt: skip


def _ends(bounds: MissingBounds, system: SystemBounds) -> tuple[float, float]:
    """The mean were all that is missing worst, and were it best; lowest and highest where neither is better."""
    ends = (system.lowest, system.highest)
    return ends[::-1] if bounds.facts.direction == "lower" else ends


def _texts(bounds: MissingBounds, system: SystemBounds) -> tuple[str, ...]:
    digits = bounds.facts.digits
    missing = f"{number(100 * system.share_missing, 1)} % ({system.missing:,}/{system.ratings:,})"
    return (
        system.system,
        number(system.mean, digits),
        missing if system.missing else "0",
        *(number(end, digits) for end in _ends(bounds, system)),
        ", ".join(system.swaps) or ("none" if len(bounds.systems) > 1 else DASH),
    )


def _record(bounds: MissingBounds, system: SystemBounds) -> dict[str, Any]:
    worst, best = _ends(bounds, system)
    return {
        "metric": bounds.metric, "raters": bounds.raters, "system": system.system, "mean": system.mean,
        "ratings": system.ratings, "missing": system.missing, "share_missing": system.share_missing, "worst": worst,
        "best": best, "scale_low": bounds.low, "scale_high": bounds.high, "direction": bounds.facts.direction,
        "could_change_places_with": ", ".join(system.swaps),
    }  # fmt: skip


def _notes(view: RatingsView, bounded: BoundedMeans) -> tuple[str, ...]:
    notes = [
        "Mean: over what is there, as in the results. All worst, all best: each missing rating at that end of its "
        "scale (Manski's bounds). Nothing is assumed on why it is missing; chance of the sample comes on top.",
        "Could change places: some values of what is missing would turn the order of the two means round.",
        "A value that doesn't exist, such as a share of nothing, counts as missing here: the reasons stand in the "
        "table of missing values.",
    ]
    undirected = dict.fromkeys(bounds.facts.title for bounds in bounded.metrics if bounds.facts.direction == "none")
    if undirected:
        notes.append(f"Neither end is better, so that worst is lowest and best highest: {', '.join(undirected)}.")
    systems = [system for bounds in bounded.metrics for system in bounds.systems]
    if any(system.mean is None for system in systems):
        notes.append(f"{DASH}: no value is there that a mean could be taken of.")
    if any(len(bounds.systems) < 2 for bounds in bounded.metrics):
        notes.append(f"{DASH}: there is no other system to change places with.")
    if bounded.without_ends:
        titles = dict.fromkeys(view.facts(name).title for name in bounded.without_ends)
        notes.append(f"Without bounds, as an end of the scale is open or not known: {', '.join(titles)}.")
    return tuple(notes)


TABLE = TableKind(
    "missing_bounds",
    "Means were all that is missing worst, or all best",
    91,
    build,
    heading="How far what is missing could move the means",
    shown="always",
)
