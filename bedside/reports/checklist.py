"""Checklists of what a study must report, and what a run knows of what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bedside.analysis.ratings_view import RatingsView
from bedside.core.registry import DataRegistry
from bedside.core.words import counted
from bedside.ratings.names import is_human, is_judge
from bedside.ratings.run import Run
from bedside.ratings.table import missing_counts
from bedside.ratings.values import failures
from bedside.reports.columns import Column, Part, Table, table_of
from bedside.reports.methods import judged_words, levels_words
from bedside.reports.number_text import between, decimal

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan

# -- What a run knows of what checklists ask for --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReportedStudy:
    """What the facts are read from: the run, its ratings, and the tables already made, by name."""

    run: Run
    view: RatingsView
    tables: Mapping[str, Table]

    @property
    def people(self) -> list[str]:
        """The raters that are people."""
        return list(filter(is_human, self.view.raters()))


def _instrument(study: ReportedStudy) -> str | None:
    names = [name for name in study.view.metrics() if name in study.view.scales]
    if not names:
        return None
    view = study.view
    return "; ".join(f"{view.facts(name).title} ({levels_words(view.scales[name].levels)})" for name in names)


def _subjects(study: ReportedStudy) -> str:
    source = study.run.manifest["transcripts"]
    counts = f"{counted(source['count'], 'transcript')}, {counted(source['turns'], 'turn')}"
    systems = _systems(study)
    return f"{counts}; {systems}" if systems else counts


def _systems(study: ReportedStudy) -> str | None:
    counts = study.run.index["system"].drop_nulls().value_counts(sort=False).sort("system")
    return ", ".join(f"{system} ({count:,})" for system, count in counts.iter_rows()) or None


def _conversations(study: ReportedStudy) -> str:
    languages = ", ".join(sorted(study.run.index["language"].drop_nulls().unique())) or "not stated"
    factors = study.run.factors.columns[1:]
    by = f"; varied by {', '.join(factors)}" if factors else ""
    return f"{_subjects(study)}; language: {languages}{by}"


def _counts(study: ReportedStudy) -> str | None:
    if not study.people:
        return None
    ratings = study.view.ratings
    by_people = ratings.filter(ratings["rater"].is_in(study.people) & ratings["error"].is_null())
    units = by_people.select("transcript_id", "unit").n_unique()
    passes = int(by_people["replicate"].max() or 0) + 1  # type: ignore[arg-type]
    return (
        f"{counted(len(study.people), 'person')}, {counted(by_people['transcript_id'].n_unique(), 'transcript')}, "
        f"{counted(units, 'unit')}, "
        f"{counted(by_people.height, 'rating')}; {'one pass' if passes == 1 else f'{passes} passes'}"
    )


def _flow(study: ReportedStudy) -> str:
    source = study.run.manifest["transcripts"]
    missing = failures(missing_counts(study.view.ratings.lazy()))
    return (
        f"{source['count']:,} evaluated, {len(source['skipped']):,} left out as unreadable; {missing:,} of "
        f"{counted(study.view.ratings.height, 'rating')} missing, with reasons"
    )


def _agreements(study: ReportedStudy, kind: str, *, of_judges: bool = False) -> str | None:
    """Kappa (alpha where there is none) with its interval of the agreements of this kind, or of judges' among them."""
    table = study.tables.get("agreement")
    best: dict[tuple[str, str], str] = {}
    for record in table.records if table is not None else ():
        key = (record["title"], record["between"])
        if record["statistic"] not in ("kappa", "alpha") or record["estimate"] is None or record["kind"] != kind:
            continue
        if of_judges and not any(map(is_judge, str(record["raters"]).split(", "))):
            continue
        if key not in best or record["statistic"] == "kappa":
            sign = "κ" if record["statistic"] == "kappa" else "α"
            shown = f"{sign} {decimal(record['estimate'])} {between(record['low'], record['high'])}"
            best[key] = f"{record['title']}: {shown}"
    return "; ".join(best.values()) or None


