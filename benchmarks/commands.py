"""What a person waits for: CPU time of commands on the bundled example, as multiples of importing polars and numpy.

    python benchmarks/commands.py [--write]

Each ratio stands beside the one in ``figures.json``, and is marked where it is 1.3 times as large; ``--write`` keeps
the new ones. All are measured in turn in one run, and of each the least of five times counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bedside import EXAMPLES

FIGURES = Path(__file__).with_name("figures.json")
ROUNDS = 5
#: A ratio this many times the kept one is a warning.
MUCH = 1.3
BASE = "import polars, numpy"
TALKS, SHEET = str(EXAMPLES / "transcripts.jsonl"), str(EXAMPLES / "ratings.csv")
ASKED = {
    BASE: ["-c", BASE],
    "import bedside": ["-c", "import bedside"],
    "bedside --help": ["-m", "bedside", "--help"],
    "score 12 talks": ["-m", "bedside", "score", TALKS, "--out", "RUN"],
    "agree SHEET": ["-m", "bedside", "agree", SHEET],
    "agree": ["-m", "bedside", "agree", "run"],
    "compare": ["-m", "bedside", "compare", "run"],
    "validate": ["-m", "bedside", "validate", "run"],
    "report": ["-m", "bedside", "report", "run"],
}


def cpu_seconds(arguments: list[str], folder: str) -> float:
    """Of one process, as a user has it: with compiled modules."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the ratios in figures.json")
    writes = parser.parse_args().write
    kept = json.loads(FIGURES.read_text("utf-8")) if FIGURES.is_file() else {}
    taken: dict[str, list[float]] = {name: [] for name in ASKED}
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(["-m", "bedside", "score", TALKS, "--out", "run"], folder)
        for number in range(ROUNDS):
            for name, arguments in ASKED.items():
                words = [f"new-{number}" if word == "RUN" else word for word in arguments]
                taken[name].append(cpu_seconds(words, folder))
    least = {name: min(seconds) for name, seconds in taken.items()}
    ratios = {name: round(seconds / least[BASE], 2) for name, seconds in least.items()}
    print(f"{'CPU time':24} {'s':>6} {'ratio':>6} {'kept':>6}")
    for name, ratio in ratios.items():
        before = kept.get(name)
        warning = f"  warning: {ratio / before:.1f} times the kept ratio" if before and ratio > MUCH * before else ""
        print(f"{name:24} {least[name]:6.2f} {ratio:6.2f} {before or '':>6}{warning}")
    if writes:
        FIGURES.write_text(json.dumps(ratios, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
