"""Clients: what sends requests to language models. Each is one file that says which names it takes.

Models are named

- ``http://host:port/v1#model``: a server that speaks OpenAI's protocol (vLLM, SGLang, llama.cpp, LM Studio). Its key,
  if it needs one, is in ``BEDSIDE_API_KEY``;
- ``openai/model`` and ``openrouter/model``: the same way at these companies' addresses (or ``OPENAI_BASE_URL``), with
  ``OPENAI_API_KEY``; the requests are those that deepeval would send, without the time it takes for each;
- ``local``, or ``local:/path``: a toy, or a model in a folder, on this computer, see
  :mod:`bedside.judges.llm.clients.local`;
- ``anthropic/model``, ``gemini/model``, ``ollama/model``, ``bedrock/model``: by these providers' own interfaces;
- ``provider/model``: through deepeval's model classes, with the keys that these look for;
- ``endpoints.yaml``: a file of addresses that serve the same model, see :mod:`bedside.judges.llm.endpoints`;
- as the clients of other packages say.

Importing a client is light: what it needs is imported when a model is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec

from bedside.core.errors import BedsideError, InputError, MissingExtraError, RegistryError, nearest
from bedside.core.registry import Registry
from bedside.judges.llm.model_names import Endpoint, ModelName, provider_and_model
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import BatchService, Client, LanguageModelError, Sampling


@dataclass(frozen=True, slots=True)
class ClientKind:
    """One way of asking models.

    Attributes:
        name: the entry's name, equal to its file name.
        title: what it asks, in a few words.
        beginnings: what the names that it takes begin with: a provider and a slash (``openai/``), another mark that
            ends in a slash or colon (``http://``, ``local:``), or a whole name (``local``). Where several begin a name,
            the longest decides.
        read: takes such a name apart, or raises a RegistryError.
        open: makes ready to ask a model whose name it took apart. It raises a LanguageModelError where the model isn't
            set up, as where its key is missing.
        extra: the extra of bedside that brings the libraries which ``open`` imports.
        libraries: the modules that ``open`` imports from other packages.
        check: raises what ``open`` would raise where a model isn't set up, without asking, loading or opening anything.
        price: what such a model costs; None where that isn't known.
        batches: the provider's own service for batches; None where there is none for such a model.
    """

    name: str
    title: str
    beginnings: tuple[str, ...]
    read: Callable[[str], ModelName]
    open: Callable[[ModelName, Sampling], Client]
    extra: str = "judge"
    libraries: tuple[str, ...] = ()
    check: Callable[[ModelName], None] = lambda _: None
    price: Callable[[ModelName], Price | None] = lambda _: None
    batches: Callable[[ModelName], BatchService | None] = lambda _: None


CLIENTS: Registry[ClientKind] = Registry(
    "bedside.judges.llm.clients", "CLIENT", "client", ClientKind, group="bedside.clients"
)


def read_name(text: str) -> ModelName:
    """Take the name of a model at one place apart.

    Raises:
        RegistryError: no client takes it, or the one that does can't read it.
    """
    kind = _taker(text)
    return replace(kind.read(text), text=text, client=kind.name)


def _taker(text: str) -> ClientKind:
    """The client that takes a name."""
    kinds = CLIENTS.all().values()
    takers: dict[str, ClientKind] = {}
    for kind in kinds:
        for beginning in kind.beginnings:
            if not _begins(text, beginning):
                continue
            other = takers.setdefault(beginning, kind)
            if other is not kind:
                raise RegistryError(
                    f"the clients {other.name} and {kind.name} both take names that begin with {beginning}",
                    todo="uninstall one of them",
                )
    if takers:
        return takers[max(takers, key=len)]
    provider, _ = provider_and_model(text)
    providers = [
        beginning.removesuffix("/")
        for kind in kinds
        for beginning in kind.beginnings
        if beginning.endswith("/") and not beginning.endswith("//")
    ]
    raise RegistryError(f"no provider is called {provider!r}", todo=nearest(provider, providers))


def _begins(text: str, beginning: str) -> bool:
    return text.startswith(beginning) if beginning.endswith(("/", ":")) else text == beginning


def open_model(name: ModelName, sampling: Sampling) -> Client:
    """Make ready to ask a model at one place.

    Raises:
        MissingExtraError: a library for it isn't installed.
        LanguageModelError: it isn't set up, as where its key is missing.
    """
    kind = CLIENTS.load(name.client)
    try:
        return kind.open(name, sampling)
    except ImportError as error:
        raise missing_library(error.name or str(error), kind.extra) from error


def open_batches(name: ModelName) -> BatchService:
    """The batch service of a model's provider, ready to be asked.

    Raises:
        InputError: there is none.
        LanguageModelError: it isn't set up, as where its key is missing.
    """
    service = None if name.endpoints else CLIENTS.load(name.client).batches(name)
    if service is None:
        raise InputError(
            f"{name.shown} has no batch service that bedside asks by itself",
            where="`batch`",
            todo="name an openai/, anthropic/ or gemini/ model, write a file by `batch_out`, or leave it out",
        )
    return service


def check_models(names: Iterable[ModelName]) -> None:
    """See that models are set up, before anything is done for which they will be asked.

    Args:
        names: the models; of one that several endpoints serve, all are looked at.

    Raises:
        MissingExtraError: a library for the only one that isn't set up isn't installed.
        LanguageModelError: one isn't set up, as where its key is missing; or several, and each is named.
    """
    places = [endpoint.name for name in names for endpoint in name.endpoints or (Endpoint(name),)]
    problems: dict[tuple[str, str | None], tuple[list[str], BedsideError]] = {}
    for place in places:
        try:
            _check(place)
        except BedsideError as error:
            problems.setdefault((error.what, error.todo), ([], error))[0].append(place.text)
    if len(problems) == 1:
        ((_, problem),) = problems.values()
        raise problem
    if problems:
        told = [f"{' and '.join(texts)}: {problem.what}" for texts, problem in problems.values()]
        cures = dict.fromkeys(problem.todo for _, problem in problems.values() if problem.todo)
        raise LanguageModelError(
            f"{len(told)} things keep models from being asked; {'; '.join(told)}", todo="; ".join(cures)
        )


def _check(name: ModelName) -> None:
    kind = CLIENTS.load(name.client)
    for library in kind.libraries:
        if find_spec(library) is None:
            raise missing_library(library, kind.extra)
    kind.check(name)


def missing_library(library: str, extra: str = "judge") -> MissingExtraError:
    """The error to raise where a library for asking models isn't installed."""
    return MissingExtraError(
        f"asking a language model needs {library}, which isn't installed", todo=f'pip install "bedside[{extra}]"'
    )


@cache
def known_price(name: ModelName) -> Price | None:
    """What a model costs; None where its client doesn't know."""
    return CLIENTS.load(name.client).price(name) if name.client else None


def batch_price(name: ModelName, price: Price | None) -> Price | None:
    """What a model costs in batches; None where that isn't known.

    Args:
        name: the model's.
        price: as the user says it; None for the listed one.
    """
    price = price or known_price(name)
    return None if price is None else price.in_batches()
