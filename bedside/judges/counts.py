"""Counts: how far judging is, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Tally:
    """Counts of one rubric while it is judged by.

    Attributes:
        judgements: what was to be judged.
        stored: of them, those that were in the store.
        answered, unusable, failed, not_asked, not_askable: what became of them.
        calls: requests sent.
        input_tokens, output_tokens: of the requests of this run, as the provider counts them.
        cost: in US dollars; None where the price or the tokens aren't known.
    """

    judgements: int = 0
    stored: int = 0
    answered: int = 0
    unusable: int = 0
    failed: int = 0
    not_asked: int = 0
    not_askable: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    """How far judging is: judgements done, those of them from the store, those without an answer, requests sent."""

    done: int
    stored: int
    missing: int
    calls: int


@dataclass(frozen=True, slots=True)
class RubricCount:
    """What judging by one rubric took.

    Attributes:
        rubric: its name.
        version: the hash of its wording.
        judgements, stored, answered, unusable, failed, not_asked, not_askable, calls, input_tokens, output_tokens,
            cost: see :class:`~bedside.judges.counts.Tally`.
    """

    rubric: str
    version: str
    judgements: int
    stored: int
    answered: int
    unusable: int
    failed: int
    not_asked: int
    not_askable: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class JudgingSummary:
    """What a judging did.

    Attributes:
        rater: the judge's name in the ratings table.
        parameters: what the model was asked with: temperature, limit of tokens, order and the like.
        passes: how often each thing was asked.
        rubrics: counts of each rubric.
        ratings: how many ratings were made.
        calls: requests sent.
        waiting: rubrics that can be asked about only when answers to others are there.
    """

    rater: str
    parameters: Mapping[str, Any]
    passes: int
    rubrics: tuple[RubricCount, ...]
    ratings: int
    calls: int
    waiting: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the same command again would ask nothing more."""
        return not any(count.failed or count.not_asked for count in self.rubrics)
