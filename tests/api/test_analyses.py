"""Questions put from Python: the tables are those of the command line, and show themselves."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import bedside
from bedside.reports.renderers.records import csv_text
from bedside.reports.table import Table, Tables

STUDY = bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bedside.Run:
    folder = tmp_path_factory.mktemp("questions")
    transcripts = [bedside.EXAMPLES / "transcripts.jsonl"]
    made = bedside.score(transcripts, folder / "run", metrics=["behaviour", "turns"]).run
    assert bedside.import_ratings(made, bedside.EXAMPLES / "ratings.csv", scales="1-5").added == 71
    return made


def test_a_run_and_its_folder_are_asked_alike(run: bedside.Run) -> None:
    for asked in (bedside.agree, bedside.compare):
        assert asked(run, metrics=["empathy"]) == asked(str(run.path), metrics=["empathy"])
    assert repr(run) == f"Run({str(run.path)!r}: {run.contents.line()})"


def test_means_are_those_of_the_ratings(run: bedside.Run) -> None:
    """Counted from the file of ratings by hand."""
    given: dict[str, list[float]] = {}
    with (bedside.EXAMPLES / "ratings.csv").open() as file:
        for row in csv.DictReader(file):
            if row["metric"] == "empathy":
                given.setdefault(row["item"].partition("-")[0], []).append(float(row["value"]))
    found = bedside.compare(run, systems=["steady", "brisk"], metrics=["empathy"])["comparison"].to_polars()
    means = {system: sum(values) / len(values) for system, values in given.items()}
    assert found["difference"].to_list() == pytest.approx([means["steady"] - means["brisk"]])


def test_tables_by_position_and_name(run: bedside.Run) -> None:
    made = bedside.compare(run, metrics=["empathy"], odds_ratios=True)
    assert isinstance(made, Tables)
    assert made["comparison"] is made[-1]
    assert made.names == ("overall", "ordered", "comparison")
    assert [table.name for table in made[0:2]] == ["overall", "ordered"]
    with pytest.raises(bedside.BedsideError, match="'comparisn'; did you mean comparison"):
        made["comparisn"]


def test_tables_show_themselves(run: bedside.Run) -> None:
    table, _ = bedside.agree(run, metrics=["empathy"])
    assert repr(table) == "Table('agreement', 1 rows)"
    assert "| Empathy |" in str(table)
    assert "<th" in table._repr_html_()
    frame = table.to_polars()
    assert frame.height == len(table.records)
    assert list(table.to_pandas()["metric"]) == frame["metric"].to_list()
    # Full precision, as in the CSV.
    assert [row["estimate"] for row in csv.DictReader(csv_text(table).splitlines())] == [
        "" if value is None else str(value) for value in frame["estimate"]
    ]


def test_a_judge_is_checked_and_corrected() -> None:
    card = bedside.validate(STUDY, scales=SCALES)
    assert [table.name for table in card] == ["judge_card_1", "validation_1", "bias_1", "decisions_1", "accuracy_1"]
    assert len(bedside.estimate(STUDY, metrics=["empathy"], scales=SCALES)[0].rows) > 0
    with pytest.raises(
        bedside.BedsideError,
        match="no judge has rated it; score it with a judge first, or name another rater with `judge`",
    ):
        bedside.estimate(bedside.EXAMPLES / "ratings.csv", scales="1-5")


def test_a_number_is_explained(run: bedside.Run) -> None:
    found = bedside.explain(run, "empathy/steady")
    assert repr(found) == "Explanation(1 definitions, 4 tables)"
    assert "human:anna" in found._repr_markdown_()
    assert found.tables[0].records


@pytest.mark.slow
def test_tables_and_report(run: bedside.Run, tmp_path: Path) -> None:
    assert [table.name for table in bedside.tables(run, ["results"])] == ["results"]
    report = bedside.report(run, tmp_path / "report")
    assert report.page == tmp_path / "report" / "report.html"
    assert report.page in report.files
    assert isinstance(report.tables["results"], Table)
    assert report.figure("agreement").read_bytes().startswith(b"<svg")
    with pytest.raises(bedside.BedsideError, match="no figure 'agreemnt'; did you mean agreement"):
        report.figure("agreemnt")
    paper = bedside.report(
        run, tmp_path / "paper", tables="results", formats=["latex", "csv"], columns=2, spread="ci", siunitx=True
    )
    assert paper.page is None
    assert {file.suffix for file in paper.files} == {".tex", ".csv"}
    assert "siunitx" in next(file for file in paper.files if file.suffix == ".tex").read_text("utf-8")
    with pytest.raises(bedside.BedsideError, match="there is no choice 'si'; did you mean sd or ci"):
        bedside.report(run, tmp_path / "paper", spread="si")  # type: ignore[arg-type]


def test_a_conversation_prints_as_one() -> None:
    first = next(iter(bedside.read_transcripts([bedside.EXAMPLES / "transcripts.jsonl"])))
    lines = str(first).splitlines()
    assert len(lines) == len(first.turns)
    assert lines[1].startswith("1 patient: Not bad, not bad.")
