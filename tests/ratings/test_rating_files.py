"""Ratings from spreadsheets: long and wide, every file type, and what is refused with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.core.errors import BedsideError, DataError, InputError
from bedside.ratings.rating_files import import_ratings
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale, parse_scale, parse_scales
from bedside.scoring.score import score
from tests.ratings.builders import check_refusal, read_file, written

LONG = "item,rater,metric,value\na,anna,empathy,4\na,ben,empathy,3\nb,anna,empathy,5\nb,ben,empathy,NA\n"
WIDE = "item,metric,anna,ben\na,empathy,4,3\nb,empathy,5,\n"
EXAMPLES = Path(__file__).parents[2] / "bedside" / "examples"


def cells(path: Path, **options: Any) -> list[tuple[object, ...]]:
    table = read_file(path, **options).ratings
    return sorted(table.select("transcript_id", "metric", "rater", "value").iter_rows())


def test_long_and_wide_hold_the_same(tmp_path: Path) -> None:
    long = written(tmp_path, LONG)
    wide = written(tmp_path, WIDE, "wide.csv")
    assert cells(long) == cells(wide) == [
        ("a", "empathy", "human:anna", 4.0),
        ("a", "empathy", "human:ben", 3.0),
        ("b", "empathy", "human:anna", 5.0),
    ]  # fmt: skip
    assert read_file(long).empty == read_file(wide).empty == 1


def test_every_file_type_holds_the_same(tmp_path: Path) -> None:
    expected = cells(written(tmp_path, LONG))
    assert cells(written(tmp_path, LONG.replace(",", "\t"), "ratings.tsv")) == expected
    table = pl.read_csv(LONG.encode(), null_values="NA")
    table.write_parquet(tmp_path / "ratings.parquet")
    assert cells(tmp_path / "ratings.parquet") == expected
    import openpyxl

    book = openpyxl.Workbook()
    for row in [table.columns, *table.iter_rows()]:
        book.active.append(list(row))
    book.save(tmp_path / "ratings.xlsx")
    assert cells(tmp_path / "ratings.xlsx") == expected


def test_a_folder_of_sheets_holds_the_same_as_one(tmp_path: Path) -> None:
    """A sheet for each rater, who is called as the file is where no column says it."""
    whole = written(tmp_path, LONG)
    (tmp_path / "sheets").mkdir()
    written(tmp_path / "sheets", "item,empathy\na,4\nb,5\n", "anna.csv")
    written(tmp_path / "sheets", "item;rater;metric;value\na;ben;empathy;3\n", "second.tsv")
    (tmp_path / "sheets" / "~$anna.xlsx").write_bytes(b"a lock of Excel's")
    file = bedside.read_ratings(tmp_path / "sheets")
    columns = ("transcript_id", "metric", "rater", "value")
    assert sorted(file.ratings.select(columns).iter_rows()) == cells(whole)
    assert (file.account.items, file.account.raters) == (2, {"human:anna": 2, "human:ben": 1})
    (among,) = bedside.agree(tmp_path / "sheets", scales="1-5").results
    assert among.units == 1
    written(tmp_path / "sheets", "item,rater,metric,value\na,ben,empathy,2\n", "third.csv")
    with pytest.raises(InputError, match=r"third\.csv.*second\.tsv|second\.tsv.*third\.csv"):
        bedside.read_ratings(tmp_path / "sheets")


def test_a_folder_that_is_a_run_or_has_no_sheet_is_not_read_as_ratings(tmp_path: Path) -> None:
    with pytest.raises(BedsideError, match="not a run"):
        bedside.agree(tmp_path)
    run = score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["turns"]).run
    written(run.path, LONG, "notes.csv")
    with pytest.raises(BedsideError, match="no two raters"):
        bedside.agree(run.path)


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "Session,Who,Stars\na,anna,4\na,ben,2\n")
    found = cells(path, columns={"item": "Session", "rater": "Who", "value": "Stars"}, metric="warmth")
    assert found == [("a", "warmth", "human:anna", 4.0), ("a", "warmth", "human:ben", 2.0)]


def test_judges_turns_passes_and_labels(tmp_path: Path) -> None:
    text = "item,turn,rater,metric,value,replicate\na,3,judge:m,question,open,1\na,3,anna,question,closed,\n"
    table = read_file(written(tmp_path, text), scales=parse_scales(["question=none/open/closed"])).ratings
    assert table["unit"].to_list() == ["turn:3", "turn:3"]
    assert table["rater"].to_list() == ["judge:m", "human:anna"]
    assert table["replicate"].to_list() == [1, 0]
    assert table["label"].to_list() == ["open", "closed"]
    assert table["value"].null_count() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG + "a,anna,empathy,2\n", r"human:anna rates 'a' on empathy twice"),
        (LONG.replace("5", "6"), r"ratings\.csv:4: '6' is not on the scale of empathy; levels: 1, 2, 3, 4, 5"),
        (LONG.replace("5", "five"), r"ratings\.csv:4: 'five' is not on the scale"),
        ("rater,value\nanna,3\n", "no column holds the item.*`columns=item=NAME`; columns: rater, value"),
        ("item,value\na,3\n", "no column holds the rater"),
        ("item\na\n", "no column holds ratings"),
        ("item,rater,value\n,anna,3\n", r"ratings\.csv:2: the row has no item"),
        ("item,rater,value\na,,3\n", r"ratings\.csv:2: the row has no rater"),
        ("item,turn,rater,value\na,x,anna,3\n", r"ratings\.csv:2: the turn 'x' is not a whole number"),
        ("item,rater,value\na,anna,\n", "holds no rating"),
        ("item,rater,value\na,anna\n", r"ratings\.csv:2: the row has 2 cells and the header 3"),
    ],
)
def test_bad_files_are_refused_with_the_row(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_file(written(tmp_path, text), scales=parse_scales(["1-5"]))


def test_doubled_ratings_name_both_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ratings\.csv:2 and .*ratings\.csv:6"):
        read_file(written(tmp_path, LONG + "a,anna,empathy,2\n"))


def test_words_among_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the rating of empathy is 'good', while others are numbers \(.*:2\)"):
        read_file(written(tmp_path, LONG.replace("5", "good")))


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1-5", (1.0, 2.0, 3.0, 4.0, 5.0)),
        ("0,0.5,1", (0.0, 0.5, 1.0)),
        ("none/open/closed", ("none", "open", "closed")),
        ("mild < moderate<severe", ("mild", "moderate", "severe")),
    ],
)
def test_scales(text: str, levels: tuple[object, ...]) -> None:
    scale = parse_scale(text)
    assert scale.levels == levels
    assert Scale.from_json(scale.to_json()) == scale


@pytest.mark.parametrize("text", ["", "5", "5-1", "a-b", "1,1", "1--5", "0-99999999"])
def test_scales_that_are_none(text: str) -> None:
    with pytest.raises(DataError, match="is not a scale"):
        parse_scale(text)


def run_of_the_example(tmp_path: Path) -> Run:
    return score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run", metrics=["turns"]).run


def test_import_into_a_run(tmp_path: Path) -> None:
    run = run_of_the_example(tmp_path)
    file = read_file(EXAMPLES / "ratings.csv", scales=parse_scales(["1-5"]))
    assert import_ratings(run, EXAMPLES / "ratings.csv", file) == (71, 0)
    empathy = run.ratings.filter(metric="empathy", rater="human:anna")
    assert empathy.height == 12
    assert empathy["system"].null_count() == 0
    assert run.manifest["imports"][0]["scales"]["empathy"] == [1, 2, 3, 4, 5]
    assert import_ratings(run, EXAMPLES / "ratings.csv", file) == (71, 71)


@pytest.mark.parametrize(
    ("row", "message"),
    [("steady-alcool,,anna,4", "the run has no transcript 'steady-alcool'; did you mean"),
     ("steady-alcohol,99,anna,4", "has 28 turns and so no turn:99")],
)  # fmt: skip
def test_import_of_unknown_units_changes_nothing(tmp_path: Path, row: str, message: str) -> None:
    run = run_of_the_example(tmp_path)
    before = run.ratings
    path = written(tmp_path, f"item,turn,rater,value\n{row}\n")
    with pytest.raises(BedsideError, match=message):
        import_ratings(run, path, read_file(path))
    assert Run(run.path).ratings.equals(before)


@pytest.mark.parametrize("text", ["²-³", "9" * 5000 + "-1", "1-" + "9" * 5000, "½-5"])
def test_digits_of_other_kinds_and_endless_numbers_are_no_scale(text: str) -> None:
    with pytest.raises(DataError, match="is not a scale"):
        parse_scale(text)


@pytest.mark.parametrize(("column", "cell"), [("turn", "1e308"), ("replicate", "3000000000"), ("replicate", "²")])
def test_numbers_that_no_table_holds_are_refused(column: str, cell: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"item,rater,value,{column}\na,anna,1,{cell}\n", "r.csv")
    with pytest.raises(InputError, match=f"the {column} '.*' is not a whole number"):
        read_file(path)


@pytest.mark.slow
def test_a_parquet_file_of_a_few_bytes_may_not_become_a_large_table(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    many = pl.select(pl.repeat(1, 5_000_000, dtype=pl.Int8).alias(f"m{number}") for number in range(40))
    many = many.with_columns(item=pl.lit("a"), rater=pl.lit("anna"), value=pl.lit(1))
    many.write_parquet(path)
    check_refusal(path, "1024 MB of text")
    long = pl.select(item=pl.int_range(2000), rater=pl.lit("anna"), value=pl.lit(1), reason=pl.lit("x" * 2**20))
    long.write_parquet(path)
    assert path.stat().st_size < 2**20
    check_refusal(path, "1024 MB of text")


@pytest.mark.slow
def test_more_than_two_million_rows_are_read_and_a_doubled_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    rows = [f"t{item},anna,m{metric},{item % 5 + 1}\n" for item in range(210_000) for metric in range(10)]
    path.write_text("item,rater,metric,value\n" + "".join(rows))
    file = read_file(path)
    assert file.ratings.height == file.account.ratings == len(file.places) == 2_100_000
    assert file.ratings["value"].sum() == 210_000 * 10 * 3
    assert file.places[-1] == f"{path}:2100001"
    path.write_text("item,rater,metric,value\n" + "".join([*rows, rows[6]]))
    check_refusal(path, f"{path}:8 and {path}:2100002")


def test_a_short_row_beside_a_long_one_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,metric,value\na,anna,m,1,\nb,anna,m\nc,anna,m,2\n", "r.csv")
    check_refusal(path, "r.csv:3: the row has 3 cells and the header 4")


@pytest.mark.slow
def test_parquet_is_read_as_the_same_table_in_csv(tmp_path: Path) -> None:
    """Numbers, dates and nothing are the text that they are in CSV; a file is Parquet by what stands in it."""
    table = pl.DataFrame(
        {
            "item": ["a", "b", "c"],
            "rater": ["anna"] * 3,
            "stars": [4, None, 2],
            "share": [0.5, 1.0, None],
            "day": pl.Series(["2025-03-01"] * 3).str.to_date(),
        }
    )
    table.write_csv(tmp_path / "r.csv")
    expected = read_file(tmp_path / "r.csv")
    for name in ("r.parquet", "r.pq"):
        table.write_parquet(tmp_path / name)
        file = read_file(tmp_path / name)
        assert file.ratings.equals(expected.ratings)
        assert file.account.file.unused == expected.account.file.unused == ["day"]
        assert file.places[0] == f"{tmp_path / name}: row 1 column stars"
