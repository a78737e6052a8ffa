"""Memory and time do not grow with the size of a file beyond what one transcript takes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.transcripts.files import GOOD

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"),
]

MB = 2**20

READ = """
import sys
from bedside.core.errors import InputError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
reading = Reading(sys.argv[1:], ReadOptions(on_error="skip"))
number = 0
try:
    for transcript in reading:
        number += 1
except InputError as error:
    reading.skipped.append(error)
# The peak that resource.getrusage gives is inherited from the process that starts this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(number, len(reading.skipped), int(peak.split()[1]) // 1024)
"""


def measured(path: Path) -> tuple[int, int, int]:
    """Transcripts, errors and peak memory in MB of reading a file in a process of its own."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    number, errors, memory = map(int, done.stdout.split())
    return number, errors, memory


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Peak memory of reading one short transcript."""
    path = tmp_path_factory.mktemp("base") / "t.jsonl"
    path.write_text(GOOD % "a")
    return measured(path)[2]


def talk(number: int) -> dict[str, object]:
    """A transcript of about 20 kB."""
    turns = [
        {"role": ("clinician", "patient")[turn % 2], "text": f"{number} {turn} " + "sleep " * 60} for turn in range(50)
    ]
    return {"id": f"t{number}", "turns": turns}


def json_lines(count: int) -> Iterator[str]:
    for number in range(count):
        yield json.dumps(talk(number)) + "\n"


def json_array(count: int) -> Iterator[str]:
    for number in range(count):
        yield ("[\n" if number == 0 else ",\n") + json.dumps(talk(number), indent=1)
    yield "\n]\n"


def table(count: int) -> Iterator[str]:
    yield "id,speaker,text,setting\n"
    for number in range(count):
        for turn in range(50):
            yield f't{number},{("doctor", "patient")[turn % 2]},"{turn}, {"sleep " * 60}",clinic\n'


def cells(count: int) -> Iterator[str]:
    yield "id,dialogue\n"
    for number in range(count):
        yield (
            f't{number},"' + "\n".join(f"{('Doctor', 'Patient')[t % 2]}: {'sleep ' * 60}" for t in range(50)) + '"\n'
        )


def exchanges(count: int) -> Iterator[str]:
    yield "id,doctor,patient\n"
    for number in range(count):
        for _ in range(25):
            yield f't{number},"{"sleep " * 60}","{"sleep, " * 50}"\n'


def convokit(count: int) -> Iterator[str]:
    for number in range(count):
        for turn in range(50):
            speaker = ("therapist", "client")[turn % 2]
            line = {
                "id": f"u{number}-{turn}",
                "conversation_id": f"t{number}",
                "speaker": speaker,
                "text": "sleep " * 60,
            }
            yield json.dumps(line) + "\n"


@pytest.mark.parametrize(
    ("name", "content", "size"),
    [
        ("t.jsonl", json_lines, 200 * MB),
        ("t.json", json_array, 100 * MB),
        ("t.csv", table, 100 * MB),
        ("t.csv", cells, 100 * MB),
        ("t.csv", exchanges, 100 * MB),
        ("utterances.jsonl", convokit, 100 * MB),
        ("t.jsonl.gz", json_lines, 100 * MB),
        ("t.json.gz", json_array, 50 * MB),
    ],
    ids=["json lines", "json array", "table", "cells", "exchanges", "convokit", "json lines gz", "json array gz"],
)
def test_memory_stays_flat(
    name: str, content: Callable[[int], Iterator[str]], size: int, base: int, tmp_path: Path
) -> None:
    count = size // (sum(map(len, content(10))) // 10)
    path = tmp_path / name
    with gzip.open(path, "wt", 1) if name.endswith(".gz") else path.open("w") as file:
        file.writelines(content(count))
    number, errors, memory = measured(path)
    assert (number, errors) == (count, 0)
    assert memory < base + 15


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.csv", "t.jsonl.gz"])
def test_a_line_of_100_mb_is_one_error_in_bounded_memory(name: str, base: int, tmp_path: Path) -> None:
    start, line = "", (GOOD % "long").replace("Hello", "x" * 100 * MB)
    if name == "t.json":
        start, line = "[", line + "]"
    if name == "t.csv":
        start, line = (
            "id,speaker,text\na,doctor,Hello.\na,patient,Hi.\n",
            f"b,doctor,{'x' * 100 * MB}\nb,patient,Hi.\n",
        )
    path = tmp_path / name
    with gzip.open(path, "wt", 1) if name.endswith(".gz") else path.open("w") as file:
        file.write(start + line)
        if name.startswith("t.jsonl"):
            file.write(GOOD % "after")
    _, errors, memory = measured(path)
    assert errors
    assert memory < base + 80


def test_an_unclosed_quote_is_one_error_in_bounded_memory(base: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("w") as file:
        file.write('id,speaker,text\na,doctor,"Hello.\n')
        file.writelines("a,patient,Hi.\n" for _ in range(5_000_000))
    _, errors, memory = measured(path)
    assert errors >= 1
    assert memory < base + 130
