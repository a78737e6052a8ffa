"""What every provider may do, met as each documents it: what ends a run, passes, is too long, filtered or counted."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import pytest

from bedside.core.errors import RegistryError
from bedside.judges.llm.clients.ollama import _host
from tests.judges.llm.providers import anthropic, azure, bedrock, gemini, ollama, open_servers, openai
from tests.judges.llm.providers.profiles import PROFILES, Providers, case
from tests.judges.llm.providers.server import Answer, Behaviour, Call, fitting

pytestmark = pytest.mark.server
INVALID, BAD_ARGUMENT, VALIDATION = "invalid_request_error", "INVALID_ARGUMENT", "ValidationException"
FENCED = f"```json\n{fitting(None)}\n```"
ONE_BY_ONE = ("--max-concurrency", 1)


def at(body: Any, path: str) -> Any:
    """What stands in a body at a path of names."""
    return reduce(lambda part, name: None if part is None else part.get(name), path.split("."), body)


# -- judgements -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "headers", "body"),
    [
        case("openai", "", "/v1/chat/completions", {"authorization": "Bearer {key}"}, {
            "model": "gpt-4.1", "temperature": 0, "max_completion_tokens": 4096, "response_format.type": "json_schema",
        }),
        case("azure", "", "/openai/v1/chat/completions", {"api-key": "{key}", "authorization": None}, {
            "model": "our-judge", "max_completion_tokens": 4096,
        }),
        case("anthropic", "", "/v1/messages",
            {"x-api-key": "{key}", "anthropic-version": "2023-06-01", "authorization": None}, {
            "model": "claude-sonnet-4-5", "temperature": 0, "max_tokens": 4096,
            "output_config.format.type": "json_schema", "output_config.format.schema.additionalProperties": False,
        }),
        # ai.google.dev/gemini-api/docs/structured-output
        case("gemini", "", "/v1beta/models/gemini-2.5-flash:generateContent",
            {"x-goog-api-key": "{key}", "authorization": None}, {
            "generationConfig.temperature": 0, "generationConfig.maxOutputTokens": 4096,
            "generationConfig.responseMimeType": "application/json",
            "generationConfig.responseJsonSchema.required": ["reason", "score"],
        }),
        # Signed by version 4, with structured output by outputConfig (API_runtime_OutputConfig).
        case("bedrock", "", "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
            {"authorization": "AWS4-HMAC-SHA256 Credential=AKIATESTKEYOFNOONE00/"}, {
            "inferenceConfig": {"maxTokens": 4096, "temperature": 0}, "outputConfig.textFormat.type": "json_schema",
        }),
        # api.md, Chat request (Structured outputs)
        case("ollama", "", "/api/chat", {"authorization": None}, {
            "stream": False, "truncate": False, "format.required": ["reason", "score"],
            "options": {"num_predict": 4096, "num_ctx": 16_384 + 4096, "temperature": 0},
        }),
    ],
)  # fmt: skip
def test_a_judgement(
    name: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any], provider: Providers
) -> None:
    asked = provider(name)
    # A model on a computer of the user's costs nothing.
    ended = asked.rated(None, *(("--max-cost", 1) if name == "ollama" else ()))
    assert [call.path for call in asked.calls] == [path] * 2
    call = asked.calls[0]
    assert call.query == {}
    for header, value in headers.items():
        assert (call.headers.get(header) or "").startswith((value or "").format(key=asked.key)), header
        assert (header in call.headers) is (value is not None), header
    assert {place: at(call.body, place) for place in body} == body
    if name == "gemini":
        assert {setting["threshold"] for setting in call.body["safetySettings"]} == {"BLOCK_NONE"}
    assert (ended.judgements[0].input_tokens, ended.judgements[0].output_tokens) == (500, 40)
    assert {row["rater"] for row in ended.ratings} == {f"judge:{asked.profile.judge}"}
    assert "not_taken" not in ended.entry
    assert asked.key not in ended.out + ended.err
    assert not ended.files_with(asked.key)


def test_a_version_of_azures_interface(provider: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = provider("azure")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    asked.rated()
    call = asked.calls[0]
    assert call.path == "/openai/deployments/our-judge/chat/completions"
    assert call.query == {"api-version": "2024-10-21"}


@pytest.mark.slow
def test_a_bearer_token(provider: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html."""
    asked = provider("bedrock")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-of-no-one")
    asked.rated()
    assert asked.calls[0].headers["authorization"] == "Bearer bedrock-api-key-of-no-one"


