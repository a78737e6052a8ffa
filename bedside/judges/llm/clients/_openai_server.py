"""Asking a server that speaks OpenAI's chat protocol, by HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bedside.core.errors import nearest
from bedside.judges.llm.chat_forms import NO_CHAT, asked_by_responses, chat_of
from bedside.judges.llm.endpoints import Forms
from bedside.judges.llm.extra_fields import STREAM
from bedside.judges.llm.http_poster import HttpPoster, PostAnswer
from bedside.judges.llm.lessons import FirstCall, place_of
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.openai_chat import WORDS, ChatAddress, OpenAIChat, answer_data, first_form, refused_field
from bedside.judges.llm.prices import ModelFacts
from bedside.judges.llm.protocol import (
    DeclinedError,
    LanguageModelError,
    NotAskableError,
    NotTakenError,
    Reply,
    Request,
    Sampling,
)
from bedside.judges.llm.server_problems import ServerProblem, problem_in, read_problem

# -- What a problem that a server in OpenAI's form tells of means for whoever asks ----------------------

#: Said where what is finished helps the next attempt.
GOES_ON = "the same command then goes on where it stopped"
_NO_MODEL_CODES = {"model_not_found", "DeploymentNotFound", "NotFoundError"}
#: In the words of OpenRouter, and of LiteLLM's proxy.
_NO_MODEL = re.compile("not a valid model|invalid model name", re.IGNORECASE)
#: What LiteLLM's proxy says, without a database of keys, to any that isn't its own.
_NO_KEYS = "no_db_connection"


def request_error(problem: ServerProblem, words: str, max_tokens: int) -> Exception | None:
    """What a problem means that is one request's own; None where it is another.

    Args:
        problem: what the server said.
        words: the same in one line without secrets, with the status.
        max_tokens: the limit of the reply's tokens.
    """
    if problem.flagged and not problem.out_of_memory:
        met = "; ".join(problem.filtered) or words
        return DeclinedError("filter", f"stopped the prompt ({met})")
    if problem.too_long:
        return NotAskableError(
            f"the prompt, with {max_tokens} tokens for the reply, is more than the model takes in ({words})"
        )
    return None


def stop(problem: ServerProblem, words: str, address: ChatAddress, model: str) -> LanguageModelError | None:
    """Why nothing can be asked of a server until somebody does something about it; None where that isn't so."""
    said, other = problem.message.lower(), f"check {address.access}, or name another model"
    if problem.out_of_memory:
        what = f"{address.partner} hasn't enough memory for {model}"
        todo = f"serve a smaller model, or give the server more memory or a shorter context; {GOES_ON}"
    elif problem.status == 404 and "data policy" in said:  # OpenRouter, docs/features/privacy-and-logging
        what, todo = f"no provider of {model!r} is allowed by the account's privacy settings", other
    elif problem.status == 404 and "requested parameters" in said:  # OpenRouter, where a provider must take them all
        what = f"no provider of {model!r} takes all that is sent"
        todo = "leave out of `temperature`, `reasoning_effort`, `expected` and `extra` what it may not take"
    elif problem.out_of_quota:
        what = f"the account at {address.partner} has no credit left or is at its spending limit"
        todo = f"{address.pay}; {GOES_ON}"
    elif problem.status == 401 or _NO_KEYS in problem.codes:
        what, todo = f"{address.partner} refuses the key", f"check {address.key_name}"
    elif problem.status == 404 or _names_no_model(problem):
        if problem.status != 403:
            return None  # which models there are is to be looked up
        what, todo = f"the key may not ask for {model!r}", other
    elif problem.status == 403:
        country = "country" in said or "unsupported_country_region_territory" in problem.codes
        todo = "ask from a country that is served, or name another model" if country else f"check {address.access}"
        what, todo = f"{address.partner} refuses access", f"{todo}; the key is in {address.key_name}"
    else:
        return None
    return LanguageModelError(f"{what} ({words})", where=address.where, todo=todo)


