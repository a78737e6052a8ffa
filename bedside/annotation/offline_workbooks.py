"""The table that a rater fills in, as a workbook (XLSX)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.annotation.fields import NOTHING, choices, entry_part
from bedside.annotation.offline_tables import (
    ANSWER_SHEET,
    CELL_LENGTH,
    answer_columns,
    prefilled_columns,
    prefilled_rows,
    shown_conversation,
)
from bedside.support.files import replacing


def write_workbook(path: Path, plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> None:
    from openpyxl import Workbook
    from openpyxl.comments import Comment
    from openpyxl.styles import Alignment, Font, PatternFill
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    wrap, bold = Alignment(wrap_text=True, vertical="top"), Font(bold=True)
    fill = PatternFill("solid", fgColor="FFF6D6")
    book = Workbook()
    sheet: Any = book.active
    sheet.title = ANSWER_SHEET
    columns = answer_columns(plan)
    given = prefilled_columns(plan)

    def put(target: Any, row: int, column: int, text: str) -> Any:
        cell = target.cell(row, column, text)
        # Otherwise what begins with = would be a formula.
        cell.data_type = "s"
        cell.alignment = wrap
        return cell

    for position, name in enumerate([*given, *(column.name for column in columns)], 1):
        put(sheet, 1, position, name).font = bold
        wide = {"text": 80, "item": 15, "notes": 40}.get(name, 40 if "reason" in name else 18)
        sheet.column_dimensions[get_column_letter(position)].width = wide
    for position, column in enumerate(columns, len(given) + 1):
        sheet.cell(1, position).comment = Comment(column.about, "bedside", width=420, height=300)
    last = 1
    starts: dict[int, int] = {}
    roles = {each.rubric.name: str(each.rubric.role).capitalize() for each in plan.rubrics}
    for number, row in prefilled_rows(plan, rater, tasks):
        last += 1
        starts.setdefault(number, last)
        for position, name in enumerate(given, 1):
            put(sheet, last, position, _fitting(row.get(name, "")))
        for position, column in enumerate(columns, len(given) + 1):
            if plan.mode != "codes" or roles.get(column.name, row["speaker"]) == row["speaker"]:
                sheet.cell(last, position).fill = fill
                sheet.cell(last, position).alignment = wrap
    sheet.freeze_panes = sheet.cell(2, len(given) + 1)
    lists = book.create_sheet("Choices")
    lists.sheet_state = "hidden"
    for position, column in enumerate(columns, len(given) + 1):
        if column.choices is None:
            continue
        at = lists.max_column + 1 if lists.cell(1, 1).value is not None else 1
        for line, choice in enumerate(column.choices, 1):
            put(lists, line, at, choice)
            if _is_number(choice):
                # Typed by a rater it is a number, which is not the text of the same digits.
                lists.cell(line, at).value = float(choice)
        if column.several:
            continue
        letter = get_column_letter(at)
        rule = DataValidation(
            type="list", formula1=f"Choices!${letter}$1:${letter}${len(column.choices)}", allow_blank=True,
            showErrorMessage=True, errorTitle="Not on the list", error="Choose from the list, or leave the cell empty.",
        )  # fmt: skip
        place = get_column_letter(position)
        rule.add(f"{place}2:{place}{max(last, 2) + 200}")
        sheet.add_data_validation(rule)
    _guide(book.create_sheet("How to rate", 1), plan, put, bold)
    if plan.mode != "codes":
        for number, data in enumerate(tasks):
            _conversation_sheet(book.create_sheet(str(number + 1)), data, starts[number], put, bold)
            for line in range(starts[number], starts.get(number + 1, last + 1)):
                cell = sheet.cell(line, 2)
                cell.hyperlink = f"#'{number + 1}'!A1"
                cell.style = "Hyperlink"
    with replacing(path) as temporary:
        book.save(temporary)


def _fitting(text: str) -> str:
    """A text that fits a cell, and says so where it had to be cut."""
    return (
        text
        if len(text) <= CELL_LENGTH
        else f"{text[:CELL_LENGTH]} … ({len(text) - CELL_LENGTH:,} characters more)"
    )


def _is_number(choice: str) -> bool:
    return choice.replace(".", "", 1).removeprefix("-").isdigit()


def _guide(sheet: Any, plan: AnnotationPlan, put: Any, bold: Any) -> None:
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 28, 110
    first = "Fill in the coloured cells of the sheet Answers; save the file as XLSX."
    link = "A click on a number in the column no opens the conversation."
    lines: list[tuple[str, str]] = [("Plan", plan_hash(plan)), ("What to do", first)]
    if plan.mode != "codes":
        lines.append(("", link))
    for each in plan.rubrics:
        rubric = each.rubric.shown()
        lines += [("", ""), (rubric.title, rubric.definition)]
        lines += choices(each.rubric)
        if plan.mode == "findings":
            kind, wording = entry_part(rubric)
            lines += [(one.label, one.descriptor) for one in kind.labels]
            lines.append((NOTHING, f"Where that is so: choose it once, and leave {wording.name} empty."))
        if rubric.instructions:
            lines.append(("How to decide", rubric.instructions))
    for number, (head, text) in enumerate(lines, 1):
        put(sheet, number, 1, head).font = bold
        put(sheet, number, 2, text)


def _conversation_sheet(sheet: Any, data: Mapping[str, Any], start: int, put: Any, bold: Any) -> None:
    for letter, width in (("A", 6), ("B", 14), ("C", 110)):
        sheet.column_dimensions[letter].width = width
    back = put(sheet, 1, 1, "back")
    back.hyperlink = f"#'{ANSWER_SHEET}'!A{start}"
    back.style = "Hyperlink"
    line = 1
    for number, speaker, text in shown_conversation(data):
        # A text too long for one cell goes on in the next row.
        for at in range(0, max(len(text), 1), CELL_LENGTH):
            line += 1
            put(sheet, line, 1, number if at == 0 else "")
            put(sheet, line, 2, speaker if at == 0 else "").font = bold
            put(sheet, line, 3, text[at : at + CELL_LENGTH])
    sheet.freeze_panes = "A2"
