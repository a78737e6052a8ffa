"""Agreement as a forest plot: kappa of each pair of raters with its interval, beside the bands of its reading."""

from __future__ import annotations

from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.figure_kind import Drawing, FigureKind
from bedside.reports.figure_parts import height_of_names, name_rows, new_figure, style, width_of_names
from bedside.reports.tables.agreement import AgreementOptions, agreements_of, sample_notes

#: Letters in a line beside a row.
_LETTERS = 46
#: Of the part beside the names, in inches.
_WIDTH = 4.4
#: The names of the bands, at their middles, and the width in inches below which they don't fit side by side.
_BANDS = {0.1: "slight", 0.3: "fair", 0.5: "moderate", 0.7: "substantial", 0.9: "almost\nperfect"}
_BAND = 0.72


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
    if not rows:
        return None
    groups = list(dict.fromkeys(between for _, between, *_ in rows))

    def draw() -> Any:
        names = [f"{title} ({between})" for title, between, *_ in rows]
        row = max(0.27, height_of_names(names, _LETTERS))
        figure = new_figure(_WIDTH + width_of_names(names, _LETTERS), 1.0 + row * len(rows))
        axis = figure.subplots()
        for edge in (0.2, 0.4, 0.6, 0.8):
            axis.axvline(edge, color="#dddddd", linewidth=0.8, zorder=0)
        axis.axvline(0, color="#888888", linewidth=0.8, zorder=0)
        for position, (_, between, value, low, high) in enumerate(rows):
            look = style(groups.index(between))
            axis.plot([low, high], [position] * 2, color=look.colour, linewidth=1.8)
            axis.plot(value, position, look.marker, color=look.colour, markeredgecolor="black", markeredgewidth=0.7,
                      markersize=6.5)  # fmt: skip
        name_rows(axis, names, _LETTERS)
        least = min(-0.05, *(low - 0.05 for *_, low, _ in rows))
        axis.set_xlim(least, 1.02)
        axis.set_xlabel("kappa (alpha where the ratings are on no scale)")
        top = axis.secondary_xaxis("top")
        # Names that don't fit side by side stand in two rows by turns.
        tight = 0.2 / (1.02 - least) * _WIDTH < _BAND
        top.set_xticks(
            list(_BANDS), [words + "\n\n" * (tight and not place % 2) for place, words in enumerate(_BANDS.values())]
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
    "agreement",
    "Agreement of raters, forest plot",
    30,
    build,
    AgreementOptions,
    general=True,
    shows="raters",
    weighted=True,
)
