"""A judge's expected levels beside what people say: points on the diagonal where what it expects comes true."""

from __future__ import annotations

from typing import Any

from bedside.analysis.judge_accuracy import calibrations
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import INK, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import COLOURS, panels, wrapped
from bedside.reports.measures import named_metrics
from bedside.reports.number_text import number, rater_words
from bedside.reports.rated_pairs import PairsOptions


def build(view: RatingsView, seed: int, options: PairsOptions) -> Drawing | None:
    """The figure; None where no judge gave expected levels of what people rated."""
    metrics = named_metrics(view, options.metrics)
    names = metrics.rated if metrics.names else tuple(view.metrics())
    curves = list(calibrations(view, names))
    if not curves:
        return None

    def draw() -> Any:
        figure, axes = panels(len(curves), 3.3, 2.8)
        for axis, (name, judge, calibration) in zip(axes, curves, strict=True):
            points = [point for point in calibration.curve.points if point.observed.estimate is not None]
            expected = [point.expected for point in points]
            observed = [point.observed.estimate or 0.0 for point in points]
            ends = (min(*expected, *observed), max(*expected, *observed))
            axis.plot(ends, ends, color=SOFT, linewidth=0.9, linestyle="--")
            for point, value in zip(points, observed, strict=True):
                bounds = point.observed.interval
                if bounds is not None:
                    axis.plot([point.expected] * 2, [bounds.low, bounds.high], color=SOFT, linewidth=0.8)
                axis.scatter([point.expected], [value], s=200 * point.share, color=COLOURS[0], alpha=0.7,
                             edgecolor=INK, linewidth=0.5, zorder=3)  # fmt: skip
            error, chance = calibration.curve.error.estimate, calibration.curve.by_chance
            title = wrapped(view.facts(name).title, 38)
            axis.set_title(f"{title}\nn = {calibration.units:,}, error {number(error)} (chance {number(chance)})")
            axis.set_xlabel(wrapped(f"expected by {rater_words(judge)}", 34))
            axis.set_ylabel("people, mean")
            axis.grid()
        return figure

    return Drawing(
        options.id or "calibration",
        options.title or "Expected levels beside people",
        (
            "One point for each group of units of like expectation, larger where they are more. The bar is the 95 % "
            "interval of people's mean by case. On the dashed line people's mean is as expected.",
        ),
        draw,
    )


FIGURE = FigureKind(
    "calibration",
    "Expected levels beside people",
    38,
    build,
    PairsOptions,
    general=True,
    beside="agreement",
    shows="raters",
    weighted=True,
)
