"""Sheets with a mean, flows and points as people rate by them: the same ratings from every channel, and blind."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

from bedside.analysis.agreement import agree
from bedside.analysis.estimation import estimate
from bedside.analysis.label_numbers import with_shares
from bedside.analysis.metric_facts import LevelShare
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import by_raters
from bedside.analysis.validation import validate
from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import AnnotationPlan, check_rubrics
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.fields import NOT_APPLICABLE
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_state import IncompleteEntryError
from bedside.annotation.sampling import make_plan
from bedside.annotation.sheet_import import SheetImport
from bedside.annotation.training_cases import read_training
from bedside.api.annotating import sample
from bedside.api.rating_questions import agree as agree_tables
from bedside.api.run_files import import_ratings
from bedside.core.errors import DataError, InputError
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubric_ratings import ratings_of
from bedside.judges.rubrics.composites import FlowExit
from bedside.judges.rubrics.rubric import Rubric, read
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.annotation import adjudication_tables
from bedside.reports.table_notes import final_notes
from bedside.scoring.score import score
from tests.annotation.builders import copy_of, fill_csv, fill_xlsx, human, people, rater_answer
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import RATERS, USERS, exported

_USUAL = {
    "construct": "c", "definition": "The question, in full.", "unit": "transcript", "source": "here", "title": "T",
}  # fmt: skip
LEVELS = [{"value": value, "descriptor": f"how it is at {value}"} for value in (1, 2, 3, 4)]
MANNERS = read({
    **_USUAL, "name": "manners", "kind": "sheet", "direction": "higher", "not_applicable": "nobody speaks",
    "criteria": [{"name": name, "definition": f"How {name}.", "scale": LEVELS} for name in ("warm", "clear")],
    "aggregate": {"name": "manners_mean", "mean_of": ["warm", "clear"]},
})  # fmt: skip
#: 1 → (no) 2 → (no) 3; a yes leads to the next dimension; two questions lead to 3.
STEPS = read({
    **_USUAL, "name": "steps", "kind": "flow", "direction": "none",
    "questions": [
        {"id": "1", "question": "Is there harm?", "dimension": "Asks", "severity": "CrimsonSecret"},
        {"id": "2", "question": "Is there haste?", "dimension": "Asks", "severity": "AmberSecret"},
        {"id": "3", "question": "Is there an end?", "dimension": "Ends", "severity": "CrimsonSecret"},
    ],
    "results": [
        {"when": {"severity": "CrimsonSecret"}, "level": "harmful"},
        {"when": {"severity": "AmberSecret"}, "level": "doubtful"},
        {"otherwise": "good practice"},
    ],
})  # fmt: skip
#: Each question is led to by one other alone.
TREE = read({
    **_USUAL, "name": "tree", "kind": "flow", "direction": "none",
    "leads": {"Yes": "next", "No": "end"},
    "questions": [{"id": id, "question": f"Is it {id}?", "dimension": "D"} for id in ("1", "2", "3")],
    "results": [{"when": {"question": "3"}, "level": "deep"}, {"otherwise": "shallow"}],
})  # fmt: skip
TEACH = read({
    **_USUAL, "name": "teach", "kind": "points", "direction": "higher", "points": {}, "each": "criteria",
    "inputs": [{"name": "criteria", "description": "what it is held against"}],
    "answer": [{"name": "met", "type": "boolean", "descriptor": "Whether it holds."}],
})  # fmt: skip
CRITERIA = (
    [
        {"criterion": "Asks what was understood.", "points": 6677, "tags": ["safety"]},
        {"criterion": "Gives the dose.", "points": 3311, "tags": []},
        {"criterion": "Frightens.", "points": -2222, "tags": ["safety"]},
    ],
    [{"criterion": "Asks how it went.", "points": 5, "tags": []}],
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return composite_study(tmp_path)


def composite_study(folder: Path, count: int = 4) -> Run:
    """Conversations of which every other has three criteria, and the rest one."""
    lines = []
    for number in range(count):
        turns: list[dict[str, Any]] = [
            {"role": ("clinician", "patient")[turn % 2], "speaker": "s", "text": f"Words {number}-{turn}.", "meta": {}}
            for turn in range(4)
        ]
        lines.append(json.dumps({
            "id": f"hidden-{number}", "system": "GPT-Secret", "case_id": f"case{number}", "turns": turns,
            "reference": {"criteria": CRITERIA[number % 2]}, "language": "en", "factors": {},
        }))  # fmt: skip
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    return score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run


def plan_of(run: Run, *rubrics: Rubric, **options: Any) -> AnnotationPlan:
    return make_plan(run, mode="rate", rubrics=rubrics, raters=("anna", "ben"), overlap=2, **options)


def rating(run: Run, metric: str, transcript: str = "hidden-0", rater: str = "human:anna") -> tuple[Any, ...]:
    row = people(run, metric).filter(pl.col("transcript_id") == transcript, pl.col("rater") == rater)
    return row.select("value", "label", "error").row(0)


def item_of(plan: AnnotationPlan, transcript: str) -> str:
    return next(item.id for item in plan.items if item.transcript == transcript)


def kept(run: Run, plan: AnnotationPlan, said: Mapping[str, str], transcript: str = "hidden-0") -> None:
    keep_answers(run, plan, [rater_answer(item_of(plan, transcript), "anna", said)])


# -- what is computed -------------------------------------------------------------------------------


def test_a_sheet_of_people_has_its_mean(run: Run) -> None:
    plan = plan_of(run, MANNERS)
    kept(run, plan, {"manners_warm": "2", "manners_clear": "3"})
    kept(run, plan, {"manners_warm": "4"}, "hidden-1")
    kept(run, plan, {"manners_warm": NOT_APPLICABLE, "manners_clear": "1"}, "hidden-2")
    assert rating(run, "manners_mean") == (2.5, None, None)
    assert rating(run, "manners_mean", "hidden-1") == (None, None, "only 1 of 2 criteria are rated")
    assert rating(run, "manners_clear", "hidden-1") == (None, None, "not answered")
    assert rating(run, "manners_mean", "hidden-2") == (None, None, "only 1 of 2 criteria are rated")


#: Answers to 1, 2 and 3 → each question's label, and the results of Asks and Ends; by hand from the flow above.
WALKS: list[tuple[tuple[str, str, str], tuple[str, ...]]] = [
    (("No", "No", "No"), ("No", "No", "No", "good practice", "good practice")),
    (("Yes", "", "Yes"), ("Yes", "-", "Yes", "harmful", "harmful")),
    (("No", "Yes", "No"), ("No", "Yes", "No", "doubtful", "good practice")),
    (("Yes", "Yes", "No"), ("Yes", "answered, but -", "No", "harmful", "good practice")),
    (
        ("No", "", "Yes"),
        ("No", "not answered", "answered, but an earlier question is open", *["question 2 has no answer"] * 2),
    ),
    (("No", "", ""), ("No", "not answered", "-", *["question 2 has no answer"] * 2)),
]


@pytest.mark.parametrize(("answers", "expected"), WALKS)
def test_a_walk_is_taken_from_the_answers(run: Run, answers: tuple[str, ...], expected: tuple[str, ...]) -> None:
    plan = plan_of(run, STEPS)
    kept(run, plan, {f"steps_{at}": said for at, said in enumerate(answers, 1) if said})
    got = [rating(run, name) for name in ("steps_1", "steps_2", "steps_3", "steps_asks", "steps_ends")]
    said = [label or error for _, label, error in got]
    assert said == [re.sub("-$", "not asked in this walk", one) for one in expected]


def test_points_are_summed_as_a_judges_are(run: Run) -> None:
    plan = plan_of(run, TEACH)
    kept(run, plan, {"teach__0": "met", "teach__1": "not met", "teach__2": "met"})
    kept(run, plan, {"teach__0": "not met"}, "hidden-1")
    kept(run, plan, {"teach__0": "met", "teach__2": "not met"}, "hidden-2")
    assert rating(run, "teach")[0] == pytest.approx((6677 - 2222) / (6677 + 3311))
    assert rating(run, "teach_safety")[0] == pytest.approx((6677 - 2222) / 6677)
    assert rating(run, "teach", "hidden-1") == (0.0, None, None)
    assert rating(run, "teach", "hidden-2") == (None, None, "no answer to 1 of its criteria")
    assert rating(run, "teach_safety", "hidden-2") == (1.0, None, None)
    transcript = next(one for one in run.transcripts() if one.id == "hidden-0")
    entries = [{"item": at, "met": met, "reason": ""} for at, met in enumerate((True, False, True))]
    judged = ratings_of(TEACH, transcript, [JudgeAnswer("transcript", (0, 1, 2), {"answers": entries}, None)])
    assert {metric: (value, reason) for _, metric, value, _, reason, _ in judged} == {
        metric: (value, reason)
        for metric, value, reason in people(run).filter(pl.col("transcript_id") == "hidden-0")
        .select("metric", "value", "reason").iter_rows()
    }  # fmt: skip


def test_what_is_skipped_is_missing_in_all(run: Run) -> None:
    plan = plan_of(run, MANNERS, STEPS, TEACH)
    keep_answers(run, plan, [rater_answer(item_of(plan, "hidden-0"), "anna")])
    rows = people(run)
    assert set(rows["error"]) == {"skipped by the rater"}
    assert sorted(rows["metric"]) == sorted((
        "manners_warm", "manners_clear", "manners_mean", "steps_1", "steps_2", "steps_3", "steps_asks", "steps_ends",
        "teach", "teach_safety",
    ))  # fmt: skip


# -- the same from every channel --------------------------------------------------------------------


def said(item: str, rater: str, plan: AnnotationPlan) -> dict[str, str]:
    """One criterion, question 2 where 1 is yes, and what isn't on a walk stay open."""
    harm = ("Yes", "No")[(len(item) + len(rater) + int(item[1:4], 16)) % 2]
    answers = {
        "manners_warm": str(1 + int(item[1:5], 16) % 4), "manners_clear": "3", "steps_1": harm, "steps_3": "No",
        **({} if harm == "Yes" else {"steps_2": "Yes" if rater == "anna" else "No"}),
        **dict.fromkeys(plan.fields_of(item, plan.by_name["teach"]), "met" if rater == "ben" else "not met"),
    }  # fmt: skip
    return answers


