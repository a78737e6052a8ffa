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
from bedside.reports.measures import matching
from bedside.reports.tables.length import LengthOptions, bin_words
from bedside.support.errors import DataError

_PANELS = 12


def build(view: RatingsView, seed: int, options: LengthOptions) -> Drawing | None:
    """The figure; None where no metric has a value or all transcripts fall in one bin."""
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    names = [name for metric in wanted for name in matching(view, metric)]
    if wanted and not names:
        return None
    try:
        trends = trend(view, edges=options.edges, metrics=names or None)
    except DataError:
        return None
    if len(trends[0].bins) < 2:
        return None
    keys = list(dict.fromkeys((one.metric, one.raters) for one in trends))[:_PANELS]
    systems = sorted({one.system for one in trends})
    doubled = several_raters(set(keys))

    def draw() -> Any:
        figure, axes = panels(len(keys), 3.2, 2.3)
        words = [bin_words(each) for each in trends[0].bins]
        for axis, (metric, raters) in zip(axes, keys, strict=True):
            by = f" ({rater_words(raters)})" if metric in doubled else ""
            axis.set_title(wrapped(view.facts(metric).title + by, 38))
            for one in trends:
                if (one.metric, one.raters) != (metric, raters):
                    continue
                style = systems.index(one.system)
                # Lines stand beside one another, so that their intervals can be told apart.
                at = np.arange(len(words)) + 0.08 * (style - (len(systems) - 1) / 2)
                means = np.array([np.nan if b.mean.estimate is None else b.mean.estimate for b in one.bins])
                bounds = [b.mean.interval for b in one.bins]
                low = [m - i.low if i else 0.0 for m, i in zip(means, bounds, strict=True)]
                high = [i.high - m if i else 0.0 for m, i in zip(means, bounds, strict=True)]
                axis.errorbar(at, means, [low, high], color=COLOURS[style % len(COLOURS)], capsize=2.5,
                              linestyle=DASHES[style % len(DASHES)], marker=MARKERS[style % len(MARKERS)],
                              markersize=4.5, linewidth=1.4, label=one.system)  # fmt: skip
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
