"""What simulated sides meant to do, beside the codes that coders gave to what they said."""

from __future__ import annotations

from collections.abc import Iterator

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.number_text import bounded_record, decimal, rater_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.simulation.intended_acts import IntendedAct, IntendedCoded, intended_acts

_TITLE = "Intended acts against coded ones"
_NOTE = (
    "Meant as: the label of the code that a strategy or an action stands for by its definition; acts that could be "
    "carried out in several ways, and messages with a pivot, are left out. Share coded as meant: an interval from a "
    "bootstrap of whole cases; κ: Cohen's, between what was meant and what was coded, its interval from leaving out "
    "whole cases. A low number can be the model's that carried the act out badly or the coder's that read it badly: "
    "only codes by people tell the two apart."
)


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Acts by code and coder; None where nothing was meant, or nobody coded it."""
    compared = intended_acts(view, seed=seed)
    if not compared:
        return None
    rows: list[Row] = []
    records: list[dict[str, object]] = []
    for result in compared:
        group = f"{result.facts.title}, by {rater_words(result.rater)}"
        for act in result.acts:
            cells = [
                Cell(act.act), Cell(act.label), Cell(f"{act.turns:,}", record=len(records)),
                Cell(_counts(act)), Cell(_share(act), record=len(records)), Cell(""),
            ]  # fmt: skip
            rows.append(Row(tuple(cells), group))
            records.append(_act_record(result, act))
        cells = [
            Cell("all"), Cell(""), Cell(f"{result.turns:,}", record=len(records)), Cell(""),
            Cell(share_words(result.agreement), record=len(records)),
            Cell(share_words(result.kappa), record=len(records)),
        ]  # fmt: skip
        rows.append(Row(tuple(cells), group))
        records.append(_record(result))
    return Table(
        name="intended_acts",
        title=_TITLE,
        columns=(
            Column("Meant", "left"), Column("Meant as", "left"), Column("Turns"), Column("Coded", "left"),
            Column("Coded as meant [95 % CI]"), Column("κ [95 % CI]"),
        ),
        rows=tuple(rows),
        notes=(_NOTE, *_missing(compared)),
        records=tuple(records),
    )  # fmt: skip


def _counts(act: IntendedAct) -> str:
    ordered = sorted(act.coded.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{label} {number:,}" for label, number in ordered)


def _share(act: IntendedAct) -> str:
    return decimal(act.coded.get(act.label, 0) / act.turns)


def _act_record(result: IntendedCoded, act: IntendedAct) -> dict[str, object]:
    return {
        "cell": f"{result.metric}/{result.rater}/{act.act}", "metric": result.metric, "rater": result.rater,
        "act": act.act, "meant": act.label, "turns": act.turns, "as_meant": act.coded.get(act.label, 0),
        **{f"coded_{label}": number for label, number in sorted(act.coded.items())},
    }  # fmt: skip


def _record(result: IntendedCoded) -> dict[str, object]:
    return {
        "cell": f"{result.metric}/{result.rater}", "metric": result.metric, "rater": result.rater, "act": None,
        "turns": result.turns, "cases": result.cases, "undecided": result.undecided,
        **bounded_record("agreement", result.agreement), **bounded_record("kappa", result.kappa),
        "kappa_missing": result.kappa.missing,
    }  # fmt: skip


def _missing(compared: tuple[IntendedCoded, ...]) -> Iterator[str]:
    reasons = dict.fromkeys(
        f"{'κ' if name == 'kappa' else 'Share'}, {result.facts.title} by {rater_words(result.rater)}: {value.missing}."
        for result in compared
        for name, value in (("agreement", result.agreement), ("kappa", result.kappa))
        if value.missing
    )
    yield from reasons
    for result in compared:
        if result.undecided:
            yield (
                f"{result.facts.title} by {rater_words(result.rater)}: {counted(result.undecided, 'turn')} without a "
                "most frequent label are left out."
            )


TABLE = TableKind("intended_acts", _TITLE, 75, build, heading="Simulation: what was meant", shown="always")
