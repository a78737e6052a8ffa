"""Rows of the ratings table, made of a judge's answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bedside.transcripts.transcript import Transcript


class RatingRows:
    """Makes rows of the ratings table, and counts them.

    Args:
        rater: whose ratings they are.
        add: called with each row, its cells in the order of :data:`bedside.ratings.table.COLUMNS`.
    """

    def __init__(self, rater: str, add: Callable[[tuple[Any, ...]], object]) -> None:
        self.rater = rater
        self.count: int = 0
        self._add = add

    def add(
        self,
        transcript: Transcript,
        number: int,
        unit: str,
        metric: str,
        *cells: Any,
        rater: str | None = None,
    ) -> None:
        """Add a rating; ``cells`` are its value, label, reason and error."""
        head = (transcript.id, transcript.system, transcript.case_id)
        self._add((*head, unit, metric, rater or self.rater, number, *cells))
        self.count += 1
