"""Which command brings a metric that a run doesn't have."""

from __future__ import annotations

from collections.abc import Iterable

from bedside.rubrics.rubric_files import RUBRICS


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
