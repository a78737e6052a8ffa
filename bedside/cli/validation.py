"""``bedside validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bedside.cli import completion as complete
from bedside.cli.options import (
    HOW,
    WHICH,
    ColumnsOption,
    JsonOption,
    MetricsOption,
    OutOption,
    RoundOption,
    ScaleOption,
    SeedOption,
    WeightsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import read_names, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings


@reads_ratings
def validate(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings by people and judges.")
    ],
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            "--judge",
            metavar="A,B*",
            help="Raters to check, such as judge:* or an algorithm; without it, all raters that are not people.",
            autocompletion=complete.raters,
            rich_help_panel=WHICH,
        ),
    ] = None,
    metrics: MetricsOption = None,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            help="How much worse than a person the judge may be, in return for what it saves: .2 where the people "
            "are experts, .15 where they are skilled, .1 where they are crowd workers.",
            rich_help_panel=HOW,
        ),
    ] = 0.2,
    weights: WeightsOption = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Answer "may this judge stand in for people?".

    It shows the judge's agreement with people beside people's own, the alternative annotator test by case, its bias,
    how well it finds what is rare, its sensitivity and specificity where there are two levels, and whether the levels
    that it expects come true. A judge that doesn't vary, may agree by chance only or never gives a level that people
    use gets no yes.

    Examples:
        $ bedside validate run
        $ bedside validate run --judges 'judge:openai/*' --metrics empathy
    """
    from bedside.api import validate as validation_tables

    tables = validation_tables(
        rating_source(source, scale, columns, reading),
        judges=read_names(judges),
        metrics=read_names(metrics),
        epsilon=epsilon,
        weights=cast(Any, weights),
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        within=within,
        seed=seed,
    )
    next_commands = f"bedside estimate {source}; bedside report {source}"
    show_and_write(tables, source=source, out=out, as_json=json, next_commands=next_commands)
