"""Tables as they are handed out: had by position and name, as data frames, and nothing that a tuple has by accident."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.analysis.agreement import Agreement
from bedside.analysis.comparison import Comparisons
from bedside.analysis.estimation import Estimate
from bedside.analysis.validation import JudgeCard
from bedside.reports.table import Table, Tables

STUDY = bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Tables[Comparisons]:
    out = tmp_path_factory.mktemp("table") / "run"
    return bedside.compare(
        bedside.score(bedside.EXAMPLES / "transcripts.jsonl", out, metrics="behaviour").run
    )


def test_they_are_gone_through_and_had_by_place_and_name(compared: Tables[Comparisons]) -> None:
    assert compared.names == ("overall", "comparison")
    assert [table.name for table in compared] == list(compared.names)
    assert len(compared) == 2
    assert compared[0] is compared["overall"]
    assert compared[-1] is compared["comparison"]
    assert compared[0:1] == (compared["overall"],)
    assert compared["comparison"] in list(compared)
    assert (
        repr(compared)
        == f"Tables(overall: {len(compared[0].rows)} rows, comparison: {len(compared[1].rows)} rows)"
    )
    with pytest.raises(IndexError):
        compared[2]
    with pytest.raises(bedside.BedsideError, match="'comparisn'; did you mean comparison"):
        compared["comparisn"]


def test_they_have_nothing_by_accident_and_stay_as_they_are(compared: Tables[Comparisons]) -> None:
    assert {name for name in dir(compared) if not name.startswith("_")} == {
        "levels", "names", "results", "to_pandas", "to_polars",
    }  # fmt: skip
    with pytest.raises(dataclasses.FrozenInstanceError):
        compared.results = None  # type: ignore[misc, assignment]
    assert copy.copy(compared) == compared == pickle.loads(pickle.dumps(compared))  # noqa: S301
    assert compared != bedside.compare(STUDY, scales=SCALES)


def test_results_are_what_the_tables_show(compared: Tables[Comparisons]) -> None:
    assert len(compared.results.pairs) == len(compared["comparison"].records)
    assert compared.results.pairs[0].difference.estimate == compared["comparison"].records[0]["difference"]
    agreements = bedside.agree(STUDY, scales=SCALES).results
    assert all(isinstance(result, Agreement) for result in agreements)
    assert agreements[0].statistics["kappa"].estimate is not None
    (card,) = bedside.validate(STUDY, scales=SCALES).results
    assert isinstance(card, JudgeCard)
    assert card.rater == "judge:invented"
    estimates = bedside.estimate(STUDY, scales=SCALES).results
    assert all(isinstance(result, Estimate) for result in estimates)
    assert bedside.tables(STUDY, "agreement", scales=SCALES).results is None


def test_one_frame_holds_all_records(compared: Tables[Comparisons]) -> None:
    frame = compared.to_polars()
    assert frame.columns[0] == "table"
    assert frame["table"].to_list() == [table.name for table in compared for _ in table.records]
    for table in compared:
        own = table.to_polars()
        part = frame.filter(pl.col("table") == table.name)
        assert part.select(own.columns).equals(own)
    pandas = compared.to_pandas()
    assert list(pandas.columns) == frame.columns
    assert pandas["p"].tolist()[-1] == frame["p"][-1]


def test_words_and_numbers_of_one_column_are_words() -> None:
    def table(name: str, value: object) -> Table:
        return Table(name, name, (), (), records=({"value": value, name: 1},))

    frame = Tables((table("a", "x"), table("b", 1.5), table("c", None)), None).to_polars()
    assert frame.rows() == [
        ("a", "x", 1, None, None),
        ("b", "1.5", None, 1, None),
        ("c", None, None, None, 1),
    ]
    assert Tables((), None).to_polars().height == 0


@pytest.mark.slow
def test_every_report_makes_one_frame(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", suite="calm-it").run
    found = bedside.tables(run)
    assert found.to_polars().height == sum(len(table.records) for table in found) == len(found.to_pandas())


def test_the_tests_a_number_is_part_of_are_shown(tmp_path: Path) -> None:
    """Their cells are of the records that are shown, wherever these stood before."""
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="behaviour").run
    whole = bedside.compare(run)["comparison"]
    tests = bedside.explain(run, "open_question_ratio@people/steady").tables["tests"]
    assert "<th" in tests._repr_html_()
    assert 0 < len(tests.records) < len(whole.records)
    for number, row in enumerate(tests.rows):
        assert {cell.record for cell in row.cells} <= {number, None}
        assert tests.records[number]["metric"] == "open_question_ratio"
