"""Final labels in the ratings table: what an adjudicator settled where people differed.

They are metrics of their own, ``<rubric>.adjudicated``, because somebody who has seen what the raters said is no
independent rater. No agreement counts them; they stand for what people say together of the unit.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bedside.ratings.names import TRANSCRIPT, person_name, rated_by_humans
from bedside.support.errors import DataError

_ADJUDICATED = ".adjudicated"
_UNIT = ("transcript_id", "unit", "metric")

#: Transcript and unit → the final label or level.
FinalLabels = Mapping[tuple[str, str], float | str]


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
    different = (
        final.group_by(_UNIT).agg(said.n_unique().alias("n"), "rater", "round").filter(pl.col("n") > 1)
    )
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
