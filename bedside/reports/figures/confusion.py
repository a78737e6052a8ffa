"""Confusion: how often people's level met the judge's, one panel for each metric on a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import Drawing, FigureKind, panels, tiles
from bedside.reports.rated_pairs import Pairs, PairsOptions, pairs_of

#: A scale with more levels is no confusion matrix to look at.
_LEVELS = 12


def build(view: RatingsView, seed: int, options: PairsOptions) -> Drawing | None:
    """The figure; None where people and a judge rated nothing on a scale both."""
    metrics = [pairs for pairs in pairs_of(view, options, labels=True) if 2 <= len(pairs.levels) <= _LEVELS]
    if not metrics:
        return None

    def draw() -> Any:
        figure, axes = panels(len(metrics), 2.9, 2.7)
        for axis, pairs in zip(axes, metrics, strict=True):
            counts = _counts(pairs)
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            tiles(axis, shares, cmap="cividis", vmin=0, vmax=1)
            for (row, column), count in np.ndenumerate(counts):
                colour = "black" if shares[row, column] > 0.55 else "white"
                axis.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=8)
            names = [level if isinstance(level, str) else f"{level:g}" for level in pairs.levels]
            turned = {"rotation": 35, "ha": "right"} if max(map(len, names)) > 3 else {}
            axis.set_xticks(range(len(names)), names, **turned)
            axis.set_yticks(range(len(names)), names)
            axis.set_title(pairs.title)
            axis.set_xlabel(pairs.judge)
            axis.set_ylabel("people")
            for spine in axis.spines.values():
                spine.set_visible(False)
        return figure

    return Drawing(
        options.id or "confusion",
        options.title or "Levels given by people and judge",
        ("Counts of units; the lighter, the larger the share of a row. People: their mean, rounded to the nearest "
         "level (halves to the lower), or their most frequent label.",),
        draw,
    )  # fmt: skip


def _counts(pairs: Pairs) -> np.ndarray[Any, Any]:
    size = len(pairs.levels)
    counts = np.zeros((size, size), dtype=int)
    for first, second in zip(pairs.people, pairs.rated, strict=True):
        counts[_level(pairs, first), _level(pairs, second)] += 1
    return counts


def _level(pairs: Pairs, value: Any) -> int:
    if isinstance(value, str):
        return pairs.levels.index(str(value))
    return int(np.argmin([abs(float(level) - float(value)) for level in pairs.levels]))


FIGURE = FigureKind("confusion", "Levels given by people and judge", 32, build, PairsOptions, general=True)
