"""Drift as a heat map: change of each metric from the shortest to the longest condition, by system."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.analysis.drift import drift
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.cell_names import rater_words, several_raters
from bedside.reports.figure_kind import Drawing, FigureKind, new_figure, tiles
from bedside.reports.measures import named_metrics
from bedside.reports.number_text import number
from bedside.reports.tables.drift import DriftOptions
from bedside.support.errors import DataError


def build(view: RatingsView, seed: int, options: DriftOptions) -> Drawing | None:
    """The figure; None where the factor, two lengths or cases with both are lacking."""
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return None
    try:
        length_drift = drift(
            view, options.by, lengths=options.lengths, metrics=metrics.rated or None, resamples=1, seed=seed
        )
    except DataError:
        return None
    changes = {
        (system_change.metric, system_change.raters, system_change.system): system_change.change.estimate
        for system_change in length_drift.changes
    }
    keys = list(dict.fromkeys(key[:2] for key in changes))
    systems = sorted({key[2] for key in changes})
    grid = np.array([[changes.get((*key, system)) for system in systems] for key in keys], dtype=float)
    if np.isnan(grid).all():
        return None
    doubled = several_raters(set(keys))
    titles = [
        view.facts(metric).title + (f" ({rater_words(raters)})" if metric in doubled else "")
        for metric, raters in keys
    ]

    def draw() -> Any:
        figure = new_figure(2.8 + 1.0 * len(systems), 1.2 + 0.28 * len(keys))
        axis = figure.subplots()
        # One far value must not wash out the others.
        limit = float(np.clip(np.nanpercentile(np.abs(grid), 90), 1, 100))
        image = tiles(axis, grid, cmap="PuOr", vmin=-limit, vmax=limit)
        for (row, column), value in np.ndenumerate(grid):
            text = "–" if np.isnan(value) else ("+" if value > 0 else "") + number(float(value), 1)
            colour = "white" if abs(value) > 0.7 * limit else "black"
            axis.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
        turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if max(map(len, systems)) > 9 else {}
        axis.set_xticks(range(len(systems)), systems, **turned)
        axis.set_yticks(range(len(titles)), titles)
        axis.tick_params(length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=axis, shrink=0.8, extend="both", use_gridspec=False)
        bar.set_label(
            f"change in %, {options.by.replace('_', ' ')} {length_drift.shortest:g} to {length_drift.longest:g}"
        )
        return figure

    return Drawing(
        options.id or "drift",
        options.title or "Change from the shortest to the longest condition",
        ("Change of the mean in per cent, paired by case; the table has the intervals.",),
        draw,
    )


FIGURE = FigureKind("drift", "Change with length, heat map", 20, build, DriftOptions, general=True)