def _analysis(study: ReportedStudy) -> str | None:
    table = study.tables.get("comparison")
    versions = dict.fromkeys(entry["bedside"] for entry in study.run.manifest["scorings"])
    versions_used = f"bedside {', '.join(versions)}; a missing rating is in no mean, and is counted"
    return f"{' '.join(table.notes)} {versions_used}" if table is not None else versions_used


def _judges(study: ReportedStudy) -> str | None:
    sentences = [
        judged_words(study.view, rater, judge, entry)
        for entry in study.run.manifest["scorings"]
        for rater, judge in entry.get("judges", {}).items()
    ]
    if study.people:
        sentences.append(f"{counted(len(study.people), 'person')}.")
    return " ".join(sentences) or None


def _results(study: ReportedStudy) -> str | None:
    named = [f"“{study.tables[name].title}”" for name in ("results", "comparison") if name in study.tables]
    return "see " + " and ".join(named) if named else None


def _plans(study: ReportedStudy) -> list[AnnotationPlan]:
    """The annotation plans whose answers are in the run."""
    from bedside.annotation.plan_file import read_plan

    return [read_plan(file) for file in sorted(study.run.path.glob("annotations/*/plan.json"))]


def _of_plans(words: Callable[[AnnotationPlan], str]) -> Callable[[ReportedStudy], str | None]:
    """What is said of each annotation plan."""
    return lambda study: "; ".join(map(words, _plans(study))) or None


def _planned(plan: AnnotationPlan) -> str:
    return f"{counted(len(plan.items), 'item')}, each for {plan.overlap} of {counted(len(plan.raters), 'rater')}"


def _sampling(plan: AnnotationPlan) -> str:
    by = f"stratified by {', '.join(plan.by)}" if plan.by else "not stratified"
    how = "at random" if plan.focus == "random" else f"{plan.focus} first, {plan.random_share:.0%} at random"
    return f"{by}, drawn {how} (seed {plan.seed})"


def _process(plan: AnnotationPlan) -> str:
    saw = "blind to system and judge" if plan.judge is None else f"shown the scores of {plan.judge}"
    first = f", after {counted(len(plan.first_training), 'training item')}" if plan.training else ""
    return f"{saw}, each rater in an order of their own{first}"


#: What the run knows of each fact; None where only the authors know.
FACTS: Mapping[str, Callable[[ReportedStudy], str | None]] = {
    "analysis": _analysis,
    "conversations": _conversations,
    "counts": _counts,
    "detailed": lambda study: "every rating with its reason in ratings.parquet, every table at full precision as CSV",
    "estimates": lambda study: _agreements(study, "people"),
    "flow": _flow,
    "instrument": _instrument,
    "judges": _judges,
    "planned": _of_plans(_planned),
    "process": _of_plans(_process),
    "results": _results,
    "sampling": _of_plans(_sampling),
    "statistics": lambda study: " ".join(study.tables["agreement"].notes) if "agreement" in study.tables else None,
    "subjects": _subjects,
    "systems": _systems,
    "validation": lambda study: (
        _agreements(study, "consensus", of_judges=True) or _agreements(study, "mean", of_judges=True)
    ),
}


# -- Checklists of what a study must report -------------------------------------------------------------

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


COLUMNS = (
    Column("Item", "left", field="item", value="part.item"),
    Column("What to report", "left", field="asks", value="part.asks"),
    Column("From this run", "left", field="from_the_run", value="whole", form=lambda fact: fact or OPEN),
)


def checklists(run: Run, view: RatingsView, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Every checklist, filled from a run and its tables."""
    return tuple(checklist_table(checklist, run, view, tables) for checklist in CHECKLISTS.all().values())


def checklist_table(checklist: Checklist, run: Run, view: RatingsView, tables: Sequence[Table]) -> Table:
    """A checklist as a table: each item with what the run knows of it."""
    study = ReportedStudy(run, view, {table.name: table for table in tables})
    rows = [Part(FACTS[item.fact](study) if item.fact is not None else None, item) for item in checklist.items]
    return table_of(f"checklist_{checklist.name}", checklist.title, rows, COLUMNS, notes=(checklist.source,))