def from_studio(run: Run, plan: AnnotationPlan, tmp_path: Path) -> None:
    def say(item: str, rater: str) -> dict[str, Any]:
        why = {"reason__steps_1": ("text", f"why {rater}"), "reason__teach__0": ("text", "so")}
        return {**said(item, rater, plan), **why, "evidence__steps_1": [1]}

    keep_answers(run, plan, read_export(plan, exported(plan, say, USERS, run), RATERS, where="export").answers)


def from_page(run: Run, plan: AnnotationPlan, tmp_path: Path) -> None:
    state, folder = opened(plan, run)
    for rater, items in plan.assignment.items():
        for item in items:
            # What is left over of an earlier walk goes.
            beside = {"steps_2": "Yes"} if said(item, rater, plan)["steps_1"] == "Yes" else {}
            texts = {"reason__steps_1": f"why {rater}", "reason__teach__0": "so", "evidence__steps_1": "1"}
            state.save(rater, item, sent(choices={**said(item, rater, plan), **beside}, texts=texts))
    collect(folder, run, plan)


def from_table(run: Run, plan: AnnotationPlan, tmp_path: Path, form: str) -> None:
    def fill(row: dict[str, str]) -> None:
        row["answer"] = said(row["item"], row["rater"], plan).get(row["question"], "")
        if row["question"] == "steps_1":
            row["reason"], row["evidence"] = f"why {row['rater']}", "turn 1"
        if row["question"] == "teach__0":
            row["reason"] = "so"

    paths = export_files(plan, run, form, tmp_path / form)
    for path in paths:
        (fill_csv if form == "csv" else fill_xlsx)(path, fill)
    keep_answers(run, plan, read_files(plan, run, paths).answers)


