"""Judge and people: one point for each unit that both rated, beside the line of equal values."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import COLOURS, panels, wrapped
from bedside.reports.number_text import decimal
from bedside.reports.rated_pairs import PairsOptions, pairs_of


def build(view: RatingsView, seed: int, options: PairsOptions) -> Drawing | None:
    """The figure; None where people and a judge gave no unit both a number."""
    metrics = pairs_of(view, options, labels=False)
    if not metrics:
        return None

    def draw() -> Any:
        from bedside.stats.two_raters import correlation

        figure, axes = panels(len(metrics), 3.0, 3.0)
        for axis, pairs in zip(axes, metrics, strict=True):
            # Equal points are one, its area the number of units.
            points, counts = np.unique(np.column_stack([pairs.people, pairs.rated]), axis=0, return_counts=True)
            low, high = float(points.min()), float(points.max())
            margin = 0.06 * (high - low) or 0.5
            axis.plot([low - margin, high + margin], [low - margin, high + margin], color=SOFT, linewidth=0.9,
                      linestyle="--")  # fmt: skip
            axis.scatter(points[:, 0], points[:, 1], s=18 * np.sqrt(counts), color=COLOURS[0], alpha=0.6,
                         edgecolor=INK, linewidth=0.5)  # fmt: skip
            rho = correlation(pairs.people, pairs.rated, kind="spearman").estimate
            axis.set_title(f"{wrapped(pairs.title, 34)}\nn = {pairs.people.size:,}, Spearman's ρ {decimal(rho)}")
            axis.set_xlabel("people, mean")
            axis.set_ylabel(wrapped(pairs.judge, 26))
            axis.set_xlim(low - margin, high + margin)
            axis.set_ylim(low - margin, high + margin)
            axis.set_aspect("equal")
            axis.grid()
        return figure

    return Drawing(
        options.id or "scatter",
        options.title or "Judge beside people",
        ("One point for each unit both rated, larger where several coincide; the dashed line is equality.",),
        draw,
    )


FIGURE = FigureKind(
    "scatter", "Judge beside people", 34, build, PairsOptions, general=True, beside="agreement", shows="raters"
)
