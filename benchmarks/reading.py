"""Reading transcripts beside a plain script that parses the same files and takes the length of each text.

    python benchmarks/reading.py [FOLDER OF mdd5k] [PATH OF annomi_dev.csv]

The plain script checks nothing and keeps nothing. bedside also recognises the formats, finds and reads the labels,
makes checked turns, folds coders' rows, and hashes every file. The two take turns; the fastest pass of each counts.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bedside.transcripts import Reading

PASSES = 40


def plain_json(folder: Path) -> int:
    characters = 0
    for path in sorted((folder / "conversations").glob("*.json")):
        with path.open(encoding="utf-8") as file:
            for dialogue in json.load(file):
                for exchange in dialogue["conversation"]:
                    for text in exchange.values():
                        characters += len(text)
    return characters


def plain_table(path: Path) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        return sum(len(row["utterance_text"]) for row in csv.DictReader(file))


def read(path: Path) -> int:
    return sum(len(transcript.turns) for transcript in Reading([path]))


def compare(name: str, path: Path, plain: Callable[[Path], int]) -> None:
    best = {plain: float("inf"), read: float("inf")}
    for _ in range(PASSES):
        for run in best:
            start = time.perf_counter()
            run(path)
            best[run] = min(best[run], time.perf_counter() - start)
    ratio = best[read] / best[plain]
    print(
        f"{name}: plain script {best[plain] * 1e3:.1f} ms, bedside {best[read] * 1e3:.1f} ms, ratio {ratio:.2f}"
    )


def main() -> None:
    data = Path("../shared/data")
    mdd5k = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "mdd5k"
    annomi = Path(sys.argv[2]) if len(sys.argv) > 2 else data / "annomi" / "annomi_dev.csv"
    compare("MDD-5k, 150 dialogues in 30 files", mdd5k, plain_json)
    compare("AnnoMI, 9 924 rows", annomi, plain_table)


if __name__ == "__main__":
    main()
