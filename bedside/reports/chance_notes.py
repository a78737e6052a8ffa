"""Notes on people's numbers whose units are no random sample of all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import rated_by_humans


def chances_by_title(view: RatingsView, metrics: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Title of each metric → the chances with which the units that people rated were drawn, as far as known."""
    people = view.ratings.filter(rated_by_humans())
    return {
        view.facts(metric).title: tuple(
            people.filter(pl.col("metric") == metric)["drawn"].drop_nulls().unique().sort()
        )
        for metric in metrics
    }


def chance_notes(chances: Mapping[str, Collection[float]], instead: str = "") -> list[str]:
    """What unequal chances, or none, make of people's numbers.

    Args:
        chances: of what is shown, the chances with which its units came into people's sample; 0 of those picked.
        instead: a sentence that says what weights them.
    """
    picked = [title for title, drawn in chances.items() if 0 in drawn]
    unequal = [title for title, drawn in chances.items() if 0 not in drawn and len(drawn) > 1]
    notes = []
    for titles, how in (
        (unequal, "were drawn with unequal chances, as the plan's strata have it"),
        (picked, "were partly picked for what they are, such as disagreement, and not drawn"),
    ):
        if titles:
            notes.append(
                f"{', '.join(titles)}: the units that people rated {how}. Figures are about the units rated, and would "
                f"differ if all had been.{f' {instead}' if instead else ''}"
            )
    return notes
