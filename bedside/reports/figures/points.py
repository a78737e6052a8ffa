"""Points: each transcript's value by system, under the mean and its interval, a panel for each metric."""

from __future__ import annotations

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figures.bars import BarsOptions, means_figure
from bedside.reports.measures import Headed
from bedside.reports.table_kind import Options


class PointsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the metrics of whole transcripts; unless named, those of quality, or all where none is.
        against, raters: as of bars.
    """

    metrics: Headed = Field(default_factory=dict)
    against: str | None = None
    raters: tuple[str, ...] = ()


def build(view: RatingsView, seed: int, options: PointsOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    chosen = {name: getattr(options, name) for name in ("metrics", "against", "raters")}
    if not any(options.metrics.values()):
        chosen["metrics"] = quality_metrics(view) or view.metrics()
    named = {"id": options.id or "points", "title": options.title or "Values by system"}
    return means_figure(view, BarsOptions.model_validate({**named, **chosen}), dots=True)


FIGURE = FigureKind(
    "points", "Each transcript's value by system", 10, build, PointsOptions, general=True, beside="results"
)
