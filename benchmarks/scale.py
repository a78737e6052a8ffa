"""What a second worker brings to scoring, and memory as the input grows; ``score.py`` says what a core does.

    python benchmarks/scale.py [--largest 100000]

What two workers bring is wall time: other work on the machine lowers it. Nothing here needs a GPU or a judge.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORDS = (
    "sleep tired work mother doctor feeling better worse always never think maybe today night morning week help "
    "talk friend hope drink smoke plan change want need stop start told said know see"
).split()


def made(path: Path, transcripts: int, turns: int) -> Path:
    """A file of conversations drawn from a few words."""
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(4, 30))).capitalize() + draw.choice(".?") for _ in range(2000)]
    with path.open("w") as file:
        for number in range(transcripts):
            said = [{"role": ("clinician", "patient")[turn % 2], "text": draw.choice(texts)} for turn in range(turns)]
            file.write(json.dumps({"id": f"t{number}", "system": "AB"[number % 2], "turns": said}) + "\n")
    return path


# -- workers ----------------------------------------------------------------------------------------

#: Scores in parts with so many workers, after a first scoring that starts them; prints seconds of wall time, of the
#: joining alone, and the peak memory of each worker and of this process in megabytes.
SPREAD = """
import json, sys, time
from bedside.core.engines.contract import open_engine
from bedside.core.engines.shipped import local
from bedside.scoring import spread as spreading
from bedside.scoring.score import score
from benchmarks.scale import peak, peak_of_this

small, path, out, workers = sys.argv[1:5]
metrics = sys.argv[5].split(",") if sys.argv[5] else None
local._IDLE = 600
joined = spreading.SpreadScoring._join
joining = []

def timed(*arguments):
    start = time.perf_counter()
    found = joined(*arguments)
    joining.append(time.perf_counter() - start)
    return found

spreading.SpreadScoring._join = timed
with open_engine("local", workers=int(workers)) as engine:
    score([small], out + "-small", metrics=metrics, engine=engine)
    start = time.perf_counter()
    summary = score([path], out, metrics=metrics, engine=engine)
    wall = time.perf_counter() - start
    peaks = dict(process for _, process in engine.run_tasks(peak, range(8 * int(workers))))
print(json.dumps([wall, joining[-1], summary.ratings, sorted(peaks.values()), peak_of_this()]))
"""


def peak_of_this() -> float:
    """The most memory this process had, in megabytes; that of getrusage is inherited from who started it."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def peak(_: int) -> tuple[int, float]:
    time.sleep(0.2)
    return os.getpid(), peak_of_this()


def spread(small: Path, path: Path, out: Path, workers: int, metrics: str = "") -> tuple[list[Any], float]:
    """What :data:`SPREAD` prints, and the processor seconds of all its processes."""
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", SPREAD, str(small), str(path), str(out), str(workers), metrics],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), cost


def efficiency(scratch: Path) -> None:
    small = made(scratch / "small.jsonl", 50, 30)
    path = made(scratch / "talks.jsonl", 4000, 30)
    print("4,000 conversations of 30 turns, the default suite, by workers of --engine local; start-up apart")
    print(f"{'workers':>7} {'wall s':>8} {'transcripts/s':>14} {'speed-up':>9} {'CPU s, all':>11} {'joining s':>10}")
    first = 0.0
    for workers in (1, 2):
        (wall, joining, ratings, _, _), cost = spread(small, path, scratch / f"run{workers}", workers)
        first = first or wall
        print(
            f"{workers:7} {wall:8.1f} {4000 / wall:14,.0f} {first / wall:9.2f} {cost:11.1f} "
            f"{joining:10.2f}  {ratings / joining:,.0f} ratings/s joined"
        )
    print("other work on this machine lowers the speed-up: load is", ", ".join(f"{x:.1f}" for x in os.getloadavg()))
    print()


def memory(scratch: Path, largest: int) -> None:
    small = made(scratch / "small.jsonl", 50, 6)
    print("conversations of 6 turns, structure only, two workers: peak memory in MB")
    print(f"{'transcripts':>11} {'each worker':>16} {'the command':>12} {'wall s':>8}")
    count = 1000
    while count <= largest:
        path = made(scratch / f"{count}.jsonl", count, 6)
        (wall, _, _, peaks, own), _ = spread(small, path, scratch / f"memory{count}", 2, "structure")
        print(f"{count:11,} {' '.join(f'{each:.0f}' for each in peaks):>16} {own:12.0f} {wall:8.1f}")
        count *= 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        efficiency(scratch)
        memory(scratch, given.largest)


if __name__ == "__main__":
    main()
