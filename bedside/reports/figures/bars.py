"""Bars: means by system with intervals, a panel for each metric; factors, or metrics of one scale, below each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import (
    across_note,
    height_of_names,
    in_first_column,
    interval_mark,
    legend_below,
    name_rows,
    panels,
    share_axis,
    style,
    value_beside,
    width_of_names,
    with_arrow,
    wrapped,
)
from bedside.reports.measures import Headed, also_rated_notes
from bedside.reports.number_text import DASH, number
from bedside.reports.samples import MeasureRow, Sample, Samples, interval_note, interval_of, measure
from bedside.reports.table_kind import Options

#: Letters in a line of a panel's title, and of a name beside it.
_LETTERS, _NAMES = 24, 22
#: Of a row with one bar, and of one of several bars in a row, in inches.
_ROW, _BAR = 0.36, 0.19
#: Of more transcripts a system, evenly spaced ones are shown; fewer where a figure has many systems and panels.
_POINTS, _FEWEST = 100, 12
#: Dots of a figure.
_DOTS = 8_000


class BarsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the measures.
        by: a factor: its values stand below each other.
        together: metrics that have the same scale stand in one panel.
        lines: values of the scale with what to call them, each a line in every panel that it lies in.
        against: a system whose means are shown across the bars of the others.
        raters: groups of raters or patterns in order of preference, such as ``[people, "judge:*"]``: a measure is shown
            of the first that has values. Without it each group has its own.
    """

    metrics: Headed = Field(default_factory=dict)
    by: str | None = None
    together: bool = False
    lines: Mapping[str, float] = {}
    against: str | None = None
    raters: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> BarsOptions:
        if self.by is not None and self.together:
            raise ValueError("either a factor's levels (by) or metrics (together) stand side by side")
        return self


@dataclass(frozen=True, slots=True)
class _Scale:
    """What values are measured on, as it is printed; panels of one scale share an axis where it has two ends."""

    low: float | None
    high: float | None

    @property
    def key(self) -> _Scale | None:
        """What panels that share an axis have in common."""
        return None if self.low is None or self.high is None else self

    @property
    def base(self) -> float:
        """Where bars begin: at 0, or at the end of the scale that is nearest to it."""
        if self.low is None or self.high is None:
            return 0.0
        return max(self.low, 0.0) if self.high > 0 else self.high

    @property
    def is_share(self) -> bool:
        """Whether it goes from 0 to 1, or from 0 to 100 %."""
        return self.low == 0 and self.high in (1, 100)


@dataclass(frozen=True, slots=True)
class _BarPanel:
    """One panel: groups of bars, one bar a system, with the measure and the samples of each group."""

    title: str
    xlabel: str
    scale: _Scale
    groups: tuple[tuple[str, MeasureRow, Mapping[str, Sample]], ...]


def build(view: RatingsView, seed: int, options: BarsOptions) -> Drawing | None:
    """The figure; None where no metric has a value."""
    return means_figure(view, options)


