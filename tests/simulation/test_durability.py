"""Processes that are killed, that meet, and disks and logs that fail: one line each, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.api.simulating import simulate
from bedside.api.verifying import all_as_written
from bedside.core.errors import BedsideError, RunError
from bedside.core.locks import hold
from bedside.core.stopping import run_to_end
from bedside.simulation.conversation_log import ConversationLog, opened_log, planned_conversations
from bedside.simulation.logged_actors import SimulationProgress
from bedside.simulation.talks_folder import talks_overview
from bedside.transcripts.simulation_folder import LOG_FILE
from tests.judges.test_store import by_sql
from tests.simulation.test_simulate import contents
from tests.simulation.tiny import cases, install, run_tiny
from tests.soak import budget

#: Calls of the agent in all: four turns and a guess for each of six cases.
CALLS = 6 * 5
AT_ONCE = 4


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def process(out: Path, calls: Path, seconds: float, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.simulation.talking_process", str(out), str(calls), str(seconds), *more]
    begun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert begun.stdout is not None
    assert begun.stdout.readline() == "begins\n"
    return begun


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_goes_on_to_the_same_bytes(tmp_path: Path, number: int) -> None:
    draw = random.Random(number)
    whole = process(tmp_path / "whole", tmp_path / "whole.calls", 0.0)
    assert whole.wait(60) == 0
    ended = 0
    for _ in range(budget(3, 40)):
        begun = process(tmp_path / "parts", tmp_path / "parts.calls", 0.05)
        time.sleep(draw.uniform(0.05, 0.4))
        begun.send_signal(number)
        code = begun.wait(60)
        assert begun.stderr is not None
        assert "Traceback" not in begun.stderr.read()
        ended += code != 0
    begun = process(tmp_path / "parts", tmp_path / "parts.calls", 0.0)
    assert begun.wait(60) == 0
    assert ended
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    # Only what was under way when it was ended was asked again.
    asked = Counter((tmp_path / "parts.calls").read_text().splitlines())
    assert len(asked) == CALLS
    assert sum(asked.values()) <= CALLS + ended * AT_ONCE


@pytest.mark.slow
@pytest.mark.server
def test_what_was_sent_is_counted_whatever_became_of_it(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    from tests.judges.llm.server import Action, JudgeServer, Received

    def script(request: Received, number: int) -> Action:
        data = "number" in (request.schema or {}).get("properties", {})
        words = f"It hurts, {number}."
        text = json.dumps({"number": 1} if data else {"message": words, "end": False}) if request.schema else words
        fault = {5: Action(status=500), 7: Action(drop=True)}.get(number % 11)
        return fault or Action(text=text, delay=held[0])

    out, sent, held = tmp_path / "talks", [], [0.0]
    with JudgeServer(script) as server:
        for cuts, (number, after) in enumerate(((signal.SIGKILL, 9), (signal.SIGINT, 6)), 1):
            before, held[0] = server.count, 0.01
            begun = process(out, tmp_path / "calls", 0.0, server.judge)
            deadline = time.monotonic() + 90
            while server.count - before < after:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            held[0] = 60.0
            while server.in_flight < cuts * AT_ONCE:  # all that may be under way waits for the server, for good
                assert time.monotonic() < deadline
                time.sleep(0.005)
            begun.send_signal(number)
            begun.wait(60)
            sent.append((sum(own["calls"] for own in talks_overview(out).spent.values()), server.count))
            held[0] = 0.0
        assert process(out, tmp_path / "calls", 0.0, server.judge).wait(60) == 0
        sent.append((sum(own["calls"] for own in talks_overview(out).spent.values()), server.count))
        received = Counter("patient" if "You are c" in own.prompt else "clinician" for own in server.received)
    assert all(said == served for said, served in sent), sent
    spent = talks_overview(out).spent
    assert {role: spent[role]["calls"] for role in ("clinician", "patient")} == received
    assert spent["evaluator"]["calls"] == 0
    without = {role: spent[role]["unanswered"] for role in ("clinician", "patient")}
    assert without == {role: received[role] - spent[role]["replies"] for role in without}
    assert sum(without.values()) >= 2 * AT_ONCE
    assert not list(out.glob("*-sent"))


@pytest.mark.slow
def test_a_killed_review_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    assert process(tmp_path / "whole", tmp_path / "whole.calls", 0.0, "reviewed").wait(60) == 0
    for seconds in budget(3, 20) * [0.02]:
        begun = process(tmp_path / "parts", tmp_path / "parts.calls", seconds, "reviewed")
        time.sleep(0.3)
        begun.kill()
        begun.wait(60)
    assert process(tmp_path / "parts", tmp_path / "parts.calls", 0.0, "reviewed").wait(60) == 0
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    counts = Counter((tmp_path / "whole.calls").read_text().split()[1::4])
    assert counts == {"speak": 48, "answer": 48, "guess": 12, "review": 12}, "six conversations, two draws each"


def test_what_is_complete_is_written_where_somebody_stops_it(tmp_path: Path) -> None:
    out = tmp_path / "talks"

    def stop(progress: SimulationProgress) -> None:
        if progress.finished == 2:
            os.kill(os.getpid(), signal.SIGINT)

    def had(folder: Path, progress: Callable[[SimulationProgress], None] | None = None) -> None:
        simulate(cases(40), "tiny", folder, clinician="rules", progress=progress)

    # What a shell runs in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            had(out, stop)
    finally:
        signal.signal(signal.SIGINT, before)
    with opened_log(out / LOG_FILE) as connection:
        kept = [ended.transcript for _, ended in planned_conversations(connection) if ended is not None]
    assert 2 <= len(kept) < 40
    assert (out / "transcripts.jsonl").read_bytes() == b"".join(kept)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["conversations"] == {
        "planned": 40, "finished": len(kept), "failed": 0, "unfinished": 40 - len(kept),
    }  # fmt: skip
    assert manifest["last run"]["calls asked"] >= 9 * len(kept)
    assert bedside.score(out, tmp_path / "run", metrics=["turns"]).transcripts == len(kept)
    had(out)
    had(tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.slow
def test_two_processes_on_one_folder_are_refused(tmp_path: Path) -> None:
    first = process(tmp_path / "talks", tmp_path / "calls", 60.0)
    deadline = time.monotonic() + 30
    while not (tmp_path / "talks" / LOG_FILE).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    second = process(tmp_path / "talks", tmp_path / "calls", 0.0)
    output = second.communicate(timeout=60)[0]
    assert second.returncode == 1
    assert "another bedside process has a simulation there; wait until it ends" in output
    first.kill()
    first.wait()


def test_a_folder_that_is_held_is_refused(tmp_path: Path) -> None:
    run_tiny(tmp_path / "talks", clinicians="rules")
    held = hold(tmp_path / "talks/.simulation.lock")
    assert held is not None
    with held, pytest.raises(RunError, match="another bedside process has a simulation there"):
        run_tiny(tmp_path / "talks", clinicians="rules")
    run_tiny(tmp_path / "talks", clinicians="rules")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"This is no database at all.", "middle"])
def test_a_damaged_log_is_one_line(tmp_path: Path, damage: Any) -> None:
    out = tmp_path / "talks"
    run_tiny(out, clinicians="rules", cases=cases(40))
    path = out / LOG_FILE
    if damage == "middle":
        content = bytearray(path.read_bytes())
        content[4096 : len(content) - 4096] = b"\x55" * (len(content) - 8192)
        path.write_bytes(content)
    else:
        path.write_bytes(damage)
    if damage == b"":  # which is an empty log
        run_tiny(out, clinicians="rules", cases=cases(40))
        return
    with pytest.raises(BedsideError) as caught:
        run_tiny(out, clinicians="rules", cases=cases(40))
    assert "log of the simulation" in str(caught.value)
    assert "\n" not in str(caught.value)


def agent(request: dict[str, Any]) -> Any:
    return {"number": 1} if request["kind"] == "data" else "How are you?"


FIRST = f"tiny/{__name__}:agent/c0/short/1"


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ("conversations WHERE key = (SELECT key FROM plan WHERE place = 0)", f"the conversation {FIRST}"),
        ("plan WHERE place = 0", f"1 of the plan ({FIRST})"),
        # Of 7 that are its own: two questions, labels and answers, and the guess.
        (
            "replies WHERE purpose = 'speak' AND key = (SELECT key FROM plan WHERE place = 0)",
            f"2 of 7 replies of {FIRST}",
        ),
        ("replies WHERE purpose = 'facts'", "3 of 12 replies of the evaluator"),
    ],
)
def test_verify_finds_rows_that_a_log_lost(tmp_path: Path, lost: str, told: str) -> None:
    run_tiny(tmp_path / "talks", clinicians=agent, cases=cases(3))
    assert all_as_written(bedside.verify(tmp_path / "talks").results)
    with sqlite3.connect(tmp_path / "talks" / LOG_FILE) as connection:
        connection.execute(f"DELETE FROM {lost}")
    (wrong,) = [check for check in bedside.verify(tmp_path / "talks").results if check.state != "as written"]
    assert (Path(wrong.path).name, wrong.state) == (LOG_FILE, "changed")
    assert told in wrong.finding
    run_tiny(tmp_path / "talks", clinicians=agent, cases=cases(3))
    again = [check.finding for check in bedside.verify(tmp_path / "talks").results if check.state == "changed"]
    assert again == []


def test_a_log_of_another_format_is_left_alone_and_a_copy_by_sql_goes_on(tmp_path: Path) -> None:
    run_tiny(tmp_path / "talks", clinicians="rules")
    by_sql(tmp_path / "talks" / LOG_FILE)
    run_tiny(tmp_path / "talks", clinicians="rules")
    with sqlite3.connect(tmp_path / "talks" / LOG_FILE) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(RunError, match="its format is 9, this bedside reads 1 to 2"):
        run_tiny(tmp_path / "talks", clinicians="rules")


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_same_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = ConversationLog._make_tables

    def small(log: ConversationLog) -> None:
        make(log)
        log._connection.execute("PRAGMA max_page_count = 20")

    with monkeypatch.context() as patched:
        patched.setattr(ConversationLog, "_make_tables", small)
        with pytest.raises(RunError, match=r"the log of the simulation can't be used \(database or disk is full\)"):
            run_tiny(tmp_path / "talks", clinicians="rules", cases=cases(40))
    run_tiny(tmp_path / "talks", clinicians="rules", cases=cases(40))
    run_tiny(tmp_path / "whole", clinicians="rules", cases=cases(40))
    assert contents(tmp_path / "talks") == contents(tmp_path / "whole")


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    run_tiny(tmp_path / "talks", clinicians="rules")
    (tmp_path / "talks/transcripts.jsonl").unlink()
    (tmp_path / "talks/transcripts.jsonl").mkdir()
    with pytest.raises(RunError, match="can't be written"):
        run_tiny(tmp_path / "talks", clinicians="rules")
    with pytest.raises(RunError, match="can't be written"):
        run_tiny(Path("/dev/null/talks"), clinicians="rules")


def test_it_runs_where_a_loop_runs_already(tmp_path: Path) -> None:
    async def notebook() -> int:
        return run_tiny(tmp_path / "talks", clinicians="rules").summary.counts.finished

    assert run_to_end(notebook) == 3


def test_what_a_run_took_stands_in_the_manifest_alone(tmp_path: Path) -> None:
    run_tiny(tmp_path / "talks", clinicians="rules")
    manifest = json.loads((tmp_path / "talks/manifest.json").read_text())
    assert manifest["last run"]["calls asked"] == 27
    assert set(manifest["spent"]) == {"clinician", "patient", "evaluator"}
    for line in (tmp_path / "talks/transcripts.jsonl").read_text().splitlines():
        assert not {"calls", "cost", "tokens", "seconds"} & set(json.loads(line)["reference"]["simulation"])
