"""Checklists of what a study must report, filled with what the run knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bedside.analysis.ratings_view import RatingsView
from bedside.core.registry import DataRegistry
from bedside.ratings.run import Run
from bedside.reports.checklist_facts import FACTS, ReportedStudy
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

#: Stands where only the authors know.
OPEN = "to be stated by you"


class ChecklistItem(BaseModel):
    """One item of a checklist.

    Attributes:
        item: its number there.
        asks: what it asks for.
        fact: the name of what the run knows of it; None where only the authors know.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    item: str
    asks: str
    fact: str | None = None


class Checklist(BaseModel):
    """A checklist: its title, its source, and its items in order."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    source: str
    items: tuple[ChecklistItem, ...] = Field(min_length=1)


def _parse(path: Path) -> Checklist:
    return Checklist.model_validate(yaml.safe_load(path.read_text("utf-8")))


CHECKLISTS: DataRegistry[Checklist] = DataRegistry(
    "bedside.reports.checklists", ".yaml", "checklist", Checklist, _parse
)


def checklists(run: Run, view: RatingsView, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Every checklist, filled from a run and its tables."""
    return tuple(checklist_table(checklist, run, view, tables) for checklist in CHECKLISTS.all().values())


def checklist_table(checklist: Checklist, run: Run, view: RatingsView, tables: Sequence[Table]) -> Table:
    """A checklist as a table: each item with what the run knows of it."""
    study = ReportedStudy(run, view, {table.name: table for table in tables})
    rows, records = [], []
    for item in checklist.items:
        fact = FACTS[item.fact](study) if item.fact is not None else None
        rows.append(Row((Cell(item.item), Cell(item.asks), Cell(fact or OPEN))))
        records.append({"item": item.item, "asks": item.asks, "from_the_run": fact})
    return Table(
        name=f"checklist_{checklist.name}",
        title=checklist.title,
        columns=(Column("Item", "left"), Column("What to report", "left"), Column("From this run", "left")),
        rows=tuple(rows),
        notes=(checklist.source,),
        records=tuple(records),
    )
