"""Conversations with a faulty patient are had again, within bounds, in the log, and counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.api.simulating import Simulation, simulate, simulation_quality
from bedside.core.errors import BedsideError
from bedside.reports.tables.simulation_card import build
from bedside.simulation.call_preview import preview_plan
from bedside.simulation.conversing import REVIEW_FLAG
from bedside.simulation.patient_quality import is_checked
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulation_plan import MOST_DRAWS, SimulationRequest
from bedside.transcripts.simulation_folder import ReviewCounts
from bedside.transcripts.transcript import Transcript
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.simulation.test_simulate import contents

DENIAL, TOLD = "I have no debts.", "I have debts, if you want to know."


class Patient:
    """A patient who denies and tells in so many of the first conversations that it has about a case."""

    def __init__(self, faulty: int) -> None:
        self.faulty = faulty
        self.asked: Counter[str] = Counter()
        self.breaks_at: int | None = None

    def __call__(self, request: dict[str, Any]) -> str:
        session = request["session"]
        self.asked[session] += 1
        if self.breaks_at is not None and self.asked.total() >= self.breaks_at:
            raise ConnectionError("gone")
        number = sum(message["role"] == "assistant" for message in request["messages"])
        draw = int(session.rpartition("-")[2])
        if draw <= self.faulty and number in (1, 3):
            return DENIAL if number == 1 else TOLD
        return f"{('It', 'That', 'This', 'Work')[number % 4]} has been on my mind since day {number + 3}."


def talk(out: Path, patient: Patient, **more: Any) -> Simulation:
    return simulate(
        None, "medconceal", out, clinician="script:brisk", patient=patient, evaluator="rules", sample=1, seed=5, **more
    )


def only(made: Simulation) -> Transcript:
    (transcript,) = made.transcripts()
    return transcript


@pytest.mark.parametrize("faulty", [0, 1, 2])
def test_a_faulty_patient_has_the_conversation_again(tmp_path: Path, faulty: int) -> None:
    made = only(talk(tmp_path / "talks", Patient(faulty)))
    simulation = made.reference["simulation"]
    assert (simulation["review"]["draws"], simulation["review"]["faults"]) == (faulty + 1, [])
    assert simulation["session"] == faulty + 1
    assert TOLD not in [turn.text for turn in made.turns]
    assert simulation["review"]["dropped"] == [{"by": "rules", "kinds": ["denial then reveal"]}] * faulty
    assert not any("again" in flag for flag in simulation["flags"])


def test_what_stays_faulty_is_kept_and_counted(tmp_path: Path) -> None:
    patient = Patient(99)
    made = only(talk(tmp_path / "talks", patient))
    simulation = made.reference["simulation"]
    assert len(patient.asked) == simulation["review"]["draws"] == MOST_DRAWS
    assert [(fault["kind"], made.turns[fault["turn"]].text) for fault in simulation["review"]["faults"]] == [
        ("denial then reveal", TOLD)
    ]
    assert simulation["flags"][f"{REVIEW_FLAG}denial then reveal"] == 1
    assert len(simulation["review"]["dropped"]) == MOST_DRAWS - 1


@pytest.mark.slow
def test_going_on_and_replaying_give_the_same_bytes(tmp_path: Path) -> None:
    all_asked = Patient(2)
    whole = talk(tmp_path / "whole", all_asked)
    for stop in (3, 9, 12, 17, 24):
        parts = tmp_path / f"parts{stop}"
        cut_off = Patient(2)
        cut_off.breaks_at = stop
        talk(parts, cut_off)
        asked = Patient(2)
        made = talk(parts, asked)
        assert made.summary.calls.replayed > 0
        assert contents(parts) == contents(whole.folder)
        assert asked.asked.total() + stop - 1 == all_asked.asked.total()
    before = contents(whole.folder)
    again = Patient(2)
    assert talk(whole.folder, again, replay=True).summary.calls.asked == 0
    assert again.asked.total() == 0
    assert contents(whole.folder) == before


def test_toys_and_people_are_not_asked_to_say_it_again() -> None:
    def plan(**who: Any) -> Any:
        return SimulationRequest("medconceal", "script:good", sample=1, **who).plan()

    for who, draws in (
        ({}, 1), ({"patient": "human:anna", "evaluator": "rules"}, 1), ({"patient": "openai/gpt-5"}, MOST_DRAWS),
    ):  # fmt: skip
        made = plan(**who)
        assert {made.draws(conversation) for conversation in made.conversations()} == {draws}
    model_patient = {"patient": "openai/gpt-5", "evaluator": "rules"}
    toys, model = (preview_plan(plan(**who), SimulationSettings()) for who in ({}, model_patient))
    most = {role.role: role.most_calls for role in toys.roles}
    assert {role.role: role.most_calls for role in model.roles} == {role: 3 * calls for role, calls in most.items()}


def test_the_card_and_the_table_show_the_rate_by_system(tmp_path: Path) -> None:
    talk(tmp_path / "talks", Patient(99))
    tables = simulation_quality(tmp_path / "talks", tmp_path / "quality")
    (measure,) = [each for each in tables.results if each.name == "reviewed"]
    assert (measure.system, measure.result.estimate, measure.result.n) == ("script:brisk", 1.0, 1)
    card = build(open_ratings_view(bedside.Run(tmp_path / "quality")))
    assert card is not None
    (row,) = [record for record in card.records if record["name"] == "medconceal, script:brisk"]
    assert row["value"] == (
        "1 of 1 (100.0%): denial then reveal 1; had again 1 of 1; discarded draws: denial then reveal 2"
    )


@pytest.mark.server
def test_a_judge_reviews_by_the_rubric_and_sees_the_case(tmp_path: Path) -> None:
    prompts: list[str] = []

    def reviewer(request: Received, _number: int) -> Action:
        """Names the fault that it is shown, where it is asked for faults."""
        answer = json.loads(fitting(request))
        for name, part in (request.schema or {}).get("properties", {}).items():
            if "denial then reveal" in json.dumps(part):
                prompts.append(request.prompt)
                answer[name] = ["denial then reveal"] if DENIAL in request.prompt and TOLD in request.prompt else []
        return Action(text=json.dumps(answer))

    talk(tmp_path / "faulty", Patient(99))
    talk(tmp_path / "clean", Patient(0))
    shares = {}
    with JudgeServer(reviewer) as server:
        for name in ("faulty", "clean"):
            tables = simulation_quality(tmp_path / name, tmp_path / f"{name}-quality", judges=server.judge)
            shares[name] = [each.result.estimate for each in tables.results if each.name == "patient_faults"]
    assert shares == {"faulty": [1.0], "clean": [0.0]}
    assert is_checked(open_ratings_view(bedside.Run(tmp_path / "clean-quality")))
    (fact, *_) = only(talk(tmp_path / "clean", Patient(0))).reference["patient_facts"]
    assert len(prompts) == 2
    assert all(fact in prompt for prompt in prompts)


def test_an_error_of_the_patient_in_a_later_draw_leaves_it_missing(tmp_path: Path) -> None:
    patient = Patient(1)
    patient.breaks_at = 9
    made = talk(tmp_path / "talks", patient)
    assert made.summary.counts.finished == 0
    assert [loss["whose"] for loss in made.failed()] == ["infrastructure"]
    with pytest.raises(BedsideError):
        simulation_quality(tmp_path / "talks", tmp_path / "quality")


def test_transcripts_of_earlier_versions_say_by_flags_what_was_discarded() -> None:
    review: dict[str, Any] = {"draws": 4, "faults": [{"kind": "stuck", "turn": 3}]}
    flags = {"had again: stuck": 2, "had again by the reviewer: form": 1, "patient, reviewed: stuck": 1}
    old = {"flags": flags, "review": review}
    rules = ReviewCounts.of("rules", [old, {"flags": {}}, None])
    assert (rules.verdicts, rules.kinds, rules.had_again, rules.discarded) == ([True], {"stuck": 1}, 1, {"stuck": 2})
    assert ReviewCounts.of("reviewer", [old]).verdicts == []
    review["reviewer"] = {"kinds": None, "reason": "no answer"}
    reviewer = ReviewCounts.of("reviewer", [old])
    assert (reviewer.verdicts, reviewer.discarded) == ([None], {"form": 1})
    assert reviewer.unreviewed == {"no answer came": 1}
