"""Judging where the Gemini API's documented behaviours are met."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.judges.llm.providers import gemini
from tests.judges.llm.providers.command import Ended, JudgeCommand
from tests.judges.llm.providers.server import Answer, Behaviour, Call, ProviderServer, fitting

pytestmark = pytest.mark.server
KEY = "AIza-test-key-of-no-one"
JUDGE = "gemini/gemini-2.5-flash"


@pytest.fixture(autouse=True)
def environment(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)


def rated(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert [row["value"] is not None for row in ended.ratings] == [True] * 2


def then(first: Answer) -> Behaviour:
    """One answer to the first request, and replies to those after it."""
    return lambda call: first if call.number == 1 else gemini.content(call)


def test_a_judgement(server: ProviderServer, command: JudgeCommand) -> None:
    """ai.google.dev/gemini-api/docs/structured-output: responseMimeType and responseJsonSchema."""
    with server.behaving(gemini.content):
        ended = command(JUDGE)
    rated(ended)
    call = server.calls[0]
    assert call.path == "/v1beta/models/gemini-2.5-flash:generateContent"
    assert call.headers["x-goog-api-key"] == KEY
    assert "authorization" not in call.headers
    assert call.query == {}
    settings = call.body["generationConfig"]
    assert (settings["temperature"], settings["maxOutputTokens"]) == (0.0, 4096)
    assert settings["responseMimeType"] == "application/json"
    assert settings["responseJsonSchema"]["required"] == ["reason", "score"]
    assert {setting["threshold"] for setting in call.body["safetySettings"]} == {"BLOCK_NONE"}
    assert (ended.judgements[0].input_tokens, ended.judgements[0].output_tokens) == (500, 40)


@pytest.mark.parametrize(("model", "sent"), [("gemini-2.5-flash", True), ("gemini-3.6-flash", False)])
def test_temperature_where_the_model_takes_it(
    model: str, sent: bool, server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(gemini.content):
        ended = command(f"gemini/{model}")
    rated(ended)
    assert ("temperature" in server.calls[0].body["generationConfig"]) is sent


def test_a_model_that_takes_no_schema(server: ProviderServer, command: JudgeCommand) -> None:
    """Errors of fields as Google's interfaces write them; a model may take JSON without a schema, or neither."""

    def behaviour(call: Call) -> Answer:
        settings = call.body["generationConfig"]
        if "responseJsonSchema" in settings:
            return gemini.error(
                400, "INVALID_ARGUMENT", 'Unknown name "responseJsonSchema": Cannot find field.'
            )
        if "responseMimeType" in settings:
            return gemini.error(400, "INVALID_ARGUMENT", "JSON mode is not enabled for models/gemma-3")
        return gemini.content(call, f"```json\n{fitting(None)}\n```")

    with server.behaving(behaviour):
        ended = command("gemini/gemma-3", "--max-concurrency", 1)
    rated(ended)
    assert len(server.calls) == 4


STOPS: dict[str, tuple[Answer, str, str]] = {
    "key": (
        gemini.error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            gemini.detail("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com"),
        ),
        "Gemini refuses the key",
        "check GOOGLE_API_KEY or GEMINI_API_KEY",
    ),
    "permission": (
        gemini.error(
            403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1 before."
        ),
        "refuses access",
        "GEMINI_API_KEY",
    ),
    "model": (
        gemini.error(404, "NOT_FOUND", "models/gemini-2.5-flash is not found for API version v1beta"),
        "has no model 'gemini-2.5-flash'",
        "check the model's name",
    ),
    "place": (
        gemini.error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
        "can't be asked from this account or place",
        "switch billing on",
    ),
    "day": (
        gemini.error(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            gemini.detail(
                "QuotaFailure", violations=[{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]
            ),
            gemini.detail("RetryInfo", retryDelay="34s"),
        ),
        "the day's quota at Gemini is used up",
        "again tomorrow",
    ),
}


@pytest.mark.parametrize("stop", STOPS)
def test_what_stops_a_run_is_one_line(stop: str, server: ProviderServer, command: JudgeCommand) -> None:
    """ai.google.dev/gemini-api/docs/troubleshooting and docs/rate-limits."""
    answer, what, todo = STOPS[stop]
    with server.behaving(lambda call: answer):
        ended = command(JUDGE)
    assert ended.code == 2
    assert what in ended.line
    assert todo in ended.line
    assert KEY not in ended.err


def minute(delay: str) -> Answer:
    """A limit of requests a minute, with how long to wait in the body (google.rpc.RetryInfo)."""
    violation = {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}
    return gemini.error(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
        gemini.detail("QuotaFailure", violations=[violation]),
        gemini.detail("RetryInfo", retryDelay=delay),
    )


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (minute("1.2s"), 1.2),
        (gemini.error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), 0.0),
        (gemini.error(500, "INTERNAL", "An internal error has occurred."), 0.0),
        (gemini.error(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."), 0.0),
    ],
    ids=["minute", "overloaded", "internal", "deadline"],
)
@pytest.mark.slow
def test_what_passes_is_waited_for(
    answer: Answer, waits: float, server: ProviderServer, command: JudgeCommand
) -> None:
    began = time.monotonic()
    with server.behaving(then(answer)):
        ended = command(JUDGE)
    rated(ended)
    assert len(server.calls) == 3
    assert time.monotonic() - began >= waits


