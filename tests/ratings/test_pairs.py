"""Preferences: their names, what a row of them must hold, and those that people have in tables of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import BedsideError, InputError
from bedside.ratings.names import is_pair, is_turn, pair_unit, rates_pair, second_id, second_ids
from bedside.ratings.rating_content import ratings_table
from bedside.ratings.rating_files import RatingFile
from bedside.ratings.rubric_metrics import is_preference, preference_metric, preferred_by
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.score import score
from tests.conftest import Call, works
from tests.judges.simulated_judge import simulated_talks
from tests.ratings.builders import read_file, written

ODD = ("plain", "a:b", "pair:x", "turn:3", "transcript", "two words", "line\nbreak", "日本/€", "\\d+", "a,b;c")


def rows(**cells: object) -> pl.DataFrame:
    row = {
        "transcript_id": "a", "system": "S", "case_id": "c", "unit": "pair:b", "metric": "empathy.preference",
        "rater": "judge:m", "replicate": 0, "value": 1.0, "label": "first", "reason": None, "error": None, **cells,
    }  # fmt: skip
    return frame_of([tuple(row.values())])


@pytest.mark.parametrize("name", ODD)
def test_a_pair_is_known_by_the_id_of_the_second(name: str) -> None:
    unit = pair_unit(name)
    assert is_pair(unit)
    assert not is_turn(unit)
    assert second_id(unit) == name
    table = rows(unit=unit)
    assert table.select(rates_pair()).item()
    assert table.select(second_ids()).item() == name
    assert ratings_table(table).height == 1


def test_what_is_no_pair_has_no_second() -> None:
    with pytest.raises(ValueError, match="no pair"):
        second_id("turn:1")
    assert rows(unit="turn:1", metric="x", label=None).select(second_ids()).item() is None


def test_the_metric_names_the_rubric() -> None:
    assert is_preference(preference_metric("empathy"))
    assert preferred_by(preference_metric("empathy")) == "empathy"
    assert not is_preference("empathy")
    assert preferred_by("empathy") == "empathy"


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"unit": "pair:"}, "neither a transcript"),
        ({"unit": "pair:a"}, "itself"),
        ({"metric": "empathy"}, "something else than a preference"),
        ({"value": 0.0}, "first with the value 1"),
        ({"label": "better"}, "first with the value 1"),
        ({"label": None}, "first with the value 1"),
        ({"value": None, "label": None}, "first with the value 1"),
        ({"value": 1.0, "label": "first", "error": "no"}, "first with the value 1"),
    ],
)
def test_a_row_that_is_no_preference_is_refused(cells: dict[str, object], words: str) -> None:
    with pytest.raises(bedside.BedsideError, match=words):
        ratings_table(rows(**cells))


def test_preferences_stand_beside_the_ratings_that_are_looked_at() -> None:
    table = pl.concat(
        [
            rows(),
            rows(label="tie", value=0.5, unit="pair:c"),
            rows(value=None, label=None, error="too long", unit="pair:d"),
            rows(unit="transcript", metric="empathy", label=None, value=3.0),
        ]
    )
    view = open_ratings_view(table)
    assert view.metrics() == ["empathy"]
    assert view.metrics(["empathy"]) == ["empathy"]
    assert view.ratings.height == 1
    assert view.preferences.height == 3


HEADER = "first,second,rater,metric,preferred\n"


def read(folder: Path, text: str, **options: Any) -> RatingFile:
    return read_file(written(folder, text, "pairs.csv"), **options)


def of_file(file: RatingFile) -> list[tuple[object, ...]]:
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
    assert of_file(file) == [("a 1", "pair:b:2", "empathy.preference", "human:anna", label, value)]


def test_columns_of_other_names_are_named_by_the_user(tmp_path: Path) -> None:
    text = "left one,right one,who,choice\na,b,anna,b\n"
    columns = {"first": "left one", "second": "right one", "preferred": "choice", "rater": "who"}
    file = read(tmp_path, text, columns=columns, metric="empathy")
    assert of_file(file) == [("a", "pair:b", "empathy.preference", "human:anna", "second", 0.0)]
    with pytest.raises(InputError, match="no column holds the preferred"):
        read(tmp_path, text, columns={**columns, "preferred": ""})


def test_two_raters_called_first_and_second_are_raters(tmp_path: Path) -> None:
    file = read(tmp_path, "item,first,second\na,1,2\nb,3,3\n", form="by_rater")
    assert set(file.ratings["rater"]) == {"human:first", "human:second"}
    assert set(file.ratings["unit"]) == {"transcript"}


def test_both_orders_and_several_raters_stand_side_by_side_and_empty_cells_are_counted(tmp_path: Path) -> None:
    text = HEADER + "a,b,anna,empathy,first\nb,a,anna,empathy,first\na,b,ben,empathy,NA\na,c,anna,empathy,tie\n"
    file = read(tmp_path, text)
    assert file.ratings.height == 3
    assert file.empty == 1
    assert [row[:2] for row in of_file(file)] == [("a", "pair:b"), ("b", "pair:a"), ("a", "pair:c")]


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
    out, _ = works(call, "ratings", "import", run.path, tmp_path / "pairs.csv")
    assert "8" in out
    table = Run(run.path).ratings
    imported = table.filter(table["unit"].str.starts_with("pair:"))
    assert set(imported.select("system", "label", "value", "round").iter_rows()) == {("A", "first", 1.0, "import")}
    (tmp_path / "strange.csv").write_text(HEADER + "A-0-0,Z-0-0,anna,empathy,first\n", "utf-8")
    with pytest.raises(BedsideError, match="no transcript 'Z-0-0'"):
        bedside.import_ratings(run.path, tmp_path / "strange.csv")
