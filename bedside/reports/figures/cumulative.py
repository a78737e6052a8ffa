"""Cumulative curves: what has been reached after each clinician turn, by system."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.checked_units import value_bounds
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import (
    MOST_LINES,
    Style,
    groups_of,
    legend_below,
    panels,
    share_axis,
    spread_note,
    style,
    wrapped,
)
from bedside.reports.measures import named_metrics
from bedside.reports.number_text import rater_words
from bedside.reports.table_kind import Several
from bedside.reports.tables.cumulative import CumulativeOptions, Curve, curves_of

#: Of the lines of a reference, one for each stratum.
_SHADES = (INK, SOFT, "#a3afbd")


class CurveOptions(CumulativeOptions):
    """Which curves a figure shows.

    Attributes:
        reference: names or labels of systems that others are held against, such as human clinicians: in place of the
            curve of one a line across at its last level, and one upwards at its mean number of clinician turns.
    """

    reference: Several = ()


def build(view: RatingsView, seed: int, options: CurveOptions) -> Drawing | None:
    """The figure; None where there are no curves."""
    curves = curves_of(view, named_metrics(view, options.metrics).rated, options.by)
    if not curves:
        return None
    labels = {curve.place: _label(view, options, curve) for curve in curves}
    rank = {system: place for place, system in enumerate(view.order.ordered_systems(c.place[0] for c in curves))}
    keys = list(dict.fromkeys((curve.metric, curve.group) for curve in curves))
    in_order = sorted(labels, key=lambda place: rank[place[0]])
    references = [
        place
        for place in in_order
        if place[0] in options.reference or view.order.system_label(place[0]) in options.reference
    ]
    lines = [place for place in in_order if place not in references]
    bounds = {metric: value_bounds(view, metric) for metric, _ in keys}

    def draw() -> Any:
        shown = [(key, part) for key in keys for part in groups_of(lines, MOST_LINES)]
        figure, axes = panels(len(shown), 3.6, 2.7)
        for axis, ((metric, group), part) in zip(axes, shown, strict=True):
            several = sum(name == metric for name, _ in keys) > 1
            title = view.facts(metric).title + (f" ({rater_words(group)})" if several else "")
            axis.set_title(wrapped(title, 42))
            for curve in curves:
                if (curve.metric, curve.group) != (metric, group):
                    continue
                if curve.place in references:
                    shade = _SHADES[references.index(curve.place) % len(_SHADES)]
                    _reference(axis, curve, labels[curve.place], shade)
                elif curve.place in part:
                    _line(axis, curve, style(lines.index(curve.place)), labels[curve.place])
            axis.set_xlabel("clinician turns")
            low, high = bounds[metric]
            if low is not None and high is not None:
                margin = 0.02 * (high - low)
                axis.set_ylim(low - margin, high + margin)
            axis.set_xlim(left=0)
            axis.grid()
        share_axis(axes, [True] * len(axes), "x")
        share_axis(axes, [key for key, _ in shown])
        legend_below(figure, axes)
        return figure

    people = " People are averaged." if any(curve.group == PEOPLE for curve in curves) else ""
    across = [labels[place] for place in references]
    clustered = any(curve.clustered for curve in curves)
    over = "cases, whose transcripts are not independent" if clustered else "transcripts"
    return Drawing(
        options.id or "cumulative",
        options.title or "Cumulative values by clinician turn",
        (
            f"Means over transcripts; one that has ended keeps its last value. Bands: 95 % intervals over {over}, "
            f"Wilson's on the scale where it has two ends.{people}",
            *spread_note(lines),
            *(
                (f"Dashed across: the last level of {', '.join(across)}; dotted upwards: the mean "
                 "number of clinician turns there.",)
                if across
                else ()
            ),
        ),
        draw,
    )  # fmt: skip


def _label(view: RatingsView, options: CurveOptions, curve: Curve) -> str:
    system, stratum = curve.place
    levels = (view.order.level_label(name, level) for name, level in zip(options.by, stratum, strict=True))
    return " · ".join((*levels, view.order.system_label(system)))


def _line(axis: Any, curve: Curve, look: Style, label: str) -> None:
    turns = np.arange(curve.means.size + 1)
    means, low, high = (np.concatenate([[0.0], ends]) for ends in (curve.means, curve.low, curve.high))
    axis.fill_between(turns, low, high, color=look.colour, alpha=0.13, linewidth=0)
    axis.plot(turns, means, color=look.colour, linestyle=look.dash, linewidth=1.6, marker=look.marker, markersize=3.5,
              markevery=max(1, turns.size // 8), label=label)  # fmt: skip


def _reference(axis: Any, curve: Curve, label: str, shade: str) -> None:
    axis.axhline(curve.means[-1], color=shade, linestyle="--", linewidth=1.2, label=label)
    axis.axvline(curve.turns, color=shade, linestyle=":", linewidth=1.0)


FIGURE = FigureKind("cumulative", "Cumulative curves by clinician turn", 16, build, CurveOptions)
