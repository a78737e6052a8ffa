"""Asking a server that speaks OpenAI's chat protocol, by HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bedside.core.errors import nearest
from bedside.judges.llm.endpoints import Forms
from bedside.judges.llm.http_poster import AnswerTooLargeError, HttpPoster, PostAnswer
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.openai_chat import WORDS, ChatAddress, OpenAIChat, answer_data, first_form
from bedside.judges.llm.prices import ModelFacts
from bedside.judges.llm.protocol import (
    DeclinedError,
    FaultError,
    LanguageModelError,
    NotAskableError,
    NotTakenError,
    Reply,
    Request,
    Sampling,
    UnusableError,
)
from bedside.judges.llm.server_problems import ServerProblem, problem_in, read_problem

# -- What a problem that a server in OpenAI's form tells of means for whoever asks ----------------------

#: Said where what is finished helps the next attempt.
GOES_ON = "the same command then goes on where it stopped"
_NO_MODEL_CODES = {"model_not_found", "DeploymentNotFound", "NotFoundError"}


def request_error(problem: ServerProblem, words: str, max_tokens: int) -> Exception | None:
    """What a problem means that is one request's own; None where it is another.

    Args:
        problem: what the server said.
        words: the same in one line without secrets, with the status.
        max_tokens: the limit of the reply's tokens.
    """
    if problem.flagged:
        met = "; ".join(problem.filtered) or words
        return DeclinedError("filter", f"stopped the prompt ({met})")
    if problem.too_long:
        return NotAskableError(
            f"the prompt, with {max_tokens} tokens for the reply, is more than the model takes in ({words})"
        )
    return None


def stop(problem: ServerProblem, words: str, address: ChatAddress, model: str) -> LanguageModelError | None:
    """Why nothing can be asked of a server until somebody does something about it; None where that isn't so."""
    partner, where = address.partner, address.where
    said = problem.message.lower()
    if problem.out_of_quota:
        return LanguageModelError(
            f"the account at {partner} has no credit left or is at its spending limit ({words})",
            where=where,
            todo=f"{address.pay}; {GOES_ON}",
        )
    if problem.status == 401:
        return LanguageModelError(f"{partner} refuses the key ({words})", where=where, todo=f"check {address.key_name}")
    if problem.codes & _NO_MODEL_CODES or problem.status == 404 or "not a valid model" in said:
        if problem.status == 403:
            return LanguageModelError(
                f"the key may not ask for {model!r} ({words})",
                where=where,
                todo=f"check {address.access}, or name another model",
            )
        return None  # which models there are is to be looked up
    if problem.status == 403:
        country = "country" in said or "unsupported_country_region_territory" in problem.codes
        todo = "ask from a country that is served, or name another model" if country else f"check {address.access}"
        return LanguageModelError(
            f"{partner} refuses access ({words})", where=where, todo=f"{todo}; the key is in {address.key_name}"
        )
    return None


def is_no_model(problem: ServerProblem) -> bool:
    """Whether there is no such model, or no chat at the address."""
    return problem.status == 404 or (
        problem.status == 400
        and bool(problem.codes & _NO_MODEL_CODES or "not a valid model" in problem.message.lower())
    )


def no_model(words: str, address: ChatAddress, model: str, models: Iterable[str] | None) -> LanguageModelError:
    """The error where there is no such model.

    Args:
        words: what the server said.
        address: the server's.
        model: the model that was asked for.
        models: those that there are; None where that can't be had.
    """
    if models is not None and model in models:
        return LanguageModelError(
            f"{address.partner} has {model!r} and won't serve it ({words})",
            where=address.where,
            todo=f"check {address.access}",
        )
    if models is not None:
        return LanguageModelError(
            f"{address.partner} has no model {model!r} ({words})", where=address.where, todo=nearest(model, models)
        )
    return LanguageModelError(
        f"there is no model {model!r} or no chat at this address ({words})", where=address.where, todo=address.no_model
    )


# -- Asking a server that speaks OpenAI's chat protocol -------------------------------------------------

_MOST_BYTES = 16 * 2**20
#: Statuses that may mean that a form is not supported.
_FORM_STATUSES = {400, 415, 422, 500, 501}
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

    async def complete(self, request: Request) -> Reply:
        """Send one request; see :class:`bedside.judges.llm.protocol.Client`."""
        form = self._forms.choose(request)
        content = self._chat.content(request, form)
        try:
            answer = await self._poster.post(content.body)
        except AnswerTooLargeError as error:
            raise FaultError("the server's answer is larger than any reply") from error
        if answer.status != 200:
            problem = read_problem(answer.status, answer.body)
            raise await self._failure(problem, answer, request, form, content.fields)
        data = answer_data(answer.body)
        problem_inside = _problem_inside(data)
        if problem_inside is not None:
            status = problem_inside.status
            told = self._poster.secrets.line(problem_inside.message)
            inner = replace(answer, status=status, words=f"{status}: {told}")
            raise await self._failure(problem_inside, inner, request, form, content.fields)
        if request.schema is not None:
            self._forms.worked(form)
        try:
            reply = self._chat.reply(data)
        except UnusableError as unusable:
            unusable.reply = replace(unusable.reply, endpoint=self._name.url, unsent=content.unsent)
            raise
        return replace(reply, endpoint=self._name.url, unsent=content.unsent)

    async def _failure(
        self, problem: ServerProblem, answer: PostAnswer, request: Request, form: int, sent: Mapping[str, Any]
    ) -> Exception:
        """What an answer means that is no reply; a form or parameter that isn't taken is noted."""
        error = request_error(problem, answer.words, self._sampling.max_tokens)
        if error is not None:
            return error
        if answer.status in _PARAMETER_STATUSES:
            safe = replace(problem, message=self._poster.secrets.line(problem.message))
            parameter = self._chat.parameters.learn(safe, sent)
            if parameter is not None:
                return NotTakenError(parameter, answer.words)
        if is_no_model(problem):
            models = await self._models()
            return no_model(answer.words, self._address, self._name.model, models)
        stopping = stop(problem, answer.words, self._address, self._name.model)
        if stopping is not None:
            return stopping
        if answer.status in _FORM_STATUSES and request.schema is not None:
            self._forms.failed(form, refused=answer.status < 500)
        return self._poster.failure(answer)

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
