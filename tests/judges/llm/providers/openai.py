"""OpenAI's documented behaviours: https://platform.openai.com/docs/guides/error-codes/api-errors and the pages named
at each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.judges.llm.providers.server import Answer, Behaviour, Call, fitting


def chat(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A chat completion (docs/api-reference/chat/object); made to fit the schema unless ``text`` is given.

    Args:
        call: what came in.
        text: the model's words.
        parts: ``message``, ``choice``, ``usage`` and ``top`` add to these objects or replace their fields; ``headers``
            of HTTP.
    """
    form = call.body.get("response_format") or {}
    content = fitting(form.get("json_schema", form).get("schema")) if text is None else text
    message = {"role": "assistant", "content": content, "refusal": None, **parts.get("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **parts.get("choice", {})}
    usage = {"prompt_tokens": 500, "completion_tokens": 40, "total_tokens": 540, **parts.get("usage", {})}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": call.body.get("model"),
            "choices": [choice], "usage": usage, **parts.get("top", {})}  # fmt: skip
    return Answer(body, headers=parts.get("headers", {}))


def error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error as OpenAI writes it (docs/api-reference/errors)."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Answer(body, status, headers or {})


def refusing_parameters(**unsupported: str) -> Behaviour:
    """Refuses parameters, with the code that each is refused with, until they are left out."""

    def behaviour(call: Call) -> Answer:
        for name, code in unsupported.items():
            if name not in call.body:
                continue
            if code == "unsupported_value":
                said = f"Unsupported value: '{name}' does not support {call.body[name]} with this model."
            else:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                if name == "max_tokens":
                    said += " Use 'max_completion_tokens' instead."
            return error(400, said, param=name, code=code)
        return chat(call)

    return behaviour


def declining(words: str) -> Behaviour:
    """A refusal (docs/guides/structured-outputs, Refusals): no content, the model's words beside it."""
    return lambda call: chat(call, message={"content": None, "refusal": words})


def out_of_tokens(call: Call) -> Answer:
    """All tokens went into reasoning (docs/guides/reasoning, Allocating space for reasoning)."""
    limit = call.body.get("max_completion_tokens")
    return chat(
        call,
        text="",
        choice={"finish_reason": "length"},
        usage={"completion_tokens": limit, "completion_tokens_details": {"reasoning_tokens": limit}},
    )


def reasoning(call: Call) -> Answer:
    """A reply after reasoning, with some of the prompt in the cache (docs/guides/prompt-caching)."""
    usage = {
        "prompt_tokens": 2000, "completion_tokens": 340, "total_tokens": 2340,
        "prompt_tokens_details": {"cached_tokens": 1500, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 300, "audio_tokens": 0},
    }  # fmt: skip
    return chat(call, usage=usage)


def no_such_model(names: list[str]) -> Behaviour:
    """404 for the model; the list of models answers (docs/api-reference/models/list)."""

    def behaviour(call: Call) -> Answer:
        if call.method == "GET":
            return Answer({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        said = f"The model `{call.body['model']}` does not exist or you do not have access to it."
        return error(404, said, code="model_not_found")

    return behaviour


#: Errors that end a judging, each with what the one line must say (docs/guides/error-codes/api-errors).
STOPS = {
    "wrong key": (
        error(401, "Incorrect API key provided: sk-****one.", code="invalid_api_key"),
        ["refuses the key", "check OPENAI_API_KEY"],
    ),
    "no such organization": (
        error(401, "You must be a member of an organization to use the API"),
        ["refuses the key", "check OPENAI_API_KEY"],
    ),
    "country": (
        error(403, "Country, region, or territory not supported", code="unsupported_country_region_territory"),
        ["refuses access", "ask from a country that is served", "OPENAI_API_KEY"],
    ),
    "project": (
        error(403, "Project `proj_1` does not have access to model `gpt-4.1`", code="model_not_found"),
        ["may not ask for 'gpt-4.1'", "project of the key"],
    ),
    "quota": (
        error(
            429, "You exceeded your current quota, please check your plan and billing details.",
            kind="insufficient_quota", code="insufficient_quota",
        ),
        ["no credit left", "platform.openai.com", "goes on where it stopped"],
    ),
    "limit of tokens": (
        error(
            400, "max_tokens is too large: 4096. This model supports at most 2048 completion tokens.",
            param="max_completion_tokens", code="invalid_value",
        ),
        ["doesn't write as many as 4096 tokens", "--max-tokens"],
    ),
}  # fmt: skip
