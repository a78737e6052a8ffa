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
from bedside.transcripts.reading import Reading
from tests.conftest import Call, works
from tests.judges.llm.server import Action, JudgeServer
from tests.judges.test_command import EXAMPLE
from tests.soak import budget

pytestmark = pytest.mark.server
LOCAL, THREE = "--engine local --workers", "--rubrics empathy,partnership,values_detected"


def score(server: JudgeServer, out: object, options: str = "", files: Path = EXAMPLE) -> list[str]:
    """What is typed to have three rubrics judged."""
    rubrics = "" if "s empathy" in options or "--suite" in options else THREE
    return f"score {files} --metrics structure {rubrics} --judge {server.judge} --out {out} {options}".split()


def unjudged(out: str, files: Path = EXAMPLE) -> list[str]:
    return f"score {files} --metrics structure --out {out}".split()


def ratings(path: str, **chosen: object) -> pl.DataFrame:
    own = bedside.read_run(path).ratings.filter(**chosen)
    return own.sort("transcript_id", "unit", "metric", "rater", "replicate")


def keys(path: str) -> Counter[str]:
    return Counter(judgement.key for judgement in read_judgements(Path(path) / STORE))


def merge(call: Call, *folders: str) -> str:
    code, out, err = call("judge", "answers", "merge", *folders)
    assert (code, err) == (0, "")
    return " ".join(out.split())


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Three files of the example's transcripts, that overlap."""
    lines = EXAMPLE.read_bytes().splitlines(keepends=True)
    paths = [tmp_path / f"part-{number}.jsonl" for number in range(3)]
    for path, chosen in zip(paths, (lines[:5], lines[3:9], lines[8:]), strict=True):
        path.write_bytes(b"".join(chosen))
    return paths


def test_parts_judged_elsewhere_are_merged(call: Call, parts: list[Path]) -> None:
    with JudgeServer() as server:
        assert call(*score(server, "whole"))[0] == 0
        for number, part in enumerate(parts):
            assert call(*score(server, f"run-{number}", "--passes 1", part))[0] == 0
    assert call(*unjudged("merged"))[0] == 0
    out = merge(call, "merged", "run-2", "run-0", "run-1")
    assert "run-2: 12 judgements, 12 of them new." in out
    assert "Not everything" not in out
    assert ratings("merged").equals(ratings("whole"))
    assert keys("merged") == keys("whole")
    assert set(keys("merged").values()) == {1}
    with JudgeServer() as server:
        assert call(*score(server, "merged"))[0] == 0
        assert server.count == 0, "nothing is missing"
    # Again, and a store by its file: nothing changes.
    assert "15 judgements, 0 of them new" in merge(call, "merged", f"run-0/{STORE}")
    assert ratings("merged").equals(ratings("whole"))


def test_what_is_missing_still_is_missing_with_its_reason(call: Call, parts: list[Path]) -> None:
    with JudgeServer() as server:
        call(*score(server, "part", files=parts[0]))
        call(*unjudged("run"))
        assert "Not everything is judged" in merge(call, "run", "part")
        errors = ratings("run", metric="empathy")["error"]
        assert (len(errors), errors.drop_nulls().to_list()) == (12, ["not judged yet"] * 7)
        server.received.clear()
        call(*score(server, "run"))
        assert len(server.received) == 7 * 3
    assert ratings("run", metric="empathy")["error"].null_count() == 12


def test_answers_that_differ(call: Call, parts: list[Path]) -> None:
    for level in (1, 2):
        text = f'{{"reason": "reason {level}", "score": {level}}}'
        with JudgeServer(lambda *_, text=text: Action(text=text)) as server:
            call(*score(server, f"run-{level}", "--rubrics empathy", parts[0]))
    assert "5 were there with another answer; the one asked first is kept" in merge(call, "run-2", "run-1")
    assert set(ratings("run-2", metric="empathy")["value"]) == {1.0}


def test_what_was_asked_in_another_way_isn_t_mixed(call: Call, parts: list[Path]) -> None:
    with JudgeServer() as server:
        call(*score(server, "run", files=parts[0]))
        call(*score(server, "warm", "--temperature 1", parts[1]))
    before = ratings("run")
    out = merge(call, "run", "warm")
    assert "in another way" in out
    assert "12 are about transcripts that" in out
    assert ratings("run").equals(before)


@pytest.mark.parametrize("source", ["none", "run", "part-0.jsonl"])
def test_sources_that_are_none(call: Call, parts: list[Path], source: str) -> None:
    call(*unjudged("run", parts[0]))
    code, _, err = call("judge", "answers", "merge", "run", source)
    assert code == 2
    assert err.startswith("bedside: ")
    assert err.count("\n") == 1


