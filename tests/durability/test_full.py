"""A disk that is full, and one that can't be written: one line, nothing half-written, and the command goes on later."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability import children
from tests.durability.bench import Bench
from tests.durability.states import comparable, files_of, is_temporary, see_run, visible
from tests.judges.llm.server import JudgeServer
from tests.soak import budget

pytestmark = pytest.mark.slow
PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only who may mount a small disk can fill it")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def skip_engine(bench: Bench) -> None:
    if "--engine" in bench.call:
        pytest.skip("joblib tells of its own files when a forked process ends without its exit handlers")


def one_line(said: str) -> str:
    """The line that a command ended with, the only one that isn't about its progress."""
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if line.startswith("bedside: ")]
    assert len(lines) == 1, said
    assert said.rstrip().endswith(lines[0])
    return lines[0]


def test_judgements_on_a_disk_that_is_read_only(study: Path, disk: Path, tmp_path: Path) -> None:
    shutil.copytree(study / "apart", disk / "apart")
    before = files_of(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    code, said, _ = children.run(["judge", "answers", "list", "apart", "--json"], disk, log=tmp_path / "log")
    assert code == 0, said
    assert '"answered"' in said
    assert files_of(disk) == before


#: What reads, and writes at most elsewhere.
READING = (
    "agree run", "validate run", "compare run", "explain run --cell empathy/GPT-Secret", "verify run",
    "judge tune tuning/run --judge http://127.0.0.1:9/v1#m --rubric empathy --dry-run", "read in.jsonl",
    "annotate status page.json --run apart", "annotate revisions plan.json --run run",
    "annotate people page.json --run apart",
    "annotate export plan.json --format csv -o {out}/sheets --run run",
    "sample run --rubrics empathy --raters zoe,yan -o {out}/drawn.json", "report run --format md -o {out}/report",
    "view run --export {out}/copy", "merge run apart -o {out}/merged",
    "export run -o {out}/exported --to csv-folder --licence cc-by-4.0 --origin written",
)  # fmt: skip


@pytest.mark.soak_only
@pytest.mark.parametrize("call", READING)
def test_what_reads_reads_on_a_disk_that_is_read_only(study: Path, disk: Path, tmp_path: Path, call: str) -> None:
    shutil.copytree(study, disk, dirs_exist_ok=True)
    said = []
    for number in range(2):
        (out := tmp_path / str(number)).mkdir()
        ended = children.run(call.format(out=out).split(), disk, log=tmp_path / "log")
        said.append((ended[0], ended[1].replace(str(out), "")))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert said == [(0, said[0][1])] * 2


def fill(disk: Path, free: int) -> Path:
    """Leave ``free`` bytes."""
    filler = disk / "filler"
    found = os.statvfs(disk)
    filler.write_bytes(bytes(found.f_bavail * found.f_frsize - free))
    return filler


@pytest.mark.soak
@pytest.mark.parametrize("free", [0, 5 * PAGE, PAGE, 12 * PAGE][: budget(2, 4)])
def test_a_full_disk(bench: Bench, disk: Path, tmp_path: Path, free: int) -> None:
    skip_engine(bench)
    folder = Path(shutil.copytree(bench.study, disk / "study"))
    before = comparable(visible(files_of(folder)))
    filler = fill(disk, free)
    code, said, _ = children.run(bench.call, folder, log=tmp_path / "log")
    if code != 0:
        assert code == 2
        assert re.search("No space left on device|disk is full|disk I/O error", one_line(said))
        bench.look(files_of(folder))
        assert not [name for name in files_of(folder) if is_temporary(name)]
    if free == 0:
        assert code == 2
        assert comparable(visible(files_of(folder))) == before
    filler.unlink()
    bench.go_on(folder)


def test_a_disk_that_is_read_only(bench: Bench, disk: Path, tmp_path: Path) -> None:
    skip_engine(bench)
    folder = Path(shutil.copytree(bench.study, disk / "study"))
    before = files_of(folder)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    code, said, _ = children.run(bench.call, folder, log=tmp_path / "log")
    assert code == 2
    assert "Read-only file system" in one_line(said)
    assert files_of(folder) == before
    see_run(folder / "run")
    code, said, _ = children.run(["agree", "run", "--json"], folder, log=tmp_path / "log")
    assert '"kappa' in said


@pytest.mark.soak
def test_what_is_paid_is_kept_where_the_disk_is_full(study: Path, disk: Path, tmp_path: Path) -> None:
    """Answers that were kept aren't asked again: only those on their way when the disk was full are."""
    with JudgeServer(latency=0.01) as server:
        call = ["score", "in.jsonl", "-o", "run", "--metrics", "structure", "--judge", server.judge, "--rubrics"]
        call += ["empathy,goal_alignment", "--max-concurrency", "1"]
        whole = Path(shutil.copytree(study, tmp_path / "whole"))
        assert children.run(call, whole)[0] == 0
        needed = len(server.received)
        for free in [30 * PAGE, 40 * PAGE, 20 * PAGE, 25 * PAGE, 35 * PAGE, 80 * PAGE][: budget(2, 6)]:
            server.received.clear()
            folder = Path(shutil.copytree(study, disk / "study"))
            filler = fill(disk, free)
            code, said, _ = children.run(call, folder, log=tmp_path / "log")
            paid = len(server.received)
            if code != 0:
                one_line(said)
            filler.unlink()
            assert children.run(call, folder, log=tmp_path / "log")[0] == 0
            assert len(server.received) <= needed + 1, f"{free}: {paid} of {needed} were paid, {said}"
            shutil.rmtree(folder)
