"""The tables that raters fill in: their columns and rows, and their text as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.fields import AGREE, DISAGREE, NOTES, NOTHING, agree_field, choices, entry_part

#: Rows for the entries of one list; more can be put in.
ENTRY_ROWS = 8


ANSWER_SHEET = "Answers"


#: Characters that one cell of a spreadsheet holds.
CELL_LENGTH = 32_000


_FORMULA = tuple("=+-@＝＋－＠\t\r")


LABEL_SEPARATOR = ";"


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column to fill in: what may be chosen, or None for text; and what it asks, as a comment."""

    name: str
    choices: tuple[str, ...] | None = None
    several: bool = False
    about: str = ""


def answer_columns(plan: AnnotationPlan) -> list[AnswerColumn]:
    columns = []
    for each in plan.rubrics:
        rubric = each.rubric.shown()
        known = choices(each.rubric)
        about = "\n".join([rubric.title, rubric.definition, *(f"{choice}: {text}" for choice, text in known)])
        if plan.mode == "findings":
            label, text = entry_part(rubric)
            labels = (*(each.label for each in label.labels), NOTHING)
            told = "\n".join(f"{each.label}: {each.descriptor}" for each in label.labels)
            columns += [
                AnswerColumn(label.name, labels, about=told),
                AnswerColumn(text.name, about=text.descriptor),
            ]
            continue
        if plan.mode == "audit":
            columns.append(
                AnswerColumn(
                    agree_field(rubric.name), (AGREE, DISAGREE), about=f"{rubric.title}: is the judge right?"
                )
            )
        several = rubric.kind == "set"
        about += "\nSeveral: put semicolons between them." if several else ""
        columns.append(AnswerColumn(rubric.name, tuple(choice for choice, _ in known), several, about))
    return [*columns, AnswerColumn(NOTES, about="Anything you want to say about the item.")]


def prefilled_columns(plan: AnnotationPlan) -> list[str]:
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


def prefilled_rows(
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


def shown_conversation(data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Number, speaker and text of what a rater reads: inputs first, then the turns."""
    inputs = [
        ("", name.removeprefix("input_").replace("_", " ").capitalize(), text)
        for name, text in data.items()
        if name.startswith("input_")
    ]
    turns = [(str(number), turn["speaker"], turn["text"]) for number, turn in enumerate(data["dialogue"])]
    return [*inputs, *turns]


def csv_table(plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    columns = [column.name for column in answer_columns(plan)]
    told = [_pieces(data) for data in tasks] if plan.mode != "codes" else [[] for _ in tasks]
    most = max(map(len, told), default=0)
    names = ["conversation", *(f"conversation {number}" for number in range(2, most + 1))][:most]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*prefilled_columns(plan), *columns, *names])
    seen: set[int] = set()
    for number, row in prefilled_rows(plan, rater, tasks):
        pieces = told[number] if number not in seen else []
        seen.add(number)
        cells = [*(row.get(name, "") for name in prefilled_columns(plan)), *("" for _ in columns), *pieces]
        writer.writerow([_safe(cell) for cell in cells] + [""] * (most - len(pieces)))
    return out.getvalue()


def _pieces(data: Mapping[str, Any]) -> list[str]:
    text = "\n\n".join(
        f"[{number}] {speaker}: {said}" if number else f"{speaker}: {said}"
        for number, speaker, said in shown_conversation(data)
    )
    return [text[at : at + CELL_LENGTH] for at in range(0, len(text), CELL_LENGTH)]


def _safe(cell: str) -> str:
    """A cell that a spreadsheet won't take for a formula."""
    return "'" + cell if cell.startswith(_FORMULA) else cell
