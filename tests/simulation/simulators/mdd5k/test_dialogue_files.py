"""Simulated interviews in the authors' form, read again by the reader of that form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import simulate
from bedside.core.errors import InputError
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.mdd5k import SIMULATOR
from bedside.simulation.simulators.mdd5k.dialogue_files import dialogue_files
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Role, Transcript, Turn
from tests.conftest import Call

CASES = [case for _, case in read_cases(SIMULATOR.cases)]


def talk(*roles: Role, **fields: Any) -> Transcript:
    turns = tuple(Turn(n, role, role, f"第{n}句") for n, role in enumerate(roles))
    return Transcript(**{"id": "t", "turns": turns, "system": "a", "case_id": "c", **fields})


@pytest.mark.slow
def test_the_readers_of_the_form_read_what_is_written(call: Call, tmp_path: Path) -> None:
    talks, out = tmp_path / "talks", tmp_path / "mdd5k"
    made = simulate(
        CASES[:2],
        protocol="mdd5k",
        out=talks,
        clinician="rules",
        repeats=2,
        settings=["direct"],
        options={"closing": "case"},
    )
    code, said, _ = call("simulate", "dialogues", talks, "--out", out)
    assert (code, said) == (0, f"Wrote 4 dialogues to {out}, 4 files.\n")
    own = {transcript.id: transcript for transcript in made.transcripts()}
    written = {transcript.id: transcript for transcript in read_transcripts([out / "conversations"])}
    assert len(own) == len(written) == 4
    texts = {tuple(turn.text for turn in transcript.turns) for transcript in own.values()}
    assert {tuple(turn.text for turn in transcript.turns) for transcript in written.values()} == texts
    for transcript in written.values():
        case = next(case for case in CASES if case.id == transcript.case_id)
        assert transcript.reference["diagnosis"] == case.hidden.diagnosis
        assert transcript.reference["icd_code"] == ",".join(case.extra["mdd5k"]["icd_codes"])
        assert transcript.turns[0].role == "clinician"
        assert transcript.turns[-1].role == "clinician", "the closing has no answer"
    code, _, noted = call("simulate", "dialogues", talks, "--out", out)
    assert code == 2
    assert "already there" in noted


def test_the_form_is_that_of_the_released_files(mdd5k: Path) -> None:
    """What is written of released dialogues is what was released."""
    (path, *_) = sorted((mdd5k / "conversations").glob("*.json"))
    transcripts = list(read_transcripts([path]))
    files = dialogue_files(transcripts)
    assert json.loads(files[f"conversations/{path.name}"]) == json.loads(path.read_text("utf-8"))
    label = next((mdd5k / "labels").glob(f"{path.stem}_label.json"))
    assert json.loads(files[f"labels/{label.name}"]) == json.loads(label.read_text("utf-8"))


def test_each_of_several_systems_has_a_folder() -> None:
    both = [talk("clinician", "patient"), talk("clinician", "patient", system="openai/gpt b")]
    assert sorted(dialogue_files(both)) == ["a/conversations/c.json", "openai-gpt-b/conversations/c.json"]
    places = dialogue_files([talk("clinician", system=system) for system in ("..", "nul", "a.")])
    assert sorted(places) == [f"{folder}/conversations/c.json" for folder in ("_nul", "a", "none")]
    with pytest.raises(InputError):
        dialogue_files([talk("clinician", system="x/y"), talk("clinician", system="x y")])


@pytest.mark.parametrize(
    "transcript",
    [
        talk("patient", "clinician"),
        talk("clinician", "clinician"),
        talk("clinician", case_id=None),
        talk("clinician", case_id="c.1"),
        talk("clinician", case_id="aux"),
        talk("clinician", case_id="C:\\c"),
    ],
)
def test_what_has_no_place_in_the_form_is_refused(transcript: Transcript) -> None:
    with pytest.raises(InputError):
        dialogue_files([transcript])
