"""Scoring into runs: what is written, what is added, what is refused, and that nothing is half-written."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.core.errors import BedsideError, RunError
from bedside.ratings.table import KEY, SCHEMA, TableWriter
from bedside.scoring.score import score

TURNS = [
    {"role": "clinician", "text": "How do you sleep these days?"},
    {"role": "patient", "text": "I wake up at three. It wears me out."},
]


def lines(*names: str, system: str = "A") -> str:
    talks = ({"id": name, "system": system, "case_id": name, "turns": TURNS} for name in names)
    return "".join(json.dumps(talk) + "\n" for talk in talks)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talks.jsonl"
    path.write_text(lines("one", "two"))
    return path


def test_a_run_has_ratings_transcripts_and_a_manifest(file: Path, tmp_path: Path) -> None:
    summary = score([file], tmp_path / "run")
    run = bedside.read_run(tmp_path / "run")
    assert run.ratings.schema == SCHEMA
    assert run.ratings.height == summary.ratings
    assert not run.ratings.select(KEY).is_duplicated().any()
    turns = run.ratings.filter(metric="turns", transcript_id="one")
    assert turns.select("value", "system").rows() == [(2.0, "A")]
    assert [t.id for t in run.transcripts()] == ["one", "two"]
    assert run.transcript("two").turns[1].text == "I wake up at three. It wears me out."
    assert {path.name for path in run.path.iterdir()} == {"manifest.json", "ratings.parquet", "transcripts"}


def test_the_manifest_lets_a_stranger_repeat_the_run(file: Path, tmp_path: Path) -> None:
    raw = {"readability": {"raw": True}}
    run = score([file], tmp_path / "run", metrics=["readability"], parameters=raw, seed=7).run
    source = run.manifest["transcripts"]
    assert source["inputs"][0]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert source["count"] == 2
    entry = run.manifest["scorings"][0]
    assert entry["parameters"]["readability"]["raw"] is True
    assert entry["seed"] == 7
    assert entry["bedside"] == bedside.__version__
    assert {"numpy", "polars"} <= entry["libraries"].keys()


def test_every_rating_has_a_value_or_a_reason(file: Path, tmp_path: Path) -> None:
    ratings = score([file], tmp_path / "run").run.ratings
    scored = pl.col("value").is_not_null() | pl.col("label").is_not_null()
    assert ratings.filter(scored == pl.col("error").is_not_null()).is_empty()
    assert not ratings.filter(pl.col("error").is_not_null()).is_empty()


def test_the_content_hash_is_that_of_the_stored_line(file: Path, tmp_path: Path) -> None:
    run = score([file], tmp_path / "run").run
    table = pl.read_parquet(run.path / "transcripts" / "*.parquet")
    for name, digest, content in table.select("id", "hash", "content").iter_rows():
        assert hashlib.sha256(content.encode()).hexdigest() == digest
        assert run.transcript(name).content_hash() == digest


def test_scoring_again_adds_and_replaces(file: Path, tmp_path: Path) -> None:
    first = score([file], tmp_path / "run", metrics=["turns"])
    before = first.run.ratings
    more = score([file], tmp_path / "run", metrics=["words"])
    assert more.replaced == 0
    again = score([file], tmp_path / "run", metrics=["turns"])
    assert again.replaced == before.height
    run = bedside.read_run(tmp_path / "run")
    assert set(run.ratings["metric"].str.split(".").list.first()) == {"turns", "words"}
    assert not run.ratings.select(KEY).is_duplicated().any()
    assert len(run.manifest["scorings"]) == 3


@pytest.mark.parametrize(
    "content",
    [lines("one"), lines("one", "two", "three"), lines("one", "two", system="B")],
    ids=["fewer", "more", "other"],
)
def test_other_transcripts_change_nothing(file: Path, tmp_path: Path, content: str) -> None:
    score([file], tmp_path / "run", metrics=["turns"])
    before = contents(tmp_path / "run")
    file.write_text(content)
    with pytest.raises(RunError):
        score([file], tmp_path / "run", metrics=["words"])
    assert contents(tmp_path / "run") == before


def test_a_foreign_folder_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError):
        score([file], tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(lines("one") + "{\n")
    with pytest.raises(BedsideError):
        score([bad], tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def test_no_text_keeps_no_text(file: Path, tmp_path: Path) -> None:
    run = score([file], tmp_path / "run", text=False).run
    assert b"wears me out" not in b"".join(contents(run.path).values())
    assert "content" not in run.index.columns
    assert run.index["hash"].null_count() == 0
    with pytest.raises(RunError):
        list(run.transcripts())


def test_a_run_is_private(file: Path, tmp_path: Path) -> None:
    run = score([file], tmp_path / "run").run
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in run.path.iterdir() if path.is_file())


def test_same_input_same_tables(file: Path, tmp_path: Path) -> None:
    runs = [score([file], tmp_path / name).run.path for name in "ab"]
    for name in ("ratings.parquet", "transcripts/000000.parquet"):
        assert (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes()


def test_a_run_can_be_copied_and_read_elsewhere(file: Path, tmp_path: Path) -> None:
    before = score([file], tmp_path / "run").run.ratings
    (tmp_path / "run").rename(tmp_path / "moved")
    assert bedside.read_run(tmp_path / "moved").ratings.equals(before)


def test_two_processes_do_not_change_one_run(file: Path, tmp_path: Path) -> None:
    run = score([file], tmp_path / "run", metrics=["turns"]).run
    with run.locked(), pytest.raises(RunError):
        score([file], tmp_path / "run", metrics=["words"])


def test_a_table_spilled_to_parts_is_the_same_table(tmp_path: Path) -> None:
    schema = pl.Schema({"name": pl.String(), "value": pl.Float64()})
    rows = [(f"n{i}", None if i % 7 == 0 else i / 3) for i in range(1000)]
    small, at_once = (TableWriter(schema, tmp_path / name, batch=64, utf8=utf8)
                      for name, utf8 in (("small", []), ("at_once", ["name"])))  # fmt: skip
    large = TableWriter(schema, tmp_path / "large", batch=10_000)
    for row in rows:
        small.add(row)
        large.add(row)
    assert small.result().collect().equals(large.result().collect())
    assert len(list(tmp_path.glob("small/*"))) == 16
    assert not (tmp_path / "large").exists()
    encoded = [(name.encode(), value) for name, value in rows]
    assert sum(at_once.add_rows(iter(encoded[at : at + 70])) for at in range(0, 1000, 70)) == 1000
    assert at_once.result().collect().equals(small.result().collect())
    parts = [[p.read_bytes() for p in sorted(tmp_path.glob(f"{name}/*"))] for name in ("small", "at_once")]
    assert parts[0] == parts[1]


@pytest.mark.slow
def test_the_default_suite_is_scored_without_numpy(file: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from bedside.scoring.score import score; score([sys.argv[1]], sys.argv[2]); "
        "print('numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(file), str(tmp_path / "run")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_pandas_gets_the_same_table(file: Path, tmp_path: Path) -> None:
    run = score([file], tmp_path / "run", metrics=["turns"]).run
    frame = run.to_pandas()
    assert list(frame.columns) == list(SCHEMA)
    assert frame["value"].sum() == run.ratings["value"].sum()


def test_annomi_is_read_whole(annomi: Path, tmp_path: Path) -> None:
    summary = score([annomi], tmp_path / "run", metrics=["turns", "question"])
    assert summary.transcripts == 100
    ratings = summary.run.ratings
    # Every row of the file is one coder's codes of one turn; clinicians' turns carry the code of questions.
    people = ratings.filter(pl.col("metric") == "question", pl.col("rater").str.starts_with("human:"))
    assert people.height == 4999
    coders = people.group_by("transcript_id").agg(pl.col("rater").n_unique())
    assert sorted(coders.filter(pl.col("rater") == 10)["transcript_id"], key=int) == ["7", "27", "56", "66"]
    assert coders.filter(pl.col("rater") == 1).height == 96


def test_mdd5k_counts_are_those_of_a_plain_script(mdd5k: Path, tmp_path: Path) -> None:
    exchanges = characters = dialogues = 0
    for path in (mdd5k / "conversations").glob("*.json"):
        for dialogue in json.loads(path.read_text("utf-8")):
            dialogues += 1
            exchanges += len(dialogue["conversation"])
            characters += sum(len(text) for pair in dialogue["conversation"] for text in pair.values())
    ratings = score([mdd5k], tmp_path / "run", metrics=["exchanges", "characters"]).run.ratings
    assert ratings.filter(metric="exchanges")["value"].sum() == exchanges
    assert ratings.filter(metric="characters")["value"].sum() == characters
    assert ratings["transcript_id"].n_unique() == dialogues == 150
