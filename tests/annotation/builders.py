"""What several files build: answers kept in a run, filled tables, known answers, translated plans, pages read back."""

from __future__ import annotations

import csv
import io
import json
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import StoreSummary, keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import LISTED, NOT_APPLICABLE, NOTHING
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.training_cases import TrainingCase, read_training
from bedside.judges.rubrics.rubric import Rubric, read
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS, find_rubric
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from tests.annotation.study import EMPATHY, GOAL, JUDGE, RATERS, USERS, Say, exported, level_of, rating_plan

FINDINGS: Rubric = RUBRICS.load("finding_extraction")
QUESTION, CLIENT_TALK = CODEBOOK.load("question"), CODEBOOK.load("client_talk")
FEAR, COST = "emotional discomfort or fear", "financial or insurance concern"
LEVELS = ("empathy", "goal_alignment")

# -- answers ----------------------------------------------------------------------------------------


def rater_answer(item: str, rater: str, said: Mapping[str, str] | None = None, **fields: Any) -> RaterAnswer:
    """One choice by field, handed in; without any, the item is skipped."""
    choices = {name: (choice,) for name, choice in (said or {}).items()}
    return RaterAnswer(
        item, rater, "skipped" if said is None else "submitted", choices, **{"id": f"{item}-{rater}", **fields}
    )


def pulled(run: Run, plan: AnnotationPlan, tasks: list[dict[str, Any]]) -> StoreSummary:
    return keep_answers(run, plan, read_export(plan, tasks, RATERS, where="export").answers)


def keep(run: Run, plan: AnnotationPlan, say: Say, **fields: Any) -> StoreSummary:
    """Keep what raters say in Label Studio (:func:`~tests.annotation.study.exported`)."""
    return pulled(run, plan, exported(plan, say, USERS, **fields))


def copy_of(run: Run, path: Path) -> Run:
    return Run(shutil.copytree(run.path, path))


def people(run: Run, *metrics: str) -> pl.DataFrame:
    """The ratings of people, as they are on the disk now."""
    rows = Run(run.path).ratings.filter(rated_by_humans())
    return rows.filter(pl.col("metric").is_in(metrics)) if metrics else rows


def human(run: Run) -> list[str]:
    return sorted(map(str, people(run).iter_rows()))


def from_server(run: Run, tmp_path: Path, plan: AnnotationPlan, say: Say) -> list[str]:
    """The ratings that come of what raters say in Label Studio."""
    copy = copy_of(run, tmp_path / "run-server")
    keep(copy, plan, say)
    return human(copy)


# -- the same words in every mode -------------------------------------------------------------------

MODES: dict[str, dict[str, Any]] = {
    "rate": {},
    "audit": {"judge": JUDGE},
    "findings": {"rubrics": (FINDINGS,)},
    "codes": {"rubrics": (QUESTION, CLIENT_TALK)},
    "pairs": {"per": 2},
}


