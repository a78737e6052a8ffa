"""Which command brings a metric that a run doesn't have, and shows what a table leaves to others."""

from __future__ import annotations

from collections.abc import Iterable

from bedside.analysis.ratings_view import RatingsView
from bedside.core.plurals import counted
from bedside.judges.rubrics.rubric_files import RUBRICS


def preferences_apart(view: RatingsView) -> tuple[str, ...]:
    """What is said under a table of ratings where two conversations were compared too."""
    if view.preferences.is_empty():
        return ()
    preferences = counted(view.preferences.height, "preference")
    return (f"{preferences} between two conversations are left to bedside preferences.",)


def code_notes(metrics: Iterable[str]) -> list[str]:
    """For metrics without any value: how to get the codes of turns that some of them are counted from."""
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    counted_from_codes = [
        name for name in dict.fromkeys(metrics) if owners.get(name.partition(".")[0]) == "behaviour"
    ]
    if not counted_from_codes:
        return []
    return [
        f"{', '.join(counted_from_codes)}: codes of turns come from people (meta.codes of the turns), or from a judge: "
        "bedside score FILES --out RUN --judge MODEL --codes all"
    ]


def absent_notes(metrics: Iterable[str]) -> list[str]:
    """For metrics that are not rated: a line for each command that brings some of them."""
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    rubrics, algorithms, others = [], [], []
    for name in dict.fromkeys(metrics):
        base = name.partition(".")[0]
        if base in RUBRICS:
            rubrics.append(base)
        elif base in owners:
            algorithms.append(base)
        else:
            others.append(name)
    notes = []
    if rubrics:
        listed = ",".join(dict.fromkeys(rubrics))
        notes.append(f"Not rated yet: bedside score FILES --out RUN --judge MODEL --rubrics {listed}")
    if algorithms:
        listed = ",".join(dict.fromkeys(algorithms))
        notes.append(f"Not scored yet: bedside score FILES --out RUN --metrics {listed}")
    if others:
        notes.append(f"Nobody rated {', '.join(others)}: bedside ratings import RUN FILE")
    return notes
