"""Agents of users: Python functions, webhooks at a real server, scripts; also those that misbehave."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bedside.api.simulating import Simulation, simulate
from bedside.core.errors import BedsideError, InputError, RegistryError
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.simulation.tiny import cases, install, run_tiny


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def run(out: Path, clinician: Any, **arguments: Any) -> Simulation:
    return run_tiny(out, clinicians=clinician, **arguments)


def polite(request: dict[str, Any]) -> Any:
    if request["kind"] == "data":
        return {"number": len(request["messages"])}
    return {"message": f"Turn {request['turn']}.", "end": request["turn"] >= 2}


async def gentle(request: dict[str, Any]) -> Any:
    await asyncio.sleep(0)
    return polite(request)


class Remembering:
    """An agent with a memory, which loses it where its process ends."""

    stateful = True

    def __init__(self) -> None:
        self.heard: dict[str, int] = {}
        self.breaks_at: int | None = None

    def __call__(self, request: dict[str, Any]) -> Any:
        session = request["session"]
        self.heard[session] = self.heard.get(session, 0) + 1
        if self.breaks_at is not None and sum(self.heard.values()) >= self.breaks_at:
            raise ConnectionError("gone")
        # It must have been told all of this conversation's calls itself.
        if request["kind"] == "data":
            return {"number": self.heard[session]}
        return f"I was asked {self.heard[session]} times."


# -- functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [polite, gentle, "tests.simulation.test_agents:polite"])
def test_a_function_is_told_what_a_model_is_and_replies_with_fields(tmp_path: Path, agent: Any) -> None:
    made = run(tmp_path / "talks", agent)
    first = next(iter(made.transcripts()))
    assert [turn.text for turn in first.turns] == ["Turn 0.", "patient says 1", "Turn 2."]
    assert first.reference["simulation"]["stop"] == "clinician"
    assert first.reference["guess"] == 3
    assert first.system in ("tests.simulation.test_agents:polite", "tests.simulation.test_agents:gentle")


def test_what_a_function_is_told(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    def agent(request: dict[str, Any]) -> Any:
        told.append(json.loads(json.dumps(request)))
        return polite(request)

    run(tmp_path / "talks", agent, cases=cases(1))
    first, second, last = told
    assert first["session"] == second["session"]
    assert (first["kind"], first["turn"], first["messages"]) == ("message", 0, [])
    assert first["brief"] == "You are the doctor."
    assert first["material"] == {"turn": 1}
    assert second["messages"] == [
        {"role": "assistant", "content": "Turn 0."},
        {"role": "user", "content": "patient says 1"},
    ]
    assert (last["kind"], last["instruction"], last["schema"]["required"]) == ("data", "What is it?", ["number"])


def raises(request: dict[str, Any]) -> Any:
    raise ValueError("the key\nis wrong")


def returns_none(request: dict[str, Any]) -> Any:
    return None


def returns_an_empty_object(request: dict[str, Any]) -> Any:
    return {}


def returns_a_number(request: dict[str, Any]) -> Any:
    return 7


def returns_ten_megabytes(request: dict[str, Any]) -> Any:
    return "x" * 10**7


def returns_what_json_lacks(request: dict[str, Any]) -> Any:
    return {"message": "Hi", "end": object()}


def exits(request: dict[str, Any]) -> Any:
    sys.exit(3)


def never_returns(request: dict[str, Any]) -> Any:
    time.sleep(60)


async def blocks_its_loop(request: dict[str, Any]) -> Any:
    time.sleep(60)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (raises, r"the agent raised ValueError: the key is wrong \(test_agents.py:\d+\)"),
        (returns_none, r"the agent returned nothing \(None\)"),
        (returns_an_empty_object, "the agent returned an object without a text as message"),
        (returns_a_number, r"the agent returned neither a text nor an object \(int\)"),
        (returns_ten_megabytes, "the agent returned more than 1 MB"),
        (returns_what_json_lacks, "the agent returned an object that JSON can't hold"),
        (exits, "the agent raised SystemExit: 3"),
        (never_returns, "the agent gave no answer within 0.1 s"),
        (blocks_its_loop, "the agent gave no answer within 0.1 s"),
    ],
)
def test_an_agent_that_never_works_has_failed_each_conversation(tmp_path: Path, agent: Any, words: str) -> None:
    made = run(tmp_path / "talks", agent, time_limit=0.1)
    assert (made.summary.counts.finished, made.summary.counts.failed) == (3, {})
    assert sum(made.summary.counts.clinician_failed.values()) == 3
    for failure in made.failed():
        assert (failure["whose"], failure["state"]) == ("clinician", "failed")
        detail = failure["detail"]
        whole = failure["reason"] + (f": {detail}" if "raised" in failure["reason"] and detail else "")
        assert re.search(words, whole if "raised" in whole else f"{whole} ({detail})"), whole
    for transcript in made.transcripts():
        simulation = transcript.reference["simulation"]
        assert (transcript.turns, simulation["stop"]) == ((), "clinician failed")
        assert transcript.factors["completed"] is False
    assert [failure["reason"] for failure in made.failed()] == [
        transcript.reference["simulation"]["failed"] for transcript in made.transcripts()
    ]


@pytest.mark.parametrize(
    "words",
    ["I'm sorry, but I can't help with that.", "I’m sorry, I can’t help with that.", "I cannot assist with that."],
)
def test_an_agent_that_only_declines_has_failed_and_one_that_repeats_itself_hasnt(tmp_path: Path, words: str) -> None:
    def declines(request: dict[str, Any]) -> Any:
        return words if request["kind"] == "message" else {"findings": []}

    def repeats(request: dict[str, Any]) -> Any:
        return "How has your sleep been lately?" if request["kind"] == "message" else {"findings": []}

    made = simulate(
        None,
        "medconceal",
        tmp_path / "talks",
        clinician=[declines, repeats],
        patient="rules",
        evaluator="rules",
        sample=2,
    )
    ends = {(talk.system, talk.reference["simulation"]["stop"]) for talk in made.transcripts()}
    declining, repeating = sorted(
        {talk.system for talk in made.transcripts()}, key=lambda name: not str(name).endswith("declines")
    )
    assert ends == {(declining, "refused"), (repeating, "clinician repeats")}
    assert made.summary.counts.clinician_failed == {"it refused to answer": 2}


@pytest.mark.parametrize("turn", [0, 2])
@pytest.mark.parametrize("agent", [raises, returns_none, returns_ten_megabytes])
def test_an_agent_that_fails_at_one_message_has_failed_that_conversation_for_good(
    tmp_path: Path, agent: Any, turn: int
) -> None:
    broken = True

    def failing(request: dict[str, Any]) -> Any:
        if request["session"] not in sessions:
            sessions.append(request["session"])
        if broken and request["session"] == sessions[0] and request["turn"] == turn:
            return agent(request)
        return polite(request)

    sessions: list[str] = []
    made = run(tmp_path / "talks", failing, max_concurrency=1)
    (failure,) = made.failed()
    assert failure["whose"] == "clinician"
    assert [len(transcript.turns) for transcript in made.transcripts()] == [turn, 3, 3]
    assert made.summary.counts.clinician_failed == {failure["reason"]: 1}
    before = [path.read_bytes() for path in sorted((tmp_path / "talks").glob("*.jsonl"))]
    broken = False
    again = run(tmp_path / "talks", failing)
    assert (again.summary.calls.asked, again.summary.counts.finished) == (0, 3)
    run(tmp_path / "talks", failing, replay=True)
    assert [path.read_bytes() for path in sorted((tmp_path / "talks").glob("*.jsonl"))] == before


def test_an_agent_that_can_reach_nobody_itself_is_asked_again(tmp_path: Path) -> None:
    broken = True

    def agent(request: dict[str, Any]) -> Any:
        if broken and request["session"] == sessions.setdefault("first", request["session"]):
            raise ConnectionRefusedError("its model is away")
        return polite(request)

    sessions: dict[str, str] = {}
    made = run(tmp_path / "talks", agent, max_concurrency=1)
    (failure,) = made.failed()
    assert (failure["whose"], failure["reason"]) == ("infrastructure", "the agent raised ConnectionRefusedError")
    assert (made.summary.counts.finished, made.summary.counts.clinician_failed) == (2, {})
    broken = False
    assert run(tmp_path / "talks", agent).summary.counts.finished == 3


def test_a_patient_that_raises_is_missing_and_no_result(tmp_path: Path) -> None:
    def patient(request: dict[str, Any]) -> Any:
        if request["session"] == sessions.setdefault("first", request["session"]):
            raise ValueError("gone")
        return f"I say {request['turn']}."

    sessions: dict[str, str] = {}
    made = run(tmp_path / "talks", polite, patient=patient, evaluator="rules", max_concurrency=1)
    (failure,) = made.failed()
    assert (failure["whose"], failure["reason"]) == ("infrastructure", "the agent raised ValueError")
    assert (made.summary.counts.finished, made.summary.counts.clinician_failed) == (2, {})


@pytest.mark.parametrize("agent", [raises, returns_none])
def test_an_agent_that_fails_at_a_question_has_failed_the_conversation(tmp_path: Path, agent: Any) -> None:
    def failing(request: dict[str, Any]) -> Any:
        return agent(request) if request["kind"] == "data" else polite(request)

    made = run(tmp_path / "talks", failing, cases=cases(1))
    (transcript,) = made.transcripts()
    assert [turn.text for turn in transcript.turns] == ["Turn 0.", "patient says 1", "Turn 2."]
    assert transcript.reference["simulation"]["stop"] == "clinician failed"
    assert sum(made.summary.counts.clinician_failed.values()) == 1


@pytest.mark.slow
def test_a_conversation_of_an_agent_that_remembers_is_begun_anew(tmp_path: Path) -> None:
    agent = Remembering()
    agent.breaks_at = 6
    with pytest.raises(BedsideError, match="ConnectionError"):
        run(tmp_path / "talks", agent, cases=cases(4), max_concurrency=1)
    again = Remembering()
    made = run(tmp_path / "talks", again, cases=cases(4), max_concurrency=1)
    assert made.summary.counts.finished == 4
    assert made.summary.calls.broken > 0
    for transcript in made.transcripts():
        # Whoever answered last had heard the whole conversation: two turns, and the guess.
        assert transcript.reference["guess"] == 3
        assert [turn.text for turn in transcript.of("clinician")] == ["I was asked 1 times.", "I was asked 2 times."]
    assert all(number == 3 for number in again.heard.values())
    broken = [name for name in again.heard if name.endswith("-2")]
    assert len(broken) == made.summary.calls.broken
    before = (tmp_path / "talks/transcripts.jsonl").read_bytes()
    run(tmp_path / "talks", Remembering(), cases=cases(4), replay=True)
    assert (tmp_path / "talks/transcripts.jsonl").read_bytes() == before


def test_a_module_that_ends_the_process_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ends_at_import.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"ends_at_import.*SystemExit: 0"):
        run(tmp_path / "talks", "ends_at_import:reply")


def test_two_functions_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="test_two_functions_of_one_name"):
        run(tmp_path / "talks", [lambda request: "a", lambda request: "b"])


# -- webhooks ---------------------------------------------------------------------------------------


@pytest.mark.server
def test_a_webhook_is_posted_what_a_function_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEDSIDE_WEBHOOK_KEY", "a-secret-of-mine")
    received: list[Received] = []

    def hooked(request: Received, number: int) -> Action:
        received.append(request)
        return Action(body=json.dumps(polite(request.body)).encode())

    with JudgeServer(hooked, keep=False) as server:
        made = run(tmp_path / "talks", f"webhook:http://127.0.0.1:{server.port}/talk")
    assert made.summary.counts.finished == 3
    first = received[0]
    assert first.headers["Authorization"] == "Bearer a-secret-of-mine"
    assert {"session", "turn", "kind", "brief", "messages", "instruction", "schema"} <= set(first.body)
    assert b"a-secret-of-mine" not in b"".join(path.read_bytes() for path in (tmp_path / "talks").iterdir())


@pytest.mark.server
@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Action(status=302, headers={"Location": "http://elsewhere/"}), "redirects to http://elsewhere/"),
        (Action(status=401), r"refuses the key \(401: as scripted\); check BEDSIDE_WEBHOOK_KEY"),
        (Action(status=405), r"takes no POST \(405: as scripted\); check the address"),
    ],
)
def test_a_webhook_that_is_none_ends_the_run_with_one_line(tmp_path: Path, action: Action, words: str) -> None:
    with (
        JudgeServer(lambda request, number: action, keep=False) as server,
        pytest.raises(BedsideError, match=words) as caught,
    ):
        run(tmp_path / "talks", f"webhook:http://127.0.0.1:{server.port}/talk")
    assert "\n" not in str(caught.value)


@pytest.mark.server
@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Action(body=b"<html>Welcome</html>"), "the webhook answered with a web page in place of JSON"),
        (Action(body=b"hello"), "the webhook answered with something else in place of JSON"),
        (Action(body=b"{}"), "the webhook returned an object without a text as message"),
        (Action(body=b"null"), "the webhook returned nothing"),
        (Action(body=b'"' + b"x" * 10**7 + b'"'), "the webhook returned more than 1 MB"),
        (Action(drop=True), "the webhook gave no answer"),
        (Action(delay=5.0), "the webhook gave no answer"),
        (Action(status=418), "the webhook answered 418"),
        (Action(status=500), "the webhook answered 500"),
    ],
)
def test_an_agent_at_an_address_that_fails_at_the_third_message_has_failed_the_conversation(
    tmp_path: Path, action: Action, words: str
) -> None:
    def hooked(request: Received, number: int) -> Action:
        if request.body["turn"] == 2 and request.body["kind"] == "message":
            return action
        return Action(body=json.dumps(polite(request.body)).encode())

    with JudgeServer(hooked, keep=False) as server:
        made = run(tmp_path / "talks", f"webhook:http://127.0.0.1:{server.port}/talk", cases=cases(1), time_limit=0.5)
    (failure,) = made.failed()
    assert (failure["whose"], failure["reason"]) == ("clinician", words)
    (transcript,) = made.transcripts()
    assert len(transcript.turns) == 2
    assert transcript.reference["simulation"]["failed"] == words


@pytest.mark.server
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_stands_before_an_address_is_no_failure_of_the_agent(tmp_path: Path, status: int) -> None:
    busy = True

    def hooked(request: Received, number: int) -> Action:
        if busy and request.body["turn"] == 2:
            return Action(status=status)
        return Action(body=json.dumps(polite(request.body)).encode())

    with JudgeServer(hooked, keep=False) as server:
        address = f"webhook:http://127.0.0.1:{server.port}/talk"
        made = run(tmp_path / "talks", address, cases=cases(1))
        assert [failure["whose"] for failure in made.failed()] == ["infrastructure"]
        assert made.summary.counts.clinician_failed == {}
        busy = False
        assert run(tmp_path / "talks", address, cases=cases(1)).summary.counts.finished == 1


def test_an_address_where_nobody_is_ends_the_run_and_fails_nobody(tmp_path: Path) -> None:
    with JudgeServer(lambda request, number: Action(), keep=False) as server:
        address = f"webhook:http://127.0.0.1:{server.port}/talk"
    with pytest.raises(BedsideError, match="no server answers"):
        run(tmp_path / "talks", address)
    assert not (tmp_path / "talks/failed.jsonl").exists()


def test_the_address_of_a_proxy_that_is_none_ends_the_run_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://me:hunter22-of-the-proxy@[broken")
    with pytest.raises(BedsideError, match="the address of the proxy can't be read") as caught:
        run(tmp_path / "talks", "webhook:http://agent.invalid/talk")
    assert "check HTTP_PROXY and HTTPS_PROXY" in str(caught.value)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("name", ["webhook:", "webhook:ftp://host/", "webhook:http://user:pass@host/"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RegistryError) as caught:
        run(tmp_path / "talks", name)
    assert "pass" not in str(caught.value).replace("password", "")


# -- scripts ----------------------------------------------------------------------------------------

SCRIPT = """
name: kind
lines: [Hello., {message: Goodbye., end: true}]
patterns:
  - when: says 1
    say: [Go on.]
