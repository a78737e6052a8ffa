"""Preferences that people already have, in tables of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.core.errors import BedsideError, InputError
from bedside.ratings.rating_files import RatingFile
from bedside.ratings.run import Run
from bedside.scoring.score import score
from tests.conftest import Call
from tests.judges.simulated_judge import simulated_talks
from tests.ratings.builders import read_file, written

HEADER = "first,second,rater,metric,preferred\n"


def read(folder: Path, text: str, **options: Any) -> RatingFile:
    return read_file(written(folder, text, "pairs.csv"), **options)


def rows(file: RatingFile) -> list[tuple[object, ...]]:
    columns = ("transcript_id", "unit", "metric", "rater", "label", "value")
    return list(file.ratings.select(columns).iter_rows())


@pytest.mark.parametrize(
    ("written", "label", "value"),
    [("first", "first", 1.0), ("Second", "second", 0.0), ("tie", "tie", 0.5), ("No difference", "tie", 0.5),
     ("a 1", "first", 1.0), ("b:2", "second", 0.0)],
)  # fmt: skip
def test_who_is_preferred_is_said_by_place_by_id_or_as_a_tie(
    tmp_path: Path, written: str, label: str, value: float
) -> None:
    file = read(tmp_path, HEADER + f"a 1,b:2,anna,empathy,{written}\n")
    assert rows(file) == [("a 1", "pair:b:2", "empathy.preference", "human:anna", label, value)]


def test_columns_of_other_names_are_named_by_the_user(tmp_path: Path) -> None:
    text = "left one,right one,who,choice\na,b,anna,b\n"
    columns = {"first": "left one", "second": "right one", "preferred": "choice", "rater": "who"}
    file = read(tmp_path, text, columns=columns, metric="empathy")
    assert rows(file) == [("a", "pair:b", "empathy.preference", "human:anna", "second", 0.0)]
    with pytest.raises(InputError, match="no column holds the preferred"):
        read(tmp_path, text, columns={**columns, "preferred": ""})


def test_two_raters_called_first_and_second_are_raters(tmp_path: Path) -> None:
    file = read(tmp_path, "item,first,second\na,1,2\nb,3,3\n", form="by_rater")
    assert set(file.ratings["rater"]) == {"human:first", "human:second"}
    assert set(file.ratings["unit"]) == {"transcript"}


def test_both_orders_and_several_raters_stand_side_by_side_and_empty_cells_are_counted(
    tmp_path: Path,
) -> None:
    text = (
        HEADER + "a,b,anna,empathy,first\nb,a,anna,empathy,first\na,b,ben,empathy,NA\na,c,anna,empathy,tie\n"
    )
    file = read(tmp_path, text)
    assert file.ratings.height == 3
    assert file.empty == 1
    assert [row[:2] for row in rows(file)] == [("a", "pair:b"), ("b", "pair:a"), ("a", "pair:c")]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,b,anna,empathy,c", "says of neither 'a' nor 'b'"),
        ("a,a,anna,empathy,first", "compared with itself"),
        ("a,,anna,empathy,first", "no second transcript"),
        ("a,b,,empathy,first", "no rater"),
        ("a,first,anna,empathy,first", "may mean another answer too"),
        ("x,y,anna,empathy,first\nx,y,anna,empathy,tie", "twice"),
    ],
)
def test_a_row_that_says_nothing_is_named(tmp_path: Path, row: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        read(tmp_path, HEADER + row + "\n")
    assert "pairs.csv:" in str(raised.value)


def test_they_join_a_run_and_the_question_is_answered(call: Call, tmp_path: Path) -> None:
    talks = simulated_talks({"A": 0.9, "B": 0.1}, cases=8, seed=1)
    run = score(talks, tmp_path / "run", metrics=["structure"]).run
    lines = "".join(f"A-{case}-0,B-{case}-0,anna,empathy,A-{case}-0\n" for case in range(8))
    (tmp_path / "pairs.csv").write_text(HEADER + lines, "utf-8")
    code, out, err = call("ratings", "import", run.path, tmp_path / "pairs.csv")
    assert code == 0, err
    assert "8" in out
    table = Run(run.path).ratings
    imported = table.filter(table["unit"].str.starts_with("pair:"))
    assert set(imported.select("system", "label", "value", "round").iter_rows()) == {
        ("A", "first", 1.0, "import")
    }
    (tmp_path / "strange.csv").write_text(HEADER + "A-0-0,Z-0-0,anna,empathy,first\n", "utf-8")
    with pytest.raises(BedsideError, match="no transcript 'Z-0-0'"):
        bedside.import_ratings(run.path, tmp_path / "strange.csv")
