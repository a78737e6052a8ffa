"""Rollouts: limits, prices and temperatures are the interviews' and their check's alike."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bedside.api.note2chat_training import Asking, preview_rollouts, rollout_plan
from bedside.judges.llm.prices import Price
from bedside.judges.llm.queue import Patience
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.rule_actors import training_evaluator
from tests.api.note2chat_records import rolled_out
from tests.api.test_note2chat_files import TEST
from tests.conftest import exit_code as run
from tests.judges.llm.server import Action, JudgeServer, Received


@pytest.mark.slow
def test_one_limit_counts_for_interviews_and_their_check(tmp_path: Path) -> None:
    asked: list[str] = []

    def clinician(told: Any) -> str:
        asked.append(told["purpose"])
        return json.dumps({"message": "1. gout", "diagnoses": ["gout"]})

    def checker(told: Any) -> str:
        asked.append(told["purpose"])
        return training_evaluator(Call("evaluator", told["purpose"], 1, material=told["material"])).text

    few = rolled_out(
        SIMULATOR.cases, tmp_path / "r", Asking(checker, settings=SimulationSettings(max_calls=12)),
        clinician=clinician, patient="rules", repeats=1,
    )  # fmt: skip
    assert len(asked) == few.talks.requests + few.checked.requests == 12
    assert few.checked.counts.unfinished > 0
    whole = rolled_out(
        SIMULATOR.cases, tmp_path / "r", Asking(checker), clinician=clinician, patient="rules", repeats=1
    )
    assert whole.checked.counts.unfinished == 0
    # None of them names the diagnosis, and nothing was asked twice.
    assert whole.best.best == ()
    assert whole.talks.calls.replayed + whole.checked.calls.replayed >= 12


def interviewing(request: Received, number: int) -> Action:
    """A doctor who asks once, a patient who knows nothing, and an evaluator who finds nothing conveyed."""
    schema = request.schema
    if schema is None:
        return Action(text="Sorry, I don't know.")
    if "message" in schema["properties"]:
        asked = sum(message["role"] == "assistant" for message in request.body["messages"])
        ranking = ["gout"] if asked else None
        return Action(text=json.dumps({"message": "Where is it?", "diagnoses": ranking}))
    if "candidate" in schema["properties"]:
        return Action(text='{"candidate": null}')
    return Action(text=json.dumps({"opening": False, "last": None, "patient_first": None, "doctor_first": None}))


@pytest.mark.server
@pytest.mark.slow
def test_what_is_set_for_rollouts_reaches_every_model_that_is_asked(tmp_path: Path) -> None:
    (case,) = (case for _, case in read_cases([SIMULATOR.cases]) if case.id == TEST)
    path = tmp_path / "case.jsonl"
    path.write_text(case.model_dump_json(exclude_defaults=True) + "\n")
    with JudgeServer(interviewing) as server:
        names = {role: f"{server.url}#{role}" for role in ("doctor", "patient", "evaluator")}
        options = (
            "--clinician", names["doctor"], "--patient", names["patient"], "--evaluator", names["evaluator"],
            "--repeats", 2, "--brief", "general",
        )  # fmt: skip
        assert run("train", "note2chat", "rollouts", path, *options, "--temperature", ".5", "--seed", 3,
                   "--out", tmp_path / "warm") == 0  # fmt: skip
        warm, server.received = server.received, []
        assert run("train", "note2chat", "rollouts", path, *options, "--out", tmp_path / "own") == 0
        own = server.received
        for received in (warm, own):
            assert {one.body["model"] for one in received} == {"doctor", "patient", "evaluator"}
        assert {one.body.get("temperature") for one in warm} == {0.5}
        assert len({one.body["seed"] for one in warm}) == len(warm)
        assert not any("temperature" in one.body or "seed" in one.body for one in own)
        settings = SimulationSettings(prices={name: Price(1e6, 1e6) for name in names.values()})
        rolled = rolled_out(
            path, tmp_path / "priced", Asking(names["evaluator"], settings=settings),
            clinician=names["doctor"], patient=names["patient"], repeats=1,
        )  # fmt: skip
        assert min(rolled.talks.cost, rolled.checked.cost) > 0
        # A limit of costs is one of both parts together.
        limit = replace(settings, max_cost=rolled.talks.cost)
        limited = rolled_out(
            path, tmp_path / "limited", Asking(names["evaluator"], settings=limit),
            clinician=names["doctor"], patient=names["patient"], repeats=1,
        )  # fmt: skip
        assert limited.talks.cost == rolled.talks.cost
        assert limited.checked.requests == 0
        server.script = lambda request, number: Action(status=429)
        server.received = []
        patience = Patience(attempts=3, first_wait=0.01, longest_wait=0.02)
        refused = rolled_out(
            path, tmp_path / "patient", Asking("rules", settings=SimulationSettings(patience=patience)),
            clinician=names["doctor"], patient="rules", repeats=1,
        )  # fmt: skip
        assert refused.talks.counts.finished == 0
        assert len(server.received) == 3


@pytest.mark.slow
def test_a_dry_run_counts_what_toys_then_ask(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"clinician": "rules", "patient": "rules", "repeats": 2}
    plan = rollout_plan(SIMULATOR.cases, Asking("rules"), **asked)
    talks, checks = preview_rollouts(plan, Asking("rules"))
    rolled = rolled_out(SIMULATOR.cases, tmp_path / "r", Asking("rules"), **asked)
    assert (talks.conversations, checks.records) == (10, 10)
    assert sum(role.calls for role in talks.roles) == rolled.talks.calls.asked
    assert sum(actor.calls for actor in checks.actors) == rolled.checked.calls.asked
