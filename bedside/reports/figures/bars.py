"""Bars: means by system with intervals, a panel for each metric; factors set bars side by side."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import level_order
from bedside.reports.cell_names import ARROWS
from bedside.reports.figure_kind import (
    COLOURS,
    HATCHES,
    Drawing,
    FigureKind,
    across_note,
    legend_below,
    panels,
    wrapped,
)
from bedside.reports.measures import Headed
from bedside.reports.samples import interval_of, measure
from bedside.reports.table_kind import Options

_PANELS = 12


class BarsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the measures.
        by: a factor: its values stand side by side.
        against: a system whose means are shown across the bars of the others.
    """

    metrics: Headed = Field(default_factory=dict)
    by: str | None = None
    against: str | None = None


def build(view: RatingsView, seed: int, options: BarsOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    factors = [] if view.factors is None else view.factors.columns
    by = options.by if options.by in factors else None
    items = measure(view, options.metrics, by=[by] if by else []).items[:_PANELS]
    if not items:
        return None
    systems = sorted({system for _, samples in items for system, _ in samples})
    strata = level_order([stratum[0] for _, samples in items for _, stratum in samples]) if by else [""]

    def draw() -> Any:
        width_of = max(2.4, 0.5 + 0.3 * len(systems) * len(strata))
        figure, axes = panels(len(items), width_of, 2.2)
        width = 0.8 / len(systems)
        for axis, (item, samples) in zip(axes, items, strict=True):
            for position, system in enumerate(systems):
                edges, heights, low, high = [], [], [], []
                for place, stratum in enumerate(strata):
                    sample = samples.get((system, (stratum,) if by else ()))
                    if sample is None or sample.estimate is None:
                        continue
                    interval = interval_of(sample, item.level)
                    edges.append(place - 0.4)
                    heights.append(sample.estimate * item.scale)
                    bounds = (interval.low, interval.high) if interval else (sample.estimate, sample.estimate)
                    low.append(heights[-1] - bounds[0] * item.scale)
                    high.append(bounds[1] * item.scale - heights[-1])
                at = [edge + width * (position + 0.5) for edge in edges]
                axis.bar(at, heights, width * 0.92, color=COLOURS[position % len(COLOURS)], edgecolor="black",
                         hatch=HATCHES[position % len(HATCHES)], linewidth=0.6, label=system)  # fmt: skip
                axis.errorbar(at, heights, [low, high], fmt="none", ecolor="black", capsize=3, linewidth=1.1)
                if system == options.against:
                    ends = [edge + 0.8 for edge in edges]
                    axis.hlines(heights, edges, ends, color="black", linestyle=":", linewidth=1.3)
            axis.set_title(wrapped(item.title + ARROWS[item.direction], int(12 * width_of)))
            axis.set_xticks(range(len(strata)), strata if by else [""])
            axis.tick_params(axis="x", length=0)
            axis.axhline(0, color="black", linewidth=0.8)
            axis.grid(axis="y", color="#dddddd", linewidth=0.5)
            if by:
                axis.set_xlabel(by.replace("_", " "))
        legend_below(figure, axes[0])
        return figure

    return Drawing(
        options.id or "bars",
        options.title or "Means by system",
        (
            "Bars: means (ratios of sums where the table says so); whiskers: 95 % intervals.",
            *across_note(options.against, systems),
        ),
        draw,
    )


FIGURE = FigureKind("bars", "Means by system with intervals", 12, build, BarsOptions)
