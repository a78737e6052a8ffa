"""Simulations whose actors are models at providers with a form of their own: chats with a system message and turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.judges.llm.providers import anthropic, gemini, ollama
from tests.judges.llm.providers.command import JudgeCommand
from tests.judges.llm.providers.server import Answer, Call, ProviderServer

pytestmark = [pytest.mark.server, pytest.mark.slow]
WORDS = "How have you been sleeping lately?"


def claude(call: Call) -> Answer:
    return anthropic.message(call, None if "output_config" in call.body else WORDS)


def google(call: Call) -> Answer:
    return gemini.content(call, None if "responseJsonSchema" in call.body["generationConfig"] else WORDS)


def llama(call: Call) -> Answer:
    return ollama.chat(call, None if "format" in call.body else WORDS)


def chat(body: Any) -> tuple[str, list[str]]:
    """The system message and the roles of a request of any of the three."""
    if "contents" in body:
        roles = ["assistant" if part["role"] == "model" else part["role"] for part in body["contents"]]
        return body["systemInstruction"]["parts"][0]["text"], roles
    roles = [message["role"] for message in body["messages"]]
    if roles[0] == "system":
        return body["messages"][0]["content"], roles[1:]
    return body["system"], roles


@pytest.mark.parametrize(
    ("actor", "behaviour"),
    [
        ("anthropic/claude-sonnet-4-5", claude),
        ("gemini/gemini-2.5-flash", google),
        ("ollama/llama3.2", llama),
    ],
    ids=["anthropic", "gemini", "ollama"],
)
def test_a_clinician(
    actor: str,
    behaviour: Any,
    server: ProviderServer,
    command: JudgeCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-of-no-one")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-test-key-of-no-one")
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    with server.behaving(behaviour):
        ended = command.run(
            "simulate", "--protocol", "mdd5k", "--clinician", actor, "--patient", "rules", "--sample", 1,
            "--out", tmp_path / "talks",
        )  # fmt: skip
    assert ended.code == 0, ended.err
    (line,) = (tmp_path / "talks" / "transcripts.jsonl").read_text("utf-8").splitlines()
    turns = json.loads(line)["turns"]
    assert sum(turn["role"] == "clinician" for turn in turns) >= 3
    assert any(turn["text"] == WORDS for turn in turns)
    chats = [chat(body) for body in server.sent()]
    assert max(len(roles) for _, roles in chats) >= 5
    for system, roles in chats:
        assert system
        assert roles[::2] == ["user"] * len(roles[::2])
        assert roles[1::2] == ["assistant"] * len(roles[1::2])
        assert roles[-1] == "user"