def test_a_bare_store_needs_the_command_that_judged(call: Call, parts: list[Path]) -> None:
    with JudgeServer() as server:
        call(*score(server, "one", files=parts[0]))
        call(*unjudged("run", parts[0]))
        assert "bedside score FILES --judge MODEL makes them" in merge(call, "run", f"one/{STORE}")
        server.received.clear()
        call(*score(server, "run", files=parts[0]))
        assert not server.received
    assert ratings("run").equals(ratings("one"))


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["calm-it", "medconceal"])
def test_workers_come_to_what_one_process_comes_to(call: Call, suite: str) -> None:
    records = []
    with JudgeServer() as server:
        for name, options in (("one", ""), ("two", f"{LOCAL} 2")):
            code, _, err = call(*score(server, name, f"--suite {suite} --passes 2 {options}"))
            assert (code, "Traceback" in err) == (0, False)
            records.append(bedside.read_run(name).manifest["scorings"][-1]["judges"]["judge:tiny"])
            del records[-1]["model"]
        assert max(server.prompts.values()) == 4, "two passes, in two runs"
    assert ratings("one").equals(ratings("two"))
    assert keys("one") == keys("two")
    assert records[0] == records[1]
    assert not Path("two", PARTS).exists()


@pytest.mark.slow
@pytest.mark.soak
def test_killed_while_workers_judge(call: Call) -> None:
    """The same command merges what workers left, and asks for what is missing."""
    file = Path("many.jsonl")
    file.write_bytes(
        b"".join(
            talk.to_json().replace(f'"id":"{talk.id}"'.encode(), f'"id":"{talk.id}-{copy}"'.encode())
            .replace(b'"text":"', f'"text":"{copy}: '.encode()) + b"\n"
            for copy in range(4)
            for talk in Reading([EXAMPLE])
        )
    )  # fmt: skip
    kills = min(budget(1, 2), 4)  # after four there is too little left to be killed at
    with JudgeServer(latency=0.15) as server:
        line = score(server, "run", f"{LOCAL} 2 --max-concurrency 2", file)
        before = 0
        for killed in range(kills):
            process = started(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while server.count < before + 25 and process.poll() is None:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)  # the master and its workers
            process.wait()
            time.sleep(0.3)
            before = server.count
            assert before < 48 * 3, killed
        assert list(Path("run", PARTS).glob("*.sqlite"))
        out, _ = works(call, *line)
        assert "Not everything" not in out
        assert server.count <= 48 * 3 + kills * 2 * 2, "what was under way is asked again, at most"
    assert len(keys("run")) == 48 * 3
    own = ratings("run", rater="judge:tiny")
    assert own.height == own.unique(["transcript_id", "unit", "metric"]).height >= 48 * 3
    assert own["error"].null_count() == own.height
    assert not Path("run", PARTS).exists()


def started(line: list[str], **streams: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bedside", *line]
    return subprocess.Popen(command, start_new_session=True, text=True, **streams)  # type: ignore[call-overload, no-any-return]


@pytest.mark.slow
def test_a_killed_worker_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes over its part goes on from the judgements that it left."""
    monkeypatch.chdir(tmp_path)
    with JudgeServer(latency=0.2) as server:
        line = score(server, "run", f"{LOCAL} 2 --max-concurrency 1")
        process = started(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while server.count < 10:
            assert process.poll() is None
            time.sleep(0.01)
        pgrep = ["pgrep", "-P", str(process.pid), "-f", "popen_loky"]
        workers = subprocess.run(pgrep, capture_output=True, text=True).stdout.split()
        assert workers
        os.kill(int(workers[0]), signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "Traceback" not in err
        assert server.count <= 36 + 2, "what was under way"
    own = ratings("run", rater="judge:tiny")
    assert own["error"].null_count() == own.height == 36
    assert set(keys("run").values()) == {1}


@pytest.mark.slow
def test_workers_begin_with_what_is_there(call: Call) -> None:
    """Nothing that the run's store holds is asked again, of whole transcripts or of parts of one."""
    with JudgeServer() as server:
        call(*score(server, "run", "--rubrics empathy"))
        call(*score(server, "run", "--max-calls 7"))
        assert server.count == 12 + 7
        for _ in range(2):
            code, out, err = call(*score(server, "run", f"{LOCAL} 1"))
            assert (code, "Not everything" in out) == (0, False), err
            assert server.count == 36
            assert set(server.prompts.values()) == {1}
    entries = bedside.read_run("run").manifest["scorings"]
    counts = [entry["judges"]["judge:tiny"]["rubrics"] for entry in entries if "judges" in entry]
    assert [sum(count["calls"] for count in rubrics) for rubrics in counts] == [12, 7, 17, 0]
    assert [sum(count["stored"] for count in rubrics) for rubrics in counts] == [0, 12, 19, 36]
