"""``bedside compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bedside.analysis.choices import ALTERNATIVES, CORRECTION_FAMILIES, CORRECTIONS, TESTS
from bedside.cli.completion import choices
from bedside.cli.options import (
    HOW,
    WHICH,
    ColumnsOption,
    GroupsOption,
    MatchOption,
    OutOption,
    QualityOption,
    RatersOption,
    RoundOption,
    ScaleOption,
    SeedOption,
    SystemsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import read_margins, read_names, read_rounds, read_where
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.words import typed

ReferenceOption = Annotated[
    str | None,
    typer.Option(
        "--reference",
        "--against",
        metavar="SYSTEM",
        help="Compare each system with this one only, instead of all with all.",
        rich_help_panel=WHICH,
    ),
]
MarginOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NUMBER",
        help="Also say which systems are alike, or no worse, if a difference up to this is accepted, in the metric's "
        "unit; empathy=0.3 is the margin of one metric. May be repeated.",
        rich_help_panel=HOW,
    ),
]
TestOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The test. Paired by case: wilcoxon, permutation, t, mcnemar, friedman; unpaired: mannwhitney, fisher, "
        "welch, student, kruskal; some cases shared: overlapping; auto takes the one that fits the data and says why.",
        autocompletion=choices(*TESTS),
        rich_help_panel=HOW,
    ),
]
AlternativeOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="two-sided; or one-sided, that the first system of a pair is higher (greater) or lower (less). Interval "
        "and p are then one-sided.",
        autocompletion=choices(*ALTERNATIVES),
        rich_help_panel=HOW,
    ),
]
AdjustedOption = Annotated[
    bool,
    typer.Option(
        "--adjusted-intervals",
        help="Intervals that hold all at once within a family of tests (Bonferroni).",
        rich_help_panel=HOW,
    ),
]
FamilyOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Which p-values are corrected together: all of them, those of one metric, or those of one level.",
        autocompletion=choices(*CORRECTION_FAMILIES),
        rich_help_panel=HOW,
    ),
]
CorrectionOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How p-values are corrected: holm, bonferroni or bh (Benjamini-Hochberg).",
        autocompletion=choices(*CORRECTIONS),
        rich_help_panel=HOW,
    ),
]


@reads_ratings
def compare(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings with a column of systems.")
    ],
    systems: SystemsOption = None,
    groups: GroupsOption = None,
    reference: ReferenceOption = None,
    metrics: QualityOption = None,
    raters: RatersOption = None,
    margin: MarginOption = None,
    test: TestOption = "auto",
    alternative: AlternativeOption = "two-sided",
    family: FamilyOption = "all",
    correction: CorrectionOption = "holm",
    adjusted_intervals: AdjustedOption = False,
    rounds: RoundOption = None,
    where: WhereOption = None,
    match: MatchOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Compare systems pair by pair.

    Each case counts once: its transcripts, passes and raters are averaged first. The answer has means, a test with its
    estimate and interval, and the effect; values are paired where both systems have the case.

    Examples:
        $ bedside compare run --systems A,B
        $ bedside compare run --groups mi_quality
        $ bedside compare run --reference A --metrics 'empathy,percent_*' --test permutation
        $ bedside compare run --systems new,old --metrics empathy --margin 0.3
        $ bedside compare run --systems new,old --alternative greater --adjusted-intervals
    """
    from bedside.api import compare as comparison_tables

    tables = comparison_tables(
        rating_source(source, scale, columns, reading),
        systems=read_names(systems),
        groups=groups,
        reference=reference,
        metrics=read_names(metrics),
        raters=read_names(raters),
        margin=read_margins(margin),
        test=cast(Any, test),
        alternative=cast(Any, alternative),
        family=cast(Any, family),
        correction=cast(Any, correction),
        adjusted_intervals=adjusted_intervals,
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        match=read_names(match),
        within=within,
        seed=seed,
    )
    next_commands = f"bedside report {typed(source)}"
    if groups is None:
        first_pair = tables[-1].records[0]
        cell = f"{first_pair['metric']}/{first_pair['a']}"
        next_commands = f"bedside explain {typed(source)} --cell {cell}; {next_commands}"
    show_and_write(tables, source=source, out=out, next_commands=next_commands)
