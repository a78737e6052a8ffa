"""What is known of a model before anything is asked of it: which parameters it takes."""

from __future__ import annotations

from dataclasses import dataclass


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