# -- forms, parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model", "refusals", "words"),
    [
        case("anthropic", "", "claude-of-next-year", {
            "output_config": anthropic.error(400, INVALID, "output_config.format is not supported on this model"),
            "tools": anthropic.error(400, INVALID, "tool_choice: forced tool use is not supported"),
        }, f"Here it is:\n{FENCED}"),
        case("bedrock", "", "meta.llama3-8b-instruct-v1:0", {
            "outputConfig": bedrock.error(400, VALIDATION, "This model doesn't support the outputConfig field."),
            "toolConfig": bedrock.error(400, VALIDATION, "This model doesn't support tool use."),
        }, FENCED),
        # Errors of fields as Google's interfaces write them; a model may take JSON without a schema, or neither.
        case("gemini", "", "gemma-3", {
            "responseJsonSchema": gemini.error(
                400, BAD_ARGUMENT, 'Unknown name "responseJsonSchema": Cannot find field.'
            ),
            "responseMimeType": gemini.error(400, BAD_ARGUMENT, "JSON mode is not enabled for models/gemma-3"),
        }, FENCED),
        # Before version 0.5 ``format`` was a word.
        case("ollama", "", "llama3.2", {
            "format": ollama.error(400, "json: cannot unmarshal object into Go struct field ChatRequest.format"),
        }, f"<think>Let me see.</think>\n{fitting(None)}"),
    ],
)  # fmt: skip
def test_a_model_that_refuses_structured_output(
    name: str, model: str, refusals: Mapping[str, Answer], words: str, provider: Providers
) -> None:
    """One form is given up after the other, and what was learnt is kept for the second transcript."""
    asked = provider(name)

    def behaviour(call: Call) -> Answer:
        refused = [answer for field, answer in refusals.items() if f'"{field}"' in json.dumps(call.body)]
        return refused[0] if refused else asked.reply(call, words)

    asked.rated(behaviour, *ONE_BY_ONE, model=model)
    assert len(asked.calls) == len(refusals) + 2


def test_a_model_without_structured_outputs_calls_a_tool(provider: Providers) -> None:
    """https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use, Forcing tool use."""
    asked = provider("anthropic")
    asked.rated(model="claude-3-5-haiku-latest")
    body = asked.calls[0].body
    assert "output_config" not in body
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}


NO_ANTHROPIC_TEMPERATURE = anthropic.error(400, INVALID, "`temperature` is deprecated for this model.")
OLD_LIMIT = openai.error(400, "Unrecognized request argument supplied: max_completion_tokens")
NO_THINKING = ollama.error(400, '"llama3.2" does not support thinking')


@pytest.mark.parametrize(
    ("name", "model", "options", "refused", "answer", "requests"),
    [
        # Listed ones aren't sent any (docs/en/about-claude/models/whats-new, sampling parameters).
        case("anthropic", "listed", "claude-opus-5", (), "temperature", NO_ANTHROPIC_TEMPERATURE, 2),
        case("anthropic", "unlisted", "claude-of-next-year", (), "temperature", NO_ANTHROPIC_TEMPERATURE, 3),
        case("gemini", "listed", "gemini-3.6-flash", (), "temperature", Answer(status=500), 2),
        case("azure", "old name of the limit", "", (), "max_completion_tokens", OLD_LIMIT, 3),
        case("ollama", "no thinking", "", ("--reasoning-effort", "low"), "think", NO_THINKING, 3),
    ],
)  # fmt: skip
def test_a_parameter_that_is_not_taken_is_left_out(
    name: str, model: str, options: tuple[str, ...], refused: str, answer: Answer, requests: int,
    provider: Providers,
) -> None:  # fmt: skip
    """What is learnt from a refusal holds for the requests after it."""
    asked = provider(name)
    asked.rated(asked.where(f'"{refused}":', answer), *options, *ONE_BY_ONE, model=model)
    assert len(asked.calls) == requests
    assert f'"{refused}":' not in json.dumps(asked.calls[-1].body)
    if name == "azure":
        assert asked.calls[-1].body["max_tokens"] == 4096


def thinking(body: Any) -> Any:
    return body["thinking"]["type"], body["output_config"].get("effort")


def thinking_config(body: Any) -> Any:
    return body["generationConfig"]["thinkingConfig"]


@pytest.mark.parametrize(
    ("name", "model", "effort", "part", "sent"),
    [
        # docs/en/build-with-claude/effort and adaptive-thinking
        case("anthropic", "none", "claude-opus-5", "none", thinking, ("disabled", None)),
        case("anthropic", "high", "claude-opus-5", "high", thinking, ("adaptive", "high")),
        # ai.google.dev/gemini-api/docs/thinking, and docs/openai, Thinking, for the numbers of tokens
        case("gemini", "2.5 none", "gemini-2.5-flash", "none", thinking_config, {"thinkingBudget": 0}),
        case("gemini", "2.5 medium", "gemini-2.5-flash", "medium", thinking_config, {"thinkingBudget": 8192}),
        case("gemini", "3.6 none", "gemini-3.6-flash", "none", thinking_config, {"thinkingLevel": "minimal"}),
        case("gemini", "3.6 high", "gemini-3.6-flash", "high", thinking_config, {"thinkingLevel": "high"}),
        case("openai", "listed", "gpt-5-mini", "low", lambda body: body["reasoning_effort"], "low"),
        case("openai", "unlisted", "gpt-new", "low", lambda body: body["reasoning_effort"], "low"),
        case("openrouter", "", "", "low", lambda body: body["reasoning"], {"effort": "low"}),
    ],
)  # fmt: skip
def test_the_effort_of_reasoning(
    name: str, model: str, effort: str, part: Callable[[Any], Any], sent: Any, provider: Providers
) -> None:
    asked = provider(name)
    ended = asked.rated(None, "--reasoning-effort", effort, model=model)
    assert [part(call.body) for call in asked.calls] == [sent] * 2
    assert ended.entry["reasoning_effort"] == effort


