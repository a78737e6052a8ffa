"""``bedside agree``, ``compare``, ``validate`` and ``estimate``."""

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
    WeightsOption,
    read_names,
    read_pairs,
    show_and_write,
)
from bedside.cli.completion import one_of, raters


def agree(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings (CSV, TSV, XLSX, Parquet).")
    ],
    metrics: MetricsOption = None,
    raters: RatersOption = None,
    weights: WeightsOption = None,
    confusion: Annotated[
        bool,
        typer.Option(
            "--confusion", help="Also show who gave what where two raters differ.", rich_help_panel=HOW
        ),
    ] = False,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Show how well raters agree.

    People among themselves, and beside them each algorithm or judge that rated the same things.

    Examples:
        $ bedside agree run
        $ bedside agree run --metrics empathy,partnership --confusion
        $ bedside agree stars.csv --scale 1-5
    """
    from bedside.api import agree as run_agree

    made = run_agree(
        source,
        metrics=read_names(metrics),
        raters=read_names(raters),
        weights=weights,
        confusion=confusion,
        scales=scale or (),
        columns=read_pairs(columns, "--columns"),
        seed=seed,
    )
    show_and_write(made, json, source, out, f"bedside validate {source}; bedside report {source}")


def compare(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings with a system column.")
    ],
    systems: SystemsOption = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            "--against",
            metavar="SYSTEM",
            help="Compare each system with this one only, not all with all.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    metrics: QualityOption = None,
    raters: RatersOption = None,
    test: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Paired by case: wilcoxon, permutation, t, mcnemar, friedman; unpaired: mannwhitney, welch, "
            "student, kruskal; auto takes what fits the data and says why.",
            autocompletion=one_of(
                "auto",
                "wilcoxon",
                "permutation",
                "t",
                "mcnemar",
                "friedman",
                "mannwhitney",
                "welch",
                "student",
                "kruskal",
            ),
            rich_help_panel=HOW,
        ),
    ] = "auto",
    family: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Which p-values are corrected together: all, those of a metric, or of a level.",
            autocompletion=one_of("all", "metric", "level"),
            rich_help_panel=HOW,
        ),
    ] = "all",
    correction: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="holm, bonferroni or bh (Benjamini-Hochberg).",
            autocompletion=one_of("holm", "bonferroni", "bh"),
            rich_help_panel=HOW,
        ),
    ] = "holm",
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Compare systems pair by pair.

    Their means, the difference with its interval, a test, and the effect; paired by case where cases pair.

    Examples:
        $ bedside compare run --systems A,B
        $ bedside compare run --reference A --metrics 'empathy,percent_*' --test permutation
    """
    from bedside.api import compare as run_compare

    made = run_compare(
        source,
        systems=read_names(systems),
        reference=reference,
        metrics=read_names(metrics),
        raters=read_names(raters),
        test=test,
        family=family,
        correction=correction,
        scales=scale or (),
        columns=read_pairs(columns, "--columns"),
        seed=seed,
    )
    first = made[-1].records[0]
    cell = f"{first['metric']}/{first['a']}"
    show_and_write(
        made, json, source, out, f"bedside explain {source} --cell {cell}; bedside report {source}"
    )


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
            help="Whom to check: judge:*, or algorithms; all that are not people unless named.",
            autocompletion=raters,
            rich_help_panel=WHICH,
        ),
    ] = None,
    metrics: MetricsOption = None,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            help="How much worse than a person the judge may be, for what it saves: .2 where people are experts, "
            ".15 skilled, .1 crowd workers.",
            rich_help_panel=HOW,
        ),
    ] = 0.2,
    weights: WeightsOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Answer "may this judge stand in for people?".

    Its agreement with people beside people's own, its bias, and the alternative annotator test.

    Examples:
        $ bedside validate run
        $ bedside validate run --judges 'judge:openai/*' --metrics empathy
    """
    from bedside.api import validate as run_validate

    made = run_validate(
        source,
        judges=read_names(judges),
        metrics=read_names(metrics),
        epsilon=epsilon,
        weights=weights,
        scales=scale or (),
        columns=read_pairs(columns, "--columns"),
        seed=seed,
    )
    show_and_write(made, json, source, out, f"bedside estimate {source}; bedside report {source}")


def estimate(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings by people and a judge.")
    ],
    judge: Annotated[
        str,
        typer.Option(
            metavar="RATER",
            help="Who rated everything; a pattern that matches one rater.",
            autocompletion=raters,
            rich_help_panel=WHICH,
        ),
    ] = "judge:*",
    systems: SystemsOption = None,
    metrics: MetricsOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Correct a judge's means by what people rated.

    Each system's mean from the judge on all transcripts, from people on their sample, and from both together, by
    prediction-powered inference.

    Examples:
        $ bedside estimate run
        $ bedside estimate run --judge judge:openai/gpt-5-mini --metrics empathy
    """
    from bedside.api import estimate as run_estimate

    made = run_estimate(
        source,
        judge=judge,
        systems=read_names(systems),
        metrics=read_names(metrics),
        scales=scale or (),
        columns=read_pairs(columns, "--columns"),
        seed=seed,
    )
    show_and_write(made, json, source, out, f"bedside report {source}")
