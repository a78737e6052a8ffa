"""Drift: percentage change from the shortest to the longest length condition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from bedside.analysis.drift import Change, Drift, MeanChange, drift
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.reports.absence import absent_notes
from bedside.reports.cell_names import cell_name, rater_words, several_raters
from bedside.reports.measures import Headed, matching
from bedside.reports.number_text import DASH, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind

_MEANS = "mean of absolute changes"


class DriftOptions(Options):
    """What a table of drift follows.

    Attributes:
        by: the factor that holds the length condition.
        lengths: the two conditions; the least and the greatest unless given.
        metrics: those that say something of quality unless named.
    """

    by: str = "target_length"
    lengths: tuple[float, float] | None = None
    metrics: Headed = Field(default_factory=dict)


def drift_table(found: Drift) -> Table:
    """The table of drift already computed."""
    doubled = several_raters({(one.metric, one.raters) for one in found.changes})
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    for one in found.changes:
        by = f" ({rater_words(one.raters)})" if one.metric in doubled else ""
        first, *others = _cells(one, one.facts.digits)
        cells = (Cell(first), *(Cell(text, record=len(records)) for text in others))
        rows.append(Row(cells, one.facts.title + by))
        records.append(_record(found, one, doubled))
    kinds = several_raters({(_MEANS, one.raters) for one in found.means})
    for mean in found.means:
        rows.append(Row(_mean_cells(mean, len(records), found), _MEANS.capitalize()))
        records.append({**dict.fromkeys(records[0]), **_mean_record(found, mean, kinds)})
    return Table(
        name="drift",
        title=f"Change from {found.by} {found.shortest:g} to {found.longest:g}",
        columns=(
            Column("System", "left"), Column("n"), Column(f"Mean at {found.shortest:g}"),
            Column(f"Mean at {found.longest:g}"), Column("Change, %"), Column("95 % CI"),
        ),
        rows=tuple(rows),
        notes=_notes(found),
        records=tuple(records),
    )  # fmt: skip


def signed(value: float | None, digits: int) -> str:
    """A number as printed, with a plus sign where it is above zero."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def _cells(one: Change, digits: int) -> tuple[str, ...]:
    change = one.change
    interval = change.interval
    return (
        one.system,
        str(change.n),
        number(change.details.get("mean before"), digits),
        number(change.details.get("mean after"), digits),
        signed(change.estimate, 2),
        f"[{signed(interval.low, 2)}, {signed(interval.high, 2)}]" if interval else DASH,
    )


def _mean_cells(mean: MeanChange, position: int, found: Drift) -> tuple[Cell, ...]:
    kinds = {each.raters for each in found.means}
    by = f" ({mean.raters.removeprefix('judge:')})" if len(kinds) > 1 else ""
    metrics = f"{mean.n} metric{'' if mean.n == 1 else 's'}"
    texts = (metrics, DASH, DASH, number(mean.mean, 2), DASH)
    return (Cell(mean.system + by), *(Cell(text, record=position) for text in texts))


def _notes(found: Drift) -> tuple[str, ...]:
    notes = [
        f"Change: of the mean at {found.by} {found.longest:g} over the mean at {found.shortest:g}, in per cent of the "
        f"latter. n: cases with a value at both, over which both means are taken.",
    ]
    notes += [f"Interval: {method}." for method in dict.fromkeys(
        one.change.interval.method for one in found.changes if one.change.interval)]  # fmt: skip
    fewer = sum(any("undefined on" in remark for remark in one.change.remarks) for one in found.changes)
    if fewer:
        notes.append(
            f"{fewer} interval{'' if fewer == 1 else 's'}: some resamples have no mean above zero to take per "
            "cent of and are left out; the CSV says how many."
        )
    if found.between:
        listed = ", ".join(f"{length:g}" for length in found.between)
        notes.append(f"Lengths between are left out: {listed}.")
    alone = sum(one.alone_shortest + one.alone_longest for one in found.changes)
    if alone:
        notes.append(
            f"{alone} values had no partner at the other length and were left out; the CSV counts them."
        )
    if found.without:
        notes.append(f"{found.without} transcripts have no {found.by} and were left out.")
    for reason in dict.fromkeys(one.change.missing for one in found.changes if one.change.missing):
        count = sum(one.change.missing == reason for one in found.changes)
        notes.append(f"{DASH} {count} time{'' if count == 1 else 's'}: {reason}.")
    return tuple(notes)


def _record(found: Drift, one: Change, several: Collection[str]) -> Mapping[str, Any]:
    change = one.change
    return {
        "cell": cell_name(one.metric, one.raters, several, one.system),
        "metric": one.metric,
        "raters": one.raters,
        "system": one.system,
        "by": found.by,
        "shortest": found.shortest,
        "longest": found.longest,
        "n": change.n,
        "alone_shortest": one.alone_shortest,
        "alone_longest": one.alone_longest,
        "mean_shortest": change.details.get("mean before"),
        "mean_longest": change.details.get("mean after"),
        "change_percent": change.estimate,
        "low": change.interval.low if change.interval else None,
        "high": change.interval.high if change.interval else None,
        "method": change.interval.method if change.interval else change.method,
        "remarks": "; ".join(change.remarks),
        "missing": change.missing,
    }


def _mean_record(found: Drift, mean: MeanChange, several: Collection[str]) -> Mapping[str, Any]:
    return {
        "cell": cell_name(_MEANS, mean.raters, several, mean.system),
        "metric": _MEANS,
        "raters": mean.raters,
        "system": mean.system,
        "by": found.by,
        "shortest": found.shortest,
        "longest": found.longest,
        "n": mean.n,
        "change_percent": mean.mean,
        "method": "mean over metrics of the absolute change in per cent",
        "missing": f"{mean.undefined} changes are undefined" if mean.undefined else None,
    }


def build(view: RatingsView, seed: int, options: DriftOptions) -> Table | None:
    """The drift of the metrics wanted; None where the factor, two lengths or cases with both are lacking."""
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    names = [name for metric in wanted for name in matching(view, metric)]
    if wanted and not names:
        return None
    try:
        found = drift(view, options.by, lengths=options.lengths, metrics=names or None, seed=seed)
    except NothingError:
        return None
    if not any(one.change.n for one in found.changes):
        return None
    table = drift_table(found)
    absent = absent_notes(metric for metric in wanted if not matching(view, metric))
    return replace(
        table,
        name=options.id or table.name,
        title=options.title or table.title,
        notes=(*table.notes, *absent),
    )


TABLE = TableKind("drift", "Change from the shortest to the longest condition", 30, build, DriftOptions)
