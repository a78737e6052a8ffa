"""What asking a language model costs: its tokens, their prices, and what is known of models by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from bedside.judges.llm.model_names import ModelName

# -- What is known of a model before anything is asked of it --------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Which parameters a model takes; None where that isn't known.

    Attributes:
        temperature: whether it takes any temperature but its own.
        schema: whether it takes a JSON Schema for its reply.
        json: whether it can be told to reply in JSON.
        probabilities: whether it gives the probabilities of tokens.
        most_probabilities: how many alternatives it gives for each token.
    """

    temperature: bool | None = None
    schema: bool | None = None
    json: bool | None = None
    probabilities: bool | None = None
    most_probabilities: int | None = None


# -- Tokens ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply; a token may end in the middle of a character, so its text is bytes.

    Attributes:
        text: its text in UTF-8.
        alternatives: the likeliest tokens at its place with their log-probabilities, natural, itself included.
    """

    text: bytes
    alternatives: tuple[tuple[bytes, float], ...]


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: one for four ASCII characters, and one for each other character.

    Tokenizers differ; English comes out within about a fifth, Chinese and other scripts a little high.
    """
    ascii_characters = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-ascii_characters // 4) + len(text) - ascii_characters


# -- What asking a language model costs -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars per million tokens.

    Attributes:
        input: of the tokens of requests.
        output: of the tokens of replies, and of the reasoning before them.
        cached: of those tokens of requests that the provider had in its cache; None where that isn't known, and they
            count as the others.
        written: of those that it put into its cache, likewise.
        batch: what part of all this a request in a batch costs; None where that isn't known, and it costs as much.
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    batch: float | None = None

    @property
    def numbers(self) -> tuple[float, float] | tuple[float, float, float]:
        """The price as arguments have it: in, out and, where it is known, cached."""
        return (self.input, self.output) if self.cached is None else (self.input, self.output, self.cached)

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0, written_tokens: int = 0) -> float:
        """The cost of so many tokens, in US dollars; ``cached_tokens`` and ``written_tokens`` are ``input_tokens``."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        fresh = max(0, input_tokens - cached_tokens - written_tokens)  # some servers count these beside the input
        inward = fresh * self.input + cached_tokens * cached + written_tokens * written
        return (inward + output_tokens * self.output) / 1e6

    def in_batches(self) -> Price:
        """The price of requests in batches."""
        part = 1.0 if self.batch is None else self.batch
        cached, written = (None if each is None else each * part for each in (self.cached, self.written))
        return Price(self.input * part, self.output * part, cached, written)

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of so many tokens at most, in US dollars, whatever the provider's cache does."""
        dearest = max(self.input, self.cached or 0.0, self.written or 0.0)
        return (input_tokens * dearest + output_tokens * self.output) / 1e6


# -- What models cost, by a dated list: prices.json, made of genai-prices by tools/make_prices.py -------

#: Whose part of the list is looked at, by a name's provider; LiteLLM's names too.
_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "azure": ("azure", "openai"),
    "bedrock": ("aws",),
    "cohere_chat": ("cohere",),
    "fireworks_ai": ("fireworks",),
    "gemini": ("google",),
    "grok": ("x-ai",),
    "kimi": ("moonshotai",),
    "moonshot": ("moonshotai",),
    "together_ai": ("together",),
    "vertex_ai": ("google", "anthropic"),
    "xai": ("x-ai",),
}
#: Names that hold another provider's.
_ROUTERS = ("openrouter", "litellm")
#: At the end of a pinned version's name, which costs what its family does; in front, where Bedrock serves it from.
_VERSION = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{4}|\d{2}-\d{2}|\d{3,4}|latest|preview|exp|v\d+(:\d+)?)$")
_REGION = re.compile(r"^(us|eu|apac|global|au|jp)\.|^models/")
_TESTS: Mapping[str, Callable[[str, Any], bool]] = {
    "=": lambda name, value: name == value.lower(),
    "^": lambda name, value: name.startswith(value.lower()),
    "$": lambda name, value: name.endswith(value.lower()),
    "~": lambda name, value: value.lower() in name,
    "*": lambda name, value: re.search(value, name) is not None,
    "|": lambda name, value: any(_fits(name, part) for part in value),
    "&": lambda name, value: all(_fits(name, part) for part in value),
}


def listed_price(name: ModelName, today: date | None = None) -> Price | None:
    """The price of a model, in the list; None where it has none.

    Args:
        name: the model's.
        today: of prices that change, which day's.
    """
    day = (today or date.today()).isoformat()
    for provider, model in _readings(name.provider or "", name.model.lower()):
        rows = _rows(provider, model)
        if rows:
            _, input_, output, cached, written, batch = [row for row in rows if row[0] <= day or row is rows[0]][-1]
            return Price(input_, output, cached, written, batch)
    return None


def list_date() -> str:
    """Of when the list's prices are, and whose it is."""
    content = _content()
    return f"{content['date']} ({content['source']})"


def _readings(provider: str, model: str) -> Iterator[tuple[str, str]]:
    """Where a model may be listed, the likeliest first."""
    shorter = _REGION.sub("", model)
    names = [model, shorter]
    while (family := _VERSION.sub("", shorter)) != shorter:
        names.append(shorter := family)
    places = _PROVIDERS.get(provider, (provider,))
    yield from ((place, name) for name in dict.fromkeys(names) for place in places)
    if provider in _ROUTERS and "/" in model:
        yield from _readings(*model.partition("/")[::2])


def _rows(provider: str, model: str) -> list[Any] | None:
    return next((rows for match, rows in _models().get(provider, ()) if _fits(model, match)), None)


def _fits(name: str, match: list[Any]) -> bool:
    kind, value = match
    return _TESTS[kind](name, value)


@cache
def _content() -> Mapping[str, Any]:
    content: Mapping[str, Any] = orjson.loads(Path(__file__).with_name("prices.json").read_bytes())
    return content


@cache
def _models() -> Mapping[str, list[tuple[Any, Any]]]:
    """How models are recognised and what they cost, by provider."""
    models: dict[str, list[tuple[Any, Any]]] = {}
    for provider, match, rows in _content()["models"]:
        models.setdefault(provider, []).append((match, rows))
    return models
