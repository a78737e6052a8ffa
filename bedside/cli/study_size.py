"""``bedside plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.analysis.choices import WEIGHTS
from bedside.api.rating_questions import Matched, view_of
from bedside.cli.completion import choices
from bedside.cli.help import App
from bedside.cli.options import SeedOption
from bedside.cli.output import show_tables
from bedside.cli.parsing import read_names, read_numbers
from bedside.cli.question_commands import files_told
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import DataError

plan_app: App = App(
    """Say how many transcripts and raters a study needs.

    Examples:
        $ bedside plan kappa --half-width .1 --kappa .6 --raters 2,3
        $ bedside plan difference --difference .5 --sd 1
    """
)


@plan_app.command("kappa")
def plan_kappa(
    half_width: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Half the width that kappa's 95 % interval should have."),
    ] = 0.1,
    kappa: Annotated[float, typer.Option(metavar="NUMBER", help="The kappa that you expect.")] = 0.6,
    shares: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="Share that you expect of each level, lowest first, such as .1,.2,.4,.2,.1."),
    ] = None,
    levels: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Number of levels of equal shares, where --shares is not given."),
    ] = 5,
    raters: Annotated[str, typer.Option(metavar="N,N", help="Numbers of raters to plan for.")] = "2,3,5",
    weights: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Weights of kappa: quadratic, linear or none.",
            autocompletion=choices(*WEIGHTS),
        ),
    ] = "quadratic",
    seed: SeedOption = 0,
) -> None:
    """Say how many transcripts and raters give a kappa interval of some width.

    Where levels are ordered, raters who mostly miss each other by one level need fewer transcripts than raters who
    guess: both numbers are given.

    Examples:
        $ bedside plan kappa --half-width .1 --kappa .6 --raters 2,3
    """
    from bedside.analysis.study_size import sizes_for_kappa
    from bedside.reports.study_size import kappa_table

    expected = read_numbers(shares, "--shares") if shares else [1 / levels] * levels
    counts = [int(count) for count in read_numbers(raters, "--raters")]
    sizes = sizes_for_kappa(kappa, half_width, shares=expected, raters=counts, weights=weights, seed=seed)
    show_tables([kappa_table(sizes)])


@plan_app.command("difference")
@takes_settings
def plan_difference(
    difference: Annotated[
        float, typer.Option(metavar="NUMBER", help="The smallest mean difference that is worth finding.")
    ],
    sd: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Standard deviation of the differences between systems on one case."),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A run, or a file of ratings, to take the standard deviation from."),
    ] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Metric of the pilot to take it from.")] = None,
    systems: Annotated[
        str | None, typer.Option(metavar="A,B", help="The two systems of the pilot to take it from.")
    ] = None,
    *,
    pilots: Matched,
    power: Annotated[
        float, typer.Option(metavar="NUMBER", help="Chance of finding the difference if there is one.")
    ] = 0.8,
    tests: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Number of tests that are corrected together; alpha is divided by it."),
    ] = 1,
    seed: SeedOption = 0,
) -> None:
    """Say how many cases, each run with both systems, show a difference between them.

    Examples:
        $ bedside plan difference --difference .5 --sd 1
        $ bedside plan difference --difference .5 --pilot run --metric empathy --systems A,B
    """
    from bedside.analysis.study_size import pilot_differences, sizes_for_difference
    from bedside.reports.study_size import difference_table

    if difference == 0:
        raise DataError("no study is large enough to find a difference of 0", where="--difference")
    differences = None
    if pilot is not None:
        with files_told():
            view = view_of(pilot, pilots)
        differences = pilot_differences(view, metric, read_names(systems))
    elif sd is None:
        raise DataError("give --sd, or --pilot with --metric and --systems", where="plan difference")
    sizes = sizes_for_difference(difference, sd=sd, pilot=differences, power=power, tests=tests, seed=seed)
    show_tables([difference_table(sizes)])
