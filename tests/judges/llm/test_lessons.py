"""What is learnt of endpoints: once for all calls in flight, kept for the next command; and limits a minute."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import InputError, RegistryError
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.endpoints import model_name, named_models, with_endpoint_fields
from bedside.judges.llm.extra_fields import checked_extra, with_fields
from bedside.judges.llm.prices import estimate_tokens
from bedside.judges.llm.protocol import Reply, Request, Sampling
from bedside.judges.llm.queue import Patience
from bedside.judges.llm.sharing import PacedClient
from bedside.judges.prompt import Question
from bedside.judges.questions import QuestionSet
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import key_parameters, read_judgements
from tests.conftest import conversation
from tests.judges.llm.server import Action, JudgeServer, Received, Script

REFUSED = ("temperature", "max_tokens")


def strict(delay: float = 0.05) -> Script:
    """Takes neither a temperature nor the old name of the limit, and says so of one at a time."""

    def script(request: Received, number: int) -> Action:
        for name in REFUSED:
            if name in request.body:
                said = {"message": f"Unsupported parameter: '{name}'", "param": name, "code": "unsupported_parameter"}
                return Action(400, body=json.dumps({"error": said}).encode(), delay=delay)
        return Action(delay=delay)

    return script


def judge(server: JudgeServer, folder: Path, count: int, name: str = "", **how: Any) -> int:
    """Judge so many conversations; returns how many requests came in."""
    settings = JudgeSettings(patience=Patience(attempts=3, first_wait=0.01), **how)
    talks = [conversation(("patient", f"I slept {number} nights."), id=f"t{number}") for number in range(count)]
    questions, before = QuestionSet([Question(RUBRICS.load("empathy"))], 1), server.count
    stage = JudgingStage(lambda: questions.groups(talks), lambda group: None)
    ask_judge(model_name(name or server.judge), settings, folder / "judgements.sqlite", [stage])
    assert {judgement.state for judgement in read_judgements(folder / "judgements.sqlite")} == {"answered"}
    return server.count - before


def test_what_is_refused_is_refused_once_and_never_again(tmp_path: Path) -> None:
    """Before, each of 64 calls in flight was refused each parameter: 128 for nothing, and in every command."""
    with JudgeServer(strict()) as server:
        assert judge(server, tmp_path, 80, max_concurrency=64) == 80 + len(REFUSED)
        assert server.most_in_flight >= 32
        lessons = json.loads((tmp_path / "judgements.endpoints.json").read_bytes())
        assert lessons[f"{server.url}#tiny"]["not_taken"] == ["temperature"]
        assert lessons[f"{server.url}#tiny"]["limits"] == ["max_completion_tokens"]
        assert judge(server, tmp_path, 90, max_concurrency=64) == 10, "the next command knows it"
    unsent = {judgement.unsent for judgement in read_judgements(tmp_path / "judgements.sqlite")}
    assert unsent == {("temperature",)}


def test_what_was_learnt_long_ago_is_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "judgements.endpoints.json"
    with JudgeServer(strict(0.0)) as server:
        judge(server, tmp_path, 1)
        lessons = json.loads(file.read_bytes())
        lessons[f"{server.url}#tiny"]["learnt"] -= 31 * 86_400
        file.write_text(json.dumps(lessons), "utf-8")
        assert judge(server, tmp_path, 2) == 1 + len(REFUSED)
        file.write_text("[not JSON", "utf-8")
        assert judge(server, tmp_path, 3) == 1 + len(REFUSED)


def test_nothing_is_kept_where_all_is_taken_and_a_slow_first_call_holds_nobody_up(tmp_path: Path) -> None:
    with JudgeServer(lambda request, number: Action(delay=2.5 if number == 1 else 0.0)) as server:
        began = time.monotonic()
        assert judge(server, tmp_path, 12, max_concurrency=4) == 12
        assert time.monotonic() - began < 2 * 2.5
    assert not (tmp_path / "judgements.endpoints.json").exists()


# -- fields of a file of endpoints ------------------------------------------------------------------


def test_fields_of_an_endpoint_are_sent_there_and_tell_judgements_apart(tmp_path: Path) -> None:
    with JudgeServer() as server:
        file = tmp_path / "endpoints.yaml"
        entry = "- address: {}\n  extra:\n    chat_template_kwargs.enable_thinking: {}\n    service_tier: {}\n"
        asked = []
        for thinking, tier in (("false", "flex"), ("false", "default"), ("true", "flex")):
            file.write_text(entry.format(server.judge, thinking, tier), "utf-8")
            asked.append(judge(server, tmp_path, 2, str(file)))
        assert asked == [2, 0, 2], "whose price differs is the same judgement"
        assert server.received[0].body["chat_template_kwargs"] == {"enable_thinking": False}
        assert server.received[0].body["service_tier"] == "flex"
        (name,) = named_models([str(file)])
        both = with_endpoint_fields(Sampling(extra={"chat_template_kwargs": {"more": 1}}), name)
        assert both.extra["chat_template_kwargs"] == {"enable_thinking": True, "more": 1}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("extra: {temperature: 1}", "temperature is filled in by bedside"),
        ("extra: 5", "extra"),
        ("rpm: 0", "rpm"),
        ("stream: 1", "stream"),
    ],
)
def test_settings_that_cannot_be(entry: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "endpoints.yaml"
    file.write_text(f"- address: http://h:1/v1#m\n  {entry}\n", "utf-8")
    with pytest.raises((RegistryError, InputError)) as raised:
        named_models([str(file)])
    assert words in str(raised.value)


def test_paths_of_fields_and_what_is_joined() -> None:
    extra = checked_extra({"provider.sort": "price", "provider.zdr": True, "seeds": [1]}, "x")
    assert extra == {"provider": {"sort": "price", "zdr": True}, "seeds": [1]}
    assert with_fields({"a": {"b": 1}, "c": 1}, {"a": {"d": 2}, "c": {"e": 3}}) == {
        "a": {"b": 1, "d": 2},
        "c": {"e": 3},
    }
    assert key_parameters(Sampling(extra={"stream": True, "service_tier": "flex"})) == key_parameters(Sampling())
    assert key_parameters(Sampling(extra={"enable_thinking": True})) != key_parameters(Sampling())


# -- requests and tokens a minute -------------------------------------------------------------------


class _Clock:
    """A client that notes when it is asked."""

    def __init__(self, tokens: int) -> None:
        self.max_prompt_tokens: int | None = None
        self.times: list[float] = []
        self._tokens = tokens

    async def complete(self, request: Request) -> Reply:
        self.times.append(asyncio.get_running_loop().time())
        return Reply("ok", self._tokens, 0)

    async def close(self) -> None:
        pass


def spaces(rpm: float | None, tpm: float | None, tokens: int, text: str, count: int) -> list[float]:
    clock = _Clock(tokens)

    async def ask() -> None:
        client = PacedClient(clock, rpm, tpm)
        await asyncio.gather(*(client.complete(Request.of_text(text)) for _ in range(count)))

    asyncio.run(ask())
    return [later - before for before, later in zip(clock.times, clock.times[1:], strict=False)]


def test_requests_a_minute_are_spaced() -> None:
    gaps = spaces(600, None, 10, "x", 6)
    assert all(gap == pytest.approx(0.1, abs=0.06) for gap in gaps), gaps


def test_tokens_a_minute_are_spaced_by_what_was_taken() -> None:
    """A prompt of 700 tokens and a reply reckoned at 300, of 600,000 a minute, are a tenth of a second."""
    text = "word " * 560
    assert estimate_tokens(text) == 700
    gaps = spaces(None, 600_000, 1000, text, 5)
    assert sum(gaps) == pytest.approx(4 * 0.1, abs=0.15), gaps


def limits(text: str) -> Callable[[Path], Any]:
    def made(folder: Path) -> Any:
        file = folder / "endpoints.yaml"
        file.write_text(text, "utf-8")
        return model_name(str(file))

    return made


def test_limits_of_one_endpoint_are_its_own(tmp_path: Path) -> None:
    name = limits("- address: http://h:1/v1#m\n  rpm: 60\n  tpm: 30000\n")(tmp_path)
    (endpoint,) = name.endpoints
    assert (endpoint.rpm, endpoint.tpm, endpoint.max_concurrency) == (60, 30000, None)
