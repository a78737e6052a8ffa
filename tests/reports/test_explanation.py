"""What stands behind a number: every record can be named, and the ratings shown are the ones it was made of."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

import bedside
from bedside.analysis.comparison import compare
from bedside.analysis.deviation import deviation
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.trend import trend
from bedside.cli import main
from bedside.core.errors import DataError
from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from bedside.reports.build import build_tables
from bedside.reports.explanation import explain
from bedside.reports.table import Table
from bedside.reports.tables.comparison import comparison_table
from bedside.reports.tables.deviation import deviation_table
from bedside.reports.tables.length import length_table
from bedside.scoring.score import score
from tests.reports.builders import made_run

EXAMPLES = Path(bedside.__file__).parent / "examples"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    made = score(
        [EXAMPLES / "transcripts.jsonl"],
        tmp_path_factory.mktemp("explained") / "run",
        metrics=["structure", "open_question_ratio", "percent_complex_reflections", "question"],
    ).run
    path = EXAMPLES / "ratings.csv"
    import_ratings(made, path, read_rating_file(path, RatingReading(scales=parse_scales(["1-5"]))))
    return open_ratings_view(made.path)


@pytest.fixture(scope="module")
def tables(view: RatingsView) -> dict[str, Table]:
    names = ["results", "comparison", "agreement"]
    return {table.name: table for table in build_tables(view, names)}


def test_every_mean_is_the_mean_of_the_ratings_shown(view: RatingsView, tables: dict[str, Table]) -> None:
    checked = 0
    for record in tables["results"].records:
        if record["value"] is None:
            continue
        cell = f"{record['metric']}/{record['raters']}/{record['system']}"
        found = explain(view, tables["results"], cell)
        ratings = next(table for table in found.tables if table.name == "ratings").records
        by_transcript: dict[str, list[float]] = {}
        for rating in ratings:
            if rating["value"] is not None:
                by_transcript.setdefault(rating["transcript_id"], []).append(rating["value"])
        means = [statistics.fmean(values) for values in by_transcript.values()]
        assert statistics.fmean(means) == pytest.approx(record["value"])
        assert len(means) == record["n"]
        checked += 1
    assert checked > 30


def test_the_definition_stands_with_it(view: RatingsView, tables: dict[str, Table]) -> None:
    (rubric,) = explain(view, tables["results"], "empathy/steady").definitions
    assert "deeply and accurately attuned" in rubric
    (metric,) = explain(view, tables["results"], "words.patient/steady").definitions
    assert "source:" in metric


def test_tests_are_those_of_the_metric_and_system(view: RatingsView, tables: dict[str, Table]) -> None:
    found = explain(view, tables["results"], "empathy/steady", tables["comparison"])
    tests = next(table for table in found.tables if table.name == "tests")
    expected = [
        record
        for record in tables["comparison"].records
        if record["metric"] == "empathy" and "steady" in (record["a"], record["b"])
    ]
    assert list(tests.records) == expected
    assert len(tests.rows) == 2


def test_a_pair_and_an_agreement(view: RatingsView, tables: dict[str, Table]) -> None:
    pair = explain(view, tables["comparison"], "empathy/brisk/steady")
    ratings = next(table for table in pair.tables if table.name == "ratings").records
    assert {rating["system"] for rating in ratings} == {"brisk", "steady"}
    agreement = explain(view, tables["agreement"], "empathy/people/kappa")
    assert agreement.tables[0].records[0]["statistic"] == "kappa"
    raters = {r["rater"] for t in agreement.tables if t.name == "ratings" for r in t.records}
    assert raters == {"human:anna", "human:ben"}


def test_a_cell_that_is_none_is_answered_with_the_nearest(
    view: RatingsView, tables: dict[str, Table]
) -> None:
    with pytest.raises(DataError, match="empathy/steady"):
        explain(view, tables["results"], "empaty/steady")


def test_on_the_command_line(view: RatingsView, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", view.name, "--cell", "empathy/steady", "--json"])
    assert ended.value.code == 0
    shown = json.loads(capsys.readouterr().out)
    assert [table["table"] for table in shown] == ["cell", "values", "ratings", "tests"]
    with pytest.raises(SystemExit) as ended:
        main(["explain", view.name, "--cell", "empathy/nobody"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_every_cell_has_a_name_of_its_own(tmp_path: Path) -> None:
    view = open_ratings_view(made_run(tmp_path, "calm-it", cases=3).path)
    trends, corpus = trend(view), deviation(view, view.systems()[0])
    tables = (
        *build_tables(view, ["drift", "agreement"]),
        comparison_table(compare(view).pairs),
        length_table(trends),
        deviation_table(corpus, "a corpus"),
    )
    assert {table.name for table in tables} == {
        "drift", "agreement", "comparison", "length", "deviation"
    }  # fmt: skip
    for table in tables:
        cells = [record["cell"] for record in table.records]
        assert len(set(cells)) == len(cells)
        record = table.records[-1]
        assert explain(view, table, record["cell"]).tables[0].records == (record,)


def test_a_run_of_one_system(tmp_path: Path) -> None:
    lines = (EXAMPLES / "transcripts.jsonl").read_text("utf-8").splitlines()[:1]
    file = tmp_path / "one.jsonl"
    file.write_text(lines[0] + "\n", "utf-8")
    run: Run = score([file], tmp_path / "run", metrics=["structure"]).run
    view = open_ratings_view(run.path)
    (table,) = build_tables(view, ["results"])
    found = explain(view, table, "turns.clinician")
    assert next(t for t in found.tables if t.name == "values").records[0]["value"] > 0


def test_what_systems_and_tools_said_stands_beside_a_number(tmp_path: Path) -> None:
    prompt = "You are warm.\nAsk one question at a time. " + "Never diagnose. " * 10
    talks = [
        {
            "id": name,
            "messages": [
                {"role": "system", "content": prompt},
                {"role": "user", "content": "I can't sleep."},
                {"role": "assistant", "content": "Since when?"},
                {"role": "tool", "content": f"notes of {name}"},
                {"role": "user", "content": "For weeks."},
                {"role": "assistant", "content": "What keeps you awake?"},
            ],
        }
        for name in ("a", "b")
    ]
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(talks), encoding="utf-8")
    run = score([file], tmp_path / "run", metrics=["structure"]).run
    view = open_ratings_view(run.path)
    (results,) = build_tables(view, ["results"])
    explanation = explain(view, results, "words_per_turn.clinician")
    beside = next(table for table in explanation.tables if table.name == "provenance")
    assert [(record["transcript_id"], record["before"], record["text"]) for record in beside.records] == [
        ("a", 0, prompt), ("a", 2, "notes of a"), ("b", 0, prompt), ("b", 2, "notes of b"),
    ]  # fmt: skip
    texts = [tuple(cell.text for cell in row.cells) for row in beside.rows]
    assert texts[0] == ("system", f"{' '.join(prompt.split())[:79]}…", "2")
    assert [text[1:] for text in texts[1:]] == [("notes of a", "1"), ("notes of b", "1")]
