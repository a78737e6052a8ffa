"""``bedside deviation``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli.options import (
    WHICH,
    ColumnsOption,
    MatchOption,
    MetricsOption,
    OutOption,
    RatersOption,
    RoundOption,
    ScaleOption,
    SystemsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import open_source, read_names
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings

if TYPE_CHECKING:
    from bedside.analysis.deviation import Deviation
    from bedside.analysis.ratings_view import RatingSource, RatingsView


@reads_ratings
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
    rounds: RoundOption = None,
    where: WhereOption = None,
    match: MatchOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    out: OutOption = None,
) -> None:
    """Show how far systems' means lie from those of a reference corpus.

    Examples:
        $ bedside deviation run --reference annomi-run
        $ bedside deviation run --reference human --metrics 'percent_*'
    """
    from bedside.analysis.deviation import deviation as deviations_from
    from bedside.reports.levels import answered
    from bedside.reports.table import Tables
    from bedside.reports.tables.deviation import deviation_table

    # What says how a file is read is meant for whichever of the two is a file.
    of_a_file = source.is_file() or Path(reference).is_file()

    def opened(path: Path) -> RatingSource:
        return path if path.is_dir() and of_a_file else rating_source(path, scale, columns, reading)

    corpus = open_source(opened(Path(reference)), scale) if Path(reference).exists() else reference

    def answer(view: RatingsView) -> Tables[tuple[Deviation, ...]]:
        deviations = deviations_from(
            view,
            corpus,
            systems=read_names(systems),
            metrics=read_names(metrics),
            raters=read_names(raters),
        )
        return Tables([deviation_table(deviations, Path(reference).name, view.order)], deviations)

    view = open_source(opened(source), scale, rounds=rounds, where=where, match=match)
    show_and_write(answered(view, within, answer), source=source, out=out)
