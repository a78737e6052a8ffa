"""The table that a rater fills in, as a workbook (XLSX)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.annotation.fields import NOTHING, choices, entry_part
from bedside.annotation.offline_tables import (
    ANSWER_SHEET,
    CELL_LENGTH,
    AnswerColumn,
    answer_columns,
    prefilled_columns,
    prefilled_rows,
    shown_conversation,
)
from bedside.annotation.page_words import words_of
from bedside.core.files import replacing

#: Widths of columns by their name, in characters.
_WIDTHS = {"text": 80, "item": 15, "notes": 40}
_REASON_WIDTH, _USUAL_WIDTH = 40, 18
#: Rows below the last one in which lists of choices drop down too: raters add rows.
_SPARE_ROWS = 200


def write_workbook(path: Path, plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> None:
    """Write the table of a rater: a sheet to fill in, how to rate, and a sheet for each conversation."""
    with replacing(path) as temporary:
        _AnswerWorkbook(plan, rater, tasks).book.save(temporary)


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
        roles = {
            question.name: words.say(str(question.role)) for question in self._plan.questions if question.role
        }
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
        for question in self._plan.questions:
            rubric = question.shown()
            lines += [("", ""), (rubric.title, rubric.definition)]
            lines += choices(question)
            if self._plan.mode == "findings":
                label_part, text_part = entry_part(rubric)
                lines += [(label.label, label.descriptor) for label in label_part.labels]
                lines.append(
                    (NOTHING, f"Where that is so: choose it once, and leave {text_part.name} empty.")
                )
            if rubric.instructions:
                lines.append(("How to decide", rubric.instructions))
        for row, (heading, text) in enumerate(lines, 1):
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
    return (
        text
        if len(text) <= CELL_LENGTH
        else f"{text[:CELL_LENGTH]} … ({len(text) - CELL_LENGTH:,} characters more)"
    )


def _is_number(choice: str) -> bool:
    return choice.replace(".", "", 1).removeprefix("-").isdigit()
