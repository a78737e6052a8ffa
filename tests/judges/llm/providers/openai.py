"""OpenAI's documented behaviours: https://platform.openai.com/docs/guides/error-codes/api-errors and the pages named
at each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.judges.llm.providers.server import Answer, Behaviour, Call, fitting

#: A refused parameter or value (docs/guides/error-codes/api-errors).
PARAMETER, VALUE = "unsupported_parameter", "unsupported_value"


def chat(call: Call, text: str | None = None, **parts: Any) -> Answer:
    """A chat completion (docs/api-reference/chat/object); made to fit the schema unless ``text`` is given.

    Args:
        call: what came in.
        text: the model's words.
        parts: ``message``, ``choice`` and ``usage`` add to these objects or replace their fields.
    """
    form = call.body.get("response_format") or {}
    content = fitting(form.get("json_schema", form).get("schema")) if text is None else text
    message = {"role": "assistant", "content": content, "refusal": None, **parts.get("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **parts.get("choice", {})}
    usage = {"prompt_tokens": 500, "completion_tokens": 40, "total_tokens": 540, **parts.get("usage", {})}
    model = call.body.get("model")
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}
    return Answer(body)


def error(
    status: int, message: str, *, kind: str = "invalid_request_error", headers: Mapping[str, str] | None = None,
    **fields: str,
) -> Answer:  # fmt: skip
    """An error as OpenAI writes it (docs/api-reference/errors); fields: ``param`` and ``code``."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": None, **fields}}
    return Answer(body, status, headers or {})


def refusing_parameters(**unsupported: str) -> Behaviour:
    """Refuses parameters, with the code that each is refused with, until they are left out."""

    def behaviour(call: Call) -> Answer:
        for name, code in unsupported.items():
            if name in call.body and code == VALUE:
                words = f"Unsupported value: '{name}' does not support {call.body[name]} with this model."
            elif name in call.body:
                other = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                words = f"Unsupported parameter: '{name}' is not supported with this model.{other}"
            else:
                continue
            return error(400, words, param=name, code=code)
        return chat(call)

    return behaviour


def declining(words: str) -> Behaviour:
    """A refusal (docs/guides/structured-outputs, Refusals): no content, the model's words beside it."""
    return lambda call: chat(call, message={"content": None, "refusal": words})


def out_of_tokens(call: Call) -> Answer:
    """All tokens went into reasoning (docs/guides/reasoning, Allocating space for reasoning)."""
    limit = call.body.get("max_completion_tokens")
    usage = {"completion_tokens": limit, "completion_tokens_details": {"reasoning_tokens": limit}}
    return chat(call, text="", choice={"finish_reason": "length"}, usage=usage)


def reasoning(call: Call) -> Answer:
    """A reply after reasoning, with some of the prompt in the cache (docs/guides/prompt-caching)."""
    usage = {
        "prompt_tokens": 2000, "completion_tokens": 340, "total_tokens": 2340,
        "prompt_tokens_details": {"cached_tokens": 1500, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 300, "audio_tokens": 0},
    }  # fmt: skip
    return chat(call, usage=usage)


def no_such_model(*names: str) -> Behaviour:
    """404 for the model; the list of models answers (docs/api-reference/models/list)."""

    def behaviour(call: Call) -> Answer:
        if call.method == "GET":
            return Answer({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        said = f"The model `{call.body['model']}` does not exist or you do not have access to it."
        return error(404, said, code="model_not_found")

    return behaviour
