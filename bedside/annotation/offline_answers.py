"""The answers in a table that a rater filled in; its columns are those of :mod:`~bedside.annotation.offline_tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bedside.annotation.annotation_plan import AnnotationPlan, rater_of
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.evidence import listed_turns
from bedside.annotation.fields import (
    LISTED,
    NOTES,
    NOTHING,
    agree_field,
    code_field,
    entry_fields,
    evidence_field,
)
from bedside.annotation.items import coded_positions
from bedside.annotation.offline_tables import ANSWER_SHEET, LABEL_SEPARATOR, AnswerColumn, answer_columns
from bedside.core.errors import InputError
from bedside.ratings.rubric_metrics import AGREE, DISAGREE
from bedside.ratings.run import Run
from bedside.transcripts.byte_source import ByteSource
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.table_rows import table
from bedside.transcripts.workbook_rows import UNREADABLE, Workbook


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
            if owners and rater not in owners:
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
                raise InputError(
                    "the row has no item", where=place, todo="copy item and rater from the rows above"
                )
            return
        rater = self._rater_of(cells, place)
        item = cells["item"]
        if item not in self._plan.by_id:
            raise InputError(
                f"{item!r} is not an item of this plan", where=place, todo="name the plan that the file was made of"
            )  # fmt: skip
        key = (item, rater)
        filled = {column.name: cells.get(column.name, "") for column in self._columns}
        texts = {
            column.name: filled.pop(column.name).removeprefix("'")
            for column in self._columns
            if column.choices is None and self._plan.mode != "findings"
        }
        notes = texts.pop(NOTES, "") or filled.pop(NOTES, "").removeprefix("'")
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

    def _said(self, key: tuple[str, str], texts: Mapping[str, str], place: str) -> None:
        """Keep what is said of each rubric, and the turns that are named for it."""
        marked = {evidence_field(name) for name in self._rubrics}
        said = self._texts.setdefault(key, {})
        for name, text in texts.items():
            if not text:
                continue
            if name not in marked:
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
        self,
        column: AnswerColumn,
        chosen: Mapping[str, tuple[str, ...]],
        cells: Mapping[str, str],
        place: str,
    ) -> tuple[str]:
        """Whether the rater agrees with what the row says of the judge."""
        name = f"judge__{column.name}"
        assert column.choices is not None
        shown = _choice(cells.get(name, "").removeprefix("'"), column.choices)
        if shown is None:
            raise InputError(
                f"{cells.get(name, '')!r} is not what the judge said",
                where=f"{place}, column {name}",
                todo="leave the column as it was made",
            )
        return (AGREE if chosen[column.name] == (shown,) else DISAGREE,)

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

    def _codes(
        self, key: tuple[str, str], cells: Mapping[str, str], filled: Mapping[str, str], place: str
    ) -> None:
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
                    f"turn {turn!r} is not a turn of the {role}",
                    where=f"{place}, column {name}",
                    todo="empty the cell",
                )
            field = code_field(name, turns.index(int(turn)))
            labels = self._chosen(column, filled[name], place)
            if self._choices_of(key, place).setdefault(field, labels) != labels:
                raise InputError(
                    f"turn {turn} is coded twice",
                    where=f"{place}, column {name}",
                    todo="leave one of the codes",
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
