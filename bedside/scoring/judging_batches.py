"""Judging by batches: calls go to services that answer many together, in files or within one command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError
from bedside.core.words import Names, counted, listed
from bedside.judges.counts import JudgingSummary, RubricCount
from bedside.judges.judgement_queue import judge_price
from bedside.judges.llm.batch_files import KEY_DIGITS, Answers, BatchClient, BatchRead, check_batchable, writing
from bedside.judges.llm.contract import batch_price, check_models
from bedside.judges.llm.endpoints import named_models
from bedside.judges.llm.provider_batches import BatchRounds
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import stored_keys
from bedside.ratings.run import BATCHES, Run
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork, exported_orders
from bedside.scoring.run_judging import FinishedJudging, JudgingWatch, judging
from bedside.scoring.run_transcripts import kept_transcripts

#: Calls looked up or written between two looks at the store.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome(BatchRead):
    """What reading a batch's answers and writing its calls did, and what each work came to (``judged``)."""

    judged: tuple[JudgingSummary, ...]

    @property
    def unusable(self) -> int:
        """Judgements that came to nothing however often they were asked."""
        return sum(count.unusable for count in self._counts())

    @property
    def open(self) -> int:
        """Judgements that are to be asked still, or again."""
        return sum(count.failed + count.not_asked for count in self._counts())

    @property
    def waiting(self) -> tuple[str, ...]:
        """Rubrics that can be asked about only when answers to others are there."""
        return tuple(dict.fromkeys(name for summary in self.judged for name in summary.waiting))

    def _counts(self) -> Iterator[RubricCount]:
        return (count for summary in self.judged for count in summary.rubrics)


def check_batch_work(work: JudgingWork) -> None:
    """Refuse what can't be asked by batches.

    Raises:
        InputError: metrics of deepeval are asked.
    """
    if work.deepeval:
        raise InputError(
            "what a metric of deepeval asks hangs on the replies before it, and a batch is answered at once",
            where=",".join(metric.metric for metric in work.deepeval),
            todo="ask it without a batch",
        )


def write_batch(
    run: Run,
    judges: Sequence[str],
    work: JudgingWork,
    out: Path,
    *,
    settings: JudgeSettings | None = None,
    progress: JudgingWatch | None = None,
) -> BatchOutcome:
    """Write the calls that judging a run would make to files, and note in the run what they are for.

    What is judged already is rated as by :func:`bedside.scoring.run_judging.judge_run`; what isn't is missing, and says
    that it waits.

    Args:
        run: the run.
        judges: models that are asked in OpenAI's form.
        work: what is asked.
        out: the file; there may be several, see :class:`bedside.judges.llm.batch_files.CallWriter`.
        settings: passes and the like; the limit of calls is that of calls written.
        progress: called with the judge and how far it is.

    Raises:
        InputError: a model is not asked in OpenAI's form, or what is asked hangs on replies to it.
        RunError: the files can't be written.
    """
    check_batch_work(work)
    asked = settings or JudgeSettings()
    orders = [JudgingOrder(name, work, asked) for name in named_models(judges)]
    return _batch(run, orders, answers=None, out=out, max_calls=asked.max_calls, progress=progress)


def read_batch(
    run: Run, answers: Sequence[Path] = (), out: Path | None = None, *, progress: JudgingWatch | None = None
) -> BatchOutcome:
    """Read a batch's answers into a run, as if they had been had at once, and write the calls that remain.

    What is asked stands in the run since :func:`write_batch`. Replies that can't be used are asked for again in the
    next file, as often as in a live run; calls that ended in an error are in it too, and the questions that follow from
    answers.

    Args:
        run: the run.
        answers: files that the service gave; their order doesn't matter, and they may be read again.
        out: the file of calls to be made next; None for none.
        progress: called with the judge and how far it is.

    Raises:
        InputError: nothing was exported from this run, or the answers are to another's calls.
    """
    orders = exported_orders(run)
    if not orders:
        raise InputError(
            "no calls were exported from this run",
            where=str(run.path),
            todo="bedside score FILES --judge MODEL --batch-out FILE",
        )
    read = Answers(answers) if answers else None
    return _batch(run, orders, answers=read, out=out, max_calls=None, progress=progress)


