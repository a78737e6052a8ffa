"""Annotation plans as the commands take them: found with their runs, checked, written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.core.errors import BedsideError
from bedside.core.words import typed
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.ratings.run import Run


PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan that bedside sample wrote.")]


RunOption = Annotated[
    Path | None,
    typer.Option("--run", metavar="RUN", help="The run of the plan. Without it, the run beside the plan, or ./run."),
]


def open_plan(path: Path, run: Path | None) -> tuple[AnnotationPlan, Run]:
    """A plan as it is assigned now, and its run.

    The run is the one named, the folder that holds the plan, or ``run`` beside the plan or here.
    """
    from bedside.annotation.annotation_plan import run_identity
    from bedside.annotation.plan_file import PlanError, read_plan
    from bedside.annotation.reassignment import as_assigned
    from bedside.ratings.run import Run

    if run is not None:
        opened = Run(run)
        return as_assigned(opened, read_plan(path, opened)), opened
    plan = read_plan(path)
    for folder in (*path.resolve().parents, path.resolve().parent / "run", Path("run")):
        if is_run(folder):
            try:
                candidate = Run(folder)
                is_its_run = run_identity(candidate) == plan.run
            except BedsideError:
                continue  # some other folder with a manifest
            if is_its_run:
                return as_assigned(candidate, plan), candidate
    raise PlanError("the run of the plan is not beside it", where=str(path), todo="name the run with --run")


def run_option(plan: Path, run: Run) -> str:
    """What a command on a plan needs to find its run: nothing where the run is where :func:`open_plan` looks."""
    beside = (*plan.resolve().parents, plan.resolve().parent / "run", Path("run").resolve())
    return "" if Path(run.path).resolve() in beside else f" --run {typed(run.path)}"


def check_plan_current(plan: AnnotationPlan, folder: Path | None, where: Path) -> None:
    """Refuse a plan whose rubrics are no longer those of their name."""
    from bedside.annotation.plan_file import check_current
    from bedside.judges.rubrics.rubric_files import CODEBOOK, rubrics_with

    names = [planned.rubric.name for planned in plan.rubrics]
    registry = rubrics_with(folder)
    if plan.mode == "codes":
        rubrics = [CODEBOOK.load(name) for name in names if name in CODEBOOK]
    else:
        rubrics = [
            registry.find_in(planned.rubric.name, planned.rubric.language)
            for planned in plan.rubrics
            if planned.rubric.name in registry and not planned.rubric.tuned
        ]
    check_current(plan, rubrics, str(where))
