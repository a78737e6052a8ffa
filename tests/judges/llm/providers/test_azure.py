"""Judging where Azure OpenAI's documented behaviours are met."""

from __future__ import annotations

import pytest

from tests.judges.llm.providers import azure, openai
from tests.judges.llm.providers.command import JudgeCommand
from tests.judges.llm.providers.server import Answer, Call, ProviderServer

pytestmark = pytest.mark.server
KEY = "azure-key-of-no-one"


@pytest.fixture(autouse=True)
def environment(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"{server.url}/")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_VERSION", raising=False)


@pytest.mark.parametrize("version", [None, "2024-10-21"])
def test_a_judgement(
    version: str | None, server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    if version is not None:
        monkeypatch.setenv("OPENAI_API_VERSION", version)
    with server.behaving(openai.chat):
        ended = command("azure/our-judge")
    assert ended.code == 0, ended.err
    call = server.calls[0]
    assert call.headers["api-key"] == KEY
    assert "authorization" not in call.headers
    if version is None:
        assert (call.path, call.query) == ("/openai/v1/chat/completions", {})
    else:
        assert call.path == "/openai/deployments/our-judge/chat/completions"
        assert call.query == {"api-version": version}
    assert call.body["model"] == "our-judge"
    assert call.body["max_completion_tokens"] == 4096
    assert {row["rater"] for row in ended.ratings} == {"judge:azure/our-judge"}
    assert KEY.encode() not in (ended.folder / "judgements.sqlite").read_bytes()


def test_an_older_model_that_wants_the_old_name_of_the_limit(
    server: ProviderServer, command: JudgeCommand
) -> None:
    def behaviour(call: Call) -> Answer:
        if "max_completion_tokens" in call.body:
            said = "Unrecognized request argument supplied: max_completion_tokens"
            return Answer(
                {"error": {"message": said, "type": "invalid_request_error", "param": None, "code": None}},
                400,
            )
        return openai.chat(call)

    with server.behaving(behaviour):
        ended = command("azure/our-judge", "--max-concurrency", "1")
    assert ended.code == 0, ended.err
    assert server.sent()[-1]["max_tokens"] == 4096
    assert len(server.calls) == 3
    assert "not_taken" not in ended.entry


def test_a_prompt_that_is_filtered(server: ProviderServer, command: JudgeCommand) -> None:
    def behaviour(call: Call) -> Answer:
        return azure.FILTERED if "2 nights" in call.body["messages"][0]["content"] else openai.chat(call)

    with server.behaving(behaviour):
        ended = command("azure/our-judge")
        errors = {row["transcript_id"]: row["error"] for row in ended.ratings}
        assert errors == {
            "talk-0": "the provider's content filter stopped the prompt (self_harm, medium)",
            "talk-1": None,
        }
        assert "1 stopped by the provider's content filter." in ended.said
        command("azure/our-judge")
        assert len(server.calls) == 2


def test_a_reply_that_is_filtered(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda call: openai.chat(call, text="", choice=azure.FILTERED_REPLY)):
        ended = command("azure/our-judge")
    assert {row["error"] for row in ended.ratings} == {
        "the provider's content filter stopped the reply (self_harm, high)"
    }


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (azure.WRONG_KEY, ["Azure refuses the key", "check AZURE_OPENAI_API_KEY"]),
        (azure.NO_DEPLOYMENT, ["no model 'our-judge'", "check the deployment's name, AZURE_OPENAI_ENDPOINT"]),
        (azure.NETWORK, ["Azure refuses access", "network and region", "AZURE_OPENAI_API_KEY"]),
    ],
    ids=["key", "deployment", "network"],
)
def test_what_ends_judging(
    answer: Answer, says: list[str], server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(lambda _: answer):
        ended = command("azure/our-judge", "--max-concurrency", "1")
    assert ended.code == 2
    assert [words for words in says if words not in ended.line] == [], ended.line
    assert len(server.calls) == 1


def test_a_rate_limit_is_waited_out(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda call: azure.limited(call) if call.number == 1 else openai.chat(call)):
        ended = command("azure/our-judge")
    assert all(row["value"] is not None for row in ended.ratings)


@pytest.mark.parametrize("missing", ["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"])
def test_what_is_not_set_is_named_before_any_work(
    missing: str, server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(missing)
    with server.behaving(openai.chat):
        ended = command("azure/our-judge")
        assert f"{missing} is not set" in ended.line
        assert not ended.folder.exists()
        assert command("azure/our-judge", "--dry-run").code == 0
    assert not server.calls
