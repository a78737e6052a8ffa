"""Strengths as a forest plot: each system's chance to be preferred to one of mean strength, a panel for each block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from bedside.analysis.pair_preferences import SystemPreferences
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.rubric_metrics import preferred_by
from bedside.reports.figure_kind import SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import (
    height_of_names,
    interval_mark,
    name_rows,
    panels,
    style,
    width_of_names,
    wrapped,
)
from bedside.reports.measures import Headed
from bedside.reports.preference_notes import heading, preferences_of
from bedside.reports.table_kind import Options


class StrengthOptions(Options):
    """Which rubrics have a panel.

    Attributes:
        metrics: rubrics by which conversations were compared; all unless named.
    """

    metrics: Headed = Field(default_factory=dict)


def build(view: RatingsView, seed: int, options: StrengthOptions) -> Drawing | None:
    """The figure; None where no system has a strength."""
    named = {preferred_by(measure.metric) for measures in options.metrics.values() for measure in measures}
    shown = [
        preferences
        for preferences in preferences_of(view, seed)
        if (not named or preferences.metric in named)
        and any(system.chance.estimate is not None for system in preferences.systems)
    ]
    if not shown:
        return None
    most = max(len(preferences.systems) for preferences in shown)
    ordered = view.order.ordered_systems(system.system for preferences in shown for system in preferences.systems)
    labels = {system: view.order.system_label(system) for system in ordered}
    # A system has one style in all panels, where its place differs.
    places = {system: position for position, system in enumerate(ordered)}

    def draw() -> Any:
        height = 0.9 + max(0.3, height_of_names(labels.values())) * most
        figure, axes = panels(len(shown), 2.4 + width_of_names(labels.values()), height)
        for axis, preferences in zip(axes, shown, strict=True):
            axis.set_title(wrapped(heading(preferences.facts, preferences.raters), 36))
            _forest(axis, preferences, places)
            name_rows(axis, [labels[system.system] for system in preferences.systems])
        return figure

    return Drawing(
        options.id or "strengths",
        options.title or "Preferred to a system of mean strength",
        (
            "Chance to be preferred to a system of mean strength if the place didn't count, with its 95 % interval "
            "over cases. The line is even chance. Systems that won or lost everything have no such chance, and no "
            "mark. What the numbers average over stands below the table of strengths.",
        ),
        draw,
    )


def _forest(axis: Any, preferences: SystemPreferences, places: Mapping[str, int]) -> None:
    axis.axvline(0.5, color=SOFT, linewidth=0.8, zorder=0)
    for position, system in enumerate(preferences.systems):
        if system.chance.estimate is None:
            continue
        bounds = system.chance.interval
        ends = None if bounds is None else (bounds.low, bounds.high)
        interval_mark(axis, system.chance.estimate, position, ends, style(places[system.system]))
    axis.set_xlim(0, 1)
    axis.grid(axis="x")


FIGURE = FigureKind(
    "strengths", "Strengths of systems, forest plot", 25, build, StrengthOptions, general=True, shows="counts"
)
