"""The answers in an export of Label Studio.

An export is a list of tasks::

    {"id": 17, "data": {"external_id": …}, "annotations": [{"unique_id": …, "completed_by": 3, "updated_by": 3,
     "was_cancelled": false, "created_at": …, "updated_at": …, "lead_time": 61.2, "result":
     [{"from_name": …, "type": "choices", "value": {"choices": ["4"]}}, …]}], "drafts": […]}

Fields (``from_name``) are those of :mod:`~bedside.annotation.fields`; the value of a text area is ``{"text": ["…"]}``.
A turn that is marked is a region, ``{"type": "paragraphlabels", "value": {"start": "3", "end": "3", "text": …}}`` with
the numbers of its first turn and its last; what is chosen of a marked turn carries the same numbers. In an audit, the
rater agrees with the judge whose choice is the one that the task showed as the judge's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answers import CollectedAnswers, RaterAnswer, in_order, mark_of
from bedside.annotation.fields import agree_field, code_field, entry_labels_field, one_answer
from bedside.annotation.items import CODED_TURNS, MAX_TURNS, lasting_content
from bedside.core.errors import InputError
from bedside.ratings.rubric_metrics import AGREE, DISAGREE

#: What to do about a file that is no export.
EXPORT_AGAIN = "export the project as JSON"
_CORRECT = "have it corrected on the server and pull again"


def read_export(
    plan: AnnotationPlan,
    tasks: Iterable[Mapping[str, Any]],
    raters: Mapping[int | str, str],
    *,
    where: str,
    shown: Mapping[str, Mapping[str, Any]] | None = None,
    answer_check: AnswerCheck | None = None,
) -> CollectedAnswers:
    """The answers in a Label Studio export.

    Args:
        plan: the plan that the tasks were made of.
        tasks: of the export, see above.
        raters: Label Studio's user id, and e-mail address (drafts go by that), → the plan's rater.
        where: the server or file, for messages.
        shown: item → what its task shows (:func:`~bedside.annotation.items.shown_by_item`); a task that shows
            something else is left out. None where that isn't known.
        answer_check: an answer that can't be one is set aside by it; without it, all are taken.

    Raises:
        InputError: not the form of an export; the message names the task.
    """
    answers: list[RaterAnswer] = []
    strangers: Counter[str] = Counter()
    set_aside: list[str] = []
    unplanned_tasks = altered_tasks = 0
    for task in tasks:
        place = where
        try:
            place = f"{where}: task {task['id']}"
            item = task["data"].get("external_id")
            if item not in plan.by_id:
                unplanned_tasks += 1
                continue
            if shown is not None and lasting_content(task["data"]) != shown[item]:
                altered_tasks += 1
                continue
            for annotation in task.get("annotations") or ():
                user = _user(annotation["completed_by"])
                if user not in raters:
                    strangers[str(user)] += 1
                    continue
                answer = _answer(annotation, plan, task["data"], raters, place)
                if answer_check is not None and answer.state == "submitted":
                    try:
                        answer_check.check(answer)
                    except InputError as error:
                        set_aside.append(f"{place}: {answer.rater}: {error.what}; {error.todo}, else {_CORRECT}")
                        continue
                answers.append(answer)
            for draft in task.get("drafts") or ():
                user = _user(draft.get("user"))
                if user in raters:
                    answers.append(RaterAnswer(item, raters[user], "draft", where=place))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(
                f"this is not the form of a Label Studio export ({type(error).__name__}: {error})",
                where=place,
                todo=EXPORT_AGAIN,
            ) from error
    return CollectedAnswers(
        tuple(answers), dict(sorted(strangers.items())), unplanned_tasks, altered_tasks, tuple(set_aside)
    )


def annotator(annotation: Any) -> Any:
    """The id of the user who made an annotation, in whatever form the export has it; None where it names nobody."""
    user = annotation.get("completed_by") if isinstance(annotation, dict) else None
    return user["id"] if isinstance(user, dict) and "id" in user else user


def _user(entry: Any) -> int | str:
    """A user's id: an export names users by it, or gives them with all that it knows of them."""
    return entry["id"] if isinstance(entry, Mapping) else entry  # type: ignore[no-any-return]


