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

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, rater_of
from bedside.annotation.answers import CollectedAnswers, RaterAnswer, listed_turns
from bedside.annotation.fields import (
    CASE_KINDS,
    LABEL_SEPARATOR,
    LISTED,
    NOTES,
    NOTHING,
    agree_field,
    code_field,
    entry_fields,
    evidence_field,
    one_answer,
    reason_field,
)
from bedside.annotation.items import coded_positions, label_studio_tasks, shown_by_item
from bedside.annotation.label_studio_export import EXPORT_AGAIN, annotator, read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_tables import (
    ANSWER,
    ANSWER_SHEET,
    CELL_LENGTH,
    EVIDENCE,
    REASON,
    AnswerColumn,
    answer_columns,
    csv_table,
    guide_lines,
    has_question_rows,
    prefilled_columns,
    prefilled_rows,
    question_rows,
    shown_conversation,
)
from bedside.annotation.page_words import words_of
from bedside.annotation.tool_files import ToolExport, tool_content, write_tool_folders
from bedside.annotation.tool_form import TOOL_FORMS
from bedside.core.errors import InputError, one_of
from bedside.core.files import archiving, making, read_json, replacing, write_text
from bedside.ratings.rubric_metrics import AGREE, DISAGREE
from bedside.ratings.run import Run
from bedside.transcripts.byte_source import ByteSource
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.table_rows import table
from bedside.transcripts.workbook_rows import UNREADABLE, Workbook

# -- The table that a rater fills in --------------------------------------------------------------------

#: Widths of columns by their name, in characters.
_WIDTHS = {"text": 80, "asked": 80, "item": 15, "notes": 40}
_REASON_WIDTH, _USUAL_WIDTH = 40, 18
#: Rows below the last one in which lists of choices drop down too: raters add rows.
_SPARE_ROWS = 200


