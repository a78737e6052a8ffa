"""Every question put to a run, answered as numbers under names: in no order, and comparable across studies."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import bedside
from bedside.analysis.deviation import deviation
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.study_size import pilot_differences, sizes_for_difference
from bedside.analysis.trend import trend
from bedside.ratings.run import Run
from bedside.reports.study_size import difference_table
from bedside.reports.table import Table
from bedside.reports.tables.deviation import deviation_table
from bedside.reports.tables.length import length_table

JUDGE = "judge:lab/model"
#: (table, names of the row, column) → the number or the word.
Numbers = dict[tuple[str, str, str], Any]
#: A change of a table's records before their numbers are looked at.
Rewriting = Callable[[str, dict[str, Any]], dict[str, Any] | None]

#: Fields of a record that say what its numbers are of.
_NAMES = (
    "metric", "system", "a", "b", "systems", "quantity", "rater", "raters", "judge", "between", "others", "level",
    "statistic", "who", "what", "measure", "unit", "rubric", "error", "first", "second", "given", "bin", "from", "to",
    "item", "transcript", "decision", "first_level", "second_level", "transcript_id", "replicate", "round",
)  # fmt: skip
#: Of one judge or pair of raters, numbered in the order in which they are shown.
_NUMBERED = ("judge_card", "validation", "decisions", "bias", "accuracy", "confusion", "calibration")


def _compare(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    return bedside.compare(run, margin={"empathy": 0.5}, **part)


def _permuted(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    return bedside.compare(
        run, test="permutation", metrics=["empathy", "partnership", "turns"], raters=["judge:*", "algorithm:*"], **part
    )


def _unpaired(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    return bedside.compare(run, test="mannwhitney", metrics=["empathy", "partnership", "turns"], **part)


def _gate(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    return bedside.gate(
        run, baseline=systems[0], system=systems[1], margin={"empathy": 0.5, "partnership": 0.5}, raters=[JUDGE], **part
    )


def _trend(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    return [length_table(trend(open_ratings_view(run, **part), edges=(6, 10)))]


def _size(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    pilot = pilot_differences(open_ratings_view(run, **part), "empathy", systems[:2])
    return [difference_table(sizes_for_difference(0.5, pilot=pilot))]


def _deviation(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    return [deviation_table(deviation(open_ratings_view(run, **part), systems[0]), systems[0])]


def _report(run: Run, systems: list[str], **part: Any) -> Iterable[Table]:
    """All tables; bins of lengths that nobody named are quartiles of all systems', and are told apart."""
    return [
        replace(table, name="quartiles") if table.name == "length" else table for table in bedside.tables(run, **part)
    ]


#: Tables of a run, whose systems are given in the order of their first names; of the rounds that are named, if any are.
Question = Callable[..., Iterable[Table]]
QUESTIONS: Mapping[str, Question] = {
    "agree": lambda run, systems, **part: bedside.agree(run, confusion=True, **part),
    "validate": lambda run, systems, **part: bedside.validate(run, **part),
    "estimate": lambda run, systems, **part: bedside.estimate(run, **part),
    "estimate of the run": lambda run, systems, **part: bedside.estimate(run, about="run", **part),
    "estimate at every look": lambda run, systems, **part: bedside.estimate(run, looks=True, **part),
    "compare at every look": lambda run, systems, **part: bedside.compare(run, looks=True, **part),
    "compare": _compare,
    "compare by permutation": _permuted,
    "compare unpaired": _unpaired,
    "gate": _gate,
    "preferences": lambda run, systems, **part: bedside.preferences(run, **part),
    "deviation": _deviation,
    "trend": _trend,
    "study size": _size,
    "report": _report,
    "explain": lambda run, systems, **part: bedside.explain(run, f"empathy@people/{systems[0]}", **part).tables,
}


def answers(
    run: Run,
    systems: list[str],
    questions: Iterable[str] = tuple(QUESTIONS),
    *,
    renamed: Mapping[str, str] | None = None,
    rewriting: Rewriting | None = None,
    **part: Any,
) -> dict[str, Numbers]:
    """What each question is answered with.

    Args:
        run: the run.
        systems: its systems, in the order of their first names.
        questions: names of :data:`QUESTIONS`.
        renamed: what is called otherwise in the run → its first name, everywhere.
        rewriting: a change of records, or None to leave one out.
        part: the ``rounds`` that count, where they have to be named.
    """
    return {
        name: _numbers(partial(QUESTIONS[name], run, systems, **part), run, renamed or {}, rewriting)
        for name in questions
    }


def _numbers(
    question: Callable[[], Iterable[Table]], run: Run, renamed: Mapping[str, str], rewriting: Rewriting | None
) -> Numbers:
    try:
        tables = list(question())
    except bedside.BedsideError as error:
        return {("error", "", ""): _first_names(str(error).replace(str(run.path), "RUN"), renamed)}
    return numbers_of(tables, renamed=renamed, rewriting=rewriting)


def numbers_of(
    tables: Iterable[Table],
    *,
    renamed: Mapping[str, str] | None = None,
    rewriting: Rewriting | None = None,
    apart: Collection[str] = (),
) -> Numbers:
    """The numbers and words of tables under their names.

    Args:
        tables: the tables.
        renamed, rewriting: as for :func:`answers`.
        apart: fields that are left out.
    """
    numbers: Numbers = {}
    for table in tables:
        name = table.name.rstrip("0123456789").rstrip("_") if table.name.startswith(_NUMBERED) else table.name
        records = [json.loads(_first_names(json.dumps(record), renamed or {})) for record in table.records]
        seen: Counter[str] = Counter()
        for record in records:
            if record.get("what") == "Date":
                continue
            kept = record if rewriting is None else rewriting(name, record)
            if kept is None:
                continue
            kept = _oriented({field: _orderless(field, value) for field, value in kept.items() if field not in apart})
            key = " ".join(f"{field}={kept[field]}" for field in _NAMES if isinstance(kept.get(field), str | int))
            seen[key] += 1
            if seen[key] > 1:
                key += f" #{seen[key]}"
            for field, value in kept.items():
                numbers[name, key, field] = value
    return numbers


def _orderless(field: str, value: Any) -> Any:
    """A text that lists raters, with these in order."""
    if field in ("raters", "between", "cell", "could_change_places_with") and isinstance(value, str):
        return "/".join(" and ".join(sorted(re.split(", | and ", part))) for part in value.split("/"))
    return value


def _oriented(record: dict[str, Any]) -> dict[str, Any]:
    """A record of two raters, with these in order."""
    if "first_level" in record and record["first"] > record["second"]:
        record["first"], record["second"] = record["second"], record["first"]
        record["first_level"], record["second_level"] = record["second_level"], record["first_level"]
    if "title" in record and record.get("first_level") is not None:
        del record["title"]
    return record


def _first_names(text: str, renamed: Mapping[str, str]) -> str:
    """A text with the first names of what is called otherwise in it; longer names go before those that they hold."""
    for name in sorted(renamed, key=len, reverse=True):
        text = text.replace(name, renamed[name])
    return text


def moved(before: Numbers, after: Numbers, *, tolerance: float = 1e-9) -> list[str]:
    """Numbers and words that are not the same, in words; those that stand in one answer only are of both."""
    changes = []
    for key in sorted(before.keys() | after.keys()):
        one, other = (numbers.get(key, "not there") for numbers in (before, after))
        if not _same(one, other, tolerance):
            changes.append(f"{' | '.join(key)}: {one!r} became {other!r}")
    return changes


def _same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance) or (one != one and other != other)
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return bool(one == other)
