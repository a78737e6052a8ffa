"""Names of language models, taken apart; each client reads its own, see :mod:`bedside.judges.llm.contract`."""

from __future__ import annotations

from dataclasses import dataclass, field

from bedside.core.addresses import without_secrets
from bedside.core.errors import RegistryError


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, taken apart.

    Attributes:
        model: the model as its provider calls it.
        provider: before the slash; None for a server given by its address.
        url: base address of an OpenAI-compatible server, None for models that are reached otherwise; the first where
            several serve the model.
        key: the environment variable that holds the server's key.
        text: the name as it was written, for messages and manifests; of several endpoints, the first's.
        client: the name of the client that asks it.
        endpoints: where the model is served, if that is several places or one with settings of its own.
        extra: fields that are added to each request there, as JSON; empty for none.
    """

    model: str
    provider: str | None
    url: str | None
    key: str = field(default="")
    text: str = field(default="", compare=False, kw_only=True)
    client: str = field(default="", compare=False, kw_only=True)
    endpoints: tuple[Endpoint, ...] = field(default=(), kw_only=True)
    extra: str = field(default="", kw_only=True)

    @property
    def shown(self) -> str:
        """What the model is called in messages."""
        return self.identity if self.endpoints else self.text

    @property
    def identity(self) -> str:
        """The model without the server's address, which may change: what ratings and stores know it by."""
        return self.model if self.provider is None else f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One of the places that serve a model.

    Attributes:
        name: the model there.
        weight: its share of the calls, beside the others' weights.
        max_concurrency: requests under way there at once; None for what all are given, in proportion to the weight.
        rpm, tpm: requests and tokens a minute that it is sent; None for what all are given.
    """

    name: ModelName
    weight: float = 1.0
    max_concurrency: int | None = None
    rpm: float | None = None
    tpm: float | None = None

    @property
    def plain(self) -> bool:
        """Whether it has no settings of its own, beside those that are its name's."""
        return self.max_concurrency is None and self.rpm is None and self.tpm is None


#: How the models of a provider are called, for whoever leaves the provider out.
_CALLED = {"openai": ("gpt-", "o1", "o3", "o4"), "anthropic": ("claude-",), "gemini": ("gemini-",)}


def provider_and_model(text: str) -> tuple[str, str]:
    """The two parts of a name of the form ``provider/model``.

    Raises:
        RegistryError: the name has another form.
    """
    provider, _, model = text.partition("/")
    if not model.strip():
        todo = "write provider/model, or http://host:port/v1#model"
        if likely := _likely_name(text):
            todo = f"did you mean {without_secrets(likely)}?"
        raise RegistryError(f"{without_secrets(text)!r} is not the name of a model", todo=todo)
    return provider, model


def _likely_name(text: str) -> str | None:
    """A name as it was meant: with a colon for the slash, or of a provider whose models are called so."""
    provider, colon, model = text.partition(":")
    if colon and model.strip("/ ") and provider in (*_CALLED, "azure", "bedrock", "ollama", "litellm"):
        return f"{provider}/{model}"
    called = text.strip("/ ").lower()
    return next((f"{name}/{called}" for name, begins in _CALLED.items() if called.startswith(begins)), None)
