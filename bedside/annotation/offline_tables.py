"""The tables that raters fill in where there is no server: their columns and rows, and their text as CSV.

Columns are ``rater``, ``no`` and ``item``, then

- rate, audit, pairs: a column for each field of :mod:`~bedside.annotation.fields`, a row an item; of a set, the labels
  with semicolons between them, and so the numbers of turns marked as evidence; in audit before them ``judge__<rubric>``
  and ``judge_reason__<rubric>``, and no column for agreeing: they agree who choose what the judge chose; where single
  turns are rated, ``turn`` is the number of the turn (from 0); in adjudicate the same with ``said__<rubric>``, what its
  raters said;
- rate, by a flow, points or links: a row a question, criterion or entry: ``question``, what is ``asked``, what may be
  chosen (``choices``), in adjudicate what its raters ``said``, in audit what the ``judge`` chose, and to fill in
  ``answer``, ``reason`` and ``evidence``;
- audit, of a list: a row for each entry, with what would be better words as ``reason``; one for whether any is lacking,
  and one for each label, whose ``reason`` takes what is lacking, an entry a line;
- findings: the parts of an entry, such as ``category`` and ``text``, some rows an item; one row with
  :data:`~bedside.annotation.fields.NOTHING` as its label says that there is nothing;
- codes: ``turn`` (from 0), ``speaker``, ``text`` and a column for each code, a row a turn.

``notes`` is the last one to fill in. In CSV ``how to rate`` (what the rubrics say, in the first row) and the
conversation follow, in XLSX they have sheets of their own.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_ratings import flow_leads
from bedside.annotation.answers import said_field
from bedside.annotation.fields import (
    CASE_KINDS,
    MARKED_MODES,
    NONE,
    NOTES,
    NOTHING,
    REASONED_MODES,
    AskedField,
    choices,
    entry_fields,
    entry_part,
    evidence_field,
    reason_field,
)
from bedside.annotation.items import input_titles
from bedside.annotation.page_words import words_of
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric

#: Rows for the entries of one list; more can be put in.
ENTRY_ROWS = 8
#: The sheet to fill in.
ANSWER_SHEET = "Answers"
#: Characters that one cell of a spreadsheet holds.
CELL_LENGTH = 32_000
_FORMULA = tuple("=+-@＝＋－＠\t\r")


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column to fill in.

    Attributes:
        name: its heading.
        choices: what may be chosen; None for text.
        several: whether several may be chosen.
        about: what it asks, as a comment.
    """

    name: str
    choices: tuple[str, ...] | None = None
    several: bool = False
    about: str = ""


#: The columns to fill in where each question has a row of its own.
ANSWER, REASON, EVIDENCE = "answer", "reason", "evidence"


def has_question_rows(plan: AnnotationPlan) -> bool:
    """Whether each question has a row of its own: by a flow, points or links, more than fits a row."""
    return bool(plan.flow_of or plan.criteria or plan.lists)


def question_rows(plan: AnnotationPlan, item: str) -> Iterator[tuple[AskedField, Rubric]]:
    """Each question of an item, and its rubric."""
    for rubric in plan.questions:
        shown = rubric.shown()
        asked = f"{shown.title}: {shown.definition}"
        if flow := plan.flow_of.get(rubric.name):
            asked += f"\n{shown.instructions}" if shown.instructions else ""  # the question's examples
            for said, after in flow_leads(flow, rubric.name).items():
                asked += f"\n{said}: {'no further question' if after is None else f'go on with {after}'}."
        if plan.mode == "adjudicate" and rubric.name not in plan.disputed(item):
            continue
        if rubric.kind in CASE_KINDS:
            yield from ((own, rubric) for own in plan.asked_of(item, rubric) if own.name != rubric.name)
        if rubric.kind == "list":
            *_, lacks = plan.asked_of(item, rubric)
            yield replace(lacks, asked=words_of(plan).say("list_lacks")), rubric
            for label, field in zip(entry_part(rubric.shown())[0].labels, entry_fields(rubric), strict=True):
                lacking = f"{label.label}: {label.descriptor} What the list lacks of it, as reason, an entry a line."
                yield AskedField(field, lacking, (), said=True), rubric
        elif not plan.of_case(rubric):
            yield AskedField(rubric.name, asked, choices(rubric), said=True, quoted=True), rubric


