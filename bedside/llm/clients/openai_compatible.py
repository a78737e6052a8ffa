"""A client of servers that speak OpenAI's chat protocol: vLLM, SGLang, llama.cpp, LM Studio, OpenAI itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from bedside.judges.reply import Token
from bedside.llm.client import (
    OPENAI_URL,
    FaultError,
    Forms,
    JudgeError,
    JudgeName,
    RefusedError,
    Reply,
    Request,
    Sampling,
    Secrets,
    UnusableError,
    retry_after,
)

#: Alternatives asked for at each token; the most that OpenAI gives.
TOP_LOGPROBS = 20
_MAX_BODY = 16 * 2**20
_CONNECT_SECONDS = 10.0
#: Forms of structured output, the strictest first.
_JSON_SCHEMA, _JSON_OBJECT, _WORDS = 0, 1, 2
#: Statuses that may mean that a form is not supported.
_FORM_STATUSES = {400, 415, 422, 500, 501}
_NOT_ALLOWED = {401: "refuses the key", 402: "wants to be paid first", 403: "refuses access"}


class OpenAICompatible:
    """Asks a server at ``<url>/chat/completions``.

    Args:
        name: the model and the server's address.
        key: sent as a bearer token; none if empty.
        sampling: how the model is asked to write.
    """

    def __init__(self, name: JudgeName, key: str, sampling: Sampling) -> None:
        assert name.url is not None
        self.max_prompt_tokens = sampling.max_prompt_tokens
        self._name = name
        self._url = f"{name.url}/chat/completions"
        self._sampling = sampling
        self.secrets = Secrets(more=[key])
        self._forms = Forms(_WORDS)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        # OpenAI's newer models refuse the old name, other servers may not know the new one.
        limit = "max_completion_tokens" if name.url == OPENAI_URL else "max_tokens"
        body: dict[str, Any] = {"model": name.model, limit: sampling.max_tokens}
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.probabilities:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        self._body = body
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.llm.client.Client`."""
        form = self._forms.choose(request)
        status, headers, body = await self._post(self.content(request, form))
        if status != 200:
            if status in _FORM_STATUSES:
                self._forms.failed(form, refused=status < 500)
            raise self._failure(status, headers, body)
        reply = self.read(body)
        self._forms.worked(form)
        return replace(reply, endpoint=self._name.url)

    def content(self, request: Request, form: int = _JSON_SCHEMA) -> bytes:
        """The body of a request, with structured output of this form."""
        content = {**self._body, "messages": request.messages()}
        if request.seed is not None:
            content["seed"] = request.seed
        schema = orjson.Fragment(request.schema)
        if form == _JSON_SCHEMA:
            named = {"name": "judgement", "strict": True, "schema": schema}
            content["response_format"] = {"type": "json_schema", "json_schema": named}
        elif form == _JSON_OBJECT:
            content["response_format"] = {"type": "json_object", "schema": schema}
        return orjson.dumps(content)

    async def _post(self, content: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            local = urlsplit(self._url).hostname in ("localhost", "127.0.0.1", "::1")
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                # The engine bounds how many requests are under way.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._sampling.timeout, sock_connect=_CONNECT_SECONDS),
                trust_env=not local,
            )
        try:
            async with self._session.post(self._url, data=content, allow_redirects=False) as response:
                body = bytearray()
                async for chunk in response.content.iter_any():
                    body += chunk
                    if len(body) > _MAX_BODY:
                        raise FaultError("the server's answer is larger than any reply")
                return response.status, response.headers, bytes(body)
        except TimeoutError as error:
            seconds = f"{self._sampling.timeout:g}"
            raise FaultError(f"no answer within {seconds} s", unreachable=True) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise JudgeError(
                "the server's certificate is not trusted", where=self._name.url, todo="check the address"
            ) from error
        except aiohttp.InvalidURL as error:
            raise JudgeError("the address can't be read", where=self._name.url) from error
        except (aiohttp.ClientError, OSError) as error:
            said = self.secrets.line(str(error)) or type(error).__name__
            raise FaultError(f"the connection failed ({said})", unreachable=True) from error
        except ValueError as error:  # it may repeat the address, with the password in it
            raise JudgeError(
                "the address of the proxy can't be read",
                where=self._name.url,
                todo="check HTTP_PROXY and HTTPS_PROXY",
            ) from error

    def _failure(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        text = self.secrets.line(message_of(body))
        said = f"{status}: {text}" if text else str(status)
        where = self._name.url
        if status in _NOT_ALLOWED:
            return JudgeError(
                f"the server {_NOT_ALLOWED[status]} ({said})", where=where, todo=f"check {self._name.key}"
            )
        if status == 404:
            return JudgeError(
                f"there is no model {self._name.model!r} or no chat at this address ({said})",
                where=where,
                todo="check the address, which mostly ends in /v1, and the model's name",
            )
        if 300 <= status < 400:
            target = self.secrets.line(headers.get("Location", "elsewhere"))
            return JudgeError(f"the server redirects to {target}", where=where, todo="name that address")
        if status == 429 and "insufficient_quota" in message_of(body):
            return JudgeError(f"the account's quota is used up ({said})", where=where)
        if status in (408, 409, 425, 429) or status >= 500:
            wait = retry_after(headers.get("Retry-After"))
            return FaultError(f"the server answered {said}", wait=wait, busy=status in (429, 503))
        return RefusedError(f"the server refused the request ({said})")

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
            said = self.secrets.line(message_of(body))
            raise FaultError(f"the server's answer holds no reply ({said})") from error
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

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


def message_of(body: bytes) -> str:
    """What an error's body says."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return text
    found = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(found, dict):
        said = found.get("message") or found.get("detail")
        code = found.get("code") or found.get("type")
        if isinstance(said, str):
            return f"{said} ({code})" if isinstance(code, str) and code not in said else said
    return found if isinstance(found, str) else text


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
                _bytes(each),
                tuple((_bytes(other), float(other["logprob"])) for other in each["top_logprobs"]),
            )
            for each in content
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


def _bytes(token: Mapping[str, Any]) -> bytes:
    given = token.get("bytes")
    return bytes(given) if given is not None else str(token["token"]).encode()
