"""What a run says of itself: true, in a line, and said of a damaged one, too."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.ratings.run import RunContents
from bedside.ratings.table import SCHEMA

TALKS, RATINGS = bedside.EXAMPLES / "transcripts.jsonl", bedside.EXAMPLES / "ratings.csv"


@pytest.fixture
def run(tmp_path: Path) -> bedside.Run:
    return bedside.score(TALKS, tmp_path / "run", metrics="turns").run


def test_a_run_says_what_is_in_it(run: bedside.Run) -> None:
    scored = run.ratings.height
    holds = f"12 transcripts, {scored} ratings on 3 metrics by 1 algorithm"
    assert repr(run) == f"Run({str(run.path)!r}: {holds})"
    # What is added is there at once.
    bedside.import_ratings(run, RATINGS, scales="1-5")
    assert repr(run) == (
        f"Run({str(run.path)!r}: 12 transcripts, {scored + 71} ratings on 6 metrics by 2 people, 1 algorithm)"
    )
    shown = run._repr_html_()
    assert shown is not None
    for rater, count in run.ratings.group_by("rater").len().iter_rows():
        assert f">… by {rater}</bdi></th><td>{count:,}</td>" in shown


def test_names_are_text_in_html() -> None:
    rows = {"rater": ["human:<b>", "odd:x"], "metric": ["a", "b"], "error": [None, "why"]}
    table = pl.DataFrame({name: rows.get(name, [None, None]) for name in SCHEMA}, schema=SCHEMA)
    contents = RunContents.of(table.lazy(), 1, 2)
    assert contents == RunContents(1, 2, {"human:<b>": 1, "odd:x": 1}, 2, 1)
    assert contents.line() == "1 transcript, 2 ratings on 2 metrics by 1 person, 1 other rater"
    assert "human:&lt;b&gt;" in contents.html("<run>")
    assert "<run>" not in contents.html("<run>")


@pytest.mark.parametrize("damage", ["cut", "gone", "other", "folder"])
def test_a_damaged_run_still_says_where_it_is(damage: str, run: bedside.Run) -> None:
    file = run.path / "ratings.parquet"
    opened = bedside.read_run(run.path)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:100])
    elif damage == "gone":
        file.unlink()
    elif damage == "other":
        pl.DataFrame({"a": [1]}).write_parquet(file)
    else:
        shutil.rmtree(run.path)
    why = "the file isn't as bedside wrote it (its SHA-256 is another)"
    if damage in ("gone", "folder"):
        why = "the table is missing or damaged"
    assert repr(opened) == f"Run({str(run.path)!r}: {why})"
    assert opened._repr_html_() is None