def test_the_same_ratings_come_from_each_channel(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, MANNERS, STEPS, TEACH)
    results: list[list[str]] = []
    for channel in (from_studio, from_page, "csv", "xlsx"):
        copy = copy_of(run, tmp_path / f"run-{len(results)}")
        if isinstance(channel, str):
            from_table(copy, plan, tmp_path, channel)
        else:
            channel(copy, plan, tmp_path)
        results.append(human(copy))
    assert results[1:] == results[:1] * 3
    assert len(results[0]) == 4 * 2 * 9 + 2 * 2  # a theme where a case has one
    assert any("why anna" in row and "turn 1" in row for row in results[0])


def test_an_empty_cell_is_not_answered(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, TEACH, STEPS)
    (path, _) = export_files(plan, run, "csv", tmp_path / "csv")
    fill_csv(path, lambda row: row.update(answer="met" if row["question"] == "teach__0" else ""))
    kept = keep_answers(run, plan, read_files(plan, run, [path]).answers)
    assert (kept.unfinished, kept.submitted) == (4, 4)
    assert rating(run, "teach", "hidden-0") == (None, None, "no answer to 2 of its criteria")
    assert rating(run, "teach_safety", "hidden-0") == (None, None, "no answer to 1 of its criteria")
    assert rating(run, "teach", "hidden-1") == (1.0, None, None)
    assert rating(run, "steps_1") == (None, None, "not answered")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answer": "4"}, "'4' is not a choice"),
        ({"question": "steps_9"}, "steps_9"),
        ({"reason": "so"}, "has no answer"),
        ({"answer": "met", "evidence": "1", "question": "teach__0"}, "criteria have no evidence"),
    ],
)
def test_a_wrong_cell_is_named(run: Run, tmp_path: Path, change: dict[str, str], words: str) -> None:
    plan = plan_of(run, TEACH, STEPS)
    (path, _) = export_files(plan, run, "csv", tmp_path / "csv")
    fill_csv(path, lambda row: row.update(change) if row["question"] == "steps_1" else None)
    with pytest.raises(InputError, match=words) as caught:
        read_files(plan, run, [path])
    assert "anna.csv" in str(caught.value)


def test_a_plan_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, MANNERS, STEPS, TEACH, repeat=0.5)
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan


# -- what is asked of them --------------------------------------------------------------------------


def asks(number: int, off: int) -> str:
    """Whether there is harm, which is yes in every third conversation; every fifth is seen otherwise."""
    return "Yes" if (number % 3 == 0) != ((number + off) % 5 == 0) else "No"


@pytest.fixture
def judged(tmp_path: Path) -> Run:
    """24 conversations that anna, ben and a judge rate by all three; they differ in the first question alone."""
    run = composite_study(tmp_path, 24)
    plan = plan_of(run, MANNERS, STEPS, TEACH)
    answers, rows = [], []
    transcripts = {transcript.id: transcript for transcript in run.transcripts()}
    for item in plan.items:
        number, transcript = int(item.transcript.removeprefix("hidden-")), transcripts[item.transcript]
        met = number % 4 > 1
        for off, rater in enumerate(("anna", "ben", "judge")):
            harm = asks(number, off)
            if rater != "judge":
                fields = plan.fields_of(item.id, plan.by_name["teach"])
                answers.append(rater_answer(item.id, rater, {
                    "manners_warm": str(1 + number % 4), "manners_clear": "2", "steps_1": harm, "steps_3": "No",
                    **({} if harm == "Yes" else {"steps_2": "No"}),
                    **dict.fromkeys(fields, "met" if met else "not met"),
                }))  # fmt: skip
                continue
            labels = [harm, "No"] if harm == "Yes" else [harm, "No", "No"]
            count = len(CRITERIA[number % 2])
            entries = [{"item": at, "met": met, "reason": "so"} for at in range(count)]
            replies: tuple[tuple[Rubric, list[dict[str, Any]]], ...] = (
                (MANNERS, [{"reason": "so", "warm": 1 + number % 4, "clear": 2}]),
                (STEPS, [{"reason": "so", "label": label} for label in labels]),
                (TEACH, [{"answers": entries}]),
            )
            for rubric, of_rubric in replies:
                said = [JudgeAnswer("transcript", None, reply, None) for reply in of_rubric]
                rows += [
                    (transcript.id, "GPT-Secret", transcript.case_id, unit, metric, "judge:invented/model", 0, *rated)
                    for unit, metric, *rated in ratings_of(rubric, transcript, said)
                ]
    keep_answers(run, plan, answers)
    run = Run(run.path)
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return Run(run.path)


def test_agreement_is_by_question_and_by_result(judged: Run) -> None:
    view = open_ratings_view(judged.path)
    among = {one.metric: one for one in agree(view, seed=1) if one.kind == "people"}
    assert set(among) == {
        "manners_warm", "manners_clear", "manners_mean", "steps_1", "steps_2", "steps_3", "steps_asks", "steps_ends",
        "teach", "teach_safety",
    }  # fmt: skip
    harms = [(asks(number, 0), asks(number, 1)) for number in range(24)]
    share = sum(anna == ben for anna, ben in harms) / 24
    for metric in ("steps_1", "steps_asks"):
        assert among[metric].statistics["percent agreement"].estimate == pytest.approx(share)
    # A question is compared where both came to it.
    assert among["steps_2"].units == harms.count(("No", "No"))
    for metric in ("manners_mean", "teach"):
        assert among[metric].statistics["alpha"].estimate == pytest.approx(1)


