"""Confusion: how often people's level met the judge's, one panel for each metric on a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figure_parts import lines_of, panels, tiles, wrapped
from bedside.reports.rated_pairs import Pairs, PairsOptions, pairs_of

#: A scale with more levels is no confusion matrix to look at.
_LEVELS = 12
#: Letters in a line of a level's name.
_LETTERS = 22


def build(view: RatingsView, seed: int, options: PairsOptions) -> Drawing | None:
    """The figure; None where people and a judge rated nothing on a scale both."""
    on_scales = [pairs for pairs in pairs_of(view, options, labels=True) if len(pairs.levels) > 1]
    metrics = [pairs for pairs in on_scales if len(pairs.levels) <= _LEVELS]
    finer = [pairs.title for pairs in on_scales if len(pairs.levels) > _LEVELS]
    if not metrics:
        return None

    def draw() -> Any:
        names_of = [[level if isinstance(level, str) else f"{level:g}" for level in pairs.levels] for pairs in metrics]
        longest = max(len(line) for names in names_of for name in names for line in lines_of(name, _LETTERS))
        most = max(map(len, names_of))
        # Tiles are wide enough for their counts, and names stand beside and below them.
        side = max(2.0, 0.42 * most) + 0.09 * longest
        figure, axes = panels(len(metrics), side + 0.9, side + 0.8)
        for axis, pairs, names in zip(axes, metrics, names_of, strict=True):
            counts = _counts(pairs)
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            tiles(axis, shares, cmap="cividis", vmin=0, vmax=1)
            for (row, column), count in np.ndenumerate(counts):
                colour = "black" if shares[row, column] > 0.55 else "white"
                axis.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=8)
            turned = {"rotation": 90} if max(map(len, names)) > 3 else {}
            lines = [wrapped(name, _LETTERS) for name in names]
            axis.set_xticks(range(len(names)), lines, **turned)
            axis.set_yticks(range(len(names)), lines)
            axis.set_title(wrapped(pairs.title, int(11 * side)))
            axis.set_xlabel(wrapped(pairs.judge, 30))
            axis.set_ylabel("people")
            for spine in axis.spines.values():
                spine.set_visible(False)
        return figure

    return Drawing(
        options.id or "confusion",
        options.title or "Levels given by people and judge",
        ("Counts of units; the lighter, the larger the share of a row. People: their mean, rounded to the nearest "
         "level (halves to the lower), or their most frequent label.",
         *((f"Scales of more than {_LEVELS} levels have no such matrix: {', '.join(finer)}.",) if finer else ())),
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


FIGURE = FigureKind(
    "confusion",
    "Levels given by people and judge",
    32,
    build,
    PairsOptions,
    general=True,
    beside="agreement",
    shows="raters",
)
