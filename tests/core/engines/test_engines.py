"""Every engine, with processes that are killed; a real dask cluster; Ray where it is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import simulate
from bedside.core.engines.contract import ENGINES, Engine, open_engine
from bedside.core.errors import EngineError, MissingExtraError, RegistryError
from bedside.scoring import spread as spreading
from bedside.scoring.score import score
from tests.conftest import exit_code
from tests.core.engines.clusters import ROOT, DaskCluster, started, wait_until
from tests.core.engines.tasks import die, square, square_or_die
from tests.scoring.test_spread import assert_nothing_kept, assert_same
from tests.simulation.test_simulate import contents

pytestmark = [pytest.mark.slow, pytest.mark.server]


@pytest.fixture(scope="module")
def workers_find_the_tests() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield


# Ray takes half a minute to do what the others do; that it does it at all is seen in tests/safety, too.
@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.soak_only if name == "ray" else ()) for name in ENGINES.names()],
)
def engine(request: pytest.FixtureRequest, workers_find_the_tests: None) -> Iterator[Engine]:
    """Two workers of each engine, on this machine."""
    if request.param == "ray":
        if importlib.util.find_spec("ray") is None:
            pytest.skip("Ray is not installed")
        importlib.import_module("ray")  # as a program may have done that uses Ray itself
    with open_engine(request.param, workers=2) as opened:
        yield opened


#: Transcripts in a file that keeps three workers busy for a few seconds.
COUNT = 400


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file."""
    path = tmp_path_factory.mktemp("talks") / "talks.jsonl"
    turns = [
        {"role": ("clinician", "patient")[n % 2], "text": f"Well, how do you sleep on day {n}? I wake at three."}
        for n in range(20)
    ]
    path.write_text("".join(json.dumps({"id": f"t{n}", "turns": turns}) + "\n" for n in range(COUNT)))
    return path


