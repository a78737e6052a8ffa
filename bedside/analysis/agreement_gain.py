"""Does one rater agree with people better than another? Both on the same units, the difference by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.agreement_sample import agreement_sample
from bedside.analysis.checked_units import drawn_ratings
from bedside.analysis.choices import Weights
from bedside.analysis.fresh_view import fresh_view
from bedside.analysis.grid import grid_of
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import is_human, rated_by_humans
from bedside.stats.result import Result
from bedside.stats.sampled_items import SampledItems


@dataclass(frozen=True, slots=True)
class AgreementGain(MetricRatings):
    """How much better one rater agrees with people than another, on the units that both and a person rated.

    Attributes:
        facts, rater, other: the metric, and who is held against whom.
        units, cases, people: on how many it rests.
        own, others: either rater's agreement with people: the mean kappa with each person; on no scale, the mean
            distance from people's mean.
        gain: the difference with its interval by case, above 0 where the rater agrees better: of kappas, or of
            distances.
        by_kappa: whether it is of kappas.
    """

    rater: str
    other: str
    units: int
    cases: int
    people: int
    own: float | None
    others: float | None
    gain: Result
    by_kappa: bool

    @property
    def better(self) -> bool | None:
        """Whether the rater agrees better: its whole interval lies above 0; None where that can't be said.

        Two that say the same of every unit have no interval, and neither is better.
        """
        if self.gain.interval is None:
            return False if self.gain.estimate == 0 else None
        return self.gain.interval.low > 0


def agreement_gains(
    view: RatingsView, metric: str, rater: str, others: Sequence[str], *, weights: Weights | None = None
) -> tuple[AgreementGain, ...]:
    """How much better a rater agrees with people than each of others; those with no unit in common are left out.

    What a rater learnt from is no evidence and doesn't count, nor do units that were picked for what they are. Where
    units were drawn with known chances that differ, the difference is that of all they stand for.

    Args:
        view: the ratings.
        metric: the metric's name.
        rater: who is held against the others.
        others: raters that are no people.
        weights: of kappa on ordered scales; quadratic unless named.
    """
    fresh = fresh_view(view)
    gains = (_gain(fresh, metric, rater, other, weights) for other in others)
    return tuple(gain for gain in gains if gain is not None)


def _gain(
    view: RatingsView, metric: str, rater: str, other: str, weights: Weights | None
) -> AgreementGain | None:
    of_metric = view.ratings.filter(pl.col("metric") == metric, pl.col("error").is_null())
    named = pl.col("rater").is_in([rater, other])
    ratings, picked = drawn_ratings(of_metric.filter(named | rated_by_humans()))
    if not {rater, other} <= set(ratings["rater"]):
        return None
    grid = grid_of(ratings)
    people = [place for place, name in enumerate(grid.raters) if is_human(name)]
    first, second = (grid.cells[:, grid.raters.index(name)] for name in (rater, other))
    human = grid.cells[:, people]
    counted = (first != None) & (second != None) & (human != None).any(axis=1)  # noqa: E711
    if not counted.any():
        return None
    clusters = agreement_sample(view, ratings, grid, picked).clusters(counted)
    scale = view.scales.get(metric)
    labels = any(isinstance(cell, str) for cell in human[counted].ravel())
    blank = AgreementGain(
        facts=view.facts(metric),
        rater=rater,
        other=other,
        units=int(counted.sum()),
        cases=len(set(grid.cases[counted])),
        people=int((human[counted] != None).any(axis=0).sum()),  # noqa: E711
        own=None,
        others=None,
        gain=Result(name="", method=""),
        by_kappa=labels or scale is not None,
    )
    if not blank.by_kappa:
        return _by_distance(blank, first[counted], second[counted], human[counted], clusters)
    from bedside.stats.kappa_gain import kappa_gain

    ordered = scale is not None and scale.ordered
    levels = scale.levels if scale is not None else tuple(sorted(set(grid.cells[counted].ravel()) - {None}))
    penalty = {None: "quadratic", "none": "unweighted"}.get(weights, weights) if ordered else "unweighted"
    if len(levels) < 2:
        return replace(blank, gain=Result(name="", method="", missing="everybody says the same"))
    gain = kappa_gain(
        first[counted],
        second[counted],
        human[counted],
        scale=levels,
        weights=penalty,
        clusters=clusters,
    )
    details = gain.details
    return replace(
        blank, own=details.get("kappa of the first"), others=details.get("kappa of the second"), gain=gain
    )


def _by_distance(
    blank: AgreementGain,
    first: np.ndarray[Any, Any],
    second: np.ndarray[Any, Any],
    human: np.ndarray[Any, Any],
    clusters: np.ndarray[Any, Any] | SampledItems | None,
) -> AgreementGain:
    """The same of numbers on no scale: how much nearer people's mean one rater is than the other."""
    from bedside.stats.diagnostic_accuracy import surplus

    middle = np.nanmean(human.astype(np.float64), axis=1)
    near, far = (np.abs(numbers.astype(np.float64) - middle) for numbers in (first, second))
    sampled = isinstance(clusters, SampledItems)
    weights = clusters.weights if isinstance(clusters, SampledItems) else np.ones(len(near))
    members = clusters.clusters if isinstance(clusters, SampledItems) else clusters
    gain = surplus(far, near, clusters=members, weights=weights if sampled else None)
    return replace(
        blank,
        own=float(np.average(near, weights=weights)),
        others=float(np.average(far, weights=weights)),
        gain=replace(gain, name="difference of distances from people's mean"),
    )


def beats_all(gains: Sequence[AgreementGain]) -> bool | None:
    """Whether a rater agrees with people better than each of the others, and so better than the best of them.

    Nobody says beforehand which of them is best, and whoever looks best on the same units does so by luck, too. To beat
    all of them is to beat the best, and that all intervals lie above 0 errs no more often than one of them does.
    """
    if not gains or any(gain.better is None for gain in gains):
        return None
    return all(gain.better for gain in gains)