def field_refused(name: str, words: str, address: ChatAddress) -> LanguageModelError:
    """The error where a field that the user added is not taken."""
    what = f"{address.partner} refuses the extra field {name} ({words})"
    return LanguageModelError(what, where=address.where, todo=f"leave {name} out, or give it another value")


def _names_no_model(problem: ServerProblem) -> bool:
    return bool(problem.codes & _NO_MODEL_CODES or _NO_MODEL.search(problem.message))


def no_model(words: str, address: ChatAddress, model: str, models: Iterable[str] | None) -> LanguageModelError:
    """The error where there is no such model.

    Args:
        words: what the server said.
        address: the server's.
        model: the model that was asked for.
        models: those that there are; None where that can't be had.
    """
    names = None if models is None else list(models)
    if names is None:
        what, todo = f"there is no model {model!r} or no chat at this address", address.no_model
    elif model in names:
        what, todo = f"{address.partner} has {model!r} and won't serve it", f"check {address.access}"
    else:
        what, todo = f"{address.partner} has no model {model!r}", nearest(model, names)
    return LanguageModelError(f"{what} ({words})", where=address.where, todo=todo)


# -- Asking a server that speaks OpenAI's chat protocol -------------------------------------------------

_MOST_BYTES = 16 * 2**20
#: Statuses that may mean that a form is not supported.
_FORM_STATUSES = {400, 415, 422, 500, 501}
#: What a failure (500) says that is one of the form; one that doesn't may pass.
_FORM_WORDS = re.compile("schema|response_?format|grammar|guided|structured", re.IGNORECASE)
#: Statuses that may mean that a parameter is not supported.
_PARAMETER_STATUSES = {400, 404, 422}
#: Seconds in which a server is to list its models.
_LISTING_SECONDS = 10.0


