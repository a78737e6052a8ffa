"""With --no-text nothing that was said is in the run and its reports, whoever rates and however things go wrong."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.judges.llm.queue import Patience
from bedside.metrics import FAMILIES
from tests.conftest import exit_code as run
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.metrics.tiny import MAKERS
from tests.safety.traces import found_in, secrets_in, windows, words

EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
SUITES = ("default", "multisense", "calm-it", "medconceal", "mdd5k", "note2chat")
#: What a run with text is made into, wherever its text may come out.
AFTERWARDS = (
    ("agree",), ("compare",), ("validate",), ("estimate",), ("compare", "--over", "length"),
    ("compare", "--over", "messages"),
)  # fmt: skip
#: A figure holds the same words in each of its formats, so that one of them is enough where all were searched once.
FORMATS = "html,md,latex,csv,svg"


def texts_of(value: Any) -> Iterator[str]:
    """All texts in what a transcript says or is known by, those of its factors left out, which a run keeps."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each)


def sought(rows: list[dict[str, Any]]) -> set[str]:
    """Every run of five words of turns and references, and the sentences of four."""
    found: set[str] = set()
    for row in rows:
        for text in texts_of([row["reference"], [turn["text"] for turn in row["turns"]]]):
            if len(words(text)) >= 5:
                found |= windows(text)
            for sentence in re.split(r"(?<=[.!?])\s+", text):
                if len(words(sentence)) == 4:
                    found.add(" ".join(words(sentence)))
    return found


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that fails is asked again at once."""
    waits = [0.01 if each.name == "first_wait" else each.default for each in fields(Patience)]
    monkeypatch.setattr(Patience.__init__, "__defaults__", tuple(waits))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in EXAMPLE.read_text("utf-8").splitlines()]


@pytest.fixture
def few(rows: list[dict[str, Any]], tmp_path: Path) -> Path:
    """Half of the transcripts, for what takes long."""
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[::2]))
    return path


def report_on(folder: Path, *more: str) -> None:
    run("report", folder, *more)
    for command, *asked in AFTERWARDS:
        run(command, folder, *asked, "--out", folder / "tables")


@pytest.mark.slow
def test_what_is_sought_is_found_in_a_run_with_text(
    rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That the search of these tests finds: all of it is in a run that keeps it, however it is packed."""
    assert run("score", EXAMPLE, "--out", tmp_path / "run") == 0
    run("report", tmp_path / "run", "--format", "html")
    hits = found_in(tmp_path / "run", sought(rows))
    assert {each for place, each in hits if place.startswith("transcripts/")} == sought(rows)
    assert any(place == "report/report.html" for place, _ in hits)


