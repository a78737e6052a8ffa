"""deepeval's metrics in a run: scored, resumed, merged, spread, limited, and answered about like judges' ratings."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.cli import main
from bedside.core.errors import BedsideError
from bedside.reports.methods import methods
from tests.judges.deepeval_replies import served
from tests.judges.llm.server import Action, JudgeServer, Received

pytest.importorskip("deepeval")
TALKS = bedside.EXAMPLES / "transcripts.jsonl"
METRICS = "deepeval:turn_relevancy,deepeval:conversation_completeness"
RATER = "judge:tiny+deepeval@4.3.1"


def both(request: Received, number: int) -> Action:
    """Replies to deepeval's metrics and to bedside's rubrics."""
    return (
        Action()
        if (request.schema or {}).get("title") or "rubric" in request.prompt
        else served(request, number)
    )


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Three of the talks."""
    lines = TALKS.read_text("utf-8").splitlines()[:3]
    file = tmp_path / "few.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def command(*words: object) -> int:
    """Run a command; returns its exit status."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return int(ended.value.code or 0)


@pytest.mark.server
@pytest.mark.slow
def test_a_run_is_scored_resumed_and_merged(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with JudgeServer(both) as server:
        asked = ("score", few, "--metrics", f"{METRICS},turns", "--judge", server.judge, "--out", run)
        assert command(*asked, "--dry-run") == 0
        assert "Conversation completeness (deepeval) (at least)" in capsys.readouterr().out
        assert server.count == 0
        assert command(*asked, "--max-calls", 10) == 0
        assert server.count == 10
        assert "not answered yet: --max-calls or --max-cost was reached" in capsys.readouterr().out
        assert command(*asked) == 0
        whole = server.count
        assert command(*asked) == 0
        assert server.count == whole
        ratings = bedside.Run(run).ratings
        of_judge = ratings.filter(rater=RATER)
        assert of_judge.height == 6
        assert of_judge["value"].null_count() == 0
        assert of_judge["reason"].null_count() == 0
        assert set(ratings["metric"].unique()) >= {"turns", "deepeval:turn_relevancy"}
        assert "empathy" not in set(ratings["metric"].unique())
        assert command("judgements", "list", run, "--rubric", "deepeval:turn_relevancy") == 0
        # Merged into a run that asked nothing, the ratings are the same.
        other = tmp_path / "other"
        assert command("score", few, "--metrics", "turns", "--out", other) == 0
        assert command("judgements", "merge", other, run) == 0
        assert server.count == whole
    merged = bedside.Run(other).ratings.filter(rater=RATER)
    assert merged.sort("transcript_id", "metric").equals(of_judge.sort("transcript_id", "metric"))


@pytest.mark.server
@pytest.mark.slow
def test_a_run_is_judged_from_python_and_answers_questions(few: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with JudgeServer(both) as server:
        judged = bedside.judge(
            few,
            server.judge,
            out=run,
            metrics=["deepeval:turn_relevancy", "turns"],
            rubrics="empathy",
            passes=2,
        )
        assert judged.complete
        assert [judge.rater for judge in judged.judges] == ["judge:tiny", RATER]
        before = server.count
        plans = bedside.preview_judging(
            run,
            server.judge,
            metrics="deepeval:role_adherence",
            parameters={"deepeval": {"chatbot_role": "a doctor"}},
        )
        assert [plan.calls for plan in plans.results] == [6]
        assert server.count == before
        bedside.judge(
            run,
            server.judge,
            metrics="deepeval:role_adherence",
            parameters={"deepeval": {"chatbot_role": "a doctor"}},
        )
    ratings = bedside.Run(run).ratings
    assert set(ratings.filter(metric="deepeval:turn_relevancy")["replicate"]) == {0, 1}
    people = ratings.filter(metric="deepeval:turn_relevancy", replicate=0).with_columns(
        rater=pl.lit("human:anna"), reason=pl.lit(None, pl.String)
    )
    both_rated = pl.concat([ratings.filter(metric="deepeval:turn_relevancy", replicate=0), people])
    agreed = str(bedside.agree(both_rated))
    assert "Turn relevancy (deepeval)" in agreed
    words = methods(bedside.Run(run), open_ratings_view(run))
    told = "asked 2 times at temperature 0, by metrics of deepeval 4.3.1 in its own words"
    assert any(told in line for line in words)


@pytest.mark.server
@pytest.mark.slow
def test_money_is_limited_for_all_judges_together(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with JudgeServer(both) as server:
        asked = ["score", few, "--metrics", "deepeval:turn_relevancy", "--rubrics", "empathy", "--out", run]
        asked += ["--judge", server.judge, "--judge", server.judge.replace("#tiny", "#other")]
        asked += ["--price", "in=1,out=1", "--max-concurrency", "1"]
        assert command(*asked, "--max-cost", "0.005") == 0
        out = capsys.readouterr().out
        assert re.search(r"Spent \$0\.00[56]\d of \$0\.0050; what is finished is kept\.", out)
        stopped = server.count
        costs = [
            count["cost"]
            for entry in bedside.Run(run).manifest["scorings"]
            for judge in entry.get("judges", {}).values()
            for count in judge["rubrics"]
        ]
        assert 0.005 <= sum(costs) < 0.005 + 0.002
        errors = bedside.Run(run).ratings.filter(rater="judge:other+deepeval@4.3.1")["error"]
        assert set(errors) == {"not asked: the limit of 0.005 US dollars was reached"}
        assert command(*asked) == 0
        assert server.count > stopped
        assert "Spent" not in capsys.readouterr().out


@pytest.mark.server
@pytest.mark.slow
def test_workers_share_the_asking(few: Path, tmp_path: Path) -> None:
    with JudgeServer(both) as server:
        for name, options in (("one", []), ("spread", ["--engine", "local", "--workers", "1"])):
            run = tmp_path / name
            assert (
                command(
                    "score",
                    few,
                    "--metrics",
                    "deepeval:turn_relevancy",
                    "--judge",
                    server.judge,
                    "--out",
                    run,
                    *options,
                )
                == 0
            )
    one, spread = (
        bedside.Run(tmp_path / name).ratings.filter(rater=RATER).sort("transcript_id", "metric")
        for name in ("one", "spread")
    )
    assert one.height == 3
    assert one.equals(spread)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--metrics", "deepeval:turn_relevancy"], "no judge is named; add --judge MODEL"),
        (["--metrics", "deepeval:nothing", "--judge", "openai/m"], "has no conversational metric 'nothing'"),
        (
            ["--metrics", "deepeval:turn_relevancy", "--judge", "http://h/v1#m", "--no-text"],
            "a run without text keeps none",
        ),
        (
            [
                "--metrics",
                "deepeval:turn_relevancy",
                "--judge",
                "http://h/v1#m",
                "--batch-out",
                "calls.jsonl",
            ],
            "a batch is answered at once",
        ),
        (
            ["--rubrics", "empathy", "--set", "deepeval.chatbot_role=x", "--judge", "http://h/v1#m"],
            "'deepeval'",
        ),
        (
            ["--rubrics", "empathy", "--judge", "http://h/v1#m", "--max-cost", "1", "--engine", "local"],
            "workers can't share a limit of costs",
        ),
    ],
)
def test_what_cant_be_is_refused_before_anything_is_written(
    words: list[str],
    error: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("score", TALKS, *words, "--out", tmp_path / "run") != 0
    assert error in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_a_run_without_text_is_refused_from_python(tmp_path: Path) -> None:
    with pytest.raises(BedsideError, match="keep the text"):
        bedside.judge(
            TALKS, "http://h/v1#m", out=tmp_path / "run", metrics="deepeval:turn_relevancy", text=False
        )


def test_metrics_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("metrics") == 0
    assert "deepeval:goal_accuracy" in capsys.readouterr().out
    assert command("metrics", "show", "deepeval:topic_adherence") == 0
    shown = capsys.readouterr().out
    assert "TopicAdherenceMetric (version 4.3.1)" in shown
    assert "Needs: topics" in shown
    assert command("metrics", "show", "deepeval:topic_adherance") != 0
    assert "did you mean topic_adherence" in capsys.readouterr().err
