"""Does a judge favour the conversations that its own model made? Its levels beside people's, own systems and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from bedside.analysis.case_values import mean_in_group, most_cases_pair, own_case
from bedside.analysis.checked_units import drawn_ratings
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import SIMULATED, SYNTHETIC
from bedside.core.errors import DataError, one_of
from bedside.ratings.names import is_judge, rated_by_humans
from bedside.stats.result import Result

#: Whom a judge's levels are held against.
Beside = Literal["people", "judges"]
#: The factor of a transcript that names the model it was made by.
MODEL_FACTOR = "model"


@dataclass(frozen=True, slots=True)
class SelfPreference(MetricRatings):
    """How much higher a judge rates what its own model made than what others made.

    Attributes:
        facts, rater: what was rated, by which judge.
        beside: whether its levels are held against people's, or for want of those against other judges'.
        others: the other judges, where it is against these.
        own: the systems that its model made.
        of_own, of_others: mean of its levels minus theirs, over cases, of its own systems and of the others.
        preference: the first minus the second, in the rating's unit, with its 95 % interval by case.
        cases: cases that it rests on; paired: whether within cases that have both kinds.
        transcripts: those that both rated.
    """

    rater: str
    beside: Beside
    others: tuple[str, ...]
    own: tuple[str, ...]
    of_own: float
    of_others: float
    preference: Result
    cases: int
    paired: bool
    transcripts: int


def judge_model(rater: str) -> str:
    """The model that a judge is: ``openai/gpt-5-mini`` of ``judge:openai/gpt-5-mini``."""
    return rater.partition(":")[2].partition("@")[0].partition("+")[0]


def makers(view: RatingsView, made_by: Mapping[str, str] | None = None) -> dict[str, str]:
    """The model that made each system's conversations, where that is known.

    A simulated conversation's system is the model that played the clinician; others name theirs in the factor
    ``model``, if all of a system's name the same.

    Args:
        view: the ratings.
        made_by: models by system, before all else; an address may stand before a model, with ``#`` between.

    Raises:
        DataError: there is no such system.
    """
    known: dict[str, str] = {}
    if view.factors is not None:
        with_factors = view.transcripts().join(view.factors, on="transcript_id", how="inner").drop_nulls("system")
        if MODEL_FACTOR in with_factors.columns:
            named = with_factors.group_by("system").agg(pl.col(MODEL_FACTOR).unique())
            known |= {system: models[0] for system, models in named.iter_rows() if len(models) == 1 and models[0]}
        if SYNTHETIC in with_factors.columns:
            simulated = with_factors.filter(pl.col(SYNTHETIC) == SIMULATED)["system"].unique()
            known |= {system: system for system in simulated}
    for system, model in (made_by or {}).items():
        one_of(system, view.systems(), "system", DataError, where="`made_by`")
        known[system] = model
    return {system: model.rpartition("#")[2] for system, model in known.items()}


def self_preferences(
    view: RatingsView, judge: str, made_by: Mapping[str, str] | None = None
) -> tuple[SelfPreference, ...]:
    """How much a judge favours its own model's conversations, on each metric with numbers on a scale.

    Of every transcript that both rated, the judge's mean level minus people's; of a case the mean over transcripts of
    its own systems, and of others. Where most cases have both kinds, the preference is the mean difference within
    cases; else that of the two means. Against other judges, who made none of the systems, where no person rated: then
    what shows is only that the judges differ, and not who is right.

    Args:
        view: the ratings.
        judge: the rater.
        made_by: as for :func:`makers`.

    Returns:
        Nothing where it isn't known which systems its model made, or where it made all or none of them.
    """
    models = makers(view, made_by)
    own = tuple(sorted(system for system, model in models.items() if model == judge_model(judge)))
    if not own or not is_judge(judge):
        return ()
    partial = {rater for rater in view.raters() if is_judge(rater) and judge_model(rater) in set(models.values())}
    rated = view.ratings.filter(pl.col("rater") == judge, pl.col("value").is_not_null())["metric"].unique()
    names = [name for name in view.metrics() if name in rated and name in view.scales]
    preferences = (_preference(view, name, judge, own, partial) for name in names)
    return tuple(preference for preference in preferences if preference is not None)


def _preference(
    view: RatingsView, metric: str, judge: str, own: tuple[str, ...], partial: set[str]
) -> SelfPreference | None:
    ratings, _ = drawn_ratings(view.ratings.filter(pl.col("metric") == metric, pl.col("value").is_not_null()))
    levels = _levels(ratings.filter(pl.col("rater") == judge))
    beside: Beside = "people"
    others: tuple[str, ...] = ()
    references = ratings.filter(rated_by_humans())
    if references.is_empty():
        beside = "judges"
        others = tuple(
            sorted(
                name for name in ratings["rater"].unique() if is_judge(name) and name != judge and name not in partial
            )
        )
        references = ratings.filter(pl.col("rater").is_in(others))
    reference_levels = _levels(references)
    if beside == "people":
        reference_levels = _settled(reference_levels, view, metric)
    gaps = (
        levels.join(reference_levels, on=("transcript_id", "unit"), suffix="_beside")
        .with_columns(own_case(), (pl.col("value") - pl.col("value_beside")).alias("gap"))
        .with_columns(pl.col("system").is_in(own).fill_null(False).alias("own"))
    )
    by_case = gaps.group_by("case", "own", maintain_order=True).agg(mean_in_group("gap")).sort("case", "own")
    sides = [dict(by_case.filter(pl.col("own") == side).select("case", "gap").iter_rows()) for side in (True, False)]
    if not all(sides):
        return None
    paired, preference = _difference(*sides)
    if paired:
        sides = [{case: side[case] for case in sides[0].keys() & sides[1].keys()} for side in sides]
    return SelfPreference(
        facts=view.facts(metric),
        rater=judge,
        beside=beside,
        others=others,
        own=own,
        of_own=float(np.mean(list(sides[0].values()))),
        of_others=float(np.mean(list(sides[1].values()))),
        preference=preference,
        cases=len(set(sides[0]) | set(sides[1])),
        paired=paired,
        transcripts=gaps["transcript_id"].n_unique(),
    )


def _levels(ratings: pl.DataFrame) -> pl.DataFrame:
    """One level a unit: a rater's passes are averaged, then raters."""
    keys = ("transcript_id", "unit")
    head = (pl.col("system").first(), pl.col("case_id").first())
    return (
        ratings.group_by(*keys, "rater", maintain_order=True)
        .agg(mean_in_group("value"), *head)
        .group_by(keys, maintain_order=True)
        .agg(mean_in_group("value"), *head)
    )


def _settled(levels: pl.DataFrame, view: RatingsView, metric: str) -> pl.DataFrame:
    """People's levels with the final label in place of their mean, where a unit was adjudicated."""
    final = view.final.filter(pl.col("metric") == metric).select(
        "transcript_id", "unit", pl.col("value").alias("final")
    )
    joined = levels.join(final, on=("transcript_id", "unit"), how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("final", "value").alias("value")).drop("final")


def _difference(own: Mapping[str, float], others: Mapping[str, float]) -> tuple[bool, Result]:
    """The difference of two means by case, and whether it is within cases."""
    from bedside.stats import paired, unpaired

    both = sorted(own.keys() & others.keys())
    if len(both) > 1 and most_cases_pair(len(both), (len(own), len(others))):
        first, second = ([side[case] for case in both] for side in (own, others))
        return True, paired.t_test(first, second)
    return False, unpaired.t_test(list(own.values()), list(others.values()))
