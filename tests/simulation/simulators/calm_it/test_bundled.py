"""What comes with it: cases, scripts, a recorded session; simulated, scored and reported as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

import bedside
from bedside.simulation.simulators.calm_it import SIMULATOR
from bedside.simulation.simulators.calm_it.client_fields import fields_of, problems
from bedside.simulation.simulators.case import Case
from tests.conftest import exit_code
from tests.simulation.simulators.calm_it.scenes import bundled
from tests.simulation.simulators.playing import by_rules, play

RECORDED = "script:recorded"


def test_the_cases_are_whole_and_invented() -> None:
    assert [case.id for case in bundled()] == ["alcohol", "sleep", "diabetes", "heart"]
    for case in bundled():
        assert case.origin == "invented"
        fields = fields_of(case)
        assert len(type(fields.profile).model_fields) == len(type(fields.background).model_fields) == 11
        assert "reason_for_attending" not in fields.profile.demographics()
        facts = SIMULATOR.patient_facts(case)
        assert set(fields.background.facts()) < set(facts)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"topic": "weather"}, "topic"),
        ({"profile": {"shoe_size": 44}}, "shoe_size"),
        ({"session_goal": " "}, "session_goal"),
        ({"initial": {"emotion": "boredom"}}, "emotion"),
        ({"initial": {"rapport": 2}}, "rapport"),
        ({"dass": {"answers": [1] * 41}}, "answers"),
        ({"dass": {"answers": [5] * 42}}, "answers"),
        ({"background": {"family": "Carol"}}, "family"),
    ],
)
def test_a_case_that_is_wrong_is_refused_by_its_key(change: dict[str, Any], complaint: str) -> None:
    own = json.loads(json.dumps(dict(bundled()[0].extra["calm-it"])))
    for name, value in change.items():
        own[name] = {**own.get(name, {}), **value} if isinstance(value, dict) else value
    case = bundled()[0].model_copy(update={"extra": {"calm-it": own}})
    said = " ".join(problems(case))
    assert complaint in said
    assert "nothing under `extra`" in " ".join(problems(Case(id="bare")))


@pytest.mark.slow
def test_the_recorded_session_is_the_same_for_every_seed(tmp_path: Path) -> None:
    texts = []
    for seed in (0, 1):
        talks = bedside.simulate(
            [bundled()[0]], "calm-it", tmp_path / str(seed), clinician=RECORDED, patient=RECORDED,
            evaluator=RECORDED, ranker=RECORDED, lengths=12, seed=seed,
        )  # fmt: skip
        assert talks.failed() == []
        (transcript,) = talks.transcripts()
        texts.append([turn.text for turn in transcript.turns])
        assert transcript.reference["simulation"]["flags"] == {}
        ranked = transcript.reference["simulation"]["ranked"]
        assert {side: counts["messages"] for side, counts in ranked.items()} == {"clinician": 4, "patient": 6}
    assert texts[0] == texts[1]
    assert len(texts[0]) == 12
    assert texts[0][7].startswith("He was fifty-eight.")


@pytest.mark.parametrize("length", [12, 20])
def test_the_toys_bring_short_sessions_to_their_end_without_a_fault(length: int) -> None:
    for case in bundled():
        for setting in ("scaffold", "free"):
            outcome = play(SIMULATOR, case, by_rules(SIMULATOR), setting=setting, length=length).ended
            assert (outcome.stop, len(outcome.turns)) == ("target", length)
            assert not [flag for flag in outcome.flags if "repeats" in flag], (case.id, setting)


@pytest.mark.slow
def test_simulated_scored_and_reported_without_conversion(tmp_path: Path) -> None:
    bedside.simulate(
        bundled()[:2], "calm-it", tmp_path / "talks", clinician=["script:good", "script:quitter"], lengths=(12, 20),
    )  # fmt: skip
    bedside.score(tmp_path / "talks", tmp_path / "run", suite="calm-it")
    completed: dict[str, set[float]] = {}
    for row in bedside.read_run(tmp_path / "run").ratings.iter_rows(named=True):
        if row["metric"] == "completed":
            completed.setdefault(row["system"], set()).add(row["value"])
    assert completed == {"script:good": {1.0}, "script:quitter": {0.0}}
    tables = "sessions,intended_acts,simulation_card"
    assert exit_code("report", tmp_path / "run", "--table", tables, "--out", tmp_path / "report") == 0
    sessions = (tmp_path / "report" / "sessions.md").read_text(encoding="utf-8")
    assert "| 12 | 2 |" in sessions
    assert "open question" in (tmp_path / "report" / "intended_acts.md").read_text(encoding="utf-8")
    card = (tmp_path / "report" / "simulation_card.md").read_text(encoding="utf-8")
    assert "| Ranker | rules-toy (toy) |" in card
    # Of two cases 6 and 10 messages of the client, and 2 in each of the four sessions that a therapist leaves. Scripted
    # candidates of a message are all alike, and there is nothing to rank.
    assert "| Ranked messages, patient | 40; in" in card
    assert "Ranked messages, clinician" not in card
    for line in (tmp_path / "talks" / "transcripts.jsonl").read_bytes().splitlines():
        assert all("codes" not in turn.get("meta", {}) for turn in orjson.loads(line)["turns"])
