"""Fifteen trivial clinicians, the same in every protocol, and the floor that the best of them makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import BedsideError, RunError
from bedside.reports.build import build_tables
from bedside.reports.table import Table
from bedside.simulation.actors.trivial import TRIVIAL, trivial_clinicians, trivial_reply
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.calls import Call, Line
from bedside.simulation.simulators.contract import SIMULATORS
from tests.judges.llm.server import JudgeServer

HEARD = (Line("patient", "Hello."), Line("clinician", "Hello."), Line("patient", "My chest hurts."))


def said(name: str, call: Call, language: str = "en", seed: int = 0) -> str:
    return trivial_reply(trivial_clinicians()[name], call, language, seed).text


def asked(ordinal: int = 1, **more: Any) -> Call:
    return Call("clinician", "message", ordinal, history=HEARD, **more)


def test_there_are_fifteen_with_lines_in_the_languages_of_all_protocols() -> None:
    languages = {language for simulator in SIMULATORS.all().values() for language in simulator.languages}
    assert len(trivial_clinicians()) == 15
    assert all(languages <= set(own.lines) for own in trivial_clinicians().values())


def test_lines_come_in_turn_and_from_the_first_again() -> None:
    lines = trivial_clinicians()["empathy"].lines["en"]
    assert [said("empathy", asked(number)) for number in range(1, 8)] == [*lines, *lines[:2]]


def test_what_the_patient_said_last_is_said_back() -> None:
    assert said("echo", asked()) == "My chest hurts."
    assert said("echo", Call("clinician", "message", 1)) == "…"


def test_a_drawn_line_hangs_on_the_seed_alone() -> None:
    lines = trivial_clinicians()["random"].lines["en"]
    drawn = {said("random", asked(), seed=seed) for seed in range(200)}
    assert drawn == set(lines)
    assert said("random", asked(1), seed=7) == said("random", asked(5), seed=7)


def test_a_language_without_lines_has_english_ones() -> None:
    assert said("empty", asked(), "zh") == "嗯。"
    assert said("empty", asked(), "fr") == said("empty", asked(), "en")


@pytest.mark.parametrize("name", trivial_clinicians())
def test_an_object_fits_its_schema(name: str) -> None:
    text = {"type": "string"}
    schemas: list[dict[str, Any]] = [
        {"decision": {"enum": ["STOP", "CONTINUE"]}},
        {"reasoning": text, "confidence": {"type": "integer", "minimum": 1}, "decision": {"enum": ["move", "stay"]}},
        {"candidates": {"type": "array", "minItems": 3, "maxItems": 3, "items": text}},
        {"message": text, "end": {"type": "boolean"}},
        {"message": text, "diagnoses": {"type": ["array", "null"], "items": text}},
        {"score": {"type": "number", "minimum": 2, "maximum": 5}},
    ]
    for parts in schemas:
        schema = {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
        jsonschema.validate(json.loads(said(name, asked(schema=schema, kind="data"))), schema)


def test_forms_hold_what_each_is_about() -> None:
    decision = {"type": "object", "properties": {"decision": {"enum": ["STOP", "CONTINUE"]}}}
    assert json.loads(said("stop", asked(schema=decision))) == {"decision": "STOP"}
    assert json.loads(said("repeat", asked(schema=decision))) == {"decision": "CONTINUE"}
    findings = {"type": "object", "properties": {"findings": {"type": "array"}}}
    assert len(json.loads(said("categories", asked(schema=findings)))["findings"]) == 4
    assert json.loads(said("repeat", asked(schema=findings))) == {"findings": []}


def test_one_name_is_all_of_them_and_each_can_be_named() -> None:
    plan = SimulationRequest("medconceal", (TRIVIAL, "trivial:echo", "best-trivial:echo")).plan()
    names = [name.identity for name in plan.clinicians]
    assert names == [*(f"trivial:{name}" for name in trivial_clinicians()), "best-trivial:echo"]
    assert all(name.toy for name in plan.clinicians)
    with pytest.raises(BedsideError, match="did you mean echo"):
        SimulationRequest("medconceal", "trivial:ecko").plan()


@pytest.mark.slow
def test_in_every_protocol_none_of_them_is_lost(tmp_path: Path) -> None:
    """Each has a form that can be read, or a failure of its own; nothing is put down to the patient."""
    for protocol, simulator in SIMULATORS.all().items():
        lengths = (10,) if simulator.lengths else ()
        talks = bedside.simulate(None, protocol, tmp_path / protocol, clinician=TRIVIAL, sample=1, lengths=lengths)
        counts = talks.summary.counts
        assert counts.finished == counts.planned > 0
        for talk in talks.transcripts():
            assert not any("can't be read" in flag for flag in talk.reference["simulation"].get("flags", {}))


@pytest.mark.slow
def test_a_benchmark_has_the_best_of_them_beside_its_own(tmp_path: Path, undrawn: None) -> None:
    def benchmark(**more: Any) -> Any:
        clinicians = ["script:good", "script:brisk"]
        return bedside.benchmark("note2chat", tmp_path, clinician=clinicians, sample=2, floor=True, **more)

    done = benchmark()
    ratings = pl.read_parquet(tmp_path / "floor/run/ratings.parquet").filter(pl.col("metric") == "facts_told")
    means = dict(ratings.group_by("system").agg(pl.col("value").mean()).iter_rows())
    assert len(means) == 15
    best = "best-trivial:" + max(means, key=lambda name: means[name]).removeprefix("trivial:")
    told = {record["system"]: record["mean"] for record in done.leaderboard.records}
    assert set(told) == {"script:good", "script:brisk", best}
    assert told[best] == pytest.approx(max(means.values()))
    # Once found, it stays, and nobody of them is asked again.
    assert benchmark().asked == 0
    added = bedside.extend_benchmark(tmp_path, clinician="rules")
    assert {record["system"] for record in added.leaderboard.records} == {*told, "rules-toy"}


def test_without_a_value_there_is_no_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bedside.reports.tables.leaderboard.best_system", lambda view: None)
    with pytest.raises(RunError) as refused:
        bedside.benchmark("note2chat", tmp_path, clinician="script:brisk", sample=1, floor=True)
    assert refused.value.where == str(tmp_path / "floor")


@pytest.mark.slow
@pytest.mark.server
def test_prices_of_the_systems_are_none_of_theirs(tmp_path: Path) -> None:
    with JudgeServer() as server:
        done = bedside.benchmark(
            "note2chat", tmp_path, clinician=server.judge, sample=1, floor=True, max_calls=0,
            prices={server.judge: (1.0, 2.0)},
        )  # fmt: skip
    assert (done.complete, done.report) == (False, None)
    assert (tmp_path / "floor/run/ratings.parquet").is_file()


def test_a_dry_run_counts_them(tmp_path: Path) -> None:
    preview = bedside.preview_benchmark("note2chat", clinician="script:brisk", sample=1, floor=True)
    assert preview.results.simulation.conversations == 1 + 15 + 1


# -- the leaderboard ------------------------------------------------------------------------------------

FACTS = ("It began on Monday.", "Cold air makes it worse.", "Uncle Fred smoked.", "Pills upset the stomach.")


def board(folder: Path, told: dict[str, int]) -> Table:
    """The leaderboard of systems that are told so many of the four facts, in each of eight cases."""
    talks = [
        {
            "id": f"{system}/{case}", "system": system, "case_id": f"c{case}", "factors": {"synthetic": True},
            "reference": {"patient_facts": list(FACTS), "simulation": {"protocol": "note2chat"}},
            "turns": [
                {"role": "patient", "text": "Hello."},
                {"role": "clinician", "text": "Go on."},
                {"role": "patient", "text": " ".join(("Well,", *FACTS[:number]))},
            ],
        }
        for system, number in told.items()
        for case in range(8)
    ]  # fmt: skip
    (folder / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks), "utf-8")
    suite = {
        "name": "mine", "title": "Mine", "description": "Mine.", "source": "nobody",
        "metrics": ["simulated_outcomes"], "main": ["facts_told"],
        "tables": [{"id": "told", "kind": "results", "metrics": ["facts_told"]}],
    }  # fmt: skip
    (folder / "mine.yaml").write_text(json.dumps(suite), "utf-8")
    run = bedside.score(folder / "talks.jsonl", folder / "run", suite=str(folder / "mine.yaml")).run
    (table,) = build_tables(open_ratings_view(run), ["leaderboard"])
    return table


def test_who_is_not_shown_to_beat_the_floor_is_said(tmp_path: Path) -> None:
    table = board(tmp_path, {"lab/a": 4, "lab/b": 1, "best-trivial:echo": 1})
    assert {record["system"]: record["mean"] for record in table.records} == {
        "lab/a": 1.0, "lab/b": 0.25, "best-trivial:echo": 0.25,
    }  # fmt: skip
    assert "best of 15 trivial: echo" in [row.cells[1].text for row in table.rows]
    (note,) = [note for note in table.notes if "not shown to beat" in note]
    assert "lab/b" in note
    assert "lab/a" not in note
    assert note == table.notes[0]


def test_whoever_beats_the_floor_is_said_to(tmp_path: Path) -> None:
    table = board(tmp_path, {"lab/a": 4, "lab/b": 3, "best-trivial:echo": 1})
    assert table.notes[0].startswith("Every system is shown to beat")


def test_without_a_floor_nothing_is_said_of_it(tmp_path: Path) -> None:
    table = board(tmp_path, {"lab/a": 4, "trivial:echo": 1})
    assert not any("trivial:" in note and "beat" in note for note in table.notes)
    assert "trivial:echo" in table.rows[1].cells[1].text
