"""What a rater learnt from: the cases and transcripts whose ratings by people made it what it is.

A tuned rubric, a jury's learnt weights and a learned rater were chosen so that they fit people's ratings of some units.
That they fit these is no evidence: whatever checks such a rater against people leaves its ratings of them out, and says
so (:mod:`bedside.analysis.fresh_view`). One list in a run's manifest holds this for every kind of rater: whoever makes
one calls :func:`with_learnt` with its name in the ratings table, the metric, and the :func:`unit_digests` of what it
learnt from. A file that carries the rater to other runs (a tuned rubric) holds the same digests.

A unit isn't fresh where its transcript, or its case, is one that the rater learnt from. Digests tell nothing of a
study to who doesn't have its names; a case or transcript of the same name in another run counts as the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bedside.ratings.names import rated_by_humans

#: The manifest's key.
LEARNT = "learnt"
#: How many hexadecimal digits of a digest are kept.
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class LearntUnits:
    """What one rater learnt from.

    Attributes:
        rater: its name in the ratings table.
        metric: the metric; what is rated beside it (``<metric>.expected``) counts, too.
        digests: of the cases and transcripts, as :func:`unit_digests` makes them.
    """

    rater: str
    metric: str
    digests: frozenset[str]


@dataclass(frozen=True, slots=True)
class FreshRatings:
    """The ratings that count as evidence on every rater.

    Attributes:
        ratings: without those that raters gave to what they learnt from.
        left_out: by rater and metric, units that people rated and of which the rater's ratings were left out.
        stale: by rater and metric, the transcripts of ratings that were left out.
    """

    ratings: pl.DataFrame
    left_out: Mapping[tuple[str, str], int]
    stale: Mapping[tuple[str, str], Sequence[str]]


def unit_digests(units: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """The digests of transcripts and of their cases, each once, sorted.

    Args:
        units: of each its transcript's id and its case's name, None where it has none.
    """
    named = {
        f"{kind}\0{name}"
        for unit in units
        for kind, name in zip(("transcript", "case"), unit, strict=True)
        if name is not None
    }
    return tuple(sorted(hashlib.sha256(name.encode()).hexdigest()[:_DIGITS] for name in named))


def is_learnt(digests: frozenset[str], transcript: str, case: str | None) -> bool:
    """Whether a transcript, or its case, is among what was learnt from."""
    return not digests.isdisjoint(unit_digests([(transcript, case)]))


def with_learnt(manifest: Mapping[str, Any], learnt: LearntUnits) -> dict[str, Any]:
    """A run's manifest that also says what a rater learnt from; what it said of the rater and metric is added to."""
    entries = manifest.get(LEARNT, [])
    before = [entry for entry in entries if (entry["rater"], entry["metric"]) == (learnt.rater, learnt.metric)]
    digests = learnt.digests.union(*(entry["digests"] for entry in before))
    entry = {"rater": learnt.rater, "metric": learnt.metric, "digests": sorted(digests)}
    return {**manifest, LEARNT: [*(entry for entry in entries if entry not in before), entry]}


def learnt_in(manifest: Mapping[str, Any]) -> tuple[LearntUnits, ...]:
    """What raters of a run learnt from."""
    return tuple(
        LearntUnits(entry["rater"], entry["metric"], frozenset(entry["digests"])) for entry in manifest.get(LEARNT, [])
    )


def fresh_ratings(ratings: pl.DataFrame, learnt: Sequence[LearntUnits]) -> FreshRatings:
    """Ratings without those that raters gave to what they learnt from.

    Args:
        ratings: a ratings table.
        learnt: what raters learnt from.
    """
    left_out: dict[tuple[str, str], int] = {}
    by_rater: dict[tuple[str, str], Sequence[str]] = {}
    unit = ["transcript_id", "unit"]
    for entry in learnt:
        metric = pl.col("metric")
        own = (pl.col("rater") == entry.rater) & ((metric == entry.metric) | metric.str.starts_with(f"{entry.metric}."))
        names = ratings.filter(own).select("transcript_id", "case_id").unique()
        stale = [name for name, case in names.iter_rows() if is_learnt(entry.digests, name, case)]
        if not stale:
            continue
        gone = own & pl.col("transcript_id").is_in(stale)
        of_people = ratings.filter(rated_by_humans(), metric == entry.metric)
        both = ratings.filter(gone, metric == entry.metric).join(of_people, on=unit, how="semi")
        by_rater[entry.rater, entry.metric] = stale
        left_out[entry.rater, entry.metric] = both.select(unit).n_unique()
        ratings = ratings.filter(~gone)
    return FreshRatings(ratings, left_out, by_rater)


#: The manifest's key.
LEARNED_RATERS = "learned_raters"


def learned_raters(manifest: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The learned raters that have rated a run, by name in the ratings table, with what their files say of them."""
    raters: Mapping[str, Mapping[str, Any]] = manifest.get(LEARNED_RATERS) or {}
    return raters
