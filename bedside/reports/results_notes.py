"""The notes below a table of results: what its numbers and marks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bedside.reports.absent_metrics import absent_notes
from bedside.reports.results_deviations import ResultsDeviations
from bedside.reports.results_layout import Key, ResultsLayout
from bedside.reports.results_options import SYSTEM
from bedside.reports.samples import MeasuredRows
from bedside.reports.system_tests import SystemTests
from bedside.reports.table_content import Cell, Row


def results_notes(
    layout: ResultsLayout,
    rows: Sequence[Row],
    *,
    usual_counts: Mapping[Key, int],
    measured: MeasuredRows,
    tests: SystemTests,
    deviations: ResultsDeviations | None,
) -> tuple[str, ...]:
    """Every note that applies to the rows as they are printed."""
    cells = [cell for row in rows for cell in row.cells[1:]]
    return (
        *_count_notes(layout, usual_counts, cells),
        *_ratio_notes(layout),
        *_best_notes(layout, cells),
        *_interval_notes(layout),
        *_people_notes(layout),
        *tests.notes(),
        *_deviation_notes(layout, deviations),
        *(f"Warning: {warning} ({of})." for warning, of in measured.warnings.items()),
        *_empty_notes(measured),
        *absent_notes(measured.absent),
    )


def _count_notes(layout: ResultsLayout, usual_counts: Mapping[Key, int], cells: Sequence[Cell]) -> list[str]:
    notes = []
    if layout.metrics_in_rows:
        notes.append(_n_note(layout, usual_counts))
    elif any(" n=" in cell.text for cell in cells):
        notes.append("n: transcripts with a value; a cell that rests on fewer says so.")
    if any("/" in cell.text.partition(" n=")[2] for cell in cells):
        notes.append(
            "n=3/4: three of four have a value; the table of missing values says why not the others."
        )
    return notes


def _n_note(layout: ResultsLayout, usual_counts: Mapping[Key, int]) -> str:
    counts = set(usual_counts.values())
    columns = layout.options.columns
    if len(counts) > 1:
        listed = ", ".join(
            f"{' · '.join(layout.value_title(*pair) for pair in zip(columns, key, strict=True))} {n:,}"
            for key, n in usual_counts.items()
        )
        return f"n, transcripts: {listed}, unless a cell says otherwise."
    by_column = ""
    if len(usual_counts) > 1:
        by_column = " a system" if columns == (SYSTEM,) else " a column"
    return f"n = {next(iter(counts), 0):,} transcripts{by_column} unless a cell says otherwise."


def _ratio_notes(layout: ResultsLayout) -> list[str]:
    if not any(item.level == "micro" for item in layout.items):
        return []
    tested = (
        ", beside the mean of the transcripts' own values (case-level), which is what tests compare."
        if layout.options.case_level
        else "; tests compare the transcripts' own values."
    )
    return [f"Micro: sums over transcripts divided by one another{tested}"]


def _best_notes(layout: ResultsLayout, cells: Sequence[Cell]) -> list[str]:
    best = layout.options.best
    if any(cell.bold for cell in cells):
        rule = {
            "interval": "Bold: the best, and what the 95 % t interval of the difference can't tell from it",
            "always": "Bold: the best, with no regard to chance",
        }[best]
        second = "; underlined: the next" if any(cell.underline for cell in cells) else ""
        return [f"{rule}{second}. ↑ higher is better, ↓ lower is."]
    directed = any(item.direction != "none" for item in layout.items)
    if best == "interval" and directed and layout.has_several_systems:
        return [
            "Nothing is bold: no 95 % interval of a difference leaves out 0. ↑ higher is better, ↓ lower is."
        ]
    return []


def _interval_notes(layout: ResultsLayout) -> list[str]:
    if layout.options.spread != "ci":
        return []
    binary = any(
        item.level == "mean" and _is_binary(layout, position) for position, item in enumerate(layout.items)
    )
    clustered = not all(sample.is_single for sample in layout.samples.values())
    over = "cases, whose transcripts are not independent" if clustered else "transcripts"
    return [f"Intervals: t over {over}" + (", Wilson's for shares of 0 and 1." if binary else ".")]


def _is_binary(layout: ResultsLayout, position: int) -> bool:
    """Whether an item has values, and all are 0 or 1."""
    values = np.concatenate(
        [sample.values for (item, _), sample in layout.samples.items() if item == position]
    )
    return bool(values.size) and bool(np.isin(values, (0.0, 1.0)).all())


def _people_notes(layout: ResultsLayout) -> list[str]:
    if any("(people)" in item.title for item in layout.items):
        return ["People: ratings are averaged over the people who rated a transcript."]
    return []


def _deviation_notes(layout: ResultsLayout, deviations: ResultsDeviations | None) -> list[str]:
    if not layout.options.deviation:
        return []
    if deviations is None:
        return [
            "No reference corpus is named that has these metrics, so no Δ: bedside report RUN --reference RUN2."
        ]
    return [
        "Δ: distance of the mean from the mean of the reference corpus under the same raters.",
        f"Reference: {deviations.corpus}.",
    ]


def _empty_notes(measured: MeasuredRows) -> list[str]:
    titles_by_reason: dict[str, list[str]] = {}
    for title, reason in measured.empty.items():
        titles_by_reason.setdefault(reason, []).append(title)
    if not titles_by_reason:
        return []
    listed = "; ".join(f"{', '.join(titles)} ({reason})" for reason, titles in titles_by_reason.items())
    return [f"Missing for every transcript: {listed}."]
