"""Ratings in data frames: the same answers as from the file they were read from, and as from the run they are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import bedside

FILE, STUDY = bedside.EXAMPLES / "ratings.csv", bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")
FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.read_csv, "polars": pl.read_csv, "lazy": pl.scan_csv,
    "arrow": lambda path: pd.read_csv(path, dtype_backend="pyarrow"),
    "nullable": lambda path: pd.read_csv(path, dtype_backend="numpy_nullable"),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bedside.Run:
    scored = bedside.score(
        bedside.EXAMPLES / "transcripts.jsonl", tmp_path_factory.mktemp("frames") / "run", metrics="behaviour"
    ).run
    bedside.import_ratings(scored, FILE, scales="1-5")
    return scored


@pytest.mark.slow
@pytest.mark.parametrize("ask", [bedside.agree, bedside.compare, bedside.validate, bedside.estimate, bedside.tables])
def test_frames_are_asked_as_their_file_is(ask: Callable[..., Any]) -> None:
    options = {"scales": SCALES, **({"metrics": "empathy"} if ask is not bedside.tables else {"names": "agreement"})}
    of_file = ask(STUDY, **options)
    for kind, frame in FRAMES.items():
        assert ask(frame(STUDY), **options) == of_file, kind


@pytest.mark.slow
def test_a_number_of_a_frame_is_explained() -> None:
    of_file = bedside.explain(STUDY, "empathy", table="agreement", scales=SCALES)
    assert str(bedside.explain(pd.read_csv(STUDY), "empathy", table="agreement", scales=SCALES)) == str(of_file)
    assert bedside.figure(pl.read_csv(STUDY), "agreement", scales=SCALES).svg() == bedside.figure(
        STUDY, "agreement", scales=SCALES
    ).svg()  # fmt: skip


def test_wide_frames_are_rated_by_their_columns() -> None:
    """A pivoted table has the items in its index, and NaN where nobody rated."""
    long = pd.read_csv(FILE)
    wide = long.pivot(index=["item", "metric"], columns="rater", values="value")
    assert wide.isna().any(axis=None)
    # Intervals are drawn in the order of rows.
    expected = bedside.agree(long.sort_values(["item", "metric", "rater"]), scales="1-5")
    for frame in (wide, wide.reset_index(), pl.from_pandas(wide.reset_index())):
        assert bedside.agree(frame, scales="1-5") == expected


def test_other_names_of_columns() -> None:
    renamed = pd.read_csv(FILE).rename(columns={"item": "Session", "rater": "Who"})
    told = {"item": "Session", "rater": "Who"}
    assert bedside.agree(renamed, scales="1-5", columns=told) == bedside.agree(FILE, scales="1-5")


@pytest.mark.slow
def test_a_part_of_a_runs_table_is_one(run: bedside.Run) -> None:
    """With units, labels, passes and missing values, which a rating file has other columns for."""
    asked = ["empathy", "question", "main_behaviour"]
    whole = bedside.agree(run, metrics=asked)
    part = pl.col("metric").is_in(asked)
    for frame in (
        run.ratings.filter(part),
        run.scan().filter(part),
        run.to_pandas().query("metric in @asked"),
        run.ratings.filter(part).with_columns(more=pl.lit(1)),
    ):
        found = bedside.agree(frame, scales="empathy=1-5")
        assert found.to_polars().equals(whole.to_polars())
    assert (
        bedside.compare(run.ratings, metrics="percent_open_questions").to_polars().equals(
            bedside.compare(run, metrics="percent_open_questions").to_polars()
        )
    )  # fmt: skip


def test_pandas_own_nothing_is_nothing() -> None:
    frame = pd.DataFrame(
        {
            "item": ["a", "a", "b", "b"], "rater": ["x", "y", "x", "y"], "value": pd.array([1, 2, None, 2], "Int64"),
            "turn": [0.0, float("nan"), 1.0, 2.0], "reason": [None, pd.NaT, "why", pd.NA],
        }
    )  # fmt: skip
    from bedside.ratings.rating_files import read_rating_frame

    read = read_rating_frame(frame)
    assert read.empty == 1
    assert read.ratings["unit"].to_list() == ["turn:0", "transcript", "turn:2"]
    assert read.ratings["reason"].to_list() == [None, None, None]
    assert read.places == ("the data frame: row 0", "the data frame: row 1", "the data frame: row 3")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: f.assign(value=[9, *f["value"][1:]]), "the data frame: row 0: '9' is not on the scale of empathy"),
        (lambda f: pd.concat([f, f]), "the data frame: row 0 and the data frame: row 71: human:anna rates"),
        (lambda f: f.drop(columns="item"), "the data frame: no column holds the item"),
        (lambda f: f.drop(columns="value"), "the data frame: no column holds the value"),
        (lambda f: f.assign(item=[None, *f["item"][1:]]), "the data frame: row 0: the row has no item"),
        (lambda f: f.head(0), "the data frame: it holds no rating"),
        (lambda f: f.set_axis(["item", "item", "metric", "value"], axis=1), "two columns are called 'item'"),
        (lambda f: f.to_dict(), "ratings can't be read from what is of type dict"),
        (lambda f: None, "ratings can't be read from what is of type NoneType"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_frame_is_told_with_its_row(spoil: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(bedside.BedsideError) as error:
        bedside.agree(spoil(pd.read_csv(FILE)), scales="1-5")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("unit", pl.lit("turn"), "row 0: the unit is neither a transcript nor a turn"),
        ("rater", pl.lit("anna"), "row 0: the rater is of no kind; write human:NAME"),
        ("metric", pl.lit(None), "row 0: the row has no metric"),
        ("replicate", pl.lit(-1), "row 0: the replicate is less than 0"),
        ("value", pl.lit("x"), "a column holds something else than the ratings table does"),
        ("label", pl.lit("x"), "row 0: a rating has a value, a label or an error, and one of them only"),
        ("value", pl.lit(float("nan")), "row 0: a rating has a value, a label or an error"),
        ("transcript_id", pl.lit("one"), "row 2: the rating stands in a row above, too"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_ratings_table(run: bedside.Run, column: str, value: pl.Expr, words: str) -> None:
    spoilt = run.ratings.filter(metric="empathy").sort("transcript_id", "rater").with_columns(value.alias(column))
    for frame in (spoilt, spoilt.to_pandas()):
        with pytest.raises(bedside.BedsideError) as error:
            bedside.agree(frame)
        assert words in str(error.value)
