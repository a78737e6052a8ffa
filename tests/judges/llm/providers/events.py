"""Replies as streams of server-sent events, and responses of OpenAI's Responses API.

platform.openai.com/docs/api-reference/chat-streaming and /responses; docs.claude.com, Streaming messages; Qwen at
DashScope: help.aliyun.com/zh/model-studio, Deep thinking.
"""

from __future__ import annotations

import json
from typing import Any

from tests.judges.llm.providers.server import Answer, Call, fitting


def stream(*events: Any, ended: bool = True, names: bool = False) -> Answer:
    """An answer of these events; ``names`` writes each one's type before it, ``ended`` the mark of the end after."""
    lines = [
        (f"event: {event['type']}\n" if names else "") + f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
        for event in events
    ]
    text = ": keep-alive\n\n" + "".join(lines) + ("data: [DONE]\n\n" if ended else "")
    return Answer(text.encode(), headers={"Content-Type": "text/event-stream"})


def chunks(
    call: Call, text: str | None = None, *, thought: str = "", ending: str | None = "stop", ended: bool = True
) -> Answer:
    """A chat completion in chunks, of ten characters each; the counts come last, with no choice beside them."""
    form = call.body.get("response_format") or {}
    words = fitting(form.get("json_schema", form).get("schema")) if text is None else text
    base = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": call.body.get("model")}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}

    parts = [chunk({"role": "assistant", "content": None, "reasoning_content": thought})]
    parts += [chunk({"content": words[at : at + 10]}) for at in range(0, len(words), 10)]
    if ending:
        parts.append(chunk({}, ending))
    usage = {"prompt_tokens": 500, "completion_tokens": 40, "total_tokens": 540}
    return stream(*parts, {**base, "choices": [], "usage": usage}, ended=ended)


def response(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A response; made to fit the schema unless ``text`` is given, other parts replace its fields."""
    words = fitting(call.body.get("text", {}).get("format", {}).get("schema")) if text is None else text
    message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
               "content": [{"type": "output_text", "text": words, "annotations": []}]}  # fmt: skip
    usage = {"input_tokens": 500, "input_tokens_details": {"cached_tokens": 300}, "output_tokens": 90,
             "output_tokens_details": {"reasoning_tokens": 50}, "total_tokens": 590}  # fmt: skip
    body = {"id": "resp_1", "object": "response", "created_at": 0, "status": "completed", "error": None,
            "incomplete_details": None, "model": call.body.get("model"),
            "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, message], "usage": usage,
            **parts}  # fmt: skip
    return Answer(body)


def response_events(call: Call, kind: str = "response.completed") -> Answer:
    """The same as events, the last of which holds it whole."""
    whole = response(call).body
    return stream(
        {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": '{"rea'},
        {"type": kind, "response": whole},
        ended=False, names=True,
    )  # fmt: skip


def message_events(call: Call) -> Answer:
    """A message of Anthropic's as events."""
    words = fitting(call.body["output_config"]["format"]["schema"])
    start: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude",
             "stop_reason": None, "usage": {"input_tokens": 500, "output_tokens": 1}}  # fmt: skip
    return stream(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
          for part in (words[:9], words[9:])),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 40}},
        {"type": "message_stop"},
        ended=False, names=True,
    )  # fmt: skip


def mistral_error(*place: str, said: str = "Extra inputs are not permitted", form: str = "object") -> Answer:
    """A request that Mistral refuses: its details in ``message``, as an object, a list or a text."""
    details = [{"type": "extra_forbidden", "loc": ["body", *place], "msg": said, "input": 1}]
    forms = {"object": {"detail": details}, "list": details, "text": json.dumps({"detail": details})}
    body = {"object": "error", "message": forms[form], "type": "invalid_request_error", "param": None, "code": None}
    return Answer(body, 422)
