"""Trend: means by number of messages, a panel for each metric, a line for each system."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.checked_units import value_bounds
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.trend import Trend, trend
from bedside.core.errors import DataError
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figure_parts import (
    MOST_LINES,
    Style,
    groups_of,
    height_of_names,
    legend_below,
    panels,
    paper,
    share_axis,
    spread_note,
    style,
    wrapped,
)
from bedside.reports.measures import named_metrics, rater_choice
from bedside.reports.number_text import rater_words, several_raters
from bedside.reports.tables.length import LengthOptions, bin_words

#: How far lines of different systems stand beside one another, of the distance between two bins, and all of them.
_BESIDE, _SPREAD = 0.08, 0.5
#: Letters in a line of a bin's name.
_LETTERS = 8


class TrendOptions(LengthOptions):
    """Which trends a figure shows.

    Attributes:
        raters: groups of raters or patterns in order of preference, such as ``[people, "judge:*"]``: a metric is shown
            of the first that has values. Without it each group has its own panel.
    """

    raters: tuple[str, ...] = ()


def build(view: RatingsView, seed: int, options: TrendOptions) -> Drawing | None:
    """The figure; None where no metric has a value or all transcripts fall in one bin."""
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    try:
        trends = trend(view, edges=options.edges, metrics=metrics.rated or None, role=options.messages_of)
    except DataError:
        return None
    if len(trends[0].bins) < 2:
        return None
    rated = ((system_trend.metric, system_trend.raters) for system_trend in trends)
    choice = rater_choice(view, rated, options.raters)
    keys = choice.keys
    if not keys:
        return None
    systems = view.order.ordered_systems(system_trend.system for system_trend in trends)
    doubled = several_raters(set(keys))
    shown_as = {
        metric: measure
        for measures in options.metrics.values()
        for measure in measures
        for metric in view.metrics_like(measure.metric)
    }
    titles, scales = [], []
    for metric, raters in keys:
        measure = shown_as.get(metric)
        title = view.facts(metric).title if measure is None or measure.title is None else measure.title
        percent = measure is not None and measure.percent
        by = f" ({rater_words(raters)})" if metric in doubled else ""
        titles.append(title + (" (%)" if percent and "%" not in title else "") + by)
        scales.append(100.0 if percent else 1.0)
    messages = f"messages of the {options.messages_of}" if options.messages_of else "messages"

    def draw() -> Any:
        words = [bin_words(length_bin) for length_bin in trends[0].bins]
        width = min(max(2.6, 0.5 + 0.7 * len(words)), paper())
        above = height_of_names(titles, int(11 * width))
        shown = [
            (key, title, scale, part)
            for key, title, scale in zip(keys, titles, scales, strict=True)
            for part in groups_of(systems, MOST_LINES)
        ]
        figure, axes = panels(len(shown), width, 1.8 + above + height_of_names(words, _LETTERS))
        for axis, (key, title, scale, part) in zip(axes, shown, strict=True):
            axis.set_title(wrapped(title, int(11 * width)))
            for system_trend in trends:
                if (system_trend.metric, system_trend.raters) == key and system_trend.system in part:
                    step = min(_BESIDE, _SPREAD / len(part))
                    _line(
                        axis,
                        system_trend,
                        style(systems.index(system_trend.system)),
                        view.order.system_label(system_trend.system),
                        # Lines stand beside one another, so that their intervals can be told apart.
                        beside=step * (part.index(system_trend.system) - (len(part) - 1) / 2),
                        scale=scale,
                    )
            axis.set_xticks(range(len(words)), [wrapped(word, _LETTERS) for word in words])
            axis.set_xlabel(messages)
            axis.grid(axis="y")
        share_axis(axes, [_ends(view, key[0], scale) or key for key, _, scale, _ in shown])
        legend_below(figure, axes)
        return figure

    return Drawing(
        options.id or "trend",
        options.title or "Means by number of messages",
        (
            "Means over transcripts with their 95 % intervals, over cases where one has several transcripts: Wilson's "
            "on the scale where it has two ends, else t.",
            *spread_note(systems),
            *choice.notes(view),
        ),
        draw,
    )


def _ends(view: RatingsView, metric: str, scale: float) -> tuple[float, float] | None:
    """What panels share an axis by: both ends of the scale as printed."""
    low, high = value_bounds(view, metric)
    return None if low is None or high is None else (low * scale, high * scale)


def _line(axis: Any, system_trend: Trend, look: Style, label: str, *, beside: float, scale: float) -> None:
    at = np.arange(len(system_trend.bins)) + beside
    means, low, high = [], [], []
    for length_bin in system_trend.bins:
        mean, interval = length_bin.mean.estimate, length_bin.mean.interval
        means.append(np.nan if mean is None else mean * scale)
        low.append(0.0 if mean is None or interval is None else (mean - interval.low) * scale)
        high.append(0.0 if mean is None or interval is None else (interval.high - mean) * scale)
    axis.errorbar(at, means, [low, high], color=look.colour, capsize=2.5, linestyle=look.dash, marker=look.marker,
                  markersize=4.5, linewidth=1.4, elinewidth=0.9, label=label)  # fmt: skip


FIGURE = FigureKind("trend", "Means by number of messages", 22, build, TrendOptions)
