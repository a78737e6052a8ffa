"""Judging apart, from the command line: by workers, or in parts that are merged, it comes to what one run comes to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("aiohttp")

import bedside
from bedside.judges.store import read_judgements
from bedside.scoring.judging_orders import STORE
from bedside.scoring.judging_workers import PARTS
from bedside.transcripts import Reading
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.judges.test_command import EXAMPLE, run
from tests.soak import budget

pytestmark = pytest.mark.server
ROOT = Path(__file__).parents[2]
RUBRICS = "empathy,partnership,values_detected"


def score(judge: JudgeServer | str, out: Path, files: Path = EXAMPLE, *more: object) -> list[object]:
    name = judge if isinstance(judge, str) else judge.judge
    return [
        "score",
        files,
        "--metrics",
        "structure",
        "--rubrics",
        RUBRICS,
        "--judge",
        name,
        "--out",
        out,
        *more,
    ]


def ratings(path: Path) -> list[tuple[object, ...]]:
    return bedside.read_run(path).ratings.sort("transcript_id", "unit", "metric", "rater", "replicate").rows()


def keys(path: Path) -> Counter[str]:
    return Counter(each.key for each in read_judgements(path / STORE))


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Three files of the example's transcripts, that overlap."""
    lines = EXAMPLE.read_bytes().splitlines(keepends=True)
    made = []
    for number, chosen in enumerate((lines[:5], lines[3:9], lines[8:])):
        made.append(tmp_path / f"part-{number}.jsonl")
        made[-1].write_bytes(b"".join(chosen))
    return made


