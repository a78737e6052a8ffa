"""What stands below a table: why cells hold a dash, what was expected by chance, how intervals were made."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.names import rated_by_humans
from bedside.reports.number_text import DASH
from bedside.reports.samples import Sample, SampleLevel, interval_of
from bedside.reports.table_content import Column, Row

# -- Which command brings a metric that a run doesn't have ----------------------------------------------


def preferences_apart(view: RatingsView) -> tuple[str, ...]:
    """What is said under a table of ratings where two conversations were compared too."""
    if view.preferences.is_empty():
        return ()
    preferences = counted(view.preferences.height, "preference")
    return (f"{preferences} between two conversations are left to bedside preferences.",)


def code_notes(metrics: Iterable[str]) -> list[str]:
    """For metrics without any value: how to get the codes of turns that some of them are counted from."""
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    counted_from_codes = [
        name for name in dict.fromkeys(metrics) if owners.get(name.partition(".")[0]) == "behaviour"
    ]
    if not counted_from_codes:
        return []
    return [
        f"{', '.join(counted_from_codes)}: codes of turns come from people (meta.codes of the turns), or from a judge: "
        "bedside score FILES --out RUN --judge MODEL --codes all"
    ]


def absent_notes(metrics: Iterable[str]) -> list[str]:
    """For metrics that are not rated: a line for each command that brings some of them."""
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    rubrics, algorithms, others = [], [], []
    for name in dict.fromkeys(metrics):
        base = name.partition(".")[0]
        if base in RUBRICS:
            rubrics.append(base)
        elif base in owners:
            algorithms.append(base)
        else:
            others.append(name)
    notes = []
    if rubrics:
        listed = ",".join(dict.fromkeys(rubrics))
        notes.append(f"Not rated yet: bedside score FILES --out RUN --judge MODEL --rubrics {listed}")
    if algorithms:
        listed = ",".join(dict.fromkeys(algorithms))
        notes.append(f"Not scored yet: bedside score FILES --out RUN --metrics {listed}")
    if others:
        notes.append(f"Nobody rated {', '.join(others)}: bedside ratings import RUN FILE")
    return notes


# -- Why tests were taken -------------------------------------------------------------------------------

#: A whole number, with commas between thousands.
_COUNT = re.compile(r"\d+(?:,\d{3})*")


def said_once(reasons: Iterable[str]) -> list[str]:
    """Reasons in order; of those that differ in their numbers alone one, with the least and the greatest of each."""
    alike: dict[str, list[list[str]]] = {}
    for reason in reasons:
        alike.setdefault(_COUNT.sub("{}", reason), []).append(_COUNT.findall(reason))
    said = []
    for words, counts in alike.items():
        ranges = []
        for numbers in zip(*counts, strict=True):
            ordered = sorted(set(numbers), key=lambda number: int(number.replace(",", "")))
            ranges.append(" to ".join(dict.fromkeys((ordered[0], ordered[-1]))))
        said.append(words.format(*ranges))
    return said


# -- Which intervals stand beside means -----------------------------------------------------------------

#: How the words of an interval's method begin, and what a note says of it; the longest beginnings first.
_METHODS = (
    ("Wilson on the scale", "Wilson's on the scale for means between two ends"),
    ("Wilson", "Wilson's for shares"),
    ("t ", "t for the rest"),
)


def interval_note(samples: Iterable[tuple[Sample, SampleLevel]]) -> str:
    """How the 95 % intervals of these means and ratios were made, as a sentence; empty where none has one.

    They stay within what the values can be, as :func:`~bedside.reports.samples.interval_of` makes them.
    """
    shown = list(samples)
    intervals = [interval_of(sample, level) for sample, level in shown]
    kinds = {_kind(interval.method) for interval in intervals if interval is not None}
    if not kinds:
        return ""
    words = [word for _, word in _METHODS if word in kinds]
    if len(words) == 1:
        words = [words[0].replace(" for the rest", "")]
    clustered = not all(sample.is_single for sample, _ in shown)
    over = "cases, whose transcripts are not independent" if clustered else "transcripts"
    return f"95 % intervals over {over}: {', '.join(words)}."


def _kind(method: str) -> str:
    return next(word for begin, word in _METHODS if method.startswith(begin))


# -- Notes on numbers in which final labels by adjudication stand in place of what people said ----------


def final_notes(view: RatingsView, metrics: Iterable[str]) -> tuple[str, ...]:
    """What is said under people's values: of how many units they are final labels; nothing where of none.

    Args:
        view: the ratings.
        metrics: those that are shown.
    """
    return tuple(
        f"{view.facts(metric).title}: {counted(count, 'unit')} "
        f"{'was' if count == 1 else 'were'} adjudicated; the final label stands in place of people's mean."
        for metric in sorted(set(metrics))
        for count in (len(view.final_labels(metric)),)
        if count
    )


# -- Notes on people's numbers whose units are no random sample of all ----------------------------------


def chances_by_title(view: RatingsView, metrics: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Title of each metric → the chances with which the units that people rated were drawn, as far as known."""
    people = view.ratings.filter(rated_by_humans())
    return {
        view.facts(metric).title: tuple(
            people.filter(pl.col("metric") == metric)["drawn"].drop_nulls().unique().sort()
        )
        for metric in metrics
    }


def chance_notes(chances: Mapping[str, Collection[float]], instead: str = "") -> list[str]:
    """What unequal chances, or none, make of people's numbers.

    Args:
        chances: of what is shown, the chances with which its units came into people's sample; 0 of those picked.
        instead: a sentence that says what weights them.
    """
    picked = [title for title, drawn in chances.items() if 0 in drawn]
    unequal = [title for title, drawn in chances.items() if 0 not in drawn and len(drawn) > 1]
    notes = []
    for titles, how in (
        (unequal, "were drawn with unequal chances, as the plan's strata have it"),
        (picked, "were partly picked for what they are, such as disagreement, and not drawn"),
    ):
        if titles:
            notes.append(
                f"{', '.join(titles)}: the units that people rated {how}. Figures are about the units rated, and would "
                f"differ if all had been.{f' {instead}' if instead else ''}"
            )
    return notes


# -- Why cells of a table hold a dash -------------------------------------------------------------------


def dash_notes(columns: Sequence[Column], rows: Iterable[Row], reasons: Mapping[str, str]) -> tuple[str, ...]:
    """A note on each reason for which some cell is a dash.

    Args:
        columns, rows: of the table.
        reasons: why a cell of the column with this title is a dash; under the empty title, why one of any other is.
    """
    dashed = {
        column.title
        for row in rows
        for column, cell in zip(columns, row.cells, strict=True)
        if cell.text == DASH
    }
    titles_by_reason: dict[str, list[str]] = {}
    for column in dict.fromkeys(column.title for column in columns if column.title in dashed):
        reason = reasons.get(column, reasons.get(""))
        if reason is not None:
            titles_by_reason.setdefault(reason, []).append(column)
    return tuple(
        f"{DASH}: {reason} ({', '.join(titles)})." if "" not in reasons else f"{DASH}: {reason}."
        for reason, titles in titles_by_reason.items()
    )
