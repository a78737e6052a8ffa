"""Distribution: a histogram of a metric over transcripts for each system, with mean and skewness."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import INK, Drawing, FigureKind
from bedside.reports.figure_parts import height_of_names, new_figure, paper, share_axis, style, wrapped
from bedside.reports.number_text import number
from bedside.reports.tables.distribution import DistributionOptions, measured_distributions

_BINS = 25
#: Panels in a row; more systems go on in the next.
_COLUMNS = 4
#: Letters in a line of a panel's title.
_LETTERS = 30


def build(view: RatingsView, seed: int, options: DistributionOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    items = measured_distributions(view, options).items
    if not items:
        return None
    systems = view.order.ordered_systems(system for _, samples in items for system, _ in samples)

    def draw() -> Any:
        from bedside.stats.shape import skewness

        columns = min(_COLUMNS, len(systems), int((paper() - 0.5) // 2.6))
        rows = -(-len(systems) // columns)
        names = {
            (item.key, system): f"{item.title}, {view.order.system_label(system)}" if len(systems) > 1 else item.title
            for item, _ in items
            for system in systems
        }
        height = 1.7 + height_of_names(names.values(), _LETTERS)
        figure = new_figure(2.6 * columns + 0.5, height * rows * len(items) + 0.3)
        grid = figure.subplots(rows * len(items), columns, squeeze=False)
        for place, (item, samples) in enumerate(items):
            axes = list(grid[place * rows : (place + 1) * rows].ravel())
            for axis in axes[len(systems) :]:
                axis.set_visible(False)
            axes = axes[: len(systems)]
            together = np.concatenate([sample.values for sample in samples.values()]) * item.scale
            bins = np.histogram_bin_edges(together, min(_BINS, max(5, int(np.sqrt(together.size)))))
            for position, (axis, system) in enumerate(zip(axes, systems, strict=True)):
                sample = samples.get((system, ()))
                title = wrapped(names[item.key, system], _LETTERS)
                axis.set_title(title)
                axis.grid(axis="y")
                axis.set_xlim(bins[0], bins[-1])
                if position % columns == 0:
                    axis.set_ylabel("cases" if options.cases else "transcripts")
                if sample is None or not sample.n:
                    axis.text(0.5, 0.5, "no value", transform=axis.transAxes, ha="center")
                    continue
                values = sample.values * item.scale
                look = style(position)
                axis.hist(values, bins, color=look.colour, edgecolor="white", linewidth=0.4, alpha=0.6)
                axis.axvline(values.mean(), color=INK, linewidth=1.4)
                if bins[0] <= 0 <= bins[-1]:
                    axis.axvline(0, color=INK, linewidth=0.8, linestyle=":")
                lean = skewness(values).estimate
                mean = number(float(values.mean()), item.digits)
                axis.set_title(f"{title}\nmean {mean}, skewness {number(lean, item.measure.digits or 2)}")
            share_axis(axes, [item.key] * len(axes))
        return figure

    return Drawing(
        options.id or "distribution",
        options.title or "Distribution over transcripts",
        ("The solid line is the mean, the dotted one zero. The panels of a metric have one axis.",),
        draw,
    )


FIGURE = FigureKind("distribution", "Distribution over transcripts", 18, build, DistributionOptions)