def said_in(mode: str, item: str, rater: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """An answer as Label Studio has it, and the choices and texts of it as the page has them."""
    level = level_of(item, rater)
    texts: dict[str, Any] = {"notes": f"note by {rater}"}
    common: dict[str, Any] = {"notes": ("text", texts["notes"])}
    if mode == "findings":
        entries = [f"afraid, {rater}", "of <i>pain</i>"][: level % 3]
        choices = {FINDINGS.name: LISTED if entries else NOTHING}
        if entries:
            common[f"{FINDINGS.name}__1"], texts[f"{FINDINGS.name}__1"] = ("text", *entries), entries
        return {**common, **choices}, choices, texts
    if mode == "codes":
        question, talk = ("open", "closed", "none")[level % 3], ("change", "neutral")[level % 2]
        common |= {"question": {0: question, 2: "none"}, "client_talk": {1: talk, 3: "change"}}
        talks = {"client_talk__0": talk, "client_talk__1": "change"}
        return common, {"question__0": question, "question__1": "none", **talks}, texts
    if mode == "pairs":
        choices = {"empathy": ("first", "second", "tie")[level % 3], "goal_alignment": "tie"}
    else:
        choices = {"empathy": str(level), "goal_alignment": str(6 - level)}
        texts["evidence__empathy"], common["evidence__empathy"] = ["1", "3"], [3, 1]
    texts["reason__empathy"] = why = f"why by {rater} <b>&</b> 头痛"
    return {**common, **choices, "reason__empathy": ("text", why)}, choices, texts


# -- tables that raters fill in ---------------------------------------------------------------------

Fill = Callable[[dict[str, str]], None]


def fill_csv(path: Path, fill: Fill, delimiter: str = ",") -> None:
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    for row in rows:
        fill(row)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def fill_xlsx(path: Path, fill: Fill) -> None:
    import openpyxl

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


# -- known answers ----------------------------------------------------------------------------------


def gold_file(folder: Path, count: int = 6, prefix: str = "known") -> Path:
    """Transcripts with known answers, of the form of :func:`~tests.annotation.study.write_transcripts`."""
    lines = []
    for number in range(count):
        answers = {"empathy": 1 + number % 5, "goal_alignment": 5 - number % 5}
        turns = [
            {"role": "clinician", "speaker": "bot", "text": f"How was week {number}?", "meta": {}},
            {"role": "patient", "speaker": "Pat", "text": "Hard.", "meta": {}},
        ]
        reference = {"goal": f"sleep better {number}", "answers": answers}
        data = {"id": f"{prefix}-{number}", "turns": turns, "language": "en", "reference": reference}
        lines.append(json.dumps(data) + "\n")
    path = folder / f"{prefix}.jsonl"
    path.write_text("".join(lines), "utf-8")
    return path


def gold_cases(folder: Path, count: int = 6) -> tuple[TrainingCase, ...]:
    return read_training(gold_file(folder, count), "rate", (EMPATHY, GOAL), where="`gold`")


# -- plans in other languages -----------------------------------------------------------------------

#: What each mode asks: levels, labels of which several fit, what may not be answerable, and single turns.
ASKED = {
    "rate": (*LEVELS, "values_detected", "softening_sustain_talk"),
    "turns": ("open_question",),
    "audit": LEVELS,
    "findings": ("finding_extraction",),
    "pairs": LEVELS,
    "adjudicate": (*LEVELS, "softening_sustain_talk"),
}


def translated_plan(run: Run, name: str, language: str) -> AnnotationPlan:
    """The plan that one person, dora, rates. Of an adjudication, two raters have answered the run's units first."""
    options: dict[str, Any] = {
        "rubrics": tuple(find_rubric(rubric, language=language) for rubric in ASKED[name]), "per": 2,
    }  # fmt: skip
    if name == "adjudicate":
        return _to_settle(run, rating_plan(run, raters=("anna", "ben"), **options))
    judge = {"judge": JUDGE} if name == "audit" else {}
    mode = "rate" if name == "turns" else name
    return rating_plan(run, mode=mode, raters=("dora",), overlap=1, **judge, **options)


def _to_settle(run: Run, plan: AnnotationPlan) -> AnnotationPlan:
    """They differ on all but the goal, and one can give no answer to the last."""
    said = {"anna": ("2", "3", "1"), "ben": ("5", "3", NOT_APPLICABLE)}
    names = [question.name for question in plan.questions]
    answers = [
        rater_answer(item.id, rater, dict(zip(names, chosen, strict=True)), texts={"reason__empathy": ("because",)})
        for item in plan.items
        for rater, chosen in said.items()
    ]  # fmt: skip
    keep_answers(run, plan, answers)
    return adjudicate(Run(run.path), plan, ["dora"]).plan


# -- pages read back --------------------------------------------------------------------------------


def controls(page: str) -> dict[str, tuple[str, ...]]:
    """What a page asks, whatever it looks like: the name of each control → what can be recorded."""
    root = ElementTree.fromstring(page)
    recorded: dict[str, tuple[str, ...]] = {}
    for tags, choice in ((("Choices", "TextArea"), "Choice"), (("ParagraphLabels",), "Label")):
        for control in (control for tag in tags for control in root.iter(tag)):
            values = [str(each.get("alias", each.get("value"))) for each in control.iter(choice)]
            recorded[str(control.get("name"))] = tuple(values)
    for shown in root.iter("Paragraphs"):
        recorded[f"${shown.get('name')}"] = (str(shown.get("value")),)
    return recorded


def odd_rubric(text: str, *labels: str) -> Rubric:
    """A rubric of labels whose every text is one and the same."""
    return read({
        "name": "odd", "title": text, "construct": text, "definition": text, "unit": "transcript", "kind": "label",
        "direction": "none", "source": "here", "instructions": text,
        "labels": [{"label": label, "descriptor": text} for label in labels],
    })  # fmt: skip
