"""What commands write can be read by its owner only, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import bedside
from tests.conftest import exit_code
from tests.judges.llm.server import JudgeServer

EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
RATINGS = EXAMPLE.with_name("ratings.csv")


@pytest.fixture(autouse=True)
def open_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A umask that takes nothing away."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    yield
    os.umask(before)


def run(*arguments: object) -> None:
    assert exit_code(*arguments) == 0, arguments


def open_to_others(folder: Path) -> list[str]:
    """What others may read; of locks, which are empty, nothing is asked."""
    return [
        f"{path.relative_to(folder)} {stat.filemode(path.stat().st_mode)}"
        for path in sorted(folder.rglob("*"))
        if path.stat().st_mode & 0o077 and not (path.suffix == ".lock" and not path.stat().st_size)
        and path.name != ".lock"
    ]  # fmt: skip


@pytest.mark.server
def test_runs_plans_pages_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = ("score", EXAMPLE, "--metrics", "structure,behaviour", "--out", "run")
    with JudgeServer() as server:
        run(*score, "--rubrics", "empathy", "--judge", server.judge)
    run(*score, "--rubrics", "empathy", "--judge", "openai/gpt-5-mini", "--batch-out", "calls.jsonl")
    run("ratings", "import", "run", RATINGS, "--scale", "1-5")
    run("agree", "run", "--out", "tables")
    run("report", "run", "--format", "html,csv", "--out", "shared")
    run("report", "run", "--format", "md")
    run(
        "sample",
        "run",
        "--per",
        "1",
        "--overlap",
        "1",
        "--raters",
        "anna",
        "--rubrics",
        "empathy",
        "--out",
        "plan.json",
    )
    run("annotate", "export", "plan.json", "--out", "pages")
    assert (tmp_path / "run" / "judgements.sqlite").is_file()
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    assert open_to_others(tmp_path) == []


@pytest.mark.slow
def test_a_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("demo", "--out", "demo")
    assert open_to_others(tmp_path) == []


def test_a_run_that_is_scored_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("score", EXAMPLE, "--metrics", "structure", "--no-text", "--out", "deep/down/run")
    run("score", EXAMPLE, "--metrics", "behaviour", "--out", "deep/down/run")
    assert open_to_others(tmp_path) == []
