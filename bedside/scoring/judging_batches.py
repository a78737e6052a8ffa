"""Judging by batch files: calls are written for a service that answers many together; its answers are read later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bedside.core.errors import InputError
from bedside.judges.counts import JudgingSummary, RubricCount
from bedside.judges.llm.batch_files import KEY_DIGITS, Answers, BatchClient, BatchFile, check_batchable, key_of, writing
from bedside.judges.llm.endpoints import named_models
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import stored_keys
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork, exported_orders
from bedside.scoring.run_judging import JudgingWatch, judging
from bedside.scoring.run_transcripts import kept_transcripts

#: Calls looked up or written between two looks at the store.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What reading a batch's answers and writing its calls did.

    Attributes:
        judged: what each work came to.
        files: the files of calls that were written.
        lines: lines of answers and errors that were read.
        taken: answers that were taken.
        errors: lines that hold an error in place of an answer.
        judged_before: answers to what was judged already.
        unasked: answers and errors to nothing that this run asks.
        twice: lines whose call an earlier line answers.
        unreadable: lines that are no answers, such as one that is cut off.
        first_unreadable: where the first of these is.
    """

    judged: tuple[JudgingSummary, ...]
    files: tuple[BatchFile, ...]
    lines: int = 0
    taken: int = 0
    errors: int = 0
    judged_before: int = 0
    unasked: int = 0
    twice: int = 0
    unreadable: int = 0
    first_unreadable: str | None = None

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
    """Refuse what batch files can't hold.

    Raises:
        InputError: metrics of deepeval are asked.
    """
    if work.deepeval:
        raise InputError(
            "what a metric of deepeval asks hangs on the replies before it, and a batch is answered at once",
            where=",".join(metric.metric for metric in work.deepeval),
            todo="ask it without a batch file",
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
            settings = replace(order.settings, max_concurrency=_AT_ONCE, max_calls=None)
            client = partial(BatchClient, order.judge, order.settings.sampling(), answers, writer)
            judgings.append(
                stack.enter_context(
                    judging(run, transcripts, replace(order, settings=settings), client=client, progress=progress)
                )
            )
        outcome = BatchOutcome(tuple(finished.summary for finished in judgings), ())
        if answers is not None:
            outcome = _counted(outcome, run, answers)
        for finished in judgings:
            finished.add(run, batch=True)
        return outcome if writer is None else replace(outcome, files=writer.finish())


def _counted(outcome: BatchOutcome, run: Run, answers: Answers) -> BatchOutcome:
    """The outcome with what became of a batch's answers, once all that are wanted were taken.

    Raises:
        InputError: none of them is to a call of this run.
    """
    stored = {key[:KEY_DIGITS] for key in stored_keys(run.path / STORE, failed=True)}
    untaken = answers.left
    judged_before = sum(key_of(custom_id) in stored for custom_id in untaken)
    if untaken and len(untaken) - judged_before == answers.ids:
        raise InputError(
            f"none of the {answers.ids} answers is to a call of this run",
            where=str(run.path),
            todo="name the run that the calls were exported from",
        )
    return replace(
        outcome,
        lines=answers.lines,
        taken=answers.taken,
        errors=answers.errors,
        judged_before=judged_before,
        unasked=len(untaken) - judged_before,
        twice=answers.twice,
        unreadable=answers.unreadable,
        first_unreadable=answers.first_unreadable,
    )
