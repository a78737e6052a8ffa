"""How raters, directions and cells are named in tables, figures and pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bedside.analysis.ratings_view import PEOPLE
from bedside.ratings.values import Direction


def rater_words(group: str) -> str:
    """How a group of raters is named in a row: people, or an algorithm or judge without its kind."""
    return group if group == PEOPLE else group.partition(":")[2]


def several_raters(pairs: Collection[tuple[str, str]]) -> frozenset[str]:
    """The metrics that several groups of raters rated, given (metric, group) of each."""
    metrics = [metric for metric, _ in pairs]
    return frozenset(metric for metric in metrics if metrics.count(metric) > 1)


def cell_name(metric: str, group: str, several: Collection[str], *parts: str) -> str:
    """The name of a cell: the metric, its raters where ``several`` rated it, and what else it is of."""
    return "/".join((f"{metric}@{group}" if metric in several else metric, *parts))


ARROWS: Mapping[Direction, str] = {"higher": " ↑", "lower": " ↓", "none": ""}
