"""A report says of every rubric that was rated what it asks otherwise than its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.judges.rubrics.rubric import as_data, read
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.build import write_report
from bedside.reports.contents import make_tables
from bedside.reports.methods import methods
from bedside.reports.rated_rubrics import rated_rubrics
from bedside.reports.tables.rubrics import build
from tests.conftest import conversation
from tests.judges.rubrics.test_rubrics import PACING
from tests.reports.builders import Rating, cells_by_title, file_of, rating, scored, view_of

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
        "prompts": versions, "rubrics": [{"calls": 1} for _ in versions], "temperature": None, "passes": 1,
        "order": "transcript-first",
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
    table = build(view)
    assert table is not None
    assert cells_by_title(table) == {
        "Communication, doctor": ["–", "m", "1"],
        "Communication, patient": ["–", "people", "1"],
        "Empathy": ["–", "m", "0"],
        "Turn evaluator": ["–", "m", "2"],
    }
    notes = "\n".join(table.notes)
    (deviation,) = RUBRICS.load("communication_doctor").deviations
    assert f"Communication, doctor; Communication, patient: {deviation}" in table.notes
    for text in (deviation, *RUBRICS.load("turn_evaluator").deviations):
        assert notes.count(text) == 1
    assert [record["deviations"] for record in table.records][2] == []
    assert any(note.startswith("Where there is no version") for note in table.notes)
    assert build(view_by(("words", "algorithm:structure@1"))) is None


@pytest.mark.slow
def test_a_report_shows_the_deviations_and_methods_count_them(tmp_path: Path) -> None:
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
    table = build(view)
    assert table is not None
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
