"""Figures as SVG text; the same data give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from bedside.comparison import quality_metrics
from bedside.evaluation import PEOPLE, Evaluation, facts
from bedside.reports.tables._measures import ALL, rater_words

if TYPE_CHECKING:
    from bedside.reports.table import Table

#: Okabe and Ito's colours, told apart by colour-blind readers; markers tell them apart in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_STYLE: Any = {
    "svg.hashsalt": "bedside",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
}
_PANELS = 12


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    text = out.getvalue()
    return text[text.index("<svg") :]


def distributions(evaluation: Evaluation) -> str | None:
    """Each transcript's value by system, with mean and 95 % t interval, a panel for each metric.

    Metrics of quality come first, then others, up to twelve. None where no metric has a value.
    """
    names = quality_metrics(evaluation)
    names += [name for name in evaluation.metrics() if name not in names]
    values = (
        evaluation.transcript_values(names).drop_nulls("value").with_columns(pl.col("system").fill_null(ALL))
    )
    keys = sorted(
        values.select("metric", "group").unique().iter_rows(),
        key=lambda key: (names.index(key[0]), key[1] != PEOPLE, key[1]),
    )[:_PANELS]
    if not keys:
        return None
    import matplotlib as mpl
    from matplotlib.figure import Figure

    systems = sorted(values["system"].unique())
    columns = min(3, len(keys))
    rows = -(-len(keys) // columns)
    doubled = {metric for metric, _ in keys if sum(m == metric for m, _ in keys) > 1}
    with mpl.rc_context(_STYLE):
        figure = Figure(
            figsize=(3.2 * columns, (0.75 + 0.34 * len(systems)) * rows + 0.2), layout="constrained"
        )
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, (metric, group) in zip(axes, keys, strict=False):
            mine = values.filter((pl.col("metric") == metric) & (pl.col("group") == group))
            by = f" ({rater_words(group)})" if metric in doubled else ""
            axis.set_title(facts(metric).title + by)
            _strip(axis, mine, systems)
        for axis in axes[len(keys) :]:
            axis.set_visible(False)
        return _svg(figure)


def _strip(axis: Any, values: pl.DataFrame, systems: Sequence[str]) -> None:
    import numpy as np

    from bedside.stats.intervals import mean_t

    for position, system in enumerate(systems):
        points = values.filter(pl.col("system") == system)["value"].to_numpy()
        if not points.size:
            continue
        colour = COLOURS[position % len(COLOURS)]
        # Points are spread by rank, not at random, so that equal values don't hide one another.
        spread = (np.arange(points.size) % 5 - 2) * 0.055
        axis.plot(points, position + spread, "o", color=colour, alpha=0.35, markersize=3.5, markeredgewidth=0)
        result = mean_t(points)
        if result.interval is not None:
            axis.plot(
                [result.interval.low, result.interval.high], [position] * 2, color="black", linewidth=1.6
            )
        axis.plot(result.estimate, position, MARKERS[position % len(MARKERS)], color=colour, markersize=6.5,
                  markeredgecolor="black", markeredgewidth=0.8)  # fmt: skip
    axis.set_yticks(range(len(systems)), systems)
    axis.set_ylim(len(systems) - 0.5, -0.5)
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)


def agreement(table: Table) -> str | None:
    """Kappa (alpha where the ratings are on no scale) of each row of an agreement table, with its interval.

    None where no row has an interval.
    """
    best: dict[tuple[str, str], tuple[str, str, float, float, float]] = {}
    for record in table.records:
        wanted = record["kind"] != "person" and record["statistic"] in ("kappa", "alpha")
        key = (record["title"], record["between"])
        if wanted and record["low"] is not None and (key not in best or record["statistic"] == "kappa"):
            best[key] = (*key, record["estimate"], record["low"], record["high"])
    rows = list(best.values())
    if not rows:
        return None
    import matplotlib as mpl
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys(between for _, between, *_ in rows))
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 0.8 + 0.27 * len(rows)), layout="constrained")
        axis = figure.subplots()
        for edge in (0.2, 0.4, 0.6, 0.8):
            axis.axvline(edge, color="#dddddd", linewidth=0.8, zorder=0)
        axis.axvline(0, color="#888888", linewidth=0.8, zorder=0)
        for position, (_, between, value, low, high) in enumerate(rows):
            style = groups.index(between)
            axis.plot([low, high], [position] * 2, color=COLOURS[style % len(COLOURS)], linewidth=1.8)
            axis.plot(value, position, MARKERS[style % len(MARKERS)], color=COLOURS[style % len(COLOURS)],
                      markeredgecolor="black", markeredgewidth=0.7, markersize=6.5)  # fmt: skip
        axis.set_yticks(range(len(rows)), [f"{title} ({between})" for title, between, *_ in rows])
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xlim(min(-0.05, *(low - 0.05 for *_, low, _ in rows)), 1.02)
        top = axis.secondary_xaxis("top")
        top.set_xticks(
            [0.1, 0.3, 0.5, 0.7, 0.9], ["slight", "fair", "moderate", "substantial", "almost\nperfect"]
        )
        top.tick_params(length=0, labelsize=8, labelcolor="#666666")
        top.spines["top"].set_visible(False)
        return _svg(figure)
