"""Audits: how often people confirm a judge's ratings that they are shown, and which way they correct the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.analysis.audits import Audit, audits
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.cell_names import rater_words
from bedside.reports.number_text import DASH, between, decimal
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.support.plurals import counted

_TITLE = "Audits: a judge's ratings that people were shown"
#: Fewer transcripts than this make a rough interval.
_FEW = 10


def audits_table(verdicts: Sequence[Audit]) -> Table:
    """The table of audits already computed."""
    several = any(verdict.answers > verdict.units for verdict in verdicts)
    columns = (
        Column("Metric", "left"), Column("Judge gave"), Column("Units"), Column("People"), Column("Answers"),
        Column("Confirmed [95 % CI]"), Column("By majority"), Column("The others say", "left"),
    )  # fmt: skip
    # Where one person audited each unit, answers are units, and there is no majority.
    used = [i for i in range(len(columns)) if several or columns[i].title not in ("Answers", "By majority")]
    rows = []
    for number, verdict in enumerate(verdicts):
        cells = (
            Cell(verdict.title if verdict.level is None else ""),
            Cell("any" if verdict.level is None else verdict.level),
            Cell(f"{verdict.units:,}"),
            Cell(str(len(verdict.people))),
            Cell(f"{verdict.answers:,}"),
            Cell(_confirmed(verdict), record=number),
            Cell(_majority(verdict)),
            Cell(_others(verdict)),
        )
        rows.append(Row(tuple(cells[place] for place in used), _heading(verdict)))
    return Table(
        name="audits",
        title=_TITLE,
        columns=tuple(columns[place] for place in used),
        rows=tuple(rows),
        notes=_notes(verdicts, several=several),
        records=tuple(_record(verdict) for verdict in verdicts),
    )


def _heading(verdict: Audit) -> str:
    return (
        "Judge not recorded" if verdict.judge is None else f"{rater_words(verdict.judge)}, as people see it"
    )


def _confirmed(verdict: Audit) -> str:
    share = verdict.confirmed
    if share.estimate is None:
        return DASH
    interval = share.interval
    return decimal(share.estimate) + ("" if interval is None else f" {between(interval.low, interval.high)}")


def _majority(verdict: Audit) -> str:
    ties = f", {counted(verdict.ties, 'tie')}" if verdict.ties else ""
    return f"{verdict.by_majority:,} of {verdict.units:,}{ties}"


def _others(verdict: Audit) -> str:
    parts = [f"{word} {count:,}" for word, count in verdict.corrections.items()]
    if verdict.uncorrected:
        parts.append(f"not what else {verdict.uncorrected:,}")
    return ", ".join(parts) or DASH


def _notes(verdicts: Sequence[Audit], *, several: bool) -> tuple[str, ...]:
    whole = [verdict for verdict in verdicts if verdict.level is None]
    nested = any(verdict.answers > verdict.transcripts for verdict in whole)
    notes = [
        "Confirmed: share of people's answers that say that the judge is right. "
        + ("By majority: units on which more than half of those who audited them say so. " if several else "")
        + "The others say: how many answers that don't confirm give what instead.",
        "People saw the judge's rating first, which draws them towards it: this is no agreement of independent raters, "
        "and no κ is given.",
    ]
    methods = dict.fromkeys(
        verdict.confirmed.interval.method for verdict in verdicts if verdict.confirmed.interval is not None
    )
    if methods:
        clusters = ", where clusters are transcripts" if nested else ""
        notes.append(f"Intervals: {'; '.join(methods)}{clusters}.")
    if nested and min(verdict.transcripts for verdict in whole) < _FEW:
        fewest = min(verdict.transcripts for verdict in whole)
        notes.append(f"Some rest on only {counted(fewest, 'transcript')}: their intervals are rough.")
    missing = sum(verdict.missing for verdict in whole)
    if missing:
        notes.append(
            f"Left out, as they were skipped or say two things at once: {counted(missing, 'answer')}."
        )
    return tuple(notes)


def _record(verdict: Audit) -> Mapping[str, Any]:
    share, interval = verdict.confirmed, verdict.confirmed.interval
    return {
        "cell": f"{verdict.title}/{verdict.judge or 'not recorded'}/{verdict.level or 'any'}",
        "metric": verdict.rubric, "title": verdict.title, "judge": verdict.judge, "judge_gave": verdict.level,
        "people": ", ".join(verdict.people), "units": verdict.units, "transcripts": verdict.transcripts,
        "by_majority": verdict.by_majority, "ties": verdict.ties, "statistic": "share confirmed",
        "estimate": share.estimate, "low": interval.low if interval else None,
        "high": interval.high if interval else None, "interval": interval.method if interval else None,
        "n": share.n, "answers": verdict.answers, "answers_confirming": verdict.confirming,
        "others": "; ".join(f"{word} {count}" for word, count in verdict.corrections.items()),
        "others_without_answer": verdict.uncorrected, "answers_missing": verdict.missing, "missing": share.missing,
    }  # fmt: skip


def build(view: RatingsView, _seed: int) -> Table | None:
    """What people say of judges' ratings that they were shown; None where nobody audited."""
    verdicts = audits(view)
    return audits_table(verdicts) if verdicts else None


TABLE = TableKind("audits", _TITLE, 31, build)
