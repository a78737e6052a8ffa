"""Judging from the command line, against a real server on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.cli import main
from tests.conftest import conversation
from tests.judges.llm.server import Action, JudgeServer, Received

pytestmark = pytest.mark.server
EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_a_suite_is_judged_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with JudgeServer() as server:
        command = (
            "score",
            EXAMPLE,
            "--suite",
            "calm-it",
            "--judge",
            server.judge,
            "--passes",
            "2",
            "--out",
            folder,
        )
        code, _out, err = run(capsys, *command)
        assert code == 0, err
        asked = len(server.received)
        assert asked == 12 * 10 * 2
        made = bedside.read_run(folder)
        ratings = made.ratings.filter(pl.col("rater").str.starts_with("judge:"))
        assert ratings.height == asked
        assert set(ratings["replicate"]) == {0, 1}
        assert ratings["value"].is_in([1.0, 2.0, 3.0, 4.0, 5.0]).all()
        assert ratings["reason"].null_count() == 0
        assert run(capsys, *command)[0] == 0
        assert len(server.received) == asked, "a rerun asks nothing"
    told = made.manifest["scorings"][-1]["judges"]
    assert next(iter(told.values()))["prompts"].keys() >= {"empathy", "partnership"}
    assert "judge:" in run(capsys, "report", folder)[1] or (folder / "report" / "report.html").is_file()
    assert "was asked 2 times at temperature 0" in (folder / "report" / "report.html").read_text("utf-8")


def test_a_dry_run_asks_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeServer() as server:
        code, out, err = run(
            capsys, "score", EXAMPLE, "--suite", "mdd5k", "--judge", server.judge, "--dry-run", "--json",
            "--price", "in=1,out=2", "--out", tmp_path / "run",
        )  # fmt: skip
        assert code == 0
        assert err.splitlines() == bedside.read_account(EXAMPLE).lines()
        assert not server.received
    rows = json.loads(out)[0]["rows"]
    assert len(rows) == 7
    assert all(row["calls"] == 12 and row["cost"] > 0 for row in rows)
    assert list(tmp_path.iterdir()) == []


def test_a_hard_stop_is_gone_on_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    command = ["score", EXAMPLE, "--rubrics", "empathy", "--out", folder, "--judge"]
    with JudgeServer() as server:
        _, out, _ = run(capsys, *command, server.judge, "--max-calls", "5")
        assert len(server.received) == 5
        assert "not answered yet: --max-calls or --max-cost was reached" in out
        assert "the same command asks what is missing" in out
        ratings = bedside.read_run(folder).ratings.filter(metric="empathy")
        assert (ratings.height, ratings["value"].null_count()) == (12, 7)
        run(capsys, *command, server.judge)
        assert len(server.received) == 12
    assert bedside.read_run(folder).ratings.filter(metric="empathy")["value"].null_count() == 0


def test_a_dead_server_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: Received, __: int) -> Action:
        return Action(status=401, body=b'{"error": {"message": "no such key"}}')

    with JudgeServer(refuse) as server:
        code, _, err = run(
            capsys,
            "score",
            EXAMPLE,
            "--rubrics",
            "empathy",
            "--judge",
            server.judge,
            "--out",
            tmp_path / "run",
        )
    assert code == 2
    assert err.startswith("Read: 12 transcripts")
    (line,) = [line for line in err.splitlines() if line.startswith("bedside: ")]
    assert err.endswith(f"{line}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "http://127.0.0.1:1/v1"], "no model is named"),
        (["--judge", "nobody/x"], "nobody"),
        (["--judge", "openai/x", "--rubrics", "empathyy"], "empathyy"),
        (["--judge", "openai/x"], "the suite has no rubrics"),
        (
            ["--judge", "openai/x", "--rubrics", "empathy", "--temperature", "9"],
            "a temperature must lie between 0 and 2",
        ),
        (["--judge", "openai/x", "--rubrics", "empathy", "--price", "5"], "--price"),
        (["--judge", "openai/x", "--rubrics", "empathy", "--order", "x"], "--order: there is no order 'x'"),
        (["--rubrics", "empathy"], "no judge is named"),
        (["--dry-run"], "no judge is named"),
    ],
)
def test_bad_calls_are_one_line_and_write_nothing(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "score", EXAMPLE, "--out", tmp_path / "run", *arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_judgements_are_listed_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with JudgeServer() as server:
        run(capsys, "score", EXAMPLE, "--rubrics", "empathy", "--judge", server.judge, "--out", folder)
    _, out, _ = run(capsys, "judgements", "list", folder, "--transcript", "steady-heart", "--json")
    rows = json.loads(out)[0]["rows"]
    assert len(rows) == 1
    _, out, _ = run(capsys, "judgements", "show", folder, rows[0]["key"][:12])
    assert "--- what was asked" in out
    assert "--- reply 1" in out
    assert rows[0]["answer"]["reason"] in out
    code, _, err = run(capsys, "judgements", "show", folder, "zz")
    assert (code, "no judgement has a key" in err) == (2, True)


def test_passes_are_aggregated_in_three_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five passes of one conversation, counted by hand: 1, 2, 2, 5, 5 of one and 3 of the other throughout."""
    talks = tmp_path / "talks.jsonl"
    talks.write_bytes(
        b"".join(
            conversation(("clinician", "Hello."), ("patient", words), id=words).to_json() + b"\n"
            for words in ("sad", "glad")
        )
    )
    levels = iter([1, 2, 2, 5, 5])

    def script(request: Received, number: int) -> Action:
        level = 3 if "glad" in request.prompt else next(levels)
        return Action(text=json.dumps({"reason": "r", "score": level}))

    folder = tmp_path / "run"
    with JudgeServer(script) as server:
        run(
            capsys, "score", talks, "--rubrics", "empathy", "--judge", server.judge, "--passes", "5",
            "--max-concurrency", "1", "--out", folder,
        )  # fmt: skip
    code, out, _ = run(capsys, "judgements", "passes", folder, "--json")
    assert code == 0
    (row,) = json.loads(out)[0]["rows"]
    assert (row["units"], row["passes"], row["unanimous"]) == (2, 5, 0.5)
    assert row["mean"] == pytest.approx((3 + 3) / 2)
    assert row["median"] == pytest.approx((2 + 3) / 2)
    assert row["mode"] == 3, "2 and 5 are as frequent, so the first conversation has no mode"
    assert row["spread"] == pytest.approx(((4 + 1 + 1 + 4 + 4) / 4) ** 0.5 / 2)
    assert row["alpha"] < 0.5
    run(capsys, "score", talks, "--out", tmp_path / "once")
    code, _, err = run(capsys, "judgements", "passes", tmp_path / "once")
    assert (code, "no judge was asked more than once" in err) == (2, True)


def test_codes_of_turns_join_the_run_and_stand_beside_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with JudgeServer() as server:
        command = (
            "score",
            EXAMPLE,
            "--judge",
            server.judge,
            "--codes",
            "question,client_talk",
            "--out",
            folder,
        )
        code, _, err = run(capsys, *command, "--dry-run")
        assert (code, err[:20], server.received) == (0, "Read: 12 transcripts", [])
        assert run(capsys, *command)[0] == 0
    ratings = bedside.read_run(folder).ratings.filter(pl.col("rater").str.starts_with("judge:"))
    assert set(ratings.filter(metric="question")["label"]) <= {"none", "open", "closed"}
    assert ratings.filter(metric="percent_open_questions").height == 12
    code, out, _ = run(capsys, "validate", folder, "--judges", "judge:*", "--metrics", "question", "--json")
    assert code == 0
    assert json.loads(out)[1]["rows"][0]["with_people"] == 132


def test_unknown_codes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        capsys, "score", EXAMPLE, "--judge", "openai/x", "--codes", "questions", "--out", tmp_path / "r"
    )
    assert code == 2
    assert "'questions'; did you mean question" in err
