"""Asking a server that speaks OpenAI's chat protocol, by HTTP."""

from __future__ import annotations

from dataclasses import replace

from bedside.llm.forms import Forms
from bedside.llm.http_poster import AnswerTooLargeError, HttpPoster, PostAnswer
from bedside.llm.model_names import ModelName
from bedside.llm.openai_chat import WORDS, OpenAIChat, error_message
from bedside.llm.protocol import FaultError, LanguageModelError, Reply, Request, Sampling

_MOST_BYTES = 16 * 2**20
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
        self._poster = HttpPoster(
            f"{name.url}/chat/completions",
            partner="the server",
            where=name.url,
            key=key,
            time_limit=sampling.timeout,
            most_bytes=_MOST_BYTES,
        )
        self._chat = OpenAIChat(name, sampling, self._poster.secrets)
        self._forms = Forms(WORDS)

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.llm.protocol.Client`."""
        form = self._forms.choose(request)
        try:
            answer = await self._poster.post(self._chat.content(request, form))
        except AnswerTooLargeError as error:
            raise FaultError("the server's answer is larger than any reply") from error
        if answer.status != 200:
            if answer.status in _FORM_STATUSES:
                self._forms.failed(form, refused=answer.status < 500)
            raise self._failure(answer)
        reply = self._chat.read(answer.body)
        if request.schema is not None:
            self._forms.worked(form)
        return replace(reply, endpoint=self._name.url)

    def _failure(self, answer: PostAnswer) -> Exception:
        where = self._name.url
        if answer.status in _NOT_ALLOWED:
            return LanguageModelError(
                f"the server {_NOT_ALLOWED[answer.status]} ({answer.words})",
                where=where,
                todo=f"check {self._name.key}",
            )
        if answer.status == 404:
            return LanguageModelError(
                f"there is no model {self._name.model!r} or no chat at this address ({answer.words})",
                where=where,
                todo="check the address, which mostly ends in /v1, and the model's name",
            )
        if answer.status == 429 and "insufficient_quota" in error_message(answer.body):
            return LanguageModelError(f"the account's quota is used up ({answer.words})", where=where)
        return self._poster.failure(answer)

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()