def test_validation_is_by_question_and_by_result(judged: Run) -> None:
    (card,) = validate(open_ratings_view(judged.path))
    units = {one.metric: one.with_people for one in card.validations}
    assert units["steps_asks"] == units["manners_mean"] == units["teach"] == 24


def test_the_share_of_a_result_is_estimated(judged: Run) -> None:
    view = open_ratings_view(judged.path)
    shares = {one.metric: one for one in estimate(view, judge="judge:invented/model")}
    # The second question is never answered with yes: what isn't harmful is good practice.
    said = [sum(asks(number, off) == "Yes" for number in range(24)) / 24 for off in range(3)]
    harmful, good = shares["steps_asks=harmful"], shares["steps_asks=good practice"]
    assert harmful.naive.estimate == pytest.approx(said[2])
    assert harmful.human.estimate == pytest.approx((said[0] + said[1]) / 2)
    assert good.human.estimate == pytest.approx(1 - (said[0] + said[1]) / 2)
    assert shares["steps_asks=doubtful"].human.estimate == 0
    assert harmful.facts.title == "Asks: harmful"
    # By hand: levels 1 to 4 alike often, each beside 2.
    assert shares["manners_mean"].human.estimate == pytest.approx((2.5 + 2) / 2)
    assert not [metric for metric in shares if metric.startswith("steps_1")]
    assert estimate(view, judge="judge:invented/model", metrics=["steps_1"])[0].metric == "steps_1=Yes"
    with pytest.raises(DataError, match="steps_2 is a question that a flow asks of some transcripts only"):
        estimate(view, judge="judge:invented/model", metrics=["steps_2"])


# -- the pages --------------------------------------------------------------------------------------


def test_raters_see_neither_worth_nor_severity(run: Run, tmp_path: Path) -> None:
    plan = plan_of(run, MANNERS, STEPS, TEACH)
    state, _ = opened(plan, run)
    shown = json.dumps([state.share("anna"), *(state.item("anna", item) for item in plan.assignment["anna"])])
    shown += labelling_page(plan) + json.dumps(label_studio_tasks(plan, run))
    shown += "".join(path.read_text("utf-8-sig") for path in export_files(plan, run, "csv", tmp_path / "csv"))
    assert "Asks what was understood." in shown
    for hidden in ("Secret", "6677", "3311", "2222", "harmful", "good practice", "safety", "hidden-", "case0"):
        assert hidden not in shown, hidden


def test_the_page_wants_what_the_walk_asks(run: Run) -> None:
    plan = plan_of(run, STEPS, TEACH)
    state, _ = opened(plan, run)
    item = item_of(plan, "hidden-0")
    met = {f"teach__{at}": "met" for at in range(2)}
    with pytest.raises(IncompleteEntryError) as caught:
        state.save("anna", item, sent(choices={"steps_1": "Yes", **met}))
    assert set(caught.value.wanting) == {"steps_3", "teach__2"}
    assert caught.value.wanting["teach__2"] == "Please say whether it is met: Frightens."
    state.save(
        "anna", item, sent(choices={"steps_1": "Yes", "steps_2": "No", "steps_3": "No", **met, "teach__2": "met"})
    )
    assert "steps_2" not in state.item("anna", item)["entry"]["choices"]


def test_label_studio_shows_a_tree_question_by_question(run: Run) -> None:
    root = ElementTree.fromstring(labelling_page(plan_of(run, TREE)))
    when = {one.get("name"): (one.get("whenTagName"), one.get("whenChoiceValue")) for one in root.iter("Choices")}
    assert when == {"tree_1": (None, None), "tree_2": ("tree_1", "Yes"), "tree_3": ("tree_2", "Yes")}
    views = [view for view in root.iter("View") if view.get("whenTagName") == "tree_1"]
    assert any(one.get("name") == "tree_3" for one in views[0].iter("Choices"))


def test_label_studio_says_where_to_go_on_where_it_cannot_show_it(run: Run) -> None:
    root = ElementTree.fromstring(labelling_page(plan_of(run, STEPS)))
    assert {one.get("whenTagName") for one in root.iter("Choices")} == {None}
    told = {one.get("name"): one.get("value") for one in root.iter("Text")}
    assert told["leads__steps_1"] == "Yes: go on with question 3.\nNo: go on with question 2."
    assert told["leads__steps_3"] == "Yes: no further question.\nNo: no further question."


def test_examples_of_a_question_stand_wherever_it_is_asked(run: Run, tmp_path: Path) -> None:
    told = "“Hurry up”, and looking at the clock."
    second = replace(STEPS.questions[1], examples=told)
    plan = plan_of(run, replace(STEPS, questions=(STEPS.questions[0], second, STEPS.questions[2])))
    root = ElementTree.fromstring(labelling_page(plan))
    texts = {one.get("name"): one.get("value") for one in root.iter("Text") if "examples" in str(one.get("name"))}
    assert texts == {"examples__steps_2": told}
    (path, _) = export_files(plan, run, "csv", tmp_path / "csv")
    asked: dict[str, str] = {}
    fill_csv(path, lambda row: asked.update({row["question"]: row["asked"]}))
    assert asked["steps_2"].splitlines()[:2] == ["Asks (2): Is there haste?", told]
    assert not [question for question, text in asked.items() if told in text and question != "steps_2"]
    (book, _) = export_files(plan, run, "xlsx", tmp_path / "xlsx")
    sheet = openpyxl.load_workbook(book)["Answers"]
    assert any(told in str(cell.value) for row in sheet.iter_rows() for cell in row)