def _choices_told(asked: AskedField, rubric: Rubric) -> str:
    """What may be chosen, for a cell; of links with what they lead to."""
    if rubric.kind in LINKED_KINDS and asked.said:
        return "\n".join(choice if text in (choice, "") else f"{choice}: {text}" for choice, text in asked.choices)
    return "; ".join(choice for choice, _ in asked.choices)


def answer_columns(plan: AnnotationPlan) -> list[AnswerColumn]:
    """The columns that a rater fills in."""
    if has_question_rows(plan):
        every = dict.fromkeys(
            choice for item in plan.items for asked, _ in question_rows(plan, item.id) for choice, _ in asked.choices
        )
        about = "One of the choices of the row. Leave open what the answers before don't lead to."
        return [
            AnswerColumn(ANSWER, tuple(every), any(rubric.kind == "set" for rubric in plan.questions), about),
            AnswerColumn(REASON, about="Why? Of an entry of a list, the entry in better words, where it needs them."),
            AnswerColumn(EVIDENCE, about="The numbers of the turns that show it, such as 3; 5; not for a criterion."),
            AnswerColumn(NOTES, about="Anything you want to say about the item as a whole."),
        ]
    columns = []
    for question in plan.questions:
        rubric = question.shown()
        described = choices(question)
        about = "\n".join([
            rubric.title, rubric.definition, *(f"{choice}: {text}" for choice, text in described)
        ])  # fmt: skip
        if plan.mode == "findings":
            label_part, text_part = entry_part(rubric)
            labels = (*(label.label for label in label_part.labels), NOTHING)
            descriptors = "\n".join(f"{label.label}: {label.descriptor}" for label in label_part.labels)
            columns += [
                AnswerColumn(label_part.name, labels, about=descriptors),
                AnswerColumn(text_part.name, about=text_part.descriptor),
            ]
            continue
        several = rubric.kind == "set"
        about += "\nSeveral: put semicolons between them." if several else ""
        about += "\nTo agree with the judge, choose what it chose." if plan.mode == "audit" else ""
        columns.append(AnswerColumn(rubric.name, tuple(choice for choice, _ in described), several, about))
        if plan.mode in REASONED_MODES:
            columns.append(AnswerColumn(reason_field(rubric.name), about=f"{rubric.title}: why?"))
        if plan.mode in MARKED_MODES:
            about = f"{rubric.title}: the numbers of the turns that show it, such as 3; 5. Put semicolons between them."
            columns.append(AnswerColumn(evidence_field(rubric.name), about=about))
    return [*columns, AnswerColumn(NOTES, about="Anything you want to say about the item as a whole.")]


def prefilled_columns(plan: AnnotationPlan) -> list[str]:
    """The columns that are filled in already."""
    names = ["rater", "no", "item"]
    if has_question_rows(plan):
        shown = {"adjudicate": ["said"], "audit": ["judge", "judge_reason"]}.get(plan.mode, [])
        return [*names, "question", "asked", "choices", *shown]
    if plan.mode == "codes":
        names += ["turn", "speaker", "text"]
    elif plan.questions[0].unit == "turn":
        names.append("turn")
    if plan.mode == "audit":
        for rubric in plan.questions:
            names += [f"judge__{rubric.name}", f"judge_reason__{rubric.name}"]
    if plan.mode == "adjudicate":
        names += [f"said__{rubric.name}" for rubric in plan.questions]
    return names


