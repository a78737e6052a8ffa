"""How fast bedside's readability is beside textstat: SMOG, Dale–Chall, reading ease and grade of every utterance.

    python benchmarks/readability.py [--data DIR] [--rounds N]

DIR holds AnnoMI's table (by default ``../shared/data/annomi`` beside the project). The ways are timed in turn within
each round, so that what else the machine does falls on all of them; the table gives medians over the rounds. Every
value must be identical. Needs the dev extra.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
NAMES = {
    "smog": "smog_index",
    "dale_chall": "dale_chall_readability_score",
    "flesch_reading_ease": "flesch_reading_ease",
    "flesch_kincaid_grade": "flesch_kincaid_grade",
}
Scores = list[list[float]]


def with_textstat(texts: list[str]) -> Scores:
    import textstat

    formulas = [getattr(textstat, name) for name in NAMES.values()]
    return [[formula(text) for formula in formulas] for text in texts]


def with_textstat_by_formula(texts: list[str]) -> Scores:
    import textstat

    columns = [[getattr(textstat, name)(text) for text in texts] for name in NAMES.values()]
    return [list(row) for row in zip(*columns, strict=True)]


def with_bedside(texts: list[str]) -> Scores:
    from bedside.metrics.families.readability import FORMULAS
    from bedside.metrics.textstat_library import counting

    formulas = [formula for formula in FORMULAS if formula.name in NAMES]
    count = counting((formula.function for formula in formulas), "en_US")
    return [[formula.of(counts) for formula in formulas] for counts in map(count, texts)]


WAYS: dict[str, Callable[[list[str]], Scores]] = {
    "textstat, formula by formula": with_textstat_by_formula,
    "textstat, text by text": with_textstat,
    "bedside": with_bedside,
}


def seconds(way: Callable[[list[str]], Scores], texts: list[str]) -> tuple[float, Scores]:
    begun = time.process_time()
    scores = way(texts)
    return time.process_time() - begun, scores


def fresh(way: str, texts: Path) -> float:
    """Seconds of one way in a new process, from before its import to the last value."""
    command = [sys.executable, __file__, "--fresh", way, "--texts", str(texts)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time readability beside textstat.")
    parser.add_argument("--data", type=Path, default=PROJECT.parent / "shared" / "data" / "annomi")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--fresh", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--texts", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fresh:
        print(seconds(WAYS[options.fresh], json.loads(options.texts.read_text("utf-8")))[0])
        return

    from bedside.transcripts.reading import Reading

    texts = [turn.text for transcript in Reading([options.data]) for turn in transcript.turns]
    warm: dict[str, list[float]] = {way: [] for way in WAYS}
    cold: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runpy.run_path(str(PROJECT / "tools" / "make_syllables.py"))["write_nltk_corpus"](folder)
        os.environ["NLTK_DATA"] = name
        (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
        expected = with_textstat(texts)
        for way in WAYS.values():
            assert way(texts) == expected, "every value is identical"
        for _ in range(options.rounds):
            for way, function in WAYS.items():
                warm[way].append(seconds(function, texts)[0])
        for _ in range(max(3, options.rounds // 2)):
            for way in WAYS:
                cold[way].append(fresh(way, folder / "texts.json"))
    print(f"{len(texts):,} utterances, {len(NAMES)} formulas, {len(NAMES) * len(texts):,} identical values\n")
    print(f"{'':30}{'warm, s':>9}{'ratio':>8}{'with loading, s':>18}{'ratio':>8}")
    median = {way: (statistics.median(warm[way]), statistics.median(cold[way])) for way in WAYS}
    for way, (again, first) in median.items():
        ours, ours_first = median["bedside"]
        print(f"{way:30}{again:9.3f}{again / ours:8.1f}{first:18.3f}{first / ours_first:8.1f}")


if __name__ == "__main__":
    main()
