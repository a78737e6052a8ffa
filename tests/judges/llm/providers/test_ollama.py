"""Judging where Ollama's documented behaviours are met."""

from __future__ import annotations

import pytest

from bedside.core.errors import RegistryError
from bedside.judges.llm.clients.ollama import _host
from tests.judges.llm.providers import ollama
from tests.judges.llm.providers.command import Ended, JudgeCommand
from tests.judges.llm.providers.server import Answer, Call, ProviderServer, fitting

pytestmark = pytest.mark.server
JUDGE = "ollama/llama3.2"


@pytest.fixture(autouse=True)
def environment(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)


def rated(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert [row["value"] is not None for row in ended.ratings] == [True] * 2


def test_a_judgement(server: ProviderServer, command: JudgeCommand) -> None:
    """api.md, Chat request (Structured outputs)."""
    with server.behaving(ollama.chat):
        ended = command(JUDGE, "--max-cost", 1)  # a model on a computer of the user's costs nothing
    rated(ended)
    call = server.calls[0]
    assert call.path == "/api/chat"
    assert "authorization" not in call.headers
    assert call.body["stream"] is False
    assert call.body["format"]["required"] == ["reason", "score"]
    assert call.body["options"] == {"num_predict": 4096, "num_ctx": 16_384 + 4096, "temperature": 0.0}
    assert (ended.judgements[0].input_tokens, ended.judgements[0].output_tokens) == (500, 40)


def test_an_older_server_that_takes_no_schema(server: ProviderServer, command: JudgeCommand) -> None:
    """Before version 0.5 ``format`` was a word."""

    def behaviour(call: Call) -> Answer:
        if "format" in call.body:
            return ollama.error(400, "json: cannot unmarshal object into Go struct field ChatRequest.format")
        return ollama.chat(call, f"<think>Let me see.</think>\n{fitting(None)}")

    with server.behaving(behaviour):
        ended = command(JUDGE, "--max-concurrency", 1)
    rated(ended)
    assert len(server.calls) == 3


STOPS: dict[str, tuple[Answer, str, str]] = {
    "model": (
        ollama.error(404, "model 'llama3.2' not found"),
        "has no model 'llama3.2'",
        "fetch it with: ollama pull llama3.2",
    ),
    "memory": (
        ollama.error(500, "model requires more system memory (39.1 GiB) than is available (7.4 GiB)"),
        "there isn't enough memory for llama3.2",
        "name a smaller model",
    ),
    "key": (ollama.error(401, "unauthorized"), "refuses the key", "check OLLAMA_API_KEY"),
}


@pytest.mark.parametrize("stop", STOPS)
def test_what_stops_a_run_is_one_line(stop: str, server: ProviderServer, command: JudgeCommand) -> None:
    answer, what, todo = STOPS[stop]
    with server.behaving(lambda call: answer):
        ended = command(JUDGE)
    assert ended.code == 2
    assert what in ended.line
    assert todo in ended.line


@pytest.mark.slow
def test_a_server_that_is_not_running_is_one_line(
    command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    ended = command(JUDGE)
    assert ended.code == 2
    assert "no server answers" in ended.line
    assert "check that it runs" in ended.line


@pytest.mark.slow
def test_a_busy_server_is_waited_for(server: ProviderServer, command: JudgeCommand) -> None:
    """docs.ollama.com/faq, How does Ollama handle concurrent requests: 503 where too many wait."""
    busy = ollama.error(503, "server busy, please try again.  maximum pending requests exceeded")
    with server.behaving(lambda call: busy if call.number == 1 else ollama.chat(call)):
        ended = command(JUDGE)
    rated(ended)
    assert len(server.calls) == 3


def test_a_prompt_too_long_leaves_its_rating_missing(server: ProviderServer, command: JudgeCommand) -> None:
    """``truncate`` has the server say so, in place of leaving the beginning out."""

    def behaviour(call: Call) -> Answer:
        assert call.body["truncate"] is False
        said = "the input length exceeds the context length"
        return ollama.error(400, said) if call.number == 1 else ollama.chat(call)

    with server.behaving(behaviour):
        ended = command(JUDGE, "--max-concurrency", 1)
    assert ended.code == 0, ended.err
    missing, there = sorted(ended.ratings, key=lambda row: row["value"] is not None)
    assert there["value"] is not None
    assert "longer than llama3.2 takes in" in missing["error"]


def test_what_is_longer_than_the_room_is_not_sent(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(ollama.chat):
        ended = command(JUDGE, "--max-prompt-tokens", 20)
    assert ended.code == 0, ended.err
    assert server.calls == []
    assert all(row["value"] is None for row in ended.ratings)


def test_thinking_is_no_part_of_the_reply(server: ProviderServer, command: JudgeCommand) -> None:
    """docs.ollama.com/capabilities/thinking: it comes beside the content."""
    with server.behaving(lambda call: ollama.chat(call, message={"thinking": 'It says {"score": 1}.'})):
        ended = command(JUDGE)
    rated(ended)


def test_a_reply_cut_before_it_began(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(
        lambda call: ollama.chat(call, "", done_reason="length", message={"thinking": "Hm, well, …"})
    ):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    assert all("empty within 4096 tokens, thinking included" in row["error"] for row in ended.ratings)


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("gpu1", "http://gpu1:11434"),
        ("gpu1:8080/", "http://gpu1:8080"),
        ("http://gpu1:8080", "http://gpu1:8080"),
        ("https://ollama.com", "https://ollama.com"),
        ("https://gateway.example/ollama/", "https://gateway.example/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_addresses_as_for_its_own_programs(
    setting: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs.ollama.com/faq, How can I expose Ollama on my network: OLLAMA_HOST."""
    monkeypatch.setenv("OLLAMA_HOST", setting)
    assert _host() == address


@pytest.mark.parametrize("setting", ["http://me:secret@gpu1", "gpu1:port", "ftp://gpu1"])
def test_addresses_that_are_none(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", setting)
    with pytest.raises(RegistryError) as raised:
        _host()
    assert "OLLAMA_HOST" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_model_that_does_not_think_is_not_told_to(server: ProviderServer, command: JudgeCommand) -> None:
    def behaviour(call: Call) -> Answer:
        if "think" in call.body:
            return ollama.error(400, '"llama3.2" does not support thinking')
        return ollama.chat(call)

    with server.behaving(behaviour):
        ended = command(JUDGE, "--reasoning-effort", "low", "--max-concurrency", 1)
    rated(ended)
    assert len(server.calls) == 3
