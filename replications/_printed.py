"""What a paper printed, put through the tables that reports show and the statistics behind them."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import study_order
from bedside.ratings.suites import SUITES
from bedside.ratings.suites.published_numbers import PublishedNumber, published_numbers
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_tables
from bedside.reports.number_text import percent_over
from bedside.reports.report_settings import ReportSettings
from bedside.stats.paired import t_test

Row = tuple[str, str, str, str, float]


def number(suite: str, place: str, measure: str, system: str, *levels: str) -> PublishedNumber:
    """The one number that is printed there."""
    (found,) = (
        one
        for one in published_numbers(suite)
        if (one.place, one.measure, one.system, one.levels) == (place, measure, system, levels)
    )
    return found


def as_printed(suite: str, rows: Iterable[Row], factors: pl.DataFrame) -> RatingsView:
    """Ratings of made-up transcripts, each with its id, system, case, metric and value."""
    ratings = (
        (transcript, system, case, "transcript", metric, "judge:printed", 0, value, None, None, None)
        for transcript, system, case, metric, value in rows
    )
    return RatingsView(frame_of(ratings), {}, factors, "printed numbers", order=study_order([SUITES.load(suite)]))


def cells(suite: str, name: str, view: RatingsView) -> list[dict[str, str]]:
    """The rows of a table of the suite's source, by the titles of columns; under no title their heading."""
    (table,) = make_tables(view, [name], suite=SUITES.load(suite), settings=ReportSettings(as_published=True))
    titles = ["", *(column.title for column in table.columns)]
    return [dict(zip(titles, (row.group or "", *(cell.text for cell in row.cells)), strict=True)) for row in table.rows]


def value(text: str) -> float:
    """A number as a table prints it."""
    return float(text.replace("−", "-").replace(",", ""))


def difference(first: float, second: float) -> float | None:
    """First minus second, as the comparison of two systems has it."""
    return t_test([first, first], [second, second]).estimate


def change(first: float, second: float) -> float | None:
    """By how many per cent the first lies over the second."""
    return percent_over(first, second)
