"""``bedside drift``, ``trend`` and ``deviation``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.common import (
    HOW,
    WHICH,
    ColumnsOption,
    JsonOption,
    MetricsOption,
    OutOption,
    QualityOption,
    RatersOption,
    ScaleOption,
    SeedOption,
    SystemsOption,
    open_source,
    read_names,
    read_numbers,
    show_and_write,
)
from bedside.support.errors import DataError, InputError


def drift(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run whose transcripts have a factor of lengths.")
    ],
    by: Annotated[
        str,
        typer.Option(
            metavar="FACTOR", help="The factor that holds the length condition.", rich_help_panel=WHICH
        ),
    ] = "target_length",
    lengths: Annotated[
        str | None,
        typer.Option(
            metavar="SHORT,LONG",
            help="The two conditions: 20,80; the least and the greatest unless given.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    systems: SystemsOption = None,
    metrics: QualityOption = None,
    raters: RatersOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how metrics change from the shortest to the longest conversations.

    In per cent of the mean, paired by case: each case is to be run at both lengths.

    Examples:
        $ bedside drift run
        $ bedside drift run --by target_length --lengths 20,80
    """
    from bedside.analysis.drift import drift as run_drift
    from bedside.reports.tables.drift import drift_table

    found = run_drift(
        open_source(source, None, None),
        by,
        lengths=_two(lengths),
        systems=read_names(systems),
        metrics=read_names(metrics),
        raters=read_names(raters),
        seed=seed,
    )
    if not any(one.change.n for one in found.changes):
        raise DataError(
            f"no case was run at both lengths, {found.shortest:g} and {found.longest:g}",
            where=str(source),
            todo="name two others with --lengths, or see bedside trend",
        )
    show_and_write([drift_table(found)], json, source, out)


def trend(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings with a metric called turns.")
    ],
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="N,N",
            help="Numbers of messages at which columns begin: 10,20,40; quartiles unless given.",
            rich_help_panel=HOW,
        ),
    ] = None,
    systems: SystemsOption = None,
    metrics: QualityOption = None,
    raters: RatersOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show metrics by the number of messages, with a test of the trend.

    Examples:
        $ bedside trend run
        $ bedside trend run --edges 10,20,40 --metrics empathy
    """
    from bedside.analysis.drift import trend as run_trend
    from bedside.reports.tables.length import length_table

    trends = run_trend(
        open_source(source, scale, columns),
        edges=None if edges is None else _whole(edges, "--edges"),
        systems=read_names(systems),
        metrics=read_names(metrics),
        raters=read_names(raters),
    )
    show_and_write([length_table(trends)], json, source, out)


def deviation(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings.")],
    reference: Annotated[
        str,
        typer.Option(
            metavar="REFERENCE",
            help="The reference corpus: a run, a file of ratings, or one of RUN's systems.",
            rich_help_panel=WHICH,
        ),
    ],
    systems: SystemsOption = None,
    metrics: MetricsOption = None,
    raters: RatersOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how far systems' means lie from those of a reference corpus.

    Examples:
        $ bedside deviation run --reference annomi-run
        $ bedside deviation run --reference human --metrics 'percent_*'
    """
    from bedside.analysis.drift import deviation as run_deviation
    from bedside.reports.tables.deviation import deviation_table

    found = run_deviation(
        open_source(source, scale, columns),
        open_source(Path(reference), scale, columns) if Path(reference).exists() else reference,
        systems=read_names(systems),
        metrics=read_names(metrics),
        raters=read_names(raters),
    )
    show_and_write([deviation_table(found, Path(reference).name)], json, source, out)


def _two(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    numbers = read_numbers(text, "--lengths")
    if len(numbers) != 2:
        raise InputError(f"{text!r} is not two lengths", where="--lengths", todo="write --lengths 20,80")
    return numbers[0], numbers[1]


def _whole(text: str, option: str) -> list[int]:
    numbers = read_numbers(text, option)
    if not all(number.is_integer() for number in numbers):
        raise InputError(f"{text!r} are no whole numbers", where=option, todo=f"write {option} 10,20,40")
    return [int(number) for number in numbers]
