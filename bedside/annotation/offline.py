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

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.annotation.answers import RaterAnswer, Read, coded_positions, read_export
from bedside.annotation.fields import (
    AGREE,
    DISAGREE,
    LISTED,
    NOTES,
    NOTHING,
    agree_field,
    choices,
    code_field,
    entry_fields,
    entry_part,
)
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.page import labelling_page
from bedside.annotation.plan import AnnotationPlan, plan_hash, rater_of
from bedside.ratings.run import Run
from bedside.support.errors import InputError
from bedside.support.files import contents, making, replacing, write_text
from bedside.transcripts.sources import ReadOptions, SourceFile

Form = Literal["label-studio", "csv", "xlsx"]
FORMS: Mapping[Form, str] = {"label-studio": ".json", "csv": ".csv", "xlsx": ".xlsx"}
#: Rows for the entries of one list; more can be put in.
ENTRY_ROWS = 8
ANSWERS = "Answers"
#: Characters that one cell of a spreadsheet holds.
_CELL = 32_000
_FORMULA = tuple("=+-@＝＋－＠\t\r")
_SEPARATOR = ";"
#: Largest export, in bytes.
_MOST_BYTES = 2**28
_EXPORT = "export the project as JSON"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column to fill in: what may be chosen, or None for text; and what it asks, as a comment."""

    name: str
    choices: tuple[str, ...] | None = None
    several: bool = False
    about: str = ""


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
            write_text(path, "\ufeff" + _csv(plan, rater, tasks))
        else:
            _write_workbook(path, plan, rater, tasks)
    if form == "label-studio":
        # What a rater's Label Studio asks for as the project's labelling interface.
        write_text(folder / "page.xml", labelling_page(plan))
        paths.append(folder / "page.xml")
    return paths


# -- what a table holds -------------------------------------------------------------------------------


def _columns(plan: AnnotationPlan) -> list[_Column]:
    columns = []
    for each in plan.rubrics:
        rubric = each.rubric.shown()
        known = choices(each.rubric)
        about = "\n".join([rubric.title, rubric.definition, *(f"{choice}: {text}" for choice, text in known)])
        if plan.mode == "findings":
            label, text = entry_part(rubric)
            labels = (*(each.label for each in label.labels), NOTHING)
            told = "\n".join(f"{each.label}: {each.descriptor}" for each in label.labels)
            columns += [_Column(label.name, labels, about=told), _Column(text.name, about=text.descriptor)]
            continue
        if plan.mode == "audit":
            columns.append(
                _Column(
                    agree_field(rubric.name), (AGREE, DISAGREE), about=f"{rubric.title}: is the judge right?"
                )
            )
        several = rubric.kind == "set"
        about += "\nSeveral: put semicolons between them." if several else ""
        columns.append(_Column(rubric.name, tuple(choice for choice, _ in known), several, about))
    return [*columns, _Column(NOTES, about="Anything you want to say about the item.")]


def _given(plan: AnnotationPlan) -> list[str]:
    """The columns that are filled in already."""
    names = ["rater", "no", "item"]
    if plan.mode == "codes":
        names += ["turn", "speaker", "text"]
    elif plan.rubrics[0].rubric.unit == "turn":
        names.append("turn")
    if plan.mode == "audit":
        for each in plan.rubrics:
            names += [f"judge__{each.rubric.name}", f"judge_reason__{each.rubric.name}"]
    return names


def _rows(
    plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the task (from 0), and the cells that are filled in already."""
    for number, data in enumerate(tasks):
        row = {"rater": rater, "no": str(number + 1), "item": data["external_id"]}
        if plan.mode == "codes":
            for turn, said in enumerate(data["dialogue"]):
                yield number, {**row, "turn": str(turn), **said}
            continue
        if "rated_turn" in data:
            row["turn"] = data["rated_turn"]
        for each in plan.rubrics if plan.mode == "audit" else ():
            for kind in ("judge", "judge_reason"):
                row[f"{kind}__{each.rubric.name}"] = data[f"{kind}_{each.rubric.name}"]
        for _ in range(ENTRY_ROWS if plan.mode == "findings" else 1):
            yield number, row


