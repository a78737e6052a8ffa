"""What scoring costs a core, stage by stage; what a second worker brings; memory as the input grows.

    python benchmarks/scale.py [--annomi ../shared/data/annomi/annomi_dev.csv] [--largest 100000]

Stages are timed by the processor time they take, so that others on the machine matter little; what two workers bring is
wall time, and matters the more. Nothing here needs a GPU or a judge.
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
from collections.abc import Callable
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


# -- stages -----------------------------------------------------------------------------------------


def taken(work: Callable[[], object]) -> float:
    """Processor seconds of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def stages(annomi: Path, scratch: Path) -> None:
    from bedside.metrics import FAMILIES
    from bedside.ratings.run import write_new_run
    from bedside.ratings.table import rating_writer, transcript_row, transcript_writer
    from bedside.scoring.plan import make_plan, rate
    from bedside.transcripts.reading import Reading

    transcripts = list(Reading([annomi]))
    turns = sum(len(transcript.turns) for transcript in transcripts)
    found: dict[str, tuple[float, str]] = {}
    found["reading"] = min(taken(lambda: list(Reading([annomi]))) for _ in range(3)), ""
    for name, family in FAMILIES.all().items():
        if family.model:
            continue
        plan = make_plan([name])
        rows: list[Any] = []

        def scored(plan: Any = plan, rows: list[Any] = rows) -> None:
            rows.clear()
            for transcript in transcripts:
                rows.extend(rate(transcript, plan))

        first = taken(scored)
        cost = min(taken(scored) for _ in range(2))
        missing = sum(row[-1] is not None for row in rows) / len(rows)
        said = f"{len(rows) / len(transcripts):.0f} ratings each; first pass {first / cost:.1f} ×"
        if missing > 0.5:
            said += f"; {missing:.0%} of the ratings missing here"
        found[name] = cost, said
    rows = [row for transcript in transcripts for row in rate(transcript, make_plan(["structure", "behaviour"]))]

    def written() -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            kept, ratings = transcript_writer(Path(name)), rating_writer(Path(name))
            for transcript in transcripts:
                kept.add(transcript_row(transcript))
            for row in rows:
                ratings.add(row)
            kept.close()
            write_new_run(Path(name), ratings.result(), {})

    found["tables"] = (min(taken(written) for _ in range(3)), f"{len(rows):,} ratings and the transcripts written")
    reading = found["reading"][0]
    print(f"AnnoMI: {len(transcripts)} sessions, {turns:,} turns; processor time, libraries loaded before")
    print(f"{'stage':20} {'transcripts/s':>14} {'turns/s':>10} {'× reading':>10}")
    for name, (cost, said) in found.items():
        print(
            f"{name:20} {len(transcripts) / cost:14,.0f} {turns / cost:10,.0f} {cost / reading:10.2f}  {said}".rstrip()
        )
    print()


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
    default = Path(__file__).parents[2] / "shared" / "data" / "annomi" / "annomi_dev.csv"
    parser.add_argument("--annomi", type=Path, default=default)
    parser.add_argument("--largest", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if given.annomi.is_file():
            stages(given.annomi, scratch)
        else:
            print(f"no AnnoMI at {given.annomi}: the stages are left out\n")
        efficiency(scratch)
        memory(scratch, given.largest)


if __name__ == "__main__":
    main()
