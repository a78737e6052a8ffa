"""Files instead of a server, of tables and of other tools: every form gives the same ratings, and faults are named."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import orjson
import pytest

from bedside.annotation import offline_tables
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import CollectedAnswers
from bedside.annotation.fields import LISTED, NONE, NOTHING
from bedside.annotation.items import judge_scores
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_choices import MODES
from bedside.annotation.tool_form import TOOL_FORMS
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import InputError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from tests.annotation.builders import (
    CLIENT_TALK,
    FEAR,
    FINDINGS,
    QUESTION,
    copy_of,
    fill_csv,
    fill_xlsx,
    from_server,
    human,
)  # fmt: skip
from tests.annotation.study import EMPATHY, GOAL, SYSTEMS, USERS, Say, exported, levels, rating_plan, reasoned_levels
from tests.annotation.tool_stand_ins import STAND_INS, argilla, lines, potato, put_lines

TABLES: dict[str, Any] = {"csv": fill_csv, "xlsx": fill_xlsx}
TOOLS = tuple(STAND_INS)
#: Fields that a form can't hold, by how their names begin.
LACKING = {
    "argilla": ("evidence",), "potato": ("evidence",), "doccano": ("evidence", "reason"),
    "prodigy": ("evidence", "reason", "notes"),
}  # fmt: skip
#: Code → the turns of its role.
TURNS = {"question": (0, 2), "client_talk": (1, 3)}


def fours(task: str, question: str) -> Sequence[str]:
    return ["4"] if question == "empathy" else ()


def collected(run: Run, plan: AnnotationPlan, *paths: Path, **options: Any) -> CollectedAnswers:
    return read_files(plan, run, paths, **options)


# -- the same ratings -------------------------------------------------------------------------------


def cell_filler(plan: AnnotationPlan, say: Say) -> Callable[[dict[str, str]], None]:
    """Types what raters say into the rows of a table."""
    rows: dict[tuple[str, str], int] = {}

    def fill(row: dict[str, str]) -> None:
        key = (row["item"], row["rater"])
        place = rows[key] = rows.get(key, -1) + 1
        given = say(*key) or {}
        if plan.mode == "findings":
            entries = given.get(f"{FINDINGS.name}__1", ("text",))[1:]
            if given[FINDINGS.name] == NOTHING:
                row["category"] = NOTHING if place == 0 else ""
            elif place < len(entries):
                row["category"], row["text"] = FEAR.capitalize(), entries[place]
        elif plan.mode == "codes":
            for code, turns in TURNS.items():
                position = turns.index(int(row["turn"])) if int(row["turn"]) in turns else -1
                row[code] = given.get(f"{code}__{position}", "")
            row["notes"] = given["notes"][1] if row["turn"] == "1" else ""
        else:
            assert plan.mode != "audit" or row["judge_reason__empathy"] == "Because."
            assert "agree__empathy" not in row
            row.update({name: cell_of(value) for name, value in given.items() if name in row})

    return fill


def cell_of(given: Any) -> str:
    if isinstance(given, tuple):
        return str(given[1])
    if isinstance(given, list):
        return f"turn {'; '.join(map(str, given))}" if isinstance(given[0], int) else "; ".join(given)
    return str(given)


def entries_of(given: Any) -> Sequence[str]:
    if isinstance(given, tuple):
        return ["\n".join(given[1:])]
    return given if isinstance(given, list) else [given]


def from_form(run: Run, tmp_path: Path, plan: AnnotationPlan, form: Any, say: Any) -> list[str]:
    """The ratings that come of what raters say in a form."""
    copy = copy_of(run, tmp_path / f"run-{form}")
    paths = []
    for path in export_files(plan, copy, form, tmp_path / form):
        if form in TABLES:
            TABLES[form](path, cell_filler(plan, say))
            paths.append(path)
            continue

        def answers(task: str, question: str, rater: str = path.name) -> Sequence[str] | None:
            item, _, turn = task.partition("-judged-")[0].partition("-turn-")
            is_code = plan.mode == "codes" and question in TURNS
            name = f"{question}__{TURNS[question].index(int(turn))}" if is_code else question
            given = say(item, rater)
            if question == "notes" and turn not in ("", "0"):
                return ()
            return entries_of(given[name]) if name in given else ()

        paths.append(STAND_INS[form](path, answers))
    keep_answers(copy, plan, collected(copy, plan, *paths).answers)
    return human(copy)


def number_of(item: str) -> int:
    return int(item[-6:], 16)


def sets(item: str, rater: str) -> dict[str, Any]:
    several, lone = ([label.label for label in RUBRICS.load(name).labels] for name in SETS)
    chosen = several[:2] if rater == "anna" else [NONE]
    return {SETS[0]: chosen, SETS[1]: lone[number_of(item) % len(lone)]}


def openness(item: str, rater: str) -> dict[str, Any]:
    labels = [label.label for label in RUBRICS.load("open_question").labels]
    return {"open_question": labels[(number_of(item) + len(rater)) % len(labels)]}


def preferences(item: str, rater: str) -> dict[str, Any]:
    words, number = ("first", "second", "tie"), number_of(item)
    why = {"reason__empathy": ("text", f"note by {rater}")}
    return {"empathy": words[number % 3], "goal_alignment": words[(number + len(rater)) % 3], **why}


def findings(item: str, rater: str) -> dict[str, Any]:
    if rater == "ben":
        return {FINDINGS.name: NOTHING}
    return {FINDINGS.name: LISTED, f"{FINDINGS.name}__1": ("text", f"afraid, {item}", "-sad")}


def codes(item: str, rater: str) -> dict[str, Any]:
    return {"question__0": "open", "question__1": "none", "client_talk__0": "sustain", "notes": ("text", "hm")}


SETS = ("values_detected", "dominant_trait")
#: Options of the plan, what is said, how many ratings come of it, and the forms that can hold it.
CASES: dict[str, tuple[dict[str, Any], Say, int, Sequence[str]]] = {
    "levels": ({"by": ("system",), "per": 3}, reasoned_levels, 24, (*TABLES, *TOOLS)),
    "sets": ({"rubrics": tuple(map(RUBRICS.load, SETS)), "per": 3}, sets, 12, (*TABLES, *TOOLS)),
    "turns": (
        {"rubrics": (RUBRICS.load("open_question"),), "per": 6, "overlap": 2, "repeat": 0.5}, openness, 18,
        (*TABLES, *TOOLS),
    ),
    "audit": ({"mode": "audit", "rubrics": (EMPATHY,), "per": 3}, levels, 12, (*TABLES, *TOOLS)),
    "pairs": ({"mode": "pairs", "per": 4}, preferences, 16, (*TABLES, *TOOLS)),
    "findings": (
        {"mode": "findings", "rubrics": (FINDINGS,), "per": 3, "overlap": 3}, findings, 45,
        (*TABLES, "argilla", "potato"),
    ),
    "both codes": (
        {"mode": "codes", "rubrics": (QUESTION, CLIENT_TALK), "per": 3}, codes, 24, (*TABLES, "prodigy"),
    ),
    "one code": ({"mode": "codes", "rubrics": (QUESTION,), "per": 3}, codes, 12, ("argilla", "doccano", "potato")),
}  # fmt: skip
SLOW = ("sets", "turns", "pairs", "both codes", "one code")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=[pytest.mark.slow] if name in SLOW and form in TOOLS else [])
        for name, (*_, forms) in CASES.items()
        for form in forms
    ],
)
def test_the_same_ratings_come_out_of_every_form(run: Run, tmp_path: Path, name: str, form: str) -> None:
    options, said, count, _ = CASES[name]
    if name == "turns":
        first = str(min(run.index["id"]))
        options = {**options, "training": (TrainingCase(first, {"open_question": "open"}, unit="turn:0"),)}
    plan = rating_plan(run, **options)
    judged = judge_scores(plan, run) if name == "audit" else {}

    def say(item: str, rater: str) -> dict[str, Any]:
        given = dict(said(item, rater) or {})
        if name == "audit":
            judge = judged[plan.by_id[item].transcript, "transcript", "empathy"][0]
            given = {
                "empathy": given["empathy"],
                "agree__empathy": "agree" if given["empathy"] == judge else "disagree",
            }
        if name == "one code":
            given = {field: value for field, value in given.items() if not field.startswith("client_talk")}
        return {field: value for field, value in given.items() if not field.startswith(LACKING.get(form, ("-",)))}

    expected = from_server(run, tmp_path, plan, say)
    assert len(expected) == count
    assert name != "audit" or all(any(word in row for row in expected) for word in ("'agree'", "'disagree'"))
    assert from_form(run, tmp_path, plan, form, say) == expected
    if name == "findings" and form in TOOLS:
        # Who lists something needs not say that it is listed.
        left_out = {FINDINGS.name} if form == "potato" else set()
        unsaid = from_form(run, tmp_path / "again", plan, form, lambda item, rater: {
            field: given for field, given in say(item, rater).items() if field not in left_out
        })  # fmt: skip
        assert (unsaid == expected) == (form == "argilla")


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
            annotations = done[task["data"]["external_id"]]["annotations"]
            given = [
                {**annotation, "completed_by": 1, "updated_by": 1}
                for annotation in annotations
                if annotation["completed_by"] == USERS[rater]
            ]
            task.update(id=number, annotations=given, drafts=[])
        path.write_bytes(orjson.dumps(tasks))
        keep_answers(run, plan, collected(run, plan, path, rater=rater).answers)
    assert human(run) == expected
    with pytest.raises(InputError, match=r"anna\.json: .*\(1\) .* `users=1=NAME`, or `rater=NAME`"):
        collected(run, plan, anna)
    other = rating_plan(run, per=3, raters=("anna", "ben"), seed=99)
    with pytest.raises(InputError, match="none of the file's tasks"):
        collected(run, other, anna, rater="anna")


def test_label_studio_files_mark_the_turns_to_be_coded(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, mode="codes", rubrics=(QUESTION,), per=1, raters=("anna",), overlap=1)
    path, _ = export_files(plan, run, "label-studio", tmp_path / "files")
    (task,) = orjson.loads(path.read_bytes())
    assert [mark["value"]["start"] for mark in task["predictions"][0]["result"]] == ["0", "2"]


@pytest.mark.parametrize("form", [*TABLES, *TOOLS])
def test_a_file_that_is_there_is_not_overwritten(form: Any, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=2)
    export_files(plan, run, form, tmp_path / "out")
    with pytest.raises(InputError, match=r"anna.*there already"):
        export_files(plan, run, form, tmp_path / "out")


# -- tables -----------------------------------------------------------------------------------------


def annas(run: Run, tmp_path: Path, form: Any = "csv", **options: Any) -> tuple[AnnotationPlan, Path]:
    """A plan that anna rates alone, and her file."""
    plan = rating_plan(run, **{"per": 2, "raters": ("anna",), "overlap": 1, **options})
    return plan, export_files(plan, run, form, tmp_path / "files")[0]


def test_a_workbook_has_what_a_rater_needs_and_the_same_content_again(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, per=2, overlap=3)
    path, again = (export_files(plan, run, "xlsx", tmp_path / name)[0] for name in ("files", "again"))
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
    with zipfile.ZipFile(path) as first, zipfile.ZipFile(again) as second:
        assert first.namelist() == second.namelist()
        names = [name for name in first.namelist() if name != "docProps/core.xml"]
        assert all(first.read(name) == second.read(name) for name in names)


def test_a_csv_cell_is_no_formula_and_excels_own_csv_is_read(run: Run, tmp_path: Path) -> None:
    plan, path = annas(run, tmp_path, rubrics=(EMPATHY,))
    fill_csv(path, lambda row: row.update(empathy="4,0", notes="'=1+1"), delimiter=";")
    answers = collected(run, plan, path).answers
    assert [answer.choices["empathy"] for answer in answers] == [("4",), ("4",)]
    assert answers[0].notes == "=1+1"


def test_a_long_turn_goes_on_in_the_next_cell(run: Run) -> None:
    long = {"dialogue": [{"speaker": "Patient", "text": "word " * 20_000}]}
    pieces = offline_tables._pieces(rating_plan(run, rubrics=(EMPATHY,)), long)
    assert "".join(pieces) == "[0] Patient: " + "word " * 20_000
    assert max(map(len, pieces)) <= 32_767


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"empathy": "9"}, r"anna\.xlsx: sheet Answers, row 2, column empathy: '9' .* 1, 2, 3, 4, 5"),
        ({"empathy": "good"}, r"row 2, column empathy: 'good'"),
        ({"item": "beef"}, r"sheet Answers, row 2: there is no item 'beef'"),
        ({"rater": "zoe"}, r"sheet Answers, row 2: 'zoe' is not a rater.*: anna"),
        ({"item": "", "rater": "", "empathy": "3"}, r"sheet Answers, row 2: the row has no item"),
        ({"empathy": "4", "evidence__empathy": "2.5"}, "'2.5' is not the number of a turn"),
        ({"empathy": "4", "evidence__empathy": "1; 4"}, "names turn 4, and turns 0 to 3"),
        ({"reason__empathy": "because"}, "no answer"),
    ],
)
def test_bad_cells_are_named(run: Run, tmp_path: Path, change: dict[str, str], message: str) -> None:
    plan, path = annas(run, tmp_path, "xlsx")
    changes = iter([change])
    fill_xlsx(path, lambda row: row.update(next(changes, {})))
    with pytest.raises(InputError, match=message):
        keep_answers(run, plan, collected(run, plan, path).answers)


def test_an_item_answered_twice_is_named_with_both_rows(run: Run, tmp_path: Path) -> None:
    plan, path = annas(run, tmp_path)
    fill_csv(path, lambda row: row.update(empathy="3"))
    other = Path(shutil.copy(path, tmp_path / "again.csv"))
    assert len(collected(run, plan, path, other).answers) == 2
    fill_csv(other, lambda row: row.update(empathy="4"))
    with pytest.raises(InputError, match=r"anna\.csv: row that ends in line \d+ and .*again\.csv.*in two ways"):
        collected(run, plan, path, other)
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([*rows, rows[1]])
    with pytest.raises(InputError, match="item 1 is answered twice"):
        collected(run, plan, path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{"), ("a.json", b"[1]"), ("a.csv", b"x,y\n1,2\n"), ("a.xlsx", b"PK nothing"), ("a.csv", b""),
        ("none.csv", None),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused_in_one_line(
    run: Run, tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        collected(run, rating_plan(run), tmp_path / name, rater="anna")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda sheet: sheet.merge_cells("E2:E3"), "E2:E3 can't be read: they are merged"),
        (lambda sheet: sheet.__setitem__("E3", "=E2"), "E3 can't be read: it holds a formula"),
    ],
    ids=["merged", "formula"],
)
def test_cells_without_a_value_of_their_own_are_named(
    run: Run, tmp_path: Path, spoil: Callable[[Any], None], message: str
) -> None:
    plan, path = annas(run, tmp_path, "xlsx")
    fill_xlsx(path, lambda row: row.update(empathy="4"))
    assert len(collected(run, plan, path).answers) == 2
    book = openpyxl.load_workbook(path)
    spoil(book["Answers"])
    book.save(path)
    with pytest.raises(InputError, match=re.escape(message)):
        collected(run, plan, path)


def test_a_row_that_changed_hands_is_asked_about(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=4, overlap=2)
    anna, _ = export_files(plan, run, "csv", tmp_path / "files")
    fill_csv(anna, lambda row: row.update(rater="ben", empathy="4"))
    with pytest.raises(InputError, match=r"made for anna, and its rater is ben"):
        collected(run, plan, anna)
    assert {answer.rater for answer in collected(run, plan, anna, rater="ben").answers} == {"ben"}


def test_what_the_judge_said_in_a_table_is_left_as_it_was(run: Run, tmp_path: Path) -> None:
    plan, path = annas(run, tmp_path, mode="audit", rubrics=(EMPATHY,), per=1)
    fill_csv(path, lambda row: row.update(judge__empathy="high", empathy="4"))
    with pytest.raises(InputError, match="'high'"):
        collected(run, plan, path)


# -- other tools ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_mode_is_held_or_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    rubrics: Mapping[str, Any] = {"findings": (FINDINGS,), "codes": (QUESTION, CLIENT_TALK)}
    refused = {}
    for mode in MODES:
        plan = rating_plan(run, mode=mode, rubrics=rubrics.get(mode, (EMPATHY,)), per=2)
        for tool in TOOLS:
            folder = tmp_path / mode / tool
            try:
                assert all(path.is_dir() for path in export_files(plan, run, tool, folder))
            except InputError as error:
                refused[mode, tool] = error.what
                assert not folder.exists()
    assert refused.keys() == {
        ("findings", "doccano"), ("findings", "prodigy"),
        ("codes", "argilla"), ("codes", "doccano"), ("codes", "potato"),
    }  # fmt: skip
    asks = "asks the same of every turn, and the plan has codes of"
    assert all(what.endswith(f"a plan of mode {mode}") or asks in what for (mode, _), what in refused.items())


@pytest.mark.parametrize("tool", TOOLS)
def test_files_tell_raters_neither_system_nor_judge_nor_each_other(tool: Any, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, by=("system",), per=3, raters=("xaver", "yolanda", "zofia"))
    for folder in export_files(plan, run, tool, tmp_path / tool):
        text = "".join(path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file())
        names = (*SYSTEMS, "secretfile", "hushcase", "invented/model", *({*plan.raters} - {folder.name}))
        assert not [name for name in names if name in text]
        # What is asked stands there in full: every level with its descriptor. YAML breaks long lines, and doubles the
        # quotes in what is quoted once.
        unfolded = " ".join(text.replace("''", "'").split())
        for rubric in (EMPATHY, GOAL):
            assert all(json.dumps(level.descriptor)[1:-1] in unfolded for level in rubric.scale)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_same_export_again_changes_nothing_and_a_correction_is_one(tool: Any, run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"))
    folders = export_files(plan, run, tool, tmp_path / tool)
    item = plan.items[0].id
    first = [STAND_INS[tool](folder, fours) for folder in folders]
    kept = keep_answers(run, plan, collected(run, plan, *first).answers)
    assert (kept.new, kept.ratings, kept.missing) == (8, 8, 0)
    assert keep_answers(run, plan, collected(run, plan, *first).answers).unchanged == 8

    def corrected(task: str, question: str) -> Sequence[str]:
        return ["2"] if task == item and question == "empathy" else fours(task, question)

    second = [STAND_INS[tool](folder, corrected) for folder in folders]
    kept = keep_answers(run, plan, collected(run, plan, *second).answers)
    assert (kept.new, kept.revised) == (0, 2)


def test_what_was_skipped_is_missing_and_a_draft_is_counted(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"), overlap=1)
    folders = export_files(plan, run, "prodigy", tmp_path / "prodigy")
    exports = [STAND_INS["prodigy"](folder, lambda task, name: None) for folder in folders]
    kept = keep_answers(run, plan, collected(run, plan, *exports).answers)
    assert (kept.new, kept.skipped, kept.missing) == (4, 4, 4)
    rejected = [{**record, "answer": "reject"} for record in lines(exports[0])]
    found = collected(run, plan, put_lines(exports[0], rejected))
    assert found.answers == ()
    assert ["a rejected task" in line for line in found.set_aside] == [True, True]
    plan, folder = annas(run, tmp_path, "argilla", rubrics=(EMPATHY,), per=4, seed=8)
    path = argilla(folder, fours, flat=True)
    records = json.loads(path.read_text("utf-8"))
    for record, state in zip(records, ("draft", "discarded", "submitted", "submitted"), strict=True):
        record["empathy.responses.status"] = [state]
    path.write_text(json.dumps(records), "utf-8")
    kept = keep_answers(run, plan, collected(run, plan, path).answers)
    assert (kept.new, kept.submitted, kept.skipped, kept.drafts) == (3, 2, 1, 1)


def test_potato_of_both_versions_is_read(run: Run, tmp_path: Path) -> None:
    plan, folder = annas(run, tmp_path, "potato", rubrics=(EMPATHY,), per=4)
    first, second = (
        [(answer.item, answer.choices) for answer in collected(run, plan, potato(folder, fours, version)).answers]
        for version in (1, 2)
    )  # fmt: skip
    assert [choices for _, choices in first] == [{"empathy": ("4",)}] * 4
    assert first == second


def test_what_fits_no_task_is_told(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"))
    anna, ben = export_files(plan, run, "doccano", tmp_path / "doccano")
    path = STAND_INS["doccano"](anna, fours)
    records = lines(path)
    records[0]["label"] = ["empathy = 4", "empathy = 5"]
    records[1]["text"] = "Something else."
    records[2]["task"] = "i00000000000"
    records[3]["label"] = []
    found = collected(run, plan, put_lines(path, records))
    assert (found.answers, found.altered_tasks, found.unplanned_tasks) == ((), 1, 1)
    (line,) = found.set_aside
    assert "anna: empathy has 2 choices (4, 5)" in line
    records[0]["label"] = ["warm"]
    (line,) = collected(run, plan, put_lines(path, records)).set_aside
    assert "anna: the label 'warm'" in line
    records[0]["label"] = ["warmth = 4"]
    with pytest.raises(InputError, match="'warmth'"):
        collected(run, plan, put_lines(path, records))
    other = rating_plan(run, rubrics=(EMPATHY,), per=3, seed=99)
    with pytest.raises(InputError, match="none of the file's tasks"):
        collected(run, other, STAND_INS["doccano"](ben, fours))


def test_who_answered_whose_tasks_is_asked_not_guessed(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), per=4, raters=("anna", "ben"))
    anna, ben = (argilla(folder, fours) for folder in export_files(plan, run, "argilla", tmp_path / "argilla"))
    records = json.loads(anna.read_text("utf-8"))
    user = records[0]["responses"]["empathy"][0]["user_id"]
    records[1]["responses"]["empathy"].append({"value": "2", "user_id": "owner"})
    anna.write_text(json.dumps(records), "utf-8")
    with pytest.raises(InputError, match=f"{user} and owner answered the tasks of anna"):
        collected(run, plan, anna, ben)
    found = collected(run, plan, anna, users={user: "anna"})
    assert (len(found.answers), dict(found.strangers)) == (4, {"owner": 1})
    assert {answer.rater for answer in collected(run, plan, ben, rater="anna").answers} == {"anna"}
    both = [*records, *json.loads(ben.read_text("utf-8"))]
    for record in both:
        record["responses"]["empathy"] = [{"value": "2", "user_id": "owner"}]
    anna.write_text(json.dumps(both), "utf-8")
    with pytest.raises(InputError, match="owner answered the tasks of anna and of ben"):
        collected(run, plan, anna)


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "name"), [(tool, "tasks.jsonl") for tool in ("prodigy", "potato", "doccano")]
                         + [("argilla", "records.json")])  # fmt: skip
def test_what_a_tool_was_given_is_no_answer(run: Run, tmp_path: Path, tool: Any, name: str) -> None:
    plan = rating_plan(run, per=2)
    path = export_files(plan, run, tool, tmp_path / tool)[0] / name
    if tool in ("argilla", "doccano"):
        assert collected(run, plan, path).answers == ()
    else:
        with pytest.raises(InputError, match="has no answers in a form of Argilla, Prodigy, doccano, potato"):
            collected(run, plan, path)


def test_every_tool_says_what_to_do_next() -> None:
    for name, tool in TOOL_FORMS.all().items():
        assert tool.name == name
        assert tool.next_step.endswith(".")
        assert {*tool.modes} <= {*MODES}