# -- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        case("openai", "key", openai.error(401, "Incorrect API key provided: sk-****one.", code="invalid_api_key"),
             ["refuses the key", "check OPENAI_API_KEY"]),
        case("openai", "organization", openai.error(401, "You must be a member of an organization to use the API"),
             ["refuses the key", "check OPENAI_API_KEY"]),
        case("openai", "country", openai.error(403, "Country, region, or territory not supported",
                                               code="unsupported_country_region_territory"),
             ["refuses access", "ask from a country that is served", "OPENAI_API_KEY"]),
        case("openai", "project", openai.error(403, "Project `proj_1` does not have access to model `gpt-4.1`",
                                               code="model_not_found"),
             ["may not ask for 'gpt-4.1'", "project of the key"]),
        case("openai", "quota", openai.error(429, "You exceeded your current quota, please check your plan.",
                                             kind="insufficient_quota", code="insufficient_quota"),
             ["no credit left", "platform.openai.com", "goes on where it stopped"]),
        case("openai", "limit of tokens",
             openai.error(400, "max_tokens is too large: 4096. This model supports at most 2048 completion tokens.",
                          param="max_completion_tokens", code="invalid_value"),
             ["doesn't write as many as 4096 tokens", "--max-tokens"]),
        case("azure", "key", azure.WRONG_KEY, ["Azure refuses the key", "check AZURE_OPENAI_API_KEY"]),
        case("azure", "deployment",
             azure.error(404, "DeploymentNotFound", "The API deployment for this resource does not exist."),
             ["no model 'our-judge'", "check the deployment's name, AZURE_OPENAI_ENDPOINT"]),
        case("azure", "network", azure.error(403, "403", "Access denied due to Virtual Network/Firewall rules."),
             ["Azure refuses access", "network and region", "AZURE_OPENAI_API_KEY"]),
        case("openrouter", "credit", open_servers.router_error(402, "Insufficient credits"),
             ["no credit left", "add credits at openrouter.ai"]),
        case("openrouter", "key", open_servers.router_error(401, "No auth credentials found"),
             ["refuses the key", "OPENROUTER_API_KEY"]),
        case("openrouter", "model", open_servers.router_error(400, "openai/gpt-5-mini is not a valid model ID"),
             ["no model"]),
        # As LiteLLM's proxy (1.108) says it: a model that it hasn't, and a key where it has no database of keys.
        case("open", "proxy's model", openai.error(400, "/chat/completions: Invalid model name passed in model=tiny."),
             ["no model"]),
        case("open", "proxy's key", openai.error(400, "No connected db.", kind="no_db_connection", code="400"),
             ["refuses the key", "BEDSIDE_API_KEY"]),
        # docs/en/api/errors; the month's limit: docs/en/api/rate-limits, Spend limits
        case("anthropic", "key", anthropic.error(401, "authentication_error", "invalid x-api-key"),
             ["Anthropic refuses the key", "check ANTHROPIC_API_KEY"]),
        case("anthropic", "permission",
             anthropic.error(403, "permission_error", "Your API key does not have permission to use this."),
             ["refuses access", "check what the account of ANTHROPIC_API_KEY may use"]),
        case("anthropic", "model", anthropic.error(404, "not_found_error", "model: claude-sonnet-4-5"),
             ["has no model 'claude-sonnet-4-5'", "check the model's name"]),
        case("anthropic", "billing", anthropic.error(402, "billing_error", "There is an issue with your billing."),
             ["no credit", "the same command then goes on where it stopped"]),
        case("anthropic", "credit", anthropic.error(400, INVALID, "Your credit balance is too low to access the API."),
             ["no credit", "look at its billing at Anthropic"]),
        case("anthropic", "month",
             anthropic.error(429, "rate_limit_error", "You have reached your spend limit.",
                             details={"error_code": "enforced_spend_limit_reached"}),
             ["limit for this month", "raise the limit"]),
        # ai.google.dev/gemini-api/docs/troubleshooting and docs/rate-limits
        case("gemini", "key",
             gemini.error(400, BAD_ARGUMENT, "API key not valid. Please pass a valid API key.",
                          gemini.detail("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com")),
             ["Gemini refuses the key", "check GOOGLE_API_KEY or GEMINI_API_KEY"]),
        case("gemini", "permission",
             gemini.error(403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1 before."),
             ["refuses access", "GEMINI_API_KEY"]),
        case("gemini", "model",
             gemini.error(404, "NOT_FOUND", "models/gemini-2.5-flash is not found for API version v1beta"),
             ["has no model 'gemini-2.5-flash'", "check the model's name"]),
        case("gemini", "place",
             gemini.error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
             ["can't be asked from this account or place", "switch billing on"]),
        case("gemini", "day", gemini.over_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "34s"),
             ["the day's quota at Gemini is used up", "again tomorrow"]),
        # docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
        case("bedrock", "key",
             bedrock.error(403, "UnrecognizedClientException", "The security token in the request is invalid."),
             ["Bedrock refuses the key", "check AWS_ACCESS_KEY_ID"]),
        case("bedrock", "expired",
             bedrock.error(403, "ExpiredTokenException", "The security token in the request is expired"),
             ["Bedrock refuses the key", "check AWS_ACCESS_KEY_ID"]),
        case("bedrock", "access",
             bedrock.error(403, "AccessDeniedException", "You don't have access to the model with this model ID."),
             ["Bedrock refuses access", "may use"]),
        case("bedrock", "model", bedrock.error(400, VALIDATION, "The provided model identifier is invalid."),
             ["Bedrock has no model", "check the model's id"]),
        case("bedrock", "profile",
             bedrock.error(400, VALIDATION, "Invocation of model ID x with on-demand throughput isn't supported. Retry "
                           "your request with the ID or ARN of an inference profile that contains this model."),
             ["by an inference profile only", "such as bedrock/us."]),
        case("ollama", "model", ollama.error(404, "model 'llama3.2' not found"),
             ["has no model 'llama3.2'", "fetch it with: ollama pull llama3.2"]),
        case("ollama", "memory",
             ollama.error(500, "model requires more system memory (39.1 GiB) than is available (7.4 GiB)"),
             ["Ollama hasn't enough memory for llama3.2", "serve a smaller model"]),
        case("ollama", "key", ollama.error(401, "unauthorized"), ["refuses the key", "check OLLAMA_API_KEY"]),
    ],
)  # fmt: skip
def test_what_ends_judging_is_one_line_with_its_cure(
    name: str, answer: Answer, words: list[str], provider: Providers
) -> None:
    asked = provider(name)
    ended = asked.judge(answer, *ONE_BY_ONE)
    assert ended.code == 2
    assert [part for part in words if part not in ended.line] == [], ended.line
    assert asked.key not in ended.err
    assert len(asked.server.sent()) == 1


