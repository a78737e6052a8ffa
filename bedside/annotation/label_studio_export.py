"""Exports."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answers import CollectedAnswers, RaterAnswer
from bedside.support.errors import InputError


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
    foreign = 0
    for task in tasks:
        place = where
        try:
            place = f"{where}: task {task['id']}"
            item = task["data"].get("external_id")
            if item not in plan.by_id:
                foreign += 1
                continue
            for given in task.get("annotations") or ():
                user = _user(given["completed_by"])
                if user not in raters:
                    strangers[str(user)] += 1
                    continue
                answers.append(_annotation(given, item, raters, user, place))
            for given in task.get("drafts") or ():
                user = _user(given.get("user"))
                if user in raters:
                    answers.append(RaterAnswer(item, raters[user], "draft", where=place))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(
                f"not the form of a Label Studio export ({type(error).__name__}: {error})",
                where=place,
                todo="export the project as JSON",
            ) from error
    return CollectedAnswers(tuple(answers), dict(sorted(strangers.items())), foreign)


def _user(given: Any) -> int | str:
    return given["id"] if isinstance(given, Mapping) else given  # type: ignore[no-any-return]


def _annotation(
    given: Mapping[str, Any], item: str, raters: Mapping[int | str, str], user: int | str, where: str
) -> RaterAnswer:
    chosen: dict[str, tuple[str, ...]] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for result in given["result"]:
        kind, value = result["type"], result["value"]
        if kind == "choices":
            into, found = chosen, value["choices"]
        elif kind == "textarea":
            into, found = texts, value["text"]
        else:
            raise ValueError(f"a result of type {kind!r}")
        several = (found,) if isinstance(found, str) else tuple(map(str, found))
        name = result["from_name"]
        if not isinstance(name, str):
            raise TypeError("from_name is no text")
        name = _writable(name)
        into[name] = (*into.get(name, ()), *map(_writable, several))
    by = given.get("updated_by")
    last = user if by is None else _user(by)
    seconds = None if given.get("lead_time") is None else float(given["lead_time"])
    return RaterAnswer(
        item,
        raters[user],
        "skipped" if given.get("was_cancelled") else "submitted",
        chosen,
        texts,
        _writable(str(given.get("unique_id") or given.get("id") or "")),
        _writable(str(given.get("created_at") or "")),
        _writable(str(given.get("updated_at") or "")),
        seconds if seconds is None or math.isfinite(seconds) else None,
        None if last == user else raters.get(last, _writable(f"user {last}")),
        where,
    )


def _writable(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
