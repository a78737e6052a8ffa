"""Documented behaviours of servers of open models, and of OpenRouter, that speak OpenAI's protocol.

vLLM: docs.vllm.ai, OpenAI-compatible server, and the errors quoted in vllm-project/vllm issues 4667, 19464, 20409.
llama.cpp: tools/server/README.md, and ggml-org/llama.cpp pull request 15780 (the error of a context that is too small).
OpenRouter: openrouter.ai/docs/api/reference/errors-and-debugging.
"""

from __future__ import annotations

from typing import Any

from tests.judges.llm.providers.events import stream
from tests.judges.llm.providers.openai import chat
from tests.judges.llm.providers.server import Answer, Call


def vllm_error(message: str, status: int = 400, *, nested: bool = True, kind: str = "BadRequestError") -> Answer:
    """An error of vLLM: in an object of its own since 0.10, by itself before."""
    error = {"message": message, "type": kind, "param": None, "code": status}
    return Answer({"error": error} if nested else {"object": "error", **error}, status)


def pydantic_error(place: list[str], message: str, kind: str) -> Answer:
    """A request that FastAPI refuses, as SGLang and others answer it (fastapi.tiangolo.com, Handling errors)."""
    return Answer({"detail": [{"loc": ["body", *place], "msg": message, "type": kind}]}, 422)


def llama_error(status: int, message: str, kind: str, **fields: int) -> Answer:
    """An error of llama.cpp."""
    return Answer({"error": {"code": status, "message": message, "type": kind, **fields}}, status)


def llama_chat(call: Call) -> Answer:
    """A reply of llama.cpp's server, whatever else was asked for: ``timings`` stand in place of ``usage``, and events
    end without a mark."""
    whole = chat(call).body
    choice = whole["choices"][0]
    more = {
        "model": "gpt-3.5-turbo",
        "system_fingerprint": "b6002-0a5bc91d",
        "timings": {"prompt_n": 500, "cache_n": 0},
    }
    if not call.body.get("stream"):
        del whole["usage"]
        return Answer({**whole, **more, "choices": [{**choice, "logprobs": None}], "__verbose": {"prompt": "<s>"}})
    text = choice["message"]["content"]
    said: list[dict[str, Any]] = [{"role": "assistant", "content": None}, {"content": text[:9]}, {"content": text[9:]}]
    deltas = [*((delta, None) for delta in said), ({}, "stop")]
    return stream(
        *({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}], **more}
          for delta, end in deltas), ended=False,
    )  # fmt: skip


def router_error(status: int, message: str, *, http: int | None = None, **metadata: Any) -> Answer:
    """An error of OpenRouter; ``http`` is 200 where the model had begun."""
    error = {"code": status, "message": message, **({"metadata": metadata} if metadata else {})}
    return Answer({"error": error}, http or status)


NO_TEMPERATURE = vllm_error("temperature is not supported by this model")
VLLM_TOO_LONG = vllm_error(
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the "
    "messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    nested=False,
)
VLLM_NO_ROOM = vllm_error(
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens "
    "and your request has 1210 input tokens (4096 > 4096 - 1210)."
)
LLAMA_TOO_LONG = llama_error(
    400, "the request exceeds the available context size. try increasing the context size",
    "exceed_context_size_error", n_prompt_tokens=14429, n_ctx=8192,
)  # fmt: skip
ROUTER_FLAGGED = router_error(
    403, "Your chosen model requires moderation and your input was flagged", reasons=["self-harm"],
    flagged_input="I slept badly...", provider_name="OpenAI", model_slug="openai/gpt-4.1",
)  # fmt: skip
