"""``bedside drift``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.options import (
    WHICH,
    OutOption,
    QualityOption,
    RatersOption,
    RoundOption,
    SeedOption,
    SystemsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import open_source, read_names, read_numbers
from bedside.cli.rating_source import rating_source
from bedside.core.errors import DataError, InputError

if TYPE_CHECKING:
    from bedside.analysis.drift import Drift
    from bedside.analysis.ratings_view import RatingsView


def drift(
    source: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run whose transcripts have a factor that holds their length."),
    ],
    by: Annotated[
        str,
        typer.Option(metavar="FACTOR", help="Factor of the transcripts that holds the length.", rich_help_panel=WHICH),
    ] = "target_length",
    lengths: Annotated[
        str | None,
        typer.Option(
            metavar="SHORT,LONG",
            help="The two lengths to compare, such as 20,80. Without it, the shortest and the longest.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    systems: SystemsOption = None,
    metrics: QualityOption = None,
    raters: RatersOption = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    within: WithinOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Show how metrics change from the shortest to the longest conversations.

    Changes are in per cent of the mean and paired by case, so each case has to be run at both lengths.

    Examples:
        $ bedside drift run
        $ bedside drift run --by target_length --lengths 20,80
    """
    from bedside.analysis.drift import drift as changes_by_length
    from bedside.reports.levels import answered
    from bedside.reports.table import Tables
    from bedside.reports.tables.drift import drift_table

    two_lengths = _two_lengths(lengths)

    def answer(view: RatingsView) -> Tables[Drift]:
        drifts = changes_by_length(
            view,
            by,
            lengths=two_lengths,
            systems=read_names(systems),
            metrics=read_names(metrics),
            raters=read_names(raters),
            seed=seed,
        )
        if not any(metric.change.n for metric in drifts.changes):
            raise DataError(
                f"no case was run at both lengths, {drifts.shortest:g} and {drifts.longest:g}",
                where=str(source),
                todo="name two others with --lengths, or see bedside trend",
            )
        return Tables([drift_table(drifts, view.order)], drifts)

    view = open_source(rating_source(source), rounds=rounds, where=where)
    tables = answered(view, within, answer, besides=[by])
    show_and_write(tables, source=source, out=out)


def _two_lengths(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    numbers = read_numbers(text, "--lengths")
    if len(numbers) != 2:
        raise InputError(f"{text!r} is not two lengths", where="--lengths", todo="write --lengths 20,80")
    return numbers[0], numbers[1]
