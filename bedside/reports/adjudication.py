"""Tables of an adjudication: what raters differ on, and who settles how much of it."""

from __future__ import annotations

from dataclasses import asdict

from bedside.annotation.adjudication import Adjudication
from bedside.annotation.annotation_plan import plan_hash, round_of
from bedside.core.words import counted
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row


def adjudication_tables(adjudication: Adjudication) -> tuple[Table, ...]:
    """What raters differ on by rubric, and who settles how many units."""
    return _disagreements_table(adjudication), _adjudicators_table(adjudication)


def _disagreements_table(adjudication: Adjudication) -> Table:
    counts = adjudication.counts
    rows = [
        (of_rubric.rubric, of_rubric.rated, of_rubric.differ, of_rubric.ties, of_rubric.queued)
        for of_rubric in counts
    ]
    notes = [
        "Units that two raters or more answered; that no answer can be given is an answer. No majority: no answer was "
        "given by more than half of them.",
    ]
    left = (
        (
            sum(of_rubric.near for of_rubric in counts),
            f"no more than {counted(adjudication.beyond, 'level')} apart",
        ),
        (sum(of_rubric.settled for of_rubric in counts), "with a final label already"),
        (sum(of_rubric.waiting for of_rubric in counts), "in another adjudication of the round"),
    )
    notes += [f"Not queued: {number:,} {words}." for number, words in left if number]
    return Table(
        name="disagreements",
        title="Where raters differ",
        columns=(
            Column("Rubric", "left"), Column("Units"), Column("Differ"), Column("No majority"), Column("To settle"),
        ),
        rows=tuple(Row((Cell(name), *(Cell(f"{number:,}") for number in numbers))) for name, *numbers in rows),
        notes=tuple(notes),
        records=tuple(map(asdict, counts)),
    )  # fmt: skip


def _adjudicators_table(adjudication: Adjudication) -> Table:
    plan = adjudication.plan
    return Table(
        name="adjudicators",
        title="Who settles it",
        columns=(Column("Adjudicator", "left"), Column("Units")),
        rows=tuple(Row((Cell(name), Cell(f"{len(plan.assignment[name]):,}"))) for name in plan.raters),
        notes=(
            f"Plan {plan_hash(plan)}, of the round {round_of(plan)}. Raters go by numbers that are drawn anew for each "
            "unit and rubric. Reasons are shown as they were written: they may tell who wrote them.",
        ),
        records=tuple({"adjudicator": name, "units": len(plan.assignment[name])} for name in plan.raters),
    )
