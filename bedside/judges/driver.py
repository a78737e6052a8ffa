"""Putting questions to a judge, one stage after the other.

Rubrics (:mod:`bedside.judges.rubric_ratings`), behaviour codes (:mod:`bedside.judges.turn_codes`) and the protocols of
a run (:mod:`bedside.scoring.judged`) make the groups of questions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bedside.core.errors import InputError
from bedside.core.stopping import run_to_end
from bedside.judges.cost_limit import JudgeBudget, PricedClient
from bedside.judges.counts import JudgingProgress
from bedside.judges.judgement_queue import Group, JudgementQueue
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.endpoints import rooms
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Client
from bedside.judges.llm.sharing import open_client
from bedside.judges.questions import AnswerGroup
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Store

#: Of calls that wait for one of several endpoints, as many as they take at once, times this.
_AHEAD = 3
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgingStage:
    """What is asked together, once all that earlier stages ask is answered.

    Attributes:
        groups: makes the groups of questions when the stage's turn comes.
        emit: called with each group that is done, in order.
        size: how many groups there will be at most; None where that isn't known.
    """

    groups: Callable[[], Iterator[AnswerGroup]]
    emit: Callable[[Any], None]
    size: int | None = None


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
    budget: JudgeBudget | None = None,
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
        budget: what judges may cost, where that is more than this judge; as the settings say unless given.

    Raises:
        MissingExtraError: the libraries for the judge aren't installed.
        LanguageModelError: it can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: costs are limited, and what it costs isn't known.
    """

    async def put(queue: QueueMaker, budget: JudgeBudget) -> int:
        begun, before = budget.calls, JudgingProgress(0, 0, 0, 0)
        for number, stage in enumerate(stages):
            later = [following.size for following in stages[number + 1 :]]
            watch = _StageProgress(before, stage.size, later, budget, progress)
            asked = queue(stage.emit, watch)
            await asked.run(watch.counted(stage.groups()))
            budget.calls, before = asked.calls, watch.total
        return budget.calls - begun

    return with_judge(name, settings, store_path, put, text=text, client=client, alone=alone, budget=budget)


class QueueMaker(Protocol):
    """Makes a queue of judgements."""

    def __call__(
        self,
        emit: Callable[[Group], None],
        progress: Callable[[JudgingProgress], None] | None = None,
    ) -> JudgementQueue[Group]:
        """A queue; arguments as for :class:`bedside.judges.judgement_queue.JudgementQueue`."""
        ...


def judge_price(name: ModelName, settings: JudgeSettings, max_cost: float | None) -> Price | None:
    """What a judge's tokens cost; None where that isn't known.

    Raises:
        InputError: it isn't known, and costs are limited.
    """
    price = settings.price or known_price(name)
    if max_cost is not None and price is None:
        raise InputError(
            f"what {name.identity} costs isn't known",
            where="`max_cost`",
            todo="say it with `price`, or limit calls with `max_calls`",
        )
    return price


def with_judge(
    name: ModelName,
    settings: JudgeSettings,
    store_path: Path,
    work: Callable[[QueueMaker, JudgeBudget], Awaitable[T]],
    *,
    text: bool = True,
    client: Callable[[], Client] | None = None,
    alone: bool = False,
    budget: JudgeBudget | None = None,
) -> T:
    """Do work with a judge that is open, and a store; returns what the work does.

    Args:
        name, settings, store_path, text, client, alone, budget: as for :func:`ask_judge`.
        work: called with what makes queues of the judge's, and with the budget, where it notes the calls of each.

    Raises:
        BedsideError: as for :func:`ask_judge`.
    """
    budget = JudgeBudget(settings.max_cost) if budget is None else budget
    price = judge_price(name, settings, budget.max_cost)
    budget.known = budget.known and price is not None
    endpoints = name.endpoints if client is None else ()
    width = sum(rooms(endpoints, settings.max_concurrency)) if endpoints else settings.max_concurrency

    async def run() -> T:
        model = client() if client is not None else open_client(name, settings.sampling(), settings.sharing())
        asked = model if price is None else PricedClient(model, price, budget)
        try:
            with closing(Store(store_path, text=text, alone=alone)) as store:

                def queue(
                    emit: Callable[[Group], None],
                    progress: Callable[[JudgingProgress], None] | None = None,
                ) -> JudgementQueue[Group]:
                    return JudgementQueue(
                        asked,
                        name,
                        store,
                        settings,
                        emit,
                        max_concurrency=width,
                        ahead=_AHEAD * width if len(endpoints) > 1 else 0,
                        calls=budget.calls,
                        progress=progress,
                    )

                return await work(queue, budget)
        finally:
            await model.close()

    return run_to_end(run)


class _StageProgress:
    """Adds what one stage does to what was done before it, and reckons how much there is to do.

    Args:
        before: what earlier stages did.
        size: how many groups the stage has at most; None where that isn't known.
        later: the same of the stages to come.
        budget: what is spent.
        progress: called with the sums.
    """

    def __init__(
        self,
        before: JudgingProgress,
        size: int | None,
        later: Sequence[int | None],
        budget: JudgeBudget,
        progress: Callable[[JudgingProgress], None] | None,
    ) -> None:
        self.total = self._before = before
        self._size = size
        self._later = later
        self._budget = budget
        self._progress = progress
        #: Groups whose questions are all known, and how many these are.
        self._groups = self._questions = 0
        self._whole = False

    def counted(self, groups: Iterator[AnswerGroup]) -> Iterator[AnswerGroup]:
        """The groups, of which each is complete when the next is taken."""
        for group in groups:
            yield group
            self._groups += 1
            self._questions += group.size
        self._whole = True

    def _expected(self) -> int | None:
        """How many judgements all stages have: by what groups had so far, and one a group in stages to come."""
        if None in self._later or not (self._whole or (self._groups and self._size is not None)):
            return None
        own = self._questions if self._whole else round(self._questions / self._groups * (self._size or 0))
        return self._before.done + own + sum(size or 0 for size in self._later)

    def __call__(self, stage: JudgingProgress) -> None:
        before, expected = self._before, self._expected()
        done = before.done + stage.done
        self.total = JudgingProgress(
            done,
            before.stored + stage.stored,
            before.missing + stage.missing,
            stage.calls,
            total=None if expected is None else max(done, expected),
            cost=self._budget.cost,
        )
        if self._progress is not None:
            self._progress(self.total)
