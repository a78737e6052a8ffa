"""The folder of a simulation stands for its transcripts, wherever transcripts are read; a run keeps what it is of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bedside
from bedside.core.errors import InputError, RunError
from bedside.ratings.run import run_simulations, write_manifest
from tests.conftest import Call, works

TALK = {
    "id": "note2chat/A/gout/26/1",
    "system": "A",
    "case_id": "gout",
    "turns": [{"role": "clinician", "text": "How do you sleep?"}, {"role": "patient", "text": "I wake at three."}],
}
MANIFEST = {"protocol": "note2chat", "clinicians": ["A"], "patient": "rules", "conversations": {"planned": 2}}
FAILURE = {"id": "note2chat/B/gout/26/1", "system": "B", "state": "failed", "whose": "patient",
           "reason": "empty", "detail": "what the patient said"}  # fmt: skip


def simulation(folder: Path) -> Path:
    folder.mkdir(parents=True)
    lines = {"transcripts.jsonl": TALK, "failed.jsonl": FAILURE, "states.jsonl": {"id": "x", "turn": 0}}
    for name, line in lines.items():
        (folder / name).write_text(json.dumps(line) + "\n")
    (folder / "typed.jsonl").write_text("{}\n")
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    return folder


@pytest.mark.parametrize("files", [["log.sqlite"], ["log.sqlite", "transcripts.jsonl", "failed.jsonl"]])
def test_a_simulation_that_was_stopped_is_called_so(tmp_path: Path, files: list[str]) -> None:
    (tmp_path / "talks").mkdir()
    for name in files:
        (tmp_path / "talks" / name).write_bytes(b"")
    with pytest.raises(InputError) as caught:
        bedside.score(tmp_path / "talks", tmp_path / "run")
    assert caught.value.where == str(tmp_path / "talks")


def test_a_simulation_is_read_as_its_transcripts(tmp_path: Path) -> None:
    talks = simulation(tmp_path / "talks")
    assert [transcript.id for transcript in bedside.read_transcripts(talks)] == [TALK["id"]]


def test_folders_of_simulations_are_searched_through(tmp_path: Path) -> None:
    simulation(tmp_path / "all" / "one")
    (tmp_path / "all" / "others").mkdir()
    (tmp_path / "all" / "others" / "b.jsonl").write_text(json.dumps({**TALK, "id": "b"}) + "\n")
    assert [transcript.id for transcript in bedside.read_transcripts(tmp_path / "all")] == [TALK["id"], "b"]


def test_a_run_keeps_what_was_simulated_and_what_failed(tmp_path: Path) -> None:
    talks = simulation(tmp_path / "talks")
    for _ in range(2):  # into a new run, and again
        made = bedside.score(talks, tmp_path / "run", metrics=["structure"])
        (kept,) = run_simulations(made.run.path)
        assert (kept.path, kept.manifest) == (str(talks), MANIFEST)
        assert [failure["reason"] for failure in kept.failures] == ["empty"]
        assert "what the patient said" not in (made.run.path / "simulations.json").read_text()
    assert made.ignored == 0


def test_a_run_of_other_transcripts_keeps_no_simulation(tmp_path: Path) -> None:
    made = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics=["structure"])
    assert run_simulations(made.run.path) == ()


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics=["structure"]).run
    (run.path / "simulations.json").write_text("[{}]")
    with pytest.raises(RunError, match=r"simulations.json: the file isn't as bedside wrote it"):
        run_simulations(run.path)
    write_manifest(run.path, run.manifest)
    with pytest.raises(RunError, match="score again"):
        run_simulations(run.path)


def test_a_simulation_is_no_run(call: Call, tmp_path: Path) -> None:
    talks = simulation(tmp_path / "talks")
    code, _, err = call("report", talks)
    assert code == 2
    assert "is a simulation" in err
    assert "bedside score" in err


def test_the_suite_is_that_of_the_protocol(call: Call, tmp_path: Path) -> None:
    talks = simulation(tmp_path / "talks")
    for paths, suite in (([talks], "note2chat"), ([talks / "transcripts.jsonl"], "note2chat")):
        _, err = works(call, "score", *paths, "--out", f"run-{len(str(paths[0]))}")
        assert f"The suite is {suite}" in err
    _, _, err = call("score", talks, "--suite", "default", "--out", "named")
    assert "The suite is" not in err
    (manifest,) = [bedside.read_run("named").manifest]
    assert manifest["scorings"][0]["suite"] == "default"
