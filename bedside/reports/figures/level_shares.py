"""Shares of the levels that the dimensions of a flow come to, as bars that are parted, a panel for each dimension."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figure_parts import (
    COLOURS,
    height_of_names,
    in_first_column,
    legend_below,
    name_rows,
    panels,
    value_beside,
    width_of_names,
    wrapped,
)
from bedside.reports.number_text import n_of, number
from bedside.reports.tables.level_shares import LevelSharesOptions, LevelsRow, level_rows

_TITLE = "Levels that conversations come to"
#: Of levels from the worst to the best.
_WORST_TO_BEST = ("#D55E00", "#E69F00", "#F0E442", "#56B4E9")
#: The least share whose number has room in its part of a bar.
_ROOM = 0.12
_LETTERS, _NAMES = 24, 26


def build(view: RatingsView, seed: int, options: LevelSharesOptions) -> Drawing | None:
    """The figure; None where nobody rated by a flow."""
    shown = [row for row in level_rows(view, options) if row.all.n]
    by_panel = {title: list(rows) for title, rows in groupby(shown, lambda row: row.item.title)}
    if not by_panel:
        return None
    names = {title: [f"{view.order.system_label(row.system)}, {row.whom}" for row in rows]
             for title, rows in by_panel.items()}  # fmt: skip

    def draw() -> Any:
        every = [name for own in names.values() for name in own]
        most = max(map(len, names.values()))
        height = 0.5 + height_of_names(by_panel, _LETTERS) + max(0.3, height_of_names(every, _NAMES)) * most
        beside = width_of_names(every, _NAMES)
        alike = len(set(map(tuple, names.values()))) == 1
        figure, axes = panels(len(by_panel), 2.4 + (0.0 if alike else beside), height, beside=beside if alike else 0.0)
        for axis, (title, rows) in zip(axes, by_panel.items(), strict=True):
            _draw_bars(axis, rows)
            axis.set_title(wrapped(title, _LETTERS))
            axis.set_xlim(0, 1)
            axis.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
            name_rows(axis, names[title], _NAMES, shown=not alike or in_first_column(axis))
            axis.set_ylim(most - 0.5, -0.5)
        legend_below(figure, axes)
        return figure

    notes = ("Per cent of the conversations that have a level; beside each bar these, of all.",)
    return Drawing(options.id or "level_shares", options.title or _TITLE, notes, draw)


def _draw_bars(axis: Any, rows: list[LevelsRow]) -> None:
    for place, row in enumerate(rows):
        begin, colours = 0.0, _colours(row)
        for label in row.rubric.labels:
            share = row.shares[label.label].estimate or 0.0
            unknown = label.label not in axis.get_legend_handles_labels()[1]
            axis.barh(place, share, left=begin, height=0.7, color=colours[label.label], edgecolor="white",
                      label=label.label if unknown else None)  # fmt: skip
            if share >= _ROOM:
                axis.text(begin + share / 2, place, number(100 * share, 0), ha="center", va="center", fontsize=8,
                          color="black")  # fmt: skip
            begin += share
        value_beside(axis, n_of(row.all.n, row.all.of), place)


def _colours(row: LevelsRow) -> dict[str, str]:
    """The colour of each level: from the worst to the best where it is known which is which."""
    labels = [label.label for label in row.rubric.labels]
    if row.rubric.direction == "none" or len(labels) > len(_WORST_TO_BEST):
        return {label: COLOURS[1 + place % 5] for place, label in enumerate(labels)}  # black letters stand on them
    ordered = labels if row.rubric.direction == "higher" else labels[::-1]
    steps = (len(_WORST_TO_BEST) - 1) / (len(ordered) - 1)
    return {label: _WORST_TO_BEST[round(place * steps)] for place, label in enumerate(ordered)}


FIGURE = FigureKind("level_shares", _TITLE, 14, build, LevelSharesOptions, general=True, beside="level_shares")
