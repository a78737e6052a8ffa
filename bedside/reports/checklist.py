"""Checklists of what a study must report, filled with what the run knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.reports.methods import judged_words, levels_words
from bedside.reports.number_text import between, counted, decimal
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.support.registry import DataRegistry

#: Stands where only the authors know.
OPEN = "to be stated by you"


class ChecklistItem(BaseModel):
    """One item of a checklist.

    Attributes:
        item: its number there.
        asks: what it asks for.
        fact: the name of what the run knows of it; None where only the authors know.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    item: str
    asks: str
    fact: str | None = None


class Checklist(BaseModel):
    """A checklist: its title, its source, and its items in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    source: str
    items: tuple[ChecklistItem, ...] = Field(min_length=1)


def _parse(path: Path) -> Checklist:
    return Checklist.model_validate(yaml.safe_load(path.read_text("utf-8")))


CHECKLISTS: DataRegistry[Checklist] = DataRegistry(
    "bedside.reports.checklists", ".yaml", "checklist", Checklist, _parse
)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the facts are read from: the run, its ratings, and the tables already made, by name."""

    run: Run
    view: RatingsView
    tables: Mapping[str, Table]

    @property
    def people(self) -> list[str]:
        return [rater for rater in self.view.raters() if rater.startswith("human:")]

    def rated_by(self, kind: str) -> list[str]:
        """Metrics rated by raters of this kind."""
        mine = self.view.ratings.filter(self.view.ratings["rater"].str.starts_with(kind))
        there = set(mine["metric"].unique())
        return [name for name in self.view.metrics() if name in there]


