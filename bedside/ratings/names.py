"""Names of raters and of units: made and taken apart here, and nowhere else.

A rater is ``human:NAME``, ``judge:MODEL``, ``jury:NAME@RULE-VERSION`` or ``algorithm:NAME@VERSION``; a unit is
``transcript``, ``turn:INDEX`` or, where a transcript was compared with another that was shown after it, ``pair:ID``
with the id of that other. A transcript that was altered for a judge is ``ID [HOW]``.
Polars is loaded by the functions that need it: a shell completes names of raters without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Set

    import polars as pl

#: The unit of a rating of a whole transcript.
TRANSCRIPT = "transcript"
#: Patterns of all raters of a kind.
HUMANS, JUDGES, JURIES, ALGORITHMS = "human:*", "judge:*", "jury:*", "algorithm:*"
#: What stands between a judge and the version of its model, where each is a rater of its own.
JUDGE_VERSION = "@"
#: How numbers of several raters become one; labels go by most votes whatever the rule.
JuryRule = Literal["mean", "median", "majority", "weights", "dawid-skene", "glad", "mace"]
JURY_RULES: tuple[JuryRule, ...] = get_args(JuryRule)
#: The same, and that of judges who are asked in turn.
Combination = Literal[JuryRule, "cascade"]
#: Rules that learn from nothing, from people's ratings, and from how judges agree.
FIXED_RULES, LEARNT_RULES, LABEL_FREE_RULES = JURY_RULES[:3], JURY_RULES[3:4], JURY_RULES[4:]
#: What these are called.
LABEL_FREE_WORDS: dict[str, str] = {"dawid-skene": "Dawid–Skene's model", "glad": "GLAD", "mace": "MACE"}
_HUMAN, _JUDGE, _ALGORITHM, _TURN, _PAIR, _JURY = "human:", "judge:", "algorithm:", "turn:", "pair:", "jury:"


def human_rater(name: str) -> str:
    """The rater that a person is."""
    return f"{_HUMAN}{name}"


def judge_rater(model: str) -> str:
    """The rater that a language model is."""
    return f"{_JUDGE}{model}"


def jury_rater(name: str, version: str) -> str:
    """The rater that several raters are together; the version says how they are combined, and which they are."""
    return f"{_JURY}{name}@{version}"


def algorithm_rater(name: str, version: str | None = None) -> str:
    """The rater that an algorithm is; another version is another rater. Without one, the algorithm in any version."""
    return f"{_ALGORITHM}{name}" if version is None else f"{_ALGORITHM}{name}@{version}"


def is_human(rater: str) -> bool:
    """Whether the rater is a person."""
    return rater.startswith(_HUMAN)


def is_judge(rater: str) -> bool:
    """Whether the rater is a language model."""
    return rater.startswith(_JUDGE)


def is_jury(rater: str) -> bool:
    """Whether the rater is several raters together."""
    return rater.startswith(_JURY)


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
    return _begins("rater", _HUMAN)


def rated_by_judges() -> pl.Expr:
    """The rows of a ratings table that language models rated."""
    return _begins("rater", _JUDGE)


def rated_by_juries() -> pl.Expr:
    """The rows of a ratings table that several raters together rated."""
    return _begins("rater", _JURY)


def rated_by_algorithms() -> pl.Expr:
    """The rows of a ratings table that algorithms rated."""
    return _begins("rater", _ALGORITHM)


def unit_name(turn: int | None) -> str:
    """The unit that a turn is, by its index from 0; without one, the whole transcript."""
    return TRANSCRIPT if turn is None else f"{_TURN}{turn}"


def units_of(turns: pl.Expr) -> pl.Expr:
    """The same of a column of indices."""
    import polars as pl

    return pl.concat_str(pl.lit(_TURN), turns).fill_null(TRANSCRIPT)


def is_turn(unit: str) -> bool:
    """Whether the unit is a turn."""
    return unit.startswith(_TURN)


def pair_unit(second: str) -> str:
    """The unit that a transcript and another make, by the id of the other, which was shown second."""
    return f"{_PAIR}{second}"


def is_pair(unit: str) -> bool:
    """Whether the unit is a pair of transcripts."""
    return unit.startswith(_PAIR)


def second_id(unit: str) -> str:
    """The id of the transcript that was shown second, of a unit that is a pair.

    Raises:
        ValueError: it is no pair.
    """
    if not is_pair(unit):
        raise ValueError(f"{unit!r} is no pair")
    return unit.removeprefix(_PAIR)


def altered_id(transcript: str, how: str) -> str:
    """What a transcript is called where a judge sees it altered."""
    return f"{transcript} [{how}]"


def unaltered_id(name: str, transcripts: Set[str]) -> str | None:
    """Which of these transcripts a name is of, altered once or more or not at all; None where it is of no one."""
    while name not in transcripts:
        name, bracket, _ = name.rpartition(" [") if name.endswith("]") else ("", "", "")
        if not bracket:
            return None
    return name


def rates_pair() -> pl.Expr:
    """The rows of a ratings table whose unit is a pair of transcripts."""
    return _begins("unit", _PAIR)


def second_ids() -> pl.Expr:
    """The id of the transcript that was shown second in each row; null where its unit is no pair."""
    import polars as pl

    return pl.when(rates_pair()).then(pl.col("unit").str.strip_prefix(_PAIR))


def rates_unit() -> pl.Expr:
    """The rows of a ratings table whose unit is one: the whole transcript, a turn, or a pair of transcripts."""
    import polars as pl

    return pl.col("unit").str.contains(f"(?s)^(?:{TRANSCRIPT}|{_TURN}[0-9]+|{_PAIR}.+)$")


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


def _begins(column: str, prefix: str) -> pl.Expr:
    import polars as pl

    return pl.col(column).str.starts_with(prefix)
