"""Notes on numbers in which final labels by adjudication stand in place of what people said."""

from __future__ import annotations

from collections.abc import Iterable

from bedside.analysis.ratings_view import RatingsView
from bedside.core.plurals import counted


def final_notes(view: RatingsView, metrics: Iterable[str]) -> tuple[str, ...]:
    """What is said under people's values: of how many units they are final labels; nothing where of none.

    Args:
        view: the ratings.
        metrics: those that are shown.
    """
    return tuple(
        f"{view.facts(metric).title}: {counted(count, 'unit')} "
        f"{'was' if count == 1 else 'were'} adjudicated; the final label stands in place of people's mean."
        for metric in sorted(set(metrics))
        for count in (len(view.final_labels(metric)),)
        if count
    )
