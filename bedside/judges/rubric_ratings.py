"""Judging: transcripts and rubrics go in, a language model rates, ratings come out in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from bedside.judges.judgement_queue import JudgeAnswer, JudgingProgress, QuestionGroup
from bedside.judges.prompt import ITEMS_PER_CALL, Question
from bedside.judges.questioning import (
    Asking,
    Judged,
    Planner,
    Questions,
    Rows,
    RubricPlan,
    ask,
    check_numbers,
)
from bedside.llm.client import JudgeName, judge_name
from bedside.rubrics.rubric import Rubric, RubricPart
from bedside.transcripts.transcript import Transcript

#: A rating as a judge's answer gives it: unit, metric, value, label, reason, error.
Unpacked = tuple[str, str, float | None, str | None, str | None, str | None]
#: Makes ratings of all answers of one pass of a rubric over a transcript.
Unpack = Callable[[Rubric, Transcript, Sequence[JudgeAnswer]], Iterable[Unpacked]]


def judge_transcripts(
    transcripts: Iterable[Transcript],
    rubrics: Sequence[Rubric],
    judge: str | JudgeName,
    *,
    store_path: Path,
    add: Callable[[tuple[Any, ...]], object],
    asking: Asking | None = None,
    items_per_call: int = ITEMS_PER_CALL,
    text: bool = True,
    unpack: Mapping[str, Unpack] | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> Judged:
    """Have a language model rate transcripts.

    Ratings are given to ``add`` as rows in the order of :data:`bedside.ratings.run.COLUMNS`: by transcript, rubric, pass
    and unit. Judgements that the store holds are not asked again; each new one is on disk before its place is taken by
    another. What can't be had is a rating without value that says why.

    Args:
        transcripts: any number of them; they are taken as they are needed.
        rubrics: what is asked about each.
        judge: the model, see :mod:`bedside.llm.client`.
        store_path: the file that keeps judgements; made if it isn't there.
        add: called with each row.
        asking: passes, limits and the like.
        items_per_call: how many items or turns one call asks about, for rubrics that ask about each.
        text: whether the store keeps prompts and a judge's words; without them, numbers and labels are kept.
        unpack: how the answers of a rubric become ratings, by the rubric's name, in place of :func:`ratings_of`.
        progress: called whenever a judgement is done.

    Raises:
        RegistryError: the judge's name is none.
        MissingExtraError: the libraries for it aren't installed.
        JudgeError: the judge can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: an argument is out of range.
    """
    name, how = judge_name(judge), asking or Asking()
    questions = _questions(rubrics, items_per_call, how)
    rows = Rows(name.rater, add)
    making = unpack or {}

    def emit(group: QuestionGroup) -> None:
        rubric = group.question.rubric
        made = making.get(rubric.name, ratings_of)
        for rating in made(rubric, group.transcript, group.answers):
            rows.add(group.transcript, group.number, *rating)

    stage = (lambda: questions.groups(transcripts), emit)
    calls = ask(name, how, store_path, [stage], text=text, progress=progress)
    return Judged(
        name.rater, asked_with(how, items_per_call), how.passes, questions.counts(), rows.count, calls
    )


def plan_judging(
    transcripts: Iterable[Transcript],
    rubrics: Sequence[Rubric],
    judge: str | JudgeName,
    *,
    store_path: Path,
    asking: Asking | None = None,
    items_per_call: int = ITEMS_PER_CALL,
) -> tuple[RubricPlan, ...]:
    """What :func:`judge_transcripts` with the same arguments would send; nothing is sent, and no key is needed."""
    how = asking or Asking()
    questions = _questions(rubrics, items_per_call, how)
    return Planner(judge_name(judge), how, store_path).plans(questions, transcripts)


def _questions(rubrics: Sequence[Rubric], items_per_call: int, how: Asking) -> Questions:
    check_numbers(items_per_call=items_per_call)
    return Questions((Question(rubric, items_per_call) for rubric in rubrics), how.passes)


def asked_with(how: Asking, items_per_call: int) -> dict[str, Any]:
    """What rubrics are asked with, for :attr:`Judged.parameters`."""
    return {**how.sampling().parameters(), "order": how.order, "items_per_call": items_per_call}


# -- from answers to ratings ------------------------------------------------------------------------

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
    for given in answers:
        if rubric.each == "turns":
            yield from _over_turns(rubric, given)
        else:
            yield from _single(rubric, given)


def _single(rubric: Rubric, given: JudgeAnswer) -> Iterator[Unpacked]:
    if given.answer is None:
        for metric in _metrics(rubric):
            yield given.unit, metric, None, None, None, given.error
    else:
        yield from _ratings(rubric, given.unit, given.answer)
    if rubric.kind == "level" and (given.expected is not None or given.expected_note is not None):
        yield given.unit, f"{rubric.name}.expected", given.expected, None, None, given.expected_note


def _over_turns(rubric: Rubric, given: JudgeAnswer) -> Iterator[Unpacked]:
    if given.answer is None:
        units = ["transcript"] if not given.items else [f"turn:{index}" for index in given.items]
        for unit in units:
            for metric in _metrics(rubric):
                yield unit, metric, None, None, None, given.error
        return
    for entry in sorted(given.answer["answers"], key=lambda entry: entry["item"]):
        yield from _ratings(rubric, f"turn:{int(entry['item'])}", entry)


def _over_items(rubric: Rubric, answers: Sequence[JudgeAnswer]) -> Iterator[Unpacked]:
    """One rating of each unit for all items: missing where a part of them is."""
    by_unit: dict[str, list[JudgeAnswer]] = {}
    for given in answers:
        by_unit.setdefault(given.unit, []).append(given)
    for unit, parts in by_unit.items():
        error = next((given.error for given in parts if given.answer is None), None)
        if error is not None:
            yield unit, rubric.name, None, None, None, error
            continue
        entries = [entry for given in parts if given.answer for entry in given.answer["answers"]]
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
    found = answer[main.name]
    if rubric.kind == "set":
        labels = ", ".join(sorted(found)) or "none"
        yield unit, rubric.name, float(len(found)), None, f"{labels}: {reason}", None
    elif rubric.kind in ("pairs", "list"):
        yield unit, rubric.name, float(len(found)), None, _json(answer), None
    elif found is None:
        error = NOT_APPLICABLE if rubric.kind != "index" else f"the judge found no {main.name}"
        yield unit, rubric.name, None, None, reason, error
    else:
        value, label = _rated(main, found)
        yield unit, rubric.name, value, label, reason, None


#: Parts of an answer that are a rating each.
_RATED = ("number", "boolean", "level", "label", "probabilities", "index")


def _rated(part: RubricPart, found: Any) -> tuple[float | None, str | None]:
    if found is None:
        return None, None
    if part.type == "label":
        return None, str(found)
    if part.type == "probabilities":
        # The first of equals in the rubric's order, so that the same reply gives the same label.
        return None, max((label.label for label in part.labels), key=lambda label: float(found[label]))
    return float(found), None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