def _answer(
    annotation: Mapping[str, Any],
    plan: AnnotationPlan,
    data: Mapping[str, Any],
    raters: Mapping[int | str, str],
    where: str,
) -> RaterAnswer:
    choices, texts = _fields(annotation["result"], plan, data)
    user = _user(annotation["completed_by"])
    updated_by = annotation.get("updated_by")
    last_user = user if updated_by is None else _user(updated_by)
    seconds = None if annotation.get("lead_time") is None else float(annotation["lead_time"])
    return RaterAnswer(
        item=data["external_id"],
        rater=raters[user],
        state="skipped" if annotation.get("was_cancelled") else "submitted",
        choices=choices,
        texts=texts,
        id=_writable(str(annotation.get("unique_id") or annotation.get("id") or "")),
        created=_writable(str(annotation.get("created_at") or "")),
        updated=_writable(str(annotation.get("updated_at") or "")),
        seconds=seconds if seconds is None or math.isfinite(seconds) else None,
        changed_by=None if last_user == user else raters.get(last_user, _writable(f"user {last_user}")),
        where=where,
    )


def _fields(
    results: Iterable[Mapping[str, Any]], plan: AnnotationPlan, data: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The choices and texts of an answer, by field."""
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, tuple[str, ...]] = {}
    marks: dict[str, list[str]] = {}
    opening = {entry_labels_field(rubric.name) for rubric in plan.questions}
    for result in results:
        kind, value, name = result["type"], result["value"], result["from_name"]
        if not isinstance(name, str):
            raise TypeError("from_name is not a text")
        if name == CODED_TURNS or name in opening:
            continue
        if kind == "choices":
            fields, values = choices, value["choices"]
            name = _field_of_turn(name, value, plan, data) if "start" in value else name
        elif kind == "textarea":
            fields, values = texts, value["text"]
        elif kind == "paragraphlabels":
            marks.setdefault(_writable(name), []).extend(map(_writable, _marks(value, data)))
            continue
        else:
            raise ValueError(f"a result of type {kind!r}")
        entries = (values,) if isinstance(values, str) else tuple(map(str, values))
        name = _writable(name)
        fields[name] = (*fields.get(name, ()), *map(_writable, entries))
    texts |= {name: in_order(marks_of_field) for name, marks_of_field in marks.items()}
    for rubric in plan.questions:
        shown = data.get(f"judge_{rubric.name}")
        if plan.mode == "audit" and shown is not None and rubric.name in choices:
            opinion = AGREE if one_answer(choices[rubric.name]) == shown else DISAGREE
            choices.setdefault(agree_field(rubric.name), (opinion,))
    return choices, texts


def _field_of_turn(code: str, value: Mapping[str, Any], plan: AnnotationPlan, data: Mapping[str, Any]) -> str:
    """The field of a code that is chosen of a marked turn."""
    role = next((rubric.role for rubric in plan.questions if rubric.name == code), None)
    turns = [turn["turn"] for turn in data.get(f"{role}_turns", ())]
    start = str(int(value["start"]))
    # What is of no turn of the role is past its turns, and refused as that.
    return code_field(code, turns.index(start) if start in turns else len(turns))


def _marks(value: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """The turns that a region is of, or the words of one."""
    start, end = int(value["start"]), int(value["end"])
    if end < start:
        return []  # a click beside the text, which Label Studio keeps as a region of nothing
    if start < 0 or end - start >= MAX_TURNS:
        raise ValueError(f"a region from turn {start} to turn {end}")
    words = str(value.get("text") or "").strip()
    turns = data.get("dialogue") or ()
    is_whole = start >= len(turns) or words in ("", str(turns[start]["text"]).strip())
    if start == end and not is_whole:
        return [mark_of(start, words)]
    return [mark_of(turn) for turn in range(start, end + 1)]


def _writable(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
