"""What stands behind a number: every record can be named, and the ratings shown are the ones it was made of."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from bedside.analysis.comparison import compare
from bedside.analysis.deviation import deviation
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.trend import trend
from bedside.reports.build import build_tables
from bedside.reports.explanation import explain
from bedside.reports.table import Table
from bedside.reports.tables.comparison import comparison_table
from bedside.reports.tables.deviation import deviation_table
from bedside.reports.tables.length import length_table
from bedside.transcripts.reading import read_transcripts
from tests.conftest import Call, works
from tests.reports.builders import TALKS, cells_of, file_of, made_run, people_rated, scored


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    metrics = ["structure", "open_question_ratio", "percent_complex_reflections", "question"]
    run = people_rated(scored(tmp_path_factory.mktemp("explained"), metrics=metrics))
    return open_ratings_view(run.path)


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
        ratings = explain(view, tables["results"], cell).tables
        by_transcript: dict[str, list[float]] = {}
        for rating in next(table for table in ratings if table.name == "ratings").records:
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


def test_on_the_command_line(view: RatingsView, call: Call) -> None:
    out, _ = works(call, "explain", view.name, "--cell", "empathy/steady", "--json")
    assert [table["table"] for table in json.loads(out)] == ["cell", "values", "ratings", "tests", "findings"]
    code, _, err = call("explain", view.name, "--cell", "empathy/nobody")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.slow
def test_every_cell_has_a_name_of_its_own(tmp_path: Path) -> None:
    view = open_ratings_view(made_run(tmp_path, "calm-it", cases=3).path)
    trends, corpus = trend(view), deviation(view, view.systems()[0])
    tables = (
        *build_tables(view, ["drift", "agreement"]), comparison_table(compare(view).pairs), length_table(trends),
        deviation_table(corpus, "a corpus"),
    )  # fmt: skip
    assert {table.name for table in tables} == {
        "drift", "agreement", "comparison", "length", "deviation"
    }  # fmt: skip
    for table in tables:
        cells = [record["cell"] for record in table.records]
        assert len(set(cells)) == len(cells)
        record = table.records[-1]
        assert explain(view, table, record["cell"]).tables[0].records == (record,)


def test_a_run_of_one_system(tmp_path: Path) -> None:
    talk = next(iter(read_transcripts([TALKS])))
    view = open_ratings_view(scored(tmp_path, file_of(tmp_path, talk), ["structure"]).path)
    (table,) = build_tables(view, ["results"])
    found = explain(view, table, "turns.clinician")
    assert next(t for t in found.tables if t.name == "values").records[0]["value"] > 0


def test_what_systems_and_tools_said_stands_beside_a_number(tmp_path: Path) -> None:
    prompt = "You are warm.\nAsk one question at a time. " + "Never diagnose. " * 10
    talks = [
        {"id": name, "messages": [
            {"role": "system", "content": prompt},
            {"role": "user", "content": "I can't sleep."},
            {"role": "assistant", "content": "Since when?"},
            {"role": "tool", "content": f"notes of {name}"},
            {"role": "user", "content": "For weeks."},
            {"role": "assistant", "content": "What keeps you awake?"},
        ]}
        for name in ("a", "b")
    ]  # fmt: skip
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(talks), encoding="utf-8")
    view = open_ratings_view(scored(tmp_path, file, ["structure"]).path)
    (results,) = build_tables(view, ["results"])
    explanation = explain(view, results, "words_per_turn.clinician")
    beside = next(table for table in explanation.tables if table.name == "provenance")
    assert [(record["transcript_id"], record["before"], record["text"]) for record in beside.records] == [
        ("a", 0, prompt), ("a", 2, "notes of a"), ("b", 0, prompt), ("b", 2, "notes of b"),
    ]  # fmt: skip
    first, *others = cells_of(beside)
    assert first == ["system", f"{' '.join(prompt.split())[:79]}…", "2"]
    assert [text[1:] for text in others] == [["notes of a", "1"], ["notes of b", "1"]]
