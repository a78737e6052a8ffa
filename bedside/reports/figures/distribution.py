"""Distribution: a histogram of a metric over transcripts for each system, with mean and skewness."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import COLOURS, HATCHES, Drawing, FigureKind, new_figure
from bedside.reports.number_text import number
from bedside.reports.samples import measure
from bedside.reports.tables.distribution import DistributionOptions

_BINS = 25
#: More metrics than this are not drawn: the table has them all.
_ROWS = 6


def build(view: RatingsView, seed: int, options: DistributionOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    items = measure(view, options.metrics).items[:_ROWS]
    if not items:
        return None
    systems = sorted({system for _, samples in items for system, _ in samples})

    def draw() -> Any:
        from bedside.stats.shape import skewness

        figure = new_figure(2.6 * len(systems) + 0.5, 1.9 * len(items) + 0.3)
        grid = figure.subplots(len(items), len(systems), squeeze=False, sharex="row", sharey="row")
        for row, (item, samples) in zip(grid, items, strict=True):
            together = np.concatenate([sample.values for sample in samples.values()]) * item.scale
            bins = np.histogram_bin_edges(together, min(_BINS, max(5, int(np.sqrt(together.size)))))
            for position, (axis, system) in enumerate(zip(row, systems, strict=True)):
                sample = samples.get((system, ()))
                title = f"{item.title}, {system}" if len(systems) > 1 else item.title
                axis.set_title(title)
                axis.grid(axis="y", color="#dddddd", linewidth=0.5)
                if sample is None or not sample.n:
                    axis.text(0.5, 0.5, "no value", transform=axis.transAxes, ha="center")
                    continue
                values = sample.values * item.scale
                axis.hist(values, bins, color=COLOURS[position % len(COLOURS)], edgecolor="black", linewidth=0.4,
                          hatch=HATCHES[position % len(HATCHES)], alpha=0.85)  # fmt: skip
                axis.axvline(values.mean(), color="black", linewidth=1.4)
                axis.axvline(0, color="black", linewidth=0.8, linestyle=":")
                lean = skewness(values).estimate
                mean = number(float(values.mean()), item.digits)
                axis.set_title(f"{title}\nmean {mean}, skewness {number(lean, 2)}")
            row[0].set_ylabel("transcripts")
        return figure

    return Drawing(
        options.id or "distribution",
        options.title or "Distribution over transcripts",
        ("The solid line is the mean, the dotted one zero.",),
        draw,
    )


FIGURE = FigureKind("distribution", "Distribution over transcripts", 18, build, DistributionOptions)
