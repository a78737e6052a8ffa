"""Views without what is no evidence: ratings of units that their rater learnt from."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.learnt_units import fresh_ratings, learnt_in
from bedside.ratings.names import rated_by_humans


def fresh_view(view: RatingsView) -> RatingsView:
    """A view without the ratings that raters gave to what they learnt from; ``learnt`` counts them."""
    learnt = () if view.run is None else learnt_in(view.run.manifest)
    fresh = fresh_ratings(view.ratings, learnt)
    if not fresh.left_out:
        return view
    return replace(view, ratings=fresh.ratings, learnt={**view.learnt, **fresh.left_out})


def fresh_view_of(view: RatingsView, rater: str) -> RatingsView:
    """The same for one rater, without what people rated of what it learnt from, too: a study of the other cases."""
    learnt = () if view.run is None else learnt_in(view.run.manifest)
    fresh = fresh_ratings(view.ratings, [entry for entry in learnt if entry.rater == rater])
    ratings = fresh.ratings
    for (_, metric), transcripts in fresh.stale.items():
        of_people = rated_by_humans() & (pl.col("metric") == metric)
        ratings = ratings.filter(~(of_people & pl.col("transcript_id").is_in(transcripts)))
    return replace(view, ratings=ratings, learnt={**view.learnt, **fresh.left_out})


def learnt_words(title: str, rater: str, units: str) -> str:
    """What a table says where ratings were left out; ``units`` is their number with its noun."""
    return (
        f"{title}, {rater}: {units} that people rated are left out, as the rater was made to fit people's ratings of "
        "them or of others of their cases."
    )
