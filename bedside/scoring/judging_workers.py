"""Judging apart: an engine's workers judge parts of a run, and their judgements are put together.

Judgements are what is carried over: the ratings are made of them afterwards, as if the run had been judged in one go.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from bedside.core.engines.contract import Engine
from bedside.core.errors import EngineError, InputError
from bedside.judges.counts import JudgingProgress, JudgingSummary, RubricCount
from bedside.judges.llm.endpoints import named_models
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import InUseError
from bedside.judges.store_merge import first_asked_about, merge_store
from bedside.ratings.run import Run
from bedside.ratings.table import parse_transcript
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork
from bedside.scoring.merged_runs import NOT_JUDGED, rated_from_store
from bedside.scoring.run_judging import JudgingWatch, judging
from bedside.transcripts import Transcript

#: Folder of a run with the stores of workers.
PARTS = ".judging-parts"
#: Transcripts of a part at most, and parts for each worker at least.
_MOST_TRANSCRIPTS = 25
_PARTS_PER_WORKER = 4
#: Seconds after which a worker's store that is used is left to whoever uses it.
_PATIENCE = 0.5


@dataclass(frozen=True, slots=True)
class _JudgedPart:
    """Some transcripts of a run, for a worker.

    Attributes:
        run: the run's folder.
        name: of the part; stores of its judgements begin with it.
        file: the Parquet file of the transcripts.
        rows: which of its rows.
        order: what is asked.
    """

    run: str
    name: str
    file: str
    rows: tuple[int, ...]
    order: JudgingOrder

    def stores(self) -> list[Path]:
        return sorted((Path(self.run) / PARTS).glob(f"{self.name}-*.sqlite"))


def check_apart(settings: JudgeSettings, *, text: bool) -> None:
    """Refuse what workers can't do: judge without a run's text, and share a limit of calls or costs.

    Raises:
        InputError: that is asked for.
    """
    todo = "judge without `engine`"
    if not text:
        raise InputError(
            "workers judge what the run keeps, and it keeps no text", where="`engine`", todo=todo
        )
    if settings.max_calls is not None:
        raise InputError("workers can't share a limit of calls", where="`max_calls`", todo=todo)
    if settings.max_cost is not None:
        raise InputError("workers can't share a limit of costs", where="`max_cost`", todo=todo)


def judge_apart(
    run: Run,
    judges: Sequence[str],
    work: JudgingWork,
    engine: Engine,
    *,
    settings: JudgeSettings | None = None,
    progress: JudgingWatch | None = None,
) -> tuple[JudgingSummary, ...]:
    """As :func:`bedside.scoring.run_judging.judge_run`, by an engine's workers, which share the run's folder.

    Each worker judges some transcripts into a store of its own, with the limit of requests for itself; what is
    finished is merged into the run's. After a stop, the same call merges what workers left, and asks what is missing
    then. Equal transcripts in different parts are asked about twice, and rated by what was asked first.

    Raises:
        InputError: the run keeps no text, or calls or costs are limited.
        EngineError: parts were not finished because workers were lost.
        LanguageModelError: a judge can't be asked; what was finished is kept.
    """
    asked = settings or JudgeSettings()
    check_apart(asked, text=run.keeps_text)
    summaries = []
    run.check_told_apart()
    with run.locked():
        _collect(run)
        for order in (
            JudgingOrder(name, part, asked) for name in named_models(judges) for part in work.parts()
        ):
            with rated_from_store(run, run.transcripts, order) as finished:
                unjudged = finished.ratings.filter(pl.col("error") == NOT_JUDGED)
                ids = set(unjudged.select("transcript_id").unique().collect().to_series())
                if not ids:
                    finished.add(run)
                    summaries.append(finished.summary)
                    continue
                before = finished.summary
            parts = _ask(run, order, ids, engine, before, progress)
            with rated_from_store(run, run.transcripts, order) as finished:
                whole = replace(finished, summary=_summed(before, finished.summary, parts))
                whole.add(run)
                summaries.append(whole.summary)
    return tuple(summaries)


def _ask(
    run: Run,
    order: JudgingOrder,
    ids: set[str],
    engine: Engine,
    before: JudgingSummary,
    progress: JudgingWatch | None,
) -> list[JudgingSummary]:
    """Have workers ask about these transcripts, and take in what they finish; returns what each part took."""
    summaries: list[JudgingSummary] = []
    lost = None
    (run.path / PARTS).mkdir(mode=0o700, exist_ok=True)
    stored = sum(count.stored for count in before.rubrics)
    missing = calls = 0
    done = stored
    try:
        for part, outcome in engine.run_tasks(_judge, list(_parts(run, order, ids, engine.workers))):
            for store in part.stores():
                _take_in(run, store)
            if outcome.error is not None:
                raise outcome.error
            if outcome.value is None:
                lost = outcome.lost
                continue
            summaries.append(outcome.value)
            for count in outcome.value.rubrics:
                done += count.judgements - count.stored
                missing += count.judgements - count.answered
                calls += count.calls
            if progress is not None:
                progress(order.judge.shown, JudgingProgress(done, stored, missing, calls))
    finally:
        _collect(run)
    if lost is not None:
        raise EngineError(
            f"parts were not finished, because workers were lost ({lost})",
            where=str(run.path),
            todo="what is finished is kept; run the same command again to go on",
        )
    return summaries


def _parts(run: Run, order: JudgingOrder, ids: set[str], workers: int) -> Iterator[_JudgedPart]:
    size = max(1, min(_MOST_TRANSCRIPTS, -(-len(ids) // (_PARTS_PER_WORKER * max(1, workers)))))
    store, number = run.path / STORE, 0
    begun = first_asked_about(store) if store.exists() else {}
    for file in sorted((run.path / "transcripts").glob("*.parquet")):
        names = pl.read_parquet(file, columns=["id"]).to_series()
        rows = [row for row, name in enumerate(names) if name in ids]
        for start in range(0, len(rows), size):
            part_rows = tuple(rows[start : start + size])
            part = _JudgedPart(str(run.path.absolute()), f"{number:06d}", file.name, part_rows, order)
            judged = [names[row] for row in part_rows if names[row] in begun]
            if judged:
                # What is judged of these already, for the worker, which can't look into the run's store.
                before = run.path / PARTS / f"{part.name}-before.sqlite"
                merge_store(before, store, transcripts=judged, alone=True)
            number += 1
            yield part


def _judge(part: _JudgedPart) -> JudgingSummary:
    """What a worker does: judge a part into a store of its own, beginning with what others left of it."""
    run = Run(part.run)
    own = run.path / PARTS / f"{part.name}-{uuid.uuid4().hex}.sqlite"
    for store in part.stores():
        with suppress(InUseError):
            merge_store(own, store, alone=True, patience=_PATIENCE)
    table = pl.read_parquet(run.path / "transcripts" / part.file, columns=["content", "source"])
    rows = [table.row(row) for row in part.rows]

    def transcripts() -> Iterator[Transcript]:
        return (parse_transcript(*row) for row in rows)

    with judging(run, transcripts, part.order, store=own) as finished:
        return finished.summary


def _collect(run: Run) -> None:
    """Take in what workers left, but for what one is at still."""
    folder = run.path / PARTS
    if not folder.is_dir():
        return
    for store in sorted(folder.glob("*.sqlite")):
        _take_in(run, store)
    if not any(folder.glob("*.sqlite")):
        shutil.rmtree(folder, ignore_errors=True)


def _take_in(run: Run, store: Path) -> None:
    with suppress(InUseError):
        merge_store(run.path / STORE, store, patience=_PATIENCE)
        store.unlink(missing_ok=True)


def _summed(before: JudgingSummary, after: JudgingSummary, parts: Iterable[JudgingSummary]) -> JudgingSummary:
    """What judging apart took: what is there afterwards, with what all parts sent."""
    stored = {count.rubric: count.stored for count in before.rubrics}
    by_part: Mapping[str, list[RubricCount]] = {count.rubric: [] for count in after.rubrics}
    calls = 0
    for part in parts:
        calls += part.calls
        for count in part.rubrics:
            by_part[count.rubric].append(count)
    rubrics = []
    for count in after.rubrics:
        part_counts = by_part[count.rubric]
        costs = [part_count.cost for part_count in part_counts]
        rubrics.append(
            replace(
                count,
                stored=stored[count.rubric],
                calls=sum(part_count.calls for part_count in part_counts),
                input_tokens=sum(part_count.input_tokens for part_count in part_counts),
                output_tokens=sum(part_count.output_tokens for part_count in part_counts),
                cost=None if None in costs else sum(cost for cost in costs if cost is not None),
                cached_tokens=sum(part_count.cached_tokens for part_count in part_counts),
                reasoning_tokens=sum(part_count.reasoning_tokens for part_count in part_counts),
            )
        )
    return replace(after, rubrics=tuple(rubrics), calls=calls)
