"""What a judge's model is to bedside: something that takes a request and gives a reply, or says what went wrong.

Models are named

- ``http://host:port/v1#model``: a server that speaks OpenAI's protocol (vLLM, SGLang, llama.cpp, LM Studio). Its key,
  if it needs one, is in ``BEDSIDE_API_KEY``;
- ``openai/model`` and ``openrouter/model``: the same way at these companies' addresses (or ``OPENAI_BASE_URL``), with
  ``OPENAI_API_KEY``; the requests are those that deepeval would send, without the time it takes for each;
- ``local``, or ``local:/path``: a toy, or a model in a folder, on this computer, see :mod:`bedside.llm.clients.local`;
- ``provider/model``: through deepeval's model classes, with the keys that these look for;
- ``endpoints.yaml``: a file of addresses that serve the same model, see :mod:`bedside.llm.endpoints`.

A client sends one request when it is asked to, keeps no results, and raises the errors below; waiting, asking again
and counting are the engine's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Protocol
from urllib.parse import urlsplit

from bedside.judges.reply import Token
from bedside.support.errors import BedsideError, InputError, MissingExtraError, RegistryError
from bedside.support.registry import nearest
from bedside.support.urls import holds_secret, passwords_in, shown


class JudgeError(BedsideError):
    """The judge can't be asked at all: no such model, no permission, no server. The run stops."""


