"""Ratings made of the judgements that a run's store holds; nobody is asked."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

from bedside.judges.llm.protocol import NotAskedError, Reply, Request
from bedside.ratings.run import Run
from bedside.scoring.judged import FinishedJudging, JudgingWatch, judging
from bedside.scoring.judging_orders import JudgingOrder
from bedside.scoring.run_transcripts import TranscriptSource

#: Why a rating is missing whose judgement is not in the store.
NOT_JUDGED = "not judged yet"


class StoreOnlyClient:
    """Asks nobody: there is what the store holds. A :class:`bedside.judges.llm.protocol.Client`."""

    max_prompt_tokens: int | None = None

    async def complete(self, request: Request) -> Reply:
        """Nothing.

        Raises:
            NotAskedError: always.
        """
        raise NotAskedError(NOT_JUDGED)

    async def close(self) -> None:
        """Nothing: no connection was opened."""


def rated_from_store(
    run: Run,
    transcripts: TranscriptSource,
    order: JudgingOrder,
    progress: JudgingWatch | None = None,
) -> AbstractContextManager[FinishedJudging]:
    """The ratings of what the run's store holds; what it doesn't is missing because of :data:`NOT_JUDGED`."""
    settings = replace(order.settings, max_calls=None, max_cost=None)
    return judging(
        run, transcripts, replace(order, settings=settings), client=StoreOnlyClient, progress=progress
    )
