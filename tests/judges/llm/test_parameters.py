"""Which parameters are sent, and what is learnt from what servers say: of parameters, and of how long to wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from bedside.judges.llm.contract import read_name
from bedside.judges.llm.openai_chat import OPENAI_URL, ChatParameters, OpenAIChat
from bedside.judges.llm.prices import ModelFacts
from bedside.judges.llm.protocol import LanguageModelError, Request, Sampling
from bedside.judges.llm.server_problems import Secrets, asked_wait, duration, read_problem

ALL = Sampling(temperature=0.5, max_tokens=100, probabilities=True, reasoning_effort="low")


def said(error: object, status: int = 400) -> Any:
    return read_problem(status, orjson.dumps(error))


def test_what_a_table_says_is_left_out() -> None:
    facts = ModelFacts(temperature=False, probabilities=True, most_probabilities=5)
    parameters = ChatParameters("m", ALL, facts, new_limit=True)
    assert parameters.fields == {
        "model": "m", "max_completion_tokens": 100, "logprobs": True, "top_logprobs": 5, "reasoning_effort": "low",
    }  # fmt: skip
    assert parameters.unsent == ("temperature",)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        ({"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}}, "temperature"),
        ({"error": {"message": "no", "param": "reasoning.effort", "code": "x"}}, None),
        ({"error": {"message": "Unsupported parameter: 'top_logprobs'"}}, "probabilities"),
        ({"object": "error", "message": "logprobs is not supported", "code": 400}, "probabilities"),
        ({"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}, "temperature"),
        ({"error": "unknown field reasoning_effort"}, "reasoning_effort"),
        ({"error": {"message": "messages: the temperature of the talk is unknown", "param": "messages"}}, None),
        ({"error": {"message": "the temperature in the room was 20"}}, None),
        ({"error": {"message": "response_format is not supported", "param": "response_format"}}, None),
        ({"error": {"message": "error: {'loc': ('body',), 'msg': 'invalid', 'input': {'temperature': 0"}}, None),
        # No seed is sent.
        ({"message": "[{'loc': ('body', 'seed'), 'msg': 'not permitted', 'input': 1}]"}, None),
        ({}, None),
        ([], None),
        ("x", None),
    ],
)
def test_what_is_learnt(error: object, meaning: str | None) -> None:
    parameters = ChatParameters("m", ALL, ModelFacts())
    before = parameters.fields
    assert parameters.learn(said(error), before) == meaning
    assert (parameters.fields == before) is (meaning is None)
    assert parameters.unsent == (() if meaning is None else (meaning,))
    if meaning is not None:
        assert parameters.learn(said(error), before) == meaning, "of requests that were under way"


def test_what_requests_begin_with_alike_is_told_to_those_who_take_it() -> None:
    request = Request.of_text("shared, own", opening="talk 7", shared=6)

    def sent(address: str, model: str = "gpt-5-mini") -> tuple[OpenAIChat, dict[str, Any]]:
        chat = OpenAIChat(replace(read_name(address), model=model), Sampling(), Secrets())
        return chat, orjson.loads(chat.content(request).body)

    chat, body = sent(f"{OPENAI_URL}#m")
    assert len(body["prompt_cache_key"]) == 32
    assert "talk 7" not in str(body)
    refused = said({"error": {"message": "Unrecognized request argument supplied: prompt_cache_key"}})
    assert chat.parameters.learn(refused, chat.content(request).fields) == "prompt_cache_key"
    again = chat.content(request)
    assert (b"prompt_cache_key" in again.body, again.unsent) == (False, ())
    _, body = sent("http://127.0.0.1:9/v1#m")
    assert set(body) == {"model", "max_tokens", "temperature", "messages"}
    _, body = sent("openrouter/x", "anthropic/claude-sonnet-5")
    assert body["messages"] == [{"role": "user", "content": [
        {"type": "text", "text": "shared", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": ", own"},
    ]}]  # fmt: skip


def test_the_limit_goes_by_its_other_name_and_then_not_at_all() -> None:
    parameters = ChatParameters("m", Sampling(), ModelFacts())
    for name, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", None)):
        error = {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}
        assert parameters.learn(said(error), parameters.fields) == "max_tokens"
        assert (other in parameters.fields) is (other is not None)
    assert parameters.unsent == ("max_tokens",)


@pytest.mark.parametrize(
    ("error", "todo"),
    [
        ({"message": "max_tokens is too large: 100. At most 50.", "param": "max_tokens"}, "`max_tokens`"),
        ({"message": "no", "param": "reasoning_effort", "code": "unsupported_value"}, "`reasoning_effort`"),
        ({"message": "no", "param": "temperature", "code": "decimal_above_max_value"}, "a lower `temperature`"),
        ({"message": "no", "param": "temperature", "code": "decimal_below_min_value"}, "a higher `temperature`"),
        ({"message": "Invalid: temperature must be less than or equal to 0.4"}, "a lower `temperature`"),
    ],
)
def test_another_value_is_for_the_user_to_choose(error: object, todo: str) -> None:
    parameters = ChatParameters("m", ALL, ModelFacts())
    with pytest.raises(LanguageModelError) as raised:
        parameters.learn(said({"error": error}), parameters.fields)
    assert todo in str(raised.value.todo)


@pytest.mark.parametrize(
    ("headers", "words", "seconds"),
    [
        ({}, "", None),
        ({"Retry-After": "2"}, "", 2.0),
        ({"retry-after-ms": "250", "Retry-After": "1"}, "", 0.25),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, "", 360.0),
        ({"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "20ms"}, "", 0.02),
        ({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s"}, "", None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s",
          "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "90s"}, "", 90.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, "", None),
        ({}, "Rate limit reached. Please try again in 8m38.4s. Visit the page", 518.4),
        ({}, "Please retry after 26 seconds.", 26.0),
        ({}, "Please try again in 200 milliseconds.", 0.2),
        ({"Retry-After": "nan"}, "", None),
        ({"retry-after-ms": "-5"}, "", None),
    ],
)  # fmt: skip
def test_waits(headers: dict[str, str], words: str, seconds: float | None) -> None:
    assert asked_wait(headers, words) == (None if seconds is None else pytest.approx(seconds))


def test_durations() -> None:
    assert duration("1h2m3.5s") == pytest.approx(3723.5)
    assert duration("1.5") == 1.5
    assert [duration(text) for text in ("", "1x", "s", "1s2", "inf")] == [None] * 5
