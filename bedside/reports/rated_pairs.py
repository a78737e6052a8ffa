"""A judge's (or algorithm's) value beside people's, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from bedside.analysis.checked_units import grid_of
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import is_human, rated_by_humans
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import rater_words
from bedside.reports.table_kind import Options


class PairsOptions(Options):
    """Which metrics have a panel.

    Attributes:
        metrics: the metrics; all that people and a judge rated unless named.
    """

    metrics: Headed = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Units that both rated.

    Attributes:
        title: the metric, and the judge where several rated it.
        judge: the judge's name.
        people: mean of people's numbers, or the label most of them gave; the final label of what was adjudicated.
        rated: the judge's.
        levels: of the scale, in order; empty where there is none.
    """

    title: str
    judge: str
    people: np.ndarray[Any, Any]
    rated: np.ndarray[Any, Any]
    levels: tuple[float | str, ...]


def pairs_of(view: RatingsView, options: PairsOptions, *, labels: bool) -> list[Pairs]:
    """The pairs of each metric; of labels too where ``labels``, else of numbers only."""
    metrics = named_metrics(view, options.metrics)
    names: Sequence[str] = metrics.rated
    if not metrics.names:
        names = [name for name in view.metrics() if name in view.scales]
    all_pairs: list[Pairs] = []
    for name in names:
        rated = view.ratings.filter(pl.col("metric") == name, pl.col("error").is_null())
        if rated.filter(rated_by_humans()).is_empty() or rated.filter(~rated_by_humans()).is_empty():
            continue
        grid = grid_of(rated)
        human = [i for i, rater in enumerate(grid.raters) if is_human(rater)]
        others = [i for i in range(len(grid.raters)) if i not in human]
        words = any(isinstance(cell, str) for cell in grid.cells.ravel())
        if words and not labels:
            continue
        final = view.final_labels(name)
        consensus = [
            _consensus([cell for cell in row if cell is not None])
            if (transcript, unit) not in final
            else final[transcript, unit]
            for transcript, unit, row in zip(grid.transcripts, grid.units, grid.cells[:, human], strict=True)
        ]
        for column in others:
            both = [
                (first, second)
                for first, second in zip(consensus, grid.cells[:, column], strict=True)
                if first is not None and second is not None
            ]
            if not both:
                continue
            by = f" ({rater_words(grid.raters[column])})" if len(others) > 1 else ""
            scale = view.scales.get(name)
            all_pairs.append(
                Pairs(
                    view.facts(name).title + by,
                    rater_words(grid.raters[column]),
                    np.array([first for first, _ in both]),
                    np.array([second for _, second in both]),
                    tuple(scale.levels) if scale is not None else (),
                )
            )
    return all_pairs


def _consensus(cells: list[float | str]) -> float | str | None:
    """The mean of numbers; of labels the most frequent, None where they tie."""
    if not cells:
        return None
    if not isinstance(cells[0], str):
        return float(np.mean([float(cell) for cell in cells]))
    counts = sorted(((cells.count(cell), cell) for cell in set(cells)), key=lambda pair: (-pair[0], str(pair[1])))
    if len(counts) > 1 and counts[0][0] == counts[1][0]:
        return None
    return counts[0][1]
