"""Reading transcripts beside a plain script that parses the same files, and takes their rows apart by transcript.

    python benchmarks/reading.py [FOLDER OF mdd5k] [PATH OF annomi_dev.csv] [TRANSCRIPTS]

The plain script checks nothing and keeps nothing. bedside also recognises the formats, finds and reads the labels,
makes checked turns, folds coders' rows, and hashes every file. The two take turns; the fastest pass of each counts, in
seconds of its process. Another one first tries a Parquet file, which isn't counted.

MDD-5k and AnnoMI are read as published, and transcripts of 20 turns from AnnoMI's talks (4,000) from each form.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl

from bedside.transcripts.reading import Reading

PASSES = 20
TURNS = 20
#: Speakers and texts of each transcript.
Talks = list[list[tuple[str, str]]]


def plain_json(folder: Path) -> int:
    dialogues = (
        dialogue
        for path in sorted((folder / "conversations").glob("*.json"))
        for dialogue in json.loads(path.read_text("utf-8"))
    )
    return sum(len(text) for dialogue in dialogues for turn in dialogue["conversation"] for text in turn.values())


def plain_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(len(json.loads(line)) for line in file)


def plain_table(path: Path) -> int:
    with path.open(newline="", encoding="utf-8") as file:
        return sum(len(row) for row in csv.DictReader(file))


def plain_parquet(path: Path) -> int:
    groups = pl.read_parquet(path).group_by("id", maintain_order=True)
    return sum(len(rows) for _, group in groups for rows in group.to_dict(as_series=False).values())


def read(path: Path) -> int:
    return sum(len(transcript.turns) for transcript in Reading([path]))


def compare(name: str, path: Path, plain: Callable[[Path], int]) -> None:
    best = {plain: float("inf"), read: float("inf")}
    for _ in range(PASSES):
        for run in best:
            start = time.process_time()
            run(path)
            best[run] = min(best[run], time.process_time() - start)
    ratio = best[read] / best[plain]
    print(f"{name}: plain script {best[plain] * 1e3:.1f} ms, bedside {best[read] * 1e3:.1f} ms, ratio {ratio:.2f}")


def json_lines(key: str, who: str, said: str, talks: Talks, path: Path) -> None:
    with path.open("w") as file:
        for n, talk in enumerate(talks):
            file.write(json.dumps({"id": f"t{n}", key: [{who: name, said: text} for name, text in talk]}) + "\n")


def rows(talks: Talks) -> pl.DataFrame:
    said = [(f"t{n}", *turn) for n, talk in enumerate(talks) for turn in talk]
    return pl.DataFrame(said, schema=["id", "speaker", "text"], orient="row")


def cells(column: str, cell: Callable[[list[tuple[str, str]]], object], talks: Talks) -> pl.DataFrame:
    return pl.DataFrame({"id": [f"t{n}" for n in range(len(talks))], column: list(map(cell, talks))})


def messages(talk: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"role": who, "content": text} for who, text in talk]


def forms(talks: Talks) -> Iterator[tuple[str, str, Callable[[Path], object], Callable[[Path], int]]]:
    """Name, file, what writes it and what reads it plainly."""
    lines, dialogue = partial(json_lines, talks=talks), partial(cells, talks=talks)
    yield "JSON lines of turns", "turns.jsonl", lambda path: lines("turns", "role", "text", path=path), plain_lines
    yield "JSON lines of messages", "t.jsonl", lambda path: lines("messages", "role", "content", path=path), plain_lines
    yield "an utterance a row", "rows.csv", rows(talks).write_csv, plain_table
    texts = dialogue("dialogue", lambda talk: "\n".join(": ".join(turn) for turn in talk))
    yield "a dialogue in a cell", "cells.csv", texts.write_csv, plain_table
    packed = dialogue("messages", lambda talk: json.dumps(messages(talk)))
    yield "messages in a cell", "messages.csv", packed.write_csv, plain_table
    yield "Parquet of utterances", "rows.parquet", rows(talks).write_parquet, plain_parquet
    yield "Parquet of messages", "t.parquet", dialogue("messages", messages).write_parquet, plain_parquet


def main() -> None:
    data = Path("../shared/data")
    mdd5k = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "mdd5k"
    annomi = Path(sys.argv[2]) if len(sys.argv) > 2 else data / "annomi" / "annomi_dev.csv"
    compare("MDD-5k, 150 dialogues in 30 files", mdd5k, plain_json)
    compare("AnnoMI, 9 924 rows", annomi, plain_table)
    said = [[(turn.speaker, turn.text) for turn in transcript.turns] for transcript in Reading([annomi])]
    parts = [talk[at : at + TURNS] for talk in said for at in range(0, len(talk) - TURNS, TURNS)]
    parts = [part for part in parts if len({who for who, _ in part}) > 1]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 4_000
    talks = [parts[n % len(parts)] for n in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        for name, file, write, plain in forms(talks):
            path = Path(folder) / file
            write(path)
            compare(name, path, plain)


if __name__ == "__main__":
    main()
