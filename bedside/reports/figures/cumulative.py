"""Cumulative curves: what has been reached after each clinician turn, by system."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.reports.cell_names import rater_words
from bedside.reports.figure_kind import (
    COLOURS,
    DASHES,
    MARKERS,
    Drawing,
    FigureKind,
    legend_below,
    panels,
)
from bedside.reports.measures import named_metrics
from bedside.reports.tables.cumulative import CumulativeOptions
from bedside.reports.turn_curves import curves_of


def build(view: RatingsView, seed: int, options: CumulativeOptions) -> Drawing | None:
    """The figure; None where there are no curves."""
    curves = curves_of(view, named_metrics(view, options.metrics).rated, options.by)
    if not curves:
        return None
    keys = list(dict.fromkeys((curve.metric, curve.group) for curve in curves))
    lines = sorted({" · ".join((*curve.place[1], curve.place[0])) for curve in curves})

    def draw() -> Any:
        figure, axes = panels(len(keys), 3.6, 2.6)
        for axis, (metric, group) in zip(axes, keys, strict=True):
            several = sum(name == metric for name, _ in keys) > 1
            axis.set_title(view.facts(metric).title + (f" ({rater_words(group)})" if several else ""))
            for curve in curves:
                if (curve.metric, curve.group) != (metric, group):
                    continue
                label = " · ".join((*curve.place[1], curve.place[0]))
                style = lines.index(label)
                turns = np.arange(curve.means.size + 1)
                means = np.concatenate([[0.0], curve.means])
                errors = 1.96 * np.concatenate([[0.0], curve.errors])
                colour = COLOURS[style % len(COLOURS)]
                axis.fill_between(turns, np.clip(means - errors, 0, 1), np.clip(means + errors, 0, 1),
                                  color=colour, alpha=0.13, linewidth=0)  # fmt: skip
                axis.plot(turns, means, color=colour, linestyle=DASHES[style % len(DASHES)], linewidth=1.6,
                          marker=MARKERS[style % len(MARKERS)], markersize=3.5, markevery=max(1, turns.size // 8),
                          label=label)  # fmt: skip
            axis.set_xlabel("clinician turns")
            axis.set_ylim(-0.02, 1.02)
            axis.set_xlim(left=0)
            axis.grid(color="#dddddd", linewidth=0.5)
        legend_below(figure, axes[0])
        return figure

    people = " People are averaged." if any(curve.group == PEOPLE for curve in curves) else ""
    return Drawing(
        options.id or "cumulative",
        options.title or "Cumulative values by clinician turn",
        (
            f"Means over transcripts; one that has ended keeps its last value. Bands: ± 1.96 standard errors.{people}",
        ),
        draw,
    )


FIGURE = FigureKind("cumulative", "Cumulative curves by clinician turn", 16, build, CumulativeOptions)
