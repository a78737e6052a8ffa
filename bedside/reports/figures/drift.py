"""Drift: change of each metric from the shortest to the longest condition, by system, as a heat map or as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bedside.analysis.drift import Drift
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import (
    height_of_names,
    interval_mark,
    legend_below,
    name_rows,
    new_figure,
    paper,
    style,
    tiles,
    width_of_names,
    with_arrow,
    wrapped,
)
from bedside.reports.measures import named_metrics
from bedside.reports.number_text import DASH, rater_words, several_raters, signed
from bedside.reports.tables.drift import DriftOptions, drift_of
from bedside.stats.result import Result

#: Letters in a line of a metric's name.
_LETTERS = 34
#: Of a tile of the heat map, and of a bar, in inches.
_TILE, _BAR = 0.8, 0.19
#: An interval is shown up to so many times the largest change.
_FARTHEST = 2.0


class DriftFigureOptions(DriftOptions):
    """What a figure of drift shows.

    Attributes:
        form: a heat map, or bars with intervals.
    """

    form: Literal["tiles", "bars"] = "tiles"


def build(view: RatingsView, seed: int, options: DriftFigureOptions) -> Drawing | None:
    """The figure; None where the factor, two lengths or cases with both are lacking."""
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    try:
        length_drift, choice = drift_of(view, options)
    except DataError:
        return None
    changes = {(own.metric, own.raters, own.system): own.change for own in length_drift.changes}
    if all(change.estimate is None for change in changes.values()):
        return None
    facts = {(own.metric, own.raters): own.facts for own in length_drift.changes}
    keys = tuple(facts)
    systems = view.order.ordered_systems(key[2] for key in changes)
    labels = [view.order.system_label(system) for system in systems]
    doubled = several_raters(set(keys))
    titles = [
        with_arrow(of.title + (f" ({rater_words(raters)})" if metric in doubled else ""), of.direction)
        for (metric, raters), of in facts.items()
    ]
    grid = [[changes.get((*key, system)) for system in systems] for key in keys]
    what = _what(length_drift)

    def draw() -> Any:
        return (_bars if options.form == "bars" else _tiles)(grid, titles, labels, what)

    several = any(own.cases < own.change.n for own in length_drift.changes)
    over = "pairs" if several else "cases"
    of = f"Mean over {over} of the change" if options.change == "pairs" else "Change of the mean"
    heat = f"{of} in per cent, paired by case; the table has the intervals."
    bars = (
        f"{of} in per cent, paired by case, with its 95 % interval over cases, cut where it "
        f"leaves the figure. {DASH}: no value."
    )
    return Drawing(
        options.id or "drift",
        options.title or "Change from the shortest to the longest condition",
        (heat if options.form == "tiles" else bars, *choice.notes(view)),
        draw,
    )


def _what(length_drift: Drift) -> str:
    by = length_drift.by.replace("_", " ")
    return f"change in %, {by} {length_drift.shortest:g} to {length_drift.longest:g}"


def _tiles(grid: Sequence[Sequence[Result | None]], titles: Sequence[str], systems: Sequence[str], what: str) -> Any:
    """A heat map; where systems are many, several below one another, each with as many as fit."""
    values = np.array([[None if change is None else change.estimate for change in row] for row in grid], dtype=float)
    beside = width_of_names(titles, _LETTERS)
    fit = max(1, int((paper() - beside - 1.2) // _TILE))
    blocks = -(-len(systems) // fit)
    columns = -(-len(systems) // blocks)
    below = height_of_names(systems, 16) if max(map(len, systems)) <= 9 else width_of_names(systems)
    row = max(0.28, height_of_names(titles, _LETTERS))
    figure = new_figure(beside + 1.2 + _TILE * columns, (0.5 + below + row * len(titles)) * blocks)
    axes = figure.subplots(blocks, 1, squeeze=False).ravel()
    # One far value must not wash out the others.
    limit = float(np.clip(np.nanpercentile(np.abs(values), 90), 1, 100))
    for place, axis in enumerate(axes):
        part = slice(place * columns, (place + 1) * columns)
        image = tiles(axis, values[:, part], cmap="PuOr", vmin=-limit, vmax=limit)
        for (line, column), value in np.ndenumerate(values[:, part]):
            text = DASH if np.isnan(value) else signed(float(value), 1)
            colour = "white" if abs(value) > 0.55 * limit else "black"
            axis.text(column, line, text, ha="center", va="center", fontsize=8, color=colour)
        shown = systems[part]
        turned: Mapping[str, Any] = {"rotation": 90} if max(map(len, systems)) > 9 else {}
        axis.set_xticks(range(len(shown)), [wrapped(name) if turned else name for name in shown], **turned)
        axis.set_xlim(-0.5, columns - 0.5)
        name_rows(axis, titles, _LETTERS)
        axis.tick_params(length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=axis, shrink=0.8, extend="both", use_gridspec=False)
        bar.set_label(wrapped(what, 36))
    return figure


def _bars(grid: Sequence[Sequence[Result | None]], titles: Sequence[str], systems: Sequence[str], what: str) -> Any:
    """Bars from 0, systems below one another within each metric."""
    row = max(0.3, height_of_names(titles, _LETTERS), _BAR * len(systems) / 0.8)
    figure = new_figure(min(4.6 + width_of_names(titles, _LETTERS), paper()), 0.7 + row * len(titles))
    axis = figure.subplots()
    width = 0.8 / len(systems)
    far = max(
        abs(change.estimate) for line in grid for change in line if change is not None and change.estimate is not None
    )  # fmt: skip
    edge = _FARTHEST * far or 1.0
    for position, label in enumerate(systems):
        look = style(position)
        for place, line in enumerate(grid):
            change = line[position]
            if change is None or change.estimate is None:
                axis.text(0, place - 0.4 + width * (position + 0.5), f" {DASH}", va="center", color=SOFT)
                continue
            at, bounds = place - 0.4 + width * (position + 0.5), change.interval
            axis.barh(at, change.estimate, width * 0.92, color=look.colour, alpha=0.3)
            ends = None if bounds is None else np.clip([bounds.low, bounds.high], -edge, edge).tolist()
            interval_mark(axis, change.estimate, at, ends, look, label)
    axis.axvline(0, color=INK, linewidth=0.8)
    name_rows(axis, titles, _LETTERS)
    axis.set_xlim(max(axis.get_xlim()[0], -edge), min(axis.get_xlim()[1], edge))
    axis.grid(axis="x")
    axis.set_xlabel(what)
    legend_below(figure, [axis])
    return figure


FIGURE = FigureKind("drift", "Change with length, heat map or bars", 20, build, DriftFigureOptions, general=True)
