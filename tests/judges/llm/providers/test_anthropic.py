"""Judging where Anthropic's documented behaviours are met."""

from __future__ import annotations

import time

import pytest

from tests.judges.llm.providers import anthropic
from tests.judges.llm.providers.command import Ended, JudgeCommand
from tests.judges.llm.providers.server import Answer, Behaviour, Call, ProviderServer, fitting

pytestmark = pytest.mark.server
KEY = "sk-ant-test-key-of-no-one"
JUDGE = "anthropic/claude-sonnet-4-5"


@pytest.fixture(autouse=True)
def environment(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.url}/")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def rated(ended: Ended, number: int = 2) -> None:
    assert ended.code == 0, ended.err
    assert [row["value"] is not None for row in ended.ratings] == [True] * number


def then(first: Answer, times: int = 1) -> Behaviour:
    """One answer to so many requests, and replies to those after them."""
    return lambda call: first if call.number <= times else anthropic.message(call)


def test_a_judgement(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(anthropic.message):
        ended = command(JUDGE)
    rated(ended)
    assert len(server.sent("/v1/messages")) == 2
    headers = server.calls[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers
    body = server.calls[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("claude-sonnet-4-5", 0.0, 4096)
    schema = body["output_config"]["format"]
    assert (schema["type"], schema["schema"]["additionalProperties"]) == ("json_schema", False)
    assert (ended.judgements[0].input_tokens, ended.judgements[0].output_tokens) == (500, 40)
    assert KEY not in "".join(path.read_text("utf-8", "replace") for path in ended.folder.rglob("*.json"))


def test_a_model_without_structured_outputs_calls_a_tool(
    server: ProviderServer, command: JudgeCommand
) -> None:
    """https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use, Forcing tool use."""
    with server.behaving(anthropic.message):
        ended = command("anthropic/claude-3-5-haiku-latest")
    rated(ended)
    body = server.calls[0].body
    assert "output_config" not in body
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}


def test_a_model_that_refuses_structured_outputs(server: ProviderServer, command: JudgeCommand) -> None:
    """Of a model that isn't listed: first the form is given up for a tool, then that for words."""

    def behaviour(call: Call) -> Answer:
        if "output_config" in call.body:
            return anthropic.error(
                400, "invalid_request_error", "output_config.format is not supported on this model"
            )
        if "tools" in call.body:
            return anthropic.error(
                400, "invalid_request_error", "tool_choice: forced tool use is not supported"
            )
        return anthropic.message(call, f"Here it is:\n```json\n{fitting(None)}\n```")

    with server.behaving(behaviour):
        ended = command("anthropic/claude-of-next-year", "--max-concurrency", 1)
    rated(ended)
    assert len(server.calls) == 4  # what was learnt is kept for the second transcript


@pytest.mark.parametrize(
    ("model", "attempts"), [("claude-opus-5", 2), ("claude-of-next-year", 3)], ids=["listed", "unlisted"]
)
def test_a_model_without_temperature(
    model: str, attempts: int, server: ProviderServer, command: JudgeCommand
) -> None:
    """Listed ones aren't sent any; one that refuses it is asked without, and so are the requests after it
    (docs/en/about-claude/models/whats-new, sampling parameters)."""
    said = "`temperature` is deprecated for this model."
    with server.behaving(anthropic.refusing(lambda body: "temperature" in body, said)):
        ended = command(f"anthropic/{model}", "--max-concurrency", 1)
    rated(ended)
    assert len(server.calls) == attempts
    assert "temperature" not in server.calls[-1].body


STOPS: dict[str, tuple[Answer, str, str]] = {
    "key": (
        anthropic.error(401, "authentication_error", "invalid x-api-key"),
        "Anthropic refuses the key",
        "check ANTHROPIC_API_KEY",
    ),
    "permission": (
        anthropic.error(403, "permission_error", "Your API key does not have permission to use this."),
        "refuses access",
        "check what the account of ANTHROPIC_API_KEY may use",
    ),
    "model": (
        anthropic.error(404, "not_found_error", "model: claude-sonnet-4-5"),
        "has no model 'claude-sonnet-4-5'",
        "check the model's name",
    ),
    "billing": (
        anthropic.error(402, "billing_error", "There is an issue with your billing."),
        "no credit",
        "what is done is kept",
    ),
    "credit": (
        anthropic.error(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
        ),
        "no credit",
        "look at its billing at Anthropic",
    ),
    "month": (
        anthropic.error(
            429,
            "rate_limit_error",
            "You have reached your spend limit.",
            details={"error_code": "enforced_spend_limit_reached"},
        ),
        "limit for this month",
        "raise the limit",
    ),
}


@pytest.mark.parametrize("stop", STOPS)
def test_what_stops_a_run_is_one_line(stop: str, server: ProviderServer, command: JudgeCommand) -> None:
    """docs/en/api/errors; the month's limit: docs/en/api/rate-limits, Spend limits."""
    answer, what, todo = STOPS[stop]
    with server.behaving(lambda call: answer):
        ended = command(JUDGE)
    assert ended.code == 2
    assert what in ended.line
    assert todo in ended.line
    assert KEY not in ended.err


@pytest.mark.parametrize(
    "answer",
    [
        anthropic.error(429, "rate_limit_error", "Number of requests has exceeded", {"retry-after": "1"}),
        anthropic.error(529, "overloaded_error", "Overloaded"),
        anthropic.error(500, "api_error", "Internal server error"),
        Answer(b"<html>Bad gateway</html>", 502, {"Content-Type": "text/html"}),
        Answer(drop=True),
    ],
    ids=["rate", "overloaded", "error", "proxy", "dropped"],
)
@pytest.mark.slow
def test_what_passes_is_waited_for(answer: Answer, server: ProviderServer, command: JudgeCommand) -> None:
    began = time.monotonic()
    with server.behaving(then(answer)):
        ended = command(JUDGE)
    rated(ended)
    assert len(server.calls) == 3
    if answer.headers.get("retry-after"):
        assert time.monotonic() - began >= 1
    assert any(judgement.faults for judgement in ended.judgements)


@pytest.mark.parametrize(
    "answer",
    [
        anthropic.error(413, "request_too_large", "Request exceeds the maximum size"),
        anthropic.error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
    ids=["bytes", "tokens"],
)
def test_a_prompt_too_long_leaves_its_rating_missing(
    answer: Answer, server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(then(answer)):
        ended = command(JUDGE, "--max-concurrency", 1)
    assert ended.code == 0, ended.err
    missing, there = sorted(ended.ratings, key=lambda row: row["value"] is not None)
    assert there["value"] is not None
    assert "longer than claude-sonnet-4-5 takes in" in missing["error"]


def test_a_refusal_is_a_reason_of_its_own(server: ProviderServer, command: JudgeCommand) -> None:
    """docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals: 200 with stop_reason refusal."""
    details = {"type": "refusal", "category": "general_harms", "explanation": "It speaks of harm."}
    with server.behaving(
        lambda call: anthropic.message(call, "", stop_reason="refusal", stop_details=details)
    ):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    assert len(server.calls) == 2  # it isn't asked again
    assert {row["error"] for row in ended.ratings} == {"the judge refused: It speaks of harm."}


def test_a_reply_that_was_cut_is_asked_for_again(server: ProviderServer, command: JudgeCommand) -> None:
    """docs/en/build-with-claude/structured-outputs, Invalid outputs: what max_tokens cuts may be no JSON."""

    def behaviour(call: Call) -> Answer:
        if len(call.body["messages"]) > 1:
            return anthropic.message(call)
        return anthropic.message(call, '{"reason": "turn', stop_reason="max_tokens")

    with server.behaving(behaviour):
        ended = command(JUDGE)
    rated(ended)
    again = server.calls[-1].body["messages"]
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert "cut off at 4096 tokens" in again[-1]["content"]


def test_thinking_that_uses_up_the_reply(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(
        lambda call: anthropic.message(
            call,
            content=[{"type": "thinking", "thinking": "Hm.", "signature": "s"}],
            stop_reason="max_tokens",
        )
    ):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    assert all("empty within 4096 tokens, thinking included" in row["error"] for row in ended.ratings)


def test_thinking_and_cached_tokens_are_counted(server: ProviderServer, command: JudgeCommand) -> None:
    """docs/en/build-with-claude/prompt-caching: what is read from and written to a cache stands beside input_tokens;
    thinking stands within output_tokens."""

    def behaviour(call: Call) -> Answer:
        schema = call.body["output_config"]["format"]["schema"]
        blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "redacted_thinking", "data": "x"},
                  {"type": "text", "text": fitting(schema)}]  # fmt: skip
        usage = {"input_tokens": 100, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 50,
                 "output_tokens": 90, "output_tokens_details": {"thinking_tokens": 60}}  # fmt: skip
        return anthropic.message(call, content=blocks, usage=usage)

    with server.behaving(behaviour):
        ended = command(JUDGE)
    rated(ended)
    assert {judgement.input_tokens for judgement in ended.judgements} == {450}
    assert {judgement.output_tokens for judgement in ended.judgements} == {90}
    assert {judgement.cached_tokens for judgement in ended.judgements} == {300}
    assert {judgement.reasoning_tokens for judgement in ended.judgements} == {60}


def test_an_answer_of_another_form(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(then(Answer({"completion": "an older interface"}))):
        ended = command(JUDGE)
    rated(ended)
    assert any("holds no reply" in fault for judgement in ended.judgements for fault in judgement.faults)


@pytest.mark.parametrize(
    ("effort", "thinking", "sent"), [("none", "disabled", None), ("high", "adaptive", "high")]
)
def test_the_effort_of_reasoning(
    effort: str, thinking: str, sent: str | None, server: ProviderServer, command: JudgeCommand
) -> None:
    """docs/en/build-with-claude/effort and adaptive-thinking."""
    with server.behaving(anthropic.message):
        ended = command("anthropic/claude-opus-5", "--reasoning-effort", effort)
    rated(ended)
    body = server.calls[0].body
    assert body["thinking"] == {"type": thinking}
    assert body["output_config"].get("effort") == sent


@pytest.mark.parametrize("ending", ["end_turn", "refusal"])
def test_a_key_that_comes_back_is_kept_nowhere(
    ending: str, server: ProviderServer, command: JudgeCommand
) -> None:
    """As a server may repeat it that only looks like Anthropic's."""
    details = {"type": "refusal", "explanation": f"Not for {KEY}."}
    words = f'{{"reason": "{KEY}", "score": 3}}'
    with server.behaving(
        lambda call: anthropic.message(call, words, stop_reason=ending, stop_details=details)
    ):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    assert KEY not in ended.out + ended.err
    assert not [
        path for path in ended.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert all(KEY not in reply for judgement in ended.judgements for reply in judgement.replies)
