"""Judging where documented behaviours of vLLM, SGLang, llama.cpp and OpenRouter are met."""

from __future__ import annotations

import pytest

from tests.judges.llm.providers import open_servers, openai
from tests.judges.llm.providers.command import JudgeCommand
from tests.judges.llm.providers.server import Answer, Call, ProviderServer

pytestmark = pytest.mark.server
GOOD = '{"reason": "turn 1", "score": 4}'


@pytest.fixture
def judge(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("BEDSIDE_API_KEY", raising=False)
    return f"{server.url}/v1#tiny"


def refused_once(answer: Answer, *fields: str) -> openai.Behaviour:
    """Answers so for as long as one of the fields is sent."""
    return lambda call: answer if any(field in call.body for field in fields) else openai.chat(call)


@pytest.mark.parametrize(
    ("answer", "field", "options"),
    [
        (open_servers.vllm_error("temperature is not supported by this model"), "temperature", ()),
        (
            open_servers.vllm_error("Unsupported parameter: seed", nested=False),
            "seed",
            ("--temperature", "0.5"),
        ),
        (
            open_servers.pydantic_error(["temperature"], "Extra inputs are not permitted", "extra_forbidden"),
            "temperature",
            (),
        ),
    ],
    ids=["vLLM", "vLLM before", "FastAPI"],
)
def test_a_parameter_that_is_refused(
    answer: Answer,
    field: str,
    options: tuple[str, ...],
    judge: str,
    server: ProviderServer,
    command: JudgeCommand,
) -> None:
    with server.behaving(refused_once(answer, field)):
        ended = command(judge, "--max-concurrency", "1", *options)
    assert ended.code == 0, ended.err
    assert len(server.calls) == 3
    assert ended.entry["not_taken"].keys() == {field}
    assert f"it takes no {field}" in ended.said


def test_two_servers_of_one_model_learn_apart(server: ProviderServer, command: JudgeCommand) -> None:
    """One takes a temperature, the other doesn't: each is sent what it takes."""
    refused = open_servers.vllm_error("temperature is not supported by this model")

    def behaviour(call: Call) -> Answer:
        strict = call.path.startswith("/strict/")
        return refused if strict and "temperature" in call.body else openai.chat(call)

    with server.behaving(behaviour):
        one, other = f"{server.url}/strict/v1#tiny", f"{server.url}/v1#tiny"
        ended = command(one, "--judge", other, "--passes", "8", "--max-concurrency", "2")
        assert ended.code == 0, ended.err
        strict = [call.body for call in server.calls if call.path.startswith("/strict/")]
        free = [call.body for call in server.calls if not call.path.startswith("/strict/")]
    assert all("temperature" in body for body in free)
    judgements = ended.judgements
    assert len(judgements) == 16
    left_out = [judgement for judgement in judgements if judgement.unsent]
    assert {str(judgement.endpoint) for judgement in left_out} <= {f"{server.url}/strict/v1"}
    assert len(left_out) == sum("temperature" not in body for body in strict)
    if left_out and len(left_out) < 16:
        assert f"(in {len(left_out)} of 16 judgements, not in the others)" in ended.said


@pytest.mark.parametrize(
    "answer",
    [open_servers.VLLM_TOO_LONG, open_servers.VLLM_NO_ROOM, open_servers.LLAMA_TOO_LONG, Answer({}, 413)],
    ids=["vLLM", "vLLM without room for the reply", "llama.cpp", "413"],
)
def test_a_prompt_that_is_too_long_leaves_the_others(
    answer: Answer, judge: str, server: ProviderServer, command: JudgeCommand
) -> None:
    def behaviour(call: Call) -> Answer:
        return answer if "2 nights" in call.body["messages"][0]["content"] else openai.chat(call)

    with server.behaving(behaviour):
        ended = command(judge)
    assert ended.code == 0, ended.err
    assert len(server.calls) == 2
    errors = {row["transcript_id"]: row["error"] for row in ended.ratings}
    assert errors["talk-1"] is None
    assert errors["talk-0"].startswith(
        "the prompt, with 4096 tokens for the reply, is more than the model takes in"
    )


def test_a_model_that_is_loading_is_waited_for(
    judge: str, server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(lambda call: open_servers.LLAMA_LOADING if call.number < 3 else openai.chat(call)):
        ended = command(judge, "--max-concurrency", "1")
    assert all(row["value"] is not None for row in ended.ratings)


def test_no_schema_but_words(judge: str, server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(refused_once(open_servers.LLAMA_NO_GRAMMAR, "response_format")):
        ended = command(judge, "--max-concurrency", "1")
    assert ended.code == 0, ended.err
    assert all(row["value"] is not None for row in ended.ratings)
    assert "it takes no JSON Schema, so that the form of its reply is described in words" in ended.said
    assert ended.entry["not_taken"]["schema"]["judgements"] == 2


def test_a_model_of_another_name(judge: str, server: ProviderServer, command: JudgeCommand) -> None:
    def behaviour(call: Call) -> Answer:
        if call.method == "GET":
            return Answer({"object": "list", "data": [{"id": "Qwen/Qwen3-8B"}, {"id": "tiny-lora"}]})
        return open_servers.vllm_error("The model `tiny` does not exist.", 404, kind="NotFoundError")

    with server.behaving(behaviour):
        ended = command(judge)
    assert "has no model 'tiny'" in ended.line
    assert "tiny-lora" in ended.line


def test_an_address_that_is_none(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda _: Answer({"detail": "Not Found"}, 404)):
        ended = command(f"{server.url}#tiny")
    assert "mostly ends in /v1" in ended.line


def test_reasoning_that_is_counted_apart_or_stands_beside_the_reply(
    judge: str, server: ProviderServer, command: JudgeCommand
) -> None:
    """vLLM, llama.cpp and DeepSeek write ``reasoning_content``; xAI counts reasoning beside the completion's tokens."""
    parts = {
        "text": GOOD,
        "message": {"reasoning_content": 'perhaps {"reason": "no", "score": 1}'},
        "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 200,
            "completion_tokens_details": {"reasoning_tokens": 80},
        },
    }  # fmt: skip
    with server.behaving(lambda call: openai.chat(call, **parts)):
        ended = command(judge, "--price", "in=0,out=1")
    assert {row["value"] for row in ended.ratings} == {4.0}
    assert {(each.output_tokens, each.reasoning_tokens) for each in ended.judgements} == {(100, 80)}


def test_reasoning_that_leaves_no_room(judge: str, server: ProviderServer, command: JudgeCommand) -> None:
    cut = {"finish_reason": "length"}
    with server.behaving(
        lambda call: openai.chat(call, text="", message={"reasoning_content": "…"}, choice=cut)
    ):
        ended = command(judge)
    assert len(server.calls) == 2
    assert all("used all 4096 tokens for reasoning" in row["error"] for row in ended.ratings)


# -- OpenRouter -------------------------------------------------------------------------------------


@pytest.fixture
def router(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENROUTER_BASE_URL", f"{server.url}/api/v1")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-key-of-no-one")
    return "openrouter/openai/gpt-5-mini"


def test_a_router_is_sent_what_the_model_takes(
    router: str, server: ProviderServer, command: JudgeCommand
) -> None:
    pytest.importorskip("deepeval")
    with server.behaving(openai.chat):
        ended = command(router, "--reasoning-effort", "low")
    assert ended.code == 0, ended.err
    sent = server.sent("/api/v1/chat/completions")[0]
    assert sent["model"] == "openai/gpt-5-mini"
    assert "temperature" not in sent
    assert sent["reasoning"] == {"effort": "low"}
    assert "it takes no temperature" in ended.said


def test_what_a_router_flags(router: str, server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda _: open_servers.ROUTER_FLAGGED):
        ended = command(router)
    assert ended.code == 0, ended.err
    assert {row["error"] for row in ended.ratings} == {
        "the provider's content filter stopped the prompt (self-harm)"
    }


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            open_servers.router_error(402, "Insufficient credits"),
            ["no credit left", "add credits at openrouter.ai"],
        ),
        (
            open_servers.router_error(401, "No auth credentials found"),
            ["refuses the key", "OPENROUTER_API_KEY"],
        ),
        (open_servers.router_error(400, "openai/gpt-5-mini is not a valid model ID"), ["no model"]),
    ],
    ids=["credit", "key", "model"],
)
def test_what_ends_judging(
    answer: Answer, says: list[str], router: str, server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(lambda _: answer):
        ended = command(router, "--max-concurrency", "1")
    assert ended.code == 2
    assert [words for words in says if words not in ended.line] == [], ended.line


def test_an_error_with_status_200_is_one(router: str, server: ProviderServer, command: JudgeCommand) -> None:
    broken = open_servers.router_error(502, "Provider returned error", http=200, raw="upstream timed out")
    with server.behaving(lambda call: broken if call.number == 1 else openai.chat(call)):
        ended = command(router, "--max-concurrency", "1")
    assert all(row["value"] is not None for row in ended.ratings)
    assert len(server.calls) == 3
    assert any("upstream timed out" in fault for judgement in ended.judgements for fault in judgement.faults)
