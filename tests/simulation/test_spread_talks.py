"""Conversations spread over workers: the same bytes, whatever dies, and nothing that was merged is asked again."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import simulate
from bedside.core.engines.contract import BrokenError, Engine, TaskOutcome, call_task, open_engine
from bedside.core.errors import BedsideError, EngineError, InputError
from bedside.core.locks import hold
from bedside.simulation.conversation_log import PARTS, merge_log, opened_log, worker_logs
from bedside.simulation.simulate import SimulationSettings, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.spread_talks import simulate_apart
from bedside.transcripts.simulation_folder import LOG_FILE
from tests.core.engines.clusters import ROOT, wait_until
from tests.judges.test_command import run as command
from tests.simulation.test_simulate import contents
from tests.simulation.tiny import PERSONAS, TINY, cases, install, run_tiny
from tests.soak import budget


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, replace(TINY, takes_personas=True))


class WorkerDiedError(BaseException):
    """A worker is no more."""


class OneByOne(Engine):
    """Workers that take turns in this process; one that dies takes the round with it."""

    name = "one by one"
    workers = 2

    def run_round(
        self, function: Callable[[Any], Any], tasks: Mapping[int, Any]
    ) -> Generator[tuple[int, TaskOutcome[Any]], None, None]:
        for number, task in reversed(list(tasks.items())):
            try:
                yield call_task(function, number, task)
            except WorkerDiedError as error:
                raise BrokenError("a worker died") from error

    def close(self) -> None:
        pass


class CountingAgent:
    """Replies by what it is asked alone, and counts."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[Any, ...]] = Counter()

    def __call__(self, request: dict[str, Any]) -> Any:
        self.calls[request["session"], request["purpose"], request["turn"], request["attempt"]] += 1
        return {"number": request["turn"]} if request["kind"] == "data" else f"Turn {request['turn']}."


AGENT = CountingAgent()


def agent(request: dict[str, Any]) -> Any:
    return AGENT(request)


NAME = "tests.simulation.test_spread_talks:agent"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> CountingAgent:
    counting = CountingAgent()
    monkeypatch.setattr("tests.simulation.test_spread_talks.AGENT", counting)
    return counting


def request(**more: Any) -> SimulationRequest:
    told: dict[str, Any] = {"cases": cases(3), "personas": PERSONAS, "settings": ["short"]}
    told |= {"evaluator": NAME} | more
    return SimulationRequest("tiny", NAME, **told)


def apart(out: Path, **more: Any) -> Any:
    return simulate_apart(request(**more).plan(), out, SimulationSettings(), OneByOne())


def spent(folder: Path) -> list[tuple[Any, ...]]:
    with opened_log(folder / LOG_FILE) as connection:
        return connection.execute(
            "SELECT key, purpose, ordinal, attempt, prompt, reply, calls FROM replies ORDER BY 1, 2, 3, 4"
        ).fetchall()


def test_it_comes_to_what_one_process_comes_to(tmp_path: Path, counted: CountingAgent) -> None:
    whole = simulate_plan(request().plan(), tmp_path / "whole", SimulationSettings())
    alone, counted.calls = counted.calls, Counter()
    told: list[Any] = []
    parts = simulate_apart(request().plan(), tmp_path / "parts", SimulationSettings(), OneByOne(), told.append)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert spent(tmp_path / "parts") == spent(tmp_path / "whole")
    assert counted.calls == alone, "what is shared by a case or a persona is asked once"
    assert set(alone.values()) == {1}
    assert (parts.counts, parts.requests) == (whole.counts, whole.requests)
    assert parts.calls.asked == whole.calls.asked
    assert told[-1].finished == told[-1].planned == parts.counts.finished == 3 * 2
    assert len(told) == 3
    assert not (tmp_path / "parts" / PARTS).exists()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["engine", "none", "replay"])
def test_it_goes_on_from_what_is_there(tmp_path: Path, counted: CountingAgent, way: str) -> None:
    """Some of the cases first, then all, and again."""
    simulate_plan(request().plan(), tmp_path / "whole", SimulationSettings())
    counted.calls.clear()
    apart(tmp_path / "parts", cases=cases(1))
    simulate_plan(request(cases=cases(2)).plan(), tmp_path / "parts", SimulationSettings())
    if way == "engine":
        again = apart(tmp_path / "parts")
        again = apart(tmp_path / "parts")
    else:
        apart(tmp_path / "parts")
        again = simulate_plan(request().plan(), tmp_path / "parts", SimulationSettings(replay=way == "replay"))
    assert again.calls.asked == again.requests == 0
    assert set(counted.calls.values()) == {1}
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert spent(tmp_path / "parts") == spent(tmp_path / "whole")


