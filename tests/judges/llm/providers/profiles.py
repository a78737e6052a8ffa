"""How each provider is asked in tests: its settings, a judge of it, and how it replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.judges.llm.providers import anthropic, bedrock, gemini, ollama, openai
from tests.judges.llm.providers.command import Ended, JudgeCommand
from tests.judges.llm.providers.server import Answer, Behaviour, Call, ProviderServer

#: What makes a reply of a provider: of a request and, unless they fit the schema, the words.
Reply = Callable[..., Answer]


@dataclass(frozen=True)
class Profile:
    """A provider.

    Attributes:
        judge: a judge's name; ``{url}`` is the server's address.
        reply: a reply as it documents it.
        key: what must never be written.
        environment: its settings, by ``{url}``, ``{host}`` and ``{key}``.
        unset: settings that would lead elsewhere.
    """

    judge: str
    reply: Reply
    key: str
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()


PROFILES = {
    "openai": Profile(
        "openai/gpt-4.1", openai.chat, "sk-test-key-of-no-one",
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "{key}"},
    ),
    "azure": Profile(
        "azure/our-judge", openai.chat, "azure-key-of-no-one",
        {"AZURE_OPENAI_ENDPOINT": "{url}/", "AZURE_OPENAI_API_KEY": "{key}"}, ("OPENAI_API_VERSION",),
    ),
    "openrouter": Profile(
        "openrouter/openai/gpt-5-mini", openai.chat, "sk-or-v1-key-of-no-one",
        {"OPENROUTER_BASE_URL": "{url}/api/v1", "OPENROUTER_API_KEY": "{key}"},
    ),
    "open": Profile("{url}/v1#tiny", openai.chat, "no key at all", {}, ("BEDSIDE_API_KEY",)),
    "anthropic": Profile(
        "anthropic/claude-sonnet-4-5", anthropic.message, "sk-ant-test-key-of-no-one",
        {"ANTHROPIC_BASE_URL": "{url}/", "ANTHROPIC_API_KEY": "{key}"},
    ),
    "gemini": Profile(
        "gemini/gemini-2.5-flash", gemini.content, "AIza-test-key-of-no-one",
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "{key}"},
        ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
    ),
    "bedrock": Profile(
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock.converse,
        "secret-test-key-of-no-one-0123456789abcd",
        {
            "AWS_ENDPOINT_URL": "{url}", "AWS_ACCESS_KEY_ID": "AKIATESTKEYOFNOONE00", "AWS_SECRET_ACCESS_KEY": "{key}",
            "AWS_BEDROCK_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nowhere",
            "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
        },
        ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"),
    ),
    "ollama": Profile(
        "ollama/llama3.2", ollama.chat, "no key at all", {"OLLAMA_HOST": "{host}"}, ("OLLAMA_API_KEY",)
    ),
}  # fmt: skip


class Provider:
    """A provider that is set up, with its server behind it, and the command that judges by it."""

    def __init__(
        self, name: str, server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.profile, self.server, self.command = PROFILES[name], server, command
        self.key, self.reply = self.profile.key, self.profile.reply
        if name == "bedrock":
            pytest.importorskip("aiobotocore")
            from bedside.judges.llm.clients.bedrock import _session

            _session.cache_clear()
        host = server.url.removeprefix("http://")
        for variable, value in self.profile.environment.items():
            monkeypatch.setenv(variable, value.format(url=server.url, host=host, key=self.key))
        for variable in self.profile.unset:
            monkeypatch.delenv(variable, raising=False)

    @property
    def calls(self) -> list[Call]:
        """What came in since the behaviour was set."""
        return self.server.calls

    def judge(self, behaviour: Behaviour | Answer | None = None, *options: object, model: str = "") -> Ended:
        """Judge where it behaves so (replies, if it isn't said); a model's name in place of the usual judge."""
        usual = self.profile.judge.format(url=self.server.url)
        act = (lambda _: behaviour) if isinstance(behaviour, Answer) else behaviour or self.reply
        with self.server.behaving(act):
            return self.command(f"{usual.partition('/')[0]}/{model}" if model else usual, *options)

    def rated(self, behaviour: Behaviour | Answer | None = None, *options: object, model: str = "") -> Ended:
        """Judge so, and see that both conversations are rated."""
        ended = self.judge(behaviour, *options, model=model)
        assert ended.code == 0, ended.err
        assert [row["value"] is not None for row in ended.ratings] == [True] * 2
        return ended

    def after(self, first: Answer, times: int = 1) -> Behaviour:
        """One answer to so many requests, and replies to those after them."""
        return lambda call: first if call.number <= times else self.reply(call)

    def where(self, words: str, answer: Answer) -> Behaviour:
        """One answer to requests in which these words stand, and replies to the others."""
        return lambda call: answer if words in json.dumps(call.body) else self.reply(call)


#: Sets a provider up, by name.
Providers = Callable[[str], Provider]


def case(provider: str, name: str, *values: Any, slow: bool = False) -> Any:
    """Parameters of a test: the provider's name, then the values."""
    marks = [pytest.mark.slow] if slow or provider == "bedrock" else []
    return pytest.param(provider, *values, id=f"{provider}: {name}", marks=marks)
