"""Annotation without a server: files that raters fill in, and their answers.

One file a rater: Label Studio's JSON (tasks to import into a Label Studio of the rater's own, and its JSON export
back), or a table as CSV or XLSX with the columns of :mod:`~bedside.annotation.offline_tables`. Other annotation tools
get a folder a rater (:mod:`~bedside.annotation.tool_files`). All are read as
:class:`~bedside.annotation.answers.RaterAnswer`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, rater_of
from bedside.annotation.answers import CollectedAnswers, RaterAnswer
from bedside.annotation.items import label_studio_tasks, shown_by_item
from bedside.annotation.label_studio_export import EXPORT_AGAIN, annotator, read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_answers import FilledTable
from bedside.annotation.offline_tables import csv_table
from bedside.annotation.offline_workbooks import write_workbook
from bedside.annotation.tool_files import ToolExport, tool_content, write_tool_folders
from bedside.annotation.tool_form import TOOL_FORMS
from bedside.core.errors import InputError
from bedside.core.files import contents, making, write_text
from bedside.ratings.run import Run

FORMS: Mapping[str, str] = {"label-studio": ".json", "csv": ".csv", "xlsx": ".xlsx"}
#: Largest export, in bytes.
_MOST_BYTES = 2**28


def export_forms() -> tuple[str, ...]:
    """The forms that a plan is exported in: files to fill in, then other annotation tools."""
    return (*FORMS, *TOOL_FORMS.names())


def export_files(plan: AnnotationPlan, run: Run, form: str, folder: Path) -> list[Path]:
    """Write a file for each rater of a plan, or a folder for each where another annotation tool takes several files.

    Args:
        plan: the plan.
        run: its run.
        form: of the files: one of :data:`FORMS`, or the name of an annotation tool.
        folder: where they are written; made if it isn't there.

    Returns:
        Where they are.

    Raises:
        InputError: a form that isn't known or can't hold the plan, or a file that is there already: it may have been
            filled in.
        RunError: the run keeps no text, or the folder can't be written.
    """
    if form not in export_forms():
        raise InputError(
            f"there is no form {form!r}", where="`form`", todo=f"choose one of {', '.join(export_forms())}"
        )
    for rater in plan.raters:
        path = folder / f"{rater}{FORMS.get(form, '')}"
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


def _write_files(plan: AnnotationPlan, run: Run, form: str, folder: Path) -> list[Path]:
    if form not in FORMS:
        return write_tool_folders(plan, run, form, folder)
    paths = [folder / f"{rater}{FORMS[form]}" for rater in plan.raters]
    for rater, path in zip(plan.raters, paths, strict=True):
        tasks_to_import = label_studio_tasks(plan, run, rater)
        tasks = [task["data"] for task in tasks_to_import]
        if form == "label-studio":
            write_text(path, orjson.dumps(tasks_to_import, option=orjson.OPT_INDENT_2).decode())
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
        paths: tables (CSV, TSV, XLSX), and exports of Label Studio (JSON) and of other annotation tools.
        rater: who answered, where an export is of one person, or whatever a table says of it.
        users: who answered, by the user's id in the tool, where it is of several.

    Raises:
        InputError: a file that can't be read, a cell that doesn't fit, an item of another plan, or an item answered
            twice in different ways; file, sheet and row are named, or the task.
    """
    answers: list[RaterAnswer] = []
    strangers: Counter[str] = Counter()
    set_aside: list[str] = []
    unplanned_tasks = altered_tasks = 0
    tools = ToolExport(plan, run, rater, {str(user): name for user, name in (users or {}).items()})
    for path in map(Path, paths):
        if not os.path.isfile(path):
            raise InputError("there is no such file", where=str(path))
        tool_export = tool_content(path)
        if tool_export is None and path.suffix.lower() != ".json":
            answers += FilledTable(plan, run, path, rater).answers()
            continue
        export = (
            _read_json(plan, run, path, rater, users or {})
            if tool_export is None
            else tools.collected(*tool_export)
        )
        answers += export.answers
        unplanned_tasks += export.unplanned_tasks
        strangers.update(export.strangers)
        altered_tasks += export.altered_tasks
        set_aside += export.set_aside
    return CollectedAnswers(
        tuple(_once(answers)), strangers, unplanned_tasks, altered_tasks, tuple(set_aside)
    )


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
    plan: AnnotationPlan, run: Run, path: Path, rater: str | None, users: Mapping[int | str, str]
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
    shown = shown_by_item(plan, run) if run.keeps_text else None
    answers = read_export(plan, tasks, raters, where=str(path), shown=shown)
    if answers.unplanned_tasks + answers.altered_tasks == len(tasks) and tasks:
        raise InputError(
            "none of the file's tasks is of this plan"
            + (", or shows what the plan's items do" if answers.altered_tasks else ""),
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
