"""Sending to Amazon Bedrock: its library signs requests, knows addresses and renews what expires."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import aiobotocore.session
import orjson
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    HTTPClientError,
    ParamValidationError,
    ReadTimeoutError,
)

from bedside.judges.llm.http_poster import PostAnswer
from bedside.judges.llm.protocol import FaultError, LanguageModelError
from bedside.judges.llm.server_problems import Secrets, asked_wait, not_answered

_CONNECT_SECONDS = 10.0
#: Whoever asks bounds how many requests are under way.
_CONNECTIONS = 1024


class BedrockPoster:
    """Sends conversations to Bedrock; a :class:`bedside.judges.llm.clients._hosted_model.Poster`.

    Args:
        region: Amazon's.
        time_limit: seconds until a request counts as unanswered.
        secrets: what is taken out of whatever comes back.
    """

    def __init__(self, region: str, time_limit: float, secrets: Secrets) -> None:
        self.secrets = secrets
        self._region = region
        self._time_limit = time_limit
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._client: Any = None

    async def post(self, content: bytes) -> PostAnswer:
        """Send one conversation.

        Raises:
            LanguageModelError: nothing can be sent with these settings.
            FaultError: it may work another time.
        """
        try:
            async with asyncio.timeout(self._time_limit):
                answer = await (await self._opened()).converse(**orjson.loads(content))
        except ClientError as error:
            return self._error_answer(error)
        except (TimeoutError, ConnectTimeoutError, ReadTimeoutError) as error:
            raise FaultError(f"no answer within {self._time_limit:g} s", unreachable=True) from error
        except (HTTPClientError, OSError) as error:
            problem = self.secrets.line(str(error)) or type(error).__name__
            raise FaultError(f"the connection failed ({problem})", unreachable=True) from error
        except ParamValidationError as error:  # an older library doesn't know every field
            told = self.secrets.line(str(error))
            return PostAnswer(400, {}, told.encode(), f"400: {told}")
        except BotoCoreError as error:
            raise LanguageModelError(
                f"Amazon's settings can't be used: {self.secrets.line(str(error))}", todo="check the region and the key"
            ) from error
        answer.pop("ResponseMetadata", None)
        return PostAnswer(200, {}, orjson.dumps(answer, default=str), "200")

    def _error_answer(self, error: ClientError) -> PostAnswer:
        described: Any = error.response.get("Error", {})
        about: Any = error.response.get("ResponseMetadata", {})
        status = int(about.get("HTTPStatusCode") or 400)
        told = f"{described.get('Message', '')} ({described.get('Code', 'unknown')})"
        return PostAnswer(status, about.get("HTTPHeaders") or {}, told.encode(), f"{status}: {self.secrets.line(told)}")

    def failure(self, answer: PostAnswer) -> Exception:
        """What an answer means that is not as wanted, where the caller knows nothing better."""
        return not_answered("Bedrock", answer.status, answer.words, asked_wait(answer.headers, answer.words))

    async def _opened(self) -> Any:
        async with self._opening:
            if self._client is None:
                settings = Config(
                    connect_timeout=_CONNECT_SECONDS,
                    read_timeout=self._time_limit,
                    max_pool_connections=_CONNECTIONS,
                    # What fails is asked again by whoever asks, who counts it.
                    retries={"total_max_attempts": 1, "mode": "standard"},
                )
                opening = aiobotocore.session.get_session().create_client(
                    "bedrock-runtime", region_name=self._region, config=settings
                )
                self._client = await self._stack.enter_async_context(opening)
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        await self._stack.aclose()