def test_a_prompt_too_long_leaves_its_rating_missing(server: ProviderServer, command: JudgeCommand) -> None:
    said = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    with server.behaving(then(gemini.error(400, "INVALID_ARGUMENT", said))):
        ended = command(JUDGE, "--max-concurrency", 1)
    assert ended.code == 0, ended.err
    missing, there = sorted(ended.ratings, key=lambda row: row["value"] is not None)
    assert there["value"] is not None
    assert "longer than gemini-2.5-flash takes in" in missing["error"]


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (lambda call: gemini.blocked("PROHIBITED_CONTENT"), "filter blocked the prompt: PROHIBITED_CONTENT"),
        (
            lambda call: gemini.content(call, candidate={"finishReason": "SAFETY", "content": {}}),
            "filter ended the reply: SAFETY",
        ),
        (
            lambda call: gemini.content(call, candidate={"finishReason": "RECITATION", "content": {}}),
            "filter ended the reply: RECITATION",
        ),
    ],
    ids=["prompt", "safety", "recitation"],
)
def test_a_filter_is_a_reason_of_its_own(
    behaviour: Behaviour, says: str, server: ProviderServer, command: JudgeCommand
) -> None:
    """ai.google.dev/api/generate-content: BlockReason and FinishReason."""
    with server.behaving(behaviour):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    assert len(server.calls) == 2  # it isn't asked again
    assert all(says in row["error"] for row in ended.ratings)


@pytest.mark.parametrize("ending", ["MAX_TOKENS", "OTHER"])
def test_an_empty_reply_says_why(ending: str, server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(
        lambda call: gemini.content(call, candidate={"finishReason": ending, "content": {"role": "model"}})
    ):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    why = "within 4096 tokens, thinking included" if ending == "MAX_TOKENS" else "(OTHER)"
    assert all(f"the reply is empty {why}" in row["error"] for row in ended.ratings)


def test_thoughts_are_counted_and_are_no_part_of_the_reply(
    server: ProviderServer, command: JudgeCommand
) -> None:
    """ai.google.dev/gemini-api/docs/thinking: thoughts come as parts, and their tokens beside the candidates'."""

    def behaviour(call: Call) -> Answer:
        words = fitting(call.body["generationConfig"]["responseJsonSchema"])
        parts: list[dict[str, Any]] = [{"text": "I think {so}.", "thought": True}, {"text": words}]
        usage = {"promptTokenCount": 500, "candidatesTokenCount": 40, "thoughtsTokenCount": 60,
                 "cachedContentTokenCount": 300, "totalTokenCount": 600}  # fmt: skip
        return gemini.content(call, candidate={"content": {"role": "model", "parts": parts}}, usage=usage)

    with server.behaving(behaviour):
        ended = command(JUDGE)
    rated(ended)
    for judgement in ended.judgements:
        assert (judgement.input_tokens, judgement.output_tokens) == (500, 100)
        assert (judgement.cached_tokens, judgement.reasoning_tokens) == (300, 60)


def test_two_keys_that_differ_are_not_chosen_from(
    server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza-another-key")
    with server.behaving(gemini.content):
        ended = command(JUDGE)
    assert (ended.code, server.calls) == (2, [])
    assert "GOOGLE_API_KEY and GEMINI_API_KEY hold different keys" in ended.line


def test_vertex_is_another_way(
    server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with server.behaving(gemini.content):
        ended = command(JUDGE)
    assert (ended.code, server.calls) == (2, [])
    assert "litellm/vertex_ai/MODEL" in ended.line


def test_expected_levels_from_probabilities(server: ProviderServer, command: JudgeCommand) -> None:
    """ai.google.dev/api/generate-content, LogprobsResult: one chosen token for each place, and its alternatives."""

    def behaviour(call: Call) -> Answer:
        settings = call.body["generationConfig"]
        assert (settings["responseLogprobs"], settings["logprobs"]) == (True, 20)
        pieces = ['{"reason": "turn 0", "score": ', "3", "}"]
        chosen = [{"token": piece, "logProbability": -0.1} for piece in pieces]
        top = [{"candidates": [token]} for token in chosen]
        top[1]["candidates"] = [
            {"token": "3", "logProbability": -0.223144},
            {"token": "4", "logProbability": -1.609438},
        ]
        result = {"chosenCandidates": chosen, "topCandidates": top}
        return gemini.content(call, "".join(pieces), candidate={"logprobsResult": result})

    with server.behaving(behaviour):
        ended = command("gemini/gemini-2.0-flash", "--expected")
    assert ended.code == 0, ended.err
    expected = [row["value"] for row in ended.ratings if row["metric"] == "empathy.expected"]
    assert expected == pytest.approx([3.2, 3.2], abs=1e-4)


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192}),
        ("gemini-3.6-flash", "none", {"thinkingLevel": "minimal"}),
        ("gemini-3.6-flash", "high", {"thinkingLevel": "high"}),
    ],
)
def test_the_effort_of_reasoning(
    model: str, effort: str, sent: dict[str, Any], server: ProviderServer, command: JudgeCommand
) -> None:
    """ai.google.dev/gemini-api/docs/thinking, and docs/openai, Thinking, for the numbers of tokens."""
    with server.behaving(gemini.content):
        ended = command(f"gemini/{model}", "--reasoning-effort", effort)
    rated(ended)
    assert server.calls[0].body["generationConfig"]["thinkingConfig"] == sent
