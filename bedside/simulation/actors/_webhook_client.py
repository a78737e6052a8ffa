"""Posting calls to an address, by HTTP."""

from __future__ import annotations

import orjson

from bedside.judges.llm.http_poster import AnswerTooLargeError, HttpPoster, PostAnswer
from bedside.judges.llm.protocol import FaultError, LanguageModelError, RefusedError, Reply, Request
from bedside.simulation.actors._queued import MOST_BYTES, AgentFailedError, AgentRequest, agent_text

_KEY_REFUSED = {401: "refuses the key", 403: "refuses access"}
_NOT_THERE = {404: "has nothing there", 405: "takes no POST"}
#: What stands between says these, or a server that has too much to do: they are not the agent's words.
_ON_THE_WAY = (408, 425, 429, 502, 503, 504, 529)


class WebhookClient:
    """Posts calls as JSON; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        url: the address.
        key: sent as a bearer token; none if empty.
        key_name: where the key was taken from, for messages.
        time_limit: seconds until a request counts as unanswered.
        tested: whether the agent there is under test: what it can't answer, it fails at (:class:`AgentFailedError`).
            What doesn't reach it, or is answered on the way, never is its failure.
    """

    max_prompt_tokens: int | None = None

    def __init__(self, url: str, *, key: str, key_name: str, time_limit: float, tested: bool) -> None:
        self._tested = tested
        self._failure_kind: type[Exception] = AgentFailedError if tested else RefusedError
        self._url = url
        self._key_name = key_name
        self._poster = HttpPoster(
            url, partner="the webhook", where=url, key=key, time_limit=time_limit, most_bytes=MOST_BYTES
        )

    async def complete(self, request: Request) -> Reply:
        """Post one call; see :class:`bedside.judges.llm.protocol.Client`."""
        assert isinstance(request, AgentRequest)
        try:
            answer = await self._poster.post(orjson.dumps(request.payload))
        except AnswerTooLargeError:
            raise self._failure_kind(f"the webhook returned more than {MOST_BYTES / 1e6:g} MB") from None
        except FaultError as fault:
            if self._tested and fault.silent:
                raise AgentFailedError(f"the webhook gave no answer: {fault.what}") from fault
            raise
        if answer.status != 200:
            raise self._failure(answer)
        try:
            value = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            page = answer.body.lstrip()[:1] == b"<" or "html" in answer.headers.get("Content-Type", "")
            what = "a web page" if page else "something else"
            raise self._failure_kind(f"the webhook answered with {what} in place of JSON") from None
        try:
            text = agent_text(value, data=request.data, tested=self._tested)
        except ValueError as error:
            raise self._failure_kind(f"the webhook returned {error}") from None
        return Reply(self._poster.secrets.scrub(text), endpoint=self._url)

    def _failure(self, answer: PostAnswer) -> Exception:
        problem = (_KEY_REFUSED | _NOT_THERE).get(answer.status)
        if problem is None:
            if self._tested and answer.status >= 400 and answer.status not in _ON_THE_WAY:
                return AgentFailedError(f"the webhook answered {answer.words}")
            return self._poster.failure(answer)
        return LanguageModelError(
            f"the webhook {problem} ({answer.words})",
            where=self._url,
            todo=f"check {self._key_name}" if answer.status in _KEY_REFUSED else "check the address",
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()
