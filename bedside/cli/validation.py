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
from bedside.cli.parsing import read_names, read_pairs, read_rounds, read_where
from bedside.cli.probing import NO_PROBING, TypedProbing, asks_probes, probe_judges
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.shell_words import typed

MadeByOption = Annotated[
    str | None,
    typer.Option(
        metavar="SYSTEM=MODEL,…",
        help="Models that made the systems' conversations, such as A=openai/gpt-5-mini, where the run doesn't know it: "
        "a judge's levels of its own model's conversations are set against people's.",
        rich_help_panel=HOW,
    ),
]


@reads_ratings
@asks_probes
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
            help="Raters to check, such as judge:* or an algorithm; without it, all raters that are not people. With "
            "--probe, the models to ask: openai/MODEL, http://host:port/v1#MODEL …",
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
    made_by: MadeByOption = None,
    probing: TypedProbing = NO_PROBING,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Answer "may this judge stand in for people?".

    It shows the judge's agreement with people beside people's own, the alternative annotator test by case, its bias,
    how well it finds what is rare, its sensitivity and specificity where there are two levels, and whether the levels
    that it expects come true. There is no yes for a judge that always gives the same level, that may agree by chance
    only, or that never gives a level that people use.

    With --probe it asks models about changed conversations instead, and shows whether their levels move with what they
    must not move with. The same command again asks only what is missing.

    Examples:
        $ bedside validate run
        $ bedside validate run --judges 'judge:openai/*' --metrics empathy
        $ bedside validate run --probe --judge openai/gpt-5-mini --rubrics empathy --dry-run
    """
    from bedside.api import validate as validation_tables

    makers = read_pairs(made_by, "--made-by")
    if probing.asked:
        probe_judges(
            source,
            probing,
            judges=read_names(judges),
            rubrics=read_names(metrics),
            made_by=makers,
            seed=seed,
            out=out,
        )
        return
    probing.check_unasked()
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
        made_by=makers,
        seed=seed,
    )
    next_commands = f"bedside estimate {typed(source)}; bedside report {typed(source)}"
    show_and_write(tables, source=source, out=out, next_commands=next_commands)
