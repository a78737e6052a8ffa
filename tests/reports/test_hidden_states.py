"""What stands behind a number of simulated conversations: the states that nobody saw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bedside
from bedside.core.errors import RunError
from tests.analysis.simulated_run import simulated_run
from tests.conftest import Call


def test_explaining_a_number_shows_the_hidden_states_of_its_conversations(call: Call, tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    cell = "words.patient/lab/doctor"
    explanation = bedside.explain(run, cell, table="results")
    states = explanation.tables["states"]
    assert len(states.records) == 9
    assert {record["id"].split("/")[2] for record in states.records} == {"doctor"}
    assert states.rows[0].cells[2].text == "finding of asthma"
    code, out, err = call("explain", run.path, "--cell", cell)
    assert (code, err) == (0, "")
    assert "hidden states behind it" in out
    code, out, _ = call("explain", run.path, "--cell", cell, "--json")
    assert sum('"purpose"' in line for line in json.dumps(json.loads(out), indent=0).splitlines()) == 9


def test_a_simulation_that_was_moved_is_told(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    (tmp_path / "talks").rename(tmp_path / "elsewhere")
    states = bedside.explain(run, "words.patient/rules-toy").tables["states"]
    assert states.notes == (
        f"They stood in {tmp_path / 'talks' / 'states.jsonl'}, which isn't there any more.",
    )


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    (tmp_path / "talks" / "states.jsonl").write_text('{"turn": 1}\n', "utf-8")
    with pytest.raises(RunError, match=r"states\.jsonl:1: the hidden states of the simulation can't be read"):
        bedside.explain(run, "words.patient/rules-toy")


def test_other_transcripts_have_none(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics=["structure"]).run
    explanation = bedside.explain(run, "turns")
    assert "states" not in explanation.tables.names
