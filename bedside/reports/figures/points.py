"""Points: each transcript's value by system, under the mean and its interval, a panel for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import (
    across_note,
    height_of_names,
    in_first_column,
    interval_mark,
    name_rows,
    panels,
    share_axis,
    style,
    value_beside,
    width_of_names,
    wrapped,
)
from bedside.reports.measures import Headed, TableMeasure, also_rated_notes
from bedside.reports.number_text import DASH, number
from bedside.reports.samples import MeasureRow, Sample, Samples, interval_note, interval_of, measure
from bedside.reports.table_kind import Options

#: Of more transcripts a system, evenly spaced ones are shown; fewer where a figure has many systems and panels.
_POINTS, _FEWEST = 100, 12
#: Dots of a figure.
_DOTS = 8_000
#: Steps of a scale whose every level is marked.
_LEVELS = 6
#: Letters in a line of a panel's title, and of a system's name.
_LETTERS, _NAMES = 22, 22


class PointsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the metrics of whole transcripts; unless named, those of quality, or all where none is.
        against: a system whose means are shown across those of the others.
        raters: groups of raters or patterns in order of preference, such as ``[people, "judge:*"]``: a measure is shown
            of the first that has values. Without it each group has its own.
    """

    metrics: Headed = Field(default_factory=dict)
    against: str | None = None
    raters: tuple[str, ...] = ()


def build(view: RatingsView, seed: int, options: PointsOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    headed: Any = options.metrics
    if not any(headed.values()):
        headed = {"": [TableMeasure(metric=name) for name in quality_metrics(view) or view.metrics()]}
    measured = measure(view, headed, raters=options.raters)
    items = measured.items
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
        height = 0.4 + above + max(0.36, height_of_names(labels, _NAMES)) * len(systems)
        beside = width_of_names(labels, _NAMES)
        figure, axes = panels(len(items), 1.75, height, beside=beside, most_columns=5, stretch=1.6)
        for axis, (item, samples) in zip(axes, items, strict=True):
            axis.set_title(wrapped(item.title, _LETTERS))
            _strip(axis, item, samples, systems, against=options.against, most=most)
            name_rows(axis, labels, _NAMES, shown=in_first_column(axis))
        scales = [_scale(item, samples) for item, samples in items]
        share_axis(axes, scales, "x")
        for axis, scale in zip(axes, scales, strict=True):
            if scale is not None and 1 < scale[1] - scale[0] <= _LEVELS:
                axis.set_xticks(np.arange(scale[0], scale[1] + 1))
        return figure

    against = view.order.system_label(options.against) if options.against is not None else None
    drawn = [(sample, item.level) for item, samples in items for sample in samples.values()]
    return Drawing(
        options.id or "points",
        options.title or "Values by system",
        (
            "One dot a transcript; above them the mean, in figures at the right, with its interval. "
            + interval_note(drawn),
            *((f"Of more than {most} transcripts of a system, evenly spaced ones are shown.",) if thinned else ()),
            *((f"{DASH}: no value.",) if missing else ()),
            *across_note(against, labels),
            *also_rated_notes((raters.title, raters.group) for raters in measured.unshown),
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
            axis.text(0.02, position, DASH, transform=axis.get_yaxis_transform(), va="center", color=SOFT)
            continue
        values = sample.values * item.scale
        points = np.sort(values)[:: -(-values.size // most)]
        look = style(position)
        # Points are spread by rank, not at random, so that equal values don't hide one another.
        spread = 0.2 + (np.arange(points.size) % 5 - 2) * 0.06
        axis.plot(points, position + spread, "o", color=look.colour, alpha=0.55, markersize=3.6, markeredgewidth=0)
        mean, interval = sample.estimate * item.scale, interval_of(sample, item.level)
        if system == against:
            axis.axvline(mean, color=INK, linestyle=":", linewidth=1.3)
        ends = None if interval is None else (interval.low * item.scale, interval.high * item.scale)
        interval_mark(axis, mean, position - 0.17, ends, look)
        value_beside(axis, number(mean, item.digits), position)
    axis.spines["left"].set_visible(False)
    axis.grid(axis="x")


FIGURE = FigureKind(
    "points", "Each transcript's value by system", 10, build, PointsOptions, general=True, beside="results"
)
