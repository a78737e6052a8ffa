"""Other forms in which chats are sent and answered: OpenAI's Responses API, and streams of server-sent events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

# -- OpenAI's Responses API, by which some models are asked alone ---------------------------------------
# What is sent and comes back, from and to a chat's form (platform.openai.com/docs/api-reference/responses).

#: OpenAI's models that chats are refused for: what others are is learnt from the refusal.
_ONLY = re.compile(r"(gpt-[\d.]+|o\d)-pro\b|codex|deep-research|computer-use")
#: What a server says of a model that no chat can be had with.
NO_CHAT = re.compile(
    r"v1/responses|responses api|not a chat model|not supported (in|with|by) the v1/chat/completions", re.IGNORECASE
)
_CONVERTED = frozenset(
    ("messages", "max_tokens", "max_completion_tokens", "reasoning_effort", "logprobs", "top_logprobs", "seed",
     "response_format")
)  # fmt: skip
_ENDINGS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def asked_by_responses(provider: str | None, model: str) -> bool:
    """Whether a model is known to be asked by this interface alone."""
    return provider == "openai" and _ONLY.search(model) is not None


def response_request(chat: Mapping[str, Any]) -> dict[str, Any]:
    """The request that is a chat's; there is no seed in it."""
    body: dict[str, Any] = {name: value for name, value in chat.items() if name not in _CONVERTED}
    body |= {"input": chat["messages"], "store": False}
    limit = chat.get("max_completion_tokens", chat.get("max_tokens"))
    if limit is not None:
        body["max_output_tokens"] = limit
    if "reasoning_effort" in chat:
        body["reasoning"] = {"effort": chat["reasoning_effort"]}
    if chat.get("logprobs"):
        body |= {"top_logprobs": chat["top_logprobs"], "include": ["message.output_text.logprobs"]}
    form = chat.get("response_format")
    if form is not None:
        body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
    return body


def chat_of(data: Any) -> Any:
    """A response as the chat that it would have been; what has another form is given back."""
    if not isinstance(data, dict) or data.get("error") or not isinstance(data.get("output"), list):
        return data
    parts = [
        part
        for item in data["output"]
        if isinstance(item, dict) and item.get("type") == "message"
        for part in item.get("content") or ()
    ]
    texts = [part for part in parts if part.get("type") == "output_text"]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    reason = (data.get("incomplete_details") or {}).get("reason")
    usage = data.get("usage") or {}
    message = {"content": "".join(part["text"] for part in texts), "refusal": "".join(refusals) or None}
    return {
        **{name: value for name, value in data.items() if name not in ("output", "usage")},
        "choices": [
            {
                "message": message,
                "finish_reason": _ENDINGS.get(str(reason), "stop"),
                "logprobs": {"content": [token for part in texts for token in part.get("logprobs") or ()]},
            }
        ],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "total_tokens": usage.get("total_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
            "completion_tokens_details": usage.get("output_tokens_details"),
        },
    }


# -- Streams of events, put together into what comes in one piece elsewhere -----------------------------
# OpenAI's chats send chunks with a ``delta`` each, and end with ``[DONE]``; the Responses API sends the whole response
# in its last event; Anthropic's messages send blocks, and what is added to each.

_ENDED = ("response.completed", "response.incomplete", "response.failed")
#: Texts of a chunk's delta that are joined to what came before.
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class BrokenStreamError(ValueError):
    """A stream ended before the reply did."""


def is_stream(body: bytes) -> bool:
    """Whether an answer is a stream of events."""
    return body.lstrip()[:6].startswith((b"data:", b"event:", b"id:", b":"))


def joined_events(body: bytes) -> Any:
    """The JSON of the answer that a stream stands for; an error that came in it is the answer.

    Raises:
        BrokenStreamError: it ended too early, or is another kind of stream.
        KeyError, TypeError, AttributeError, IndexError: an event has another form.
    """
    chat: dict[str, Any] = {}
    message: dict[str, Any] = {}
    ended = False
    for event in _events(body):
        if event is None:
            ended = True
        elif event.get("error"):
            return {"error": event["error"]}
        elif event.get("type") in _ENDED:
            return event["response"]
        elif "choices" in event:
            _add_chunk(chat, event)
            ended = ended or bool(chat["choices"][0]["finish_reason"])
        elif isinstance(event.get("type"), str):
            _add_block(message, event)
            ended = ended or event["type"] == "message_stop"
    if not ended or not (chat or message):
        raise BrokenStreamError("the stream ended before the reply did")
    for block in message.get("content", ()):
        if block["type"] == "tool_use":
            block["input"] = json.loads(block.pop("partial", "") or "{}")
    return chat or message


def _events(body: bytes) -> Iterator[dict[str, Any] | None]:
    """The JSON of each event; None for the mark of the end."""
    for part in body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = (line[5:].strip() for line in part.split(b"\n") if line.startswith(b"data:"))
        data = b"\n".join(lines)
        if data == b"[DONE]":
            yield None
        elif data:
            event = orjson.loads(data)
            if isinstance(event, dict):
                yield event


def _add_chunk(chat: dict[str, Any], event: Mapping[str, Any]) -> None:
    if not chat:
        chat["choices"] = [{"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": None}]
    chat |= {name: value for name, value in event.items() if name != "choices" and value is not None}
    whole = chat["choices"][0]
    for choice in event["choices"]:
        if choice.get("index"):
            continue  # one reply was asked for
        delta, message = choice.get("delta") or {}, whole["message"]
        for name in _TEXTS:
            if isinstance(delta.get(name), str):
                message[name] = (message.get(name) or "") + delta[name]
        if delta.get("tool_calls"):
            message["tool_calls"] = delta["tool_calls"]
        tokens = (choice.get("logprobs") or {}).get("content")
        if tokens:
            whole.setdefault("logprobs", {"content": []})["content"] += tokens
        for name in ("finish_reason", "content_filter_results", "error"):
            if choice.get(name):
                whole[name] = choice[name]


def _add_block(message: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Add one of Anthropic's events to a message."""
    match event["type"]:
        case "message_start":
            message |= {**event["message"], "content": []}
        case "content_block_start":
            message["content"].append(dict(event["content_block"]))
        case "content_block_delta":
            block, delta = message["content"][event["index"]], event["delta"]
            if delta["type"] == "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            elif delta["type"] == "input_json_delta":
                block["partial"] = block.get("partial", "") + delta["partial_json"]
        case "message_delta":
            message |= event["delta"]
            message["usage"] = {**message.get("usage", {}), **(event.get("usage") or {})}
