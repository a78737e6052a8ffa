"""Names of raters and of units: made and taken apart here, and nowhere else.

A rater is ``human:NAME``, ``judge:MODEL`` or ``algorithm:NAME@VERSION``; a unit is ``transcript`` or ``turn:INDEX``.
Polars is loaded by the functions that need it: a shell completes names of raters without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: The unit of a rating of a whole transcript.
TRANSCRIPT = "transcript"
#: Patterns of all raters of a kind.
HUMANS, JUDGES, ALGORITHMS = "human:*", "judge:*", "algorithm:*"
_HUMAN, _JUDGE, _ALGORITHM, _TURN = "human:", "judge:", "algorithm:", "turn:"


def human_rater(name: str) -> str:
    """The rater that a person is."""
    return f"{_HUMAN}{name}"


def judge_rater(model: str) -> str:
    """The rater that a language model is."""
    return f"{_JUDGE}{model}"


def algorithm_rater(name: str, version: str | None = None) -> str:
    """The rater that an algorithm is; another version is another rater. Without one, the algorithm in any version."""
    return f"{_ALGORITHM}{name}" if version is None else f"{_ALGORITHM}{name}@{version}"


def is_human(rater: str) -> bool:
    """Whether the rater is a person."""
    return rater.startswith(_HUMAN)


def is_judge(rater: str) -> bool:
    """Whether the rater is a language model."""
    return rater.startswith(_JUDGE)


def is_algorithm(rater: str) -> bool:
    """Whether the rater is an algorithm."""
    return rater.startswith(_ALGORITHM)


def has_kind(rater: str) -> bool:
    """Whether the name says what kind of rater it is."""
    return ":" in rater


def person_name(rater: str) -> str:
    """A person's name without ``human:``; other raters' names as they are."""
    return rater.removeprefix(_HUMAN)


def judge_model(rater: str) -> str:
    """A judge's model without ``judge:``; other raters' names as they are."""
    return rater.removeprefix(_JUDGE)


def algorithm_name(rater: str) -> str:
    """An algorithm's name and version without ``algorithm:``; other raters' names as they are."""
    return rater.removeprefix(_ALGORITHM)


def rated_by_humans() -> pl.Expr:
    """The rows of a ratings table that people rated."""
    import polars as pl

    return pl.col("rater").str.starts_with(_HUMAN)


def rated_by_judges() -> pl.Expr:
    """The rows of a ratings table that language models rated."""
    import polars as pl

    return pl.col("rater").str.starts_with(_JUDGE)


def rated_by_algorithms() -> pl.Expr:
    """The rows of a ratings table that algorithms rated."""
    import polars as pl

    return pl.col("rater").str.starts_with(_ALGORITHM)


def unit_name(turn: int | None) -> str:
    """The unit that a turn is, by its index from 0; without one, the whole transcript."""
    return TRANSCRIPT if turn is None else f"{_TURN}{turn}"


def is_turn(unit: str) -> bool:
    """Whether the unit is a turn."""
    return unit.startswith(_TURN)


def rates_unit() -> pl.Expr:
    """The rows of a ratings table whose unit is one: the whole transcript, or a turn."""
    import polars as pl

    return pl.col("unit").str.contains(f"^(?:{TRANSCRIPT}|{_TURN}[0-9]+)$")


def turn_index(unit: str) -> int:
    """The index of the turn that a unit is.

    Raises:
        ValueError: it is no turn.
    """
    return int(unit.removeprefix(_TURN))


def turn_indices(kind: type[pl.DataType] | None = None) -> pl.Expr:
    """The index of each row's turn, as ``Int64`` unless a type is named; null where its unit is no turn."""
    import polars as pl

    return pl.col("unit").str.strip_prefix(_TURN).cast(pl.Int64 if kind is None else kind, strict=False)