def test_parts_judged_elsewhere_are_merged(
    tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer() as server:
        assert run(capsys, *score(server, tmp_path / "whole"))[0] == 0
        for number, part in enumerate(parts):
            assert run(capsys, *score(server, tmp_path / f"run-{number}", part, "--passes", "1"))[0] == 0
    merged = tmp_path / "merged"
    assert run(capsys, "score", EXAMPLE, "--metrics", "structure", "--out", merged)[0] == 0
    code, out, err = run(capsys, "judgements", "merge", merged, *(tmp_path / f"run-{n}" for n in (2, 0, 1)))
    assert (code, err) == (0, "")
    assert "run-2: 12 judgements, 12 of them new." in " ".join(out.split())
    assert "Not everything" not in out
    assert ratings(merged) == ratings(tmp_path / "whole")
    assert keys(merged) == keys(tmp_path / "whole")
    assert set(keys(merged).values()) == {1}
    with JudgeServer() as server:
        assert run(capsys, *score(server, merged))[0] == 0
        assert server.count == 0, "nothing is missing"
    # Again, and a store by its file: nothing changes.
    code, out, _ = run(capsys, "judgements", "merge", merged, tmp_path / "run-0" / STORE)
    assert code == 0
    assert "15 judgements, 0 of them new" in " ".join(out.split())
    assert ratings(merged) == ratings(tmp_path / "whole")


def test_what_is_missing_still_is_missing_with_its_reason(
    tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer() as server:
        run(capsys, *score(server, tmp_path / "part", parts[0]))
        run(capsys, "score", EXAMPLE, "--metrics", "structure", "--out", tmp_path / "run")
        _, out, _ = run(capsys, "judgements", "merge", tmp_path / "run", tmp_path / "part")
        assert "Not everything is judged" in out
        own = bedside.read_run(tmp_path / "run").ratings.filter(metric="empathy")
        assert own.height == 12
        assert own["error"].drop_nulls().to_list() == ["not judged yet"] * 7
        server.received.clear()
        run(capsys, *score(server, tmp_path / "run"))
        assert len(server.received) == 7 * 3
    assert bedside.read_run(tmp_path / "run").ratings.filter(metric="empathy")["error"].null_count() == 12


def test_answers_that_differ(tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeServer(lambda *_: Action(text='{"reason": "first", "score": 1}')) as one:
        run(
            capsys, "score", parts[0], "--rubrics", "empathy", "--judge", one.judge, "--out", tmp_path / "one"
        )
    with JudgeServer(lambda *_: Action(text='{"reason": "second", "score": 2}')) as other:
        run(
            capsys,
            "score",
            parts[0],
            "--rubrics",
            "empathy",
            "--judge",
            other.judge,
            "--out",
            tmp_path / "two",
        )
    _, out, _ = run(capsys, "judgements", "merge", tmp_path / "two", tmp_path / "one")
    assert "5 were there with another answer; the one asked first is kept" in " ".join(out.split())
    assert set(bedside.read_run(tmp_path / "two").ratings.filter(metric="empathy")["value"]) == {1.0}


def test_what_was_asked_in_another_way_isn_t_mixed(
    tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer() as server:
        run(capsys, *score(server, tmp_path / "run", parts[0]))
        run(capsys, *score(server, tmp_path / "warm", parts[1], "--temperature", "1"))
    before = ratings(tmp_path / "run")
    _, out, _ = run(capsys, "judgements", "merge", tmp_path / "run", tmp_path / "warm")
    assert "asked in" in out
    assert "in another way" in " ".join(out.split())
    assert "12 are about transcripts that" in " ".join(out.split())
    assert ratings(tmp_path / "run") == before


def test_sources_that_are_none(tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "score", parts[0], "--metrics", "structure", "--out", tmp_path / "run")
    for source in (tmp_path / "none", tmp_path / "run", parts[0]):
        code, _, err = run(capsys, "judgements", "merge", tmp_path / "run", source)
        assert code == 2
        assert err.startswith("bedside: ")
        assert err.count("\n") == 1


def test_a_bare_store_needs_the_command_that_judged(
    tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer() as server:
        run(capsys, *score(server, tmp_path / "one", parts[0]))
        run(capsys, "score", parts[0], "--metrics", "structure", "--out", tmp_path / "run")
        _, out, _ = run(capsys, "judgements", "merge", tmp_path / "run", tmp_path / "one" / STORE)
        assert "No ratings were made: bedside score FILES --judge MODEL makes them" in " ".join(out.split())
        server.received.clear()
        run(capsys, *score(server, tmp_path / "run", parts[0]))
        assert not server.received
    assert ratings(tmp_path / "run") == ratings(tmp_path / "one")


# -- workers ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["calm-it", "medconceal"])
def test_workers_come_to_what_one_process_comes_to(
    tmp_path: Path, suite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer() as server:
        for name, more in (("one", ()), ("two", ("--engine", "local", "--workers", "2"))):
            code, _, err = run(
                capsys, "score", EXAMPLE, "--suite", suite, "--metrics", "structure", "--judge", server.judge,
                "--passes", "2", "--out", tmp_path / name, *more,
            )  # fmt: skip
            assert (code, "Traceback" in err) == (0, False)
        assert max(server.prompts.values()) == 4, "two passes, in two runs"
    assert ratings(tmp_path / "one") == ratings(tmp_path / "two")
    assert keys(tmp_path / "one") == keys(tmp_path / "two")
    told = [
        bedside.read_run(tmp_path / name).manifest["scorings"][-1]["judges"]["judge:tiny"]
        for name in ("one", "two")
    ]
    for each in told:
        del each["model"]
    assert told[0] == told[1]
    assert not (tmp_path / "two" / PARTS).exists()


@pytest.mark.slow
@pytest.mark.soak
def test_killed_while_workers_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command merges what workers left, and asks for what is missing."""
    transcripts = list(Reading([EXAMPLE]))
    file = tmp_path / "many.jsonl"
    file.write_bytes(
        b"".join(
            each.to_json().replace(f'"id":"{each.id}"'.encode(), f'"id":"{each.id}-{copy}"'.encode())
            .replace(b'"text":"', f'"text":"{copy}: '.encode()) + b"\n"
            for copy in range(4)
            for each in transcripts
        )
    )  # fmt: skip
    out = tmp_path / "run"
    kills = min(budget(1, 2), 4)  # after four there is too little left to be killed at
    with JudgeServer(latency=0.15) as server:
        command = score(server, out, file, "--engine", "local", "--workers", "2", "--max-concurrency", "2")
        before = 0
        for killed in range(kills):
            process = subprocess.Popen(
                [sys.executable, "-m", "bedside", *map(str, command)], cwd=ROOT, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            while server.count < before + 25 and process.poll() is None:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)  # the master and its workers
            process.wait()
            time.sleep(0.3)
            before = server.count
            assert before < 48 * 3, killed
        assert list((out / PARTS).glob("*.sqlite"))
        code, text, err = run(capsys, *command)
        assert code == 0, err
        assert "Not everything" not in text
        assert server.count <= 48 * 3 + kills * 2 * 2, "what was under way is asked again, at most"
    assert len(keys(out)) == 48 * 3
    own = bedside.read_run(out).ratings.filter(pl.col("rater") == "judge:tiny")
    assert own.height == own.unique(["transcript_id", "unit", "metric"]).height >= 48 * 3
    assert own["error"].null_count() == own.height
    assert not (out / PARTS).exists()


@pytest.mark.slow
def test_a_killed_worker_is_made_up_for(tmp_path: Path) -> None:
    """Whoever takes over its part goes on from the judgements that it left."""
    out = tmp_path / "run"
    with JudgeServer(latency=0.2) as server:
        command = score(server, out, EXAMPLE, "--engine", "local", "--workers", "2", "--max-concurrency", "1")
        process = subprocess.Popen(
            [sys.executable, "-m", "bedside", *map(str, command)], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        while server.count < 10:
            assert process.poll() is None
            time.sleep(0.01)
        found = subprocess.run(
            ["pgrep", "-P", str(process.pid), "-f", "popen_loky"], capture_output=True, text=True
        )
        workers = [int(line) for line in found.stdout.split()]
        assert workers
        os.kill(workers[0], signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "Traceback" not in err
        assert server.count <= 36 + 2, "what was under way"
    own = bedside.read_run(out).ratings.filter(pl.col("rater") == "judge:tiny")
    assert own["error"].null_count() == own.height == 36
    assert set(keys(out).values()) == {1}


def test_a_judge_that_lets_nobody_in_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: Received, __: int) -> Action:
        return Action(status=401)

    with JudgeServer(refuse) as server:
        code, _, err = run(
            capsys, *score(server, tmp_path / "run", EXAMPLE, "--engine", "local", "--workers", "1")
        )
    assert code == 2
    assert "refuses the key" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("more", "words"), [(["--max-calls", "5"], "can't share a limit"), (["--no-text"], "keeps no text")]
)
def test_what_workers_can_t_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    judge = "http://127.0.0.1:9/v1#tiny"
    code, _, err = run(capsys, *score(judge, tmp_path / "run", EXAMPLE, "--engine", "local", *more))
    assert code == 2
    assert words in err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_workers_begin_with_what_is_there(
    tmp_path: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that the run's store holds is asked again, of whole transcripts or of parts of one."""
    out = tmp_path / "run"
    with JudgeServer() as server:
        run(capsys, "score", EXAMPLE, "--rubrics", "empathy", "--judge", server.judge, "--out", out)
        run(capsys, *score(server, out, EXAMPLE, "--max-calls", "7"))
        asked = server.count
        assert asked == 12 + 7
        code, text, err = run(capsys, *score(server, out, EXAMPLE, "--engine", "local", "--workers", "1"))
        assert (code, "Not everything" in text) == (0, False), err
        assert server.count == 36
        assert set(server.prompts.values()) == {1}
        assert run(capsys, *score(server, out, EXAMPLE, "--engine", "local", "--workers", "1"))[0] == 0
        assert server.count == 36
    told = bedside.read_run(out).manifest["scorings"]
    counted = [entry["judges"]["judge:tiny"]["rubrics"] for entry in told if "judges" in entry]
    assert [sum(count["calls"] for count in rubrics) for rubrics in counted] == [12, 7, 17, 0]
    assert [sum(count["stored"] for count in rubrics) for rubrics in counted] == [0, 12, 19, 36]