@pytest.mark.slow
@pytest.mark.model
def test_algorithms(rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All suites and all families, those that need a model with a tiny one."""
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps({**row, "turns": row["turns"][:10]}) + "\n" for row in rows[::2]))
    for suite in SUITES:
        assert run("score", few, "--suite", suite, "--no-text", "--out", tmp_path / "run") == 0
    settings: list[str] = []
    for family, make in MAKERS.items():
        for name, value in make(tmp_path / "models" / family).items():
            settings += ["--set", f"{family}.{name}={value}"]
    every = ",".join(FAMILIES.names())
    assert run("score", few, "--metrics", every, *settings, "--no-text", "--out", tmp_path / "run") == 0
    report_on(tmp_path / "run")
    assert found_in(tmp_path / "run", sought(rows)) == []


def quoting(request: Received, number: int) -> Action:
    """A judge that says back what it has read, in every way there is: in reasons, quotes, replies that can't be used
    and errors."""
    said = re.findall(r"\[\d+\][^:\n]*: (.+)", request.prompt) or request.prompt.splitlines()[-30:]
    quote = said[number % len(said)].strip()[:200]
    if number % 11 == 3:
        return Action(status=500, body=json.dumps({"error": {"message": f"can't take {quote}"}}).encode())
    if number % 11 == 5:
        return Action(text=f"I would say that {quote}")
    if number % 11 == 7:
        return Action(text=json.dumps({"reason": quote, "score": quote, "label": quote}))
    if number % 11 == 9:
        return Action(status=400, body=json.dumps({"error": {"message": request.prompt[-250:]}}).encode())
    return Action(text=json.dumps(with_words(json.loads(fitting(request)), quote), ensure_ascii=False))


def with_words(reply: Any, quote: str) -> Any:
    """A reply with the same numbers, and with other words in place of the server's own."""
    if isinstance(reply, dict):
        return {key: quote if key in ("reason", "quote", "text") else with_words(each, quote)
                for key, each in reply.items()}  # fmt: skip
    return [with_words(each, quote) for each in reply] if isinstance(reply, list) else reply


@pytest.mark.slow
def test_the_server_quotes(rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That the judge of the next tests says back what it has read: with text it is found all over the run."""
    with JudgeServer(quoting) as server:
        command = ["score", EXAMPLE, "--suite", "multisense", "--judge", server.judge, "--max-concurrency", 1]
        assert run(*command, "--out", tmp_path / "run") == 0
    for place in ("ratings.parquet", "judgements.sqlite"):
        hits = found_in(tmp_path / "run", sought(rows))
        assert any(where == place for where, _ in hits)


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        ["--suite", "multisense"],
        ["--suite", "calm-it", "--passes", "2"],
        ["--suite", "mdd5k"],
        ["--suite", "note2chat"],
        ["--suite", "medconceal", "--rubrics", "turn_evaluator,open_question,medconceal_empathy,values_detected"],
        ["--codes", "all", "--metrics", "structure"],
    ],
    ids=lambda asked: asked[1],
)
def test_judges(
    asked: list[str], rows: list[dict[str, Any]], few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judge that quotes, with faults and a rerun: nothing of what it said is left."""
    command = ["score", few, *asked, "--max-concurrency", "1", "--no-text", "--out", tmp_path / "run"]
    with JudgeServer(quoting) as server:
        run(*command, "--judge", server.judge)
        assert found_in(tmp_path / "run", sought(rows)) == []
        server.script = lambda request, number: Action(text=fitting(request))
        assert run(*command, "--judge", server.judge) == 0
    report_on(tmp_path / "run", "--format", FORMATS)
    assert found_in(tmp_path / "run", sought(rows)) == []
    judged = bedside.read_run(tmp_path / "run").ratings.filter(pl.col("rater").str.starts_with("judge:"))
    assert judged["value"].count() + judged["label"].count() > 0
    assert judged["reason"].null_count() == judged.height


@pytest.mark.server
def test_numbers_are_those_of_a_run_with_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeServer() as server:
        for name, more in (("with", []), ("without", ["--no-text"]), ("again", ["--no-text"])):
            for _ in range(2 if name == "again" else 1):
                command = ["score", EXAMPLE, "--suite", "note2chat", "--judge", server.judge]
                assert run(*command, *more, "--out", tmp_path / name) == 0
    tables = [bedside.read_run(tmp_path / name).ratings for name in ("with", "without", "again")]
    judged = [table.filter(pl.col("rater").str.starts_with("judge:")).drop("reason", "error") for table in tables]
    assert judged[0].height
    assert judged[0].equals(judged[1])
    assert judged[0].sort(judged[0].columns).equals(judged[2].sort(judged[2].columns))


@pytest.mark.parametrize("suite", ["medconceal"])
def test_what_is_made_of_a_judges_words_is_refused(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", EXAMPLE, "--suite", suite, "--judge", "http://127.0.0.1:9/v1#m", "--no-text"]
    assert run(*command, "--out", tmp_path / "run") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "finding_extraction and concern_matching can't be asked" in said
    assert "--rubrics turn_evaluator,open_question" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_labels(rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(row for row in rows if row["id"] == "steady-alcohol")
    concern = row["reference"]["concerns"][0]
    quote = next(turn["text"] for turn in row["turns"] if turn["role"] == "patient")
    labels = {
        "id": row["id"],
        "rater": "human:anna",
        "findings": [{"category": concern["category"], "text": f"She says: {concern['text']}"}],
        "matches": [{"finding": 0, "concern": concern["id"], "quote": quote, "reason": f"because {quote}"}],
    }
    (tmp_path / "labels.jsonl").write_text(json.dumps(labels) + "\n")
    command = ["score", EXAMPLE, "--suite", "medconceal", "--labels", tmp_path / "labels.jsonl", "--no-text"]
    assert run(*command, "--out", tmp_path / "run") == 0
    report_on(tmp_path / "run", "--format", FORMATS)
    assert found_in(tmp_path / "run", sought(rows)) == []


@pytest.mark.slow
def test_imported_reasons(rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "ratings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "metric", "value", "reason"])
        for row in rows:
            writer.writerow([row["id"], "anna", "empathy", 3, row["turns"][1]["text"]])
    assert run("score", EXAMPLE, "--no-text", "--out", tmp_path / "run") == 0
    assert run("ratings", "import", tmp_path / "run", tmp_path / "ratings.csv", "--scale", "1-5") == 0
    report_on(tmp_path / "run", "--format", FORMATS)
    assert found_in(tmp_path / "run", sought(rows)) == []


@pytest.mark.slow
def test_names_and_metadata(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who spoke, what stood beside it, codes that are none, and transcripts that were skipped."""
    secrets = ["Quillfeather", "Brackenridge", "Zanzibar Street", "Ophelia", "Marmaduke"]
    good = {
        "id": "a-1",
        "turns": [
            {"role": "Dr Quillfeather", "text": "How are you, Mr Brackenridge?", "meta": {"codes": {
                "ben": {"question": "about Zanzibar Street"}}, "address": "Zanzibar Street 7"}},
            {"role": "Mr Brackenridge", "text": "Ophelia, my wife, says that I am well enough."},
        ],
        "reference": {"background": "Married to Ophelia, lives in Zanzibar Street"},
    }  # fmt: skip
    bad = {"id": "a-2", "turns": [{"role": "Marmaduke", "text": "Who am I? Nobody knows me here."}]}
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (good, bad)))
    roles = "Dr Quillfeather=clinician,Mr Brackenridge=patient"
    command = ["score", tmp_path / "talks.jsonl", "--roles", roles, "--on-error", "skip", "--no-text"]
    for _ in range(2):
        assert run(*command, "--metrics", "structure,behaviour,readability", "--out", tmp_path / "run") == 0
        run("report", tmp_path / "run", "--format", FORMATS)
    assert bedside.read_run(tmp_path / "run").manifest["transcripts"]["skipped"]
    assert secrets_in(tmp_path / "run", secrets) == []


@pytest.mark.server
def test_a_report_without_text_on_a_run_with_text(
    rows: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer(quoting) as server:
        run("score", EXAMPLE, "--suite", "multisense", "--judge", server.judge, "--max-concurrency", 1,
            "--out", tmp_path / "run")  # fmt: skip
    assert run("report", tmp_path / "run", "--no-text", "--out", tmp_path / "shared") == 0
    assert found_in(tmp_path / "shared", sought(rows)) == []