class FaultError(Exception):
    """A request failed in a way that may pass.

    Args:
        what: what happened, without secrets.
        wait: how long the server asks to wait, in seconds.
        busy: whether the server is at its limit, so that other requests had better wait too.
        unreachable: whether no answer came at all.
        elsewhere: whether another server is there to be asked at once, so that this counts as no attempt.
    """

    def __init__(
        self,
        what: str,
        *,
        wait: float | None = None,
        busy: bool = False,
        unreachable: bool = False,
        elsewhere: bool = False,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.wait = wait
        self.busy = busy
        self.unreachable = unreachable
        self.elsewhere = elsewhere


class RefusedError(Exception):
    """This one request is not accepted, and won't be if it is sent again."""


class NotAskableError(Exception):
    """The request can't be put to this model, as where it is longer than the model takes in; others can."""


class NotAskedError(Exception):
    """The request was not sent, for a reason that has nothing to do with it; another run may send it."""


class WrongFormError(Exception):
    """The model may not take the form of structured output that was asked for; ``form`` is the next to try."""

    def __init__(self, form: int) -> None:
        super().__init__("another form of structured output")
        self.form = form


class UnusableError(Exception):
    """The model replied, but with nothing that could be a reply to a rubric.

    Args:
        problem: what is wrong.
        text: what there is of the reply.
        input_tokens: tokens of the request, where told.
        output_tokens: tokens of the reply, where told.
    """

    def __init__(
        self,
        problem: str,
        text: str = "",
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.reply = Reply(text, input_tokens, output_tokens)


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask a model.

    Attributes:
        text: the prompt.
        schema: JSON Schema of the reply, as JSON.
        corrections: earlier replies to this prompt that couldn't be used, each with what was wrong.
        seed: for sampling; None where it isn't sent.
        form: the first form of structured output to try; see :class:`Forms`.
        asked: the numbers of the items or turns that are asked about; None where one thing is.
        choices: the numbers that each part of the answer can be which is the number of an item or turn.
        key: of the judgement that it is for.
        number: which reply to the judgement's prompt it wants, from 1.
        opening: digest of what the prompt begins with; prompts that have it in common share a server's prefix cache.
    """

    text: str
    schema: str
    corrections: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    form: int = 0
    asked: tuple[int, ...] | None = None
    choices: Mapping[str, Sequence[int]] = field(default_factory=dict)
    key: str = ""
    number: int = 1
    opening: str = ""

    def messages(self) -> list[dict[str, str]]:
        """The request as a chat."""
        made = [{"role": "user", "content": self.text}]
        for reply, problem in self.corrections:
            made += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": correction(problem)},
            ]
        return made

    def single(self) -> str:
        """The request as one text, for models that take no chat."""
        made = self.text
        for reply, problem in self.corrections:
            made += f"\n\nYour earlier reply:\n{reply}\n\n{correction(problem)}\n"
        return made


def correction(problem: str) -> str:
    """What is said to a model whose reply couldn't be used."""
    return (
        f"That reply can't be used: {problem}. Reply again, with one JSON object of the form described and "
        "nothing else."
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied.

    Attributes:
        text: its words.
        input_tokens: tokens of the request as the provider counts them; None where it doesn't say.
        output_tokens: tokens of the reply, likewise.
        tokens: the reply's tokens with their probabilities; empty where not asked for or not given.
        cut: whether the reply ended at the limit of tokens.
        endpoint: the address of the server that replied; None where there is none.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: tuple[Token, ...] = ()
    cut: bool = False
    endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars per million tokens."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of so many tokens, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked to write.

    Attributes:
        temperature: None leaves it to the provider, for models that refuse one.
        max_tokens: limit of a reply's tokens.
        probabilities: whether the probabilities of tokens are wanted.
        seed: of the first pass; sent, plus the number of the pass, only where the temperature isn't 0.
        timeout: seconds until a request counts as unanswered.
        max_prompt_tokens: for servers that must be told how much room to make.
    """

    temperature: float | None = 0.0
    max_tokens: int = 4096
    probabilities: bool = False
    seed: int = 0
    timeout: float = 120.0
    max_prompt_tokens: int | None = None

    def pass_seed(self, number: int) -> int | None:
        """The seed that is sent with a pass."""
        return self.seed + number if self.temperature else None

    def parameters(self) -> dict[str, Any]:
        """What tells two judgements of the same prompt apart."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "probabilities": self.probabilities,
            "seed": self.seed if self.temperature else None,
        }


class Client(Protocol):
    """A model that can be asked; ``max_prompt_tokens`` is how much it takes in, None where not known."""

    max_prompt_tokens: int | None

    async def complete(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            JudgeError: nothing can be asked of this model.
            FaultError: it may work another time.
            RefusedError: this request won't be answered.
            NotAskableError: it can't be put to this model.
            NotAskedError: it wasn't sent.
            WrongFormError: to be sent again in another form.
            UnusableError: there is a reply, but none that could be read.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Forms:
    """Which form of structured output an endpoint takes, found out by using it.

    Forms are numbered from the strictest; the last asks in words only and always works. A form that worked once is
    kept. One that didn't is given up when another worked in its place: at once where the endpoint refused it (4xx),
    after a second time where it failed (5xx), as that may have been chance.
    """

    def __init__(self, last: int, first: int = 0) -> None:
        self.last = last
        self._start = first
        self._worked: set[int] = set()
        self._failed: dict[int, int] = {}

    def choose(self, request: Request) -> int:
        """The form to send a request in."""
        return max(request.form, self._start)

    def worked(self, form: int) -> None:
        """Note that an answer came in this form."""
        self._worked.add(form)
        while (
            self._start < form and self._start not in self._worked and self._failed.get(self._start, 0) >= 2
        ):
            self._start += 1

    def failed(self, form: int, refused: bool) -> None:
        """Note that a request in this form failed.

        Raises:
            WrongFormError: the form has never worked here, and there is another.
        """
        if form in self._worked or form == self.last:
            return
        self._failed[form] = self._failed.get(form, 0) + (2 if refused else 1)
        raise WrongFormError(form + 1)


# -- waiting ----------------------------------------------------------------------------------------


def retry_after(value: str | None) -> float | None:
    """Seconds to wait as a ``Retry-After`` header gives them, as a number or as a date; None where it doesn't."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None


# -- secrets ----------------------------------------------------------------------------------------

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
#: What is shorter is no secret but a word, such as the EMPTY that some servers want for a key.
_SHORTEST_SECRET = 8


class Secrets:
    """The values that must never be written anywhere: those of the environment whose names say so."""

    def __init__(self, environment: Mapping[str, str] | None = None, more: Iterable[str] = ()) -> None:
        environment = os.environ if environment is None else environment
        values = {
            value.strip()
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and len(value.strip()) >= _SHORTEST_SECRET
        }
        # Those of proxies stand in addresses.
        more = [*more, *(password for value in environment.values() for password in passwords_in(value))]
        values |= {value for value in more if len(value) >= _SHORTEST_SECRET}
        self._values = sorted(values, key=len, reverse=True)

    def scrub(self, text: str) -> str:
        """The text without any of them."""
        for value in self._values:
            if value in text:
                text = text.replace(value, "[key removed]")
        return text

    def line(self, text: str, limit: int = 300) -> str:
        """The beginning of a text that came from outside, in one printable line without secrets."""
        plain = " ".join(self.scrub(text).split())
        plain = "".join(character if character.isprintable() else "\ufffd" for character in plain)
        return plain if len(plain) <= limit else f"{plain[:limit]}…"


# -- names ------------------------------------------------------------------------------------------

#: Providers that deepeval has a class for, by the name that stands before the slash.
PROVIDERS: Mapping[str, str] = {
    "anthropic": "AnthropicModel",
    "azure": "AzureOpenAIModel",
    "bedrock": "AmazonBedrockModel",
    "deepseek": "DeepSeekModel",
    "gemini": "GeminiModel",
    "grok": "GrokModel",
    "kimi": "KimiModel",
    "litellm": "LiteLLMModel",
    "ollama": "OllamaModel",
    "portkey": "PortkeyModel",
}
OPENAI_URL = "https://api.openai.com/v1"
#: Providers that are asked directly, with their address.
DIRECT: Mapping[str, str] = {"openai": OPENAI_URL, "openrouter": "https://openrouter.ai/api/v1"}


#: The environment variable with the key of servers given by their address, which may want none.
SERVER_KEY = "BEDSIDE_API_KEY"


@dataclass(frozen=True, slots=True)
class JudgeName:
    """A model's name, taken apart.

    Attributes:
        model: the model as its provider calls it.
        provider: before the slash; None for a server given by its address.
        url: base address of an OpenAI-compatible server, None for deepeval's providers; the first where several
            serve the model.
        key: the environment variable that holds the server's key.
        text: the name as it was written, for messages and manifests; of several endpoints, the first's.
        endpoints: where the model is served, if that is several places or one with settings of its own.
    """

    model: str
    provider: str | None
    url: str | None
    key: str = field(default="")
    text: str = field(default="", compare=False, kw_only=True)
    endpoints: tuple[Endpoint, ...] = field(default=(), kw_only=True)

    @property
    def shown(self) -> str:
        """What a judge is called in messages."""
        return self.identity if self.endpoints else self.text

    @property
    def rater(self) -> str:
        """The rater's name in the ratings table: without the server's address, which may change."""
        return f"judge:{self.identity}"

    @property
    def identity(self) -> str:
        """What the store of judgements knows the model by."""
        return self.model if self.provider is None else f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One of the places that serve a model.

    Attributes:
        name: the model there.
        weight: its share of the calls, beside the others' weights.
        max_concurrency: requests under way there at once; None for what all are given, in proportion to the weight.
    """

    name: JudgeName
    weight: float = 1.0
    max_concurrency: int | None = None


def judge_name(judge: str | JudgeName) -> JudgeName:
    """Take a model's name apart; a name that was taken apart already is given back.

    Raises:
        RegistryError: it is none, the provider is not known, or it is a file of endpoints of several models.
    """
    if isinstance(judge, JudgeName):
        return judge
    # They build on this module.
    from bedside.llm.endpoints import is_file, judge_names

    if not is_file(judge):
        return replace(_taken_apart(judge), text=judge)
    names = judge_names([judge])
    if len(names) > 1:
        models = ", ".join(name.identity for name in names)
        raise RegistryError(f"serves several models ({models})", where=judge, todo="one judge is needed here")
    return names[0]


def _taken_apart(text: str) -> JudgeName:
    from bedside.llm.clients.local import is_local, local_name

    if is_local(text):
        return local_name(text)
    if re.match(r"https?://", text):
        url, _, model = text.partition("#")
        try:
            parts = urlsplit(url)
            named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            named = False
        if not named:
            raise RegistryError("the judge's address can't be read", todo="write http://host:port/v1#model")
        if holds_secret(url):
            raise RegistryError(
                "a judge's address holds no name, password or query", todo=f"put the key into {SERVER_KEY}"
            )
        if not model.strip():
            raise RegistryError(f"no model is named after {url}", todo=f"write {url}#model")
        return JudgeName(model.strip(), None, url.rstrip("/"), SERVER_KEY)
    provider, slash, model = text.partition("/")
    if not slash or not model.strip():
        raise RegistryError(
            f"{shown(text)!r} names no judge", todo="write provider/model, or http://host:port/v1#model"
        )
    if provider in DIRECT:
        prefix = provider.upper()
        url = os.environ.get(f"{prefix}_BASE_URL") or DIRECT[provider]
        if holds_secret(url):
            raise RegistryError(
                f"the address in {prefix}_BASE_URL holds a name, password or query",
                todo=f"put the key into {prefix}_API_KEY",
            )
        return JudgeName(model, provider, url.rstrip("/"), f"{prefix}_API_KEY")
    if provider not in PROVIDERS:
        known = [*DIRECT, *PROVIDERS]
        raise RegistryError(f"no provider is called {provider!r}", todo=nearest(provider, known))
    return JudgeName(model, provider, None)


def check_batchable(name: JudgeName) -> None:
    """Refuse models that are not asked in OpenAI's form, which batch files have.

    Raises:
        InputError: it is one.
    """
    if name.url is None:
        raise InputError(
            f"batch files are not for {name.identity}",
            where="--judge",
            todo="name an openai/ model, or http://host:port/v1#model of the server that will answer",
        )


@dataclass(frozen=True, slots=True)
class Sharing:
    """How calls are shared out among endpoints.

    Attributes:
        max_concurrency: requests under way at the endpoint of the largest weight.
        first_wait: seconds that an endpoint at its limit is left alone where it doesn't say; doubled each time.
        longest_wait: seconds that no wait exceeds.
    """

    max_concurrency: int = 8
    first_wait: float = 0.5
    longest_wait: float = 60.0


def open_client(name: JudgeName, sampling: Sampling, sharing: Sharing | None = None) -> Client:
    """Make ready to ask a model.

    Args:
        name: the model's.
        sampling: how it is asked to write.
        sharing: how calls are shared out where several endpoints serve it.

    Raises:
        MissingExtraError: a library for it isn't installed.
        JudgeError: it isn't set up, as where its key is missing.
    """
    from bedside.llm.clients.local import LocalJudge, LocalName

    if isinstance(name, LocalName):
        return LocalJudge(name, sampling)
    if len(name.endpoints) > 1:
        from bedside.llm.sharing import SharedOut

        clients = [open_client(endpoint.name, sampling) for endpoint in name.endpoints]
        return SharedOut(name.endpoints, clients, sharing or Sharing())
    if name.url is not None:
        try:
            from bedside.llm.clients.openai_compatible import OpenAICompatible
        except ImportError as error:
            raise missing_extra("aiohttp") from error
        key = os.environ.get(name.key, "").strip()
        if not key and (name.provider is not None or name.key != SERVER_KEY):
            raise JudgeError(f"{name.key} is not set", todo="export it, or name another judge")
        if not (key.isascii() and key.isprintable()):
            raise JudgeError(f"{name.key} holds characters that can't be sent", todo="copy the key again")
        return OpenAICompatible(name, key, sampling)
    from bedside.llm.clients.deepeval import DeepEvalClient

    return DeepEvalClient(name, sampling)


def missing_extra(library: str) -> MissingExtraError:
    """The error to raise where a library for judges isn't installed."""
    return MissingExtraError(
        f"asking a language model needs {library}, which isn't installed",
        todo="pip install 'bedside[judge]'",
    )


@cache
def known_price(name: JudgeName) -> Price | None:
    """The price that deepeval's tables give for a model of a provider; None where they don't, or it isn't installed."""
    if name.provider is None:
        return None
    if name.provider == "local":
        return Price(0.0, 0.0)
    from bedside.llm.clients.deepeval import listed_price

    return listed_price(name)
