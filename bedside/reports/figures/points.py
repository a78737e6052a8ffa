"""Points: each transcript's value by system, with the mean and its interval, a panel for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figure_parts import (
    across_note,
    height_of_names,
    in_first_column,
    name_rows,
    panels,
    share_axis,
    style,
    width_of_names,
    wrapped,
)
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.number_text import DASH
from bedside.reports.samples import MeasureRow, Sample, Samples, interval_note, interval_of, measure
from bedside.reports.table_kind import Options

#: Of more transcripts a system, evenly spaced ones are shown; fewer where a figure has many systems and panels.
_POINTS, _FEWEST = 100, 12
#: Dots of a figure.
_DOTS = 30_000
#: Letters in a line of a panel's title, and of a system's name.
_LETTERS, _NAMES = 36, 40


class PointsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the metrics of whole transcripts; unless named, all, those of quality first.
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
    items = measure(view, headed).items
    if not items:
        return None
    systems = view.order.ordered_systems(system for _, samples in items for system, _ in samples)
    labels = [view.order.system_label(system) for system in systems]
    most = max(_FEWEST, min(_POINTS, _DOTS // (len(items) * len(systems))))
    missing = any(
        (system, ()) not in samples or samples[system, ()].estimate is None
        for _, samples in items
        for system in systems
    )
    thinned = any(sample.n > most for _, samples in items for sample in samples.values())

    def draw() -> Any:
        above = height_of_names([item.title for item, _ in items], _LETTERS)
        height = 0.5 + above + max(0.34, height_of_names(labels, _NAMES)) * len(systems)
        figure, axes = panels(len(items), 3.0, height, beside=width_of_names(labels, _NAMES))
        for axis, (item, samples) in zip(axes, items, strict=True):
            axis.set_title(wrapped(item.title, _LETTERS))
            _strip(axis, item, samples, systems, against=options.against, most=most)
            name_rows(axis, labels, _NAMES, shown=in_first_column(axis))
        share_axis(axes, [_scale(item, samples) for item, samples in items], "x")
        return figure

    against = view.order.system_label(options.against) if options.against is not None else None
    drawn = [(sample, item.level) for item, samples in items for sample in samples.values()]
    return Drawing(
        options.id or "points",
        options.title or "Values by system",
        (
            "One dot a transcript; the marked point is the mean, the bar its interval. " + interval_note(drawn),
            *((f"Of more than {most} transcripts of a system, evenly spaced ones are shown.",) if thinned else ()),
            *((f"{DASH}: no value.",) if missing else ()),
            *across_note(against, labels),
        ),
        draw,
    )


def _scale(item: MeasureRow, samples: Samples) -> tuple[float, float] | None:
    """What a panel shares its axis by: both ends of the scale, as printed."""
    low, high = next((sample.bounds for sample in samples.values()), (None, None))
    return None if low is None or high is None else (low * item.scale, high * item.scale)


def _strip(
    axis: Any, item: MeasureRow, samples: Samples, systems: Sequence[str], *, against: str | None, most: int
) -> None:
    for position, system in enumerate(systems):
        sample: Sample | None = samples.get((system, ()))
        if sample is None or sample.estimate is None:
            axis.text(0.02, position, DASH, transform=axis.get_yaxis_transform(), va="center", color="#555555")
            continue
        values = sample.values * item.scale
        points = np.sort(values)[:: -(-values.size // most)]
        look = style(position)
        # Points are spread by rank, not at random, so that equal values don't hide one another.
        spread = (np.arange(points.size) % 5 - 2) * 0.055
        axis.plot(points, position + spread, "o", color=look.colour, alpha=0.35, markersize=3.5, markeredgewidth=0)
        mean, interval = sample.estimate * item.scale, interval_of(sample, item.level)
        if system == against:
            axis.axvline(mean, color="black", linestyle=":", linewidth=1.3)
        if interval is not None:
            ends = [interval.low * item.scale, interval.high * item.scale]
            axis.plot(ends, [position] * 2, color="black", linewidth=1.6)
        axis.plot(mean, position, look.marker, color=look.colour, markersize=6.5, markeredgecolor="black",
                  markeredgewidth=0.8)  # fmt: skip
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)


FIGURE = FigureKind(
    "points", "Each transcript's value by system", 10, build, PointsOptions, general=True, beside="results"
)