def dying(monkeypatch: pytest.MonkeyPatch, at: Callable[[], bool]) -> list[int]:
    """Have workers die when they write a reply, before it is on the disk or after; returns how many did."""
    from bedside.simulation.conversation_log import ConversationLog

    died: list[int] = []
    keep = ConversationLog.keep

    async def kept(log: ConversationLog, logged: Any) -> None:
        if PARTS in log.path.parts and at():
            if len(died) % 2:
                await keep(log, logged)
            died.append(1)
            raise WorkerDiedError
        await keep(log, logged)

    monkeypatch.setattr(ConversationLog, "keep", kept)
    return died


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_workers_that_die_cost_nothing_that_was_written(
    tmp_path: Path, counted: CountingAgent, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    simulate_plan(request().plan(), tmp_path / "whole", SimulationSettings(max_concurrency=2))
    counted.calls.clear()
    died = dying(monkeypatch, lambda: draw.random() < 0.1)
    for _ in range(40):
        with suppress(EngineError):  # workers were lost
            apart(tmp_path / "parts")
            break
    assert died
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    again = sum(counted.calls.values()) - len(counted.calls)
    assert again <= len(died) * 3 * 8, "what was under way is asked again, at most"
    assert not (tmp_path / "parts" / PARTS).exists()


@pytest.mark.slow
def test_an_error_of_a_part_is_the_run_s_and_the_others_are_kept(
    tmp_path: Path, counted: CountingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate_plan(request(cases=cases(2), repeats=4).plan(), tmp_path / "whole", SimulationSettings())
    counted.calls.clear()

    def broken(task: dict[str, Any]) -> Any:
        if sum(counted.calls.values()) > 35:
            raise ConnectionError("out of order")
        return counted(task)

    monkeypatch.setattr("tests.simulation.test_spread_talks.AGENT", broken)
    with pytest.raises(BedsideError, match="requests in a row were given up"):
        apart(tmp_path / "parts", cases=cases(2), repeats=4)
    asked = sum(counted.calls.values())
    assert asked > 35
    monkeypatch.setattr("tests.simulation.test_spread_talks.AGENT", counted)
    simulate_plan(request(cases=cases(2), repeats=4).plan(), tmp_path / "parts", SimulationSettings())
    assert set(counted.calls.values()) == {1}
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_logs_that_contradict_each_other_are_not_mixed(tmp_path: Path) -> None:
    """Two workers that were at the same part, as one was taken for dead: what one of them was told is kept."""

    def once(task: dict[str, Any]) -> Any:
        return {"number": task["turn"]} if task["kind"] == "data" else f"I say {task['turn']}."

    def other(task: dict[str, Any]) -> Any:
        return {"number": 7} if task["kind"] == "data" else f"And I {task['turn']}."

    def named(function: Any) -> Any:
        function.__qualname__ = "doctor"
        return function

    for name, function in (("a", once), ("b", other), ("c", once)):
        more = {"settings": ["long" if name == "c" else "short"]}
        run_tiny(tmp_path / name, clinicians=named(function), cases=cases(2), **more)
    whole = contents(tmp_path / "a")
    before = spent(tmp_path / "a")
    assert not merge_log(tmp_path / "a" / LOG_FILE, tmp_path / "b" / LOG_FILE)
    assert spent(tmp_path / "a") == before
    assert merge_log(tmp_path / "a" / LOG_FILE, tmp_path / "c" / LOG_FILE)
    assert merge_log(tmp_path / "a" / LOG_FILE, tmp_path / "c" / LOG_FILE)
    assert len(spent(tmp_path / "a")) > len(before)
    run_tiny(tmp_path / "a", clinicians=named(once), cases=cases(2), settings=["short"], replay=True)
    assert contents(tmp_path / "a") == whole
    run_tiny(tmp_path / "a", clinicians=named(once), cases=cases(2), settings=["long"], replay=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "c")


def test_a_log_that_a_worker_is_at_is_left_to_it(tmp_path: Path) -> None:
    run_tiny(tmp_path / "talks", clinicians="rules")
    own = tmp_path / "talks" / PARTS / "000000-x.sqlite"
    own.parent.mkdir()
    shutil.copy(tmp_path / "talks" / LOG_FILE, own)
    held = hold(own.with_suffix(".lock"))
    assert held is not None
    with held:
        worker_logs(tmp_path / "talks").collect()
        assert own.exists()
    worker_logs(tmp_path / "talks").collect()
    assert not own.parent.exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"clinician": "human:anna"}, "`engine`"),
        ({"max_calls": 10}, "`max_calls`"),
        ({"max_cost": 2.5}, "`max_cost`"),
        ({"replay": True}, "`replay`"),
        ({"clinician": lambda task: "Hello."}, "`engine`"),
    ],
)
def test_what_workers_can_t_do_is_one_line(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    run_tiny(tmp_path / "talks", clinicians="rules")
    before = contents(tmp_path / "talks")
    request: dict[str, Any] = {"clinician": "rules", "engine": OneByOne()}
    with pytest.raises(InputError) as caught:
        simulate(cases(), "tiny", tmp_path / "talks", **request | more)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path / "talks") == before


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--engine", "local", "--max-calls", "5"), "bedside: --max-calls: workers can't share a limit, 5"),
        (("--engine", "local", "--replay"), "bedside: --replay: nobody is asked"),
        (("--workers", "2"), "bedside: --workers: no engine is named; add --engine dask, local or ray"),
    ],
)
def test_the_command_refuses_in_one_line(
    tmp_path: Path, more: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "talks"
    code, _, err = command(capsys, "simulate", "--protocol", "note2chat", "--clinician", "rules", "--out", out, *more)
    assert code == 2
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert not out.exists()


# -- processes --------------------------------------------------------------------------------------


COMMAND = (
    "simulate", "--protocol", "note2chat", "--clinician", "tests.simulation.noting_agent:reply", "--repeats", "2",
    "--sample", "3", "--max-concurrency", "2",
)  # fmt: skip


def started(out: Path, calls: Path, seconds: float, *more: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "NOTED_CALLS": str(calls), "NOTED_SECONDS": str(seconds),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "bedside", *COMMAND, "--out", str(out), *more],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def noted(calls: Path) -> Counter[str]:
    return Counter(calls.read_text().splitlines()) if calls.exists() else Counter()


def _advanced(begun: subprocess.Popen[str], calls: Path, target: int) -> bool:
    """Whether a run made so many calls, or ended."""
    return sum(noted(calls).values()) >= target or begun.poll() is not None


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid), "-f", "loky"], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


