"""What asking a language model costs."""

from __future__ import annotations

from dataclasses import dataclass


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
