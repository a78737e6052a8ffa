"""What is said where a model doesn't take a parameter that was wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_WORDS = {
    "temperature": "it takes no temperature, which is left to the provider",
    "seed": "it takes no seed",
    "probabilities": "it gives no probabilities of tokens",
    "max_tokens": "it takes no limit of tokens",
    "reasoning_effort": "it takes no effort of reasoning",
    "schema": "it takes no JSON Schema, so that the form of its reply is described in words",
}


def unsent_words(parameter: str) -> str:
    """What is said of a model that doesn't take a parameter, to go on after its name."""
    return _WORDS.get(parameter, f"it takes no {parameter}")


def unsent_lines(raters: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """A line for each parameter that a judge didn't take.

    Args:
        raters: judges, each with the parameters of its :class:`bedside.judges.counts.JudgingSummary`.
    """
    for rater, parameters in raters:
        for parameter, told in parameters.get("not_taken", {}).items():
            some = told["judgements"] < told["of"]
            part = (
                f" (in {told['judgements']:,} of {told['of']:,} judgements, not in the others)"
                if some
                else ""
            )
            yield f"{rater}: {unsent_words(parameter)}{part}."
