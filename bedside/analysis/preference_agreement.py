"""Do raters prefer the same conversation of two? Judges beside people, and people among themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.preference_rows import PreferenceRows, preference_rows
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.ratings.learnt_units import fresh_ratings, learnt_in
from bedside.stats.result import Result


@dataclass(frozen=True, slots=True)
class PreferenceAgreement(MetricRatings):
    """Two groups of raters, or the people of one, on the same pairs of conversations by one rubric.

    A verdict is which conversation has more of the win over both orders and all passes, or a tie; so the place cancels
    where both orders were asked.

    Attributes:
        facts: the rubric.
        raters, others: who is compared with whom; both are :data:`~bedside.analysis.ratings_view.PEOPLE` where people
            are compared among themselves, two by two.
        verdicts: pairs of verdicts on one pair of conversations; pairs: of conversations; cases: of these.
        same: share of them that are the same, with interval by case.
        kappa: Cohen's, of better, tie and worse, with interval by case. Each pair counts both ways round, so that it
            doesn't depend on which conversation is called the first, and chance knows no better one.
        decided: of those that both decided, the share that went to the same conversation.
        one_order: pairs of verdicts of which one at least rests on one order, with the place in it.
        learnt: preferences of one of them left out because it learnt from people's ratings of that case.
    """

    raters: str
    others: str
    verdicts: int
    pairs: int
    cases: int
    same: Result
    kappa: Result
    decided: Result
    one_order: int
    learnt: int


def preference_agreement(view: RatingsView) -> tuple[PreferenceAgreement, ...]:
    """Agreement of each two groups of raters that compared the same conversations, and of people with one another.

    Raises:
        NothingError: no two conversations were compared.
    """
    left_out = {(rows.rubric, rows.raters): rows.rows.height for rows in preference_rows(view)}
    learnt = () if view.run is None else learnt_in(view.run.manifest)
    if learnt:
        view = replace(view, preferences=fresh_ratings(view.preferences, learnt).ratings)
    groups = preference_rows(view) if not view.preferences.is_empty() else ()
    for rows in groups:
        left_out[rows.rubric, rows.raters] -= rows.rows.height
    agreements: list[PreferenceAgreement] = []
    for rubric in dict.fromkeys(rows.rubric for rows in groups):
        own = [rows for rows in groups if rows.rubric == rubric]
        agreements += [_among_people(view, rows) for rows in own if rows.raters == PEOPLE]
        agreements += [_between(view, first, second) for second, first in combinations(own, 2)]
    return tuple(
        replace(
            agreement,
            learnt=sum(left_out[agreement.metric, group] for group in {agreement.raters, agreement.others}),
        )
        for agreement in agreements
        if agreement.verdicts
    )


def _among_people(view: RatingsView, rows: PreferenceRows) -> PreferenceAgreement:
    verdicts = rows.verdicts()
    two = verdicts.join(verdicts, on=["low", "high"]).filter(pl.col("rater") < pl.col("rater_right"))
    return _agreement(view, rows.rubric, two, (PEOPLE, PEOPLE))


def _between(view: RatingsView, rows: PreferenceRows, others: PreferenceRows) -> PreferenceAgreement:
    two = rows.verdicts().join(others.verdicts(), on=["low", "high"])
    return _agreement(view, rows.rubric, two, (rows.raters, others.raters))


def _agreement(
    view: RatingsView, rubric: str, two: pl.DataFrame, groups: tuple[str, str]
) -> PreferenceAgreement:
    from bedside.stats.shares import share
    from bedside.stats.two_raters import kappa

    ours, theirs = (np.sign(two[column].to_numpy() - 0.5) for column in ("low_share", "low_share_right"))
    cases = two["case"].to_numpy()
    decided = (ours != 0) & (theirs != 0)
    alike = (ours == theirs).astype(np.float64)
    both_ways = kappa(
        np.concatenate([ours, -ours]), np.concatenate([theirs, -theirs]),
        scale=[-1, 0, 1], clusters=np.concatenate([cases, cases]),
    )  # fmt: skip
    return PreferenceAgreement(
        facts=view.facts(rubric),
        raters=groups[0],
        others=groups[1],
        verdicts=two.height,
        pairs=two.select("low", "high").n_unique() if two.height else 0,
        cases=two["case"].n_unique(),
        same=replace(share(alike, clusters=cases), name="same verdict"),
        kappa=replace(both_ways, n=two.height),
        decided=replace(share(np.where(decided, alike, np.nan), clusters=cases), name="same winner"),
        one_order=two.filter((pl.col("orders") == 1) | (pl.col("orders_right") == 1)).height,
        learnt=0,
    )
