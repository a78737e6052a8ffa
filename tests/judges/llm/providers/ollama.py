"""Ollama's documented behaviours: github.com/ollama/ollama/blob/main/docs/api.md and docs.ollama.com/api/errors."""

from __future__ import annotations

from typing import Any

from tests.judges.llm.providers.server import Answer, Call, fitting


def chat(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A reply to a chat (api.md, Generate a chat completion, No streaming); made to fit ``format`` unless ``text`` is
    given. ``message`` adds to the message, other parts to the whole."""
    words = fitting(call.body.get("format")) if text is None else text
    message = {"role": "assistant", "content": words, **parts.pop("message", {})}
    body = {"model": call.body.get("model"), "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True,
            "done_reason": "stop", "total_duration": 1, "load_duration": 1, "prompt_eval_count": 500,
            "prompt_eval_duration": 1, "eval_count": 40, "eval_duration": 1, **parts}  # fmt: skip
    return Answer(body)


def error(status: int, said: str) -> Answer:
    """An error as Ollama writes it (docs.ollama.com/api/errors)."""
    return Answer({"error": said}, status)
