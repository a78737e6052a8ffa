"""How well people agree with themselves: units that they rated a second time without being told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.ratings.names import rated_by_humans
from bedside.stats.result import Result


@dataclass(frozen=True, slots=True)
class Retest(MetricRatings):
    """A person's first and second ratings of the same units by one metric.

    Attributes:
        facts: what was rated.
        rater: by whom.
        units, transcripts, cases: how many were rated twice; a transcript without a case counts as one.
        same: share of units that were given the same twice.
        kappa: Cohen's kappa of the two, with quadratic weights on an ordered scale.
        shift: mean of the second rating minus the first, in the rating's unit, over cases; None of labels.
        chances: with which the units came into people's sample, each once, as far as known.
    """

    rater: str
    units: int
    transcripts: int
    cases: int
    same: Result
    kappa: Result
    shift: Result | None
    chances: tuple[float, ...] = ()


def retests(view: RatingsView, *, metrics: Sequence[str] | None = None, seed: int = 0) -> tuple[Retest, ...]:
    """Each person's agreement with themselves on each metric of which they rated units twice.

    A person's first two passes over a unit are compared, within a round of annotation. Intervals are over cases where
    several units of a case were rated.

    Args:
        view: the ratings.
        metrics: metrics or patterns; all unless named.
        seed: of what is drawn at random.

    Raises:
        NothingError: nobody rated anything twice.
    """
    ratings = view.ratings.filter(
        rated_by_humans(),
        pl.col("error").is_null(),
        (pl.col("replicate").max() > 0).over("metric", "rater", "round"),
    )
    compared = tuple(
        retest
        for metric in view.metrics(metrics)
        for rater in sorted(ratings.filter(pl.col("metric") == metric)["rater"].unique())
        if (
            retest := _retest(
                view,
                metric,
                rater,
                ratings.filter(pl.col("metric") == metric, pl.col("rater") == rater),
                seed,
            )
        )
        is not None
    )
    if not compared:
        raise NothingError(
            "nobody rated a unit twice", where=view.name, todo="draw a plan with bedside sample --repeat 10%"
        )
    return compared


def _retest(view: RatingsView, metric: str, rater: str, ratings: pl.DataFrame, seed: int) -> Retest | None:
    from bedside.stats import two_raters

    column = "label" if ratings["label"].is_not_null().any() else "value"
    twice = (
        ratings.drop_nulls(column)
        .sort("replicate", maintain_order=True)
        .group_by("transcript_id", "unit", "round", maintain_order=True)
        .agg(pl.col(column), own_case().first(), pl.col("drawn").first())
        .filter(pl.col(column).list.len() > 1)
    )
    if twice.is_empty():
        return None
    first, second = (np.array(twice[column].list.get(place).to_list(), dtype=object) for place in (0, 1))
    members = twice["case"].to_numpy()
    clusters = members if len(set(members)) < members.size else None
    scale = view.scales.get(metric)
    ordered = scale is not None and scale.ordered
    return Retest(
        facts=view.facts(metric),
        rater=rater,
        units=twice.height,
        transcripts=twice["transcript_id"].n_unique(),
        cases=len(set(members)),
        same=two_raters.percent_agreement(first, second, clusters=clusters, seed=seed),
        kappa=two_raters.kappa(
            first,
            second,
            scale=scale.levels if scale is not None else None,
            weights="quadratic" if ordered else "unweighted",
            clusters=clusters,
            seed=seed,
        ),
        shift=None if column == "label" else _shift(first, second, members),
        chances=tuple(twice["drawn"].drop_nulls().unique().sort()),
    )


def _shift(
    first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], members: np.ndarray[Any, Any]
) -> Result:
    """The mean of second minus first, over cases."""
    from bedside.stats import two_raters

    _, places = np.unique(members.astype(str), return_inverse=True)
    counts = np.bincount(places)
    means = (np.bincount(places, values.astype(float)) / counts for values in (second, first))
    return two_raters.bias(*means)
