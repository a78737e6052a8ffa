"""The answers in an export of Label Studio.

An export is a list of tasks::

    {"id": 17, "data": {"external_id": …}, "annotations": [{"unique_id": …, "completed_by": 3, "updated_by": 3,
     "was_cancelled": false, "created_at": …, "updated_at": …, "lead_time": 61.2, "result":
     [{"from_name": …, "type": "choices", "value": {"choices": ["4"]}}, …]}], "drafts": […]}

Fields (``from_name``) are those of :mod:`~bedside.annotation.fields`; the value of a text area is ``{"text": ["…"]}``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answers import CollectedAnswers, RaterAnswer
from bedside.support.errors import InputError

#: What to do about a file that is no export.
EXPORT_AGAIN = "export the project as JSON"


def read_export(
    plan: AnnotationPlan, tasks: Iterable[Mapping[str, Any]], raters: Mapping[int | str, str], *, where: str
) -> CollectedAnswers:
    """The answers in a Label Studio export.

    Args:
        plan: the plan that the tasks were made of.
        tasks: of the export, see above.
        raters: Label Studio's user id, and e-mail address (drafts go by that), → the plan's rater.
        where: the server or file, for messages.

    Raises:
        InputError: not the form of an export; the message names the task.
    """
    answers: list[RaterAnswer] = []
    strangers: Counter[str] = Counter()
    unplanned_tasks = 0
    for task in tasks:
        place = where
        try:
            place = f"{where}: task {task['id']}"
            item = task["data"].get("external_id")
            if item not in plan.by_id:
                unplanned_tasks += 1
                continue
            for annotation in task.get("annotations") or ():
                user = _user(annotation["completed_by"])
                if user not in raters:
                    strangers[str(user)] += 1
                    continue
                answers.append(_answer(annotation, item, raters, user, place))
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
    return CollectedAnswers(tuple(answers), dict(sorted(strangers.items())), unplanned_tasks)


def annotator(annotation: Any) -> Any:
    """The id of the user who made an annotation, in whatever form the export has it; None where it names nobody."""
    user = annotation.get("completed_by") if isinstance(annotation, dict) else None
    return user["id"] if isinstance(user, dict) and "id" in user else user


def _user(entry: Any) -> int | str:
    """A user's id: an export names users by it, or gives them with all that it knows of them."""
    return entry["id"] if isinstance(entry, Mapping) else entry  # type: ignore[no-any-return]


def _answer(
    annotation: Mapping[str, Any], item: str, raters: Mapping[int | str, str], user: int | str, where: str
) -> RaterAnswer:
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for result in annotation["result"]:
        kind, value = result["type"], result["value"]
        if kind == "choices":
            fields, values = choices, value["choices"]
        elif kind == "textarea":
            fields, values = texts, value["text"]
        else:
            raise ValueError(f"a result of type {kind!r}")
        entries = (values,) if isinstance(values, str) else tuple(map(str, values))
        name = result["from_name"]
        if not isinstance(name, str):
            raise TypeError("from_name is not a text")
        name = _writable(name)
        fields[name] = (*fields.get(name, ()), *map(_writable, entries))
    updated_by = annotation.get("updated_by")
    last_user = user if updated_by is None else _user(updated_by)
    seconds = None if annotation.get("lead_time") is None else float(annotation["lead_time"])
    return RaterAnswer(
        item=item,
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


def _writable(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
