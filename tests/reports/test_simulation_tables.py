"""The simulation card: its tables by hand, in the report and the methods; hidden states; a judge asked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.simulated_talks import simulated_spreads, with_complete_cases
from bedside.core.errors import RunError
from bedside.metrics.protocols.medconceal.labels import FEATURES
from bedside.ratings.run import Run
from bedside.reports.build import build_tables, write_report
from bedside.reports.methods import methods
from bedside.reports.table import Table
from bedside.reports.tables.simulation_repeats import spread_table
from tests.analysis.simulated_run import MANIFEST, SYSTEMS, simulated_run
from tests.conftest import Call
from tests.judges.llm.server import Action, JudgeServer, fitting
from tests.reports.builders import cells_of, scored


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return simulated_run(tmp_path_factory.mktemp("simulated"))


@pytest.fixture(scope="module")
def view(run: Run) -> RatingsView:
    return open_ratings_view(run)


def table(view: RatingsView, name: str) -> Table:
    (built,) = build_tables(view, [name])
    return built


def test_the_card_says_what_was_simulated_by_whom_and_what_is_bedsides_own(view: RatingsView) -> None:
    card = table(view, "simulation_card")
    lines = {label: value for label, value in cells_of(card) if not label.startswith("Clinician")}
    assert lines["Conversations"] == (
        "24 planned, 21 with a transcript, 13 of them completed as the protocol means; 3 failed, 0 not finished"
    )
    own = ("Protocol", "Personas", "Patient", "Patient, sampling", "Parameter 1", "Option strict")
    assert [lines[name] for name in own] == [
        "note2chat, version 1", "2: open, terse", "lab/patient", "temperature 0.7",
        "The patient says three sentences at most.", "True",
    ]  # fmt: skip
    tested = [value for label, value in cells_of(card) if label == "Clinician under test"]
    assert tested == ["lab/doctor", "rules-toy (toy)"]
    assert any("not to be compared with published ones" in note for note in card.notes)
    assert any(note.startswith("Toys are rules or scripts") for note in card.notes)


def test_loss_stands_by_system_and_persona_with_reasons_and_a_warning(view: RatingsView) -> None:
    shown = table(view, "simulation_loss")
    lost = "patient: wrong language 2; evaluator: reply can't be read 1"
    assert cells_of(shown) == [
        ["lab/doctor", "open", "6", "6", "4", "0", "–"], ["lab/doctor", "terse", "6", "3", "1", "3", lost],
        ["rules-toy (toy)", "open", "6", "6", "4", "0", "–"], ["rules-toy (toy)", "terse", "6", "6", "4", "0", "–"],
    ]  # fmt: skip
    systems, personas = [note for note in shown.notes if note.startswith("Warning")]
    assert "between systems: lab/doctor 3 of 12, rules-toy 0 of 12" in systems
    assert "between personas: open 0 of 12, terse 3 of 12" in personas


def test_flags_are_shares_of_conversations_with_counts(view: RatingsView) -> None:
    shown = table(view, "simulation_flags")
    assert cells_of(shown) == [["patient: fallback", "0% (0)", "33% (8)"]]
    assert shown.records[1]["flagged"] == 4
    assert shown.records[1]["per_100_messages"] == pytest.approx(100 * 8 / 24)


def test_the_spread_of_repeats_and_what_a_difference_needs(view: RatingsView) -> None:
    metric = next(name for name in view.metrics() if name.startswith("words") and name.endswith("patient"))
    shown = spread_table(*simulated_spreads(view, [metric]))
    toy, pair = cells_of(shown)[1:]
    assert toy[:2] == ["rules-toy", "3"]
    assert (float(toy[3]), float(toy[4])) == pytest.approx((9.97, 1.41), abs=0.05)
    assert toy[5] == "2%"
    assert pair[0] == "lab/doctor − rules-toy"
    record: Mapping[str, Any] = shown.records[-1]
    assert (record["a"], record["b"], record["cases"]) == (*SYSTEMS, 3)
    assert "Miller 2024" in shown.notes[1]


@pytest.mark.slow
def test_the_report_has_the_card_and_the_methods_say_which_part_was_simulated(
    run: Run, view: RatingsView, tmp_path: Path, undrawn: None
) -> None:
    tables, _ = write_report(run, out=tmp_path, formats=["md", "html"])
    names = [each.name for each in tables]
    assert {"simulation_card", "simulation_loss", "simulation_flags"} <= set(names)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Simulation card" in page
    paragraph = methods(run, view)[1]
    assert paragraph in unescape(page)
    assert paragraph == (
        "21 transcripts are simulated by the protocol note2chat, version 1 (bedside 0.1.0, seed 3). The patient was "
        "played by lab/patient, labels and decisions during the conversations were lab/judge's, and the clinicians "
        "under test are lab/doctor and rules-toy (toy). A toy is rules or a script in place of a model: nothing about "
        "a model follows from it. Of note2chat, 1 parameter is bedside's own (simulation card), so that figures are "
        "not to be compared with published ones. Of 24 conversations planned, 3 have no transcript (patient: wrong "
        "language 2; evaluator: reply can't be read 1)."
    )


@pytest.mark.slow
def test_numbers_say_below_them_what_was_lost(view: RatingsView) -> None:
    lost = "are missing here (lab/doctor 3 of 12; rules-toy 0 of 12)"
    for name in ("results", "comparison", "simulation_repeats"):
        assert sum(lost in note for note in table(view, name).notes) == 1, name
    assert not any("Averaged over" in note for note in table(view, "simulation_loss").notes)
    notes = table(with_complete_cases(view), "results").notes
    assert not any(note.startswith("Simulated conversations") for note in notes)
    assert any(note.startswith("Only cases that are complete") for note in notes)


def test_what_was_not_begun_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"planned": 30, "finished": 21, "failed": 3, "unfinished": 6}
    monkeypatch.setitem(MANIFEST, "conversations", counts)
    run = simulated_run(tmp_path)
    view = open_ratings_view(run)
    more = "6 more conversations were planned"
    assert any(note.startswith(more) for note in table(view, "simulation_loss").notes)
    assert "30 planned, 21 with a transcript" in str(table(view, "simulation_card"))
    assert "Of 30 conversations planned, 9 have no transcript" in methods(run, view)[1]
    part = view.where({"persona": ["open"]})
    assert not any("more conversations" in note for note in table(part, "simulation_loss").notes)


def test_a_run_of_other_transcripts_has_no_card(tmp_path: Path) -> None:
    run = scored(tmp_path, metrics=["structure"])
    view = open_ratings_view(run)
    assert not [each.name for each in build_tables(view) if each.name.startswith("simulation")]
    assert not any("simulated" in paragraph for paragraph in methods(run, view))


@pytest.mark.slow
def test_a_report_can_be_of_complete_cases_only(call: Call, run: Run, tmp_path: Path, undrawn: None) -> None:
    report = bedside.report(run, tmp_path / "python", complete_cases=True)
    loss = report.tables["simulation_loss"]
    assert [record["planned"] for record in loss.records] == [6, 2, 6, 2]
    code, _, err = call("report", run.path, "--complete-cases", "--out", tmp_path / "typed", "--format", "md")
    assert (code, err) == (0, "")
    typed, python = (tmp_path / way / "simulation_loss.md" for way in ("typed", "python"))
    assert typed.read_text("utf-8") == python.read_text("utf-8")
    code, out, _ = call("report", run.path, "--complete-cases", "--methods")
    assert "4 of 6 combinations of case, persona, setting and length" in " ".join(out.split())


@pytest.mark.server
def test_a_judge_asked_again_stands_beside_the_simulations_evaluator(tmp_path: Path) -> None:
    made = bedside.simulate(
        None, "medconceal", tmp_path / "talks", clinician=["script:good", "script:brisk"], sample=2, repeats=2
    )
    assert made.folder == tmp_path / "talks"
    with JudgeServer(lambda request, number: Action(text=fitting(request))) as server:
        run = bedside.judge(
            made.folder, [server.judge], out=tmp_path / "run", rubrics=["turn_evaluator"], suite="medconceal"
        ).run
    view = open_ratings_view(run)
    shown = table(view, "simulation_evaluator")
    assert [record["statistic"] for record in shown.records] == ["ICC(2,1)"] * (len(FEATURES) + 1) + ["kappa"]
    intents = cells_of(shown)[-1]
    assert [intents[place] for place in (0, 3, 5, -1)] == ["Intent", "–", "–", "kappa"]
    turns = sum(len(list(talk.of("clinician"))) for talk in made.transcripts())
    assert {record["turns"] for record in shown.records} == {turns}
    assert {record["cases"] for record in shown.records} == {2}
    # The rules say the same whenever they are asked: repeats differ in nothing.
    spread = table(view, "simulation_repeats").records
    ours = [record for record in spread if record.get("system") and record["raters"].startswith("algorithm")]
    assert all(record["variance_between_repeats"] == pytest.approx(0) for record in ours)
    assert any("script:brisk" in note for note in table(view, "simulation_card").notes if note.startswith("Toys"))
    loss = table(view, "simulation_loss")
    assert [record["planned"] for record in loss.records] == [4, 4]


def test_explaining_a_number_shows_the_hidden_states_of_its_conversations(call: Call, tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    cell = "words.patient/lab/doctor"
    explanation = bedside.explain(run, cell, table="results")
    states = explanation.tables["states"]
    assert len(states.records) == 9
    assert {record["id"].split("/")[2] for record in states.records} == {"doctor"}
    assert states.rows[0].cells[2].text == "finding of asthma"
    code, out, err = call("explain", run.path, "--cell", cell, "--all")
    assert (code, err) == (0, "What the numbers are: --notes.\n")
    assert "hidden states behind it" in out
    code, out, _ = call("explain", run.path, "--cell", cell, "--json")
    assert sum('"purpose"' in line for line in json.dumps(json.loads(out), indent=0).splitlines()) == 9


def test_a_simulation_that_was_moved_is_told(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    (tmp_path / "talks").rename(tmp_path / "elsewhere")
    states = bedside.explain(run, "words.patient/rules-toy").tables["states"]
    assert states.notes == (f"They stood in {tmp_path / 'talks' / 'states.jsonl'}, which isn't there any more.",)


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    (tmp_path / "talks" / "states.jsonl").write_text('{"turn": 1}\n', "utf-8")
    with pytest.raises(RunError, match=r"states\.jsonl:1: the hidden states of the simulation can't be read"):
        bedside.explain(run, "words.patient/rules-toy")


def test_other_transcripts_have_none(tmp_path: Path) -> None:
    run = scored(tmp_path, metrics=["structure"])
    explanation = bedside.explain(run, "turns")
    assert "states" not in explanation.tables.names