def prefilled_rows(
    plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the task (from 0), and the cells that are filled in already."""
    for number, data in enumerate(tasks):
        row = {"rater": rater, "no": str(number + 1), "item": data["external_id"]}
        if plan.mode == "codes":
            for index, turn in enumerate(data["dialogue"]):
                yield number, {**row, "turn": str(index), **turn}
            continue
        if has_question_rows(plan):
            for asked, rubric in question_rows(plan, data["external_id"]):
                told = _choices_told(asked, rubric)
                kinds = ("said", "judge", "judge_reason")  # of adjudications, and of audits
                shown = {kind: data.get(f"{kind}_{asked.name}", "") for kind in kinds}
                yield number, {**row, "question": asked.name, "asked": asked.asked, "choices": told, **shown}
            continue
        if "rated_turn" in data:
            row["turn"] = data["rated_turn"]
        for rubric in plan.questions if plan.mode == "audit" else ():
            for kind in ("judge", "judge_reason"):
                row[f"{kind}__{rubric.name}"] = data[f"{kind}_{rubric.name}"]
        for rubric in plan.questions if plan.mode == "adjudicate" else ():
            row[f"said__{rubric.name}"] = data[said_field(rubric.name)]
        for _ in range(ENTRY_ROWS if plan.mode == "findings" else 1):
            yield number, row


def shown_conversation(plan: AnnotationPlan, data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Number, speaker and text of what a rater reads: inputs first, then the turns; of two conversations one after the
    other, each under its heading."""
    inputs = [("", title, data[f"input_{name}"]) for name, title in input_titles(plan.questions).items()]
    turns = [(str(number), turn["speaker"], turn["text"]) for number, turn in enumerate(data["dialogue"])]
    if "dialogue_second" not in data:
        return [*inputs, *turns]
    seconds = [(str(number), turn["speaker"], turn["text"]) for number, turn in enumerate(data["dialogue_second"])]
    first, second = (words_of(plan).say(f"{place}_conversation") for place in ("first", "second"))
    return [*inputs, ("", first, ""), *turns, ("", second, ""), *seconds]


def guide_lines(plan: AnnotationPlan) -> Iterator[tuple[str, str]]:
    """What each rubric says: heading and text of each line, with an empty one before each rubric."""
    for question in plan.questions:
        rubric = question.shown()
        yield from (("", ""), (rubric.title, rubric.definition), *choices(question))
        if rubric.kind == "list":
            label_part, text_part = entry_part(rubric)
            yield from ((label.label, label.descriptor) for label in label_part.labels)
            how = NOTHING, f"Where that is so: choose it once, and leave {text_part.name} empty."
            yield how if plan.mode == "findings" else (NONE, words_of(plan).say("correct_list"))
        if rubric.instructions:
            yield "How to decide", rubric.instructions


def csv_table(plan: AnnotationPlan, rater: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    """The table of a rater as CSV; the conversation stands in the first row of its task, in cells of its own."""
    columns = [column.name for column in answer_columns(plan)]
    conversations = [_pieces(plan, data) for data in tasks] if plan.mode != "codes" else [[] for _ in tasks]
    most = max(map(len, conversations), default=0)
    names = ["conversation", *(f"conversation {number}" for number in range(2, most + 1))][:most]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*prefilled_columns(plan), *columns, "how to rate", *names])
    guide = "\n".join(f"{heading}: {text}" if heading else "" for heading, text in guide_lines(plan)).strip()
    begun: set[int] = set()
    for number, row in prefilled_rows(plan, rater, tasks):
        pieces = conversations[number] if number not in begun else []
        told = "" if begun else guide[:CELL_LENGTH]
        begun.add(number)
        cells = [*(row.get(name, "") for name in prefilled_columns(plan)), *("" for _ in columns), told, *pieces]
        writer.writerow([safe_cell(cell) for cell in cells] + [""] * (most - len(pieces)))
    return out.getvalue()


def _pieces(plan: AnnotationPlan, data: Mapping[str, Any]) -> list[str]:
    """A conversation in parts that fit a cell."""
    text = "\n\n".join(
        f"[{number}] {speaker}: {words}" if number else f"{speaker}: {words}"
        for number, speaker, words in shown_conversation(plan, data)
    )
    return [text[at : at + CELL_LENGTH] for at in range(0, len(text), CELL_LENGTH)]


def safe_cell(cell: str) -> str:
    """A cell that a spreadsheet won't take for a formula."""
    return "'" + cell if cell.startswith(_FORMULA) else cell
