"""Scoring beside a plain script over the same files, whole and part by part.

    python benchmarks/score.py [--data ../shared/data] [--rounds 5]

The plain script parses each file and takes len() of each text: what anybody must do at least. Of each work the least
processor time of all rounds counts, with libraries loaded before; the first scoring also meets every word for the first
time. Memory and workers are in ``scale.py``.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.scale import made


def plain_mdd5k(folder: Path) -> int:
    files = (path.read_text("utf-8") for path in sorted((folder / "conversations").glob("*.json")))
    exchanges = (exchange for text in files for dialogue in json.loads(text) for exchange in dialogue["conversation"])
    return sum(len(exchange.get("doctor", "")) + len(exchange.get("patient", "")) for exchange in exchanges)


def plain_table(path: Path) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        return sum(len(row["utterance_text"]) for row in csv.DictReader(file))


def plain_lines(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return sum(len(turn["text"]) for line in file for turn in json.loads(line)["turns"])


def taken(work: Callable[[], object]) -> float:
    """Processor seconds of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compare(name: str, source: Path, plain: Callable[[Path], int], scratch: Path, rounds: int) -> None:
    from bedside.ratings.run import write_new_run
    from bedside.ratings.suites import SUITES
    from bedside.ratings.table import ValueWriter, transcript_row, transcript_writer
    from bedside.scoring.plan import ScoringPlan, rate, suite_plan
    from bedside.scoring.score import score
    from bedside.transcripts.reading import Reading

    def scored(metrics: list[str] | None = None) -> None:
        shutil.rmtree(scratch / "run", ignore_errors=True)
        score([source], scratch / "run", metrics=metrics)

    first = taken(scored)
    plan = suite_plan(SUITES.find("default"), None, None)
    transcripts = list(Reading([source]))
    rows = [transcript_row(transcript) for transcript in transcripts]
    rated = [list(rate(transcript, plan)) for transcript in transcripts]

    def write_transcripts() -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            writer = transcript_writer(Path(folder))
            writer.add_rows(rows)
            writer.close()

    def write_ratings() -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            writer = ValueWriter(Path(folder))
            for transcript, values in zip(transcripts, rated, strict=True):
                writer.add_values(transcript, values)
            write_new_run(Path(folder), writer.result(), {})

    works: dict[str, Callable[[], object]] = {
        "plain script": partial(plain, source),
        "scoring, default suite": scored,
        "scoring, structure": partial(scored, ["structure"]),
        "reading and checking": lambda: list(Reading([source])),
        "transcripts as JSON, hashed": lambda: [transcript_row(transcript) for transcript in transcripts],
        "table of transcripts": write_transcripts,
        "table of ratings": write_ratings,
    }
    for planned in plan.families:
        rating = partial(rate, plan=ScoringPlan((planned,)))
        works[planned.family.name] = lambda rating=rating: [list(rating(transcript)) for transcript in transcripts]
    least = {work: min(taken(function) for _ in range(rounds)) for work, function in works.items()}
    print(f"{name + ', processor time':44} {'ms':>8} {'× plain':>8} {'transcripts/s':>14}")
    for work, cost in {**least, "first scoring": first}.items():
        print(f"{work:44} {1000 * cost:8.1f} {cost / least['plain script']:8.2f} {len(transcripts) / cost:14,.0f}")
    turns, ratings = sum(row[5] for row in rows), sum(len(values) for by in rated for _, values in by)
    print(f"{len(transcripts)} transcripts, {turns:,} turns, {ratings:,} ratings of the default suite\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        talks = made(scratch / "talks.jsonl", 2000, 20)
        for title, source, plain in (
            ("MDD-5k", options.data / "mdd5k", plain_mdd5k),
            ("AnnoMI", options.data / "annomi" / "annomi_dev.csv", plain_table),
            ("2,000 talks of 20 turns", talks, plain_lines),
        ):
            if source.exists():
                compare(title, source, plain, scratch, options.rounds)
            else:
                print(f"no {title} at {source}: left out\n")


if __name__ == "__main__":
    main()
