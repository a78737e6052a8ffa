"""Annotation without a server: files that raters fill in, and their answers.

One file a rater: Label Studio's JSON (tasks to import into a Label Studio of the rater's own, and its JSON export
back), or a table as CSV or XLSX with the columns of :mod:`~bedside.annotation.offline_tables`. Either is read as
:class:`~bedside.annotation.answers.RaterAnswer`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, rater_of
from bedside.annotation.answers import CollectedAnswers, RaterAnswer
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.label_studio_export import EXPORT_AGAIN, annotator, read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_answers import FilledTable
from bedside.annotation.offline_tables import csv_table
from bedside.annotation.offline_workbooks import write_workbook
from bedside.ratings.run import Run
from bedside.support.errors import InputError
from bedside.support.files import contents, making, write_text

FileForm = Literal["label-studio", "csv", "xlsx"]
FORMS: Mapping[FileForm, str] = {"label-studio": ".json", "csv": ".csv", "xlsx": ".xlsx"}
#: Largest export, in bytes.
_MOST_BYTES = 2**28


def export_files(plan: AnnotationPlan, run: Run, form: FileForm, folder: Path) -> list[Path]:
    """Write a file for each rater of a plan.

    Args:
        plan: the plan.
        run: its run.
        form: of the files.
        folder: where they are written; made if it isn't there.

    Returns:
        Where they are.

    Raises:
        InputError: a form that isn't known, or a file that is there already: it may have been filled in.
        RunError: the run keeps no text, or the folder can't be written.
    """
    if form not in FORMS:
        raise InputError(
            f"there is no form {form!r}", where="`form`", todo=f"choose one of {', '.join(FORMS)}"
        )
    for rater in plan.raters:
        path = folder / f"{rater}{FORMS[form]}"
        if path.exists():
            raise InputError(
                "the file is there already, and may have been filled in",
                where=str(path),
                todo="remove it, or choose another `folder`",
            )
    if folder.is_dir() and any(folder.iterdir()):
        return _write_files(plan, run, form, folder)
    with making(folder) as new:  # all of them, or none: the same command goes on where it was stopped
        new_paths = _write_files(plan, run, form, new)
    return [folder / path.name for path in new_paths]


def _write_files(plan: AnnotationPlan, run: Run, form: FileForm, folder: Path) -> list[Path]:
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
    strangers: Counter[str] = Counter()
    unplanned_tasks = 0
    for path in map(Path, paths):
        if not os.path.isfile(path):
            raise InputError("there is no such file", where=str(path))
        if path.suffix.lower() == ".json":
            export = _read_json(plan, path, rater, users or {})
            answers += export.answers
            unplanned_tasks += export.unplanned_tasks
            strangers.update(export.strangers)
        else:
            answers += FilledTable(plan, run, path).answers()
    return CollectedAnswers(tuple(_once(answers)), strangers, unplanned_tasks)


def _once(answers: Iterable[RaterAnswer]) -> Iterator[RaterAnswer]:
    """The answers, each of a table once: the same in two files is one, two different ones are a mistake."""
    first_answers: dict[tuple[str, str], RaterAnswer] = {}
    for answer in answers:
        key = (answer.item, answer.rater)
        is_of_table = not answer.updated and answer.state != "draft"
        first = first_answers.setdefault(key, answer) if is_of_table else answer
        if first is answer:
            yield answer
        elif replace(first, where="") != replace(answer, where=""):
            raise InputError(
                f"{answer.rater} answers item {answer.item} in two ways",
                where=f"{first.where} and {answer.where}",
                todo="leave one of them",
            )


def _read_json(
    plan: AnnotationPlan, path: Path, rater: str | None, users: Mapping[int | str, str]
) -> CollectedAnswers:
    try:
        tasks = orjson.loads(contents(path, _MOST_BYTES).removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise InputError(
            f"the file can't be read ({error.strerror})", where=str(path), todo="check it"
        ) from error
    except ValueError as error:
        raise InputError(f"the file is not JSON ({error})", where=str(path), todo=EXPORT_AGAIN) from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise InputError("the file is not a list of tasks", where=str(path), todo=EXPORT_AGAIN)
    raters = {user: rater_of(plan, name, "`users`") for user, name in users.items()}
    if not raters:
        annotators = _annotators(tasks, path)
        if not annotators:
            return CollectedAnswers(())
        if rater is None or len(annotators) > 1:
            pairs = ",".join(f"{user}=NAME" for user in annotators)
            raise InputError(
                f"the file names users of Label Studio ({', '.join(map(str, annotators))}) and not the plan's raters",
                where=str(path),
                todo=f"say who is who: `users={pairs}`"
                + (", or `rater=NAME`" if len(annotators) < 2 else ""),
            )
        raters = dict.fromkeys(annotators, rater_of(plan, rater, "`rater`"))
    answers = read_export(plan, tasks, raters, where=str(path))
    if answers.unplanned_tasks == len(tasks) and tasks:
        raise InputError(
            "none of the file's tasks is of this plan",
            where=str(path),
            todo="name the plan that the tasks were made of",
        )
    return answers


def _annotators(tasks: Sequence[Mapping[str, Any]], path: Path) -> list[Any]:
    """The ids of the users who answered."""
    try:
        users = {annotator(annotation) for task in tasks for annotation in task.get("annotations") or ()}
    except TypeError as error:
        raise InputError(
            "this is not the form of a Label Studio export", where=str(path), todo=EXPORT_AGAIN
        ) from error
    return sorted(users, key=str)
