"""Whether a text is positive in tone, by a lexicon that works offline: VADER (Hutto and Gilbert 2014), for English."""

from __future__ import annotations

from functools import cache
from typing import Any

from bedside.core.errors import MissingExtraError

#: A text is positive from this compound score on, as VADER's authors propose.
POSITIVE = 0.05


@cache
def _analyser() -> tuple[Any, str]:
    from importlib.metadata import version

    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise MissingExtraError(
            "sentiment needs vaderSentiment, which isn't installed", todo='pip install "bedside[redirection]"'
        ) from error
    return SentimentIntensityAnalyzer(), f"vader@{version('vaderSentiment')}"


def scorer_name() -> str:
    """Name and version of what scores, for a rater's name."""
    return _analyser()[1]


def is_positive(text: str) -> bool:
    """Whether VADER's compound score of the text (−1 to 1) is :data:`POSITIVE` or more.

    Raises:
        MissingExtraError: vaderSentiment isn't installed.
    """
    return bool(_analyser()[0].polarity_scores(text)["compound"] >= POSITIVE)