replies:
  guess: [{number: 5}]
"""


def test_a_script_says_its_lines_in_order_and_patterns_first(tmp_path: Path) -> None:
    path = tmp_path / "kind.yaml"
    path.write_text(SCRIPT)
    made = run(tmp_path / "talks", f"script:{path}", settings=["long"])
    first = next(iter(made.transcripts()))
    assert [turn.text for turn in first.of("clinician")] == ["Hello.", "Go on.", "Goodbye."]
    assert (first.reference["guess"], first.system) == (5, "script:kind")
    path.write_text(SCRIPT.replace("Hello.", "Good day."))
    made = run(tmp_path / "talks", f"script:{path}", settings=["long"])
    assert next(iter(made.transcripts())).turns[0].text == "Good day."


def test_a_recorded_conversation_is_had_again(tmp_path: Path) -> None:
    replies = [
        {"actor": "clinician", "purpose": "speak", "ordinal": 1, "text": "Hello."},
        {"actor": "patient", "purpose": "answer", "ordinal": 1, "text": "OUCH"},
        {"actor": "patient", "purpose": "answer", "ordinal": 1, "attempt": 2, "text": "Ouch."},
        {"actor": "clinician", "purpose": "speak", "ordinal": 2, "text": '{"message": "Bye.", "end": true}'},
        {"actor": "clinician", "purpose": "guess", "ordinal": 1, "text": '{"number": 3}'},
        *(
            {"actor": "evaluator", "purpose": purpose, "ordinal": ordinal, "text": '{"number": 2}'}
            for purpose, ordinal in (("facts", 1), ("mood", 1), ("label", 1), ("label", 2))
        ),
    ]
    path = tmp_path / "one.jsonl"
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    made = run(tmp_path / "talks", f"script:{path}", patient=f"script:{path}", cases=cases(1))
    (transcript,) = made.transcripts()
    assert [turn.text for turn in transcript.turns] == ["Hello.", "Ouch.", "Bye."]
    assert transcript.turns[1].meta == {"attempts": 2}
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies[1:]))
    with pytest.raises(InputError, match="no reply of the clinician to speak 1, attempt 1"):
        run(tmp_path / "other", f"script:{path}", patient=f"script:{path}", cases=cases(1))
