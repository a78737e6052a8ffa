"""Annotation without a server: files that raters fill in, and their answers.

One file a rater: Label Studio's JSON (tasks to import into a Label Studio of the rater's own, and its JSON export
back), or a table as CSV or XLSX with the same columns. Either is read as :class:`~bedside.annotation.answers.RaterAnswer`.

Columns of a table: ``rater``, ``no`` and ``item``, then

- rate, audit: a column for each field of :mod:`~bedside.annotation.fields`, a row an item; of a set, the labels with
  semicolons between them; in audit before them ``judge__<rubric>`` and ``judge_reason__<rubric>``; where single turns
  are rated, ``turn`` is the number of the turn (from 0);
- findings: the parts of an entry, such as ``category`` and ``text``, some rows an item; one row with
  :data:`~bedside.annotation.fields.NOTHING` as its label says that there is nothing;
- codes: ``turn`` (from 0), ``speaker``, ``text`` and a column for each code, a row a turn.

``notes`` is the last one to fill in. In CSV the conversation follows, in XLSX it has a sheet of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, rater_of
from bedside.annotation.answers import CollectedAnswers, RaterAnswer
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_answers import FilledTable
from bedside.annotation.offline_tables import (
    csv_table,
)
from bedside.annotation.offline_workbooks import write_workbook
from bedside.ratings.run import Run
from bedside.support.errors import InputError
from bedside.support.files import contents, making, write_text

Form = Literal["label-studio", "csv", "xlsx"]
FORMS: Mapping[Form, str] = {"label-studio": ".json", "csv": ".csv", "xlsx": ".xlsx"}
#: Largest export, in bytes.
_MOST_BYTES = 2**28
_EXPORT = "export the project as JSON"


def export_files(plan: AnnotationPlan, run: Run, form: Form, folder: Path) -> list[Path]:
    """Write a file for each rater of a plan.

    Raises:
        InputError: a form that isn't known, or a file that is there already: it may have been filled in.
        RunError: the run keeps no text, or the folder can't be written.
    """
    if form not in FORMS:
        raise InputError(f"{form!r} is not known", where="--format", todo=f"one of {', '.join(FORMS)}")
    for rater in plan.raters:
        path = folder / f"{rater}{FORMS[form]}"
        if path.exists():
            raise InputError(
                "is there already, and may have been filled in",
                where=str(path),
                todo="remove it, or choose another folder with --out",
            )
    if folder.is_dir() and any(folder.iterdir()):
        return _write_files(plan, run, form, folder)
    with making(folder) as new:  # all of them, or none: the same command goes on where it was stopped
        made = _write_files(plan, run, form, new)
    return [folder / path.name for path in made]


def _write_files(plan: AnnotationPlan, run: Run, form: Form, folder: Path) -> list[Path]:
    paths = [folder / f"{rater}{FORMS[form]}" for rater in plan.raters]
    for rater, path in zip(plan.raters, paths, strict=True):
        tasks = [task["data"] for task in label_studio_tasks(plan, run, rater)]
        if form == "label-studio":
            write_text(
                path, orjson.dumps([{"data": data} for data in tasks], option=orjson.OPT_INDENT_2).decode()
            )
        elif form == "csv":
            # The mark at its beginning tells a spreadsheet that it is UTF-8.
            write_text(path, "\ufeff" + csv_table(plan, rater, tasks))
        else:
            write_workbook(path, plan, rater, tasks)
    if form == "label-studio":
        # What a rater's Label Studio asks for as the project's labelling interface.
        write_text(folder / "page.xml", labelling_page(plan))
        paths.append(folder / "page.xml")
    return paths


# -- what a table holds -------------------------------------------------------------------------------


# -- CSV ----------------------------------------------------------------------------------------------


# -- XLSX ---------------------------------------------------------------------------------------------


# -- reading ------------------------------------------------------------------------------------------


def read_files(
    plan: AnnotationPlan,
    run: Run,
    paths: Iterable[str | os.PathLike[str]],
    *,
    rater: str | None = None,
    users: Mapping[int | str, str] | None = None,
) -> CollectedAnswers:
    """The answers in files that raters filled in.

    Args:
        plan: the plan that the files were made of.
        run: its run.
        paths: tables (CSV, TSV, XLSX) and Label Studio exports (JSON).
        rater: who answered, where an export is of one person.
        users: who answered, by Label Studio's user id, where it is of several.

    Raises:
        InputError: a file that can't be read, a cell that doesn't fit, an item of another plan, or an item answered
            twice in different ways; file, sheet and row are named, or the task.
    """
    answers: list[RaterAnswer] = []
    strangers: dict[str, int] = {}
    foreign = 0
    for each in paths:
        path = Path(each)
        if not os.path.isfile(path):
            raise InputError("there is no such file", where=str(path))
        if path.suffix.lower() == ".json":
            found = _read_json(plan, path, rater, users or {})
            answers += found.answers
            foreign += found.foreign
            for user, count in found.strangers.items():
                strangers[user] = strangers.get(user, 0) + count
        else:
            answers += FilledTable(plan, run, path).answers()
    return CollectedAnswers(tuple(_once(answers)), strangers, foreign)


def _once(answers: Iterable[RaterAnswer]) -> Iterator[RaterAnswer]:
    """The answers, each of a table once: the same in two files is one, two different ones are a mistake."""
    seen: dict[tuple[str, str], RaterAnswer] = {}
    for answer in answers:
        key = (answer.item, answer.rater)
        other = seen.setdefault(key, answer) if not answer.updated and answer.state != "draft" else answer
        if other is answer:
            yield answer
        elif replace(other, where="") != replace(answer, where=""):
            raise InputError(
                f"{answer.rater} answers item {answer.item} in two ways",
                where=f"{other.where} and {answer.where}",
                todo="leave one of them",
            )


def _read_json(
    plan: AnnotationPlan, path: Path, rater: str | None, users: Mapping[int | str, str]
) -> CollectedAnswers:
    try:
        tasks = orjson.loads(contents(path, _MOST_BYTES).removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", where=str(path), todo="check it") from error
    except ValueError as error:
        raise InputError(f"not JSON ({error})", where=str(path), todo=_EXPORT) from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise InputError("no list of tasks", where=str(path), todo=_EXPORT)
    named = {user: rater_of(plan, name, "--users") for user, name in users.items()}
    if not named:
        try:
            answered = {_answered_by(given) for task in tasks for given in task.get("annotations") or ()}
        except TypeError as error:
            raise InputError(
                "not the form of a Label Studio export", where=str(path), todo=_EXPORT
            ) from error
        who = sorted(answered, key=str)
        if not who:
            return CollectedAnswers(())
        if rater is None or len(who) > 1:
            several = ", ".join(f"{user}=NAME" for user in who)
            raise InputError(
                f"it doesn't say which of the plan's raters answered ({len(who)} users of Label Studio)",
                where=str(path),
                todo=f"say who is who: --users {several}" + (", or --rater NAME" if len(who) < 2 else ""),
            )
        named = dict.fromkeys(who, rater_of(plan, rater, "--rater"))
    found = read_export(plan, tasks, named, where=str(path))
    if found.foreign == len(tasks) and tasks:
        raise InputError(
            "none of its tasks is of this plan", where=str(path), todo="name the plan that the tasks were made of"
        )  # fmt: skip
    return found


def _answered_by(given: Any) -> Any:
    user = given.get("completed_by") if isinstance(given, dict) else None
    return user["id"] if isinstance(user, dict) and "id" in user else user
