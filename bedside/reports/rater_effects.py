"""People as raters in tables: how severe each is, and to whom what they say of systems generalises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from bedside.analysis.rater_effects import (
    RaterDesign,
    RaterSeverity,
    confounding_in_words,
    names_of,
    people_of,
    rater_design,
    scope_in_words,
)
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.core.words import counted
from bedside.ratings.names import person_name
from bedside.reports.number_text import number, signed
from bedside.reports.result_text import interval_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_notes import chance_notes, chances_by_title, dash_notes
from bedside.stats.crossed_raters import SD_RATERS

#: Tables that hold systems against each other pair by pair.
_OF_PAIRS = frozenset(("comparison", "margin", "gate"))
#: Systems that a table's notes hold against each other.
_MOST_SYSTEMS = 12
#: How the sentence begins that counts further such warnings.
CONFOUNDED_TOO = "The same holds for"
#: Said where raters are not averaged, beside what says that they are.
RATERS_APART = (
    "Where the answer is about raters like these, people's ratings are not averaged first: each rater has means of "
    "their own."
)
#: Warnings and scopes that notes give one by one.
_MOST = 4


def severity_table(severities: Sequence[RaterSeverity]) -> Table:
    """How each person rates beside the others, metric by metric."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for severity in severities:
        deviation, digits = severity.deviation, severity.facts.digits
        interval = deviation.interval
        rated = ", ".join(f"{system} {count}" if system else f"{count}" for system, count in severity.ratings)
        cells = (
            person_name(severity.rater), rated, f"{severity.shared}", f"{deviation.n}",
            number(severity.mean, digits), signed(deviation.estimate, digits),
            interval_words(interval, digits),
        )  # fmt: skip
        rows.append(Row(tuple(Cell(text, record=len(records)) for text in cells), severity.facts.title))
        records.append(
            {
                "cell": f"{severity.metric}/{person_name(severity.rater)}", "metric": severity.metric,
                "rater": severity.rater, "mean": severity.mean, "n_shared": severity.shared, "n_cases": deviation.n,
                **{f"n_{system or 'all'}": count for system, count in severity.ratings},
                "deviation": deviation.estimate, "low": interval.low if interval else None,
                "high": interval.high if interval else None, "missing": deviation.missing,
            }
        )  # fmt: skip
    columns = (
        Column("Rater", "left"), Column("Rated", "left"), Column("Shared"), Column("Cases"), Column("Mean"),
        Column("Deviation"), Column("95 % CI"),
    )  # fmt: skip
    reasons = {
        "Deviation": "nobody else rated the same",
        "95 % CI": "fewer than two cases that others rated, too, or the same deviation on all of them",
    }
    return Table(
        name="raters",
        title="How people rate beside each other",
        columns=columns,
        rows=tuple(rows),
        notes=(
            "Deviation: the person's ratings less the mean of the others' on the same units, averaged by case, with a "
            "t interval over cases. Above zero: gives higher values than the others.",
            "Rated: units by system. Where people rated different systems, a difference of people looks like one of "
            "systems.",
            *dash_notes(columns, rows, reasons),
        ),
        records=tuple(records),
    )  # fmt: skip


def design_notes(designs: Sequence[RaterDesign | None]) -> list[str]:
    """To whom comparisons by people generalise, and which of them rest on other people for each system."""
    present = [design for design in designs if design is not None]
    notes = []
    by_scope: dict[str, list[RaterDesign]] = {}
    for design in present:
        by_scope.setdefault(scope_in_words(design), []).append(design)
    for scope, members in list(by_scope.items())[:_MOST]:
        titles = dict.fromkeys(design.facts.title for design in members)
        about = ", ".join(list(titles)[:_MOST]) + (" …" if len(titles) > _MOST else "")
        note = f"People ({about}): the answer is about {scope}."
        if members[0].difference is not None:
            spreads = [
                design.difference.details[SD_RATERS] for design in members if design.difference is not None
            ]
            largest = max((spread for spread in spreads if spread is not None), default=None)
            dropped = max(design.difference.dropped for design in members if design.difference is not None)
            if dropped:
                note += f" Cases that some of them did not rate are left out (at most {dropped})."
            note += (
                " Cases and raters are both drawn (quasi-F); what single raters make of the difference has a standard "
                f"deviation of {'at most ' if len(members) > 1 else ''}{number(largest, members[0].facts.digits)}."
            )
        notes.append(note)
    return [*notes, *_confounding_notes(present)]


def with_people_notes(table: Table, view: RatingsView) -> Table:
    """The table with notes on whom people's numbers in it generalise to, and on systems that other people rated.

    Args:
        table: the table; its records say which metrics, raters and systems it shows. One that holds systems against
            each other pair by pair has such notes for each pair already.
        view: the ratings that it was made from.
    """
    metrics = {str(record["metric"]) for record in table.records if record.get("raters") == PEOPLE}
    if not metrics:
        return table
    by_metric = people_of(view, metrics)
    # Labels are not what estimate corrects.
    weighted = "bedside estimate weights them by their strata." if by_metric else ""
    table = replace(
        table, notes=(*table.notes, *chance_notes(chances_by_title(view, sorted(metrics)), weighted))
    )
    if not by_metric:
        return table
    if table.name.partition("-")[0] in _OF_PAIRS:
        return table
    # A test of all systems at once that is about raters like these says so itself.
    like = {str(record["metric"]) for record in table.records if record.get("raters_like")}
    raters = sorted(set().union(*(names for metric, names in by_metric.items() if metric not in like)))
    shown = {record.get("system") for record in table.records}
    shown |= {name for record in table.records for name in str(record.get("systems", "")).split(", ")}
    systems = [system for system in view.systems() if system in shown]
    designs = [
        rater_design(view, metric, duo) for metric in by_metric for duo in combinations(systems, 2)
    ] if len(systems) <= _MOST_SYSTEMS else []  # fmt: skip
    scope = [people_note(raters)] if raters else []
    notes = (*table.notes, *scope, *_confounding_notes([d for d in designs if d is not None]))
    return replace(table, notes=notes)


def _confounding_notes(designs: Sequence[RaterDesign]) -> list[str]:
    confounded = [design for design in designs if design.is_confounded]
    notes = [confounding_in_words(design) for design in confounded[:_MOST]]
    if len(confounded) > _MOST:
        notes.append(f"{CONFOUNDED_TOO} {counted(len(confounded) - _MOST, 'further comparison')} by people.")
    return notes


def people_note(raters: Sequence[str]) -> str:
    """To whom people's numbers generalise that compare nothing."""
    if len(raters) == 1:
        return f"People's numbers are this rater's: {names_of(raters)}."
    return (
        f"People's numbers are about these {len(raters)} raters ({names_of(raters)}): intervals say what other cases "
        "would give, not what other raters would."
    )
