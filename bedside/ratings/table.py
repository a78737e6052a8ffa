"""The table of ratings: its columns, what makes a rating the same rating, and what is asked of it everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from bedside.ratings.names import rated_by_algorithms
from bedside.support.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas


#: Columns of the ratings table, in order, with what they hold.
COLUMNS: Mapping[str, tuple[pl.DataType, str]] = {
    "transcript_id": (pl.String(), "id of the transcript"),
    "system": (pl.String(), "what produced the conversation; null where the source doesn't say"),
    "case_id": (pl.String(), "the patient case; transcripts of different systems on one case are paired"),
    "unit": (pl.String(), "what was rated: `transcript`, or `turn:<index>` with the turn's 0-based index"),
    "metric": (
        pl.String(),
        "the metric, rubric or code; kept for a role it ends in `.clinician` or `.patient`",
    ),
    "rater": (pl.String(), "`algorithm:<name>@<version>`, `judge:<model>` or `human:<id>`"),
    "replicate": (pl.Int32(), "number of the pass, from 0"),
    "value": (pl.Float64(), "the number; null where missing or where the rating is a label"),
    "label": (pl.String(), "the label of a nominal code; null otherwise"),
    "reason": (pl.String(), "the rater's reason, or a remark that belongs to the value"),
    "error": (pl.String(), "why there is neither value nor label; null where there is one"),
}


SCHEMA = pl.Schema({name: kind for name, (kind, _) in COLUMNS.items()})


#: What makes a rating the same rating: a new one of the same key replaces the old.
KEY = ("transcript_id", "unit", "metric", "rater", "replicate")


#: What went wrong with a judge, after the rubric where it is named; then what a server or model said of it.
JUDGE_ERROR = r"(?s)^((?:\w+(?:, turn \d+)?: )?[^:(]*?)(?:: | \().*$"


#: A value in an error, as Python writes it.
_QUOTED = r"""(^|[\s(])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""


def to_pandas(table: pl.DataFrame) -> pandas.DataFrame:
    """A Polars data frame as a pandas one.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        return table.to_pandas()
    except ImportError as error:
        raise MissingExtraError(
            "pandas and pyarrow are not installed", todo="pip install 'bedside[pandas]'"
        ) from error


def wordless(ratings: pl.LazyFrame) -> pl.LazyFrame:
    """Ratings without what people and judges wrote, nor what an error quotes: where no text is wanted."""
    algorithm = rated_by_algorithms()
    error = pl.col("error").str.replace_all(_QUOTED, "${1}…")
    return ratings.with_columns(
        pl.when(algorithm).then("reason"),
        pl.when(algorithm).then(error).otherwise(error.str.replace(JUDGE_ERROR, "${1}")).alias("error"),
    )


def missing_counts(ratings: pl.LazyFrame) -> list[dict[str, Any]]:
    """How many ratings of each metric and rater are missing for each reason, most first."""
    return (
        ratings.filter(pl.col("error").is_not_null())
        .group_by("metric", "rater", "error")
        .len("n")
        .sort(["n", "metric", "rater", "error"], descending=[True, False, False, False])
        .collect()
        .to_dicts()
    )


def frame_of(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """A ratings table of rows whose cells are in the order of :data:`COLUMNS`."""
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")
