"""Simulating by batch files, wave by wave: with the same replies it comes to the same bytes."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from bedside.api.note2chat_training import Asking, read_talks, write_dialogues
from bedside.api.simulating import Simulation, simulate
from bedside.core.errors import BedsideError, InputError
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.transcripts.simulation_folder import TRANSCRIPTS
from tests.api.note2chat_records import rolled_out, write_thoughts
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.judges.test_command import run as command
from tests.simulation.test_simulate import contents
from tests.simulation.test_spread_talks import OneByOne, spent
from tests.simulation.tiny import cases, install, run_tiny

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def talking(request: Received, number: int) -> Action:
    """A model whose reply depends on what it is asked alone; now and then it can't be used the first time."""
    asked = json.dumps(request.body, sort_keys=True)
    schema = request.schema
    if schema is None:
        return Action(text="I AM NOT WELL." if "shout" not in asked and len(asked) % 2 else "I am not well.")
    if "message" in schema["properties"]:
        return Action(text=json.dumps({"message": f"How are you? {len(asked)}", "end": len(asked) % 5 == 0}))
    return Action(text=json.dumps({"number": len(asked)}))


def answer(calls: Path, out: Path, server: JudgeServer, spoilt: Callable[[int], bool] = lambda n: False) -> int:
    """Have a server answer a file of calls, in another order; returns how many there were."""
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    answers = []
    for number, call in enumerate(lines):
        if spoilt(number):
            answers.append({"custom_id": call["custom_id"], "response": None, "error": {"message": "expired"}})
            continue
        posted = urllib.request.Request(
            f"{server.url}/chat/completions", json.dumps(call["body"]).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(posted) as response:
            body = json.load(response)
        answers.append({"custom_id": call["custom_id"], "response": {"status_code": 200, "body": body}, "error": None})
    out.write_text("".join(json.dumps(line) + "\n" for line in reversed(answers)))
    return len(lines)


def run(out: Path, server: JudgeServer, **more: Any) -> Simulation:
    told = {"clinicians": ["rules", server.judge], "patient": server.judge, "settings": ["long"]}
    return run_tiny(out, **told | more)


@pytest.mark.slow
@pytest.mark.parametrize("spoils", [False, True])
def test_wave_by_wave_it_comes_to_the_same_bytes(tmp_path: Path, spoils: bool) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    out = tmp_path / "waves"
    with JudgeServer(talking) as server:
        whole = run(tmp_path / "whole", server)
        asked = server.count
        made = run(out, server, batch_out=calls)
        assert server.count == asked, "nothing is asked"
        assert made.summary.requests == made.summary.counts.finished == 0
        waves = written = 0
        while made.summary.wave is not None and made.summary.wave.files:
            (file,) = made.summary.wave.files
            waves, written = waves + 1, written + file.calls
            assert answer(file.path, answers, server, lambda n: spoils and n % 7 == 3) == file.calls
            made = run(out, server, batch_out=calls, batch_in=(answers,))
            assert made.summary.wave is not None
            assert made.summary.wave.taken == made.summary.requests == file.calls - made.summary.wave.errors
            assert bool(made.summary.wave.errors) == (spoils and file.calls > 3)
        assert made.summary.counts == whole.summary.counts
        assert not made.summary.counts.unfinished
        assert waves > 5
        assert (written == asked) is not spoils
        before = server.count
        # The last answers again: they were had before, and nothing is open.
        again = run(out, server, batch_out=calls, batch_in=(answers,))
        assert again.summary.wave is not None
        assert again.summary.wave.taken == again.summary.wave.unasked == 0
        assert again.summary.wave.answered_before == again.summary.wave.lines
        assert server.count == before
    assert contents(out) == contents(tmp_path / "whole")
    assert spent(out) == spent(tmp_path / "whole")


def test_waves_and_asking_mix(tmp_path: Path) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    with JudgeServer(talking) as server:
        run(tmp_path / "whole", server)
        asked = server.count
        run(tmp_path / "mixed", server, batch_out=calls)
        answer(calls, answers, server)
        run(tmp_path / "mixed", server, batch_in=(answers,))
        run(tmp_path / "mixed", server)
        assert server.count == 2 * asked
    assert contents(tmp_path / "mixed") == contents(tmp_path / "whole")


def test_each_model_has_a_file_and_a_limit_is_kept(tmp_path: Path) -> None:
    models = ["http://127.0.0.1:9/v1#one", "http://127.0.0.1:9/v1#two"]
    made = run_tiny(
        tmp_path / "talks", clinicians=models, patient="rules", cases=cases(4), batch_out=tmp_path / "c.jsonl"
    )
    assert made.summary.wave is not None
    files = made.summary.wave.files
    assert sorted((file.path.name, file.model, file.calls) for file in files) == [
        ("c-1.jsonl", "one", 4), ("c-2.jsonl", "two", 4),
    ]  # fmt: skip
    for file in files:
        assert {json.loads(line)["body"]["model"] for line in file.path.read_text().splitlines()} == {file.model}
    made = run_tiny(
        tmp_path / "few", clinicians=models, patient="rules", cases=cases(4), batch_out=tmp_path / "d.jsonl",
        max_calls=3,
    )  # fmt: skip
    assert made.summary.wave is not None
    assert sum(file.calls for file in made.summary.wave.files) == 3


class Remembering:
    stateful = True

    def __call__(self, request: dict[str, Any]) -> str:
        return "Hello."


MODEL = "http://127.0.0.1:9/v1#one"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "no language model takes part"),
        ({"patient": MODEL, "clinician": "human:anna"}, "human:anna would wait for a batch"),
        ({"patient": MODEL, "clinician": Remembering()}, "remembers conversations"),
        ({"patient": "anthropic/claude-x"}, "can't be asked by batch files; name an openai/ model"),
        ({"patient": MODEL, "replay": True}, "`replay`: calls go into a batch file; leave it out"),
        ({"patient": MODEL, "max_cost": 1.0}, "`max_cost`: calls go into a batch file"),
        ({"patient": MODEL, "engine": OneByOne()}, "batch files are written by one process"),
    ],
)
def test_what_can_t_be_batched_is_one_line(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    request: dict[str, Any] = {"clinician": "rules", "evaluator": "rules", "batch_out": tmp_path / "calls.jsonl"}
    with pytest.raises(InputError) as caught:
        simulate(cases(), "tiny", tmp_path / "talks", **request | more)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "calls.jsonl").exists()


