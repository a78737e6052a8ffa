"""Asking a server that speaks OpenAI's chat protocol, by HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import aiohttp

from bedside.llm.forms import Forms
from bedside.llm.model_names import ModelName
from bedside.llm.openai_chat import WORDS, OpenAIChat, error_message
from bedside.llm.protocol import (
    FaultError,
    LanguageModelError,
    RefusedError,
    Reply,
    Request,
    Sampling,
    retry_after,
)
from bedside.llm.secrets import Secrets

_MAX_BODY = 16 * 2**20
_CONNECT_SECONDS = 10.0
#: Statuses that may mean that a form is not supported.
_FORM_STATUSES = {400, 415, 422, 500, 501}
_NOT_ALLOWED = {401: "refuses the key", 402: "wants to be paid first", 403: "refuses access"}


class OpenAIServer:
    """Asks a server at ``<url>/chat/completions``; a :class:`bedside.llm.protocol.Client`.

    Args:
        name: the model and the server's address.
        key: sent as a bearer token; none if empty.
        sampling: how the model is asked to write.
    """

    def __init__(self, name: ModelName, key: str, sampling: Sampling) -> None:
        assert name.url is not None
        self.max_prompt_tokens = sampling.max_prompt_tokens
        self._name = name
        self._url = f"{name.url}/chat/completions"
        self._timeout = sampling.timeout
        self._secrets = Secrets(more=[key])
        self._chat = OpenAIChat(name, sampling, self._secrets)
        self._forms = Forms(WORDS)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.llm.protocol.Client`."""
        form = self._forms.choose(request)
        status, headers, body = await self._post(self._chat.content(request, form))
        if status != 200:
            if status in _FORM_STATUSES:
                self._forms.failed(form, refused=status < 500)
            raise self._failure(status, headers, body)
        reply = self._chat.read(body)
        if request.schema is not None:
            self._forms.worked(form)
        return replace(reply, endpoint=self._name.url)

    async def _post(self, content: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            local = urlsplit(self._url).hostname in ("localhost", "127.0.0.1", "::1")
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                # Whoever asks bounds how many requests are under way.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=_CONNECT_SECONDS),
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
            raise FaultError(f"no answer within {self._timeout:g} s", unreachable=True) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise LanguageModelError(
                "the server's certificate is not trusted", where=self._name.url, todo="check the address"
            ) from error
        except aiohttp.InvalidURL as error:
            raise LanguageModelError("the address can't be read", where=self._name.url) from error
        except (aiohttp.ClientError, OSError) as error:
            problem = self._secrets.line(str(error)) or type(error).__name__
            raise FaultError(f"the connection failed ({problem})", unreachable=True) from error
        except ValueError as error:  # it may repeat the address, with the password in it
            raise LanguageModelError(
                "the address of the proxy can't be read",
                where=self._name.url,
                todo="check HTTP_PROXY and HTTPS_PROXY",
            ) from error

    def _failure(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        text = self._secrets.line(error_message(body))
        answer = f"{status}: {text}" if text else str(status)
        where = self._name.url
        if status in _NOT_ALLOWED:
            return LanguageModelError(
                f"the server {_NOT_ALLOWED[status]} ({answer})", where=where, todo=f"check {self._name.key}"
            )
        if status == 404:
            return LanguageModelError(
                f"there is no model {self._name.model!r} or no chat at this address ({answer})",
                where=where,
                todo="check the address, which mostly ends in /v1, and the model's name",
            )
        if 300 <= status < 400:
            target = self._secrets.line(headers.get("Location", "elsewhere"))
            return LanguageModelError(
                f"the server redirects to {target}", where=where, todo="name that address"
            )
        if status == 429 and "insufficient_quota" in error_message(body):
            return LanguageModelError(f"the account's quota is used up ({answer})", where=where)
        if status in (408, 409, 425, 429) or status >= 500:
            wait = retry_after(headers.get("Retry-After"))
            return FaultError(f"the server answered {answer}", wait=wait, busy=status in (429, 503))
        return RefusedError(f"the server refused the request ({answer})")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
