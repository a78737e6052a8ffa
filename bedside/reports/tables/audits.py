"""Audits: how often people confirm a judge's ratings that they are shown, and which way they correct the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.analysis.audits import Audit, audits
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.number_text import DASH, rater_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Audits: a judge's ratings that people were shown"
#: Fewer cases than this make a rough interval.
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
            Cell(share_words(verdict.confirmed), record=number),
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
    return "Judge not recorded" if verdict.judge is None else f"{rater_words(verdict.judge)}, as people see it"


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
    nested = [verdict for verdict in whole if verdict.answers > verdict.cases]
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
        by_case = any(verdict.cases < verdict.transcripts for verdict in whole)
        drawn = "cases" if by_case else "transcripts"
        notes.append(f"Intervals: {'; '.join(methods)}{f', where clusters are {drawn}' if nested else ''}.")
    if nested and min(verdict.cases for verdict in nested) < _FEW:
        fewest = min(nested, key=lambda verdict: verdict.cases)
        drawn = counted(fewest.cases, "case" if fewest.cases < fewest.transcripts else "transcript")
        notes.append(f"Some rest on only {drawn}: their intervals are rough.")
    notes += _drawing_notes(whole)
    missing = sum(verdict.missing for verdict in whole)
    if missing:
        notes.append(f"Left out, as they were skipped or say two things at once: {counted(missing, 'answer')}.")
    return tuple(notes)


def _drawing_notes(verdicts: Sequence[Audit]) -> list[str]:
    """How the audited units were drawn, where not with one chance."""
    notes = []
    unequal, none = (
        list(dict.fromkeys(verdict.title for verdict in verdicts if verdict.chances == chances))
        for chances in ("unequal", "none")
    )
    if unequal:
        notes.append(
            f"{', '.join(unequal)}: units were drawn with unequal chances, as the plan's strata have it. The share "
            "confirmed is of all units that they were drawn from: each answer is weighted by one over its unit's "
            "chance. What is counted is counted as it was answered."
        )
    if none:
        notes.append(
            f"{', '.join(none)}: units were picked for what they are, such as disagreement, and not drawn. The share "
            "confirmed is about these units, and would differ if all had been audited."
        )
    notes += [
        f"{verdict.title}: {counted(verdict.picked, 'unit')} picked for what they are (such as disagreement), and not "
        "drawn, are left out."
        for verdict in verdicts
        if verdict.picked
    ]
    return notes


def _record(verdict: Audit) -> Mapping[str, Any]:
    share, interval = verdict.confirmed, verdict.confirmed.interval
    return {
        "cell": f"{verdict.title}/{verdict.judge or 'not recorded'}/{verdict.level or 'any'}",
        "metric": verdict.rubric, "title": verdict.title, "judge": verdict.judge, "judge_gave": verdict.level,
        "people": ", ".join(verdict.people), "units": verdict.units, "transcripts": verdict.transcripts,
        "cases": verdict.cases, "chances": verdict.chances, "picked": verdict.picked,
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


TABLE = TableKind("audits", _TITLE, 31, build, heading="Audits", shown="always")
