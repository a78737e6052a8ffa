"""Judging where Amazon Bedrock's documented behaviours are met; its library is the real one."""

from __future__ import annotations

import pytest

from tests.judges.llm.providers import bedrock
from tests.judges.llm.providers.command import Ended, JudgeCommand
from tests.judges.llm.providers.server import Answer, Call, ProviderServer, fitting

pytest.importorskip("aiobotocore")
pytestmark = [pytest.mark.server, pytest.mark.slow]
SECRET = "secret-test-key-of-no-one-0123456789abcd"
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
JUDGE = f"bedrock/{MODEL}"
SETTINGS = {
    "AWS_ENDPOINT_URL": None, "AWS_ACCESS_KEY_ID": "AKIATESTKEYOFNOONE00", "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_BEDROCK_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
}  # fmt: skip


@pytest.fixture(autouse=True)
def environment(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from bedside.judges.llm.clients.bedrock import _session

    _session.cache_clear()
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value or server.url)
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def rated(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert [row["value"] is not None for row in ended.ratings] == [True] * 2


def test_a_judgement(server: ProviderServer, command: JudgeCommand) -> None:
    """Signed by version 4, with structured output by outputConfig (API_runtime_OutputConfig)."""
    with server.behaving(bedrock.converse):
        ended = command(JUDGE)
    rated(ended)
    call = server.calls[0]
    assert call.path == f"/model/{MODEL.replace(':', '%3A')}/converse"
    assert call.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIATESTKEYOFNOONE00/")
    assert call.body["inferenceConfig"] == {"maxTokens": 4096, "temperature": 0.0}
    assert call.body["outputConfig"]["textFormat"]["type"] == "json_schema"
    assert (ended.judgements[0].input_tokens, ended.judgements[0].output_tokens) == (500, 40)
    assert SECRET not in ended.out + ended.err


def test_a_bearer_token(
    server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-of-no-one")
    with server.behaving(bedrock.converse):
        ended = command(JUDGE)
    rated(ended)
    assert server.calls[0].headers["authorization"] == "Bearer bedrock-api-key-of-no-one"


def test_a_model_without_structured_output(server: ProviderServer, command: JudgeCommand) -> None:
    def behaviour(call: Call) -> Answer:
        if "outputConfig" in call.body:
            return bedrock.error(
                400, "ValidationException", "This model doesn't support the outputConfig field."
            )
        if "toolConfig" in call.body:
            return bedrock.error(400, "ValidationException", "This model doesn't support tool use.")
        return bedrock.converse(call, f"```json\n{fitting(None)}\n```")

    with server.behaving(behaviour):
        ended = command("bedrock/meta.llama3-8b-instruct-v1:0", "--max-concurrency", 1)
    rated(ended)
    assert len(server.calls) == 4


STOPS: dict[str, tuple[Answer, str, str]] = {
    "key": (
        bedrock.error(
            403, "UnrecognizedClientException", "The security token included in the request is invalid."
        ),
        "Bedrock refuses the key",
        "check AWS_ACCESS_KEY_ID",
    ),
    "expired": (
        bedrock.error(403, "ExpiredTokenException", "The security token included in the request is expired"),
        "Bedrock refuses the key",
        "check AWS_ACCESS_KEY_ID",
    ),
    "access": (
        bedrock.error(
            403, "AccessDeniedException", "You don't have access to the model with the specified model ID."
        ),
        "Bedrock refuses access",
        "may use",
    ),
    "model": (
        bedrock.error(400, "ValidationException", "The provided model identifier is invalid."),
        "Bedrock has no model",
        "check the model's id",
    ),
    "profile": (
        bedrock.error(
            400,
            "ValidationException",
            "Invocation of model ID x with on-demand throughput isn't supported. Retry your request with the ID or ARN "
            "of an inference profile that contains this model.",
        ),
        "by an inference profile only",
        "such as bedrock/us.",
    ),
}


@pytest.mark.parametrize("stop", STOPS)
def test_what_stops_a_run_is_one_line(stop: str, server: ProviderServer, command: JudgeCommand) -> None:
    """docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html."""
    answer, what, todo = STOPS[stop]
    with server.behaving(lambda call: answer):
        ended = command(JUDGE)
    assert ended.code == 2
    assert what in ended.line
    assert todo in ended.line
    assert SECRET not in ended.err


@pytest.mark.parametrize(
    "answer",
    [
        bedrock.error(429, "ThrottlingException", "Too many requests, please wait before trying again."),
        bedrock.error(503, "ServiceUnavailableException", "The service isn't currently available."),
        bedrock.error(408, "ModelTimeoutException", "The request took too long to process."),
        Answer(drop=True),
    ],
    ids=["throttled", "unavailable", "timeout", "dropped"],
)
def test_what_passes_is_asked_again(answer: Answer, server: ProviderServer, command: JudgeCommand) -> None:
    """By us alone: the library doesn't ask again on its own account."""
    with server.behaving(lambda call: answer if call.number == 1 else bedrock.converse(call)):
        ended = command(JUDGE)
    rated(ended)
    assert len(server.calls) == 3
    assert sum(judgement.calls for judgement in ended.judgements) == 3


def test_a_prompt_too_long_leaves_its_rating_missing(server: ProviderServer, command: JudgeCommand) -> None:
    said = bedrock.error(400, "ValidationException", "Input is too long for requested model.")
    with server.behaving(lambda call: said if call.number == 1 else bedrock.converse(call)):
        ended = command(JUDGE, "--max-concurrency", 1)
    assert ended.code == 0, ended.err
    missing, there = sorted(ended.ratings, key=lambda row: row["value"] is not None)
    assert there["value"] is not None
    assert "takes in" in missing["error"]


@pytest.mark.parametrize("reason", ["content_filtered", "guardrail_intervened"])
def test_a_filter_is_a_reason_of_its_own(reason: str, server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda call: bedrock.converse(call, "Sorry.", stopReason=reason)):
        ended = command(JUDGE)
    assert ended.code == 0, ended.err
    assert len(server.calls) == 2
    assert all(f"filter ended the reply: {reason}" in row["error"] for row in ended.ratings)


def test_no_key_and_no_region_are_told_before_any_work(
    server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    ended = command(JUDGE)
    assert ended.code == 2
    assert "no key of Amazon's is there" in ended.line
    assert not ended.folder.exists()
    monkeypatch.delenv("AWS_BEDROCK_REGION")
    assert "no region of Amazon's is set" in command(JUDGE).line