def checklists(run: Run, view: RatingsView, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Every checklist, filled from a run and its tables."""
    return tuple(checklist_table(one, run, view, tables) for one in CHECKLISTS.all().values())


def checklist_table(checklist: Checklist, run: Run, view: RatingsView, tables: Sequence[Table]) -> Table:
    """A checklist as a table: each item with what the run knows of it."""
    known = _Known(run, view, {table.name: table for table in tables})
    rows, records = [], []
    for item in checklist.items:
        found = FACTS[item.fact](known) if item.fact is not None else None
        rows.append(Row((Cell(item.item), Cell(item.asks), Cell(found or OPEN))))
        records.append({"item": item.item, "asks": item.asks, "from_the_run": found})
    return Table(
        name=f"checklist-{checklist.name}",
        title=checklist.title,
        columns=(Column("Item", "left"), Column("What to report", "left"), Column("From this run", "left")),
        rows=tuple(rows),
        notes=(checklist.source,),
        records=tuple(records),
    )


# -- facts ------------------------------------------------------------------------------------------


def _instrument(known: _Known) -> str | None:
    names = [name for name in known.view.metrics() if name in known.view.scales]
    if not names:
        return None
    found = known.view
    return "; ".join(f"{found.facts(name).title} ({_scale(found.scales[name])})" for name in names)


def _scale(scale: Scale) -> str:
    return levels_words(scale.levels)


def _subjects(known: _Known) -> str:
    source = known.run.manifest["transcripts"]
    found = f"{source['count']:,} transcripts, {source['turns']:,} turns"
    systems = _systems(known)
    return f"{found}; {systems}" if systems else found


def _systems(known: _Known) -> str | None:
    counts = known.run.index["system"].drop_nulls().value_counts(sort=False).sort("system")
    return ", ".join(f"{system} ({count:,})" for system, count in counts.iter_rows()) or None


def _conversations(known: _Known) -> str:
    languages = ", ".join(sorted(known.run.index["language"].drop_nulls().unique())) or "not stated"
    factors = known.run.factors.columns[1:]
    by = f"; varied by {', '.join(factors)}" if factors else ""
    return f"{_subjects(known)}; language: {languages}{by}"


def _counts(known: _Known) -> str | None:
    if not known.people:
        return None
    ratings = known.view.ratings
    mine = ratings.filter(ratings["rater"].is_in(known.people) & ratings["error"].is_null())
    units = mine.select("transcript_id", "unit").n_unique()
    passes = int(mine["replicate"].max() or 0) + 1  # type: ignore[arg-type]
    return (
        f"{len(known.people)} people, {counted(mine['transcript_id'].n_unique(), 'transcript')}, "
        f"{counted(units, 'unit')}, "
        f"{mine.height:,} ratings; {'one pass' if passes == 1 else f'{passes} passes'}"
    )


def _flow(known: _Known) -> str:
    source = known.run.manifest["transcripts"]
    missing = known.view.ratings["error"].drop_nulls().len()
    return (
        f"{source['count']:,} evaluated, {len(source['skipped']):,} left out as unreadable; {missing:,} of "
        f"{known.view.ratings.height:,} ratings missing, with reasons"
    )


def _agreements(known: _Known, wanted: Callable[[Mapping[str, Any]], bool]) -> str | None:
    """Kappa (alpha where there is none) with its interval of the agreements wanted."""
    table = known.tables.get("agreement")
    best: dict[tuple[str, str], str] = {}
    for record in table.records if table is not None else ():
        key = (record["title"], record["between"])
        if record["statistic"] not in ("kappa", "alpha") or record["estimate"] is None or not wanted(record):
            continue
        if key not in best or record["statistic"] == "kappa":
            sign = "κ" if record["statistic"] == "kappa" else "α"
            shown = f"{sign} {decimal(record['estimate'])} {between(record['low'], record['high'])}"
            best[key] = f"{record['title']}: {shown}"
    return "; ".join(best.values()) or None


def _estimates(known: _Known) -> str | None:
    return _agreements(known, lambda record: record["kind"] == "people")


def _validation(known: _Known) -> str | None:
    return _agreements(
        known, lambda record: record["kind"] == "consensus" and "judge:" in str(record["raters"])
    ) or _agreements(known, lambda record: record["kind"] == "mean" and "judge:" in str(record["raters"]))


def _statistics(known: _Known) -> str | None:
    table = known.tables.get("agreement")
    return " ".join(table.notes) if table is not None else None


def _analysis(known: _Known) -> str | None:
    table = known.tables.get("comparison")
    versions = dict.fromkeys(entry["bedside"] for entry in known.run.manifest["scorings"])
    said = f"bedside {', '.join(versions)}; a missing rating is in no mean, and is counted"
    return f"{' '.join(table.notes)} {said}" if table is not None else said


def _judges(known: _Known) -> str | None:
    told = [
        judged_words(known.view, rater, judge, entry)
        for entry in known.run.manifest["scorings"]
        for rater, judge in entry.get("judges", {}).items()
    ]
    if known.people:
        told.append(f"{len(known.people)} people.")
    return " ".join(told) or None


def _results(known: _Known) -> str | None:
    named = [f"“{known.tables[name].title}”" for name in ("results", "comparison") if name in known.tables]
    return "see " + " and ".join(named) if named else None


def _detailed(known: _Known) -> str:
    return "every rating with its reason in ratings.parquet, every table at full precision as CSV"


def _planned(known: _Known) -> str | None:
    return "; ".join(
        f"{len(plan.items)} items, each for {plan.overlap} of {len(plan.raters)} raters" for plan in _plans(known)
    ) or None  # fmt: skip


def _sampling(known: _Known) -> str | None:
    found = []
    for plan in _plans(known):
        by = f"stratified by {', '.join(plan.by)}" if plan.by else "not stratified"
        how = (
            "at random"
            if plan.focus == "random"
            else f"{plan.focus} first, {plan.random_share:.0%} at random"
        )
        found.append(f"{by}, drawn {how} (seed {plan.seed})")
    return "; ".join(found) or None


def _process(known: _Known) -> str | None:
    found = []
    for plan in _plans(known):
        saw = "blind to system and judge" if plan.judge is None else f"shown the scores of {plan.judge}"
        first = f", after {len(plan.training)} training items" if plan.training else ""
        found.append(f"{saw}, each rater in an order of their own{first}")
    return "; ".join(found) or None


def _plans(known: _Known) -> list[Any]:
    """The annotation plans whose answers are in the run."""
    from bedside.annotation.plan_file import read_plan

    return [read_plan(file) for file in sorted(known.run.path.glob("annotations/*/plan.json"))]


FACTS: Mapping[str, Callable[[_Known], str | None]] = {
    "analysis": _analysis,
    "conversations": _conversations,
    "counts": _counts,
    "detailed": _detailed,
    "estimates": _estimates,
    "flow": _flow,
    "instrument": _instrument,
    "judges": _judges,
    "planned": _planned,
    "process": _process,
    "results": _results,
    "sampling": _sampling,
    "statistics": _statistics,
    "subjects": _subjects,
    "systems": _systems,
    "validation": _validation,
}
