"""Metrics named after a rubric, which say something else of it than a rating by it.

``<rubric>.preference``: which of two conversations is better. It is a rating of the transcript that was shown first;
its unit names the one shown second (:func:`bedside.ratings.names.pair_unit`). Its label is ``first``, ``second`` or
``tie``, and its value the share of the win that goes to the one shown first: 1, 0 or 0.5. The two orders of showing a
pair are two ratings. Better is what the rubric's direction says: where lower levels are better, the first one wins by
standing lower; where neither end is better, by standing higher.

``<rubric>.agrees``, a label, and ``<rubric>.audited``, a person's own level or label, or the judge's where they agree:
what people say of a judge's ratings that were shown to them; beside it stands the judge's. ``<rubric>.adjudicated``:
the final label that an adjudicator settled where people differed; no agreement counts it, and it stands for what people
say together of the unit. Who has seen what others said is no independent rater, hence metrics of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from bedside.core.errors import DataError
from bedside.ratings.names import TRANSCRIPT, person_name, rated_by_humans
from bedside.ratings.scales import Scale

FIRST, SECOND, TIE = "first", "second", "tie"
#: The share of the win that each label gives to the transcript that was shown first.
SHARES: Mapping[str, float] = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
#: The shares in order: where people's agreement on preferences is asked for, a tie lies between the two.
SHARE_SCALE = Scale((0.0, 0.5, 1.0), True)
AGREE, DISAGREE = "agree", "disagree"
#: Of a judge's list as people correct it: what the judge said of an entry that is kept, and the entries removed.
OF_JUDGE, REMOVED = "of_judge", "removed"
#: Transcript and unit → the final label or level; None where there is to be none.
FinalLabels = Mapping[tuple[str, str], float | str | None]
_PREFERENCE, _AGREES, _AUDITED, _ADJUDICATED = ".preference", ".agrees", ".audited", ".adjudicated"
_UNIT = ("transcript_id", "unit", "metric")


def preference_metric(rubric: str) -> str:
    """The metric of which conversation is better by a rubric."""
    return f"{rubric}{_PREFERENCE}"


def is_preference(metric: str) -> bool:
    """Whether it is the metric of preferences by a rubric."""
    return metric.endswith(_PREFERENCE) and metric != _PREFERENCE


def preferred_by(metric: str) -> str:
    """The rubric of a metric of preferences; other metrics as they are."""
    return metric.removesuffix(_PREFERENCE)


def audited_metric(rubric: str) -> str:
    """The metric of what people say who see the judge's score."""
    return f"{rubric}{_AUDITED}"


def agreement_metric(rubric: str) -> str:
    """The metric of whether people agree with the judge."""
    return f"{rubric}{_AGREES}"


def audited_rubrics(metrics: Iterable[str]) -> list[str]:
    """The rubrics by which people audited a judge: those with both metrics of an audit, in the order of the metrics."""
    names = list(dict.fromkeys(metrics))
    rubrics = (name.removesuffix(_AGREES) for name in names if name.endswith(_AGREES))
    return [rubric for rubric in rubrics if audited_metric(rubric) in names]


def without_audits(metrics: Iterable[str]) -> list[str]:
    """The metrics that are none of an audit, in order."""
    names = list(metrics)
    rubrics = audited_rubrics(names)
    audits = {*map(audited_metric, rubrics), *map(agreement_metric, rubrics)}
    return [name for name in names if name not in audits]


def adjudicated_metric(rubric: str) -> str:
    """The metric of final labels by a rubric."""
    return f"{rubric}{_ADJUDICATED}"


def adjudicated_names() -> pl.Expr:
    """Of each row's metric, :func:`adjudicated_metric`."""
    return pl.col("metric") + _ADJUDICATED


def is_final() -> pl.Expr:
    """The rows of a ratings table that are final labels."""
    return rated_by_humans() & pl.col("metric").str.ends_with(_ADJUDICATED)


def final_labels(ratings: pl.DataFrame, where: str) -> pl.DataFrame:
    """The final labels among ratings, a row a unit and metric, under the name of the rubric they are by.

    What was skipped, or can't be answered, settles nothing, and is none.

    Args:
        ratings: a ratings table.
        where: the run or file, for messages.

    Raises:
        DataError: two people gave a unit different final labels, or one gave different ones in two rounds.
    """
    final = ratings.filter(is_final(), pl.col("error").is_null()).with_columns(
        pl.col("metric").str.strip_suffix(_ADJUDICATED)
    )
    said = pl.concat_str("value", "label", ignore_nulls=True)
    different = final.group_by(_UNIT).agg(said.n_unique().alias("n"), "rater", "round").filter(pl.col("n") > 1)
    if not different.is_empty():
        transcript, unit, metric, _, raters, rounds = different.sort(_UNIT).row(0)
        whose = [
            f"{person_name(rater)} (round {name or chr(34) * 2})"
            for rater, name in sorted(set(zip(raters, rounds, strict=True)))
        ]
        raise DataError(
            f"{' and '.join(whose)} gave {unit_words(transcript, unit)} different final labels on {metric}",
            where=where,
            todo="have one of them skip it, or choose one round with `rounds`",
        )
    return final.unique(_UNIT, keep="first", maintain_order=True)


def unit_words(transcript: str, unit: str) -> str:
    """A unit in running text."""
    return f"transcript {transcript!r}" if unit == TRANSCRIPT else f"{unit} of transcript {transcript!r}"