def test_a_criterion_that_a_case_lacks_is_refused(run: Run) -> None:
    plan = plan_of(run, TEACH)
    task = next(
        task["data"] for task in label_studio_tasks(plan, run)
        if task["data"]["external_id"] == item_of(plan, "hidden-1")
    )  # fmt: skip
    assert task["criterion_teach_1"] == "(there is no further criterion: leave this open)"
    with pytest.raises(InputError, match="past the 1 criteria"):
        kept(run, plan, {"teach__1": "met"}, "hidden-1")


def test_what_has_no_meaning_is_refused(run: Run, tmp_path: Path) -> None:
    for mode in ("audit", "pairs", "codes", "findings"):
        for rubric in (STEPS, TEACH)[: 1 if mode == "audit" else 2]:
            with pytest.raises(DataError, match=rf"{rubric.name} is of kind {rubric.kind}"):
                make_plan(run, mode=mode, rubrics=[rubric], raters=["anna"], overlap=1)
    with pytest.raises(InputError, match="criteria of its own"):
        export_files(plan_of(run, TEACH), run, "argilla", tmp_path / "argilla")


# -- known answers ----------------------------------------------------------------------------------


def known_cases(run: Run, folder: Path, *answers: Mapping[str, Any]) -> tuple[Any, ...]:
    line = json.loads((run.path.parent / "in.jsonl").read_text().splitlines()[0])
    lines = []
    for number, own in enumerate(answers):
        data = {**line, "id": f"known-{number}", "case_id": f"known-{number}"}
        data["reference"] = {**data["reference"], "answers": own}
        lines.append(json.dumps(data))
    path = folder / "known.jsonl"
    path.write_text("\n".join(lines) + "\n")
    parts = [part for rubric in (STEPS, TEACH) for part in rubric.question_rubrics]
    return read_training(path, "rate", parts, walked={part.name for part in STEPS.question_rubrics})


def test_walks_and_criteria_have_known_answers(run: Run, tmp_path: Path) -> None:
    cases = known_cases(
        run, tmp_path, {"steps_1": "No", "steps_2": "No", "steps_3": "Yes", "teach": [True, False, False]},
        {"steps_1": "Yes", "steps_3": "No", "teach": [False, True, False]},
    )  # fmt: skip
    assert cases[1].answers["teach"] == {"teach__0": "not met", "teach__1": "met", "teach__2": "not met"}
    assert "steps_2" not in cases[1].answers
    plan = make_plan(run, mode="rate", rubrics=[STEPS, TEACH], raters=["anna"], overlap=1, training=cases)
    first, second = (item.id for item in plan.training)
    page, folder = opened(plan, run)
    walk = {"steps_1": "No", "steps_2": "No", "steps_3": "Yes"}
    page.save("anna", first, sent(choices={**walk, "teach__0": "met", "teach__1": "met", "teach__2": "not met"}))
    told = [(one["right"], one["known"], one["own"]) for one in page.item("anna", first)["feedback"]]
    assert told == [
        (True, "No", "No"), (True, "No", "No"), (True, "Yes", "Yes"), (True, "met", "met"), (False, "not met", "met"),
        (True, "not met", "not met"),
    ]  # fmt: skip
    # By another walk: the first question is answered otherwise, and the one that follows isn't among the known ones.
    other = {"teach__0": "not met", "teach__1": "met", "teach__2": "not met"}
    page.save("anna", second, sent(choices={"steps_1": "No", "steps_2": "Yes", "steps_3": "No", **other}))
    collect(folder, run, plan)
    (anna,) = plan_progress(run, plan).training
    assert (anna.answers, anna.right, anna.link_f1) == (6 + 5, 5 + 4, None)
    assert anna.kappa is not None
    assert anna.kappa < 1


# -- final answers to parts -------------------------------------------------------------------------


def settled(run: Run, plan: AnnotationPlan, final: Mapping[str, dict[str, str]]) -> Run:
    """The run in which dora settled what anna and ben differ on."""
    second = adjudicate(Run(run.path), plan, ("dora",)).plan
    said = {item_of(second, transcript): choices for transcript, choices in final.items()}
    keep_answers(Run(run.path), second, [rater_answer(item, "dora", choices) for item, choices in said.items()])
    return Run(run.path)


def both_say(run: Run, plan: AnnotationPlan, said: Mapping[str, tuple[dict[str, str], dict[str, str]]]) -> None:
    items = {transcript: item_of(plan, transcript) for transcript in said}
    keep_answers(run, plan, [
        rater_answer(items[transcript], rater, choices)
        for transcript, pair in said.items() for rater, choices in zip(("anna", "ben"), pair, strict=True)
    ])  # fmt: skip


def test_what_has_no_final_label_is_left_out_and_sheets_and_flows_go_by_their_names(run: Run) -> None:
    plan = plan_of(run, MANNERS, STEPS, TEACH)
    first = {"manners_warm": "1", "manners_clear": "3", "steps_1": "No", "steps_2": "Yes", "steps_3": "No"}
    other = {**first, "manners_warm": "4", "steps_1": "Yes", "teach__0": "not met"}
    both_say(run, plan, {"hidden-0": (first | {"teach__0": "met"}, other)})

    def settled_rubrics(*names: str) -> tuple[list[str], list[str]]:
        found = adjudicate(run, plan, ("dora",), rubrics=names or None)
        notes = [note for table in adjudication_tables(found) for note in table.notes if "Left out" in note]
        return [counts.rubric for counts in found.counts], notes

    parts = ["manners_warm", "manners_clear", "steps_1", "steps_2", "steps_3"]
    assert settled_rubrics() == ([*parts, "teach"], [])
    assert settled_rubrics("manners", "steps", "steps_2") == (parts, [])
    assert settled_rubrics("steps") == (parts[2:], [])
    assert settled_rubrics("manners", "teach") == ([*parts[:2], "teach"], [])
    with pytest.raises(DataError, match="nothing is left to settle"):
        adjudicate(run, plan_of(run, TEACH), ("dora",))


