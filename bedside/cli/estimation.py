"""``bedside estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bedside.analysis.choices import ESTIMATE_ABOUT, ESTIMATE_METHODS
from bedside.cli import completion as complete
from bedside.cli.options import (
    HOW,
    WHICH,
    ColumnsOption,
    MatchOption,
    MetricsOption,
    OutOption,
    RoundOption,
    ScaleOption,
    SystemsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import read_names, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.words import typed
from bedside.ratings.names import JUDGES


@reads_ratings
def estimate(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings by people and a judge.")],
    judge: Annotated[
        str,
        typer.Option(
            metavar="RATER",
            help="The rater that rated everything: its name, or a pattern that fits no other rater.",
            autocompletion=complete.raters,
            rich_help_panel=WHICH,
        ),
    ] = JUDGES,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="A,B*",
            help="People whose ratings count, such as human:anna. Without it, all of them.",
            autocompletion=complete.raters,
            rich_help_panel=WHICH,
        ),
    ] = None,
    systems: SystemsOption = None,
    metrics: MetricsOption = None,
    about: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What the means are about: cases like these, in the run's mix (cases), as a paper's claims are; or "
            "this run's transcripts alone (run), of which those that people rated are known.",
            autocompletion=complete.choices(*ESTIMATE_ABOUT),
            rich_help_panel=HOW,
        ),
    ] = "cases",
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How they are corrected: prediction-powered; or rogan-gladen, for metrics of zeros and ones.",
            autocompletion=complete.choices(*ESTIMATE_METHODS),
            rich_help_panel=HOW,
        ),
    ] = "prediction-powered",
    rounds: RoundOption = None,
    where: WhereOption = None,
    match: MatchOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    out: OutOption = None,
) -> None:
    """Correct a judge's means by what people rated.

    It shows each system's mean from the judge on all transcripts, from people on their sample, and from both together,
    by prediction-powered inference. What people rated is weighted as the plan drew it.

    Examples:
        $ bedside estimate run
        $ bedside estimate run --judge judge:openai/gpt-5-mini --metrics empathy
        $ bedside estimate run --about run
    """
    from bedside.api import estimate as estimate_tables

    tables = estimate_tables(
        rating_source(source, scale, columns, reading),
        judge=judge,
        people=read_names(people),
        systems=read_names(systems),
        metrics=read_names(metrics),
        about=cast(Any, about),
        method=cast(Any, method),
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        match=read_names(match),
        within=within,
    )
    next_commands = f"bedside report {typed(source)}"
    show_and_write(tables, source=source, out=out, next_commands=next_commands)
