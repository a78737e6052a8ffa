"""What asking a language model costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars per million tokens."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of so many tokens, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6