class OpenAIServer:
    """Asks a server in OpenAI's form; a :class:`bedside.judges.llm.protocol.Client`.

    Args:
        name: the model and the server's address.
        address: where chats are posted.
        sampling: how the model is asked to write.
        facts: what is known of the model.
    """

    def __init__(
        self, name: ModelName, address: ChatAddress, sampling: Sampling, facts: ModelFacts | None = None
    ) -> None:
        self.max_prompt_tokens = sampling.max_prompt_tokens
        self._name = name
        self._address = address
        self._sampling = sampling
        self._poster = HttpPoster(
            address.url,
            partner=address.partner,
            where=address.where,
            key=address.key,
            time_limit=sampling.timeout,
            most_bytes=_MOST_BYTES,
            key_header=address.key_header,
        )
        facts = facts or ModelFacts()
        self._chat = OpenAIChat(name, sampling, self._poster.secrets, facts)
        self._forms = Forms(WORDS, first=first_form(facts))
        self._stream = bool(sampling.extra.get(STREAM))
        self._responses = address.responses_url is not None and asked_by_responses(name.provider, name.model)
        self.place = place_of(address.where, name.model, sampling)
        self._unlearnt = self._lessons()
        self._first = FirstCall()

    def _lessons(self) -> dict[str, Any]:
        ways = {"stream": self._stream, "responses": self._responses, "form": self._forms.start}
        return {**self._chat.parameters.learnt(), **ways}

    def learnt(self) -> dict[str, Any]:
        """What was learnt; see :class:`bedside.judges.llm.lessons.Learning`."""
        lessons = self._lessons()
        return {} if lessons == self._unlearnt else lessons

    def recall(self, lessons: Mapping[str, Any]) -> None:
        """Begin with what was learnt before; see :class:`bedside.judges.llm.lessons.Learning`."""
        self._chat.parameters.recall(lessons)
        self._forms.recall(lessons.get("form"))
        self._stream = self._stream or lessons.get("stream") is True
        if self._address.responses_url is not None:
            self._responses = self._responses or lessons.get("responses") is True

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        return await self._first.call(partial(self._ask, request))

    async def _ask(self, request: Request) -> Reply:
        form, responses, stream = self._forms.choose(request), self._responses, self._stream
        content = self._chat.content(request, form, responses=responses, stream=stream)
        answer = await self._poster.post(content.body, self._address.responses_url if responses else None)
        if answer.status != 200:
            problem = read_problem(answer.status, answer.body)
            raise await self._failure(problem, answer, request, form, content.fields)
        data = answer_data(answer.body)
        if responses:
            data = chat_of(data)
        problem_inside = _problem_inside(data)
        if problem_inside is not None:
            status = problem_inside.status
            told = self._poster.secrets.line(problem_inside.message)
            inner = replace(answer, status=status, words=f"{status}: {told}")
            raise await self._failure(problem_inside, inner, request, form, content.fields)
        if request.schema is not None:
            self._forms.worked(form)
        return self._chat.reply(data, endpoint=self._name.url, unsent=content.unsent)

    async def _failure(
        self, problem: ServerProblem, answer: PostAnswer, request: Request, form: int, sent: Mapping[str, Any]
    ) -> Exception:
        """What an answer means that is no reply; a form or parameter that isn't taken is noted."""
        error = request_error(problem, answer.words, self._sampling.max_tokens)
        if error is not None:
            return error
        if problem.streams_only and not sent.get(STREAM):
            self._stream = True
            return NotTakenError("a reply in one piece", answer.words)
        if answer.status in _PARAMETER_STATUSES:
            safe = replace(problem, message=self._poster.secrets.line(problem.message))
            parameter = self._chat.parameters.learn(safe, sent)
            if parameter is not None:
                return NotTakenError(parameter, answer.words)
        by_responses = "store" in sent
        nowhere = by_responses and problem.status in (404, 405) and not problem.codes & _NO_MODEL_CODES
        if nowhere or (problem.status in (400, 404) and NO_CHAT.search(problem.message)):
            return self._without_chat(answer.words, by_responses)
        stopping = stop(problem, answer.words, self._address, self._name.model)
        if stopping is not None:
            return stopping
        if problem.status == 404 or (problem.status == 400 and _names_no_model(problem)):
            models = await self._models()
            return no_model(answer.words, self._address, self._name.model, models)
        if answer.status in _FORM_STATUSES and request.schema is not None:
            refused_form = answer.status != 500 or bool(_FORM_WORDS.search(problem.message))
            self._forms.failed(form, refused_form, request.key)
        refused = refused_field(problem, self._sampling.extra) if answer.status in _PARAMETER_STATUSES else None
        if refused is not None:
            return field_refused(refused, answer.words, self._address)
        return self._poster.failure(answer)

    def _without_chat(self, words: str, by_responses: bool) -> Exception:
        """What it means that no chat can be had with the model: it is asked by the Responses API, if there is one."""
        if self._address.responses_url is not None and not by_responses:
            self._responses = True
            return NotTakenError("a chat", words)
        return LanguageModelError(
            f"{self._name.model} can't be asked by a chat, and the Responses API isn't there for it ({words})",
            where=self._address.where,
            todo="name another model, or its provider's own address",
        )

    async def _models(self) -> list[str] | None:
        """The names of the models that the server has; None where it doesn't say."""
        if self._address.models_url is None:
            return None
        data = await self._poster.get_json(self._address.models_url, _LISTING_SECONDS)
        entries = data.get("data") if isinstance(data, dict) else None
        if not isinstance(entries, list):
            return None
        names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
        return [self._poster.secrets.line(name, 100) for name in names if isinstance(name, str)] or None

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()


def _problem_inside(data: Any) -> ServerProblem | None:
    """The error in an answer whose status says that there is none, as routers have them; None where there is none."""
    if not isinstance(data, dict):
        return None
    error = data.get("error")
    choices = data.get("choices")
    if error is None and isinstance(choices, list) and choices and isinstance(choices[0], dict):
        error = choices[0].get("error")
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return problem_in(status, {"error": error})