def test_criteria_that_raters_differ_on_are_settled(run: Run) -> None:
    plan = plan_of(run, TEACH)
    first = {"teach__0": "met", "teach__1": "met", "teach__2": "not met"}
    both_say(run, plan, {"hidden-0": (first, {**first, "teach__1": "not met"}), "hidden-1": ({"teach__0": "met"},) * 2})
    second = adjudicate(Run(run.path), plan, ("dora",)).plan
    (item,) = second.items
    assert (item.transcript, list(second.opinions[item.id])) == ("hidden-0", ["teach__1"])
    assert second.agreed[item.id] == {"teach__0": "met", "teach__2": "not met"}
    state, folder = opened(second, run)
    assert [one["field"] for one in state.item("dora", item.id)["of_case"]["teach"]] == ["teach__1"]
    state.save("dora", item.id, sent(choices={"teach__1": "not met"}))
    collect(folder, run, second)
    final = dict(people(run).filter(rater="human:dora").select("metric", "value").iter_rows())
    # By hand: of 6677 + 3311 points 6677; by safety all, as nothing frightens.
    assert final == {"teach.adjudicated": pytest.approx(6677 / 9988), "teach_safety.adjudicated": 1}
    assert open_ratings_view(run.path).final_labels("teach") == {("hidden-0", "transcript"): pytest.approx(6677 / 9988)}


def test_a_mean_follows_from_final_levels(run: Run) -> None:
    plan = plan_of(run, MANNERS)
    both_say(run, plan, {
        "hidden-0": ({"manners_warm": "1", "manners_clear": "3"}, {"manners_warm": "4", "manners_clear": "3"}),
        "hidden-1": ({"manners_warm": "2", "manners_clear": "2"}, {"manners_warm": "2", "manners_clear": "4"}),
        "hidden-2": ({"manners_warm": "1", "manners_clear": "1"}, {"manners_warm": "1", "manners_clear": "1"}),
    })  # fmt: skip
    view = open_ratings_view(
        settled(run, plan, {"hidden-0": {"manners_warm": "4"}, "hidden-1": {"manners_clear": NOT_APPLICABLE}}).path
    )

    def means(of: RatingsView) -> dict[str, float]:
        return dict(of.transcript_values(["manners_mean"]).drop_nulls("value")["transcript_id", "value"].iter_rows())

    # (4 + 3) / 2 in place of people's (2 + 3.5) / 2; no answer settles nothing: (2 + 3) / 2; 1 as all say.
    assert means(view) == {"hidden-0": 3.5, "hidden-1": 2.5, "hidden-2": 1.0}
    assert means(by_raters(view, ["human:anna", "human:ben"]))["hidden-0"] == 2.75
    # People who rate alone keep what they said: 2 and 3.5, 2 and 3, 1 and 1 of anna and ben.
    assert [one.adjudicated for one in agree(view, seed=1) if one.kind == "people"] == [0, 0, 0]


@pytest.mark.parametrize(
    ("anna", "ben", "final", "expected"),
    [
        # Question 2 was asked of ben alone, whose answer the walk takes.
        (("Yes", "", "No"), ("No", "Yes", "No"), {"steps_1": "No"}, ("doubtful", "good practice")),
        (("Yes", "", "No"), ("No", "Yes", "Yes"), {"steps_1": "Yes", "steps_3": "Yes"}, ("harmful", "harmful")),
        # Question 3 stays open, so that nothing follows, and people's own results stand.
        (("Yes", "", "No"), ("No", "Yes", "Yes"), {"steps_1": "Yes"}, None),
        # Nobody was asked question 2.
        (("Yes", "", "No"), ("Yes", "", "Yes"), {"steps_3": "No"}, ("harmful", "good practice")),
    ],
)
def test_results_follow_from_final_answers(
    run: Run, anna: tuple[str, ...], ben: tuple[str, ...], final: dict[str, str], expected: tuple[str, str] | None
) -> None:
    plan = plan_of(run, STEPS)
    walks = [{f"steps_{at}": label for at, label in enumerate(own, 1) if label} for own in (anna, ben)]
    both_say(run, plan, {"hidden-0": (walks[0], walks[1])})
    view = open_ratings_view(settled(run, plan, {"hidden-0": final}).path)
    got = [view.final_labels(metric) for metric in ("steps_asks", "steps_ends")]
    assert got == ([{}, {}] if expected is None else [{("hidden-0", "transcript"): label} for label in expected])
    kept = (
        "Asks: 1 of 1 adjudicated unit has no final result; people's own stands, if any. The walk of final answers is "
        "open at question 3: raters differ on it, or no answer counts."
    )
    settled_note = "Asks: 1 unit was adjudicated; the final label stands in place of people's mean."
    assert final_notes(view, ["steps_asks"]) == ((settled_note,) if expected else (kept,))


def test_what_final_answers_leave_open_is_named_where_nobody_has_a_result(run: Run) -> None:
    plan = plan_of(run, STEPS)
    # Anna's answer to question 3 doesn't count, as her walk is open at 2.
    both_say(run, plan, {"hidden-0": ({"steps_1": "No", "steps_3": "Yes"}, {"steps_1": "Yes"})})
    view = open_ratings_view(settled(run, plan, {"hidden-0": {"steps_1": "Yes"}}).path)
    values = view.transcript_values(["steps_asks", "steps_ends"]).filter(transcript_id="hidden-0")
    assert values.select("value", "error").rows() == [(None, "question 3 has no answer")] * 2
    (note,) = final_notes(view, ["steps_asks"])
    assert "1 of 1 adjudicated unit has no final result" in note
    assert "open at question 3" in note


