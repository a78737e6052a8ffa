"""The first answer of a scoring: its numbers against ratings and the table of results, what it shows, that it fits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.run import Run
from bedside.reports.contents import make_tables
from bedside.reports.first_measures import first_measures
from bedside.reports.table import Table
from tests.conftest import Call, works

EXAMPLE = bedside.EXAMPLES / "transcripts.jsonl"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return bedside.score(EXAMPLE, out=tmp_path_factory.mktemp("example") / "run").run


def table_of(run: Run) -> Table:
    table = first_measures(open_ratings_view(run))
    assert table is not None
    return table


def by_people(run: Run, metric: str) -> pl.DataFrame:
    """People's mean of a metric, by transcript."""
    rated = run.ratings.filter(
        pl.col("metric") == metric, pl.col("unit") == "transcript", pl.col("rater").str.starts_with("human:")
    )
    return rated.group_by("transcript_id", "system").agg(pl.col("value").mean()).drop_nulls("value")


def renamed(folder: Path, systems: dict[str, str] | None = None) -> Run:
    """The run of the example with other names of systems; without any where none is given."""
    talks = [json.loads(line) for line in EXAMPLE.read_text("utf-8").splitlines()]
    for talk in talks:
        talk["system"] = None if systems is None else systems[talk["system"]]
    folder.mkdir(exist_ok=True)
    file = folder / "talks.jsonl"
    file.write_text("".join(f"{json.dumps(talk)}\n" for talk in talks), "utf-8")
    return bedside.score(file, out=folder / "run", metrics="behaviour").run


def test_means_are_those_of_the_ratings_and_of_the_results(run: Run) -> None:
    table = table_of(run)
    records: dict[str, dict[str, Any]] = {record["cell"]: dict(record) for record in table.records}
    for metric in ("percent_open_questions", "percent_complex_reflections", "percent_change_talk"):
        for (system,), values in by_people(run, metric).partition_by("system", as_dict=True).items():
            record = records[f"{metric}/{system}"]
            assert record["mean"] == pytest.approx(values["value"].to_numpy().mean())
            assert record["n"] == values.height
    (results,) = make_tables(open_ratings_view(run), ["results"])
    of_results = {
        (each["metric"], each["raters"], each["system"]): each for each in results.records if "raters" in each
    }
    for record in records.values():
        assert record["mean"] == of_results[record["metric"], record["raters"], record["system"]]["value"]


def test_the_middle_half_is_between_the_quartiles(tmp_path: Path) -> None:
    run = renamed(tmp_path)
    table = table_of(run)
    assert [column.title for column in table.columns] == ["Measure", "Mean", "Middle half", "Transcripts"]
    record = next(record for record in table.records if record["metric"] == "percent_change_talk")
    values = by_people(run, "percent_change_talk")["value"].to_numpy()
    assert (record["quartile_low"], record["quartile_high"]) == pytest.approx(tuple(np.quantile(values, [0.25, 0.75])))
    row = next(row for row in table.rows if row.cells[0].text == "Change talk (%)")
    low, high = np.quantile(values, [0.25, 0.75])
    assert [cell.text for cell in row.cells[1:]] == [f"{values.mean():.1f}", f"{low:.1f} – {high:.1f}", "12"]


def test_what_is_missing_is_no_zero(run: Run) -> None:
    row = next(row for row in table_of(run).rows if row.cells[0].text == "Complex reflections (%)")
    assert row.cells[-1].text == "11 of 12"


def test_it_says_whose_ratings_are_shown_and_where_the_rest_is(run: Run) -> None:
    notes = table_of(run).notes
    assert "Several rated 4 of these; shown: people; not shown: rules@2." in notes
    assert any(note.startswith("8 of 42 measures are shown; all: bedside report") for note in notes)


def test_what_a_judge_rated_comes_first(tmp_path: Path) -> None:
    run = renamed(tmp_path)
    of_people = (pl.col("metric") == "questions_per_turn") & pl.col("rater").str.starts_with("human:")
    judged = run.ratings.filter(of_people).with_columns(rater=pl.lit("judge:toy"), metric=pl.lit("empathy"))
    view = open_ratings_view(run)
    table = first_measures(replace(view, ratings=pl.concat([view.ratings, judged])), judged=True)
    assert table is not None
    assert table.rows[0].cells[0].text == "Empathy"
    assert table.records[0]["raters"] == "judge:toy"


def test_systems_with_long_names_fit_and_are_told_apart(tmp_path: Path) -> None:
    names = {"brisk": "azure/brisk-model-of-may-1", "careless": "azure/careless-of-may-2", "steady": "azure/steady-3"}
    titles = [column.title for column in table_of(renamed(tmp_path, names)).columns]
    assert titles == ["Measure", "brisk…ay-1", "carel…ay-2", "steady-3", "Transcripts"]
    scripts = {"brisk": "script:brisk", "careless": "script:careless", "steady": "script:steady"}
    titles = [column.title for column in table_of(renamed(tmp_path / "scripts", scripts)).columns]
    assert titles == ["Measure", "brisk", "careless", "steady", "Transcripts"]
    alike = {"brisk": "model-10000000-of-may", "careless": "model-20000000-of-may", "steady": "model-30000000-of-may"}
    table = table_of(renamed(tmp_path / "alike", alike))
    assert [column.title for column in table.columns] == ["Measure", "Mean", "Middle half", "Transcripts"]
    assert any("3 systems are taken together; to compare them: bedside compare" in note for note in table.notes)


def test_labels_have_no_mean(tmp_path: Path) -> None:
    run = bedside.score(EXAMPLE, out=tmp_path / "run", metrics="question").run
    assert first_measures(open_ratings_view(run)) is None


@pytest.mark.parametrize("metrics", [(), ("--metrics", "behaviour")])
def test_the_command_fits_a_screen(call: Call, metrics: tuple[str, ...]) -> None:
    out, _ = works(call, "score", EXAMPLE, "--out", "run", *metrics)
    lines = [line.rstrip() for line in out.splitlines()]
    at = lines.index("Means over transcripts")
    assert len(lines) <= 24
    assert max(map(len, lines[at:])) <= 80
    assert lines[-1].startswith("Next: ")


def test_a_run_of_which_no_mean_can_be_taken_is_scored_all_the_same(call: Call, tmp_path: Path) -> None:
    talks = [json.loads(line) for line in EXAMPLE.read_text("utf-8").splitlines()]
    for number, talk in enumerate(talks):
        talk["factors"]["synthetic"] = number % 2 == 0
    file = tmp_path / "talks.jsonl"
    file.write_text("".join(f"{json.dumps(talk)}\n" for talk in talks), "utf-8")
    out, _ = works(call, "score", file, "--out", "run", "--metrics", "structure")
    assert "No means are shown: " in out
    assert out.splitlines()[-1].startswith("Next: ")


def test_the_main_measures_of_the_suite_come_first(tmp_path: Path) -> None:
    run = bedside.score(EXAMPLE, out=tmp_path / "run", suite="calm-it").run
    view = open_ratings_view(run)
    of_people = (pl.col("metric") == "questions_per_turn") & pl.col("rater").str.starts_with("human:")
    rated = view.ratings.filter(of_people)
    names = ("empathy", "question_quality", "goal_alignment")
    judged = [rated.with_columns(rater=pl.lit("judge:toy"), metric=pl.lit(name)) for name in names]
    table = first_measures(replace(view, ratings=pl.concat([view.ratings, *judged])))
    assert table is not None
    metrics = list(dict.fromkeys(record["metric"] for record in table.records))
    assert metrics[:3] == ["goal_alignment", "empathy", "question_quality"]
