"""Putting questions to a judge, one stage after the other.

Rubrics (:mod:`bedside.judges.rubric_ratings`), behaviour codes (:mod:`bedside.judges.turn_codes`) and the protocols of
a run (:mod:`bedside.scoring.judged`) make the groups of questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bedside.judges.cost_limit import CostLimitedClient
from bedside.judges.counts import JudgingProgress
from bedside.judges.judgement_queue import JudgementQueue
from bedside.judges.questions import QuestionGroup
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Store
from bedside.llm.contract import known_price
from bedside.llm.endpoints import rooms
from bedside.llm.model_names import ModelName
from bedside.llm.prices import Price
from bedside.llm.protocol import Client
from bedside.llm.sharing import open_client
from bedside.support.errors import InputError
from bedside.support.stopping import run_to_end

#: Of calls that wait for one of several endpoints, as many as they take at once, times this.
_AHEAD = 3
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgingStage:
    """What is asked together, once all that earlier stages ask is answered.

    Attributes:
        groups: makes the groups of questions when the stage's turn comes.
        emit: called with each group that is done, in order.
    """

    groups: Callable[[], Iterator[QuestionGroup]]
    emit: Callable[[QuestionGroup], None]


def ask_judge(
    name: ModelName,
    settings: JudgeSettings,
    store_path: Path,
    stages: Sequence[JudgingStage],
    *,
    text: bool = True,
    progress: Callable[[JudgingProgress], None] | None = None,
    client: Callable[[], Client] | None = None,
    alone: bool = False,
) -> int:
    """Put questions to a judge, one stage after the other; returns how many requests were sent.

    Args:
        name: the judge.
        settings: passes, limits and the like; the limit of calls is that of all stages together.
        store_path: the file that keeps judgements; made if it isn't there.
        stages: what is asked.
        text: whether the store keeps prompts and a judge's words; without them, numbers and labels are kept.
        progress: called whenever a judgement is done.
        client: opens what is asked in place of the model that ``name`` names.
        alone: as for :class:`bedside.judges.store.Store`.

    Raises:
        MissingExtraError: the libraries for the judge aren't installed.
        LanguageModelError: it can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: costs are limited, and what it costs isn't known.
    """
    if settings.max_cost is not None:
        _price(name, settings)
    endpoints = name.endpoints if client is None else ()
    width = sum(rooms(endpoints, settings.max_concurrency)) if endpoints else settings.max_concurrency

    async def run() -> int:
        calls = 0
        model = client() if client is not None else open_client(name, settings.sampling(), settings.sharing())
        if settings.max_cost is not None:
            model = CostLimitedClient(model, _price(name, settings), settings.max_cost)
        try:
            with closing(Store(store_path, text=text, alone=alone)) as store:
                before = JudgingProgress(0, 0, 0, 0)
                for stage in stages:
                    watch = _StageProgress(before, progress)
                    queue = JudgementQueue(
                        model,
                        name,
                        store,
                        settings,
                        stage.emit,
                        max_concurrency=width,
                        ahead=_AHEAD * width if len(endpoints) > 1 else 0,
                        calls=calls,
                        progress=watch,
                    )
                    await queue.run(stage.groups())
                    calls, before = queue.calls, watch.total
        finally:
            await model.close()
        return calls

    return run_to_end(run)


def _price(name: ModelName, settings: JudgeSettings) -> Price:
    price = settings.price or known_price(name)
    if price is None:
        raise InputError(
            f"what {name.identity} costs isn't known",
            where="`max_cost`",
            todo="say it with `price`, or limit calls with `max_calls`",
        )
    return price


class _StageProgress:
    """Adds what one stage does to what was done before it."""

    def __init__(self, before: JudgingProgress, progress: Callable[[JudgingProgress], None] | None) -> None:
        self.total = self._before = before
        self._progress = progress

    def __call__(self, stage: JudgingProgress) -> None:
        before = self._before
        self.total = JudgingProgress(
            before.done + stage.done,
            before.stored + stage.stored,
            before.missing + stage.missing,
            stage.calls,
        )
        if self._progress is not None:
            self._progress(self.total)
