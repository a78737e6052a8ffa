"""Judging apart: parts of a run that workers judge, and judgements that were made elsewhere, are put together.

Judgements are what is carried over: the ratings are made of them afterwards, as if the run had been judged in one go.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from bedside.engines.contract import Engine
from bedside.judges.counts import JudgingProgress, JudgingSummary, RubricCount
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import InUseError
from bedside.judges.store_merge import Merged, first_asked_about, merge_store
from bedside.llm.endpoints import named_models
from bedside.llm.protocol import NotAskedError, Reply, Request
from bedside.ratings.run import Run
from bedside.ratings.transcript_rows import parse_transcript
from bedside.scoring.judged import STORE, Order, Transcripts, Work, order_of, told_of, transcripts_of, working
from bedside.support.errors import EngineError, InputError
from bedside.transcripts import Transcript

#: Folder of a run with the stores of workers.
PARTS = ".judging-parts"
NOT_JUDGED = "not judged yet"
#: Transcripts of a part at most, and parts for each worker at least.
_MOST = 25
_PARTS_EACH = 4
#: Seconds after which a worker's store that is used is left to whoever uses it.
_PATIENCE = 0.5
#: How judges were asked, as the manifest tells it; ratings of different ones are not mixed.
_SETTINGS = (
    "temperature", "max_tokens", "probabilities", "seed", "order", "items_per_call", "turns_per_call", "context",
    "passes", "max_prompt_tokens",
)  # fmt: skip

Told = Callable[[str, JudgingProgress], None]


class _Kept:
    """Asks nobody: there is what the store holds. A :class:`bedside.llm.protocol.Client`."""

    max_prompt_tokens: int | None = None

    async def complete(self, request: Request) -> Reply:
        """Nothing.

        Raises:
            NotAskedError: always.
        """
        raise NotAskedError(NOT_JUDGED)

    async def close(self) -> None:
        """Nothing: no connection was opened."""


# -- what was judged elsewhere ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MergedSource:
    """What one of the merged stores held.

    Attributes:
        path: the run or store, as it was named.
        merged: counts of its judgements.
        foreign: those about transcripts that the run doesn't have.
    """

    path: Path
    merged: Merged
    foreign: int


@dataclass(frozen=True, slots=True)
class MergedRun:
    """What merging judgements into a run did.

    Attributes:
        sources: what each store held.
        judged: what the ratings of each judge came to.
        left_out: judges, with the rubrics whose ratings were not made, and why.
    """

    sources: tuple[MergedSource, ...]
    judged: tuple[JudgingSummary, ...]
    left_out: tuple[str, ...]


def merge_judgements(run: Run, sources: Sequence[Path], *, progress: Told | None = None) -> MergedRun:
    """Take over judgements of other runs or stores, and make the run's ratings of all that is there then.

    What two of them hold is there once; where they differ, the judgement that was asked first is kept. What is rated is
    what this run's judges were asked, and what those of the other runs were asked that this run's were not. Stopped at
    any moment, the same call does what is left.

    Args:
        run: the run.
        sources: folders of runs, or files of stores.
        progress: called with the judge and how far it is.

    Raises:
        RunError: a source is none, or can't be used.
        InputError: it is the run's own.
    """
    given = [_source(run, path) for path in sources]
    text = bool(run.manifest["transcripts"]["text"])
    known = set(run.index["id"])
    with run.locked():
        merged = []
        for said, (path, _) in zip(sources, given, strict=True):
            foreign = sum(count for name, count in first_asked_about(path).items() if name not in known)
            merged.append(MergedSource(said, merge_store(run.path / STORE, path, text=text), foreign))
        orders, left_out = _orders([run, *(other for _, other in given if other is not None)])
        judged = []
        for order, batch in orders:
            with _kept(run, transcripts_of(run), order, progress) as done:
                done.add(run, batch=batch)
            judged.append(done.judged)
    return MergedRun(tuple(merged), tuple(judged), tuple(left_out))


def _source(run: Run, path: Path) -> tuple[Path, Run | None]:
    """A store, and the run that it is of."""
    other = Run(path) if path.is_dir() else None
    store = path if other is None else path / STORE
    own = run.path / STORE
    if store.exists() and own.exists() and store.samefile(own):
        raise InputError("that is the run's own store", where=str(path), todo="name others")
    if not store.is_file():
        raise InputError("nothing was judged there", where=str(path), todo="name a judged run, or a store")
    return store, other


def _kept(run: Run, transcripts: Transcripts, order: Order, progress: Told | None = None) -> Any:
    """The ratings of what the run's store holds."""
    return working(
        run,
        transcripts,
        order.judge,
        order.work,
        replace(order.how, max_calls=None),
        client=_Kept,
        progress=progress,
    )


