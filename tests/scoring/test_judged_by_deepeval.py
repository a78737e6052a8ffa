"""deepeval's metrics in a run: scored, resumed, merged, spread, limited, and answered about like judges' ratings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.reports.methods import methods
from tests.conftest import Call, works
from tests.installed import need
from tests.judges.deepeval_replies import served
from tests.judges.llm.server import Action, JudgeServer, Received

need("deepeval")
TALKS = bedside.EXAMPLES / "transcripts.jsonl"
METRICS = "deepeval:turn_relevancy,deepeval:conversation_completeness"
RATER = "judge:tiny+deepeval@4.3.1"


def both(request: Received, number: int) -> Action:
    """Replies to deepeval's metrics and to bedside's rubrics."""
    of_rubric = (request.schema or {}).get("title") or "rubric" in request.prompt
    return Action() if of_rubric else served(request, number)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Three of the talks."""
    file = tmp_path / "few.jsonl"
    file.write_text("\n".join(TALKS.read_text("utf-8").splitlines()[:3]) + "\n", "utf-8")
    return file


def rated(run: object, **chosen: object) -> pl.DataFrame:
    own = bedside.read_run(str(run)).ratings.filter(**chosen)
    return own.sort("transcript_id", "metric", "rater", "replicate")


@pytest.mark.server
@pytest.mark.slow
def test_a_run_is_scored_resumed_and_merged(few: Path, call: Call) -> None:
    with JudgeServer(both) as server:
        line = f"score {few} --metrics {METRICS},turns --judge {server.judge} --out run".split()
        code, out, _ = call(*line, "--dry-run")
        assert (code, server.count) == (0, 0)
        assert "Conversation completeness (deepeval) (at least)" in out
        code, out, _ = call(*line, "--max-calls", 10)
        assert (code, server.count) == (0, 10)
        assert "not asked: the limit of 10 calls was reached." in " ".join(out.split())
        assert call(*line)[0] == 0
        whole = server.count
        assert call(*line)[0] == 0
        assert server.count == whole
        of_judge = rated("run", rater=RATER)
        assert (of_judge.height, of_judge["value"].null_count(), of_judge["reason"].null_count()) == (6, 0, 0)
        metrics = set(rated("run")["metric"])
        assert metrics > {"turns", "deepeval:turn_relevancy"}
        assert "empathy" not in metrics
        assert call(*"judge answers list run --rubric deepeval:turn_relevancy".split())[0] == 0
        # Merged into a run that asked nothing, the ratings are the same.
        assert call("score", few, "--metrics", "turns", "--out", "other")[0] == 0
        assert call("judge", "answers", "merge", "other", "run")[0] == 0
        assert server.count == whole
    assert rated("other", rater=RATER).equals(of_judge)


@pytest.mark.server
@pytest.mark.slow
def test_a_run_is_judged_from_python_and_answers_questions(few: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with JudgeServer(both) as server:
        metrics = ["deepeval:turn_relevancy", "turns"]
        judged = bedside.judge(few, server.judge, out=run, metrics=metrics, rubrics="empathy", passes=2)
        assert judged.complete
        assert [judge.rater for judge in judged.judges] == ["judge:tiny", RATER]
        before = server.count
        more: dict[str, Any] = {
            "metrics": "deepeval:role_adherence",
            "parameters": {"deepeval": {"chatbot_role": "a doctor"}},
        }
        assert [plan.calls for plan in bedside.preview_judging(run, server.judge, **more).results] == [6]
        assert server.count == before
        bedside.judge(run, server.judge, **more)
    assert set(rated(run, metric="deepeval:turn_relevancy")["replicate"]) == {0, 1}
    of_judge = rated(run, metric="deepeval:turn_relevancy", replicate=0)
    people = of_judge.with_columns(rater=pl.lit("human:anna"), reason=pl.lit(None, pl.String))
    assert "Turn relevancy (deepeval)" in str(bedside.agree(pl.concat([of_judge, people])))
    words = "asked 2 times at temperature 0, by metrics of deepeval 4.3.1 in its own words"
    assert any(words in line for line in methods(bedside.Run(run), open_ratings_view(run)))


@pytest.mark.server
@pytest.mark.slow
def test_money_is_limited_for_all_judges_together(few: Path, call: Call) -> None:
    with JudgeServer(both) as server:
        line = (
            f"score {few} --metrics deepeval:turn_relevancy --rubrics empathy --judge {server.judge} --judge "
            f"{server.judge.replace('#tiny', '#other')} --price in=1,out=1 --max-concurrency 1 --out run"
        ).split()
        out, _ = works(call, *line, "--max-cost", "0.005")
        assert re.search(r"Spent \$0\.00[56]\d of \$0\.0050; what is finished is kept\.", out)
        stopped = server.count
        entries = bedside.read_run("run").manifest["scorings"]
        judges = [judge for entry in entries for judge in entry.get("judges", {}).values()]
        assert 0.005 <= sum(count["cost"] for judge in judges for count in judge["rubrics"]) < 0.005 + 0.002
        errors = rated("run", rater="judge:other+deepeval@4.3.1")["error"]
        assert set(errors) == {"not asked: the limit of 0.005 US dollars was reached"}
        code, out, _ = call(*line)
        assert (code, "Spent" in out) == (0, False)
        assert server.count > stopped


@pytest.mark.server
@pytest.mark.slow
def test_workers_share_the_asking(few: Path, call: Call) -> None:
    with JudgeServer(both) as server:
        for options in ("--out one", "--out spread --engine local --workers 1"):
            line = f"score {few} --metrics deepeval:turn_relevancy --judge {server.judge} {options}"
            assert call(*line.split())[0] == 0
    assert rated("one", rater=RATER).height == 3
    assert rated("one", rater=RATER).equals(rated("spread", rater=RATER))


ASKED = "--judge http://h/v1#m --metrics deepeval:turn_relevancy"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--metrics deepeval:turn_relevancy", "no judge is named; add --judge MODEL"),
        ("--metrics deepeval:nothing --judge openai/m", "has no conversational metric 'nothing'"),
        (f"{ASKED} --no-text", "a run without text keeps none"),
        (f"{ASKED} --batch-out calls.jsonl", "a batch is answered at once"),
        ("--rubrics empathy --set deepeval.chatbot_role=x --judge http://h/v1#m", "no scored family 'deepeval'"),
    ],
)
def test_what_cant_be_is_refused_before_anything_is_written(
    options: str, error: str, tmp_path: Path, call: Call
) -> None:
    code, _, err = call(*f"score {TALKS} {options} --out run".split())
    assert code != 0
    assert error in " ".join(err.split())
    assert not (tmp_path / "run").exists()


def test_metrics_are_listed_and_shown(call: Call) -> None:
    assert "deepeval:goal_accuracy" in call("list", "metrics")[1]
    out, _ = works(call, "show", "deepeval:topic_adherence")
    assert "TopicAdherenceMetric (version 4.3.1)" in out
    assert "Needs: topics" in out
    code, _, err = call("show", "deepeval:topic_adherance")
    assert code != 0
    assert "did you mean deepeval:topic_adherence" in err
