"""``bedside gate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.completion import raters as rater_names
from bedside.cli.options import (
    HOW,
    WHICH,
    ColumnsOption,
    GroupsOption,
    MatchOption,
    RoundOption,
    ScaleOption,
    WhereOption,
)
from bedside.cli.output import gives_verdict, show_tables
from bedside.cli.parsing import read_names, read_pairs, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.errors import InputError

#: What the command ends with where the gate isn't passed; 2 is for input that can't be read.
NOT_PASSED = 1


@gives_verdict
@reads_ratings
def gate(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings with a column of systems.")
    ],
    baseline: Annotated[
        str,
        typer.Option(metavar="SYSTEM", help="The system that the new one is compared with.", rich_help_panel=WHICH),
    ],
    margin: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=NUMBER",
            help="How much worse the new system may be on a metric, in its unit, such as empathy=0.3. Where bedside "
            "doesn't know which way is better, say it: flags=0.1:lower. May be repeated.",
            rich_help_panel=HOW,
        ),
    ],
    system: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help="The new system. Without it, the only other one.", rich_help_panel=WHICH),
    ] = None,
    groups: GroupsOption = None,
    safety: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LEVEL",
            help="A metric of safety, and the level at which a transcript fails, or worse. Rubrics that say fails_at "
            "count without it. May be repeated.",
            rich_help_panel=HOW,
        ),
    ] = None,
    raters: Annotated[
        str | None,
        typer.Option(
            metavar="A,B*",
            help="Raters whose ratings the margins rest on, such as human:* or judge:*. For safety all count.",
            autocompletion=rater_names,
            rich_help_panel=WHICH,
        ),
    ] = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    match: MatchOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
) -> None:
    """Let a new system pass only if it is shown to be no worse.

    It ends with exit code 0 where the new system is shown to be no worse than the baseline by every margin, and no
    metric of safety fails; else with 1. It is made for continuous integration. With --json it prints an object:
    passed, the error's text if there is one, and the tables.

    Examples:
        $ bedside gate run --baseline A --margin empathy=0.3
        $ bedside gate run --baseline A --system B --margin empathy=0.3 --margin smog=1 --safety leaks=1
    """
    from bedside.api import gate as gate_tables

    tables = gate_tables(
        rating_source(source, scale, columns, reading),
        baseline=baseline,
        margin=_by_metric(margin, "--margin"),
        system=system,
        groups=groups,
        safety={name: _level(level) for name, level in _by_metric(safety or [], "--safety").items()},
        raters=read_names(raters),
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        match=read_names(match),
    )
    show_tables(tables)
    if not tables.results.passed:
        raise typer.Exit(NOT_PASSED)


def _by_metric(texts: list[str], option: str) -> dict[str, str]:
    """``name=value``, as often as it was typed."""
    return {name: value for text in texts for name, value in read_pairs(text, option).items()}


def _level(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{text!r} is no number", where="--safety", todo="write --safety NAME=LEVEL") from None
