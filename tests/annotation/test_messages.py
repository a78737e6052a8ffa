"""What people who sample, rate, send and settle are told, word for word, where something can't be done."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from bedside.annotation.adjudication import adjudicate
from bedside.annotation.answer_store import STORE, keep_answers, plan_folder
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import check_current, read_plan, write_plan
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.core.errors import BedsideError
from bedside.ratings.run import Run
from tests.annotation.builders import fill_csv, fill_xlsx, gold_cases, keep, rater_answer
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import EMPATHY, GOAL, exported, levels, rating_plan


def table(run: Run, folder: Path, form: Any = "csv", reader: str | None = None, **cells: str) -> Any:
    """What comes of it that anna fills all rows of her file alike."""
    plan = rating_plan(run, per=4, raters=("anna", "ben"), overlap=2)
    path, *_ = export_files(plan, run, form, folder / "files")
    if cells:
        (fill_xlsx if form == "xlsx" else fill_csv)(path, lambda row: row.update(cells))
    return keep_answers(run, plan, read_files(plan, run, [path], rater=reader).answers)


def changed_rubric(run: Run, folder: Path) -> Any:
    plan = rating_plan(run)
    check_current(plan, (EMPATHY, GOAL), "plan.json")
    check_current(plan, (replace(EMPATHY, construct="Else"), GOAL), "plan.json")


def formula(run: Run, folder: Path) -> Any:
    plan = rating_plan(run, per=2, raters=("anna",), overlap=1)
    path, *_ = export_files(plan, run, "xlsx", folder / "files")
    book = openpyxl.load_workbook(path)
    book["Answers"]["E3"] = "=E2"
    book.save(path)
    return read_files(plan, run, [path])


def studio_file(run: Run, folder: Path, **reader: Any) -> Any:
    import json

    plan = rating_plan(run, per=3, raters=("anna",), overlap=1)
    path, *_ = export_files(plan, run, "label-studio", folder / "files")
    path.write_text(json.dumps(exported(plan, levels, {"anna": 1})))
    return read_files(plan, run, [path], **reader)


def changed_plan(run: Run, folder: Path, old: str, new: str) -> Any:
    path = folder / "plan.json"
    write_plan(rating_plan(run), path)
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    return read_plan(path)


def settled(run: Run, folder: Path, *adjudicators: str, beyond: int = 0) -> Any:
    plan = rating_plan(run, raters=("anna", "ben"), per=1)
    said = {"anna": {"empathy": "1", "goal_alignment": "1"}, "ben": {"empathy": "5", "goal_alignment": "1"}}
    keep_answers(run, plan, [rater_answer(plan.items[0].id, rater, choices) for rater, choices in said.items()])
    return adjudicate(Run(run.path), plan, adjudicators, beyond=beyond)


def damaged_store(run: Run, folder: Path) -> Any:
    plan = rating_plan(run)
    keep(run, plan, levels)
    path = plan_folder(run, plan) / STORE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b'{"received": 1}\n', *lines[5:]]))
    return keep(Run(run.path), plan, levels)


def damaged_shares(run: Run, folder: Path) -> Any:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    reassign(run, plan, "ben")
    path = plan_folder(run, plan) / "reassigned.json"
    path.write_text(path.read_text("utf-8").replace(plan.items[0].id, "elsewhere"), "utf-8")
    return as_assigned(run, plan)


def two_windows(run: Run, folder: Path) -> Any:
    plan = rating_plan(run, raters=("anna",), overlap=1)
    state, _ = opened(plan, run)
    for level in "23":
        state.save("anna", plan.items[0].id, sent("draft", {"empathy": level}))


def second_server(run: Run, folder: Path) -> Any:
    _, page = opened(rating_plan(run), run)
    page.remember_address("http://127.0.0.1:8086")
    with page.serving(), page.serving():
        pass


#: What is done, by the name of its message.
CASES: dict[str, Callable[[Run, Path], Any]] = {
    "a cell that is no choice": lambda run, folder: table(run, folder, "xlsx", empathy="9"),
    "a row without an item": lambda run, folder: table(run, folder, item="", rater="", empathy="3"),
    "a row that changed hands": lambda run, folder: table(run, folder, rater="ben", empathy="4"),
    "a reason without an answer": lambda run, folder: table(run, folder, reason__empathy="because"),
    "a turn that is none": lambda run, folder: table(run, folder, empathy="4", evidence__empathy="2.5"),
    "somebody who rates nothing": lambda run, folder: table(run, folder, reader="zoe"),
    "a formula": formula,
    "a file that is there": lambda run, folder: [table(run, folder) for _ in range(2)],
    "a form that is none": lambda run, folder: table(run, folder, "docx"),
    "users of Label Studio": studio_file,
    "a plan that was changed": lambda run, folder: changed_plan(run, folder, '"seed": 7', '"seed": 8'),
    "a rubric reworded in a plan": lambda run, folder: changed_plan(run, folder, "Warmth", "Coldness"),
    "a rubric changed since": changed_rubric,
    "a name that Windows has": lambda run, folder: rating_plan(run, raters=("anna", "Con")),
    "too few raters": lambda run, folder: rating_plan(run, overlap=4),
    "gold that is trained by": lambda run, folder: rating_plan(
        run, gold=gold_cases(folder), training=gold_cases(folder)[:1]
    ),
    "somebody's own disagreement": lambda run, folder: settled(run, folder, "Anna"),
    "nothing that differs": lambda run, folder: settled(run, folder, "dora", beyond=4),
    "nobody who takes over": lambda run, folder: reassign(run, rating_plan(run, raters=("anna", "ben")), "ben"),
    "shares that are damaged": damaged_shares,
    "answers that are damaged": damaged_store,
    "two windows": two_windows,
    "a second server": second_server,
    "an address that is none": lambda run, folder: LabelStudioClient("127.0.0.1:8080", "0" * 40),
}
GOLDEN = {
    "a cell that is no choice": (
        "FOLDER/files/anna.xlsx: sheet Answers, row 2, column empathy: '9' is not a choice; choose one of 1, 2, 3, 4, 5"
    ),
    "a row without an item": (
        "FOLDER/files/anna.csv: row that ends in line 25: the row has no item; copy item and rater from the rows above"
    ),
    "a row that changed hands": (
        "FOLDER/files/anna.csv: row that ends in line 25: the row was made for anna, and its rater is "
        "ben; put the name back where anna answered; where ben did, say `rater=ben`"
    ),
    "a reason without an answer": (
        "FOLDER/files/anna.csv: row that ends in line 25: the row says why and has no answer "
        "(reason__empathy); fill in the answer, or empty the cell"
    ),
    "a turn that is none": (
        "FOLDER/files/anna.csv: row that ends in line 25, column evidence__empathy: '2.5' is not the "
        "number of a turn; give the numbers beside the turns, with semicolons between them"
    ),
    "somebody who rates nothing": "`rater`: 'zoe' is not a rater of the plan; its raters: anna, ben",
    "a formula": (
        "FOLDER/files/anna.xlsx: sheet Answers: the value of E3 can't be read: it holds a formula that "
        "was never worked out; write the value into each cell, and save the file again"
    ),
    "a file that is there": (
        "FOLDER/files/anna.csv: the file is there already, and may have been filled in; remove it, or "
        "choose another folder with `out`"
    ),
    "a form that is none": ("`form`: there is no form 'docx'; did you mean doccano?"),
    "users of Label Studio": (
        "FOLDER/files/anna.json: the file names users of Label Studio (1) and not the plan's raters; say "
        "who is who: `users=1=NAME`, or `rater=NAME`"
    ),
    "a plan that was changed": (
        "FOLDER/plan.json: the plan was changed after it was made; use the original, or make another with "
        "bedside sample"
    ),
    "a rubric reworded in a plan": (
        "FOLDER/plan.json: rubrics.0: the wording of empathy is not that of version HASH; make a plan "
        "with bedside sample"
    ),
    "a rubric changed since": (
        "plan.json: the rubric empathy was changed since the plan was made (HASH, now HASH); make another "
        "plan with bedside sample, or restore the rubric"
    ),
    "a name that Windows has": (
        "`raters`: 'Con' can't be a rater's name: Windows has no file of that name; add a letter"
    ),
    "too few raters": (
        "`overlap`: an overlap of 4 needs as many raters, and there are 3; name more `raters`, or choose "
        "an overlap from 1 to their number"
    ),
    "gold that is trained by": (
        "`gold`: transcript 'known-0' is in the training set and among the gold items; leave it out of one of them"
    ),
    "somebody's own disagreement": (
        "`adjudicators`: Anna rated transcript 'secretfile-GPT-Secret-4'; name somebody who didn't"
    ),
    "nothing that differs": (
        "FOLDER/run: nothing is left to settle (empathy, raters differ on 1 of 1 unit: 1 no further apart "
        "than asked; goal_alignment, raters differ on 0 of 1 unit); pull the raters' answers first, or "
        "see bedside annotate status for what is open"
    ),
    "nobody who takes over": "`to`: all others have what ben hasn't answered; name somebody new",
    "shares that are damaged": (
        "FOLDER/run/annotations/HASH/reassigned.json: the file of who rates what now isn't as bedside wrote it "
        "(its seal doesn't fit); restore it from a copy"
    ),
    "answers that are damaged": (
        "FOLDER/run/annotations/HASH/answers.jsonl:5: the store of answers is damaged; restore it from a copy"
    ),
    "two windows": "This item was changed in another window or on another device.",
    "a second server": (
        "FOLDER/run-rating-page/HASH: another server has this plan's rating page, at "
        "http://127.0.0.1:8086; use that one, or stop it with Ctrl-C; bedside annotate page PLAN --links "
        "prints its links"
    ),
    "an address that is none": "`url`: '127.0.0.1:8080' is not an address; write http://… or https://…",
}


@pytest.mark.parametrize("name", CASES)
def test_a_message_is_this(name: str, run: Run, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as error:
        CASES[name](run, tmp_path)
    text = str(error.value).replace(str(tmp_path), "FOLDER")
    assert re.sub(r"\b[0-9a-f]{12,}\b|\bi[0-9a-f]{11}\b", "HASH", text) == GOLDEN[name]