def _batch(
    run: Run,
    orders: Sequence[JudgingOrder],
    *,
    answers: Answers | None,
    out: Path | None,
    max_calls: int | None,
    progress: JudgingWatch | None,
) -> BatchOutcome:
    """Rate what is answered, and write the calls that remain."""
    for order in orders:
        check_batchable(order.judge)
    run.check_told_apart()
    transcripts = kept_transcripts(run)
    with run.locked(), writing(out, max_calls) as writer, ExitStack() as stack:
        judgings = []
        for order in orders:
            price = batch_price(order.judge, order.settings.price)
            settings = replace(order.settings, max_concurrency=_AT_ONCE, max_calls=None, price=price)
            client = partial(BatchClient, order.judge, order.settings.sampling(order.judge), answers, writer)
            judgings.append(
                stack.enter_context(
                    judging(run, transcripts, replace(order, settings=settings), client=client, progress=progress)
                )
            )
        counts: dict[str, Any] = {}
        if answers is not None:
            todo = "name the run that the calls were exported from"
            counts = answers.counts(partial(_known, run), "run", run.path, todo)
        for finished in judgings:
            finished.add(run, batch=True)
        files = () if writer is None else writer.finish()
        return BatchOutcome(judged=tuple(finished.summary for finished in judgings), files=files, **counts)


def _known(run: Run) -> set[str]:
    """The beginnings of the keys of what the run's store holds."""
    return {key[:KEY_DIGITS] for key in stored_keys(run.path / STORE, failed=True)}


# -- By providers' own services, within one command -----------------------------------------------------

#: Of each rubric, what adds up over rounds.
_SUMMED = ("calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


def judge_by_batch(
    run: Run,
    judges: Names,
    work: JudgingWork,
    *,
    settings: JudgeSettings | None = None,
    progress: JudgingWatch | None = None,
) -> tuple[JudgingSummary, ...]:
    """Do what :func:`bedside.scoring.run_judging.judge_run` does, by batches: it waits until all are answered.

    Replies that can't be used are asked for again in the next batch, and so is what follows from answers. What a batch
    left without an answer is missing; the same call asks it again. A process that ends, however it does, leaves its
    batches to the same call.

    Args:
        run, judges, work, settings, progress: as for :func:`bedside.scoring.run_judging.judge_run`.

    Raises:
        InputError: a judge's provider has no such service, or what is asked hangs on replies to it.
        LanguageModelError: a provider can't be asked, or refuses what is sent.
    """
    check_batch_work(work)
    asked = settings or JudgeSettings()
    orders = [JudgingOrder(name, work, asked) for name in named_models(listed(judges, "judges"))]
    check_models(order.judge for order in orders)
    for order in orders:
        judge_price(order.judge, asked, asked.max_cost)
    run.check_told_apart()
    shown = orders[0].judge.shown if len(orders) == 1 else counted(len(orders), "judge")
    before: Sequence[JudgingSummary | None] = [None] * len(orders)
    with run.locked(), tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
        rounds = BatchRounds(run.path / BATCHES, [order.judge for order in orders], asked, Path(folder))
        while True:
            rounds.begin()
            with ExitStack() as stack:
                done = [stack.enter_context(_round(run, order, rounds)) for order in orders]
                summaries = [_together(*each) for each in zip(before, done, strict=True)]
                if not rounds.end(partial(stored_keys, run.path / STORE)):
                    for order, finished, summary in zip(orders, done, summaries, strict=True):
                        replace(finished, order=order, summary=summary).add(run)
                    return tuple(summaries)
            before = summaries
            rounds.wait(None if progress is None else partial(progress, shown))


def _round(run: Run, order: JudgingOrder, rounds: BatchRounds) -> AbstractContextManager[FinishedJudging]:
    price = batch_price(order.judge, order.settings.price)
    settings = replace(order.settings, max_concurrency=_AT_ONCE, max_calls=None, max_cost=None, price=price)
    client = partial(rounds.client, order.judge)
    order = replace(order, settings=settings)
    return judging(run, kept_transcripts(run), order, client=client, budget=rounds.budget)


def _together(before: JudgingSummary | None, finished: FinishedJudging) -> JudgingSummary:
    """What several rounds took, and what the last came to."""
    summary = finished.summary
    if before is None:
        return summary
    counts = []
    for earlier, count in zip(before.rubrics, summary.rubrics, strict=True):
        sums = {name: getattr(earlier, name) + getattr(count, name) for name in _SUMMED}
        cost = None if earlier.cost is None or count.cost is None else earlier.cost + count.cost
        counts.append(replace(count, stored=earlier.stored, cost=cost, **sums))
    return replace(summary, rubrics=tuple(counts), calls=before.calls + summary.calls)
