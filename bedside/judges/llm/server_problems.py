"""What servers that speak OpenAI's protocol say is wrong, read from their answers.

OpenAI: ``{"error": {"message", "type", "param", "code"}}``. Azure adds ``innererror`` and ``status``, and answers some
errors with ``{"statusCode", "message"}``. vLLM: as OpenAI, or without the outer object, and the code is a number.
llama.cpp: ``n_ctx`` and ``n_prompt_tokens`` beside the message. OpenRouter: a number for a code, and ``metadata``, also
in an answer whose status is 200. FastAPI's servers: ``{"detail": …}``, a text or a list with the ``loc`` of each fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

_TOO_LONG = re.compile(
    r"context[ _]length|context (window|size)|maximum (context|model|input|prompt) |max_model_len"
    r"|(prompt|input|request) (is|was) too (long|large)|too many (input )?tokens|longer than the (model|maximum)"
    r"|reduce the length of the (messages|input|prompt)|request too large",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content management policy|flagged as potentially violating", re.IGNORECASE)
_TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
_FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "ResponsibleAIPolicyViolation",
    "invalid_prompt",
}
_QUOTA_CODES = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
}


@dataclass(frozen=True, slots=True)
class ServerProblem:
    """An error as a server describes it.

    Attributes:
        status: of HTTP, or what stands in its place in the body.
        message: its words; empty where there are none.
        codes: its code, type and inner code, as texts.
        parameters: the parameters that it names as such.
        filtered: the content filter's categories that were met, with how severe; empty where none is named.
        flagged: whether a content filter or moderation stopped the request.
    """

    status: int
    message: str = ""
    codes: frozenset[str] = frozenset()
    parameters: tuple[str, ...] = ()
    filtered: tuple[str, ...] = ()
    flagged: bool = False

    @property
    def too_long(self) -> bool:
        """Whether the request is longer than the model takes in, or than the account may ever send."""
        if self.status < 400 or (self.status == 429 and "request too large" not in self.message.lower()):
            return False
        long = self.status == 413 or bool(self.codes & _TOO_LONG_CODES)
        return long or _TOO_LONG.search(self.message) is not None

    @property
    def out_of_quota(self) -> bool:
        """Whether nothing is answered until somebody pays, however long one waits."""
        return self.status == 402 or bool(self.codes & _QUOTA_CODES)


def read_problem(status: int, body: bytes) -> ServerProblem:
    """What is wrong, as the body of an answer says it."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ServerProblem(status, body[:2000].decode("utf-8", "replace"))
    return problem_in(status, data)


def problem_in(status: int, data: Any) -> ServerProblem:
    """What is wrong, as the JSON of an answer says it."""
    error = data.get("error", data) if isinstance(data, Mapping) else data
    if isinstance(error, str):
        return ServerProblem(status, error)
    if not isinstance(error, Mapping):
        return ServerProblem(status)
    inner = _object(error.get("innererror") or error.get("inner_error"))
    metadata = _object(error.get("metadata"))
    details = error.get("detail")
    message = next((text for text in (error.get("message"), details) if isinstance(text, str)), "")
    parameters = [error.get("param")]
    if isinstance(details, list):
        faults = [_object(fault) for fault in details]
        message = message or "; ".join(str(fault.get("msg") or "") for fault in faults)
        parameters += [part for fault in faults for part in fault.get("loc") or ()]
    if isinstance(metadata.get("raw"), str):  # what the provider behind a router said
        message = f"{message}: {metadata['raw'][:500]}"
    codes = {str(part.get(name)) for part in (error, inner) for name in ("code", "type") if part.get(name)}
    categories = _categories(inner.get("content_filter_result") or inner.get("content_filter_results"))
    categories += tuple(str(reason) for reason in metadata.get("reasons") or ())
    flagged = bool(codes & _FILTER_CODES or categories or _FILTERED.search(message))
    named = tuple(str(name) for name in parameters if name and name not in ("body", "prompt"))
    return ServerProblem(status, message, frozenset(codes), named, categories, flagged)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _categories(results: object) -> tuple[str, ...]:
    """The categories of Azure's content filter that were met."""
    met = []
    for name, result in _object(results).items():
        detail = _object(result)
        if detail.get("filtered"):
            severity = detail.get("severity")
            met.append(f"{name}, {severity}" if isinstance(severity, str) else str(name))
    return tuple(met)
