"""Bland and Altman's plot: the difference of judge and people against their mean, with the limits of agreement."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import COLOURS, panels, share_axis, wrapped
from bedside.reports.number_text import number
from bedside.reports.rated_pairs import PairsOptions, pairs_of


def build(view: RatingsView, seed: int, options: PairsOptions) -> Drawing | None:
    """The figure; None where people and a judge gave no unit both a number."""
    metrics = pairs_of(view, options, labels=False)
    if not metrics:
        return None

    def draw() -> Any:
        figure, axes = panels(len(metrics), 3.0, 2.5)
        for axis, pairs in zip(axes, metrics, strict=True):
            difference = pairs.rated - pairs.people
            middle = (pairs.rated + pairs.people) / 2
            points, counts = np.unique(np.column_stack([middle, difference]), axis=0, return_counts=True)
            axis.scatter(points[:, 0], points[:, 1], s=18 * np.sqrt(counts), color=COLOURS[0], alpha=0.6,
                         edgecolor=INK, linewidth=0.5)  # fmt: skip
            bias = float(difference.mean())
            axis.axhline(0, color=SOFT, linewidth=0.8)
            axis.axhline(bias, color=INK, linewidth=1.4)
            title = f"{wrapped(pairs.title, 34)}\nbias {number(bias)}"
            if difference.size > 1:
                half = 1.96 * float(difference.std(ddof=1))
                for limit in (bias - half, bias + half):
                    axis.axhline(limit, color=INK, linewidth=1.0, linestyle="--")
                title += f", limits {number(bias - half)} to {number(bias + half)}"
            axis.set_title(title)
            axis.set_xlabel("mean of both")
            axis.set_ylabel(wrapped(f"{pairs.judge} − people", 26))
            axis.margins(0.08)
        for which in "xy":
            share_axis(axes, [pairs.levels or None for pairs in metrics], which)
        return figure

    return Drawing(
        options.id or "bland-altman",
        options.title or "Difference of judge and people",
        ("Solid line: mean difference; dashed: ± 1.96 standard deviations of the differences.",),
        draw,
    )


FIGURE = FigureKind(
    "bland_altman",
    "Difference of judge and people",
    36,
    build,
    PairsOptions,
    general=True,
    beside="agreement",
    shows="raters",
)