def _conversation(data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Number, speaker and text of what a rater reads: inputs first, then the turns."""
    inputs = [
        ("", name.removeprefix("input_").replace("_", " ").capitalize(), text)
        for name, text in data.items()
        if name.startswith("input_")
    ]
    turns = [(str(number), turn["speaker"], turn["text"]) for number, turn in enumerate(data["dialogue"])]
    return [*inputs, *turns]


# -- CSV ----------------------------------------------------------------------------------------------


def _csv(plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    columns = [column.name for column in _columns(plan)]
    told = [_pieces(data) for data in tasks] if plan.mode != "codes" else [[] for _ in tasks]
    most = max(map(len, told), default=0)
    names = ["conversation", *(f"conversation {number}" for number in range(2, most + 1))][:most]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*_given(plan), *columns, *names])
    seen: set[int] = set()
    for number, row in _rows(plan, rater, tasks):
        pieces = told[number] if number not in seen else []
        seen.add(number)
        cells = [*(row.get(name, "") for name in _given(plan)), *("" for _ in columns), *pieces]
        writer.writerow([_safe(cell) for cell in cells] + [""] * (most - len(pieces)))
    return out.getvalue()


def _pieces(data: Mapping[str, Any]) -> list[str]:
    text = "\n\n".join(
        f"[{number}] {speaker}: {said}" if number else f"{speaker}: {said}"
        for number, speaker, said in _conversation(data)
    )
    return [text[at : at + _CELL] for at in range(0, len(text), _CELL)]


def _safe(cell: str) -> str:
    """A cell that a spreadsheet won't take for a formula."""
    return "'" + cell if cell.startswith(_FORMULA) else cell


# -- XLSX ---------------------------------------------------------------------------------------------


def _write_workbook(path: Path, plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> None:
    from openpyxl import Workbook
    from openpyxl.comments import Comment
    from openpyxl.styles import Alignment, Font, PatternFill
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    wrap, bold = Alignment(wrap_text=True, vertical="top"), Font(bold=True)
    fill = PatternFill("solid", fgColor="FFF6D6")
    book = Workbook()
    sheet: Any = book.active
    sheet.title = ANSWERS
    columns = _columns(plan)
    given = _given(plan)

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
    for number, row in _rows(plan, rater, tasks):
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
    return text if len(text) <= _CELL else f"{text[:_CELL]} … ({len(text) - _CELL:,} characters more)"


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
    back.hyperlink = f"#'{ANSWERS}'!A{start}"
    back.style = "Hyperlink"
    line = 1
    for number, speaker, text in _conversation(data):
        # A text too long for one cell goes on in the next row.
        for at in range(0, max(len(text), 1), _CELL):
            line += 1
            put(sheet, line, 1, number if at == 0 else "")
            put(sheet, line, 2, speaker if at == 0 else "").font = bold
            put(sheet, line, 3, text[at : at + _CELL])
    sheet.freeze_panes = "A2"


# -- reading ------------------------------------------------------------------------------------------


def read_files(
    plan: AnnotationPlan,
    run: Run,
    paths: Iterable[str | os.PathLike[str]],
    *,
    rater: str | None = None,
    users: Mapping[int | str, str] | None = None,
) -> Read:
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
            answers += _Table(plan, run, path).answers()
    return Read(tuple(_once(answers)), strangers, foreign)


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


def _read_json(plan: AnnotationPlan, path: Path, rater: str | None, users: Mapping[int | str, str]) -> Read:
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
            return Read(())
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


class _Table:
    """A table that a rater filled in."""

    def __init__(self, plan: AnnotationPlan, run: Run, path: Path) -> None:
        self._plan = plan
        self._path = path
        self._columns = _columns(plan)
        self._positions = coded_positions(plan, run)
        self._rubrics = {each.rubric.name: each.rubric for each in plan.rubrics}
        self._choices: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._texts: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._places: dict[tuple[str, str], str] = {}

    def answers(self) -> list[RaterAnswer]:
        """The answers; items without any are left out."""
        first = True
        for where, row in SourceFile(self._path, self._path.stem, ReadOptions(), []).table_rows():
            place = self._place(where)
            cells = {name.strip().lstrip("\ufeff"): cell.strip() for name, cell in row.items()}
            if first:
                self._header(cells, place)
                first = False
            self._row(cells, place)
        return [
            RaterAnswer(*key, "submitted", chosen, self._texts.get(key, {}), where=self._places[key])
            for key, chosen in self._choices.items()
        ]

    def _place(self, where: str) -> str:
        row = where.rpartition(":")[2]
        if self._path.suffix.lower() == ".xlsx":
            return f"{self._path}: sheet {ANSWERS}, row {row}"
        return f"{self._path}: row that ends in line {row}"

    def _header(self, cells: Mapping[str, str], place: str) -> None:
        needed = ["rater", "item", *(["turn"] if self._plan.mode == "codes" else [])]
        for name in (*needed, *(column.name for column in self._columns)):
            if name not in cells and name != NOTES:
                raise InputError(
                    f"the table has no column {name!r}",
                    where=str(self._path),
                    todo=f"leave the columns as they were made, and {ANSWERS} as the first sheet",
                )

    def _row(self, cells: Mapping[str, str], place: str) -> None:
        if not cells["item"] and not cells["rater"]:
            if any(cells.get(column.name) for column in self._columns):
                raise InputError(
                    "the row has no item", where=place, todo="copy item and rater from the rows above"
                )
            return
        rater = rater_of(self._plan, cells["rater"], place)
        item = cells["item"]
        if item not in self._plan.by_id:
            raise InputError(
                f"{item!r} is no item of this plan", where=place, todo="name the plan that the file was made of"
            )  # fmt: skip
        key = (item, rater)
        filled = {column.name: cells.get(column.name, "") for column in self._columns}
        notes = (
            filled.pop(NOTES).removeprefix("'")
            if filled.get(NOTES, "").startswith("'")
            else filled.pop(NOTES)
        )
        if self._plan.mode == "findings":
            self._entry(key, filled, place)
        elif self._plan.mode == "codes":
            self._codes(key, cells, filled, place)
        elif any(filled.values()):
            if key in self._choices:
                raise InputError(
                    f"item {cells.get('no') or item} is answered twice", where=f"{self._places[key]} and {place}",
                    todo="leave one of the rows",
                )  # fmt: skip
            into = self._answer(key, place)
            for column in self._columns:
                if filled.get(column.name):
                    into[column.name] = self._chosen(column, filled[column.name], place)
        if notes:
            self._texts.setdefault(key, {})
            self._texts[key][NOTES] = (*self._texts[key].get(NOTES, ()), notes)

    def _answer(self, key: tuple[str, str], place: str) -> dict[str, tuple[str, ...]]:
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
        into = self._answer(key, place)
        rubric = next(iter(self._rubrics.values()))
        if label == NOTHING:
            into[rubric.name] = (NOTHING,)
            return
        into.setdefault(rubric.name, (LISTED,))
        field = next(name for name, known in entry_fields(rubric).items() if known == label)
        texts = self._texts.setdefault(key, {})
        texts[field] = (*texts.get(field, ()), text)

    def _codes(
        self, key: tuple[str, str], cells: Mapping[str, str], filled: Mapping[str, str], place: str
    ) -> None:
        given = {column.name: column for column in self._columns if filled.get(column.name)}
        if not given:
            return
        turn = cells["turn"].removesuffix(".0")
        for name, column in given.items():
            role = str(self._rubrics[name].role)
            turns = self._positions[key[0]][role]
            if not turn.isdecimal() or len(turn) > 9 or int(turn) not in turns:
                raise InputError(
                    f"turn {turn!r} is no turn of the {role}",
                    where=f"{place}, column {name}",
                    todo="empty the cell",
                )
            field = code_field(name, turns.index(int(turn)))
            into = self._answer(key, place)
            chosen = self._chosen(column, filled[name], place)
            if into.setdefault(field, chosen) != chosen:
                raise InputError(
                    f"turn {turn} is coded twice", where=f"{place}, column {name}", todo="leave one"
                )

    def _chosen(self, column: _Column, cell: str, place: str) -> tuple[str, ...]:
        assert column.choices is not None
        parts = [part.strip() for part in cell.split(_SEPARATOR)] if column.several else [cell]
        found = []
        for part in parts:
            choice = _choice(part.removeprefix("'"), column.choices)
            if choice is None:
                raise InputError(
                    f"{part!r} is no choice",
                    where=f"{place}, column {column.name}",
                    todo=f"one of {', '.join(column.choices)}",
                )
            found.append(choice)
        return tuple(found)


def _choice(cell: str, known: Sequence[str]) -> str | None:
    """The choice that a cell names: as it stands, in another case, or as another spelling of a number."""
    folded = {choice.casefold(): choice for choice in known}
    if cell.casefold() in folded:
        return folded[cell.casefold()]
    try:
        return folded.get(f"{float(cell.replace(',', '.')):g}")
    except ValueError:
        return None
