"""Ratings by rubrics: what a judge's answers come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.composites import PointCriterion, Points, Walk, slug
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
    many have an index), and the reason is the answer as JSON. A sheet gives a rating by each criterion, and one by its
    aggregate; a flow one by each question, and one by each dimension; points give the share
    of what could be reached, in all and by tag.
    """
    if rubric.points is not None:
        yield from _over_points(rubric, rubric.points, transcript, answers)
        return
    if rubric.each is not None and rubric.each != "turns":
        yield from _over_items(rubric, answers)
        return
    if rubric.kind == "flow":
        yield from _over_walk(rubric, answers)
        return
    for reply in answers:
        if rubric.each == "turns":
            yield from _over_turns(rubric, reply)
        elif rubric.kind == "sheet":
            yield from _over_criteria(rubric, reply)
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


def _over_criteria(rubric: Rubric, reply: JudgeAnswer) -> Iterator[Unpacked]:
    """A rating by each criterion, missing where the reply lacks it; and their mean, missing where one of them is."""
    answer, values = reply.answer or {}, dict[str, float | None]()
    for criterion, measure in zip(rubric.criteria, rubric.measures, strict=True):
        part = next(part for part in rubric.parts if part.name == criterion.name)
        reasons = [answer.get(f"{criterion.name}_reason"), answer.get("reason")]
        if rubric.aggregate is not None and reasons[0]:
            reasons.pop()  # it is the mean's
        reason = " ".join(filter(None, reasons)) or None
        if criterion.name not in answer:
            yield reply.unit, measure.name, None, None, None, reply.error
            continue
        value, label = _rated(part, answer[criterion.name])
        values[criterion.name] = value
        missing = NOT_APPLICABLE if value is None and label is None else None
        yield reply.unit, measure.name, value, label, reason, missing
    if rubric.aggregate is not None:
        rated = [values.get(name) for name in rubric.aggregate.mean_of]
        known = [value for value in rated if value is not None]
        mean = sum(known) / len(known) if len(known) == len(rated) else None
        lack = None if mean is not None else f"only {len(known)} of {len(rated)} criteria are rated"
        error = reply.error if not known and reply.error else lack
        yield reply.unit, rubric.aggregate.name, mean, None, answer.get("reason") or None, error


NOT_REACHED = "not asked in this walk"
#: Why an answer doesn't count that was given to a question that the walk doesn't ask, or one that an open one leads to.
OFF_WALK, BEHIND_OPEN = f"answered, but {NOT_REACHED}", "answered, but an earlier question is open"
#: What a person left open.
UNANSWERED, OF_CRITERIA = "not answered", "of its criteria"


def walk_by(rubric: Rubric, said: Mapping[str, Any]) -> Walk:
    """The walk through a flow that answers to its questions lead to, by their metrics, up to the first without one."""
    walk, questions = Walk(rubric.flow), rubric.question_rubrics
    while walk.at is not None:
        label = said.get(questions[walk.at].name)
        if label not in [one.label for one in questions[walk.at].labels]:
            break
        walk.take(label)
    return walk


def ratings_by_parts(
    rubric: Rubric, unit: str, said: Mapping[str, float | str | None], lack: str = UNANSWERED
) -> Iterator[Unpacked]:
    """What people's answers to the parts of a sheet come to: its mean; of a flow, the answer to each question and the
    result of each dimension.

    Args:
        rubric: a sheet with a mean, or a flow.
        unit: what was rated.
        said: metric of a part → its level or label; None where no answer can be given.
        lack: what is wrong where there is no answer.
    """
    if rubric.kind == "sheet":
        parts = zip(rubric.criteria, rubric.question_rubrics, strict=True)
        levels = {own.name: said[part.name] for own, part in parts if own.scale and part.name in said}
        *_, mean = _over_criteria(rubric, JudgeAnswer(unit, None, levels or None, None if levels else lack))
        yield mean
        return
    walk = walk_by(rubric, said)
    replies = [JudgeAnswer(unit, None, {"reason": "", "label": label}, None) for label in walk.answers.values()]
    if walk.at is not None:
        replies.append(JudgeAnswer(unit, None, None, lack))
    beside = OFF_WALK if walk.at is None else BEHIND_OPEN
    for of_unit, metric, value, label, reason, error in _over_walk(rubric, replies):
        yield of_unit, metric, value, label, reason, beside if error == NOT_REACHED and metric in said else error


