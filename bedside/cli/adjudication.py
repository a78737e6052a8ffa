"""``bedside annotate adjudicate``: what raters differ on goes to somebody who settles it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.api.annotating import keep_plan
from bedside.cli.completion import rubrics as rubric_names
from bedside.cli.label_studio import annotate_app as annotate_app
from bedside.cli.options import SeedOption
from bedside.cli.output import note, show_tables
from bedside.cli.parsing import read_names
from bedside.cli.plans import PlanArgument, RunOption, open_plan, run_option
from bedside.core.words import typed


@annotate_app.command("adjudicate")
def annotate_adjudicate(
    plan: PlanArgument,
    adjudicators: Annotated[
        str,
        typer.Option(
            "--adjudicators",
            "--adjudicator",
            metavar="A,B",
            help="Who settles, such as dora; nobody settles what they rated themselves.",
        ),
    ],
    rubrics: Annotated[
        str | None,
        typer.Option(
            "--rubrics",
            "--rubric",
            metavar="A,B",
            help="Rubrics of the plan by which disagreements are settled; all of them unless named.",
            autocompletion=rubric_names,
        ),
    ] = None,
    beyond: Annotated[
        int,
        typer.Option(
            metavar="LEVELS",
            help="Settle only where raters are more than this many levels apart. Without it, wherever they differ.",
        ),
    ] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write the plan to.")] = Path(
        "adjudication.json"
    ),
    run: RunOption = None,
    seed: SeedOption = 0,
) -> None:
    """Have somebody settle what the raters of a plan differ on, without seeing who said what.

    Use the plan that it writes like any other: push and pull, page, or export and import. Its answers become
    final labels, which stand for what people say together; agreement stays that of the raters.

    Examples:
        $ bedside annotate adjudicate plan.json --adjudicator dora --out adjudication.json
        $ bedside annotate adjudicate plan.json --adjudicator dora --rubrics empathy --beyond 1
    """
    from bedside.annotation.adjudication import adjudicate
    from bedside.reports.annotation import adjudication_tables

    read, opened = open_plan(plan, run)
    settled = adjudicate(
        opened,
        read,
        read_names(adjudicators) or (),
        rubrics=read_names(rubrics),
        beyond=beyond,
        seed=seed,
    )
    keep_plan(settled.plan, opened, out)
    show_tables(adjudication_tables(settled))
    named = f"{typed(out)}{run_option(out, opened)}"
    note(f"Wrote {out}. Next: bedside annotate push {named}, or bedside annotate export {named}")
