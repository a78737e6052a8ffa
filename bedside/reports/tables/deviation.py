"""Deviation: how far each system's means lie from those of a reference corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from bedside.analysis.deviation import Deviation, deviation
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_parts import UNLISTED, StudyOrder
from bedside.core.words import counted
from bedside.reports.columns import Column, MetricRow, Table, bounded, recorded, table_of
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, signed
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes


class DeviationOptions(Options):
    """What a table of deviations shows.

    Attributes:
        reference: a system whose transcripts are the reference corpus; the report's reference corpus unless named.
        metrics: all that both have unless named.
    """

    reference: str | None = None
    metrics: Headed = Field(default_factory=dict)


def _difference(row: MetricRow) -> str:
    difference, digits = row.part.difference, row.part.facts.digits
    text, interval = signed(difference.estimate, digits), difference.interval
    return text + (f" [{signed(interval.low, digits)}, {signed(interval.high, digits)}]" if interval else "")


COLUMNS = (
    MetricRow.record("system"),
    Column("System", "left", text=MetricRow.system_label, brief=True),
    Column("n", value="part.n", form=str, brief=True),
    Column("Mean", field="mean", value="part.mean", text=MetricRow.number("mean"), brief=True),
    recorded(n="part.n", transcripts="part.transcripts", missing_values="part.missing"),
    Column("n, reference", value="part.reference_n", form=str),
    Column("Mean, reference", field="reference_mean", value="part.reference", text=MetricRow.number("reference"),
           brief=True),
    recorded(reference_n="part.reference_n", reference_transcripts="part.reference_transcripts",
             reference_missing_values="part.reference_missing"),
    Column("Deviation", field="deviation", value="part.deviation", text=MetricRow.number("deviation")),
    Column("Difference [95 % CI]", text=_difference, brief=True),
    bounded(difference="part.difference"),
    recorded(method=lambda row: (row.part.difference.interval or row.part.difference).method,
             missing="part.difference.missing"),
)  # fmt: skip
MEANING = Note(
    "deviation.meaning",
    "Deviation: absolute difference between the mean over the system's cases and the mean over the reference's. "
    "Difference: system minus reference, with Welch's t interval.",
)


@note("deviation.cases", "n", "n, reference")
def of_cases(rows: Sequence[MetricRow]) -> Iterator[str]:
    """That n are cases."""
    shown: list[Deviation] = [row.part for row in rows]
    if any(own.transcripts > own.n or own.reference_transcripts > own.reference_n for own in shown):
        yield "n: cases; the transcripts of a case are averaged first, and each case counts once."


@note("deviation.missing values", "Mean", "Mean, reference")
def missing_values(rows: Sequence[MetricRow]) -> Iterator[str]:
    """How many values are in no mean."""
    shown: list[Deviation] = [row.part for row in rows]
    missing = sum({(own.metric, own.raters, own.system): own.missing for own in shown}.values())
    absent = sum({(own.metric, own.raters): own.reference_missing for own in shown}.values())
    if missing or absent:
        yield f"Missing values, left out of the means: {missing}, and {absent} in the reference."


@note("deviation.missing", "Deviation", "Difference [95 % CI]")
def missing(rows: Sequence[MetricRow]) -> Iterator[str]:
    """Why there is no difference, or no interval of it."""
    for reason in dict.fromkeys(row.part.difference.missing for row in rows if row.part.difference.missing):
        having = [row.part for row in rows if row.part.difference.missing == reason]
        dash = DASH if any(own.deviation is None for own in having) else ""
        yield f"{dash} {counted(len(having), 'time')}: {reason}.".strip().capitalize()


def deviation_table(deviations: Sequence[Deviation], reference: str, order: StudyOrder = UNLISTED) -> Table:
    """The table of deviations already computed.

    Args:
        deviations: the deviations.
        reference: the name of the corpus.
        order: has the labels of systems.
    """
    return table_of("deviation", f"Deviation from the reference corpus {reference}", MetricRow.rows(deviations, order),
                    COLUMNS, group=MetricRow.heading, notes=(MEANING, of_cases, missing_values, missing))  # fmt: skip


def build(view: RatingsView, seed: int, options: DeviationOptions) -> Table | None:
    """The deviations of the metrics wanted; None where nobody rated any of them.

    Raises:
        NothingError: there is no reference corpus, or nothing in common with it.
    """
    reference = options.reference or view.reference
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    if reference is None:
        raise NothingError("no reference corpus is named", where=view.name, todo="bedside report RUN --reference RUN2")
    deviations = deviation(view, reference, metrics=metrics.rated or None)
    table = deviation_table(deviations, reference if isinstance(reference, str) else reference.name, view.order)
    return options.finish(table, absent_notes(metrics.absent))


TABLE = TableKind("deviation", "Deviation from a reference corpus", 34, build, DeviationOptions)
