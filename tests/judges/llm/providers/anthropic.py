"""Anthropic's documented behaviours: https://platform.claude.com/docs/en/api/errors and the pages named at each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.judges.llm.providers.server import Answer, Call, fitting


def message(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A message (docs/en/api/messages); made to fit the schema that was asked for unless ``text`` is given.

    Args:
        call: what came in.
        text: the model's words.
        parts: fields of the message, in place of the usual ones; ``usage`` adds to that.
    """
    tools = call.body.get("tools")
    if tools and text is None:
        made = json.loads(fitting(tools[0]["input_schema"]))
        block = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": made}
    else:
        schema = call.body.get("output_config", {}).get("format", {}).get("schema")
        block = {"type": "text", "text": fitting(schema) if text is None else text}
    usage = {"input_tokens": 500, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 40,
             "service_tier": "standard", **parts.pop("usage", {})}  # fmt: skip
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": call.body.get("model"), "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn", "stop_sequence": None,
            "usage": usage, **parts}  # fmt: skip
    return Answer(body, headers={"request-id": "req_1"})


def error(status: int, kind: str, said: str, headers: Mapping[str, str] | None = None, **details: Any) -> Answer:
    """An error as Anthropic writes it (docs/en/api/errors, Error shapes)."""
    body = {"type": "error", "error": {"type": kind, "message": said, **details}, "request_id": "req_1"}
    return Answer(body, status, headers or {})
