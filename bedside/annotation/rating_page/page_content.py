"""What a browser is given to show: the questions of a plan, its items, and how training answers compare with the known.

Everything is text and numbers; the page builds its elements of them, so that no text can become part of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, TrainingItem
from bedside.annotation.answer_ratings import listed_entries
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import (
    MARKED_MODES,
    NONE,
    NOTHING,
    REASONED_MODES,
    choices,
    code_field,
    entry_fields,
    entry_part,
    evidence_field,
    reason_field,
)
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.page_words import PageWords, words_of
from bedside.judges.rubrics.preference_rubric import level_lines
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.run import Run

#: Keys for choices beside the figures. Left out are those that move between questions or look like figures.
_LETTERS = "xzvbmasdfghqwertup"


def page_items(plan: AnnotationPlan, run: Run) -> dict[str, bytes]:
    """Item → what is shown of it, as JSON: the very content of a Label Studio task.

    Raises:
        RunError, DataError, InputError: as :func:`~bedside.annotation.items.label_studio_tasks`.
    """
    tasks = label_studio_tasks(plan, run)
    return {task["data"]["external_id"]: orjson.dumps(task["data"]) for task in tasks}


def page_questions(plan: AnnotationPlan) -> list[dict[str, Any]]:
    """What is asked, in order: words, choices with their descriptors and keys, and the names of the fields."""
    return [_question(plan, number) for number in range(len(plan.questions))]


def _question(plan: AnnotationPlan, number: int) -> dict[str, Any]:
    rubric = plan.questions[number]
    shown = rubric.shown()
    question: dict[str, Any] = {
        "name": rubric.name,
        "title": shown.title,
        "definition": shown.definition,
        "several": rubric.kind == "set" and plan.mode != "findings",
        "role": rubric.role if plan.mode == "codes" else None,
        "reason": reason_field(rubric.name) if plan.mode in REASONED_MODES else None,
        "evidence": evidence_field(rubric.name) if plan.mode in MARKED_MODES else None,
    }
    if plan.mode == "findings":
        label_part, text_part = entry_part(rubric)
        fields = zip(label_part.labels, entry_fields(rubric), strict=True)
        question["about_entries"] = text_part.descriptor
        question["entries"] = [
            {"field": field, "title": label.called, "descriptor": label.descriptor} for label, field in fields
        ]
    else:
        described = choices(rubric)
        words = words_of(plan)
        values = words.values(plan, rubric)
        question["choices"] = [
            {
                "value": value,
                "shown": values.get(value, value),
                "descriptor": words.say("value_none_means") if value == NONE else descriptor,
                "key": key,
            }
            for (value, descriptor), key in zip(
                described, choice_keys([v for v, _ in described]), strict=True
            )
        ]
    if plan.mode == "pairs":
        question["levels"] = level_lines(plan.rubrics[number].rubric)
    return question


def choice_keys(values: Sequence[str]) -> list[str]:
    """The key that chooses each value: the figure itself where a choice is one, else its place, then letters."""
    figures = {value for value in values if len(value) == 1 and value.isascii() and value.isdecimal()}
    if len(figures) < 2:
        figures = set()
    free = iter(_LETTERS if figures else f"1234567890{_LETTERS}")
    return [value if value in figures else next(free, "") for value in values]


def training_feedback(
    plan: AnnotationPlan, answer: RaterAnswer, task: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """How an answer to a training item compares with the known one, a line for each question or turn.

    Each has ``title``, ``right`` (None where lists are compared by reading them), ``known`` and ``own``, as texts.
    """
    item = plan.by_id[answer.item]
    assert isinstance(item, TrainingItem)
    words = words_of(plan)
    lines: list[dict[str, Any]] = []
    for rubric in plan.questions:
        known = item.answers.get(rubric.name)
        if known is None:
            continue
        title, values = rubric.shown().title, words.values(plan, rubric)
        if plan.mode == "findings":
            label, text = entry_part(rubric)
            own_entries, known_entries = (
                [
                    f"{values.get(entry[label.name], entry[label.name])}: {entry[text.name]}"
                    for entry in entries
                ]
                for entries in (listed_entries(rubric, answer), known)
            )
            right = None if own_entries and known_entries else own_entries == known_entries
            lines.append(_line(words, values, title, right, known_entries, own_entries))
        elif plan.mode == "codes":
            lines += _coded_lines(words, values, rubric, title, known, answer, task)
        else:
            expected = sorted(known) if isinstance(known, list) else [known]
            lines.append(_compared(words, values, title, expected, answer.choices.get(rubric.name, ())))
    return lines


def _coded_lines(
    words: PageWords,
    values: Mapping[str, str],
    rubric: Rubric,
    title: str,
    known: Mapping[str, str],
    answer: RaterAnswer,
    task: Mapping[str, Any],
) -> list[dict[str, Any]]:
    lines = []
    for position, turn in enumerate(task[f"{rubric.role}_turns"]):
        if turn["turn"] in known:
            own = answer.choices.get(code_field(rubric.name, position), ())
            said = words.say("known_turn", turn=turn["turn"], title=title)
            lines.append(_compared(words, values, said, [known[turn["turn"]]], own))
    return lines


def _compared(
    words: PageWords, values: Mapping[str, str], title: str, known: Sequence[str], own: Sequence[str]
) -> dict[str, Any]:
    right = sorted(set(own) - {NONE}) == sorted(known)
    return _line(words, values, title, right, known or [NONE], own)


def _line(
    words: PageWords,
    values: Mapping[str, str],
    title: str,
    right: bool | None,
    known: Sequence[str],
    own: Sequence[str],
) -> dict[str, Any]:
    return {
        "title": title,
        "right": right,
        "known": "; ".join(values.get(one, one) for one in known) or values[NOTHING],
        "own": "; ".join(values.get(one, one) for one in own) or words.say("no_answer"),
    }
