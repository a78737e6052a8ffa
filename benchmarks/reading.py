"""Reading transcripts beside a plain script that parses the same files and takes the length of each text.

    python benchmarks/reading.py [FOLDER OF mdd5k] [PATH OF annomi_dev.csv]
    python benchmarks/reading.py forms [TRANSCRIPTS]

The second reads the same transcripts (20,000 of 20 turns) from JSON lines and from each form of tables, each in a
process of its own, and says the time and the peak of memory of both.

The plain script checks nothing and keeps nothing. bedside also recognises the formats, finds and reads the labels,
makes checked turns, folds coders' rows, and hashes every file. The two take turns; the fastest pass of each counts.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bedside.transcripts.reading import Reading

PASSES = 40
TURNS = 20
#: Run in a process of its own: transcripts, seconds, and megabytes that reading took beyond those of the imports.
MEASURED = """
import sys, time
from bedside.transcripts.reading import Reading
import polars
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
before, start = peak(), time.perf_counter()
count = sum(1 for _ in Reading(sys.argv[1]))
print(count, time.perf_counter() - start, peak() - before)
"""


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
    print(f"{name}: plain script {best[plain] * 1e3:.1f} ms, bedside {best[read] * 1e3:.1f} ms, ratio {ratio:.2f}")


def said(number: int) -> list[tuple[str, str]]:
    return [(("doctor", "patient")[turn % 2], f"{number} {turn}: " + "I sleep badly, " * 6) for turn in range(TURNS)]


def json_lines(path: Path, numbers: range) -> None:
    with path.open("w") as file:
        for n in numbers:
            messages = [{"role": who, "content": text} for who, text in said(n)]
            file.write(json.dumps({"id": f"t{n}", "messages": messages}) + "\n")


def rows(path: Path, numbers: range, encoding: str = "utf-8") -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        table = csv.writer(file)
        table.writerow(["id", "speaker", "text", "mark"])
        table.writerows([f"t{n}", who, text, "é"] for n in numbers for who, text in said(n))


def cells(path: Path, numbers: range) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "dialogue"])
        table.writerows([f"t{n}", "\n".join(f"{who}: {text}" for who, text in said(n))] for n in numbers)


def messages_in_cells(path: Path, numbers: range) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "messages"])
        table.writerows(
            [f"t{n}", json.dumps([{"role": who, "content": text} for who, text in said(n)])] for n in numbers
        )


def exchanges(path: Path, numbers: range) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "doctor", "patient"])
        for n in numbers:
            texts = [text for _, text in said(n)]
            table.writerows([f"t{n}", *texts[at : at + 2]] for at in range(0, TURNS, 2))


def parquet(path: Path, numbers: range) -> None:
    import polars as pl

    lists = [[{"role": who, "content": text} for who, text in said(n)] for n in numbers]
    pl.DataFrame({"id": [f"t{n}" for n in numbers], "messages": lists}).write_parquet(path)


def compare_forms(count: int) -> None:
    forms: dict[str, tuple[str, Callable[[Path, range], None]]] = {
        "JSON lines": ("t.jsonl", json_lines),
        "an utterance a row": ("rows.csv", rows),
        "the same in CP1252": ("cp1252.csv", partial(rows, encoding="cp1252")),
        "the same in UTF-16": ("utf16.csv", partial(rows, encoding="utf-16")),
        "a dialogue in a cell": ("cells.csv", cells),
        "messages in a cell": ("messages.csv", messages_in_cells),
        "an exchange a row": ("exchanges.csv", exchanges),
        "Parquet of messages": ("t.parquet", parquet),
    }
    with tempfile.TemporaryDirectory() as folder:
        base = 0.0
        for form, (name, write) in forms.items():
            path = Path(folder) / name
            write(path, range(count))
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True
            )
            found, seconds, memory = map(float, done.stdout.split())
            assert found == count, (form, found)
            base = base or seconds
            print(f"{form}: {seconds:.1f} s ({seconds / base:.2f} of JSON lines), {memory:.0f} MB beyond the imports")
            path.unlink()


def main() -> None:
    if sys.argv[1:2] == ["forms"]:
        compare_forms(int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
        return
    data = Path("../shared/data")
    mdd5k = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "mdd5k"
    annomi = Path(sys.argv[2]) if len(sys.argv) > 2 else data / "annomi" / "annomi_dev.csv"
    compare("MDD-5k, 150 dialogues in 30 files", mdd5k, plain_json)
    compare("AnnoMI, 9 924 rows", annomi, plain_table)


if __name__ == "__main__":
    main()