@pytest.mark.slow
def test_a_server_that_is_not_running_is_one_line(provider: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = provider("ollama")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    ended = asked.judge()
    assert (ended.code, asked.calls) == (2, [])
    assert "no server answers" in ended.line
    assert "check that it runs" in ended.line


@pytest.mark.parametrize(
    ("name", "judge", "models", "words"),
    [
        case("openai", "", "openai/gpt-4.1-minni", ["gpt-4.1", "gpt-4.1-mini", "whisper-1"],
             ["has no model 'gpt-4.1-minni'", "did you mean gpt-4.1-mini"]),
        case("open", "", "{url}/v1#tiny", ["Qwen/Qwen3-8B", "tiny-lora"], ["has no model 'tiny'", "tiny-lora"]),
        case("open", "no such address", "{url}#tiny", None, ["mostly ends in /v1"]),
    ],
)  # fmt: skip
def test_a_model_that_is_not_there(
    name: str, judge: str, models: list[str] | None, words: list[str], provider: Providers
) -> None:
    asked = provider(name)
    behaviour = openai.no_such_model(*models) if models else lambda _: Answer({"detail": "Not Found"}, 404)
    with asked.server.behaving(behaviour):
        ended = asked.command(judge.format(url=asked.server.url))
    assert [part for part in words if part not in ended.line] == [], ended.line


RATE = "Rate limit reached for gpt-4.1 in organization org on requests per min (RPM): Limit 3, Used 3."
MINUTE = gemini.over_quota("GenerateRequestsPerMinutePerProjectPerModel", "1.2s")
LOADING = open_servers.llama_error(503, "Loading model", "unavailable_error")


def rate(**headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return openai.error(429, RATE, kind="requests", code="rate_limit_exceeded", headers=named)


@pytest.mark.parametrize(
    ("name", "answer", "wait"),
    [
        case("openai", "Retry-After", rate(Retry_After="0.3"), 0.3),
        case("openai", "milliseconds", rate(retry_after_ms="300"), 0.3),
        case("openai", "requests",
             rate(x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="300ms"), 0.3),
        case("openai", "tokens", rate(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="0.3s"), 0.3),
        *(case("openai", str(status), openai.error(status, "The engine is currently overloaded."), 0)
          for status in (500, 503, 529)),
        case("azure", "rate", azure.LIMITED, 0.2),
        case("open", "loading", LOADING, 0),
        case("openrouter", "an error with status 200",
             open_servers.router_error(502, "Provider returned error", http=200, raw="upstream timed out"), 0),
        case("anthropic", "rate", anthropic.error(429, "rate_limit_error", "Too many", {"retry-after": "1"}), 1,
             slow=True),
        case("anthropic", "overloaded", anthropic.error(529, "overloaded_error", "Overloaded"), 0, slow=True),
        case("anthropic", "error", anthropic.error(500, "api_error", "Internal server error"), 0, slow=True),
        case("anthropic", "proxy", Answer(b"<html>Bad gateway</html>", 502, {"Content-Type": "text/html"}), 0,
             slow=True),
        case("anthropic", "dropped", Answer(drop=True), 0, slow=True),
        case("anthropic", "another form", Answer({"completion": "an older interface"}), 0),
        case("gemini", "minute", MINUTE, 1.2, slow=True),
        case("gemini", "overloaded", gemini.error(503, "UNAVAILABLE", "The model is overloaded."), 0, slow=True),
        case("gemini", "internal", gemini.error(500, "INTERNAL", "An internal error has occurred."), 0, slow=True),
        case("gemini", "deadline", gemini.error(504, "DEADLINE_EXCEEDED", "Deadline expired."), 0, slow=True),
        case("bedrock", "throttled", bedrock.error(429, "ThrottlingException", "Too many requests."), 0),
        case("bedrock", "unavailable", bedrock.error(503, "ServiceUnavailableException", "It isn't available."), 0),
        case("bedrock", "timeout", bedrock.error(408, "ModelTimeoutException", "It took too long to process."), 0),
        case("bedrock", "dropped", Answer(drop=True), 0),
        # docs.ollama.com/faq, How does Ollama handle concurrent requests: 503 where too many wait
        case("ollama", "busy", ollama.error(503, "server busy, please try again."), 0, slow=True),
    ],
)  # fmt: skip
def test_what_passes_is_waited_for(name: str, answer: Answer, wait: float, provider: Providers) -> None:
    """By us alone: no library asks again on its own account."""
    asked, times = provider(name), 2 if answer is LOADING else 1
    began = time.monotonic()
    ended = asked.rated(asked.after(answer, times), *ONE_BY_ONE)
    assert time.monotonic() - began >= wait
    assert len(asked.calls) == sum(judgement.calls for judgement in ended.judgements) == 2 + times
    faults = [fault for judgement in ended.judgements for fault in judgement.faults]
    assert len(faults) == times
    for part, words in (("upstream timed out", "upstream timed out"), ("older interface", "holds no reply")):
        assert part not in str(answer.body) or words in faults[0]


TOO_LONG = "the prompt, with 4096 tokens for the reply, is more than the model takes in"
WINDOW = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
COUNT = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        case("openai", "", openai.error(400, WINDOW, param="messages", code="context_length_exceeded"),
             "the prompt, with 4096 tokens for the reply, is more than the model takes in ("),
        case("open", "vLLM", open_servers.VLLM_TOO_LONG, TOO_LONG),
        case("open", "vLLM without room for the reply", open_servers.VLLM_NO_ROOM, TOO_LONG),
        case("open", "llama.cpp", open_servers.LLAMA_TOO_LONG, TOO_LONG),
        case("open", "413", Answer({}, 413), TOO_LONG),
        case("anthropic", "bytes", anthropic.error(413, "request_too_large", "Request exceeds the maximum size"),
             TOO_LONG),
        case("anthropic", "tokens", anthropic.error(400, INVALID, "prompt is too long: 210000 tokens > 200000 maximum"),
             TOO_LONG),
        case("gemini", "", gemini.error(400, BAD_ARGUMENT, COUNT), TOO_LONG),
        case("bedrock", "", bedrock.error(400, VALIDATION, "Input is too long for requested model."), TOO_LONG),
        case("ollama", "", ollama.error(400, "the input length exceeds the context length"),
             TOO_LONG),
    ],
)  # fmt: skip
def test_a_prompt_that_is_too_long_leaves_the_others(
    name: str, answer: Answer, words: str, provider: Providers
) -> None:
    asked = provider(name)
    ended = asked.judge(asked.where("2 nights", answer), *ONE_BY_ONE)
    assert ended.code == 0, ended.err
    assert len(asked.calls) == 2
    errors = {row["transcript_id"]: row["error"] for row in ended.ratings}
    assert words in errors["talk-0"]
    assert name != "openai" or "9000 tokens" in errors["talk-0"]
    assert errors["talk-1"] is None


