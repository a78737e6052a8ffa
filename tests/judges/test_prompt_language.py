"""Asking a judge in another language from the command line, against a real server on loopback."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_state import page_questions
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.scoring.judging_orders import recorded_judgings
from tests.judges.llm.server import JudgeServer
from tests.judges.test_command import EXAMPLE, run

pytestmark = pytest.mark.server


def test_a_judge_asked_in_german_is_a_rater_beside_the_same_judge_in_english(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with JudgeServer() as server:
        command = (
            "score",
            EXAMPLE,
            "--rubrics",
            "empathy,goal_alignment",
            "--judge",
            server.judge,
            "--out",
            folder,
        )
        for language in ((), ("--prompt-language", "de")):
            code, _, err = run(capsys, *command, *language)
            assert code == 0, err
        german = [request for request in server.received if "Das Bewertungsraster" in request.prompt]
        assert len(german) == len(server.received) / 2
        assert all("The rubric" not in request.prompt for request in german)
        asked = len(server.received)
        assert run(capsys, *command, "--prompt-language", "de")[0] == 0
        assert len(server.received) == asked, "a rerun asks nothing"
    made = bedside.read_run(folder)
    judged = made.ratings.filter(pl.col("rater").str.starts_with("judge:"))
    raters = sorted(judged["rater"].unique())
    assert len(raters) == 2
    assert raters[1] == f"{raters[0]}+de"
    translated = find_rubric("empathy", language="de")
    versions = {entry.rater: entry.prompts["empathy"] for entry in recorded_judgings(made)}
    assert versions == {raters[0]: find_rubric("empathy").version, raters[1]: translated.version}
    orders = {entry.rater: entry.order(made) for entry in recorded_judgings(made)}
    again = orders[raters[1]]
    assert again is not None
    assert {rubric.language for rubric in again.work.rubrics} == {"de"}, "the run keeps what was asked"
    code, out, err = run(capsys, "report", folder, "--table", "rubrics", "--out", tmp_path / "tables")
    assert code == 0, err
    assert "in German" in out + "".join(
        path.read_text("utf-8") for path in (tmp_path / "tables").rglob("*.md")
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--rubrics", "empathy", "--prompt-language", "fr"),
            "'fr'; known: de, en, zh",
        ),
        (("--codes", "question", "--prompt-language", "de"), "behaviour codes are asked in English only"),
    ],
)
def test_a_language_that_there_is_not_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    with JudgeServer() as server:
        code, _, err = run(
            capsys, "score", EXAMPLE, *options, "--judge", server.judge, "--out", tmp_path / "run"
        )
        assert not server.received
    assert code == 2
    assert said in err
    assert not (tmp_path / "run").exists()


def test_a_plan_is_in_the_language_of_its_raters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, plan = tmp_path / "run", tmp_path / "plan.json"
    assert run(capsys, "score", EXAMPLE, "--metrics", "turns", "--out", folder)[0] == 0
    sample = (
        "sample",
        folder,
        "--raters",
        "anna,ben",
        "--rubrics",
        "empathy",
        "--language",
        "zh",
        "--out",
        plan,
    )
    code, _, err = run(capsys, *sample)
    assert code == 0, err
    assert "共情" in plan.read_text("utf-8")
    made = read_plan(plan)
    assert "治疗师" in labelling_page(made)
    assert page_questions(made)[0]["title"] == "共情"
    sheets = ("annotate", "export", plan, "--out", tmp_path / "sheets", "--format", "csv")
    code, _, err = run(capsys, *sheets)
    assert code == 0, err
