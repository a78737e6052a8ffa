"""What asking a language model costs: its tokens, their prices, and what is known of models by name."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    input: float
    output: float
    cached: float | None = None

    @property
    def numbers(self) -> tuple[float, float] | tuple[float, float, float]:
        """The price as arguments have it: in, out and, where it is known, cached."""
        return (self.input, self.output) if self.cached is None else (self.input, self.output, self.cached)

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """The cost of so many tokens, in US dollars; ``cached_tokens`` are some of ``input_tokens``."""
        cached = self.input if self.cached is None else self.cached
        fresh = input_tokens - cached_tokens
        return (fresh * self.input + cached_tokens * cached + output_tokens * self.output) / 1e6
