"""Scoring a folder beside a plain script over the same files and part by part, and memory as the folder grows.

    python benchmarks/score.py [--data ../shared/data/mdd5k]

The plain script reads each file with json.load and takes len() of each text: what anybody must do at least.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROUNDS = 15
#: Scores in a process of its own and prints its peak memory in megabytes.
MEMORY = """
import resource, sys
from bedside.scoring.score import score
summary = score([sys.argv[1]], sys.argv[2])
print(summary.transcripts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def plain(folder: Path) -> int:
    total = 0
    for path in sorted((folder / "conversations").glob("*.json")):
        with path.open(encoding="utf-8") as file:
            for dialogue in json.load(file):
                for exchange in dialogue["conversation"]:
                    total += len(exchange.get("doctor", "")) + len(exchange.get("patient", ""))
    return total


def taken(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock, and of the processor in all threads: the latter says more on a busy machine."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def speed(data: Path, scratch: Path) -> None:
    from bedside.scoring.score import score

    first = min((data / "conversations").glob("*.json"))

    def scored(source: Path, metrics: list[str] | None) -> tuple[float, float]:
        shutil.rmtree(scratch / "run", ignore_errors=True)
        return taken(lambda: score([source], scratch / "run", metrics=metrics))

    kinds = {"structure": ["structure"], "the default suite": None}
    times: dict[str, list[tuple[float, float]]] = {
        "plain": [],
        **{kind: [] for kind in kinds},
        **{f"one {kind}": [] for kind in kinds},
    }
    for _ in range(ROUNDS + 1):
        times["plain"].append(taken(lambda: plain(data)))
        for kind, metrics in kinds.items():
            times[kind].append(scored(data, metrics))
            times[f"one {kind}"].append(scored(first, metrics))
    print(f"{'MDD-5k folder':32} {'ms':>8} {'× plain':>8} {'× plain, start-up apart':>24}")
    for place, what in enumerate(("by the clock", "processor time")):
        median = {kind: statistics.median(each[place] for each in values[1:]) for kind, values in times.items()}
        print(what)
        print(f"{'  plain json and len':32} {1000 * median['plain']:8.1f} {1:8.2f} {1:24.2f}")
        for kind in kinds:
            apart = (median[kind] - median[f"one {kind}"]) / median["plain"] * 30 / 29
            whole = median[kind] / median["plain"]
            print(f"{'  bedside, ' + kind:32} {1000 * median[kind]:8.1f} {whole:8.2f} {apart:24.2f}")
    print("start-up apart: what 29 files cost beyond one, for 30; imports are done before\n")


def parts(data: Path, scratch: Path) -> None:
    """What the default suite's parts cost, each alone over the whole folder."""
    from bedside.ratings.run import write_new_run
    from bedside.ratings.suites import SUITES
    from bedside.ratings.table import rating_writer, transcript_row, transcript_writer
    from bedside.scoring.plan import ScoringPlan, rate, suite_plan
    from bedside.transcripts.reading import Reading

    plan = suite_plan(SUITES.find("default"), None, None)
    transcripts = list(Reading([data]))
    rows = [transcript_row(transcript) for transcript in transcripts]
    rated = [rating for transcript in transcripts for rating in rate(transcript, plan)]

    def write_transcripts() -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            writer = transcript_writer(Path(folder))
            writer.add_rows(rows)
            writer.close()

    def write_ratings() -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            writer = rating_writer(Path(folder))
            writer.add_rows(rated)
            write_new_run(Path(folder), writer.result(), {})

    def rate_all(by: ScoringPlan) -> None:
        for transcript in transcripts:
            for _ in rate(transcript, by):
                pass

    works: dict[str, Callable[[], object]] = {
        "plain json and len": lambda: plain(data),
        "reading and checking": lambda: list(Reading([data])),
        **{planned.family.name: partial(rate_all, ScoringPlan((planned,))) for planned in plan.families},
        "transcripts as JSON, hashed": lambda: [transcript_row(transcript) for transcript in transcripts],
        "table of transcripts": write_transcripts,
        "table of ratings": write_ratings,
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS + 1):
        for name, work in works.items():
            times[name].append(taken(work)[1])
    median = {name: statistics.median(values[1:]) for name, values in times.items()}
    print(f"{'parts, processor time':32} {'ms':>8} {'× plain':>8}")
    for name, cost in median.items():
        print(f"{name:32} {1000 * cost:8.1f} {cost / median['plain json and len']:8.2f}")
    print(f"{len(transcripts)} transcripts, {len(rated):,} ratings\n")


def memory(data: Path, scratch: Path) -> None:
    print(f"{'peak memory':32} {'transcripts':>12} {'MB':>8}")
    for copies in (1, 10):
        folder = scratch / f"copies-{copies}"
        for copy in range(copies):
            shutil.copytree(data / "conversations", folder / f"copy{copy}" / "conversations")
        shutil.rmtree(scratch / "run", ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(folder), str(scratch / "run")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        transcripts, megabytes = done.stdout.split()
        print(f"{f'the folder, {copies} ×':32} {transcripts:>12} {float(megabytes):8.1f}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "mdd5k")
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as scratch:
        if data.is_dir():
            speed(data, Path(scratch))
            parts(data, Path(scratch))
            memory(data, Path(scratch))
        else:
            print(f"no MDD-5k at {data}: speed and memory are left out")


if __name__ == "__main__":
    main()