@pytest.fixture(scope="module")
def plain(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one process."""
    out = tmp_path_factory.mktemp("plain") / "run"
    score([talks], out)
    return out


@pytest.fixture(scope="module")
def annomi_plain(annomi: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """AnnoMI's run of one process."""
    out = tmp_path_factory.mktemp("annomi") / "run"
    score([annomi], out)
    return out


# -- each engine ------------------------------------------------------------------------------------


def test_each_task_has_its_result(engine: Engine) -> None:
    assert dict(engine.run_tasks(square, [1, 2, 3])) == {1: 1, 2: 4, 3: 9}
    with pytest.raises(ValueError, match="no square of nothing"):
        list(engine.run_tasks(square, [1, 2, 0, 3]))
    assert list(engine.run_tasks(square, [])) == []
    assert engine.workers == 2


def test_a_worker_that_dies_costs_nothing(engine: Engine, tmp_path: Path) -> None:
    tasks = [(number, str(tmp_path / "mark") if number == 3 else "") for number in range(8)]
    found = {task[0]: result for task, result in engine.run_tasks(square_or_die, tasks)}
    assert found == {number: number * number for number in range(8)}


def test_what_nobody_survives_is_told_as_lost(engine: Engine) -> None:
    with pytest.raises(EngineError, match="1 of 1 parts aren't done, workers were lost") as lost:
        list(engine.run_tasks(die, [0]))
    assert "\n" not in str(lost.value)
    # And the engine lives.
    assert dict(engine.run_tasks(die, [5])) == {5: 5}


def test_simulated_conversations_are_the_same_by_every_engine(engine: Engine, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"clinician": ["script:good", "rules"], "repeats": 2, "seed": 4}
    simulate(None, "note2chat", tmp_path / "whole", **arguments)
    simulate(None, "note2chat", tmp_path / "parts", engine=engine, **arguments)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert contents(tmp_path / "parts")["transcripts.jsonl"].count(b"\n") == 20
    again = simulate(None, "note2chat", tmp_path / "parts", engine=engine, **arguments)
    assert again.summary.calls.asked == 0


def test_annomi_is_the_same_by_every_engine(engine: Engine, annomi: Path, annomi_plain: Path, tmp_path: Path) -> None:
    score([annomi], tmp_path / "spread", engine=engine)
    assert_same(annomi_plain, tmp_path / "spread")
    assert json.loads((tmp_path / "spread/manifest.json").read_text())["scorings"][0]["engine"] == engine.name
    assert_nothing_kept(tmp_path / "spread")


def test_a_cluster_of_this_machine_listens_on_loopback_only(engine: Engine) -> None:
    """In a network namespace nothing else would be there; here the sockets of our processes are looked at."""
    if engine.name == "local":
        pytest.skip("processes that listen to nothing")
    if not Path("/proc/net/tcp").exists():
        pytest.skip("sockets are read from /proc")
    ours = _descendants(os.getpid())
    places = {place for process in ours for place in _listening(process)}
    assert places
    assert all(place in _LOOPBACK for place in places), places


_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def _descendants(process: int) -> set[int]:
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _listening(process: int) -> Iterator[str]:
    """The addresses, as the kernel writes them, at which a process listens."""
    inodes = set()
    for link in Path(f"/proc/{process}/fd").glob("*"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
        except OSError:
            continue
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            cells = row.split()
            if cells[3] == "0A" and cells[9] in inodes:
                yield cells[1].partition(":")[0]


# -- a dask cluster that runs -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    made = DaskCluster(tmp_path_factory.mktemp("dask"))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def three(cluster: DaskCluster) -> DaskCluster:
    cluster.mend(3)
    return cluster


class Scored:
    """A scoring that goes on in a thread of its own while things happen to the cluster."""

    def __init__(self, address: str, talks: Path, out: Path) -> None:
        self.out = out
        self.error: Exception | None = None
        self.summary: Any = None
        self._thread = threading.Thread(target=self._run, args=(address, talks), daemon=True)
        self._thread.start()

    def _run(self, address: str, talks: Path) -> None:
        try:
            with open_engine("dask", address) as engine:
                self.summary = score([talks], self.out, engine=engine)
        except Exception as error:
            self.error = error

    def until_parts(self, number: int) -> None:
        wait_until(lambda: spreading.kept_parts(self.out)[1] >= number or not self._thread.is_alive())
        assert self._thread.is_alive(), "it ended before anything happened to it"

    def end(self) -> Any:
        self._thread.join(150)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.summary


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_SMALLEST", 20_000)


def test_a_cluster_gives_the_same(
    three: DaskCluster,
    annomi: Path,
    annomi_plain: Path,
    mdd5k: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command, as a user would."""
    score([mdd5k], tmp_path / "mdd5k-plain")
    for name, source, plain in (("annomi", annomi, annomi_plain), ("mdd5k", mdd5k, tmp_path / "mdd5k-plain")):
        assert exit_code("score", source, "--out", tmp_path / name, "--engine", "dask", "--address", three.address) == 0
        assert_same(plain, tmp_path / name)
    assert "Scored 100 transcripts" in capsys.readouterr().out


def test_a_worker_is_killed_and_another_joins_late(
    three: DaskCluster, talks: Path, plain: Path, tmp_path: Path, small_parts: None
) -> None:
    run = Scored(three.address, talks, tmp_path / "run")
    run.until_parts(3)
    three.kill_worker()
    three.add(1)
    assert run.end().transcripts == COUNT
    assert_same(plain, tmp_path / "run")


def test_the_scheduler_is_restarted(
    three: DaskCluster, talks: Path, plain: Path, tmp_path: Path, small_parts: None
) -> None:
    run = Scored(three.address, talks, tmp_path / "run")
    run.until_parts(3)
    three.restart_scheduler()
    # Dask's workers end with their scheduler; whoever keeps a cluster starts them again.
    for worker in three.workers:
        worker.kill()
        worker.wait()
    three.mend(3)
    assert run.end().transcripts == COUNT
    assert_same(plain, tmp_path / "run")


def test_a_scheduler_that_stays_away_ends_in_one_line(
    talks: Path, plain: Path, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bedside.core.engines.shipped import dask

    monkeypatch.setattr(dask, "_RETURN", 1)
    monkeypatch.setattr(dask, "_REACH", 2)
    own = DaskCluster(tmp_path)
    try:
        own.add(1)
        run = Scored(own.address, talks, tmp_path / "run")
        run.until_parts(2)
    finally:
        own.close()
    with pytest.raises(EngineError, match=r"went away and didn't return.*the same command goes on"):
        run.end()
    _, kept = spreading.kept_parts(tmp_path / "run")
    assert kept >= 2
    with open_engine("local", workers=2) as engine:
        summary = score([talks], tmp_path / "run", engine=engine)
    assert summary.resumed == kept
    assert_same(plain, tmp_path / "run")


# -- processes on this machine ----------------------------------------------------------------------

COMMAND = """
import sys
from bedside.cli import main
from bedside.scoring import spread
spread._SMALLEST = 20_000
main(["score", sys.argv[1], "--out", sys.argv[2], "--engine", "local", "--workers", "2"])
"""


def test_the_command_itself_is_killed(talks: Path, plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started("-c", COMMAND, str(talks), str(out))
    wait_until(lambda: spreading.kept_parts(out)[1] >= 3)
    below = _descendants(process.pid)
    process.kill()
    process.wait()
    assert not out.exists()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(talks), str(out)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    resumed = re.search(r"^Took (\d+) parts? over that had been scored before\.", done.stdout, re.MULTILINE)
    assert resumed is not None
    assert int(resumed[1]) >= 3
    assert_same(plain, out)
    # Its workers finish what they were at, which harms nothing, and end by themselves.
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in below))


def test_bad_input_is_one_line_and_says_what_is_kept(
    talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "talks.jsonl"
    bad.write_text(talks.read_text().replace('{"id": "t390"', '{"id": t390'))
    assert exit_code("score", bad, "--out", tmp_path / "run", "--engine", "local", "--workers", "2") == 2
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r".* keeps \d+ finished parts?; the same command goes on from there\.", lines[-2])
    assert re.match(r"bedside: .*talks.jsonl:391: not JSON", lines[-1])


# -- what can't be started --------------------------------------------------------------------------


def test_what_is_no_engine() -> None:
    with pytest.raises(RegistryError, match="did you mean dask"):
        open_engine("dusk")
    with pytest.raises(EngineError, match="has no address"):
        open_engine("local", "tcp://127.0.0.1:1")
    with pytest.raises(EngineError, match="there must be 1 worker or more, and 0 is less"):
        open_engine("local", workers=0)
    with pytest.raises(EngineError, match="has its own workers"):
        open_engine("dask", "tcp://127.0.0.1:1", workers=2)


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from bedside.core.engines.shipped import dask

    monkeypatch.setattr(dask, "_REACH", 1)
    with pytest.raises(EngineError, match="no dask scheduler answers there; start one"):
        open_engine("dask", "tcp://127.0.0.1:9")


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "nowhere"])
def test_no_ray_answers(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(EngineError, match="no Ray cluster answers there; start one"):
        open_engine("ray", address)


@pytest.mark.parametrize(("name", "library"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_extra_is_named(name: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install \"bedside\[{name}\]\""):
        open_engine(name)


def test_engines_cost_nothing_until_they_are_used() -> None:
    code = (
        "import sys, bedside.core.engines, bedside.scoring.spread; "
        "print(sorted({'dask', 'distributed', 'ray', 'joblib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
