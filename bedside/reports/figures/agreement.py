"""Agreement as a forest plot: kappa of each pair of raters with its interval, beside the bands of its reading."""

from __future__ import annotations

from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.agreement_notes import sample_notes
from bedside.reports.figure_kind import COLOURS, MARKERS, Drawing, FigureKind, new_figure
from bedside.reports.tables.agreement import AgreementOptions, agreements_of

#: More rows than this are not readable.
_ROWS = 40


def build(view: RatingsView, seed: int, options: AgreementOptions) -> Drawing | None:
    """The figure; None where no row has an interval."""
    rows = []
    agreements = agreements_of(view, options, seed)
    for agreement in agreements:
        main = agreement.statistics.get("kappa") or agreement.statistics.get("alpha")
        if agreement.kind == "person" or main is None or main.estimate is None or main.interval is None:
            continue
        bounds = (main.interval.low, main.interval.high)
        rows.append((agreement.title, agreement.between, main.estimate, *bounds))
    rows = rows[:_ROWS]
    if not rows:
        return None
    groups = list(dict.fromkeys(between for _, between, *_ in rows))

    def draw() -> Any:
        figure = new_figure(7.2, 0.8 + 0.27 * len(rows))
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
        axis.set_xlabel("kappa (alpha where the ratings are on no scale)")
        top = axis.secondary_xaxis("top")
        top.set_xticks(
            [0.1, 0.3, 0.5, 0.7, 0.9], ["slight", "fair", "moderate", "substantial", "almost\nperfect"]
        )
        top.tick_params(length=0, labelsize=8, labelcolor="#555555")
        top.spines["top"].set_visible(False)
        return figure

    return Drawing(
        options.id or "agreement",
        options.title or "Agreement of raters",
        ("Kappa, or alpha where the ratings are on no scale, with its 95 % interval; bands after Landis and Koch "
         "(1977).", *sample_notes(agreements)),
        draw,
    )  # fmt: skip


FIGURE = FigureKind(
    "agreement", "Agreement of raters, forest plot", 30, build, AgreementOptions, general=True
)
