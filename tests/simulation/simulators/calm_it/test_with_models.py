"""A session whose four roles one model plays, at a real HTTP server, also where the server misbehaves."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import Simulation
from bedside.judges.llm.queue import Patience
from bedside.simulation.simulate import SimulationSettings, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from tests.judges.llm.server import FAULTS, Action, JudgeServer, Received, faulty
from tests.simulation.simulators.calm_it.scenes import words
from tests.simulation.simulators.random_replies import fitting

pytestmark = pytest.mark.server


def talking(request: Received, number: int) -> Action:
    """A model that replies what the schema wants, by its prompt and seed alone."""
    draw = random.Random(json.dumps([request.body["messages"], request.body.get("seed")]))
    schema = request.schema
    assert schema is not None
    if "message" in schema["properties"]:
        return Action(text=json.dumps({"message": words(draw), "end": False}))
    if "strategies" in schema["properties"]:
        names = schema["properties"]["strategies"]["items"]["enum"]
        return Action(text=json.dumps({"strategies": draw.sample(names, 3)}))
    value = fitting(schema, draw)
    if value.get("label") == "terminate":
        value["label"] = "inform"
    return Action(text=json.dumps(value))


def simulated(out: Path, server: JudgeServer) -> Simulation:
    model = server.judge
    plan = SimulationRequest(
        "calm-it", model, patient=model, ranker=model, lengths=[12], sample=1
    ).plan()  # fmt: skip
    patience = Patience(attempts=8, first_wait=0.001, longest_wait=0.01)
    return Simulation(out, simulate_plan(plan, out, SimulationSettings(patience=patience)))


def kind(body: dict[str, Any]) -> str:
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    return "message" if "message" in properties else "scores" if "scores" in properties else "label"


def test_one_model_plays_all_four_roles(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        made = simulated(tmp_path / "talks", server)
        (transcript,) = made.transcripts()
        assert transcript.reference["simulation"]["stop"] == "target"
        assert len(transcript.turns) == 12
        actors = transcript.reference["simulation"]["actors"]
        assert actors.keys() == {"clinician", "patient", "evaluator", "ranker"}
    bodies = [received.body for received in server.received]
    temperatures = {name: {body.get("temperature") for body in bodies if kind(body) == name}
                    for name in ("message", "label", "scores")}  # fmt: skip
    assert temperatures == {"message": {0.7}, "label": {0.0}, "scores": {None}}
    # The three candidates of a message are three draws from one prompt.
    seeds: dict[str, set[int]] = {}
    for body in bodies:
        if kind(body) == "message":
            seeds.setdefault(json.dumps(body["messages"]), set()).add(body["seed"])
    assert {len(drawn) for drawn in seeds.values()} == {3}


def test_faults_of_the_server_change_nothing(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        simulated(tmp_path / "smooth", server)
        calls = server.count
    bumps = faulty(0.03, 1, FAULTS[:6])

    def bumpy(request: Received, number: int) -> Action:
        action = bumps(request, number)
        return talking(request, number) if action == Action() else action

    with JudgeServer(bumpy) as server:
        assert simulated(tmp_path / "bumpy", server).failed() == []
        assert server.count > calls
    for name in ("transcripts.jsonl", "states.jsonl"):
        assert (tmp_path / "bumpy" / name).read_bytes() == (tmp_path / "smooth" / name).read_bytes()
