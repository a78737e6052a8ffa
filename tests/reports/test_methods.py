"""The methods paragraph tells of what has values, of each import once, of causes, tests, versions and rubrics."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.annotation.annotation_plan import plan_hash
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.judges.rubrics.rubric import as_data, read
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.ratings.values import cause, causes, failures
from bedside.reports.build import write_report
from bedside.reports.contents import make_tables
from bedside.reports.methods import methods
from bedside.reports.report_settings import ReportSettings
from bedside.reports.results_notes import statistic_text
from bedside.reports.tables.rubrics import rated_rubrics
from bedside.scoring.run_transcripts import library_versions
from bedside.stats.result import Result
from bedside.transcripts.reading import read_transcripts
from tests.annotation.study import EMPATHY, GOAL, new_study, rating_plan
from tests.conftest import Call, conversation
from tests.judges.rubrics.test_rubrics import PACING
from tests.reports.builders import (
    TALKS,
    Rating,
    cells_by_title,
    file_of,
    full_table,
    made_run,
    people_rated,
    rating,
    scored,
    table_of,
    view_of,
)

CHOICES = {"empathy": ("4",), "goal_alignment": ("2",)}


def told(run: Run) -> str:
    return "\n".join(methods(run, open_ratings_view(run.path)))


def rated(folder: Path, run: Run, name: str, level: int, raters: tuple[str, ...] = ("anna",)) -> None:
    """Import a file in which each of the raters gives each transcript this level of empathy."""
    rows = ["item,rater,metric,value"]
    rows += [f"{talk.id},{rater},empathy,{level}" for talk in read_transcripts([TALKS]) for rater in raters]
    file = folder / name
    file.write_text("\n".join(rows) + "\n", "utf-8")
    people_rated(run, file)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return scored(tmp_path, metrics=["words", "consistency"])


def test_what_has_no_value_is_not_said_to_be_computed(run: Run) -> None:
    words = told(run)
    assert "computed Words (algorithm:structure@1): " in words
    assert "none missing" in words
    assert "consistency" not in words.casefold()


@pytest.mark.slow
def test_what_nobody_named_a_model_for_is_no_failure(run: Run, undrawn: None) -> None:
    view = open_ratings_view(run.path)
    table = full_table("missing", view)
    assert table.rows == ()
    (note,) = table.notes
    assert note.startswith("Not computed, and not counted as missing")
    assert "consistency.model" in note
    assert "Self-consistency, clinician" in note
    assert failures(table.records) == 0
    _, files = write_report(run, formats=["html"])
    assert re.search(r"\. 0 of [\d,]+ ratings could not be made\.", files[0].read_text("utf-8"))


def test_a_scoring_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    made = made_run(tmp_path, "mdd5k", cases=2)
    again = {**made.manifest["scorings"][0], "metrics": ["words"]}
    made.manifest["scorings"].append(again)
    words = told(made)
    assert words.count("Words (") + words.count("Words,") == 1
    assert words.count(" computed ") == 2


def test_each_import_is_told_once_and_a_replaced_one_not_at_all(tmp_path: Path, run: Run) -> None:
    rated(tmp_path, run, "first.csv", 2)
    assert "12 ratings were imported from first.csv" in told(run)
    rated(tmp_path, run, "first.csv", 3)
    assert told(run).count("imported from first.csv") == 1
    rated(tmp_path, run, "second.csv", 4, ("anna", "ben"))
    words = told(run)
    assert "first.csv" not in words
    assert "24 ratings were imported from second.csv (scales: empathy 1–5)." in words
    rated(tmp_path, run, "third.csv", 5, ("ben",))
    words = told(run)
    assert "12 ratings were imported from second.csv (of 24, the others having been replaced later)" in words
    assert "12 ratings were imported from third.csv" in words


def test_answers_to_a_plan_are_told_and_the_report_is_whole(tmp_path: Path, call: Call) -> None:
    run = new_study(tmp_path)
    plan = rating_plan(run)
    answers = [
        RaterAnswer(item, rater, "submitted", CHOICES, id=f"{item}-{rater}")
        for item, raters in plan.raters_of.items()
        for rater in raters
    ]
    keep_answers(run, plan, answers)
    sentence = f"{2 * len(answers)} ratings were made of people's answers to plan {plan_hash(plan)} (scales:"
    assert sentence in told(Run(run.path))
    out = tmp_path / "report"
    assert call("report", run.path, "--table", "results", "--format", "html", "--out", out)[0] == 0
    assert "answers to plan" in (tmp_path / "report" / "report.html").read_text("utf-8")


def test_it_is_told_where_raters_were_shown_what_systems_were_told(tmp_path: Path) -> None:
    run = new_study(tmp_path)
    plan = rating_plan(run, rubrics=(replace(EMPATHY, shows=("system",)), GOAL))
    item, raters = next(iter(plan.raters_of.items()))
    keep_answers(run, plan, [RaterAnswer(item, raters[0], "submitted", CHOICES, id="a")])
    sentence = f"plan {plan_hash(plan)}, whose raters were shown the system messages (scales:"
    assert sentence in told(Run(run.path))
    assert Run(run.path).manifest["imports"][-1]["shows"] == ["system"]


def test_missing_values_are_counted_by_cause(tmp_path: Path) -> None:
    talks = [
        conversation(
            ("clinician", "one two three."), ("patient", " ".join(["word"] * n) + "."), id=f"t{n}", language="en"
        )
        for n in (3, 5, 19, 40)
    ]
    made = scored(tmp_path, file_of(tmp_path, *talks), ["flesch_reading_ease", "dale_chall", "words"])
    assert "missing (fewer than 20 words: 14 values)" in told(made)
    table = full_table("missing", open_ratings_view(made.path))
    assert table.notes == ("By cause: fewer than 20 words: 14 values.",)
    assert {row.cells[2].text for row in table.rows} == {"fewer than 20 words"}
    missing = made.ratings.filter(made.ratings["error"].is_not_null())
    assert sum(int(row.cells[3].text) for row in table.rows) == len(missing)


@pytest.mark.parametrize(
    ("error", "short"),
    [
        ("17 words, fewer than 20", "fewer than 20 words"),
        ("1 word, fewer than 20", "fewer than 20 words"),
        ("3 to 1,200 words, fewer than 2,000", "fewer than 2,000 words"),
        ("no patient turn", "no patient turn"),
        ("the patient answers two clinician turns with an article, fewer than three",) * 2,
    ],
)
def test_a_cause_is_the_reason_without_what_varies(error: str, short: str) -> None:
    assert cause(error) == short


def test_causes_are_summed_over_metrics_and_raters() -> None:
    rows = [
        {"metric": metric, "rater": rater, "error": error, "n": 2}
        for metric in ("a", "b") for rater in ("x", "y") for error in ("3 words, fewer than 20", "no reply")
    ]  # fmt: skip
    rows.append({"metric": "c", "rater": "x", "error": "17 words, fewer than 20", "n": 1})
    assert causes(rows) == [("fewer than 20 words", 9), ("no reply", 8)]


def test_one_of_each_is_told_in_the_singular(tmp_path: Path) -> None:
    talk = conversation(("clinician", "Well?"), id="alone")
    made = scored(tmp_path, file_of(tmp_path, talk), ["words"])
    assert told(made).startswith("1 transcript with 1 turn was read from 1 file (format: jsonl).")


@pytest.mark.slow
def test_tests_of_a_suite_are_told_with_n_family_correction_and_versions(tmp_path: Path) -> None:
    made = made_run(tmp_path, "calm-it", cases=3)
    view = open_ratings_view(made.path)
    tables = make_tables(view)
    words = "\n".join(methods(made, view, tables))
    pairwise = next(table for table in tables if {"a", "b", "p_corrected"} <= set(table.records[0]))
    for size in {record["family_size"] for record in pairwise.records if record["p"] is not None}:
        assert f"within the family “comparisons of two systems” of {size} tests" in words
    assert "Wilcoxon signed-rank" in words
    assert "are confounded" not in words
    assert "--where" not in words
    assert f"bedside {bedside.__version__} (" in words
    assert f"scipy {library_versions()['scipy']}" in words.splitlines()[-1]


@pytest.mark.slow
def test_tests_of_two_systems_are_told_and_recorded_and_the_source_is_not(tmp_path: Path) -> None:
    made = made_run(tmp_path, "multisense", cases=4)
    view = open_ratings_view(made.path)
    tables = make_tables(view, settings=ReportSettings(as_published=True, published_numbers=True))
    words = "\n".join(methods(made, view, tables))
    assert "Test: Mann–Whitney U" in words
    assert "Test: Student's t" in words
    assert "Laid out as" not in words
    assert "As printed in" not in words
    scores = next(table for table in tables if table.name == "judged-scores")
    tested = [record for record in scores.records if record.get("p") is not None]
    assert len(tested) == len(scores.rows), "one test a row, with the first system's number"
    for record in tested:
        assert record["against"] == view.order.ordered_systems(view.systems())[1]
        assert record["correction"] == "holm"


def test_the_ranks_of_a_test_are_printed_with_their_halves() -> None:
    halved = Result(name="x", method="Mann–Whitney U (of the first group), two-sided", statistic=751.5)
    assert statistic_text(halved) == "751.5"
    assert statistic_text(replace(halved, statistic=680.0)) == "680"


JUDGE = "judge:m"


def row(metric: str, rater: str) -> Rating:
    return rating("a", "s", "c", metric, 1.0, rater)


def view_by(*pairs: tuple[str, str]) -> RatingsView:
    return view_of([row(*pair) for pair in pairs])


def judged_run(folder: Path, versions: dict[str, str], own: dict[str, Any] | None = None) -> Run:
    """A run that a judge rated by these rubrics, asked in these wordings."""
    folder.mkdir(exist_ok=True)
    talk = conversation(("clinician", "Hello."), ("patient", "Hi."), id="a", system="s")
    run = scored(folder, file_of(folder, talk), ["turns"])
    judge = {
        "prompts": versions, "rubrics": [{"rubric": name, "calls": 1} for name in versions], "temperature": None,
        "passes": 1, "order": "transcript-first",
    }  # fmt: skip
    entry = {**run.manifest["scorings"][0], "metrics": [], "raters": [JUDGE], "judges": {JUDGE: judge}}
    manifest = {**run.manifest, "scorings": [*run.manifest["scorings"], entry], "rubrics": own or {}}
    run.add(frame_of([row(name, JUDGE) for name in versions]).lazy(), manifest)
    return Run(run.path)


def test_each_rubric_has_its_raters_and_every_deviation_stands_once() -> None:
    view = view_by(
        ("communication_doctor", JUDGE), ("communication_patient", "human:anna"),
        ("communication_patient", "human:ben"), ("turn_evaluator.partnership", JUDGE), ("empathy", JUDGE),
        ("words", "algorithm:structure@1"), ("own_rating", "human:anna"),
    )  # fmt: skip
    table = full_table("rubrics", view)
    assert cells_by_title(table) == {
        "Communication, doctor": ["–", "m", "1"], "Communication, patient": ["–", "people", "1"],
        "Empathy": ["–", "m", "0"], "Turn evaluator": ["–", "m", "2"],
    }  # fmt: skip
    notes = "\n".join(table.notes)
    (deviation,) = RUBRICS.load("communication_doctor").deviations
    assert f"Communication, doctor; Communication, patient: {deviation}" in table.notes
    for text in (deviation, *RUBRICS.load("turn_evaluator").deviations):
        assert notes.count(text) == 1
    assert [record["deviations"] for record in table.records][2] == []
    assert any(note.startswith("Where there is no version") for note in table.notes)
    assert table_of("rubrics", view_by(("words", "algorithm:structure@1"))) is None


@pytest.mark.slow
def test_a_report_shows_the_deviations_and_methods_count_them(tmp_path: Path, undrawn: None) -> None:
    partnership = RUBRICS.load("partnership")
    versions = {"partnership": partnership.version, "empathy": RUBRICS.load("empathy").version}
    run = judged_run(tmp_path, versions)
    view = open_ratings_view(run.path)
    (table,) = (table for table in make_tables(view) if table.name == "rubrics")
    assert [cell.text for cell in table.rows[1].cells] == ["Partnership", partnership.version, "m", "1"]
    assert not any(note.startswith("Where there is no version") for note in table.notes)
    write_report(run, out=tmp_path / "report")
    for name in ("report.html", "rubrics.md", "rubrics.tex"):
        assert "they are written for the construct" in (tmp_path / "report" / name).read_text("utf-8")
    told = "Deviations that rubrics declare from their sources, by number: Partnership 1; all others 0."
    assert told in methods(run, view)
    plain = judged_run(tmp_path / "plain", {"empathy": RUBRICS.load("empathy").version})
    assert "No rubric declares a deviation from its source." in methods(plain, open_ratings_view(plain.path))


def test_of_a_wording_that_has_changed_nothing_is_said_to_be_known(tmp_path: Path) -> None:
    run = judged_run(tmp_path, {"partnership": "0123456789ab"})
    view = open_ratings_view(run.path)
    table = full_table("rubrics", view)
    assert [cell.text for cell in table.rows[0].cells] == ["Partnership", "0123456789ab", "m", "not known"]
    assert not any("written for the construct" in note for note in table.notes)
    assert "Partnership was asked in another wording" in table.notes[-1]
    assert any("Not known of wordings that have changed since they were asked: Partnership." in text
               for text in methods(run, view))  # fmt: skip


def test_a_rubric_of_the_users_own_is_taken_as_the_run_keeps_it(tmp_path: Path) -> None:
    own = read({**PACING, "deviations": ["The source has five levels, and here there are three."]})
    run = judged_run(tmp_path, {"pacing": own.version}, {"pacing": as_data(own)})
    (rated,) = rated_rubrics(open_ratings_view(run.path))
    assert rated.rubric == own
    assert not rated.reworded
    assert json.loads(json.dumps(as_data(own)))["deviations"] == list(own.deviations)


def test_audits_by_a_rubric_are_ratings_by_it() -> None:
    audited = [row(f"safety.{audit}", "human:anna") for audit in ("audited", "agrees")]
    (rated,) = rated_rubrics(view_of(audited))
    assert (rated.rubric.name, rated.raters) == ("safety", ("people",))
