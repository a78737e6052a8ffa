"""What raters say on the rating page gives the very ratings that it gives said in Label Studio."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.rating_page.page_collection import collect
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import JUDGE, RATERS, USERS, exported, level_of, rating_plan

FINDINGS = RUBRICS.load("finding_extraction")
CODES = (CODEBOOK.load("question"), CODEBOOK.load("client_talk"))
MODES: dict[str, dict[str, Any]] = {
    "rate": {},
    "audit": {"judge": JUDGE},
    "findings": {"rubrics": (FINDINGS,)},
    "codes": {"rubrics": CODES},
    "pairs": {"per": 2},
}


def said(mode: str, item: str, rater: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """An answer as Label Studio has it, and the choices and texts of it as the page has them."""
    level = level_of(item, rater)
    notes, why = f"note by {rater}", f"why by {rater} <b>&</b> 头痛"
    texts: dict[str, Any] = {"notes": notes}
    common: dict[str, Any] = {"notes": ("text", notes)}
    if mode == "findings":
        entries = [f"afraid, {rater}", "of <i>pain</i>"][: level % 3]
        choices = {FINDINGS.name: "listed" if entries else "nothing to list"}
        listed = {f"{FINDINGS.name}__1": ("text", *entries)} if entries else {}
        return (
            {**common, **choices, **listed},
            choices,
            {**texts, **({f"{FINDINGS.name}__1": entries} if entries else {})},
        )
    if mode == "codes":
        question, talk = ("open", "closed", "none")[level % 3], ("change", "neutral")[level % 2]
        by_turn = {"question": {0: question, 2: "none"}, "client_talk": {1: talk, 3: "change"}}
        choices = {
            "question__0": question, "question__1": "none", "client_talk__0": talk, "client_talk__1": "change",
        }  # fmt: skip
        return {**common, **by_turn}, choices, texts
    if mode == "pairs":
        choices = {"empathy": ("first", "second", "tie")[level % 3], "goal_alignment": "tie"}
    else:
        choices = {"empathy": str(level), "goal_alignment": str(6 - level)}
        texts["evidence__empathy"] = ["1", "3"]
        common["evidence__empathy"] = [3, 1]
    return {**common, **choices, "reason__empathy": ("text", why)}, choices, {**texts, "reason__empathy": why}


def ratings(run: Run) -> list[tuple[Any, ...]]:
    rows = Run(run.path).ratings.filter(pl.col("rater").str.starts_with("human:"))
    return sorted(rows.iter_rows(), key=repr)


@pytest.mark.parametrize("mode", MODES)
def test_the_same_words_give_the_same_ratings(run: Run, mode: str, tmp_path: Path) -> None:
    plan = rating_plan(run, mode=mode, **MODES[mode])
    other = Run(shutil.copytree(run.path, tmp_path / "other"))
    state, folder = opened(plan, run)
    for rater in plan.raters:
        for item in plan.assignment[rater]:
            _, choices, texts = said(mode, item, rater)
            state.save(rater, item, sent(choices=choices, texts=texts))
    collect(folder, run, plan)
    keep_answers(other, plan, read_export(plan, _export(plan, other), RATERS, where="export").answers)
    own = ratings(run)
    assert own
    assert own == ratings(other)


def _export(plan: AnnotationPlan, run: Run) -> list[dict[str, Any]]:
    shown = {task["data"]["external_id"]: task["data"] for task in label_studio_tasks(plan, run)}
    tasks = exported(plan, lambda item, rater: said(plan.mode, item, rater)[0], USERS)
    return [{**task, "data": shown[task["data"]["external_id"]]} for task in tasks]
