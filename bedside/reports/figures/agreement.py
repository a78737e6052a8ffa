"""Agreement as a forest plot: people's kappa on each measure, and raters' with people, under bands of its reading."""

from __future__ import annotations

from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import LINE, SOFT, Drawing, FigureKind
from bedside.reports.figure_parts import (
    height_of_names,
    interval_mark,
    legend_below,
    name_rows,
    new_figure,
    paper,
    style,
    width_of_names,
)
from bedside.reports.number_text import rater_words
from bedside.reports.tables.agreement import AgreementOptions, agreements_of, sample_notes

#: Letters in a line beside a row.
_LETTERS = 40
#: Of the part beside the names, in inches.
_WIDTH = 5.4
#: The names of the bands, at their middles, and the width in inches below which they don't fit side by side.
_BANDS = {0.1: "slight", 0.3: "fair", 0.5: "moderate", 0.7: "substantial", 0.9: "almost\nperfect"}
_BAND = 0.72


def build(view: RatingsView, seed: int, options: AgreementOptions) -> Drawing | None:
    """The figure; None where no row has an interval."""
    rows: dict[str, list[tuple[str, float, float, float]]] = {}
    agreements = agreements_of(view, options, seed)
    for agreement in agreements:
        main = agreement.statistics.get("kappa") or agreement.statistics.get("alpha")
        if agreement.kind not in ("people", "mean") or main is None or main.estimate is None or main.interval is None:
            continue
        who = f"{rater_words(agreement.rater)} with people" if agreement.rater else "people"
        row = (who, main.estimate, main.interval.low, main.interval.high)
        rows.setdefault(agreement.title, []).append(row)
    if not rows:
        return None
    groups = list(dict.fromkeys(between for marks in rows.values() for between, *_ in marks))
    most = max(map(len, rows.values()))

    def draw() -> Any:
        row = max(0.16 + 0.14 * most, height_of_names(rows, _LETTERS))
        width = min(_WIDTH + width_of_names(rows, _LETTERS), paper())
        figure = new_figure(width, 1.0 + row * len(rows))
        axis = figure.subplots()
        for edge in (0.2, 0.4, 0.6, 0.8):
            axis.axvline(edge, color=LINE, linewidth=0.8, zorder=0)
        axis.axvline(0, color=SOFT, linewidth=0.8, zorder=0)
        for position, marks in enumerate(rows.values()):
            for place, (between, value, low, high) in enumerate(marks):
                at = position + 0.14 / row * (place - (len(marks) - 1) / 2)
                interval_mark(axis, value, at, (low, high), style(groups.index(between)), between)
        name_rows(axis, list(rows), _LETTERS)
        least = min(-0.05, *(low - 0.05 for marks in rows.values() for *_, low, _ in marks))
        axis.set_xlim(least, 1.02)
        axis.set_xlabel("kappa or alpha")
        top = axis.secondary_xaxis("top")
        # Names that don't fit side by side stand in two rows by turns.
        tight = 0.2 / (1.02 - least) * (width - width_of_names(rows, _LETTERS)) < _BAND
        top.set_xticks(
            list(_BANDS), [words + "\n\n" * (tight and not place % 2) for place, words in enumerate(_BANDS.values())]
        )
        top.tick_params(length=0, labelsize=8, labelcolor=SOFT)
        top.spines["top"].set_visible(False)
        axis.spines["left"].set_visible(False)
        legend_below(figure, [axis])
        return figure

    return Drawing(
        options.id or "agreement",
        options.title or "Agreement of raters",
        ("Kappa, or alpha where the ratings are on no scale, with its 95 % interval; of a rater with people the mean "
         "over persons. Bands after Landis and Koch (1977).", *sample_notes(agreements)),
        draw,
    )  # fmt: skip


FIGURE = FigureKind(
    "agreement",
    "Agreement of raters, forest plot",
    30,
    build,
    AgreementOptions,
    general=True,
    shows="raters",
    weighted=True,
)
