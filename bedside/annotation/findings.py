"""Do two raters list the same? Lists have no fixed units, so what agrees is what can be matched.

Kappa needs to know what both left out, which a list doesn't say. Where that number is unknown and large, kappa
approaches the F1 of one list against the other (Hripcsak and Rothschild 2005, JAMIA 12:296–298), computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bedside.metrics.protocols.medconceal.matching import maximum_matching
from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.stats.result import Result

#: Share of the content words of the shorter text that the other must hold for two entries to be one.
SAME = 0.5

#: An entry: its label and its text.
Entry = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """How two raters' lists agree, or all raters' pair by pair.

    Attributes:
        raters: whose lists.
        items: items that both listed, of all pairs together.
        entries: entries in these lists.
        matched: pairs of entries that are the same: one label, and wording alike by :data:`SAME`; one to one.
        f1: mean over items of ``2 · matched / entries``, 1 where both lists are empty.
        by_label: the same with the label alone: entries of a label are interchangeable.
    """

    raters: tuple[str, ...]
    items: int
    entries: int
    matched: int
    f1: Result
    by_label: Result


def matched_entries(first: Sequence[Entry], second: Sequence[Entry]) -> int:
    """How many entries of two lists are the same, each counted once: the largest one-to-one matching."""
    words = [[content(text) for _, text in entries] for entries in (first, second)]
    pairs = [
        (row, column)
        for row, (label, text) in enumerate(first)
        for column, (other, wording) in enumerate(second)
        if label == other
        and (text.casefold() == wording.casefold() or _alike(words[0][row], words[1][column]))
    ]
    return len(maximum_matching(pairs, len(first), len(second)))


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    shorter, longer = sorted((first, second), key=len)
    return overlap(longer, shorter) >= SAME


def f1(matched: int, first: int, second: int) -> float:
    """``2 · matched / (first + second)``; 1 for two empty lists."""
    return 2 * matched / (first + second) if first + second else 1.0


def list_agreement(
    lists: Mapping[str, Mapping[str, Sequence[Entry]]], *, seed: int = 0
) -> tuple[ListAgreement, ...]:
    """Agreement of each pair of raters, after that of all pairs where there are several.

    Args:
        lists: rater → item → entries; an empty list says that there is nothing.
        seed: of the bootstrap, which draws items.
    """
    by_pair: dict[tuple[str, ...], list[tuple[str, int, int, float, float]]] = {}
    for a, b in combinations(sorted(lists), 2):
        for item in sorted(lists[a].keys() & lists[b].keys()):
            first, second = lists[a][item], lists[b][item]
            same = matched_entries(first, second)
            labels = _common(first, second)
            sizes = len(first), len(second)
            row = (item, same, sum(sizes), f1(same, *sizes), f1(labels, *sizes))
            by_pair.setdefault((a, b), []).append(row)
    groups = by_pair
    if len(by_pair) > 1:
        everyone = tuple(sorted({rater for pair in by_pair for rater in pair}))
        groups = {everyone: [row for rows in by_pair.values() for row in rows], **by_pair}
    return tuple(_summary(raters, rows, seed) for raters, rows in groups.items())


def _common(first: Sequence[Entry], second: Sequence[Entry]) -> int:
    counts = [[label for label, _ in entries] for entries in (first, second)]
    return sum(min(counts[0].count(label), counts[1].count(label)) for label in set(counts[0]))


def _summary(
    raters: tuple[str, ...], rows: Sequence[tuple[str, int, int, float, float]], seed: int
) -> ListAgreement:
    from bedside.stats.intervals import mean_bootstrap

    items = np.array([row[0] for row in rows])
    clusters = items if 1 < len(set(items)) < len(items) else None
    values = [
        mean_bootstrap([row[column] for row in rows], clusters=clusters, resamples=2000, seed=seed)
        for column in (3, 4)
    ]
    return ListAgreement(
        raters, len(rows), sum(row[2] for row in rows), sum(row[1] for row in rows), values[0], values[1]
    )
