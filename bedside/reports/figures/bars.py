"""Bars: means by system with intervals, a panel for each metric; factors, or metrics of one scale, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field, model_validator

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figure_parts import (
    ROOM,
    across_note,
    height_of_names,
    legend_below,
    panels,
    share_axis,
    style,
    whiskers,
    with_arrow,
    wrapped,
)
from bedside.reports.measures import Headed, also_rated_notes
from bedside.reports.number_text import DASH
from bedside.reports.samples import MeasureRow, Sample, Samples, interval_note, interval_of, measure
from bedside.reports.table_kind import Options

#: Of a bar, in inches: as wide as there is room for, between these.
_WIDEST, _NARROWEST = 0.3, 0.12
#: What a panel takes besides its bars, and what one of many bars takes up, in inches.
_MARGIN, _PANEL = 0.5, 2.9
#: The least that a group of bars with a name below it takes, in inches, and the letters of its name in a line.
_GROUP, _GROUP_LETTERS = 1.3, 15


class BarsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the measures.
        by: a factor: its values stand side by side.
        together: metrics that have the same scale stand side by side in one panel.
        lines: values of the scale with what to call them, each a line across every panel that it lies in.
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
    factors = [] if view.factors is None else view.factors.columns
    by = options.by if options.by in factors else None
    measured = measure(view, options.metrics, by=[by] if by else [], raters=options.raters)
    items = measured.items
    if not items:
        return None
    systems = view.order.ordered_systems(system for _, samples in items for system, _ in samples)
    whole = list(_together(items) if options.together else _apart(view, items, by))
    named = options.together or by is not None
    per_bar = _bar_width(len(systems))
    shown = [part for panel in whole for part in _parts(panel, len(systems), per_bar, named=named)]
    labels = [view.order.system_label(system) for system in systems]
    missing = any(
        _estimate(samples.get(system)) is None
        for panel in shown
        for _, _, samples in panel.groups
        for system in systems
    )

    def draw() -> Any:
        widths = [_panel_width(panel, len(systems), per_bar, named=named) for panel in shown]
        width = max(2.4, *widths)
        names = [name for panel in shown for name, _, _ in panel.groups]
        below = height_of_names(names, _GROUP_LETTERS) if named else 0.0
        above = height_of_names([panel.title for panel in shown], int(11 * width))
        figure, axes = panels(len(shown), width, 1.8 + above + below)
        for axis, panel in zip(axes, shown, strict=True):
            _draw_panel(axis, panel, systems, labels, options, width=width, named=named)
        share_axis(axes, [panel.scale.key for panel in shown])
        legend_below(figure, axes)
        return figure

    bases = {panel.scale.base for panel in shown}
    against = view.order.system_label(options.against) if options.against is not None else None
    drawn = [
        (sample, item.level) for panel in shown for _, item, samples in panel.groups for sample in samples.values()
    ]  # fmt: skip
    return Drawing(
        options.id or "bars",
        options.title or "Means by system",
        (
            "Bars: means (ratios of sums where the table says so); whiskers: " + interval_note(drawn),
            *(("Bars of ratings begin at the lowest level of their scale.",) if bases != {0.0} else ()),
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


def _bar_width(systems: int) -> float:
    """How wide a bar is: narrower where there are many systems, so that panels still stand in rows."""
    wanted = min(_WIDEST, max(_NARROWEST, _PANEL / systems))
    return min(wanted, (ROOM - _MARGIN) / systems)


def _group_width(systems: int, per_bar: float, *, named: bool) -> float:
    return max(per_bar * systems / 0.8, _GROUP if named else 0.0)


def _panel_width(panel: _BarPanel, systems: int, per_bar: float, *, named: bool) -> float:
    return _MARGIN + len(panel.groups) * _group_width(systems, per_bar, named=named)


def _parts(panel: _BarPanel, systems: int, per_bar: float, *, named: bool) -> Iterator[_BarPanel]:
    """The panel, in several where its groups would be wider than a page."""
    fit = max(1, int((ROOM - _MARGIN) // _group_width(systems, per_bar, named=named)))
    count = -(-len(panel.groups) // fit)
    each = -(-len(panel.groups) // count)
    for begin in range(0, len(panel.groups), each):
        yield replace(panel, groups=panel.groups[begin : begin + each])


def _estimate(sample: Sample | None) -> float | None:
    return None if sample is None else sample.estimate


def _draw_panel(
    axis: Any,
    panel: _BarPanel,
    systems: Sequence[str],
    labels: Sequence[str],
    options: BarsOptions,
    *,
    width: float,
    named: bool,
) -> None:
    bar = 0.8 / len(systems)
    base = panel.scale.base
    for position, (system, label) in enumerate(zip(systems, labels, strict=True)):
        edges, heights, low, high = [], [], [], []
        for place, (_, item, samples) in enumerate(panel.groups):
            edge = place - 0.4
            sample = samples.get(system)
            if sample is None or sample.estimate is None:
                axis.text(edge + bar * (position + 0.5), base, DASH, ha="center", va="bottom", color="#555555")
                continue
            interval = interval_of(sample, item.level)
            edges.append(edge)
            heights.append(sample.estimate * item.scale)
            ends = (interval.low, interval.high) if interval else (sample.estimate, sample.estimate)
            low.append(heights[-1] - ends[0] * item.scale)
            high.append(ends[1] * item.scale - heights[-1])
        at = [edge + bar * (position + 0.5) for edge in edges]
        look = style(position)
        axis.bar(at, [height - base for height in heights], bar * 0.92, bottom=base, color=look.colour,
                 edgecolor=look.edge, hatch=look.hatch, linewidth=0.6, label=label)  # fmt: skip
        cap = min(3.0, 15 * width / (len(systems) * len(panel.groups)))
        whiskers(axis, at, heights, [low, high], cap)
        if system == options.against:
            ends_of = [edge + 0.8 for edge in edges]
            axis.hlines(heights, edges, ends_of, color="black", linestyle=":", linewidth=1.3)
    _frame(axis, panel, options.lines)
    axis.set_title(wrapped(panel.title, int(11 * width)))
    names = [wrapped(name, _GROUP_LETTERS) if named else "" for name, _, _ in panel.groups]
    axis.set_xticks(range(len(names)), names)
    axis.set_xlim(-0.5, len(names) - 0.5)
    axis.tick_params(axis="x", length=0)
    axis.axhline(base, color="black", linewidth=0.8)
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    if panel.xlabel:
        axis.set_xlabel(panel.xlabel)


def _frame(axis: Any, panel: _BarPanel, lines: Mapping[str, float]) -> None:
    """The ends of the vertical axis, and the lines across: all of a scale of ratings, of a share what is used."""
    scale = panel.scale
    low, high = axis.get_ylim()
    if scale.low is not None and scale.high is not None and not scale.is_share:
        low, high = scale.low, scale.high
    elif scale.low is not None:
        low = scale.base
        high = min(high, scale.high) if scale.high is not None else high
    inside = {words: value for words, value in lines.items() if low <= value <= (scale.high or value)}
    high = max(high, *inside.values()) if inside else high
    if scale.key is not None and not scale.is_share:
        axis.yaxis.get_major_locator().set_params(integer=True)
    # Room for a cap that lies on the end.
    axis.set_ylim(low, high + 0.02 * (high - low))
    for words, value in inside.items():
        axis.axhline(value, color="#555555", linestyle="--", linewidth=1.0)
        axis.annotate(words, (1.0, value), xycoords=("axes fraction", "data"), xytext=(2, 0),
                      textcoords="offset points", va="center", fontsize=8, color="#555555")  # fmt: skip


FIGURE = FigureKind("bars", "Means by system with intervals", 12, build, BarsOptions)