@pytest.mark.slow
def test_killed_at_any_moment_it_comes_to_the_same_bytes(tmp_path: Path) -> None:
    """The coordinator with its workers, then a worker, then a run without any."""
    draw = random.Random(5)
    whole = started(tmp_path / "whole", tmp_path / "whole.calls", 0.0)
    assert whole.wait(120) == 0, whole.communicate()
    number = sum(noted(tmp_path / "whole.calls").values())
    out, calls = tmp_path / "parts", tmp_path / "parts.calls"
    workers = ("--engine", "local", "--workers", "2")
    killed = 0
    for _ in range(budget(1, 5)):
        begun = started(out, calls, 0.1, *workers)
        target = sum(noted(calls).values()) + draw.randrange(5, 15)
        wait_until(partial(_advanced, begun, calls, target))
        os.killpg(begun.pid, signal.SIGKILL)
        killed += begun.wait(60) != 0
        time.sleep(0.3)
    begun = started(out, calls, 0.1, *workers)
    target = sum(noted(calls).values()) + 5
    wait_until(lambda: sum(noted(calls).values()) >= target or begun.poll() is not None)
    for pid in children(begun.pid)[:1]:
        os.kill(pid, signal.SIGKILL)
        killed += 1
    output = begun.communicate(timeout=120)
    assert begun.returncode == 0, output
    assert killed >= 1
    assert contents(out) == contents(tmp_path / "whole")
    assert len(noted(calls)) == number
    # Those under way, two a worker; where one of two is killed, the other's round is begun anew too.
    assert sum(noted(calls).values()) <= number + killed * 2 * 2
    assert not (out / PARTS).exists()
    again = started(out, calls, 0.0)
    assert again.wait(60) == 0
    assert len(noted(calls)) == number
    assert sum(noted(calls).values()) <= number + killed * 2 * 2


@pytest.mark.slow
def test_by_processes_of_this_machine(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"clinician": ["script:good", "rules"], "repeats": 2, "sample": 3, "seed": 4}
    simulate(None, "note2chat", tmp_path / "whole", **arguments)
    with open_engine("local", workers=2) as engine:
        simulate(None, "note2chat", tmp_path / "parts", engine=engine, **arguments)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert contents(tmp_path / "parts")["transcripts.jsonl"].count(b"\n") == 12