def test_what_final_answers_make_not_relevant_counts_for_nothing(run: Run) -> None:
    plan = plan_of(run, replace(STEPS, not_relevant=(FlowExit(question="3", answer="Yes"),)))
    harm, none = {"steps_1": "Yes", "steps_3": "No"}, {"steps_1": "No", "steps_2": "No", "steps_3": "No"}
    both_say(run, plan, {
        "hidden-0": (harm, {**harm, "steps_3": "Yes"}), "hidden-1": (harm, none), "hidden-2": (none, none),
    })  # fmt: skip
    view = open_ratings_view(settled(run, plan, {"hidden-0": {"steps_3": "Yes"}, "hidden-1": {"steps_1": "No"}}).path)
    shown = with_shares(view, {"steps_asks": LevelShare("harmful", "lower")})
    values = shown.transcript_values(["steps_asks"]).select("transcript_id", "value", "error").sort("transcript_id")
    why = "not relevant: question 3 is answered Yes"
    assert values.rows() == [("hidden-0", None, why), ("hidden-1", 0.0, None), ("hidden-2", 0.0, None)]
    # The same where the raters are named after labels became numbers.
    named = by_raters(shown, ["human:*"]).transcript_values(["steps_asks"])
    assert named.select("transcript_id", "value", "error").sort("transcript_id").equals(values)


def test_a_share_is_estimated_with_results_that_follow(judged: Run) -> None:
    plan = plan_of(judged, MANNERS, STEPS, TEACH)
    second = adjudicate(judged, plan, ("dora",), rubrics=["steps_1"]).plan
    keep_answers(judged, second, [rater_answer(item.id, "dora", {"steps_1": "No"}) for item in second.items])
    view = open_ratings_view(judged.path)
    both = sum(asks(number, 0) == asks(number, 1) == "Yes" for number in range(24))
    (harmful,) = (one for one in estimate(view, judge="judge:invented/model") if one.metric == "steps_asks=harmful")
    assert harmful.human.estimate == pytest.approx(both / 24)
    assert harmful.samples[0].adjudicated == sum(asks(number, 0) != asks(number, 1) for number in range(24)) > 0


def test_that_other_people_rated_a_share_is_said_of_it_in_words(judged: Run) -> None:
    whole = open_ratings_view(judged.path)
    first = pl.col("transcript_id").str.extract(r"(\d+)").cast(int) < 12
    ratings = whole.ratings.with_columns(pl.when(first).then(pl.lit("A")).otherwise(pl.lit("B")).alias("system"))
    view = replace(whole, ratings=ratings.filter(~first | (pl.col("rater") != "human:ben")))
    designs = [one.people for one in estimate(view, judge="judge:invented/model", metrics=["steps_asks"]) if one.people]
    assert {design.facts.title for design in designs} == {"Asks: harmful", "Asks: doubtful", "Asks: good practice"}


# -- rubrics that the run's own suite names ---------------------------------------------------------

KINDNESS_FILE = """
rubric: kindness
criteria:
  - {name: warm, definition: How warm., scale: 1-4}
  - {name: clear, definition: How clear., scale: 1-4}
aggregate: {name: kindness_mean, mean_of: [warm, clear]}
"""


