"""Asking a model whose provider has a form of its own, by HTTP: what such providers have in common."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Protocol

from bedside.judges.llm.clients._provider import Provider
from bedside.judges.llm.endpoints import Forms
from bedside.judges.llm.http_poster import AnswerTooLargeError, HttpPoster, PostAnswer
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.openai_chat import answer_data, error_message
from bedside.judges.llm.protocol import (
    FaultError,
    LanguageModelError,
    NotAskableError,
    NotTakenError,
    Reply,
    Request,
    Sampling,
    UnusableError,
)
from bedside.judges.llm.server_problems import Secrets

_MOST_BYTES = 16 * 2**20
#: Statuses with which a parameter or a form of output may be refused.
_REFUSING = (400, 422)
#: What a refusal calls each parameter.
_PARAMETER_WORDS = {
    "temperature": r"temperature",
    "seed": r"\bseed\b",
    "probabilities": r"log_?prob",
    "reasoning_effort": r"thinking|effort|\bthink\b",
}
_TOO_LONG = re.compile(
    r"prompt is too long|input (is )?too long|input token count|exceeds? (the )?(model's )?(maximum )?context"
    r"|exceeds the maximum number of tokens|context (length|window|limit)|too many input tokens",
    re.IGNORECASE,
)
_TOO_MANY_TOKENS = re.compile(r"maximum allowed number of output tokens|maxOutputTokens value|maxTokens", re.IGNORECASE)
_NO_CREDIT = re.compile(r"credit balance|spend(ing)? limit|usage limits|billing", re.IGNORECASE)


class ProviderChat(Protocol):
    """A provider's form of a chat: it writes requests, and reads answers.

    Attributes:
        path: where chats are posted, below the provider's address.
        first_form: the strictest form of structured output that the model takes.
        last_form: the last one, which is words only.
        never: the parameters that the provider or the model doesn't take, named as :meth:`Sampling.parameters` does.
    """

    path: str
    first_form: int
    last_form: int
    never: frozenset[str]

    def content(self, request: Request, form: int, unsent: frozenset[str]) -> bytes:
        """The body of a request, without the parameters ``unsent``."""
        ...

    def read(self, data: Any) -> Reply:
        """The reply in an answer.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: it doesn't have the provider's form.
            UnusableError: it holds no text.
            DeclinedError: the model or a filter won't answer.
        """
        ...

    def failure(self, answer: PostAnswer) -> Exception | None:
        """What an answer means that is not as wanted, where the provider says so in a way of its own."""
        ...


class Poster(Protocol):
    """What sends requests to a provider, as :class:`bedside.judges.llm.http_poster.HttpPoster` does."""

    secrets: Secrets

    async def post(self, content: bytes) -> PostAnswer:
        """Send one."""
        ...

    def failure(self, answer: PostAnswer) -> Exception:
        """What an answer means that is not as wanted, where the caller knows nothing better."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class HostedModel:
    """Asks a model of a provider; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        name: the model.
        provider: who serves it.
        sampling: how the model is asked to write.
        chat: the provider's form.
        poster: what sends requests, in place of HTTP with the provider's key.
    """

    def __init__(
        self, name: ModelName, provider: Provider, sampling: Sampling, chat: ProviderChat, poster: Poster | None = None
    ) -> None:
        self.max_prompt_tokens = sampling.max_prompt_tokens
        self._name = name
        self._provider = provider
        self._sampling = sampling
        self._chat = chat
        self._unsent = chat.never
        self._forms = Forms(chat.last_form, first=chat.first_form)
        self._poster: Poster = poster or HttpPoster(
            f"{provider.address}{chat.path}",
            partner=provider.title,
            where=provider.address,
            key=provider.key,
            time_limit=sampling.timeout,
            most_bytes=_MOST_BYTES,
            key_header=provider.key_header,
            headers=dict(provider.headers),
        )

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        form, unsent = self._forms.choose(request), self._unsent
        try:
            answer = await self._poster.post(self._chat.content(request, form, unsent))
        except AnswerTooLargeError as error:
            raise FaultError(f"the answer of {self._provider.title} is larger than any reply") from error
        if answer.status != 200:
            raise self._failure(answer, request, form, unsent)
        data = answer_data(answer.body)
        try:
            reply = self._chat.read(data)
        except UnusableError as unusable:
            unusable.reply = self._scrubbed(unusable.reply)
            raise
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            problem = self._poster.secrets.line(error_message(answer.body))
            raise FaultError(
                f"the answer of {self._provider.title} holds no reply ({problem})", other_protocol=True
            ) from error
        if request.schema is not None:
            self._forms.worked(form)
        left_out = [parameter for parameter in self._wanted(request) if parameter in unsent]
        return replace(self._scrubbed(reply), unsent=tuple(left_out))

    def _scrubbed(self, reply: Reply) -> Reply:
        return replace(reply, text=self._poster.secrets.scrub(reply.text))

    def _wanted(self, request: Request) -> list[str]:
        """The parameters that a request is to be sent with."""
        sampling = self._sampling
        wishes = {
            "temperature": sampling.temperature is not None,
            "seed": request.seed is not None,
            "probabilities": sampling.probabilities,
            "reasoning_effort": sampling.reasoning_effort is not None,
        }
        return [parameter for parameter, wished in wishes.items() if wished]

    def _failure(self, answer: PostAnswer, request: Request, form: int, unsent: frozenset[str]) -> Exception:
        failure = self._chat.failure(answer) or self._stop(answer)
        if failure is not None:
            return failure
        if answer.status == 413 or (answer.status in _REFUSING and _TOO_LONG.search(answer.words)):
            return NotAskableError(f"the prompt is longer than {self._name.model} takes in ({answer.words})")
        if answer.status in _REFUSING:
            for parameter in self._wanted(request):
                if parameter not in unsent and re.search(_PARAMETER_WORDS[parameter], answer.words, re.I):
                    self._unsent |= {parameter}
                    return NotTakenError(parameter, answer.words)
            if request.schema is not None:
                self._forms.failed(form, refused=True)
        return self._poster.failure(answer)

    def _stop(self, answer: PostAnswer) -> LanguageModelError | None:
        """Why nothing can be asked at all, where that is so."""
        provider, words = self._provider, answer.words
        if answer.status == 401:
            return refused_key(provider, words)
        if answer.status == 402 or (answer.status in (400, 403) and _NO_CREDIT.search(words)):
            what = f"the account at {provider.title} has no credit or has reached its limit ({words})"
            todo = f"look at its billing at {provider.title}, then run the same command again: what is done is kept"
        elif answer.status == 403:
            what = f"{provider.title} refuses access ({words})"
            todo = f"check what the account of {provider.key_name} may use"
        elif answer.status == 404:
            what = f"{provider.title} has no model {self._name.model!r} ({words})"
            todo = provider.no_model
        elif answer.status in _REFUSING and _TOO_MANY_TOKENS.search(words):
            what = f"{self._name.model} doesn't write as many as {self._sampling.max_tokens} tokens ({words})"
            todo = "allow fewer with `max_tokens`"
        else:
            return None
        return LanguageModelError(what, where=provider.address, todo=todo)

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()


def refused_key(provider: Provider, words: str) -> LanguageModelError:
    """The error where a provider refuses the key."""
    return LanguageModelError(
        f"{provider.title} refuses the key ({words})", where=provider.address, todo=f"check {provider.key_name}"
    )
