"""Posting JSON to an address by HTTP: its connections, and what each way in which that can fail means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import aiohttp
import orjson

from bedside.judges.llm.openai_chat import error_message
from bedside.judges.llm.protocol import ANSWERED_BY, FaultError, LanguageModelError, note_sending
from bedside.judges.llm.server_problems import Secrets, asked_wait, not_answered

_CONNECT_SECONDS = 10.0


class AnswerTooLargeError(FaultError):
    """An answer is larger than may be."""


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """What an address answered.

    Attributes:
        status: of HTTP.
        headers: likewise.
        body: the content, whole.
        words: status and what the body says of an error, in one line without secrets.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    words: str


class HttpPoster:
    """Posts to one address; no redirect is followed.

    Args:
        url: the address.
        partner: who is there, for messages, such as ``the server``.
        where: the address as messages name it.
        key: sent as a bearer token, or as ``key_header``; none if empty.
        time_limit: seconds until a request counts as unanswered.
        most_bytes: of an answer.
        key_header: the header that the partner wants its key in, if no bearer token.
        headers: sent beside it.

    Attributes:
        secrets: what is taken out of whatever comes back.
    """

    def __init__(
        self,
        url: str,
        *,
        partner: str,
        where: str,
        key: str,
        time_limit: float,
        most_bytes: int,
        key_header: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.secrets: Secrets = Secrets(more=[key])
        self._url = url
        self._partner = partner
        self._where = where
        self._time_limit = time_limit
        self._most_bytes = most_bytes
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        if key:
            self._headers[key_header or "Authorization"] = key if key_header else f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def get_json(self, url: str, time_limit: float) -> Any:
        """What another address there answers, as JSON; None where it answers with nothing of the kind in time."""
        try:
            async with self._opened().get(
                url, allow_redirects=False, timeout=aiohttp.ClientTimeout(total=time_limit)
            ) as response:
                body = await response.content.read(self._most_bytes)
                return orjson.loads(body) if response.status == 200 else None
        except (aiohttp.ClientError, OSError, ValueError):  # a time-out is an OSError
            return None

    async def post(self, content: bytes, url: str | None = None) -> PostAnswer:
        """Post JSON to the address, or to another one there; raises as :meth:`send` does."""
        answered_by = ANSWERED_BY.get()
        if answered_by is not None:
            status, body = answered_by(content, url or self._url)
            return self._answer(status, {}, body)
        note_sending()
        return await self.send("POST", url or self._url, data=content)

    async def send(self, method: str, url: str, *, into: BinaryIO | None = None, **sending: Any) -> PostAnswer:
        """Send a request of HTTP.

        Args:
            method, url, sending: of the request, as the library has them.
            into: where the answer's body goes, if it is a good one; it may then have any size.

        Raises:
            LanguageModelError: nothing can be sent there.
            FaultError: it may work another time.
            AnswerTooLargeError: the answer is larger than may be.
        """
        try:
            async with self._opened().request(method, url, allow_redirects=False, **sending) as response:
                body = bytearray()
                async for chunk in response.content.iter_any():
                    if into is not None and response.status == 200:
                        into.write(chunk)
                        continue
                    body += chunk
                    if len(body) > self._most_bytes:
                        raise AnswerTooLargeError(f"the answer of {self._partner} is larger than any reply")
                return self._answer(response.status, response.headers, bytes(body))
        except TimeoutError as error:
            raise FaultError(
                f"no answer within {self._time_limit:g} s",
                unreachable=True,
                silent=not isinstance(error, aiohttp.ConnectionTimeoutError),
            ) from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise LanguageModelError(
                "the server's certificate is not trusted",
                where=self._where,
                todo="check the address, or name the file with your network's certificates in SSL_CERT_FILE",
            ) from error
        except aiohttp.InvalidURL as error:
            raise LanguageModelError(
                "the address can't be read", where=self._where, todo="check the address"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            problem = self.secrets.line(str(error)) or type(error).__name__
            raise FaultError(
                f"the connection failed ({problem})",
                unreachable=True,
                silent=isinstance(error, aiohttp.ServerDisconnectedError),
            ) from error
        except ValueError as error:  # it may repeat the address, with the password in it
            raise LanguageModelError(
                "the address of the proxy can't be read",
                where=self._where,
                todo="check HTTP_PROXY and HTTPS_PROXY, and remove the server's entry from ~/.netrc, if it has one",
            ) from error

    def failure(self, answer: PostAnswer) -> Exception:
        """What an answer means that is not as wanted, where the caller knows nothing better."""
        if 300 <= answer.status < 400:
            target = self.secrets.line(answer.headers.get("Location", "elsewhere"))
            return LanguageModelError(
                f"{self._partner} redirects to {target}", where=self._where, todo="name that address"
            )
        return not_answered(self._partner, answer.status, answer.words, asked_wait(answer.headers, answer.words))

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
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
        return self._session

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        text = self.secrets.line(error_message(body)) if status != 200 else ""
        return PostAnswer(status, headers, body, f"{status}: {text}" if text else str(status))
