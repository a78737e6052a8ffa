"""Ratings by rubrics: what a judge's answers come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings
from bedside.ratings.names import TRANSCRIPT, unit_name
from bedside.transcripts.transcript import Transcript

#: A rating as a judge's answer gives it: unit, metric, value, label, reason, error.
Unpacked = tuple[str, str, float | None, str | None, str | None, str | None]


def asked_with(settings: JudgeSettings, items_per_call: int) -> dict[str, Any]:
    """What rubrics are asked with, for :attr:`JudgingSummary.parameters`."""
    return {**settings.sampling().parameters(), "order": settings.order, "items_per_call": items_per_call}


_MAPPED = "the rubric maps levels, and how the judge's expectation maps isn't known"
NOT_APPLICABLE = "the judge says that no answer can be given"


def ratings_of(rubric: Rubric, transcript: Transcript, answers: Sequence[JudgeAnswer]) -> Iterator[Unpacked]:
    """The ratings that the answers to a rubric give.

    A level is a value and a label a label, of the unit that was asked about; so are the parts of a vector, each as
    ``<rubric>.<part>``. A set's value is the number of its labels, which begin the reason. Of an index, the value is
    the number; of pairs and lists, and where every item of an input was asked about, how many there are (of items, how
    many have an index), and the reason is the answer as JSON.
    """
    if rubric.each is not None and rubric.each != "turns":
        yield from _over_items(rubric, answers)
        return
    for reply in answers:
        if rubric.each == "turns":
            yield from _over_turns(rubric, reply)
        else:
            yield from _single(rubric, reply)


def _single(rubric: Rubric, reply: JudgeAnswer) -> Iterator[Unpacked]:
    if reply.answer is None:
        for metric in _metrics(rubric):
            yield reply.unit, metric, None, None, None, reply.error
    else:
        yield from _ratings(rubric, reply.unit, reply.answer)
    if rubric.level_map and (reply.expected is not None or reply.expected_note is not None):
        yield reply.unit, f"{rubric.name}.expected", None, None, None, _MAPPED
    elif rubric.kind == "level" and (reply.expected is not None or reply.expected_note is not None):
        yield reply.unit, f"{rubric.name}.expected", reply.expected, None, None, reply.expected_note


def _over_turns(rubric: Rubric, reply: JudgeAnswer) -> Iterator[Unpacked]:
    if reply.answer is None:
        units = [TRANSCRIPT] if not reply.items else [unit_name(index) for index in reply.items]
        for unit in units:
            for metric in _metrics(rubric):
                yield unit, metric, None, None, None, reply.error
        return
    for entry in sorted(reply.answer["answers"], key=lambda entry: entry["item"]):
        yield from _ratings(rubric, unit_name(int(entry["item"])), entry)


def _over_items(rubric: Rubric, answers: Sequence[JudgeAnswer]) -> Iterator[Unpacked]:
    """One rating of each unit for all items: missing where a part of them is."""
    by_unit: dict[str, list[JudgeAnswer]] = {}
    for reply in answers:
        by_unit.setdefault(reply.unit, []).append(reply)
    for unit, parts in by_unit.items():
        error = next((reply.error for reply in parts if reply.answer is None), None)
        if error is not None:
            yield unit, rubric.name, None, None, None, error
            continue
        entries = [entry for reply in parts if reply.answer for entry in reply.answer["answers"]]
        entries.sort(key=lambda entry: entry["item"])
        main = next((part.name for part in rubric.parts if part.type == "index"), None)
        count = sum(main is None or entry[main] is not None for entry in entries)
        yield unit, rubric.name, float(count), None, _json(entries), None


def _metrics(rubric: Rubric) -> list[str]:
    if rubric.kind == "vector":
        return [f"{rubric.name}.{part.name}" for part in rubric.parts if part.type in _RATED]
    return [rubric.name]


def _ratings(rubric: Rubric, unit: str, answer: Mapping[str, Any]) -> Iterator[Unpacked]:
    reason = answer["reason"]
    if rubric.kind == "vector":
        for part in rubric.parts:
            if part.type in _RATED:
                value, label = _rated(part, answer[part.name])
                missing = None if value is not None or label is not None else NOT_APPLICABLE
                yield unit, f"{rubric.name}.{part.name}", value, label, reason, missing
        return
    main = next((part for part in rubric.parts if part.type == "index"), rubric.parts[0])
    part_answer = answer[main.name]
    if rubric.kind == "set":
        labels = ", ".join(sorted(part_answer)) or "none"
        yield unit, rubric.name, float(len(part_answer)), None, f"{labels}: {reason}", None
    elif rubric.kind in ("pairs", "list"):
        yield unit, rubric.name, float(len(part_answer)), None, _json(answer), None
    elif part_answer is None:
        error = NOT_APPLICABLE if rubric.kind != "index" else f"the judge found no {main.name}"
        yield unit, rubric.name, None, None, reason, error
    else:
        value, label = _rated(main, part_answer)
        if value is not None and rubric.level_map:
            said, value = value, rubric.recorded_level(value)
            reason = f"{reason} (The judge says {said:g}, which the tuned rubric records as {value:g}.)"
        yield unit, rubric.name, value, label, reason, None


#: Parts of an answer that are a rating each.
_RATED = ("number", "boolean", "level", "label", "probabilities", "index")


def _rated(part: RubricPart, answer: Any) -> tuple[float | None, str | None]:
    if answer is None:
        return None, None
    if part.type == "label":
        return None, str(answer)
    if part.type == "probabilities":
        # The first of equals in the rubric's order, so that the same reply gives the same label.
        return None, max((label.label for label in part.labels), key=lambda label: float(answer[label]))
    return float(answer), None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