def test_a_run_knows_the_rubrics_of_its_suite(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kindness.yaml").write_text(KINDNESS_FILE)
    (tmp_path / "own.yaml").write_text(
        "{name: own, title: Own, description: d, source: s, metrics: [structure], rubrics: [kindness.yaml]}"
    )
    own = score([tmp_path / "in.jsonl"], tmp_path / "own-run", suite=str(tmp_path / "own.yaml")).run
    again = score([tmp_path / "in.jsonl"], run.path, suite=str(tmp_path / "own.yaml")).run
    (tmp_path / "kindness.yaml").unlink()
    for known in (own, again):
        drawn = sample(
            known, raters=["anna"], overlap=1, per=2, rubrics=["kindness"], out=tmp_path / f"{known.path.name}.json"
        )
        assert [planned.rubric.name for planned in drawn.plan.wholes] == ["kindness"]
    with pytest.raises(InputError, match=r"name others with .*, such as kindness"):
        sample(own, raters=["anna"], overlap=1, per=2)


# -- ratings of parts in files of one's own ---------------------------------------------------------


def imported(run: Run, folder: Path, *lines: str) -> tuple[SheetImport, dict[tuple[str, str], Any]]:
    """What an import of these lines did, and what anna has by transcript and metric: value, label or why neither."""
    (folder / "parts.csv").write_text("\n".join(lines) + "\n")
    done = import_ratings(run, folder / "parts.csv")
    rows = (
        people(run).filter(pl.col("rater") == "human:anna").select("transcript_id", "metric", "value", "label", "error")
    )
    return done, {
        (transcript, metric): next(one for one in (value, label, error) if one is not None)
        for transcript, metric, value, label, error in rows.iter_rows()
    }


@pytest.fixture
def planned(run: Run) -> Run:
    """A run that knows the rubrics from a plan whose one answer ben gave."""
    plan = plan_of(run, MANNERS, STEPS, TEACH)
    keep_answers(run, plan, [rater_answer(item_of(plan, "hidden-3"), "ben", {"manners_warm": "1"})])
    return Run(run.path)


def test_means_are_computed_of_imported_criteria(planned: Run, tmp_path: Path) -> None:
    done, said = imported(
        planned,
        tmp_path,
        "item,rater,manners_warm,manners_clear",
        "hidden-0,anna,4,1",
        "hidden-1,anna,2,",
        "hidden-2,anna,1,2",
    )
    assert {item: said[item, "manners_mean"] for item in ("hidden-0", "hidden-1", "hidden-2")} == {
        "hidden-0": 2.5, "hidden-1": "only 1 of 2 criteria are rated", "hidden-2": 1.5,
    }  # fmt: skip
    assert list(done.computed_words()) == ["Computed: manners_mean for 2 of 3 (1: only 1 of 2 criteria are rated)."]
    assert (done.added, done.replaced) == (5, 0)
    # The criterion that lacked comes in another file: the mean is made of both.
    done, said = imported(planned, tmp_path, "item,rater,manners_clear", "hidden-1,anna,3")
    assert said["hidden-1", "manners_mean"] == 2.5
    assert list(done.computed_words()) == ["Computed: manners_mean for 1 of 1."]
    # What a file states itself stands.
    done, said = imported(
        planned, tmp_path, "item,rater,manners_warm,manners_clear,manners_mean", "hidden-2,anna,1,2,1.4"
    )
    assert (said["hidden-2", "manners_mean"], done.computed) == (1.4, ())


def test_results_are_computed_of_imported_answers(planned: Run, tmp_path: Path) -> None:
    done, said = imported(
        planned, tmp_path, "item,rater,steps_1,steps_2,steps_3", "hidden-0,anna,No,Yes,No", "hidden-1,anna,Yes,No,Yes",
        "hidden-2,anna,No,,Yes",
    )  # fmt: skip
    assert {key: value for key, value in said.items() if key[1].startswith("steps")} == {
        ("hidden-0", "steps_1"): "No", ("hidden-0", "steps_2"): "Yes", ("hidden-0", "steps_3"): "No",
        ("hidden-0", "steps_asks"): "doubtful", ("hidden-0", "steps_ends"): "good practice",
        ("hidden-1", "steps_1"): "Yes", ("hidden-1", "steps_2"): "answered, but not asked in this walk",
        ("hidden-1", "steps_3"): "Yes", ("hidden-1", "steps_asks"): "harmful", ("hidden-1", "steps_ends"): "harmful",
        ("hidden-2", "steps_1"): "No", ("hidden-2", "steps_2"): "not answered",
        ("hidden-2", "steps_3"): "answered, but an earlier question is open",
        ("hidden-2", "steps_asks"): "question 2 has no answer", ("hidden-2", "steps_ends"): "question 2 has no answer",
    }  # fmt: skip
    assert list(done.computed_words()) == [
        "Computed: steps_asks, steps_ends for 2 of 3 (1: question 2 has no answer).",
        "Not counted: steps_2 (1: answered, but not asked in this walk); steps_3 (1: answered, but an earlier question "
        "is open).",
    ]
    imported(planned, tmp_path, "item,rater,steps_1,steps_2,steps_3", "hidden-0,ben,No,Yes,No", "hidden-1,ben,Yes,,No")
    (table,) = (one for one in agree_tables(planned, rounds=["import"], seed=1) if one.name == "agreement")
    # Of 8 answers of anna's and 5 of ben's two don't count; of their 3 and 2 walks one stays open.
    assert [text for text in table.notes if text.startswith("T: ")] == [
        "T: 2 of 13 answers don't count: the walk doesn't ask for them, or an earlier question is open.",
        "T: 1 of 5 walks end at an open question and have no results.",
    ]


def test_points_are_computed_of_imported_criteria(planned: Run, tmp_path: Path) -> None:
    done, said = imported(
        planned, tmp_path, "item,rater,teach__0,teach__1,teach__2", "hidden-0,anna,met,not met,met",
        "hidden-1,anna,not met,,", "hidden-2,anna,met,,",
    )  # fmt: skip
    assert said["hidden-0", "teach"] == pytest.approx((6677 - 2222) / (6677 + 3311))
    assert said["hidden-0", "teach_safety"] == pytest.approx((6677 - 2222) / 6677)
    assert (said["hidden-1", "teach"], said["hidden-2", "teach"]) == (0.0, "no answer to 2 of its criteria")
    assert list(done.computed_words()) == [
        "Computed: teach for 2 of 3 (1: no answer to 2 of its criteria); teach_safety for 1 of 2 (1: no answer to 1 of "
        "its criteria)."
    ]
    assert not [metric for _, metric in said if "__" in metric]
    for cell, words in (("perhaps,", "met or not met, and not 'perhaps'"), (",met", "has 1 criterion")):
        with pytest.raises(InputError, match=words):
            imported(planned, tmp_path, "item,rater,teach__0,teach__1", f"hidden-1,anna,{cell}")


# -- what people can be asked -----------------------------------------------------------------------

#: Rubrics of each row of the table in the docs.
OF_KIND: dict[str, list[Any]] = {
    "level": ["empathy"], "label": ["open_question"], "set": ["values_detected"], "sheet, by its criteria": [MANNERS],
    "flow": [STEPS], "points": [TEACH], "pairs and index: links": ["concern_matching", "finding_check"],
    "vector, by its parts": ["turn_evaluator"], "list": ["finding_extraction"],
}  # fmt: skip


def test_the_docs_say_what_can_be_asked_of_each_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "rubrics.md").read_text()
    lines = page.partition("### What people can be asked")[2].partition("\n\n- ")[0].strip().splitlines()
    names, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert [row[0] for row in rows] == list(OF_KIND)
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        for rubric in (RUBRICS.load(one) if isinstance(one, str) else one for one in OF_KIND[row[0]]):
            assert takes("findings" if rubric.kind == "list" else "rate", rubric)
            for mode in ("audit", "codes", "pairs"):
                assert takes(mode, rubric) == (cells[f"`{mode}`"] != "no")
            assert takes("adjudicate", rubric) == (cells["settled"] != "no")


def takes(mode: Any, rubric: Rubric) -> bool:
    by_parts = ("sheet", "vector") if mode == "audit" else ("sheet",)
    whole = mode not in ("rate", "adjudicate") and rubric.kind not in by_parts
    try:
        check_rubrics(mode, (rubric,) if whole else rubric.question_rubrics)
    except ValueError:
        return False
    return True
