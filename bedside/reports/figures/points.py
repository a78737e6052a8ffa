"""Points: each transcript's value by system, with the mean and its interval, a panel for each metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.reports.figure_kind import (
    COLOURS,
    MARKERS,
    Drawing,
    FigureKind,
    across_note,
    panels,
    wrapped,
)
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.samples import Sample, Samples, measure
from bedside.reports.table_kind import Options

_PANELS = 12
#: Of more transcripts a system, evenly spaced ones are shown.
_POINTS = 100


class PointsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the metrics of whole transcripts; unless named, those of quality first, then others, up to twelve.
        against: a system whose means are shown across those of the others.
    """

    metrics: Headed = Field(default_factory=dict)
    against: str | None = None


def build(view: RatingsView, seed: int, options: PointsOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    headed: Any = options.metrics
    if not any(headed.values()):
        names = quality_metrics(view)
        names += [name for name in view.metrics() if name not in names]
        headed = {"": [TableMeasure(metric=name) for name in names]}
    items = measure(view, headed).items[:_PANELS]
    if not items:
        return None
    systems = sorted({system for _, samples in items for system, _ in samples})

    def draw() -> Any:
        figure, axes = panels(len(items), 3.2, 0.75 + 0.34 * len(systems))
        for axis, (item, samples) in zip(axes, items, strict=True):
            axis.set_title(wrapped(item.title, 38))
            _strip(axis, samples, systems, item.scale, options.against)
        return figure

    return Drawing(
        options.id or "points",
        options.title or "Values by system",
        (
            "One dot a transcript; the marked point is the mean, the bar its 95 % t interval, over cases where one has "
            "several transcripts.",
            *across_note(options.against, systems),
        ),
        draw,
    )


def _strip(axis: Any, samples: Samples, systems: list[str], scale: float, against: str | None) -> None:
    from bedside.stats.intervals import mean_t

    for position, system in enumerate(systems):
        sample: Sample | None = samples.get((system, ()))
        if sample is None or not sample.n:
            continue
        values = sample.values * scale
        points = np.sort(values)[:: -(-values.size // _POINTS)] if values.size > _POINTS else values
        colour = COLOURS[position % len(COLOURS)]
        # Points are spread by rank, not at random, so that equal values don't hide one another.
        spread = (np.arange(points.size) % 5 - 2) * 0.055
        axis.plot(points, position + spread, "o", color=colour, alpha=0.35, markersize=3.5, markeredgewidth=0)
        result = mean_t(values, clusters=None if sample.is_single else sample.clusters)
        if system == against:
            axis.axvline(result.estimate, color="black", linestyle=":", linewidth=1.3)
        if result.interval is not None:
            axis.plot(
                [result.interval.low, result.interval.high], [position] * 2, color="black", linewidth=1.6
            )
        axis.plot(result.estimate, position, MARKERS[position % len(MARKERS)], color=colour, markersize=6.5,
                  markeredgecolor="black", markeredgewidth=0.8)  # fmt: skip
    axis.set_yticks(range(len(systems)), systems)
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)


FIGURE = FigureKind("points", "Each transcript's value by system", 10, build, PointsOptions, general=True)
