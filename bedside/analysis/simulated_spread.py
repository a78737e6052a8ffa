"""How far values vary between repeats of a simulated conversation, beside between cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError, quality_metrics
from bedside.analysis.simulated_talks import simulated_talks
from bedside.stats.variance_components import (
    Cells,
    RepeatsNeeded,
    RepeatSpread,
    repeat_spread,
    repeats_needed,
)


@dataclass(frozen=True, slots=True)
class SystemSpread(MetricRatings):
    """The spread of one system's values on a metric.

    Attributes:
        raters: who gave them.
        system: whose they are.
        spread: between repeats and cases.
    """

    raters: str
    system: str
    spread: RepeatSpread


@dataclass(frozen=True, slots=True)
class PairRepeats(MetricRatings):
    """How many repeats the difference of two systems on a metric needs.

    Attributes:
        raters: who gave the values.
        a, b: the systems.
        needed: what their difference needs.
    """

    raters: str
    a: str
    b: str
    needed: RepeatsNeeded


def simulated_spreads(
    view: RatingsView, metrics: Sequence[str] | None = None
) -> tuple[tuple[SystemSpread, ...], tuple[PairRepeats, ...]]:
    """The spread of each system on each metric, and the repeats that each pair's difference needs.

    Args:
        view: the ratings.
        metrics: metrics or patterns; those that say something of quality unless named.

    Raises:
        NothingError: no conversation was simulated more than once.
    """
    talks = simulated_talks(view, read=False)
    if talks is None or all(talk.repeat in ("", "1") for talk in talks.finished):
        raise NothingError("no conversation was simulated more than once", where=view.name)
    names = quality_metrics(view) if metrics is None else view.metrics(metrics)
    known = {talk.id: talk for talk in talks.finished}
    values = view.transcript_values(names).filter(
        pl.col("value").is_not_null(), pl.col("transcript_id").is_in(list(known))
    )
    cells: dict[tuple[str, str], dict[str, dict[tuple[str, str], list[float]]]] = {}
    for name, metric, raters, value in values.select("transcript_id", "metric", "group", "value").iter_rows():
        talk = known[name]
        of_metric = cells.setdefault((metric, raters), {})
        of_system = of_metric.setdefault(talk.system, {})
        of_system.setdefault((talk.case, talk.situation), []).append(float(value))
    order = {name: position for position, name in enumerate(names)}
    spreads, pairs = [], []
    for (metric, raters), by_system in sorted(
        cells.items(), key=lambda item: (order[item[0][0]], item[0][1])
    ):
        facts = view.facts(metric)
        spreads += [
            SystemSpread(facts, raters, system, repeat_spread(by_system[system]))
            for system in sorted(by_system)
        ]
        pairs += [
            PairRepeats(facts, raters, a, b, repeats_needed(by_system[a], by_system[b]))
            for a, b in combinations(sorted(by_system), 2)
            if _shared(by_system[a], by_system[b])
        ]
    if not spreads:
        raise NothingError("nothing is rated of simulated conversations", where=view.name)
    return tuple(spreads), tuple(pairs)


def _shared(a: Cells, b: Cells) -> bool:
    return bool(a.keys() & b.keys())
