"""Language models as actors, at a real HTTP server that does as a script says, also where it misbehaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import Simulation, simulate
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import LanguageModelError
from bedside.simulation.conversation_log import opened_log
from tests.judges.llm.server import FAULTS, Action, JudgeServer, Received, faulty
from tests.simulation.test_simulate import contents
from tests.simulation.tiny import cases, install, run_tiny

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def talking(request: Received, number: int) -> Action:
    """A model that replies to every call as the tiny protocol wants."""
    schema = request.schema
    if schema is None:
        return Action(text="I am not well.")
    if "message" in schema["properties"]:
        return Action(text=json.dumps({"message": "How are you?", "end": False}))
    return Action(text='{"number": 7}')


def run(out: Path, server: JudgeServer, **arguments: Any) -> Simulation:
    return run_tiny(out, **{"clinicians": server.judge, "patient": server.judge, **arguments})


def test_a_model_plays_every_role(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        made = run(tmp_path / "talks", server, options={"patient_temperature": 0.5, "clinician_max_tokens": 99})
        first = next(iter(made.transcripts()))
        assert [turn.text for turn in first.turns] == ["How are you?", "I am not well."] * 2
        assert first.system == "tiny"
        assert first.turns[0].meta["tiny"] == {"judge:tiny": {"z": 7}}
        assert made.summary.requests == server.count == 3 * (2 + 3 * 2 + 1)
    patients = [received.body for received in server.received if received.schema is None]
    assert {body["temperature"] for body in patients} == {0.5}
    # Another seed for each call, sent where there is chance.
    assert len({body["seed"] for body in patients}) == len(patients)
    doctors = [received.body for received in server.received if received.prompt == "You are the doctor."]
    assert all("temperature" not in body and "seed" not in body for body in doctors)
    assert {body["max_tokens"] for body in doctors} == {99}
    assert [message["role"] for message in doctors[-1]["messages"]] == ["system", "user", "assistant", "user"]


def test_a_model_is_asked_no_more_at_once_for_playing_several_roles(tmp_path: Path) -> None:
    with JudgeServer(talking, latency=0.01) as server:
        made = run(tmp_path / "talks", server, clinicians=["rules", server.judge], cases=cases(8), max_concurrency=3)
        assert made.summary.counts.finished == 16
        assert server.most_in_flight == 3


def test_models_at_one_address_share_its_room(tmp_path: Path) -> None:
    with JudgeServer(talking, latency=0.01) as server:
        names = {"clinicians": ["rules", server.judge], "patient": f"{server.judge}-other"}
        made = run(tmp_path / "talks", server, **names, cases=cases(8), max_concurrency=3)
        assert made.summary.counts.finished == 16
        assert {received.body["model"] for received in server.received} == {"tiny", "tiny-other"}
        assert server.most_in_flight == 3


def test_faults_of_a_server_change_nothing(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        run(tmp_path / "smooth", server)
    transport = FAULTS[:6]
    bumps = faulty(0.05, 1, transport)

    def bumpy(request: Received, number: int) -> Action:
        action = bumps(request, number)
        return talking(request, number) if action == Action() else action

    with JudgeServer(bumpy) as server:
        run(tmp_path / "bumpy", server)
        assert server.count > 27
    assert contents(tmp_path / "bumpy") == contents(tmp_path / "smooth")


def test_a_form_of_structured_output_that_is_not_taken_falls_back(tmp_path: Path) -> None:
    def wordy(request: Received, number: int) -> Action:
        if request.form != "words":
            return Action(status=400)
        if request.prompt.startswith(("Label", "List", "Guess")):
            return Action(text='{"number": 7}')
        return Action(text="Plain words.")

    with JudgeServer(wordy) as server:
        made = run(tmp_path / "talks", server)
    assert made.summary.counts.finished == 3
    assert next(iter(made.transcripts())).turns[0].text == "Plain words."


def test_what_gets_no_answer_fails_and_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    sick = True

    def script(request: Received, number: int) -> Action:
        patient_of_case_1 = sick and "You are c1." in request.prompt
        return Action(status=500) if patient_of_case_1 else talking(request, number)

    with JudgeServer(script) as server:
        made = run(tmp_path / "talks", server)
        assert [failure["id"] for failure in made.failed()] == ["tiny/tiny/c1/short/1"]
        (failure,) = made.failed()
        assert (failure["whose"], failure["reason"]) == ("infrastructure", "the server answered 500")
        assert made.summary.counts.failed == {("infrastructure", "the server answered 500"): 1}
        sick, before = False, server.count
        made = run(tmp_path / "talks", server)
        assert made.failed() == []
        # The first answer, one more turn, the guess.
        assert server.count - before == 5
    with opened_log(tmp_path / "talks/log.sqlite") as log:
        key = next(iter(made.transcripts())).reference["simulation"]["key"]
        states = log.execute("SELECT DISTINCT state FROM replies WHERE key = ?", (key,)).fetchall()
        assert [row["state"] for row in states] == ["answered"]


def test_a_server_that_is_gone_ends_the_run_with_one_line(tmp_path: Path) -> None:
    with pytest.raises(LanguageModelError, match="no server answers") as caught:
        simulate(cases(), "tiny", tmp_path / "talks", clinician="http://127.0.0.1:9/v1#tiny")
    assert "\n" not in str(caught.value)


def test_a_patient_that_never_fits_fails_by_its_own_doing_and_is_not_asked_again(tmp_path: Path) -> None:
    def script(request: Received, number: int) -> Action:
        return Action(text="AAAH") if request.schema is None else talking(request, number)

    with JudgeServer(script) as server:
        made = run(tmp_path / "talks", server)
        assert made.summary.counts.failed == {("patient", "shouts"): 3}
        before = server.count
        again = run(tmp_path / "talks", server)
        assert server.count == before
        assert again.summary.counts.failed == made.summary.counts.failed
    told = [body for body in server.received if body.schema is None and "Don't shout." in body.prompt]
    assert len(told) == 3 * 2


@pytest.mark.parametrize(
    ("action", "reason", "stop"),
    [
        (Action(choice={"finish_reason": "length"}, text="Half a"), "cut off", "turns"),
        (Action(text=" "), "empty", "clinician empty"),
        (Action(choice={"message": {"content": None, "refusal": "I can't."}}), "refusal", "refused"),
    ],
)
def test_a_clinicians_faults_are_results(tmp_path: Path, action: Action, reason: str, stop: str) -> None:
    def script(request: Received, number: int) -> Action:
        second = request.prompt.startswith("You are the doctor.") and len(request.body["messages"]) > 2
        return action if second else talking(request, number)

    with JudgeServer(script) as server:
        made = run(tmp_path / "talks", server, cases=cases(1))
    (transcript,) = made.transcripts()
    simulation = transcript.reference["simulation"]
    assert simulation["flags"] == {reason: 1}
    assert simulation["stop"] == stop


def test_a_clinician_that_says_nothing_at_all_has_a_transcript_without_turns(tmp_path: Path) -> None:
    def script(request: Received, number: int) -> Action:
        return Action(text=" ") if request.prompt.startswith("You are the doctor.") else talking(request, number)

    with JudgeServer(script) as server:
        made = run(tmp_path / "talks", server, cases=cases(1))
    (failure,) = made.failed()
    assert (failure["whose"], failure["reason"]) == ("clinician", "it said nothing")
    (transcript,) = made.transcripts()
    assert transcript.turns == ()
    assert transcript.reference["simulation"]["stop"] == "clinician empty"
    assert made.summary.counts.finished == 1


def test_a_limit_of_calls_leaves_the_rest_for_the_next_run(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        whole = run(tmp_path / "whole", server)
        for number in range(4):
            made = run(tmp_path / "parts", server, max_calls=8)
            assert made.summary.requests <= 8
            assert (made.summary.counts.unfinished == 0) == (number == 3)
        assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
        assert server.count == 2 * whole.summary.requests


def test_a_limit_of_cost_stops_and_prices_are_counted(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        made = run(tmp_path / "talks", server, max_cost=1e-12, prices={"tiny": Price(1.0, 1.0)}, max_concurrency=1)
        assert made.summary.counts.unfinished == 3
        assert made.summary.cost > 0
        rest = run(tmp_path / "talks", server, max_cost=1.0, prices={"tiny": Price(1.0, 1.0)})
        assert rest.summary.counts.finished == 3
    manifest = json.loads((tmp_path / "talks/manifest.json").read_text())
    spent = sum(role["cost"] for role in manifest["spent"].values())
    assert spent == pytest.approx(made.summary.cost + rest.summary.cost)


def test_calls_of_one_conversation_go_to_one_endpoint(tmp_path: Path) -> None:
    with JudgeServer(talking) as one, JudgeServer(talking) as other:
        file = tmp_path / "endpoints.yaml"
        file.write_text(f"- {one.judge}\n- {other.judge}\n")
        made = run(tmp_path / "talks", one, clinicians=str(file), patient="rules", cases=cases(12))
        assert made.summary.counts.finished == 12
        assert one.count
        assert other.count
    with opened_log(tmp_path / "talks/log.sqlite") as log:
        for transcript in made.transcripts():
            key = transcript.reference["simulation"]["key"]
            query = "SELECT DISTINCT endpoint FROM replies WHERE key = ? AND actor = 'clinician'"
            assert len(log.execute(query, (key,)).fetchall()) == 1
