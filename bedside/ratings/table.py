"""The table of ratings: its columns, what makes a rating the same rating, and what is asked of it everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from bedside.ratings.names import rated_by_algorithms
from bedside.ratings.values import WARNING
from bedside.support.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import pandas


#: Columns of the ratings table, in order, with what they hold.
COLUMNS: Mapping[str, tuple[pl.DataType, str]] = {
    "transcript_id": (pl.String(), "id of the transcript"),
    "system": (pl.String(), "what produced the conversation; null where the source doesn't say"),
    "case_id": (pl.String(), "the patient case; transcripts of different systems on one case are paired"),
    "unit": (
        pl.String(),
        "what was rated: `transcript`, `turn:<index>` with the turn's 0-based index, or, against a second transcript, "
        "`pair:<id of the second>`",
    ),
    "metric": (
        pl.String(),
        "the metric, rubric or code; kept for a role it ends in `.clinician` or `.patient`, and for which of a pair is "
        "better in `.preference`",
    ),
    "rater": (
        pl.String(),
        "`algorithm:<name>@<version>`, `judge:<model>`, `jury:<name>@<rule>-<version>` or `human:<id>`",
    ),
    "replicate": (pl.Int32(), "number of the pass, from 0"),
    "value": (
        pl.Float64(),
        "the number; null where missing or where the rating is a label; of a preference, the share of the win that the "
        "first one has",
    ),
    "label": (
        pl.String(),
        "the label of a nominal code, or `first`, `second` or `tie` of a preference; null otherwise",
    ),
    "reason": (pl.String(), "the rater's reason, or a remark that belongs to the value"),
    "error": (pl.String(), "why there is neither value nor label; null where there is one"),
    "round": (
        pl.String(),
        "the round of annotation (a plan's, or an import's) that a person's rating is from; empty where it has no name",
    ),
    "drawn": (
        pl.Float64(),
        "the chance with which the unit came into its round; 0 where it was picked for what it is, not drawn; null "
        "where it is not known",
    ),
}


SCHEMA = pl.Schema({name: kind for name, (kind, _) in COLUMNS.items()})


#: The schema of ratings as whatever rates makes them, which knows of no round: see :func:`in_round`.
ROW_SCHEMA = pl.Schema({name: kind for name, kind in SCHEMA.items() if name not in ("round", "drawn")})


#: The round of ratings that are imported, unless they have a name of their own.
IMPORTED = "import"
#: What the name of a round looks like; without one, it is empty.
ROUND = r"^(?:[^\W_][\w. +-]{0,62})?$"


#: What makes a rating the same rating: a new one of the same key replaces the old.
KEY = ("transcript_id", "unit", "metric", "rater", "replicate", "round")


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
            "pandas and pyarrow are not installed", todo='pip install "bedside[pandas]"'
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


def warnings_in(ratings: pl.LazyFrame) -> pl.LazyFrame:
    """What values warn of (:data:`~bedside.ratings.values.WARNING`), as ``warning``, by ``metric`` and
    ``transcript_id``."""
    reason = pl.col("reason")
    return (
        ratings.filter(reason.str.starts_with(WARNING))
        .select(
            "metric",
            "transcript_id",
            reason.str.split("; ").list.first().str.strip_prefix(WARNING).alias("warning"),
        )
        .unique()
    )


def check_round(name: str) -> None:
    """See that a round can have this name.

    Raises:
        DataError: it can't.
    """
    if not re.fullmatch(ROUND, name):
        raise DataError(
            f"{name!r} can't be the name of a round",
            where="`round`",
            todo="use letters, digits, blanks and . _ - +",
        )


_Table = TypeVar("_Table", pl.DataFrame, pl.LazyFrame)


def in_round(ratings: _Table, name: str = "", drawn: Sequence[float | None] | None = None) -> _Table:
    """Ratings of :data:`ROW_SCHEMA` as a ratings table.

    Args:
        ratings: the ratings.
        name: the round that all of them are of.
        drawn: the chance with which each one's unit came into it; not known unless given.
    """
    chances = pl.lit(None, dtype=pl.Float64()) if drawn is None else pl.Series(drawn, dtype=pl.Float64())
    return ratings.with_columns(pl.lit(name).alias("round"), chances.alias("drawn")).select(SCHEMA.names())


def frame_of(
    rows: Iterable[tuple[Any, ...]], round: str = "", drawn: Sequence[float | None] | None = None
) -> pl.DataFrame:
    """A ratings table of rows whose cells are in the order of :data:`ROW_SCHEMA`; else as :func:`in_round`."""
    return in_round(pl.DataFrame(list(rows), schema=ROW_SCHEMA, orient="row"), round, drawn)
