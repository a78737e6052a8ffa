"""Told to stop: one line, nothing left behind, and the same command goes on."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.durability import children
from tests.durability.bench import Bench, spread
from tests.durability.recorder import Record
from tests.durability.states import files_of, is_temporary
from tests.durability.test_full import one_line, skip_engine
from tests.soak import budget

pytestmark = pytest.mark.slow
STOPPED = "bedside: stopped; nothing is left half-written. Run the same command again to go on"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.soak
def test_at_some_events(bench: Bench, tmp_path: Path) -> None:
    skip_engine(bench)
    events = spread(bench.recording.last_event, budget(3, 6))
    folders = [bench.copy() for _ in events]

    def stop(place: int) -> None:
        record = Record(tmp_path / f"unused-{place}", events[place], SIGNALS[place % len(SIGNALS)])
        code, said, _ = children.run(bench.call, folders[place], [record])
        assert (code, one_line(said)) == (2, STOPPED)

    with ThreadPoolExecutor(2) as two:
        list(two.map(stop, range(len(events))))
        for folder in folders:
            bench.look(files := files_of(folder))
            # A change of a run that is on disk whole is put in its place when the run is opened.
            assert not [name for name in files if is_temporary(name) and "/.change/" not in name]
        list(two.map(bench.go_on, folders))


@pytest.mark.soak
@pytest.mark.parametrize("call", ["score many.jsonl -o new", "agree run -o tables"])
def test_at_random_moments_from_the_start(study: Path, tmp_path: Path, call: str) -> None:
    """As a program of its own, whose libraries are still being loaded when it is told to stop."""
    draw = random.Random(call)
    program = [sys.executable, "-m", "bedside", *call.split()]
    began = time.perf_counter()
    subprocess.run(program, cwd=shutil.copytree(study, tmp_path / "undisturbed"), check=True, capture_output=True)
    seconds = time.perf_counter() - began
    for place in range(budget(3, 6)):
        folder = shutil.copytree(study, tmp_path / str(place))
        process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0.3, seconds))  # before that, Python itself is being loaded
        process.send_signal(SIGNALS[place % 2])
        _, said = process.communicate(timeout=60)
        # Python ends itself by the signal where it came while a library was loaded, or at the very end.
        assert process.returncode in (2, 0, -signal.SIGINT, -signal.SIGTERM), said
        assert "\nTraceback" not in f"\n{said}"
        assert not [name for name in files_of(folder) if is_temporary(name)]


@pytest.mark.parametrize("call", ["list metrics", "agree run --json --out run/tables"])
def test_nobody_reads_what_it_prints(study: Path, tmp_path: Path, call: str) -> None:
    folder = shutil.copytree(study, tmp_path / "study")

    def typed(end: str) -> subprocess.CompletedProcess[str]:
        command = f"{sys.executable} -m bedside {call} {end}"
        return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)

    for end in ("| head -c 1", "| true", ">&-"):
        said = typed(end).stderr
        assert "Traceback" not in said
        assert "Exception" not in said
    ended = typed("> /dev/full")
    assert ended.returncode == 2
    assert one_line(ended.stderr) == "bedside: can't go on (No space left on device)"
    if "run" in call:  # what was to be written was written
        assert (folder / "run" / "tables" / "agreement.csv").is_file()
