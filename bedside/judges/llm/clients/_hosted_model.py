"""Asking a model whose provider has a form of its own, by HTTP: what such providers have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import orjson

from bedside.judges.llm.clients._openai_server import field_refused, request_error, stop
from bedside.judges.llm.clients._provider import Provider
from bedside.judges.llm.endpoints import Forms
from bedside.judges.llm.extra_fields import STREAM, with_fields
from bedside.judges.llm.http_poster import HttpPoster, PostAnswer
from bedside.judges.llm.lessons import FirstCall, place_of
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.openai_chat import ChatAddress, answer_data, error_message, other_temperature
from bedside.judges.llm.protocol import (
    FaultError,
    LanguageModelError,
    NotTakenError,
    Reply,
    Request,
    Sampling,
    UnusableError,
    served_by,
)
from bedside.judges.llm.server_problems import Secrets, ServerProblem, filtered, out_of_range

_MOST_BYTES = 16 * 2**20
#: Statuses that Anthropic's errors would come with, by type, where they come in a stream, whose own is 200.
_STATUSES = {"overloaded_error": 529, "rate_limit_error": 429, "invalid_request_error": 400}
#: Statuses with which a parameter or a form of output may be refused.
_REFUSING = (400, 422)
#: What a refusal calls each parameter.
_PARAMETER_WORDS = {
    "temperature": r"temperature",
    "seed": r"\bseed\b",
    "probabilities": r"log_?prob",
    "reasoning_effort": r"thinking|effort|\bthink\b",
}
_TOO_MANY_TOKENS = re.compile(r"maximum allowed number of output tokens|maxOutputTokens value|maxTokens", re.IGNORECASE)
_NO_CREDIT = re.compile(r"credit balance|spend(ing)? limit|usage limits|billing", re.IGNORECASE)


class ProviderChat(Protocol):
    """A provider's form of a chat: it writes requests, and reads answers.

    Attributes:
        path: where chats are posted, below the provider's address.
        first_form: the strictest form of structured output that the model takes.
        last_form: the last one, which is words only.
        never: the parameters that the provider or the model doesn't take, named as :meth:`Sampling.parameters` does.
        streams: whether it can be asked to reply in a stream of events.
    """

    path: str
    first_form: int
    last_form: int
    never: frozenset[str]
    streams: bool

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
        self._address = ChatAddress(
            provider.address, provider.address, provider.key, provider.key_name, partner=provider.title,
            access=f"what the account of {provider.key_name} may use", no_model=provider.no_model,
            pay=f"look at its billing at {provider.title}",
        )  # fmt: skip
        self._sampling = sampling
        self._chat = chat
        self._unsent = chat.never
        self._extra = sampling.extra
        if sampling.extra.get(STREAM) and not chat.streams:
            raise LanguageModelError(f"{provider.title} isn't asked for streams", todo="leave `stream` out")
        self.place = place_of(provider.address, name.model, sampling)
        self._first = FirstCall()
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

    def learnt(self) -> dict[str, Any]:
        """What was learnt; see :class:`bedside.judges.llm.lessons.Learning`."""
        lessons = {"not_taken": sorted(self._unsent), "form": self._forms.start}
        return {} if (self._unsent, self._forms.start) == (self._chat.never, self._chat.first_form) else lessons

    def recall(self, lessons: Mapping[str, Any]) -> None:
        """Begin with what was learnt before; see :class:`bedside.judges.llm.lessons.Learning`."""
        if isinstance(lessons.get("not_taken"), list):
            self._unsent |= set(lessons["not_taken"]) & set(_PARAMETER_WORDS)
        self._forms.recall(lessons.get("form"))

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        return await self._first.call(partial(self._ask, request))

    async def _ask(self, request: Request) -> Reply:
        form, unsent = self._forms.choose(request), self._unsent
        content = self._chat.content(request, form, unsent)
        if self._extra:
            content = orjson.dumps(with_fields(orjson.loads(content), self._extra))
        answer = await self._poster.post(content)
        if answer.status != 200:
            raise self._failure(answer, request, form, unsent)
        data = answer_data(answer.body)
        broken_off = data.get("error") if isinstance(data, dict) else None
        if broken_off:
            kind = str(broken_off.get("type")) if isinstance(broken_off, dict) else ""
            status, words = _STATUSES.get(kind, 500), self._poster.secrets.line(error_message(orjson.dumps(data)))
            raise self._failure(replace(answer, status=status, words=f"{status}: {words}"), request, form, unsent)
        try:
            reply = self._chat.read(data)
        except UnusableError as unusable:
            unusable.reply = self._scrubbed(unusable.reply, data)
            raise
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            problem = self._poster.secrets.line(error_message(answer.body))
            raise FaultError(
                f"the answer of {self._address.partner} holds no reply ({problem})", other_protocol=True
            ) from error
        if request.schema is not None:
            self._forms.worked(form)
        left_out = [parameter for parameter in self._wanted(request) if parameter in unsent]
        return replace(self._scrubbed(reply, data), unsent=tuple(left_out))

    def _scrubbed(self, reply: Reply, data: Any) -> Reply:
        """A reply without secrets, with the version that gave it."""
        secrets = self._poster.secrets
        return replace(reply, text=secrets.scrub(reply.text), served=served_by(data, secrets.line))

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
        flagged = answer.status in (400, 403, 422) and filtered(answer.words)
        problem = ServerProblem(answer.status, answer.words, flagged=flagged)
        failure = request_error(problem, answer.words, self._sampling.max_tokens)
        failure = failure or self._chat.failure(answer) or self._stop(answer)
        if failure is not None:
            return failure
        if answer.status in _REFUSING:
            for parameter in self._wanted(request):
                if parameter not in unsent and re.search(_PARAMETER_WORDS[parameter], answer.words, re.I):
                    other = out_of_range(answer.words) if parameter == "temperature" else None
                    if other is not None:
                        return other_temperature(self._name.model, self._sampling.temperature, other, answer.words)
                    self._unsent |= {parameter}
                    return NotTakenError(parameter, answer.words)
            if request.schema is not None:
                self._forms.failed(form, refused=True)
            for name in self._extra:
                if re.search(rf"\b{re.escape(name)}\b", answer.words):
                    return field_refused(name, answer.words, self._address)
        return self._poster.failure(answer)

    def _stop(self, answer: PostAnswer) -> LanguageModelError | None:
        """Why nothing can be asked at all, where that is so."""
        address, words = self._address, answer.words
        status = 402 if answer.status in (400, 403) and _NO_CREDIT.search(words) else answer.status
        stopping = stop(ServerProblem(status, words), words, address, self._name.model)
        if stopping is not None:
            return stopping
        if status == 404:
            what, todo = f"{address.partner} has no model {self._name.model!r} ({words})", address.no_model
        elif status in _REFUSING and _TOO_MANY_TOKENS.search(words):
            what = f"{self._name.model} doesn't write as many as {self._sampling.max_tokens} tokens ({words})"
            todo = "allow fewer with `max_tokens`"
        else:
            return None
        return LanguageModelError(what, where=address.where, todo=todo)

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()