class _AnswerWorkbook:
    """The workbook that a rater fills in."""

    def __init__(self, plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> None:
        from openpyxl import Workbook
        from openpyxl.styles import Alignment, Font, PatternFill

        self._wrap, self._bold = Alignment(wrap_text=True, vertical="top"), Font(bold=True)
        self._fill = PatternFill("solid", fgColor="FFF6D6")
        self._plan = plan
        self._columns = answer_columns(plan)
        self._prefilled = prefilled_columns(plan)
        self.book = Workbook()
        self._sheet: Any = self.book.active
        self._sheet.title = ANSWER_SHEET
        self._headings()
        first_rows, last_row = self._rows(rater, tasks)
        self._sheet.freeze_panes = self._sheet.cell(2, len(self._prefilled) + 1)
        self._choices(last_row)
        self._guide(self.book.create_sheet("How to rate", 1))
        if plan.mode != "codes":
            for number, data in enumerate(tasks):
                self._conversation(self.book.create_sheet(str(number + 1)), data, first_rows[number])
                for row in range(first_rows[number], first_rows.get(number + 1, last_row + 1)):
                    cell = self._sheet.cell(row, 2)
                    cell.hyperlink = f"#'{number + 1}'!A1"
                    cell.style = "Hyperlink"

    def _put(self, sheet: Any, row: int, column: int, text: str) -> Any:
        cell = sheet.cell(row, column, text)
        # Otherwise what begins with = would be a formula.
        cell.data_type = "s"
        cell.alignment = self._wrap
        return cell

    def _positions(self) -> Iterator[tuple[int, AnswerColumn]]:
        """The columns to fill in, with their number (from 1)."""
        return enumerate(self._columns, len(self._prefilled) + 1)

    def _headings(self) -> None:
        from openpyxl.comments import Comment
        from openpyxl.utils import get_column_letter

        names = [*self._prefilled, *(column.name for column in self._columns)]
        for position, name in enumerate(names, 1):
            self._put(self._sheet, 1, position, name).font = self._bold
            usual_width = _REASON_WIDTH if "reason" in name else _USUAL_WIDTH
            self._sheet.column_dimensions[get_column_letter(position)].width = _WIDTHS.get(name, usual_width)
        for position, column in self._positions():
            self._sheet.cell(1, position).comment = Comment(column.about, "bedside", width=420, height=300)

    def _rows(self, rater: str, tasks: Sequence[Mapping[str, Any]]) -> tuple[dict[int, int], int]:
        """Write the rows; the first row of each task, and the last one of all."""
        last_row = 1
        first_rows: dict[int, int] = {}
        words = words_of(self._plan)
        roles = {question.name: words.say(str(question.role)) for question in self._plan.questions if question.role}
        for number, row in prefilled_rows(self._plan, rater, tasks):
            last_row += 1
            first_rows.setdefault(number, last_row)
            for position, name in enumerate(self._prefilled, 1):
                self._put(self._sheet, last_row, position, _fitting(row.get(name, "")))
            for position, column in self._positions():
                if self._plan.mode != "codes" or roles.get(column.name, row["speaker"]) == row["speaker"]:
                    self._sheet.cell(last_row, position).fill = self._fill
                    self._sheet.cell(last_row, position).alignment = self._wrap
                if column.choices is None:
                    # As a number, 3,5 would be another in each country.
                    self._sheet.cell(last_row, position).number_format = "@"
        return first_rows, last_row

    def _choices(self, last_row: int) -> None:
        """Lists to choose from, which stand in a hidden sheet."""
        from openpyxl.utils import get_column_letter
        from openpyxl.worksheet.datavalidation import DataValidation

        lists = self.book.create_sheet("Choices")
        lists.sheet_state = "hidden"
        for position, column in self._positions():
            if column.choices is None:
                continue
            at = lists.max_column + 1 if lists.cell(1, 1).value is not None else 1
            for row, choice in enumerate(column.choices, 1):
                self._put(lists, row, at, choice)
                if _is_number(choice):
                    # Typed by a rater it is a number, which is not the text of the same digits.
                    lists.cell(row, at).value = float(choice)
            if column.several:
                continue
            letter = get_column_letter(at)
            rule = DataValidation(
                type="list", formula1=f"Choices!${letter}$1:${letter}${len(column.choices)}", allow_blank=True,
                showErrorMessage=True, errorTitle="Not on the list",
                error="Choose from the list, or leave the cell empty.",
            )  # fmt: skip
            letter = get_column_letter(position)
            rule.add(f"{letter}2:{letter}{max(last_row, 2) + _SPARE_ROWS}")
            self._sheet.add_data_validation(rule)

    def _guide(self, sheet: Any) -> None:
        """What is to be done, and what each rubric says."""
        sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 28, 110
        first = "Fill in the coloured cells of the sheet Answers; save the file as XLSX."
        link = "A click on a number in the column no opens the conversation."
        lines: list[tuple[str, str]] = [("Plan", plan_hash(self._plan)), ("What to do", first)]
        if self._plan.mode != "codes":
            lines.append(("", link))
        for row, (heading, text) in enumerate([*lines, *guide_lines(self._plan)], 1):
            self._put(sheet, row, 1, heading).font = self._bold
            self._put(sheet, row, 2, text)

    def _conversation(self, sheet: Any, data: Mapping[str, Any], answer_row: int) -> None:
        """A conversation, with a link back to the row where its answer goes."""
        for letter, width in (("A", 6), ("B", 14), ("C", 110)):
            sheet.column_dimensions[letter].width = width
        back = self._put(sheet, 1, 1, "back")
        back.hyperlink = f"#'{ANSWER_SHEET}'!A{answer_row}"
        back.style = "Hyperlink"
        row = 1
        for number, speaker, text in shown_conversation(self._plan, data):
            # A text too long for one cell goes on in the next row.
            for at in range(0, max(len(text), 1), CELL_LENGTH):
                row += 1
                self._put(sheet, row, 1, number if at == 0 else "")
                self._put(sheet, row, 2, speaker if at == 0 else "").font = self._bold
                self._put(sheet, row, 3, text[at : at + CELL_LENGTH])
        sheet.freeze_panes = "A2"


def _fitting(text: str) -> str:
    """A text that fits a cell, and says so where it had to be cut."""
    return text if len(text) <= CELL_LENGTH else f"{text[:CELL_LENGTH]} … ({len(text) - CELL_LENGTH:,} characters more)"


def _is_number(choice: str) -> bool:
    return choice.replace(".", "", 1).removeprefix("-").isdigit()


# -- The answers in a table that a rater filled in ------------------------------------------------------


class FilledTable:
    """A table that a rater filled in.

    Args:
        plan: the plan that it was made of.
        run: its run.
        path: the file.
        rater: who filled it in, whatever the table says; None where the table says it.
    """

    def __init__(self, plan: AnnotationPlan, run: Run, path: Path, rater: str | None = None) -> None:
        self._plan = plan
        self._path = path
        self._rater = rater
        self._columns = answer_columns(plan)
        self._positions = coded_positions(plan, run)
        self._rubrics = {rubric.name: rubric for rubric in plan.questions}
        self._choices: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._texts: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._places: dict[tuple[str, str], str] = {}

    def answers(self) -> list[RaterAnswer]:
        """The answers; items without any are left out.

        Raises:
            InputError: a column, row or cell that doesn't fit the plan; the place is named.
        """
        if self._path.suffix.lower() == ".xlsx":
            self._check_cells()
        header, rows = table(ByteSource(self._path, options=ReadOptions(sheet=ANSWER_SHEET)))
        names = [name.strip().lstrip("\ufeff") for name in header]
        for number, (where, row) in enumerate(rows):
            if isinstance(row, InputError):
                raise row
            cells = dict(zip(names, map(str.strip, row), strict=True))
            if number == 0:
                self._check_header(cells)
            self._row(cells, self._place(where))
        return [
            RaterAnswer(*key, "submitted", chosen, self._texts.get(key, {}), where=self._places[key])
            for key, chosen in self._choices.items()
        ]

    def _check_cells(self) -> None:
        """Refuse cells to fill in whose value isn't to be had."""
        book = Workbook(ByteSource(self._path))
        for oddity in book.oddities(ANSWER_SHEET) if ANSWER_SHEET in book.sheets else ():
            if oddity.kind in UNREADABLE:
                raise InputError(
                    f"the value of {oddity.cells} can't be read: {UNREADABLE[oddity.kind]}",
                    where=f"{self._path}: sheet {ANSWER_SHEET}",
                    todo="write the value into each cell, and save the file again",
                )

    def _rater_of(self, cells: Mapping[str, str], place: str) -> str:
        """Who answered in a row: the numbers of items differ from rater to rater, so that another's row is noticed."""
        if self._rater is not None:
            return rater_of(self._plan, self._rater, "`rater`")
        rater = rater_of(self._plan, cells["rater"], place)
        number = cells.get("no", "").removesuffix(".0")
        if number.isdecimal() and len(number) <= 9:
            owners = [
                name
                for name, order in self._plan.assignment.items()
                if list(order[int(number) - 1 : int(number)]) == [cells["item"]]
            ]
            if owners and rater not in owners and rater not in self._plan.withdrawn:
                raise InputError(
                    f"the row was made for {' or '.join(owners)}, and its rater is {rater}",
                    where=place,
                    todo=f"put the name back where {owners[0]} answered; where {rater} did, say `rater={rater}`",
                )
        return rater

    def _place(self, where: str) -> str:
        row = where.rpartition(":")[2]
        if self._path.suffix.lower() == ".xlsx":
            return f"{self._path}: sheet {ANSWER_SHEET}, row {row}"
        return f"{self._path}: row that ends in line {row}"

    def _check_header(self, cells: Mapping[str, str]) -> None:
        needed = ["rater", "item", *(["turn"] if self._plan.mode == "codes" else [])]
        needed += ["question"] if has_question_rows(self._plan) else []
        for name in (*needed, *(column.name for column in self._columns)):
            if name not in cells and name != NOTES:
                raise InputError(
                    f"the table has no column {name!r}",
                    where=str(self._path),
                    todo=f"leave the columns as they were made, and {ANSWER_SHEET} as the first sheet",
                )

    def _row(self, cells: Mapping[str, str], place: str) -> None:
        if not cells["item"] and not cells["rater"]:
            if any(cells.get(column.name) for column in self._columns):
                raise InputError("the row has no item", where=place, todo="copy item and rater from the rows above")
            return
        rater = self._rater_of(cells, place)
        item = cells["item"]
        todo = "name the plan that the file was made of"
        one_of(item, self._plan.by_id, "item", InputError, where=place, todo=todo)
        key = (item, rater)
        filled = {column.name: cells.get(column.name, "") for column in self._columns}
        texts = {
            column.name: filled.pop(column.name).removeprefix("'")
            for column in self._columns
            if column.choices is None and self._plan.mode != "findings"
        }
        notes = texts.pop(NOTES, "") or filled.pop(NOTES, "").removeprefix("'")
        if has_question_rows(self._plan):
            self._question(key, cells, {**filled, **texts}, place)
        elif self._plan.mode == "findings":
            self._entry(key, filled, place)
        elif self._plan.mode == "codes":
            self._codes(key, cells, filled, place)
        elif any(filled.values()):
            if key in self._choices:
                raise InputError(
                    f"item {cells.get('no') or item} is answered twice", where=f"{self._places[key]} and {place}",
                    todo="leave one of the rows",
                )  # fmt: skip
            chosen = self._choices_of(key, place)
            for column in self._columns:
                if filled.get(column.name):
                    chosen[column.name] = self._chosen(column, filled[column.name], place)
                    if self._plan.mode == "audit":
                        chosen[agree_field(column.name)] = self._opinion(column, chosen, cells, place)
            self._said(key, texts, place)
        elif any(texts.values()):
            raise InputError(
                f"the row says why and has no answer ({', '.join(name for name, text in texts.items() if text)})",
                where=place,
                todo="fill in the answer, or empty the cell",
            )
        if notes:
            self._texts.setdefault(key, {})
            self._texts[key][NOTES] = (*self._texts[key].get(NOTES, ()), notes)

    def _question(self, key: tuple[str, str], cells: Mapping[str, str], filled: Mapping[str, str], place: str) -> None:
        """A row of one question; an empty one is a question without an answer."""
        questions = {asked.name: (asked, rubric) for asked, rubric in question_rows(self._plan, key[0])}
        field = cells["question"]
        todo = "leave the column as it was made"
        one_of(field, questions, "question", InputError, where=f"{place}, column question", todo=todo)
        asked, rubric = questions[field]
        if filled[ANSWER]:
            own = tuple(choice for choice, _ in asked.choices)
            chosen = self._chosen(AnswerColumn(ANSWER, own, rubric.kind == "set"), filled[ANSWER], place)
            if self._choices_of(key, place).setdefault(field, chosen) != chosen:
                raise InputError(f"{field} is answered twice", where=place, todo="leave one of the answers")
            if self._plan.mode == "audit" and rubric.kind not in CASE_KINDS:
                agreed = AGREE if one_answer(chosen) == cells.get("judge", "").removeprefix("'") else DISAGREE
                self._choices_of(key, place)[agree_field(field)] = (agreed,)
        elif asked.choices and (filled[REASON] or filled[EVIDENCE]):
            raise InputError("the row says why and has no answer", where=place, todo="fill it in, or empty the cells")
        if filled[EVIDENCE] and not asked.quoted:
            what = "criteria have" if rubric.kind == "points" else f"{field} has"
            raise InputError(f"{what} no evidence", where=f"{place}, column {EVIDENCE}", todo="empty the cell")
        if asked.choices:
            self._said(key, {reason_field(field): filled[REASON], evidence_field(field): filled[EVIDENCE]}, place)
        elif lines := tuple(line.strip() for line in filled[REASON].splitlines() if line.strip()):
            self._texts.setdefault(key, {})[field] = lines

    def _said(self, key: tuple[str, str], texts: Mapping[str, str], place: str) -> None:
        """Keep what is said of each rubric, and the turns that are named for it."""
        said = self._texts.setdefault(key, {})
        for name, text in texts.items():
            if not text:
                continue
            if not name.startswith(evidence_field("")):
                said[name] = (text,)
                continue
            try:
                # A cell that holds one number gives it with its decimals.
                said[name] = listed_turns(text.removesuffix(".0"))
            except ValueError as error:
                raise InputError(
                    str(error),
                    where=f"{place}, column {name}",
                    todo="give the numbers beside the turns, with semicolons between them",
                ) from error

    def _opinion(
        self, column: AnswerColumn, chosen: Mapping[str, tuple[str, ...]], cells: Mapping[str, str], place: str
    ) -> tuple[str]:
        """Whether the rater agrees with what the row says of the judge."""
        name = f"judge__{column.name}"
        assert column.choices is not None
        cell = cells.get(name, "").removeprefix("'")
        parts = cell.split(LABEL_SEPARATOR) if column.several else [cell]
        shown = [_choice(part.strip(), column.choices) for part in parts]
        if None in shown:
            raise InputError(
                f"{cells.get(name, '')!r} is not what the judge said",
                where=f"{place}, column {name}",
                todo="leave the column as it was made",
            )
        return (AGREE if {*chosen[column.name]} == {*shown} else DISAGREE,)

    def _choices_of(self, key: tuple[str, str], place: str) -> dict[str, tuple[str, ...]]:
        self._places.setdefault(key, place)
        return self._choices.setdefault(key, {})

    def _entry(self, key: tuple[str, str], filled: Mapping[str, str], place: str) -> None:
        label_column, text_column = self._columns[0], self._columns[1]
        label, text = filled[label_column.name], filled[text_column.name].removeprefix("'")
        if not label and not text:
            return
        if not label or (not text and label != NOTHING):
            lacking = text_column.name if label else label_column.name
            raise InputError(f"the entry has no {lacking}", where=place, todo="fill in both, or empty both")
        label = self._chosen(label_column, label, place)[0]
        chosen = self._choices_of(key, place)
        rubric = next(iter(self._rubrics.values()))
        if label == NOTHING:
            chosen[rubric.name] = (NOTHING,)
            return
        chosen.setdefault(rubric.name, (LISTED,))
        field = next(name for name, entry_label in entry_fields(rubric).items() if entry_label == label)
        texts = self._texts.setdefault(key, {})
        texts[field] = (*texts.get(field, ()), text)

    def _codes(self, key: tuple[str, str], cells: Mapping[str, str], filled: Mapping[str, str], place: str) -> None:
        coded = [column for column in self._columns if filled.get(column.name)]
        if not coded:
            return
        turn = cells["turn"].removesuffix(".0")
        for column in coded:
            name = column.name
            role = str(self._rubrics[name].role)
            turns = self._positions[key[0]][role]
            if not turn.isdecimal() or len(turn) > 9 or int(turn) not in turns:
                raise InputError(
                    f"turn {turn!r} is not a turn of the {role}", where=f"{place}, column {name}", todo="empty the cell"
                )
            field = code_field(name, turns.index(int(turn)))
            labels = self._chosen(column, filled[name], place)
            if self._choices_of(key, place).setdefault(field, labels) != labels:
                raise InputError(
                    f"turn {turn} is coded twice", where=f"{place}, column {name}", todo="leave one of the codes"
                )

    def _chosen(self, column: AnswerColumn, cell: str, place: str) -> tuple[str, ...]:
        assert column.choices is not None
        parts = [part.strip() for part in cell.split(LABEL_SEPARATOR)] if column.several else [cell]
        chosen = []
        for part in parts:
            choice = _choice(part.removeprefix("'"), column.choices)
            if choice is None:
                raise InputError(
                    f"{part!r} is not a choice",
                    where=f"{place}, column {column.name}",
                    todo=f"choose one of {', '.join(column.choices)}",
                )
            chosen.append(choice)
        return tuple(chosen)


def _choice(cell: str, allowed: Sequence[str]) -> str | None:
    """The choice that a cell names: as it stands, in another case, or as another spelling of a number."""
    folded = {choice.casefold(): choice for choice in allowed}
    if cell.casefold() in folded:
        return folded[cell.casefold()]
    try:
        return folded.get(f"{float(cell.replace(',', '.')):g}")
    except ValueError:
        return None


# -- Annotation without a server ------------------------------------------------------------------------

FORMS: Mapping[str, str] = {"label-studio": ".json", "csv": ".csv", "xlsx": ".xlsx"}


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
    one_of(form, export_forms(), "form", InputError, where="`form`")
    for rater in plan.people:
        path = folder / f"{rater}{FORMS.get(form, '')}"
        if path.exists():
            raise InputError(
                "the file is there already, and may have been filled in",
                where=str(path),
                todo="remove it, or choose another folder with `out`",
            )
    if folder.is_dir() and any(folder.iterdir()):
        return _write_files(plan, run, form, folder)
    with making(folder) as new:  # all of them, or none: the same command goes on where it was stopped
        new_paths = _write_files(plan, run, form, new)
    return [folder / path.name for path in new_paths]


def _write_files(plan: AnnotationPlan, run: Run, form: str, folder: Path) -> list[Path]:
    if form not in FORMS:
        return write_tool_folders(plan, run, form, folder)
    paths = [folder / f"{rater}{FORMS[form]}" for rater in plan.people]
    for rater, path in zip(plan.people, paths, strict=True):
        tasks_to_import = label_studio_tasks(plan, run, rater)
        tasks = [task["data"] for task in tasks_to_import]
        if form == "label-studio":
            write_text(path, orjson.dumps(tasks_to_import, option=orjson.OPT_INDENT_2).decode())
        elif form == "csv":
            # The mark at its beginning tells a spreadsheet that it is UTF-8.
            write_text(path, "\ufeff" + csv_table(plan, rater, tasks))
        else:
            with replacing(path) as temporary, archiving():
                _AnswerWorkbook(plan, rater, tasks).book.save(temporary)
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
            _read_json(plan, run, path, rater, users or {}) if tool_export is None else tools.collected(*tool_export)
        )
        answers += export.answers
        unplanned_tasks += export.unplanned_tasks
        strangers.update(export.strangers)
        altered_tasks += export.altered_tasks
        set_aside += export.set_aside
    return CollectedAnswers(tuple(_once(answers)), strangers, unplanned_tasks, altered_tasks, tuple(set_aside))


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
    tasks = read_json(path, "list of tasks", [{}], kind=InputError, todo=EXPORT_AGAIN)
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
                todo=f"say who is who: `users={pairs}`" + (", or `rater=NAME`" if len(annotators) < 2 else ""),
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
        raise InputError("this is not the form of a Label Studio export", where=str(path), todo=EXPORT_AGAIN) from error
    return sorted(users, key=str)
