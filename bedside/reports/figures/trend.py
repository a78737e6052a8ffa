"""Trend: means by number of messages, a panel for each metric, a line for each system."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.trend import trend
from bedside.reports.cell_names import rater_words, several_raters
from bedside.reports.figure_kind import (
    COLOURS,
    DASHES,
    MARKERS,
    Drawing,
    FigureKind,
    legend_below,
    panels,
    wrapped,
)
from bedside.reports.measures import named_metrics
from bedside.reports.tables.length import LengthOptions, bin_words
from bedside.support.errors import DataError

_PANELS = 12


def build(view: RatingsView, seed: int, options: LengthOptions) -> Drawing | None:
    """The figure; None where no metric has a value or all transcripts fall in one bin."""
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    try:
        trends = trend(view, edges=options.edges, metrics=metrics.rated or None)
    except DataError:
        return None
    if len(trends[0].bins) < 2:
        return None
    keys = list(dict.fromkeys((system_trend.metric, system_trend.raters) for system_trend in trends))[
        :_PANELS
    ]
    systems = sorted({system_trend.system for system_trend in trends})
    doubled = several_raters(set(keys))

    def draw() -> Any:
        figure, axes = panels(len(keys), 3.2, 2.3)
        words = [bin_words(length_bin) for length_bin in trends[0].bins]
        for axis, (metric, raters) in zip(axes, keys, strict=True):
            by = f" ({rater_words(raters)})" if metric in doubled else ""
            axis.set_title(wrapped(view.facts(metric).title + by, 38))
            for system_trend in trends:
                if (system_trend.metric, system_trend.raters) != (metric, raters):
                    continue
                style = systems.index(system_trend.system)
                # Lines stand beside one another, so that their intervals can be told apart.
                at = np.arange(len(words)) + 0.08 * (style - (len(systems) - 1) / 2)
                means = np.array(
                    [
                        np.nan if length_bin.mean.estimate is None else length_bin.mean.estimate
                        for length_bin in system_trend.bins
                    ]
                )
                bounds = [length_bin.mean.interval for length_bin in system_trend.bins]
                low = [
                    mean - bounds_of_mean.low if bounds_of_mean else 0.0
                    for mean, bounds_of_mean in zip(means, bounds, strict=True)
                ]
                high = [
                    bounds_of_mean.high - mean if bounds_of_mean else 0.0
                    for mean, bounds_of_mean in zip(means, bounds, strict=True)
                ]
                axis.errorbar(at, means, [low, high], color=COLOURS[style % len(COLOURS)], capsize=2.5,
                              linestyle=DASHES[style % len(DASHES)], marker=MARKERS[style % len(MARKERS)],
                              markersize=4.5, linewidth=1.4, label=system_trend.system)  # fmt: skip
            axis.set_xticks(range(len(words)), words)
            axis.set_xlabel("messages")
            axis.grid(axis="y", color="#dddddd", linewidth=0.5)
        legend_below(figure, axes[0])
        return figure

    return Drawing(
        options.id or "trend",
        options.title or "Means by number of messages",
        ("Means over transcripts with their 95 % t intervals.",),
        draw,
    )


FIGURE = FigureKind("trend", "Means by number of messages", 22, build, LengthOptions)
