"""What a simulation hands over is scored as it is, and the scored trace is the simulated one in every digit."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

import bedside
from bedside.cli import main
from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal import labels as medconceal_labels, trace as medconceal_trace
from bedside.metrics.protocols.medconceal.policy import PARAMETERS
from bedside.metrics.protocols.medconceal.trace import LabelledCourse, read_turns
from bedside.simulation.simulate import SimulationSettings, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.medconceal import SIMULATOR
from bedside.simulation.simulators.scripts import Recording, read_script
from bedside.transcripts.transcript import Transcript
from tests.conftest import exit_code
from tests.simulation.simulators.medconceal.scenes import bundled, evaluation
from tests.simulation.simulators.playing import play

DEFAULT = PARAMETERS.load("default")


def evaluator(request: dict[str, Any]) -> str:
    """Features at random, by the call's text alone."""
    draw = random.Random(request["instruction"])
    names = (*medconceal_labels.FEATURES[1:5], *medconceal_labels.FEATURES[5:9])
    features: dict[str, Any] = {name: draw.choice([0.0, 0.5, 1.0, 1.0]) for name in names}
    features["intent"] = draw.choice([*medconceal_labels.INTENTS, "explain", "plan"])
    return evaluation(features)


def simulated(out: Path, *, cases: tuple[Case, ...], **more: Any) -> Path:
    request: dict[str, Any] = {
        "protocol": "medconceal",
        "clinicians": ["rules", "script:good", "script:checklist"],
        "patient": "rules",
        "evaluator": evaluator,
        "settings": ["confirmation-8", "intervention-20"],
        "cases": cases,
    }
    simulate_plan(SimulationRequest(**(request | more)).plan(), out, SimulationSettings())
    return out


def by_id(path: Path) -> dict[str, list[dict[str, Any]]]:
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_bytes().splitlines():
        entry = orjson.loads(line)
        lines.setdefault(entry["id"], []).append(entry)
    return lines


@pytest.mark.slow
def test_the_scored_trace_is_the_simulated_one(tmp_path: Path) -> None:
    cases = tuple(bundled()[name] for name in ("alcohol", "bipolar"))
    talks = simulated(tmp_path / "talks", cases=cases)
    transcripts = list(bedside.read_transcripts([talks / "transcripts.jsonl"]))
    assert len(transcripts) == 12
    states = by_id(talks / "states.jsonl")
    summary = bedside.score(talks, tmp_path / "run", suite="medconceal")
    ratings = summary.run.ratings
    addressed = revealed = blocked = 0
    for transcript in transcripts:
        own = [state for state in states[transcript.id] if state["purpose"] == "policy"]
        simulation = transcript.reference["simulation"]
        rater = simulation["turn_rater"]
        trace = medconceal_trace.trace(
            transcript,
            medconceal_labels.concerns_of(transcript),
            medconceal_labels.rater_labels(transcript, rater).turns,
            DEFAULT,
        )
        for turn, state in zip(trace.history, own, strict=True):
            assert list(turn.evidence) == state["state"]["evidence"]
            assert turn.address_evidence == state["state"]["address_evidence"]
            assert (turn.step.turn, turn.step.blocked) == (state["turn"], state["step"]["blocked"])
            assert list(turn.step.reveal) == state["step"]["reveal"]
            assert list(turn.revealed) == state["revealed_now"]
        assert trace.revealed_at == own[-1]["state"]["revealed_at"]
        assert trace.addressed_at == own[-1]["state"]["addressed_at"]
        values = dict(
            ratings.filter(pl.col("unit") == "transcript", transcript_id=transcript.id, rater=rater)
            .select("metric", "value")
            .iter_rows()
        )
        assert values["revealed_concerns"] == len(trace.revealed_at)
        assert values["turns_to_address"] == trace.addressed_at
        assert values["blocked_turns"] == trace.blocked
        limit = simulation["turn_limit"]
        assert values["concerns_revealed_by_limit"] == trace.revealed_by(limit)
        addressed += trace.addressed_at is not None
        revealed += len(trace.revealed_at)
        blocked += trace.blocked
    assert addressed
    assert revealed
    assert blocked
    assert not ratings.filter(pl.col("reason").str.starts_with("Warning")).height
    assert {talk.factors["setting"] for talk in transcripts} == {"confirmation, 8 turns", "intervention, 20 turns"}


@pytest.mark.slow
def test_turns_to_fit_a_policy_to_are_what_the_patient_did(tmp_path: Path) -> None:
    talks = simulated(tmp_path / "talks", cases=(bundled()["heart"],))
    out = tmp_path / "turns.jsonl"
    assert exit_code("simulate", "turns", talks, "--out", out) == 0
    rows = read_turns(out)
    for transcript in bedside.read_transcripts([talks / "transcripts.jsonl"]):
        own = [row for row in rows if row.case == transcript.id]
        concerns = medconceal_labels.concerns_of(transcript)
        clinician = [turn.index for turn in transcript.of("clinician")]
        assert [(row.turn, row.concern) for row in own] == [
            (turn, concern.id) for turn in clinician for concern in concerns
        ]
        course = [state for state in by_id(talks / "states.jsonl")[transcript.id] if state["purpose"] == "policy"]
        revealed = {(clinician[at - 1], concern) for concern, at in course[-1]["state"]["revealed_at"].items()}
        assert {(row.turn, row.concern) for row in own if row.revealed} == revealed
        # Their rows hold all that the policy goes by.
        replayed = LabelledCourse(transcript.id, own)
        again = replayed.replayed(replayed.steps(DEFAULT), DEFAULT)
        assert again.revealed_at == course[-1]["state"]["revealed_at"]
        assert [list(state.evidence) for state in again.history] == [state["state"]["evidence"] for state in course]
        assert all((row.addressed is None) == (row.concern != "heart-1") for row in own)
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "turns", str(talks), "--out", str(tmp_path / "other.jsonl"), "--parameters", "guarded"])
    assert ended.value.code
    assert not (tmp_path / "other.jsonl").exists()


def test_turns_of_a_conversation_that_was_not_simulated_are_refused() -> None:
    talk = Transcript("t", (), reference={"concerns": []})
    with pytest.raises(DataError):
        list(medconceal_trace.turn_rows(talk, PARAMETERS.load("default")))


def test_the_recorded_conversation_plays_to_its_end() -> None:
    recorded = read_script("recorded", SIMULATOR.scripts).script
    assert isinstance(recorded, Recording)
    reply: Callable[..., Any] = recorded.reply
    played = play(SIMULATOR, bundled()["alcohol"], reply, setting="intervention-8")
    ended = played.ended
    assert (ended.stop, ended.completed) == ("addressed", True)
    assert len(played.calls) == len(recorded.replies), "every recorded reply is asked for"
    assert "reveals what is hidden" in json.dumps(ended.flags)