def means_figure(view: RatingsView, options: BarsOptions, *, dots: bool = False) -> Drawing | None:
    """Means with their intervals, on bars or above a dot for each transcript; None where no metric has a value."""
    factors = [] if view.factors is None else view.factors.columns
    by = options.by if options.by in factors else None
    measured = measure(view, options.metrics, by=[by] if by else [], raters=options.raters)
    items = measured.items
    if not items:
        return None
    systems = view.order.ordered_systems(system for _, samples in items for system, _ in samples)
    whole = list(_together(items) if options.together else _apart(view, items, by))
    named = options.together or by is not None
    labels = [view.order.system_label(system) for system in systems]
    most = max(_FEWEST, min(_POINTS, _DOTS // (len(items) * len(systems)))) if dots else 0
    missing = any(
        system not in samples or samples[system].estimate is None
        for panel in whole
        for _, _, samples in panel.groups
        for system in systems
    )

    def draw() -> Any:
        rows = [[name for name, _, _ in panel.groups] if named else labels for panel in whole]
        names = [name for own in rows for name in own]
        above = height_of_names([panel.title for panel in whole], _LETTERS)
        row = max(0.1 + _BAR * len(systems) if named else _ROW, height_of_names(names, _NAMES))
        beside, height = width_of_names(names, _NAMES), 0.5 + above + row * max(map(len, rows))
        # Where panels have names of their own, each has them beside it.
        width, shared = (2.3 + beside, 0.0) if options.together else (1.75, beside)
        figure, axes = panels(len(whole), width, height, beside=shared, most_columns=5, stretch=1.6)
        for axis, panel, own in zip(axes, whole, rows, strict=True):
            _draw_panel(axis, panel, systems, labels, options, named=named, most=most)
            name_rows(axis, own, _NAMES, shown=options.together or in_first_column(axis))
            axis.set_ylim(max(map(len, rows)) - 0.5, -0.5)
        share_axis(axes, [panel.scale.key for panel in whole], "x")
        if named:
            legend_below(figure, axes)
        return figure

    bases = {panel.scale.base for panel in whole}
    against = view.order.system_label(options.against) if options.against is not None else None
    drawn = [
        (sample, item.level) for panel in whole for _, item, samples in panel.groups for sample in samples.values()
    ]  # fmt: skip
    marks = "One dot a transcript; above them the mean" if dots else "Bars: means"
    if any(item.level == "micro" for item, _ in items):
        marks += " (ratios of sums where the table says so)"
    return Drawing(
        options.id or "bars",
        options.title or "Means by system",
        (
            f"{marks}, with its interval{'' if named else '; its figure stands at the right'}. {interval_note(drawn)}",
            *(("Bars of ratings begin at the lowest level of their scale.",) if bases != {0.0} and not dots else ()),
            *(
                (f"Of more than {most} transcripts of a system, evenly spaced ones are shown.",)
                if dots and any(sample.n > most for sample, _ in drawn)
                else ()
            ),
            *((f"{DASH}: no value.",) if missing else ()),
            *across_note(against, labels),
            *also_rated_notes((raters.title, raters.group) for raters in measured.unshown),
        ),
        draw,
    )


def _scale_of(item: MeasureRow, samples: Samples) -> _Scale:
    low, high = next((sample.bounds for sample in samples.values()), (None, None))
    return _Scale(None if low is None else low * item.scale, None if high is None else high * item.scale)


def _apart(view: RatingsView, items: Sequence[tuple[MeasureRow, Samples]], by: str | None) -> Iterator[_BarPanel]:
    """A panel for each measure; its groups are the levels of a factor."""
    strata = [""]
    if by is not None:
        strata = view.order.ordered_levels(by, [stratum[0] for _, samples in items for _, stratum in samples])
    for item, samples in items:
        groups = tuple(
            (
                view.order.level_label(by, stratum) if by else "",
                item,
                {system: sample for (system, at), sample in samples.items() if at == ((stratum,) if by else ())},
            )
            for stratum in strata
        )
        yield _BarPanel(
            with_arrow(item.title, item.direction), by.replace("_", " ") if by else "", _scale_of(item, samples), groups
        )


def _together(items: Sequence[tuple[MeasureRow, Samples]]) -> Iterator[_BarPanel]:
    """A panel for each scale; its groups are the measures on it. One without two ends is a measure's own."""
    by_scale: dict[Any, list[tuple[MeasureRow, Samples]]] = {}
    for place, (item, samples) in enumerate(items):
        scale = _scale_of(item, samples)
        by_scale.setdefault(scale.key or place, []).append((item, samples))
    for members in by_scale.values():
        scale = _scale_of(*members[0])
        directions = {item.direction for item, _ in members}
        yield _BarPanel(
            _scale_words(scale),
            "",
            scale,
            tuple(
                (
                    with_arrow(_name_in(scale, item), item.direction) if len(directions) > 1 else _name_in(scale, item),
                    item,
                    {system: sample for (system, _), sample in samples.items()},
                )
                for item, samples in members
            ),
        )


def _name_in(scale: _Scale, item: MeasureRow) -> str:
    """A measure's title without the unit that stands over the panel."""
    return item.title.removesuffix(" (%)") if scale.is_share and scale.high == 100 else item.title


def _scale_words(scale: _Scale) -> str:
    if scale.low is None or scale.high is None:
        return ""
    return "per cent" if (scale.low, scale.high) == (0, 100) else f"from {scale.low:g} to {scale.high:g}"


def _draw_panel(
    axis: Any,
    panel: _BarPanel,
    systems: Sequence[str],
    labels: Sequence[str],
    options: BarsOptions,
    *,
    named: bool,
    most: int,
) -> None:
    """One bar a row, or in each group one a system; in place of bars up to ``most`` dots."""
    base = panel.scale.base
    step = 0.8 / len(systems) if named else 0.6
    for position, (system, label) in enumerate(zip(systems, labels, strict=True)):
        look = style(position)
        for place, (_, item, samples) in enumerate(panel.groups):
            at = place - 0.4 + step * (position + 0.5) if named else position
            sample = samples.get(system)
            if sample is None or sample.estimate is None:
                axis.text(base, at, f" {DASH}", va="center", color=SOFT)
                continue
            mean, interval = sample.estimate * item.scale, interval_of(sample, item.level)
            ends = (interval.low * item.scale, interval.high * item.scale) if interval else (mean, mean)
            if most:
                points = np.sort(sample.values * item.scale)[:: -(-sample.values.size // most)]
                # Points are spread by rank, not at random, so that equal values don't hide one another.
                spread = at + 0.2 + (np.arange(points.size) % 5 - 2) * 0.06
                axis.plot(points, spread, "o", color=look.colour, alpha=0.55, markersize=3.6, markeredgewidth=0)
            else:
                axis.barh(at, mean - base, 0.9 * step, left=base, color=look.colour, alpha=0.3)
            interval_mark(axis, mean, at - 0.17 if most else at, ends, look, label)
            if not named:
                value_beside(axis, number(mean, item.digits), at)
            if system == options.against:
                across = (place - 0.4, place + 0.4) if named else (-0.5, len(systems) - 0.5)
                axis.vlines(mean, *across, color=INK, linestyle=":", linewidth=1.3)
    _frame(axis, panel, options.lines, dots=bool(most))
    axis.set_title(wrapped(panel.title, _LETTERS), pad=16 if options.lines else None)
    if not most:
        axis.axvline(base, color=INK, linewidth=0.8)
    axis.spines["left"].set_visible(False)
    axis.grid(axis="x")
    if panel.xlabel and in_first_column(axis):
        axis.set_ylabel(panel.xlabel)


def _frame(axis: Any, panel: _BarPanel, lines: Mapping[str, float], *, dots: bool) -> None:
    """The ends of the axis, and the lines upwards: all of a scale of ratings, of a share what is used."""
    scale = panel.scale
    low, high = axis.get_xlim()
    if scale.low is not None and scale.high is not None and not scale.is_share:
        low, high = scale.low, scale.high
    elif scale.low is not None and (scale.is_share or not dots):
        low = scale.base
        high = min(high, scale.high) if scale.high is not None else high
    inside = {words: value for words, value in lines.items() if low <= value <= (scale.high or value)}
    high = max(high, *inside.values()) if inside else high
    if scale.key is not None and not scale.is_share:
        axis.xaxis.get_major_locator().set_params(integer=True, nbins=6)
    # Room for a mark that lies on the end.
    room = 0.03 * (high - low)
    axis.set_xlim(low - room if dots else low, high + room)
    for words, value in inside.items():
        axis.axvline(value, color=SOFT, linestyle="--", linewidth=1.0)
        axis.annotate(words, (value, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
                      textcoords="offset points", ha="center", fontsize=8, color=SOFT)  # fmt: skip


FIGURE = FigureKind("bars", "Means by system with intervals", 12, build, BarsOptions)