def _over_walk(rubric: Rubric, answers: Sequence[JudgeAnswer]) -> Iterator[Unpacked]:
    """The answer to each question, and the result of each dimension that was asked about; all results are missing where
    one answer is."""
    walk, reasons, stopped = Walk(rubric.flow), dict[int, str](), (-1, "")
    for reply in answers:
        assert walk.at is not None
        if reply.answer is None:
            stopped = walk.at, reply.error or ""
            break
        reasons[walk.at] = reply.answer["reason"]
        walk.take(reply.answer["label"])
    for place, measure in enumerate(rubric.question_rubrics):
        label = walk.answers.get(place)
        error = None if label is not None else stopped[1] if place == stopped[0] else NOT_REACHED
        yield TRANSCRIPT, measure.name, None, label, reasons.get(place), error
    way = rubric.flow.exit(walk.answers)
    error = None if way is None else f"not relevant: question {way.question} is answered {way.answer}"
    if stopped[0] >= 0:
        error = f"question {rubric.questions[stopped[0]].id} has no answer"
    asked = {rubric.questions[place].dimension for place in walk.answers}
    for dimension, measure in zip(rubric.flow.dimensions, rubric.measures[len(rubric.questions) :], strict=True):
        lack = error or (None if dimension in asked else NOT_REACHED)
        result = None if lack else rubric.flow.result(dimension, walk.answers)
        yield TRANSCRIPT, measure.name, None, result, None, lack


def _over_turns(rubric: Rubric, reply: JudgeAnswer) -> Iterator[Unpacked]:
    if reply.answer is None:
        units = [TRANSCRIPT] if not reply.items else [unit_name(index) for index in reply.items]
        for unit in units:
            for metric in _metrics(rubric):
                yield unit, metric, None, None, None, reply.error
        return
    for entry in sorted(reply.answer["answers"], key=lambda entry: entry["item"]):
        yield from _ratings(rubric, unit_name(int(entry["item"])), entry)


def _over_points(
    rubric: Rubric, points: Points, transcript: Transcript, answers: Sequence[JudgeAnswer]
) -> Iterator[Unpacked]:
    try:
        criteria = points.of(transcript.known(points.key))
    except ValueError as unknown:
        yield TRANSCRIPT, rubric.name, None, None, None, str(unknown)
        return
    yield from points_ratings(rubric.name, criteria, answers)


def points_ratings(name: str, criteria: Sequence[PointCriterion], answers: Sequence[JudgeAnswer]) -> Iterator[Unpacked]:
    """The points of the criteria met, by all points above 0: in all, and by tag; missing where one of its criteria is.

    Args:
        name: of the rubric.
        criteria: what the transcript is held against.
        answers: of each criterion, by its number, whether it is met.
    """
    error = next((reply.error for reply in answers if reply.answer is None), None)
    entries = {int(entry["item"]): entry for reply in answers for entry in (reply.answer or {"answers": []})["answers"]}
    tags = dict.fromkeys(slug(tag) for criterion in criteria for tag in criterion.tags)
    for tag in (None, *tags):
        metric = name if tag is None else f"{name}_{tag}"
        own = {
            at: criterion for at, criterion in enumerate(criteria) if tag is None or tag in map(slug, criterion.tags)
        }
        most = sum(criterion.points for criterion in own.values() if criterion.points > 0)
        unanswered = sum(at not in entries for at in own)
        lack = (error or f"no answer to {unanswered} {OF_CRITERIA}") if unanswered else None
        lack = lack if most else "none of its criteria has points above 0"
        if lack is not None:
            yield TRANSCRIPT, metric, None, None, None, lack
            continue
        held_against = [
            {
                "criterion": criterion.criterion,
                "points": criterion.points,
                "met": entries[at]["met"],
                "reason": entries[at]["reason"],
            }
            for at, criterion in own.items()
        ]
        reached = sum(criterion.points for at, criterion in own.items() if entries[at]["met"])
        yield TRANSCRIPT, metric, reached / most, None, _json(held_against), None


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
