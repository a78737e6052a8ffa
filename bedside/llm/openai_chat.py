"""OpenAI's form of a chat: what is sent and what comes back, by HTTP or in batch files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from bedside.llm.model_names import ModelName
from bedside.llm.protocol import FaultError, Reply, Request, Sampling, UnusableError
from bedside.llm.secrets import Secrets
from bedside.llm.tokens import Token

OPENAI_URL = "https://api.openai.com/v1"
#: Alternatives asked for at each token; the most that OpenAI gives.
TOP_LOGPROBS = 20
#: Forms of structured output, the strictest first.
JSON_SCHEMA, JSON_OBJECT, WORDS = 0, 1, 2


class OpenAIChat:
    """Writes requests to a model, and reads its answers.

    Args:
        name: the model.
        sampling: how the model is asked to write.
        secrets: what is taken out of its answers.
    """

    def __init__(self, name: ModelName, sampling: Sampling, secrets: Secrets) -> None:
        self.secrets = secrets
        self._sampling = sampling
        # OpenAI's newer models refuse the old name, other servers may not know the new one.
        limit = "max_completion_tokens" if name.url == OPENAI_URL else "max_tokens"
        body: dict[str, Any] = {"model": name.model, limit: sampling.max_tokens}
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.probabilities:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        self._body = body

    def content(self, request: Request, form: int = JSON_SCHEMA) -> bytes:
        """The body of a request, with structured output of this form where it has a schema."""
        content = {**self._body, "messages": request.messages}
        if request.seed is not None:
            content["seed"] = request.seed
        if request.schema is not None:
            schema = orjson.Fragment(request.schema)
            if form == JSON_SCHEMA:
                named_schema = {"name": request.schema_name, "strict": True, "schema": schema}
                content["response_format"] = {"type": "json_schema", "json_schema": named_schema}
            elif form == JSON_OBJECT:
                content["response_format"] = {"type": "json_object", "schema": schema}
        return orjson.dumps(content)

    def read(self, body: bytes) -> Reply:
        """The reply in an answer's body.

        Raises:
            FaultError: it doesn't have the protocol's form.
            UnusableError: it holds no text.
        """
        data = _json(body)
        try:
            choice = data["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
            used = data.get("usage") or {}
            counts = _count(used.get("prompt_tokens")), _count(used.get("completion_tokens"))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            problem = self.secrets.line(error_message(body))
            raise FaultError(f"the server's answer holds no reply ({problem})") from error
        if isinstance(content, list):
            content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
        cut = choice.get("finish_reason") == "length"
        if not isinstance(content, str) or not content.strip():
            if isinstance(refusal, str) and refusal:
                raise UnusableError(f"the model declined: {self.secrets.line(refusal)}", "", *counts)
            ended = f" within {self._sampling.max_tokens} tokens" if cut else ""
            raise UnusableError(f"the reply is empty{ended}", "", *counts)
        tokens = _tokens(choice.get("logprobs")) if self._sampling.probabilities else ()
        return Reply(self.secrets.scrub(content), *counts, tokens=tokens, cut=cut)


def error_message(body: bytes) -> str:
    """What an error's body says."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return text
    error = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail")
        code = error.get("code") or error.get("type")
        if isinstance(message, str):
            return f"{message} ({code})" if isinstance(code, str) and code not in message else message
    return error if isinstance(error, str) else text


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # Half a surrogate pair, which models do write, is JSON to this parser only; it is replaced.
        text = json.dumps(json.loads(body), ensure_ascii=False)
        return orjson.loads(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise FaultError("the server's answer is not JSON") from error


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _tokens(logprobs: object) -> tuple[Token, ...]:
    """The tokens of a reply; none where the provider's form is another."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return ()
    try:
        return tuple(
            Token(
                _bytes(token),
                tuple((_bytes(other), float(other["logprob"])) for other in token["top_logprobs"]),
            )
            for token in content
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


def _bytes(token: Mapping[str, Any]) -> bytes:
    text = token.get("bytes")
    return bytes(text) if text is not None else str(token["token"]).encode()
