"""Posting calls to an address, by HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp
import orjson

from bedside.llm.openai_chat import error_message
from bedside.llm.protocol import (
    FaultError,
    LanguageModelError,
    RefusedError,
    Reply,
    Request,
    retry_after,
)
from bedside.llm.secrets import Secrets
from bedside.simulation.actors._queued import MOST_BYTES, AgentRequest, agent_text

_CONNECT_SECONDS = 10.0
_NOT_ALLOWED = {401: "refuses the key", 403: "refuses access", 404: "has nothing there", 405: "takes no POST"}


class WebhookClient:
    """Posts calls as JSON; a :class:`bedside.llm.protocol.Client`.

    Args:
        url: the address.
        key: sent as a bearer token; none if empty.
        time_limit: seconds until a request counts as unanswered.
    """

    max_prompt_tokens: int | None = None

    def __init__(self, url: str, key: str, time_limit: float) -> None:
        self._url = url
        self._time_limit = time_limit
        self._secrets = Secrets(more=[key])
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, request: Request) -> Reply:
        """Post one call; see :class:`bedside.llm.protocol.Client`."""
        assert isinstance(request, AgentRequest)
        status, headers, body = await self._post(orjson.dumps(request.payload))
        if status != 200:
            raise self._failure(status, headers, body)
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            page = body.lstrip()[:1] == b"<" or "html" in headers.get("Content-Type", "")
            what = "a web page" if page else "something else"
            raise RefusedError(f"the webhook answered with {what} in place of JSON") from None
        try:
            return Reply(self._secrets.scrub(agent_text(value, data=request.data)), endpoint=self._url)
        except ValueError as error:
            raise RefusedError(f"the webhook returned {error}") from None

    async def _post(self, content: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            local = urlsplit(self._url).hostname in ("localhost", "127.0.0.1", "::1")
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                # Whoever asks bounds how many requests are under way.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._time_limit, sock_connect=_CONNECT_SECONDS),
                trust_env=not local,
            )
        try:
            async with self._session.post(self._url, data=content, allow_redirects=False) as response:
                body = bytearray()
                async for chunk in response.content.iter_any():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        raise RefusedError(f"the webhook returned more than {MOST_BYTES / 1e6:g} MB")
                return response.status, response.headers, bytes(body)
        except TimeoutError as error:
            raise FaultError(f"no answer within {self._time_limit:g} s", unreachable=True) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise LanguageModelError(
                "the server's certificate is not trusted", where=self._url, todo="check the address"
            ) from error
        except aiohttp.InvalidURL as error:
            raise LanguageModelError("the address can't be read", where=self._url) from error
        except (aiohttp.ClientError, OSError) as error:
            problem = self._secrets.line(str(error)) or type(error).__name__
            raise FaultError(f"the connection failed ({problem})", unreachable=True) from error

    def _failure(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        text = self._secrets.line(error_message(body))
        answer = f"{status}: {text}" if text else str(status)
        if status in _NOT_ALLOWED:
            return LanguageModelError(
                f"the webhook {_NOT_ALLOWED[status]} ({answer})", where=self._url, todo="check it"
            )
        if 300 <= status < 400:
            target = self._secrets.line(headers.get("Location", "elsewhere"))
            return LanguageModelError(
                f"the webhook redirects to {target}", where=self._url, todo="name that address"
            )
        if status in (408, 409, 425, 429) or status >= 500:
            wait = retry_after(headers.get("Retry-After"))
            return FaultError(f"the webhook answered {answer}", wait=wait, busy=status in (429, 503))
        return RefusedError(f"the webhook refused the request ({answer})")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