def test_what_is_longer_than_the_room_is_not_sent(provider: Providers) -> None:
    asked = provider("ollama")
    ended = asked.judge(None, "--max-prompt-tokens", 20)
    assert (ended.code, asked.calls) == (0, [])
    assert all(row["value"] is None for row in ended.ratings)


@pytest.mark.parametrize(
    ("name", "unset", "settings", "words"),
    [
        case("azure", "endpoint", ["AZURE_OPENAI_ENDPOINT"], {}, "AZURE_OPENAI_ENDPOINT is not set"),
        case("azure", "key", ["AZURE_OPENAI_API_KEY"], {}, "AZURE_OPENAI_API_KEY is not set"),
        case("bedrock", "key", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], {}, "no key of Amazon's is there"),
        case("bedrock", "region", ["AWS_BEDROCK_REGION"], {}, "no region of Amazon's is set"),
        case("gemini", "two keys that differ", [], {"GOOGLE_API_KEY": "AIza-another-key"},
             "GOOGLE_API_KEY and GEMINI_API_KEY hold different keys"),
        case("gemini", "Vertex", [], {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, "litellm/vertex_ai/MODEL"),
    ],
)  # fmt: skip
def test_what_is_not_set_up_is_named_before_any_work(
    name: str, unset: list[str], settings: dict[str, str], words: str, provider: Providers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked = provider(name)
    for variable in unset:
        monkeypatch.delenv(variable)
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    ended = asked.judge()
    assert (ended.code, asked.calls) == (2, [])
    assert words in ended.line
    assert not ended.folder.exists()
    if name == "azure":
        assert asked.judge(None, "--dry-run").code == 0
        assert not asked.calls


# -- replies ----------------------------------------------------------------------------------------


def reply(name: str, text: str | None = None, **parts: Any) -> Behaviour:
    """A provider's reply of these parts, whatever is asked."""
    return lambda call: PROFILES[name].reply(call, text, **parts)


FILTER = "the provider's content filter"
REFUSAL = {"type": "refusal", "category": "general_harms", "explanation": "It speaks of harm."}


@pytest.mark.parametrize(
    ("name", "behaviour", "error", "words"),
    [
        case("openai", "reply", reply("openai", "", choice={"finish_reason": "content_filter"}),
             f"{FILTER} stopped the reply", "2 stopped by the provider's content filter."),
        case("azure", "reply", reply("azure", "", choice=azure.FILTERED_REPLY),
             f"{FILTER} stopped the reply (self_harm, high)", "2 stopped by the provider's content filter."),
        case("openrouter", "prompt", lambda _: open_servers.ROUTER_FLAGGED,
             f"{FILTER} stopped the prompt (self-harm)", "2 stopped by the provider's content filter."),
        # docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals: 200 with stop_reason refusal
        case("anthropic", "refusal", reply("anthropic", "", stop_reason="refusal", stop_details=REFUSAL),
             "the judge refused: It speaks of harm.", "2 refused by the judge."),
        # ai.google.dev/api/generate-content: BlockReason and FinishReason
        case("gemini", "prompt", lambda _: gemini.blocked("PROHIBITED_CONTENT"),
             f"{FILTER} blocked the prompt: PROHIBITED_CONTENT", "2 stopped by the provider's content filter."),
        *(case("gemini", reason, reply("gemini", candidate={"finishReason": reason, "content": {}}),
               f"{FILTER} ended the reply: {reason}", "2 stopped by the provider's content filter.")
          for reason in ("SAFETY", "RECITATION")),
        *(case("bedrock", reason, reply("bedrock", "Sorry.", stopReason=reason),
               f"{FILTER} ended the reply: {reason}", "2 stopped by the provider's content filter.")
          for reason in ("content_filtered", "guardrail_intervened")),
    ],
)  # fmt: skip
def test_a_filter_or_a_refusal_is_a_reason_of_its_own(
    name: str, behaviour: Behaviour, error: str, words: str, provider: Providers
) -> None:
    asked = provider(name)
    ended = asked.judge(behaviour)
    assert ended.code == 0, ended.err
    assert len(asked.calls) == 2, "it isn't asked again"
    assert {row["error"] for row in ended.ratings} == {error}
    assert words in ended.said


def test_a_prompt_that_is_filtered_leaves_the_others(provider: Providers) -> None:
    asked = provider("azure")
    ended = asked.judge(asked.where("2 nights", azure.FILTERED))
    errors = {row["transcript_id"]: row["error"] for row in ended.ratings}
    assert errors == {"talk-0": f"{FILTER} stopped the prompt (self_harm, medium)", "talk-1": None}
    assert "1 stopped by the provider's content filter." in ended.said
    asked.judge()
    assert asked.calls == []


HIDDEN = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
TOOL = {"id": "1", "type": "function", "function": {"name": "rate", "arguments": "{}"}}
USED_UP = "the model used all 4096 tokens for reasoning before its reply"


@pytest.mark.parametrize(
    ("name", "behaviour", "error", "requests"),
    [
        case("openai", "cut", reply("openai", '{"reason": "turn 1", "sc', choice={"finish_reason": "length"}),
             "cut off at 4096 tokens", 6),
        case("openai", "unclosed thought", reply("openai", '<think>perhaps {"reason": "no", "score": 1}'),
             "still thinking", 6),
        case("openai", "tool", reply("openai", message={"content": None, "tool_calls": [TOOL]}),
             "called a tool in place of replying", 6),
        case("openai", "empty", reply("openai", ""), "the reply is empty", 6),
        case("open", "reasoning leaves no room",
             reply("open", "", message={"reasoning_content": "…"}, choice={"finish_reason": "length"}),
             "used all 4096 tokens for reasoning", 2),
        case("anthropic", "thinking", reply("anthropic", content=HIDDEN, stop_reason="max_tokens"), USED_UP, 2),
        *(case("gemini", ending, reply("gemini", candidate={"finishReason": ending, "content": {"role": "model"}}),
               words, requests)
          for ending, words, requests in (("MAX_TOKENS", USED_UP, 2), ("OTHER", "the reply is empty (OTHER)", 6))),
        case("bedrock", "thinking", reply("bedrock", "", stopReason="max_tokens"), USED_UP, 2),
        case("ollama", "thinking", reply("ollama", "", done_reason="length", message={"thinking": "Hm …"}), USED_UP, 2),
    ],
)  # fmt: skip
def test_replies_that_cannot_be_used(
    name: str, behaviour: Behaviour, error: str, requests: int, provider: Providers
) -> None:
    """Each is asked for three times, but where the same limit would come to the same."""
    asked = provider(name)
    ended = asked.judge(behaviour)
    assert ended.code == 0, ended.err
    assert len(asked.calls) == requests
    assert all(error in row["error"] for row in ended.ratings), ended.ratings[0]["error"]
    if requests == 6:
        assert "2 replies that could not be used." in ended.said
    elif name != "open":
        # With more tokens it is asked again, and with as many it isn't.
        assert [judgement.cut_at for judgement in ended.judgements] == [4096] * 2
        asked.judge(behaviour)
        assert asked.calls == []
        asked.rated(None, "--max-tokens", 9000)
        assert len(asked.calls) == 2


def test_a_reply_that_was_cut_is_asked_for_again(provider: Providers) -> None:
    """docs/en/build-with-claude/structured-outputs, Invalid outputs: what max_tokens cuts may be no JSON."""
    asked = provider("anthropic")

    def behaviour(call: Call) -> Answer:
        if len(call.body["messages"]) > 1:
            return anthropic.message(call)
        return anthropic.message(call, '{"reason": "turn', stop_reason="max_tokens")

    asked.rated(behaviour)
    again = asked.calls[-1].body["messages"]
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert "cut off at 4096 tokens" in again[-1]["content"]


def thoughtful(call: Call) -> Answer:
    """Thoughts come as blocks, and their tokens stand within the output's; what is read from and written to a cache
    stands beside input_tokens (docs/en/build-with-claude/prompt-caching)."""
    words = fitting(call.body["output_config"]["format"]["schema"])
    usage = {"input_tokens": 100, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 50,
             "output_tokens": 90, "output_tokens_details": {"thinking_tokens": 60}}  # fmt: skip
    blocks = [*HIDDEN, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": words}]
    return anthropic.message(call, content=blocks, usage=usage)


def thought_parts(call: Call) -> Answer:
    """Thoughts come as parts, and their tokens beside the candidates' (ai.google.dev/gemini-api/docs/thinking)."""
    words = fitting(call.body["generationConfig"]["responseJsonSchema"])
    parts = [{"text": "I think {so}.", "thought": True}, {"text": words}]
    usage = {"thoughtsTokenCount": 60, "cachedContentTokenCount": 300, "totalTokenCount": 600}
    return gemini.content(call, candidate={"content": {"role": "model", "parts": parts}}, usage=usage)


#: vLLM, llama.cpp and DeepSeek write ``reasoning_content``; xAI counts reasoning beside the completion's tokens.
APART = {
    "message": {"reasoning_content": 'perhaps {"reason": "no", "score": 1}'},
    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 200,
              "completion_tokens_details": {"reasoning_tokens": 80}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "behaviour", "counts"),
    [
        case("anthropic", "", thoughtful, (450, 90, 300, 60)),
        case("gemini", "", thought_parts, (500, 100, 300, 60)),
        case("open", "", reply("open", '{"reason": "turn 1", "score": 4}', **APART), (100, 100, None, 80)),
        # Gemini in OpenAI's form: thinking stands in the sum alone.
        case(
            "openrouter", "in the sum alone", reply("openrouter", usage={"total_tokens": 5100}), (500, 4600, None, None)
        ),
        # docs.ollama.com/capabilities/thinking: it comes beside the content.
        case("ollama", "", reply("ollama", message={"thinking": 'It says {"score": 1}.'}), (500, 40, None, None)),
    ],
)
def test_thinking_is_counted_and_no_part_of_the_reply(
    name: str, behaviour: Behaviour, counts: tuple[int | None, ...], provider: Providers
) -> None:
    ended = provider(name).rated(behaviour, "--price", "in=0,out=1")
    for judgement in ended.judgements:
        tokens = (judgement.input_tokens, judgement.output_tokens)
        assert (*tokens, judgement.cached_tokens, judgement.reasoning_tokens) == counts
    if name == "open":
        assert {row["value"] for row in ended.ratings} == {4.0}


@pytest.mark.parametrize(
    ("name", "answer", "counts", "cost"),
    [
        # A count of 0 is left out, as everywhere in proto3's JSON.
        case("gemini", "no candidates' tokens", Answer({"promptFeedback": {"blockReason": "SAFETY"},
             "usageMetadata": {"promptTokenCount": 500, "totalTokenCount": 500}}), (500, 0), 0.0005),
        case("open", "a filter's refusal", openai.error(400, "Content Exists Risk"), (None, None), 0.0),
    ],
)  # fmt: skip
def test_what_is_not_answered_has_a_known_cost(
    name: str, answer: Answer, counts: tuple[int | None, ...], cost: float, provider: Providers
) -> None:
    """One is answered, the other isn't; what the limit of costs reckons with is what is said."""
    asked = provider(name)
    ended = asked.judge(asked.where("2 nights", answer), "--price", "in=1,out=10", "--max-cost", 1)
    first = min(ended.judgements, key=lambda judgement: judgement.transcript)
    assert (first.state, first.input_tokens, first.output_tokens) == ("filtered", *counts)
    assert first.cost == pytest.approx(cost)
    (count,) = ended.entry["rubrics"]
    assert count["cost"] == pytest.approx(cost + (500 + 40 * 10) / 1e6)


@pytest.mark.parametrize(
    ("name", "thinks", "answer", "options"),
    [
        case("openai", "temperature", lambda body: body.get("reasoning_effort") != "none", openai.error(
            400, "Unsupported parameter: 'temperature' is not supported with this model.", param="temperature"),
            ("--reasoning-effort", "none")),
        case("openai", "temperature, by an extra field", lambda body: body.get("thinking") is not False, openai.error(
            400, "Unsupported parameter: 'temperature' is not supported with this model.", param="temperature"),
            ("--extra", "thinking=false")),
        # docs.claude.com, Extended thinking
        case("anthropic", "temperature", lambda body: body.get("thinking", {}).get("type") != "disabled",
             anthropic.error(400, INVALID, "`temperature` may only be set to 1 when thinking is enabled."),
             ("--reasoning-effort", "none")),
    ],
)  # fmt: skip
def test_what_is_refused_beside_one_setting_is_sent_beside_another(
    name: str, thinks: Callable[[Any], bool], answer: Answer, options: tuple[str, ...], provider: Providers
) -> None:
    asked = provider(name)

    def behaviour(call: Call) -> Answer:
        return answer if thinks(call.body) and "temperature" in call.body else asked.reply(call)

    model = "model-of-tomorrow"
    assert asked.rated(behaviour, *ONE_BY_ONE, model=model).entry["not_taken"].keys() == {"temperature"}
    ended = asked.rated(behaviour, *ONE_BY_ONE, *options, model=model)
    assert [call.body["temperature"] for call in asked.calls] == [0, 0]
    assert "not_taken" not in ended.entry
    asked.judge(behaviour, *ONE_BY_ONE, "--passes", 2, model=model)
    assert ["temperature" in call.body for call in asked.calls] == [False] * 2, "the other is still known"


def test_what_prompts_begin_with_alike_is_kept_and_priced(provider: Providers) -> None:
    """docs/en/build-with-claude/prompt-caching: what is written to the cache costs 1.25 times as much, by default."""
    asked = provider("anthropic")
    ended = asked.judge(thoughtful, "--passes", 2, "--temperature", 1, "--price", "in=10,out=0,cached=1")
    marked = [call.body["messages"][0]["content"] for call in asked.calls]
    assert {tuple("cache_control" in part for part in content) for content in marked} == {(True, False)}
    assert all(re.search(r" ends, code \w{12} ---\n$", content[0]["text"]) for content in marked)
    assert {judgement.cost for judgement in ended.judgements} == {(150 * 10 + 300 * 1) / 1e6}


@pytest.mark.parametrize("ending", ["end_turn", "refusal"])
def test_a_key_that_comes_back_is_kept_nowhere(ending: str, provider: Providers) -> None:
    """As a server may repeat it that only looks like Anthropic's."""
    asked = provider("anthropic")
    details = {"type": "refusal", "explanation": f"Not for {asked.key}."}
    words = f'{{"reason": "{asked.key}", "score": 3}}'
    ended = asked.judge(reply("anthropic", words, stop_reason=ending, stop_details=details))
    assert ended.code == 0, ended.err
    assert asked.key not in ended.out + ended.err
    assert not ended.files_with(asked.key)
    assert all(asked.key not in text for judgement in ended.judgements for text in judgement.replies)


def test_expected_levels_from_probabilities(provider: Providers) -> None:
    """ai.google.dev/api/generate-content, LogprobsResult: one chosen token for each place, and its alternatives."""
    asked = provider("gemini")

    def behaviour(call: Call) -> Answer:
        settings = call.body["generationConfig"]
        assert (settings["responseLogprobs"], settings["logprobs"]) == (True, 20)
        pieces = ['{"reason": "turn 0", "score": ', "3", "}"]
        chosen = [{"token": piece, "logProbability": -0.1} for piece in pieces]
        top = [{"candidates": [token]} for token in chosen]
        odds = {"3": -0.223144, "4": -1.609438}
        top[1] = {"candidates": [{"token": token, "logProbability": odd} for token, odd in odds.items()]}
        result = {"chosenCandidates": chosen, "topCandidates": top}
        return gemini.content(call, "".join(pieces), candidate={"logprobsResult": result})

    ended = asked.judge(behaviour, "--expected", model="gemini-2.0-flash")
    assert ended.code == 0, ended.err
    expected = [row["value"] for row in ended.ratings if row["metric"] == "empathy.expected"]
    assert expected == pytest.approx([3.2, 3.2], abs=1e-4)


# -- actors -----------------------------------------------------------------------------------------

WORDS = "How have you been sleeping lately?"


def chat(body: Any) -> tuple[str, list[str]]:
    """The system message and the roles of a request of any provider."""
    if "contents" in body:
        roles = ["assistant" if part["role"] == "model" else part["role"] for part in body["contents"]]
        return body["systemInstruction"]["parts"][0]["text"], roles
    roles = [message["role"] for message in body["messages"]]
    if roles[0] == "system":
        return body["messages"][0]["content"], roles[1:]
    return body["system"], roles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [("anthropic", "output_config"), ("gemini", "generationConfig.responseJsonSchema"), ("ollama", "format")],
)
def test_a_clinician(name: str, form: str, provider: Providers) -> None:
    """A simulation's actor: chats with a system message and turns in each provider's own form."""
    asked = provider(name)
    talks = asked.command.folder / "talks"
    with asked.server.behaving(lambda call: asked.reply(call, None if at(call.body, form) else WORDS)):
        ended = asked.command.run(
            "simulate", "--protocol", "mdd5k", "--clinician", asked.profile.judge, "--patient", "rules",
            "--sample", 1, "--out", talks,
        )  # fmt: skip
    assert ended.code == 0, ended.err
    (line,) = (talks / "transcripts.jsonl").read_text("utf-8").splitlines()
    turns = json.loads(line)["turns"]
    assert sum(turn["role"] == "clinician" for turn in turns) >= 3
    assert any(turn["text"] == WORDS for turn in turns)
    chats = [chat(body) for body in asked.server.sent()]
    assert max(len(roles) for _, roles in chats) >= 5
    for system, roles in chats:
        assert system
        assert roles[::2] == ["user"] * len(roles[::2])
        assert roles[1::2] == ["assistant"] * len(roles[1::2])
        assert roles[-1] == "user"


# -- Ollama's address -------------------------------------------------------------------------------


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
        *((none, None) for none in ("http://me:secret@gpu1", "gpu1:port", "ftp://gpu1")),
    ],
)
def test_addresses_as_for_its_own_programs(setting: str, address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs.ollama.com/faq, How can I expose Ollama on my network: OLLAMA_HOST."""
    monkeypatch.setenv("OLLAMA_HOST", setting)
    if address is not None:
        assert _host() == address
        return
    with pytest.raises(RegistryError, match="OLLAMA_HOST") as raised:
        _host()
    assert "secret" not in str(raised.value)