def _orders(runs: Sequence[Run]) -> tuple[list[tuple[Order, bool]], list[str]]:
    """What judges were asked in the first run, and what they were asked in the others only; what is left out, why."""
    orders: list[tuple[Order, bool]] = []
    left_out: list[str] = []
    asked: dict[tuple[str, str], Any] = {}
    for place, run in enumerate(runs):
        for rater, entry, told in told_of(run):
            settings = {name: told.get(name) for name in _SETTINGS}
            named = {(rater, rubric): (version, settings) for rubric, version in told["prompts"].items()}
            if place and all(asked.get(key) == how for key, how in named.items()):
                continue
            listed = f"{rater} by {', '.join(told['prompts'])}"
            if place and any(asked.get(key, how) != how for key, how in named.items()):
                left_out.append(f"{listed}, asked in {run.path} in another way")
                continue
            order = order_of(run, entry, told)
            if order is None:
                left_out.append(f"{listed}, whose wording is another since")
                continue
            orders.append((order, bool(told.get("batch"))))
            asked.update(named)
    return orders, left_out


# -- what workers judge -----------------------------------------------------------------------------


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
    order: Order

    def stores(self) -> list[Path]:
        return sorted((Path(self.run) / PARTS).glob(f"{self.name}-*.sqlite"))


def check_apart(how: JudgeSettings, *, text: bool) -> None:
    """Refuse what workers can't do: judge without a run's text, and share a limit of calls.

    Raises:
        InputError: that is asked for.
    """
    todo = "judge without --engine"
    if not text:
        raise InputError(
            "workers judge what the run keeps, and it keeps no text", where="--engine", todo=todo
        )
    if how.max_calls is not None:
        raise InputError("workers can't share a limit of calls", where="--max-calls", todo=todo)


def judge_apart(
    run: Run,
    judges: Sequence[str],
    work: Work,
    engine: Engine,
    *,
    asking: JudgeSettings | None = None,
    progress: Told | None = None,
) -> tuple[JudgingSummary, ...]:
    """As :func:`bedside.scoring.judged.judge_run`, by an engine's workers, which share the run's folder.

    Each worker judges some transcripts into a store of its own, with the limit of requests for itself; what is
    finished is merged into the run's. After a stop, the same call merges what workers left, and asks what is missing
    then. Equal transcripts in different parts are asked about twice, and rated by what was asked first.

    Raises:
        InputError: the run keeps no text, or calls are limited.
        EngineError: parts were not finished because workers were lost.
        JudgeError: a judge can't be asked; what was finished is kept.
    """
    how = asking or JudgeSettings()
    check_apart(how, text=bool(run.manifest["transcripts"]["text"]))
    made = []
    with run.locked():
        _collect(run)
        for name in named_models(judges):
            order = Order(name, work, how)
            with _kept(run, run.transcripts, order) as done:
                missing = done.ratings.filter(pl.col("error") == NOT_JUDGED).select("transcript_id").unique()
                ids = set(missing.collect().to_series())
                if not ids:
                    done.add(run)
                    made.append(done.judged)
                    continue
                before = done.judged
            counts = _ask(run, order, ids, engine, before, progress)
            with _kept(run, run.transcripts, order) as done:
                whole = replace(done, judged=_counted(before, done.judged, counts))
                whole.add(run)
                made.append(whole.judged)
    return tuple(made)


def _ask(
    run: Run, order: Order, ids: set[str], engine: Engine, before: JudgingSummary, progress: Told | None
) -> list[JudgingSummary]:
    """Have workers ask about these transcripts, and take in what they finish; returns what each part took."""
    made: list[JudgingSummary] = []
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
            made.append(outcome.value)
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
    return made


def _parts(run: Run, order: Order, ids: set[str], workers: int) -> Iterator[_JudgedPart]:
    size = max(1, min(_MOST, -(-len(ids) // (_PARTS_EACH * max(1, workers)))))
    store, number = run.path / STORE, 0
    begun = first_asked_about(store) if store.exists() else {}
    for file in sorted((run.path / "transcripts").glob("*.parquet")):
        names = pl.read_parquet(file, columns=["id"]).to_series()
        rows = [row for row, name in enumerate(names) if name in ids]
        for at in range(0, len(rows), size):
            chosen = tuple(rows[at : at + size])
            part = _JudgedPart(str(run.path.absolute()), f"{number:06d}", file.name, chosen, order)
            own = [names[row] for row in chosen if names[row] in begun]
            if own:
                # What is judged of these already, for the worker, which can't look into the run's store.
                before = run.path / PARTS / f"{part.name}-before.sqlite"
                merge_store(before, store, transcripts=own, alone=True)
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

    with working(run, transcripts, part.order.judge, part.order.work, part.order.how, store=own) as done:
        return done.judged


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


def _counted(
    before: JudgingSummary, after: JudgingSummary, parts: Iterable[JudgingSummary]
) -> JudgingSummary:
    """What judging apart took: what is there afterwards, with what all parts sent."""
    kept = {count.rubric: count.stored for count in before.rubrics}
    sent: Mapping[str, list[RubricCount]] = {count.rubric: [] for count in after.rubrics}
    calls = 0
    for part in parts:
        calls += part.calls
        for count in part.rubrics:
            sent[count.rubric].append(count)
    rubrics = []
    for count in after.rubrics:
        own = sent[count.rubric]
        costs = [one.cost for one in own]
        rubrics.append(
            replace(
                count,
                stored=kept[count.rubric],
                calls=sum(one.calls for one in own),
                input_tokens=sum(one.input_tokens for one in own),
                output_tokens=sum(one.output_tokens for one in own),
                cost=None if None in costs else sum(cost for cost in costs if cost is not None),
            )
        )
    return replace(after, rubrics=tuple(rubrics), calls=calls)
