"""Of which raters a table or figure shows each metric, where several gave values."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.number_text import rater_words


def preferred_groups(groups: Sequence[str], raters: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The groups of raters in the order of preference, without those that it doesn't name.

    Args:
        groups: people, or names of raters.
        raters: groups or patterns such as ``judge:*``, the best first.
        counts: how many values each group gave: of the groups of one pattern the one with most comes first.
    """
    return [
        group
        for pattern in raters
        for group in sorted(groups, key=lambda name: -counts.get(name, 0))
        if group == pattern or fnmatch.fnmatchcase(group, pattern)
    ]


@dataclass(frozen=True, slots=True)
class RaterChoice:
    """Whose values of each metric a figure shows, as metric and group of raters.

    Attributes:
        keys: what is shown.
        unshown: what has values besides.
    """

    keys: tuple[tuple[str, str], ...]
    unshown: tuple[tuple[str, str], ...] = ()

    def notes(self, view: RatingsView) -> list[str]:
        """Who else rated what is shown."""
        return also_rated_notes((view.facts(metric).title, group) for metric, group in self.unshown)


def rater_choice(view: RatingsView, keys: Iterable[tuple[str, str]], raters: Sequence[str]) -> RaterChoice:
    """Of each metric the group of raters that comes first in the order of preference.

    Args:
        view: the ratings.
        keys: metric and group of raters of what has values.
        raters: groups or patterns such as ``judge:*``, the best first; without them all keys are kept. Of the groups
            of one pattern the one that gave most values is taken.
    """
    known = list(dict.fromkeys(keys))
    if not raters:
        return RaterChoice(tuple(known))
    metrics = list(dict.fromkeys(metric for metric, _ in known))
    values = view.transcript_values(metrics).filter(pl.col("value").is_not_null())
    counts = dict(values.group_by("group").len().iter_rows())
    chosen = []
    for metric in metrics:
        groups = [group for name, group in known if name == metric]
        chosen += [(metric, group) for group in preferred_groups(groups, raters, counts)[:1]]
    return RaterChoice(tuple(chosen), tuple(key for key in known if key not in chosen))


def also_rated_notes(unshown: Iterable[tuple[str, str]]) -> list[str]:
    """Who rated what is shown as others rated it; ``unshown`` has the title of each measure with the raters."""
    titles: dict[str, dict[str, None]] = {}
    for title, group in unshown:
        titles.setdefault(group, {})[title] = None
    words = "; ".join(f"{rater_words(group)} ({', '.join(listed)})" for group, listed in titles.items())
    return [f"Also rated by {words}, not shown."] if words else []
