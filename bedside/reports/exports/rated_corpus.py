"""Ratings as the meta of a ConvoKit corpus: what is rated says how.

Under :data:`~bedside.transcripts.convokit_corpus.RATINGS_KEY` a conversation, or an utterance where a turn was
rated, has ``{metric: {rater: value or label}}``, with None where a rating is missing; under ``REASONS_KEY`` it has what
raters wrote, and why ratings are missing, in the same way. A rater who rated several times (passes, rounds, against
several other conversations) says so after the name: ``judge:gpt-5 pass 1``, ``human:anna round main``, ``human:anna
against b-2``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from bedside.ratings.names import is_turn, rates_pair, second_id, turn_index
from bedside.transcripts.convokit_corpus import RATINGS_KEY, REASONS_KEY

if TYPE_CHECKING:
    from convokit import Corpus


def add_ratings(corpus: Corpus, ratings: pl.DataFrame) -> None:
    """Put ratings into the meta of a corpus of transcripts; those of transcripts that it doesn't have are left out.

    Args:
        corpus: as :func:`bedside.to_convokit` makes it; it is changed.
        ratings: with the columns of a run's.
    """
    conversations = set(corpus.get_conversation_ids())
    utterances = set(corpus.get_utterance_ids())
    for transcript, unit, metric, rater, value, reason in _answers(ratings):
        if transcript not in conversations:
            continue
        rated = corpus.get_conversation(transcript)
        if is_turn(unit):
            name = f"{transcript}#{turn_index(unit)}"
            if name not in utterances:
                continue
            rated = corpus.get_utterance(name)
        for key, entry in ((RATINGS_KEY, value), (REASONS_KEY, reason)):
            if key == REASONS_KEY and entry is None:
                continue
            # A corpus tells of a changed meta only where the whole value is set.
            by_metric = rated.meta.get(key) or {}
            by_metric.setdefault(metric, {})[rater] = entry
            rated.meta[key] = by_metric


def _answers(ratings: pl.DataFrame) -> Iterator[tuple[str, str, str, str, Any, str | None]]:
    """Transcript, unit, metric, rater as it is called there, value or label, and reason or error of each rating."""
    several = ratings.group_by("metric", "rater").agg(
        (pl.col("replicate").max() > 0).alias("passes"), (pl.col("round").n_unique() > 1).alias("rounds")
    )
    table = ratings.join(several, on=["metric", "rater"], maintain_order="left").with_columns(
        rates_pair().alias("pair")
    )
    columns = (
        "transcript_id", "unit", "metric", "rater", "value", "label", "reason", "error", "replicate", "round",
        "passes", "rounds", "pair",
    )  # fmt: skip
    for (
        transcript,
        unit,
        metric,
        rater,
        value,
        label,
        reason,
        error,
        number,
        round,
        passes,
        rounds,
        pair,
    ) in table.select(columns).iter_rows():
        name = rater
        if passes:
            name += f" pass {number}"
        if rounds and round:
            name += f" round {round}"
        if pair:
            name += f" against {second_id(unit)}"
        yield (
            transcript,
            unit,
            metric,
            name,
            value if label is None else label,
            reason if error is None else error,
        )
