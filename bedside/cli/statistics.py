"""``bedside agree``, ``compare``, ``validate`` and ``estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli._common import (
    ColumnsOption,
    JsonOption,
    OutOption,
    ScaleOption,
    SeedOption,
    open_source,
    read_names,
    show_and_write,
)
from bedside.errors import DataError


def agree(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings (CSV, TSV, XLSX, Parquet).")],
    metrics: Annotated[
        str | None, typer.Option("--metrics", "--rubric", help="Metrics or patterns: a,b*.")
    ] = None,
    raters: Annotated[str | None, typer.Option(help="Raters or patterns: human:*,judge:*.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Of kappa on ordered scales: quadratic, linear or none.")
    ] = None,
    confusion: Annotated[bool, typer.Option("--confusion", help="Show confusion matrices too.")] = False,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how well raters agree: people among themselves, and algorithms and judges beside them."""
    from bedside.agreement import agree as run_agree
    from bedside.reports.tables.agreement import agreement_table, confusion_tables

    agreements = run_agree(
        open_source(source, scale, columns),
        metrics=read_names(metrics),
        raters=read_names(raters),
        weights=weights,  # type: ignore[arg-type]
        seed=seed,
    )
    show_and_write(
        (agreement_table(agreements), *(confusion_tables(agreements) if confusion else ())), json, source, out
    )


def compare(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings with a system column.")],
    systems: Annotated[str | None, typer.Option(help="The systems: A,B,C; all unless named.")] = None,
    reference: Annotated[str | None, typer.Option(help="Compare each system with this one only.")] = None,
    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics or patterns; those that say something of quality unless named."),
    ] = None,
    raters: Annotated[str | None, typer.Option(help="Raters or patterns: human:*,judge:*.")] = None,
    test: Annotated[
        str,
        typer.Option(
            help="auto, wilcoxon, permutation, t, mcnemar, friedman; mannwhitney, welch, student, kruskal."
        ),
    ] = "auto",
    family: Annotated[str, typer.Option(help="p-values corrected together: all, metric or level.")] = "all",
    correction: Annotated[str, typer.Option(help="holm, bonferroni or bh.")] = "holm",
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Compare systems pair by pair, paired by case where cases pair."""
    from bedside.comparison import compare as run_compare
    from bedside.reports.tables.comparison import comparison_table, overall_table

    comparisons = run_compare(
        open_source(source, scale, columns),
        systems=read_names(systems),
        reference=reference,
        metrics=read_names(metrics),
        raters=read_names(raters),
        test=test,  # type: ignore[arg-type]
        family=family,  # type: ignore[arg-type]
        correction=correction,  # type: ignore[arg-type]
        seed=seed,
    )
    if not comparisons.pairs:
        raise DataError(
            "no metric to compare has a value", where=str(source), todo="name some with --metrics"
        )
    overall = (overall_table(comparisons.overall),) if comparisons.overall else ()
    show_and_write((*overall, comparison_table(comparisons.pairs)), json, source, out)


def validate(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings by people and judges.")],
    judges: Annotated[
        str | None, typer.Option(help="Judges or patterns: judge:*; all but people unless named.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", "--rubric", help="Metrics or patterns: a,b*.")
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(
            help="How much worse than a person the judge may be: .2 experts, .15 skilled, .1 crowd."
        ),
    ] = 0.2,
    weights: Annotated[
        str | None, typer.Option(help="Of kappa on ordered scales: quadratic, linear or none.")
    ] = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Answer "may I use this judge?": agreement beside people's own, bias, and the alternative annotator test."""
    from bedside.reports.validation import validation_tables
    from bedside.validation import validate as run_validate

    cards = run_validate(
        open_source(source, scale, columns),
        judges=read_names(judges),
        metrics=read_names(metrics),
        epsilon=epsilon,
        weights=weights,  # type: ignore[arg-type]
        seed=seed,
    )
    show_and_write(validation_tables(cards), json, source, out)


def estimate(
    source: Annotated[Path, typer.Argument(help="A run, or a file of ratings by people and a judge.")],
    judge: Annotated[
        str, typer.Option(help="The rater that rated everything; a pattern that matches one.")
    ] = "judge:*",
    systems: Annotated[str | None, typer.Option(help="The systems: A,B,C; all unless named.")] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", "--rubric", help="Metrics or patterns: a,b*.")
    ] = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Give each system's mean from the judge, from people, and corrected: the judge on all, people on a sample."""
    from bedside.estimation import estimate as run_estimate
    from bedside.reports.validation import estimate_table

    estimates = run_estimate(
        open_source(source, scale, columns),
        judge=judge,
        systems=read_names(systems),
        metrics=read_names(metrics),
        seed=seed,
    )
    show_and_write([estimate_table(estimates)], json, source, out)
