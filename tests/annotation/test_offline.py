"""Files instead of a server: the same ratings come out, whichever form, and a bad cell is named."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import orjson
import polars as pl
import pytest

from bedside.annotation import offline_tables
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.fields import NOTHING
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.offline_files import export_files, read_files
from bedside.core.errors import InputError
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from tests.annotation.study import (
    EMPATHY,
    GOAL,
    RATERS,
    USERS,
    exported,
    levels,
    rating_plan,
    reasoned_levels,
)

Fill = Callable[[dict[str, str]], None]


def fill_csv(path: Path, fill: Fill, delimiter: str = ",") -> None:
    text = path.read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        fill(row)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def fill_xlsx(path: Path, fill: Fill) -> None:
    book = openpyxl.load_workbook(path)
    sheet = book["Answers"]
    names = [cell.value for cell in sheet[1]]
    for line in range(2, sheet.max_row + 1):
        row = {name: str(sheet.cell(line, at).value or "") for at, name in enumerate(names, 1)}
        before = dict(row)
        fill(row)
        for at, name in enumerate(names, 1):
            if row[name] != before[name]:
                # As a person would: a number is typed as a number.
                text = row[name]
                sheet.cell(line, at).value = float(text) if text.isdigit() else text
    book.save(path)


def fresh(run: Run, tmp_path: Path, name: str) -> Run:
    return Run(shutil.copytree(run.path, tmp_path / name))


def human(run: Run) -> list[tuple[Any, ...]]:
    rows = Run(run.path).ratings.filter(pl.col("rater").str.starts_with("human:"))
    return sorted(map(str, rows.iter_rows()))  # type: ignore[arg-type]


def from_files(run: Run, tmp_path: Path, plan: AnnotationPlan, form: Any, fill: Fill) -> list[Any]:
    own = fresh(run, tmp_path, f"run-{form}")
    paths = export_files(plan, own, form, tmp_path / form)
    for path in paths:
        (fill_csv if form == "csv" else fill_xlsx)(path, fill)
    keep_answers(own, plan, read_files(plan, own, paths).answers)
    return human(own)


def from_server(run: Run, tmp_path: Path, plan: AnnotationPlan, say: Any) -> list[Any]:
    own = fresh(run, tmp_path, "run-server")
    keep_answers(own, plan, read_export(plan, exported(plan, say, USERS), RATERS, where="x").answers)
    return human(own)


def test_the_same_ratings_come_out_of_every_form(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, by=("system",), per=3)

    def fill(row: dict[str, str]) -> None:
        given = reasoned_levels(row["item"], row["rater"])
        row.update(empathy=given["empathy"], goal_alignment=given["goal_alignment"], notes=given["notes"][1])
        row.update(reason__empathy=given["reason__empathy"][1], evidence__empathy="turn 1; 3")
        row["evidence__goal_alignment"] = "2"

    expected = from_server(run, tmp_path, plan, reasoned_levels)
    assert len(expected) == 24
    assert from_files(run, tmp_path, plan, "csv", fill) == expected
    assert from_files(run, tmp_path, plan, "xlsx", fill) == expected


def test_findings_come_out_of_every_form(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="findings", rubrics=(RUBRICS.load("finding_extraction"),), per=3, overlap=3)

    def say(item: str, rater: str) -> dict[str, Any]:
        if rater == "ben":
            return {"finding_extraction": "nothing to list"}
        return {"finding_extraction": "listed", "finding_extraction__1": ("text", f"afraid, {item}", "-sad")}

    written: dict[str, int] = {}

    def fill(row: dict[str, str]) -> None:
        place = written[row["rater"] + row["item"]] = written.get(row["rater"] + row["item"], 0) + 1
        if row["rater"] == "ben":
            row["category"] = NOTHING if place == 1 else ""
        elif place < 3:
            row["category"] = "Emotional discomfort or fear"
            row["text"] = f"afraid, {row['item']}" if place == 1 else "-sad"

    expected = from_server(run, tmp_path, plan, say)
    assert from_files(run, tmp_path, plan, "csv", fill) == expected
    written.clear()
    assert from_files(run, tmp_path, plan, "xlsx", fill) == expected


def test_codes_come_out_of_every_form(run: Run, tmp_path: Path) -> None:
    codes = (CODEBOOK.load("question"), CODEBOOK.load("client_talk"))
    plan = rating_plan(run, mode="codes", rubrics=codes, per=3)
    say = {"question__0": "open", "question__1": "none", "client_talk__0": "sustain", "notes": ("text", "hm")}

    def fill(row: dict[str, str]) -> None:
        if row["turn"] in ("0", "2"):
            row["question"] = "open" if row["turn"] == "0" else "none"
        if row["turn"] == "1":
            row["client_talk"], row["notes"] = "sustain", "hm"

    expected = from_server(run, tmp_path, plan, lambda item, rater: say)
    assert from_files(run, tmp_path, plan, "csv", fill) == expected
    assert from_files(run, tmp_path, plan, "xlsx", fill) == expected


def test_an_audit_comes_out_of_every_form(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), per=3)

    def fill(row: dict[str, str]) -> None:
        assert row["judge_reason__empathy"] == "Because."
        assert "agree__empathy" not in row
        row["empathy"] = row["judge__empathy"] if row["judge__empathy"] != "2" else "4"

    from bedside.annotation.items import judge_scores

    shown = judge_scores(plan, run)

    def say(item: str, rater: str) -> dict[str, Any]:
        judge = shown[plan.by_id[item].transcript, "transcript", "empathy"][0]
        opinion = {"agree__empathy": "agree"} if judge != "2" else {"agree__empathy": "disagree"}
        return {**opinion, "empathy": judge if judge != "2" else "4"}

    expected = from_server(run, tmp_path, plan, say)
    assert from_files(run, tmp_path, plan, "csv", fill) == expected
    assert from_files(run, tmp_path, plan, "xlsx", fill) == expected


def test_label_studio_files_go_both_ways(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=3, raters=("anna", "ben"))
    anna, ben, page = export_files(plan, run, "label-studio", tmp_path / "files")
    assert page.read_text("utf-8").startswith("<View>")
    expected = from_server(run, tmp_path, plan, levels)
    for path, rater in ((anna, "anna"), (ben, "ben")):
        tasks = orjson.loads(path.read_bytes())
        assert tuple(task["data"]["external_id"] for task in tasks) == plan.assignment[rater]
        done = {task["data"]["external_id"]: task for task in exported(plan, levels, USERS)}
        for number, task in enumerate(tasks):
            # In a Label Studio of her own, everybody is user 1.
            given = [
                {**each, "completed_by": 1, "updated_by": 1}
                for each in done[task["data"]["external_id"]]["annotations"]
                if each["completed_by"] == USERS[rater]
            ]
            task.update(id=number, annotations=given, drafts=[])
        path.write_bytes(orjson.dumps(tasks))
        keep_answers(run, plan, read_files(plan, run, [path], rater=rater).answers)
    assert human(run) == expected
    with pytest.raises(
        InputError,
        match=r"anna\.json: the file names users of Label Studio \(1\) .* `users=1=NAME`, or `rater=NAME`",
    ):
        read_files(plan, run, [anna])
    with pytest.raises(InputError, match="'zoe' is not a rater of the plan"):
        read_files(plan, run, [anna], rater="zoe")
    other = rating_plan(run, per=3, raters=("anna", "ben"), seed=99)
    with pytest.raises(InputError, match="none of the file's tasks is of this plan"):
        read_files(other, run, [anna], rater="anna")


def test_a_workbook_has_what_a_rater_needs(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=2, overlap=3)
    path = export_files(plan, run, "xlsx", tmp_path / "files")[0]
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["Answers", "How to rate", "Choices", "1", "2"]
    sheet = book["Answers"]
    rules = [str(rule.formula1) for rule in sheet.data_validations.dataValidation]
    assert rules == ["Choices!$A$1:$A$5", "Choices!$B$1:$B$5"]
    assert [cell.value for cell in book["Choices"]["A"]] == [1, 2, 3, 4, 5]
    assert sheet["B2"].hyperlink.location == "'1'!A1" or sheet["B2"].hyperlink.target == "#'1'!A1"
    guide = " ".join(str(cell.value) for row in book["How to rate"].iter_rows() for cell in row)
    assert EMPATHY.scale[4].descriptor in guide
    assert GOAL.shown().definition in guide
    said = [[cell.value for cell in row] for row in book["1"].iter_rows()]
    assert said[1][1] == "Goal"
    assert said[-1] == ["3", "Patient", "=SUM(1) I want to change that."]
    assert book["1"].cell(len(said), 3).data_type == "s"


def test_a_csv_cell_is_no_formula_and_excels_own_csv_is_read(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=2, raters=("anna",), overlap=1, rubrics=(EMPATHY,))
    (path,) = export_files(plan, run, "csv", tmp_path / "files")
    fill_csv(path, lambda row: row.update(empathy="4,0", notes="'=1+1"), delimiter=";")
    answers = read_files(plan, run, [path]).answers
    assert [answer.choices["empathy"] for answer in answers] == [("4",), ("4",)]
    assert answers[0].notes == "=1+1"


def test_a_long_turn_goes_on_in_the_next_cell(run: Run, tmp_path: Path) -> None:
    long = {"dialogue": [{"speaker": "Patient", "text": "word " * 20_000}]}
    pieces = offline_tables._pieces(rating_plan(run, rubrics=(EMPATHY,)), long)
    assert "".join(pieces) == "[0] Patient: " + "word " * 20_000
    assert max(map(len, pieces)) <= 32_767


def plan_and_file(run: Run, tmp_path: Path, form: Any = "xlsx") -> tuple[AnnotationPlan, Path]:
    plan = rating_plan(run, per=2, raters=("anna",), overlap=1)
    return plan, export_files(plan, run, form, tmp_path / "files")[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"empathy": "9"},
            r"anna\.xlsx: sheet Answers, row 2, column empathy: '9' is not a choice; choose one of 1, 2, 3, 4, 5",
        ),
        ({"empathy": "good"}, r"row 2, column empathy: 'good' is not a choice"),
        ({"item": "beef"}, r"sheet Answers, row 2: 'beef' is not an item of this plan"),
        ({"rater": "zoe"}, r"sheet Answers, row 2: 'zoe' is not a rater of the plan; its raters: anna"),
        ({"item": "", "rater": "", "empathy": "3"}, r"sheet Answers, row 2: the row has no item"),
    ],
)
def test_bad_cells_are_named(run: Run, tmp_path: Path, change: dict[str, str], message: str) -> None:
    plan, path = plan_and_file(run, tmp_path)
    done = []

    def fill(row: dict[str, str]) -> None:
        row.update(change if not done else {})
        done.append(row)

    fill_xlsx(path, fill)
    with pytest.raises(InputError, match=message):
        read_files(plan, run, [path])


def test_an_item_answered_twice_is_named_with_both_rows(run: Run, tmp_path: Path) -> None:
    plan, path = plan_and_file(run, tmp_path, "csv")
    fill_csv(path, lambda row: row.update(empathy="3"))
    other = shutil.copy(path, tmp_path / "again.csv")
    assert len(read_files(plan, run, [path, other]).answers) == 2
    fill_csv(other, lambda row: row.update(empathy="4"))
    with pytest.raises(
        InputError, match=r"anna\.csv: row that ends in line \d+ and .*again\.csv.*in two ways"
    ):
        read_files(plan, run, [path, other])
    text = path.read_text("utf-8-sig").splitlines(keepends=True)
    rows = list(csv.reader(io.StringIO("".join(text), newline="")))
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([*rows, rows[1]])
    with pytest.raises(InputError, match="item 1 is answered twice"):
        read_files(plan, run, [path])


def test_a_file_filled_in_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    plan, _ = plan_and_file(run, tmp_path)
    with pytest.raises(InputError, match=r"anna\.xlsx: the file is there already"):
        export_files(plan, run, "xlsx", tmp_path / "files")
    with pytest.raises(InputError, match="there is no form 'docx'"):
        export_files(plan, run, "docx", tmp_path / "files")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{"),
        ("a.json", b"[1]"),
        ("a.csv", b"x,y\n1,2\n"),
        ("a.xlsx", b"PK nothing"),
        ("a.csv", b""),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_line(
    run: Run, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=name):
        read_files(rating_plan(run), run, [path], rater="anna")
    with pytest.raises(InputError, match="there is no such file"):
        read_files(rating_plan(run), run, [tmp_path / "none.csv"])


def test_the_same_workbook_has_the_same_content(run: Run, tmp_path: Path) -> None:
    plan, path = plan_and_file(run, tmp_path)
    again = export_files(plan, run, "xlsx", tmp_path / "again")[0]
    import zipfile

    with zipfile.ZipFile(path) as first, zipfile.ZipFile(again) as second:
        assert first.namelist() == second.namelist()
        names = [name for name in first.namelist() if name != "docProps/core.xml"]
        assert all(first.read(name) == second.read(name) for name in names)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda sheet: sheet.merge_cells("E2:E3"),
            "the value of E2:E3 can't be read: they are merged into one",
        ),
        (
            lambda sheet: sheet.__setitem__("E3", "=E2"),
            "the value of E3 can't be read: it holds a formula that was never worked out",
        ),
    ],
)
def test_cells_without_a_value_of_their_own_are_named(
    run: Run, tmp_path: Path, spoil: Callable[[Any], None], message: str
) -> None:
    plan, path = plan_and_file(run, tmp_path)
    fill_xlsx(path, lambda row: row.update(empathy="4"))
    assert len(read_files(plan, run, [path]).answers) == 2
    book = openpyxl.load_workbook(path)
    spoil(book["Answers"])
    book.save(path)
    with pytest.raises(InputError, match=re.escape(message)):
        read_files(plan, run, [path])


def test_a_row_that_changed_hands_is_asked_about(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=4, overlap=2)
    anna, _ = export_files(plan, run, "csv", tmp_path / "files")
    fill_csv(anna, lambda row: row.update(rater="ben", empathy="4"))
    with pytest.raises(
        InputError, match=r"the row was made for anna, and its rater is ben; put the name back"
    ):
        read_files(plan, run, [anna])
    answers = read_files(plan, run, [anna], rater="ben").answers
    assert {answer.rater for answer in answers} == {"ben"}


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        ({"empathy": "4", "evidence__empathy": "2.5"}, "'2.5' is not the number of a turn"),
        ({"empathy": "4", "evidence__empathy": "1; 4"}, "names turn 4, and turns 0 to 3 were shown"),
        ({"reason__empathy": "because"}, "says why and has no answer"),
    ],
)
def test_a_reason_without_an_answer_and_a_turn_that_is_none_are_named(
    run: Run, tmp_path: Path, cells: dict[str, str], match: str
) -> None:
    plan = rating_plan(run, per=1, raters=("anna",), overlap=1)
    (path,) = export_files(plan, run, "csv", tmp_path / "files")
    fill_csv(path, lambda row: row.update(cells))
    with pytest.raises(InputError, match=match):
        keep_answers(run, plan, read_files(plan, run, [path]).answers)


def test_what_the_judge_said_in_a_table_is_left_as_it_was(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), per=1, raters=("anna",), overlap=1)
    (path,) = export_files(plan, run, "csv", tmp_path / "files")
    fill_csv(path, lambda row: row.update(judge__empathy="high", empathy="4"))
    with pytest.raises(InputError, match="'high' is not what the judge said"):
        read_files(plan, run, [path])


def test_label_studio_files_mark_the_turns_to_be_coded(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(
        run, mode="codes", rubrics=(CODEBOOK.load("question"),), per=1, raters=("anna",), overlap=1
    )
    path, _ = export_files(plan, run, "label-studio", tmp_path / "files")
    (task,) = orjson.loads(path.read_bytes())
    assert [mark["value"]["start"] for mark in task["predictions"][0]["result"]] == ["0", "2"]
