"""Answers that a rater saved as a file, as the page never reached its server again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.annotation.answer_store import read_store
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_collection import collect
from bedside.core.errors import InputError
from bedside.ratings.run import Run
from tests.annotation.builders import people
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import rating_plan


def saved(plan: AnnotationPlan, rater: str, levels: dict[str, str], **more: Any) -> dict[str, Any]:
    """What the page writes: of each item a level of empathy; nothing where it is skipped."""
    answers = [
        {
            "item": item, "state": "submitted" if level else "skipped", "version": 0, "mark": f"{item}-mark",
            "seconds": 9.5, "choices": {"empathy": [level], "goal_alignment": ["2"]} if level else {}, "texts": {},
        }
        for item, level in levels.items()
    ]  # fmt: skip
    return {"form": "bedside answers", "plan": plan_hash(plan), "rater": rater, "answers": answers, **more}


def imported(plan: AnnotationPlan, run: Run, folder: Path, *files: dict[str, Any]) -> Any:
    write_plan(plan, folder / "plan.json")
    paths = [folder / f"answers-{number}.json" for number in range(len(files))]
    for path, file in zip(paths, files, strict=True):
        path.write_text(json.dumps(file, separators=(",", ":")), "utf-8")
    return bedside.import_answers(folder / "plan.json", files=paths, run=run.path).results


def test_saved_answers_are_read_as_if_the_page_had_sent_them(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    first, second, third, *_ = plan.assignment["anna"]
    state, folder = opened(plan, run)
    file = saved(plan, "anna", {first: "4", second: "", third: "2"})
    kept = imported(plan, run, tmp_path, file, saved(plan, "ben", {first: "5"})).stored
    assert (kept.new, kept.submitted, kept.skipped) == (4, 3, 1)
    rows = people(Run(run.path), "empathy").filter(people(Run(run.path), "empathy")["error"].is_null())
    values = {(row["transcript_id"], row["rater"]): row["value"] for row in rows.to_dicts()}
    shown = {name: plan.by_id[name].transcript for name in (first, third)}
    assert values == {
        (shown[first], "human:anna"): 4.0, (shown[third], "human:anna"): 2.0, (shown[first], "human:ben"): 5.0
    }  # fmt: skip
    assert state.share("anna")["items"][0]["handed_in"] == "submitted"
    # Twice changes nothing, nor does the page that reaches its server at last.
    before = (run.path / "annotations" / folder.path.name / "answers.jsonl").read_bytes()
    again = imported(plan, Run(run.path), tmp_path, file).stored
    assert (again.new, again.revised, again.unchanged) == (0, 0, 3)
    late = sent(choices={"empathy": "4", "goal_alignment": "2"}).model_copy(update={"mark": f"{first}-mark"})
    assert state.save("anna", first, late)["version"] == 1
    collect(folder, Run(run.path), plan)
    assert (run.path / "annotations" / folder.path.name / "answers.jsonl").read_bytes() == before
    # What was handed in on the page since stays, and a draft on the server is no obstacle.
    state.save("anna", first, sent(choices={"empathy": "1", "goal_alignment": "1"}, version=1))
    fourth = plan.assignment["anna"][3]
    state.save("anna", fourth, sent("draft", {"empathy": "3"}))
    imported(plan, Run(run.path), tmp_path, saved(plan, "anna", {first: "4", fourth: "5"}))
    answers = read_store(Run(run.path), plan).answers()
    assert [answers[item, "anna"].choices["empathy"] for item in (first, fourth)] == [("1",), ("5",)]


def test_what_a_file_cannot_say_is_set_aside(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    mine, theirs = plan.assignment["anna"], plan.assignment["ben"][0]
    file = saved(plan, "anna", {mine[0]: "4", theirs: "4", "no-item": "4", mine[1]: "9"})
    file["answers"].append({**file["answers"][0], "item": mine[2], "choices": {}})
    summary = imported(plan, run, tmp_path, file)
    assert set(read_store(Run(run.path), plan).answers()) == {(mine[0], "anna")}
    assert [line.split(": ")[1] for line in summary.collected.set_aside] == [
        f"item {item}" for item in (theirs, "no-item", mine[1], mine[2])
    ]


@pytest.mark.parametrize("form", ["indented", "sorted", "byte order mark"])
def test_a_file_that_a_tool_wrote_anew_is_known(run: Run, tmp_path: Path, form: str) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    item = plan.assignment["anna"][0]
    text = json.dumps(
        saved(plan, "anna", {item: "4"}), indent=2 if form == "indented" else None, sort_keys=form == "sorted"
    )
    write_plan(plan, tmp_path / "plan.json")
    file = tmp_path / "mine.json"
    file.write_text(text, "utf-8-sig" if form == "byte order mark" else "utf-8")
    bedside.import_answers(tmp_path / "plan.json", files=[file], run=run.path)
    answers = read_store(Run(run.path), plan).answers()
    assert {key: answer.choices["empathy"] for key, answer in answers.items()} == {(item, "anna"): ("4",)}


def test_what_is_there_twice_or_was_not_handed_in_is_said(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    first, second, third, *_ = plan.assignment["anna"]
    file = saved(plan, "anna", {first: "4", second: "2", third: "3"})
    other = {"mark": "other-mark", "choices": {"empathy": ["1"], "goal_alignment": ["2"]}}
    file["answers"][2]["state"] = "draft"
    file["answers"] += [{**file["answers"][0], **other}, {**file["answers"][1], "mark": "same-answer"}]
    summary = imported(plan, run, tmp_path, file)
    answers = read_store(Run(run.path), plan).answers()
    assert {key: answer.choices["empathy"] for key, answer in answers.items()} == {
        (first, "anna"): ("4",), (second, "anna"): ("2",)
    }  # fmt: skip
    assert [line.split(": ")[1] for line in summary.collected.set_aside] == [f"item {third}", f"item {first}"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": "0" * 12}, "of another plan"), ({"rater": "eve"}, "eve"), ({"rater": "../anna"}, "anna"),
        ({"answers": [{"item": "a"}]}, "can't be read"), ({"more": 1}, "can't be read"),
    ],
)  # fmt: skip
def test_another_file_is_refused_in_a_line(run: Run, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1)
    file = saved(plan, "anna", {plan.assignment["anna"][0]: "4"})
    with pytest.raises(InputError, match=message) as refused:
        imported(plan, run, tmp_path, file | change)
    assert "\n" not in str(refused.value)
    assert not (run.path / "annotations" / plan_hash(plan) / "answers.jsonl").exists()
