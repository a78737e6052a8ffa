"""Views without what is no evidence: ratings of units that their rater learnt from."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.learnt_units import LearntUnits, fresh_ratings, learnt_in
from bedside.ratings.names import JUDGE_VERSION, is_judge, rated_by_humans


def fresh_view(view: RatingsView) -> RatingsView:
    """A view without the ratings that raters gave to what they learnt from; ``learnt`` counts them."""
    fresh = fresh_ratings(view.ratings, _learnt(view))
    if not fresh.left_out:
        return view
    return replace(view, ratings=fresh.ratings, learnt={**view.learnt, **fresh.left_out})


def fresh_view_of(view: RatingsView, rater: str) -> RatingsView:
    """The same for one rater, without what people rated of what it learnt from, too: a study of the other cases."""
    fresh = fresh_ratings(view.ratings, [entry for entry in _learnt(view) if entry.rater == rater])
    ratings = fresh.ratings
    for (_, metric), transcripts in fresh.stale.items():
        of_people = rated_by_humans() & (pl.col("metric") == metric)
        ratings = ratings.filter(~(of_people & pl.col("transcript_id").is_in(transcripts)))
    return replace(view, ratings=ratings, learnt={**view.learnt, **fresh.left_out})


def _learnt(view: RatingsView) -> list[LearntUnits]:
    """What raters of a view's run learnt from; a version of a judge learnt what the judge did."""
    learnt = () if view.run is None else learnt_in(view.run.manifest)
    versions = [name for name in view.ratings["rater"].unique().sort() if is_judge(name)] if learnt else []
    return [
        replace(entry, rater=rater)
        for entry in learnt
        for rater in (entry.rater, *(name for name in versions if name.startswith(f"{entry.rater}{JUDGE_VERSION}")))
    ]


def learnt_words(title: str, rater: str, units: str) -> str:
    """What a table says where ratings were left out; ``units`` is their number with its noun."""
    return (
        f"{title}, {rater}: {units} that people rated are left out, as the rater was made to fit people's ratings of "
        "them or of others of their cases."
    )
