"""How the raters of annotation plans keep up: time, hidden items with known answers, training, alarms."""

from __future__ import annotations

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.columns import Table
from bedside.reports.table_kind import TableKind


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Time, gold items, training and alarms of each rater; None where no plan of the run has answers."""
    run = view.run
    stores = [] if run is None else sorted(run.path.glob("annotations/*/answers.jsonl"))
    if run is None or not stores:
        return None
    from bedside.annotation.answer_store import read_store
    from bedside.annotation.items import coded_positions
    from bedside.annotation.plan_file import read_plan
    from bedside.annotation.rater_quality import rater_quality
    from bedside.annotation.reassignment import as_assigned
    from bedside.reports.annotation import quality_table

    qualities = []
    for path in stores:
        plan = as_assigned(run, read_plan(path.parent / "plan.json"))
        if plan.mode == "adjudicate":
            continue
        positions = coded_positions(plan, run) if run.keeps_text else {}
        qualities.append((plan, rater_quality(plan, read_store(run, plan), positions)))
    return quality_table(qualities) if qualities else None


TABLE = TableKind("rater_quality", "How raters keep up", 36, build, shown="always")