def test_answers_of_another_simulation_are_refused(tmp_path: Path) -> None:
    with JudgeServer(talking) as server:
        run(tmp_path / "one", server, batch_out=tmp_path / "calls.jsonl")
        answer(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl", server)
        with pytest.raises(BedsideError, match=r"none of the .* answers is to a call of this simulation"):
            run(tmp_path / "other", server, seed=3, batch_in=(tmp_path / "answers.jsonl",))


@pytest.mark.slow
def test_records_are_made_by_waves_too(tmp_path: Path) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    bundled = SIMULATORS.load("note2chat").cases
    write_dialogues(bundled, tmp_path / "dialogues", Asking("rules"))
    talks = read_talks(tmp_path / "dialogues" / TRANSCRIPTS)
    with JudgeServer(lambda request, number: Action(text=fitting(request))) as server:
        write_thoughts(talks, tmp_path / "whole", Asking(server.judge))
        asked = server.count
        settings, waves = SimulationSettings(batch_out=calls), 0
        while True:
            made = write_thoughts(talks, tmp_path / "waves", Asking(server.judge, settings=settings))
            assert made.wave is not None
            if not made.wave.files:
                break
            waves += 1
            answer(calls, answers, server)
            settings = SimulationSettings(batch_out=calls, batch_in=(answers,))
        assert server.count == 2 * asked
        assert waves >= 1
        with pytest.raises(InputError, match="interviews and their check are two simulations"):
            rolled_out(
                bundled,
                tmp_path / "rollouts",
                Asking("rules", settings=settings),
                clinician=server.judge,
                patient="rules",
            )
    assert made.counts.finished == made.counts.planned == len(talks)
    assert contents(tmp_path / "waves") == contents(tmp_path / "whole")


def test_the_command_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def called(*more: object) -> str:
        with JudgeServer(lambda *_: Action(text="A cough.")) as server:
            code, out, err = command(
                capsys, "simulate", "--protocol", "note2chat", "--clinician", "script:brisk", "--patient",
                server.judge, "--evaluator", "rules", "--sample", "1", "--out", tmp_path / "talks", *more,
            )  # fmt: skip
            assert (code, "Traceback" in err) == (0, False), err
            for file in tmp_path.glob("calls.jsonl"):
                answer(file, tmp_path / "answers.jsonl", server)
                file.unlink()
            return " ".join(out.split())

    said = called("--batch-out", tmp_path / "calls.jsonl")
    assert "for tiny: 1 call, about" in said
    assert "Next: have the service answer, then the same command with --batch-in ANSWERS.jsonl" in said
    for _ in range(20):
        said = called("--batch-out", tmp_path / "calls.jsonl", "--batch-in", tmp_path / "answers.jsonl")
        assert "Read 1 answer: 1 taken." in said
        if "Nothing is left to ask." in said:
            break
    assert "1 conversation of 1" in said
