"""Judging apart: an engine's workers judge parts of a run, and their judgements are put together.

Judgements are what is carried over: the ratings are made of them afterwards, as if the run had been judged in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from bedside.core.engines.contract import Engine
from bedside.core.engines.part_databases import PartDatabases, part_size
from bedside.core.errors import InputError
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.llm.endpoints import named_models
from bedside.judges.settings import JudgeSettings
from bedside.judges.store_merge import first_asked_about, merge_store
from bedside.ratings.run import Run
from bedside.ratings.table import TRANSCRIPT_FOLDER, parse_transcript
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork
from bedside.scoring.merged_runs import NOT_JUDGED, rated_from_store
from bedside.scoring.run_judging import JudgingWatch, judging
from bedside.transcripts.transcript import Transcript

#: Folder of a run with the stores of workers.
PARTS = ".judging-parts"
#: Transcripts of a part at most.
_MOST_TRANSCRIPTS = 25
#: What a rubric's counts say of what was sent.
_SENT = ("calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class _JudgedPart:
    """Some transcripts of a run, for a worker.

    Attributes:
        run: the run's folder.
        file: the Parquet file of the transcripts.
        ids: theirs.
        order: what is asked.
    """

    run: Path
    file: str
    ids: tuple[str, ...]
    order: JudgingOrder


def check_apart(settings: JudgeSettings, *, text: bool) -> None:
    """Refuse what workers can't do: judge without a run's text, and share a limit of calls, costs or a minute.

    Raises:
        InputError: that is asked for.
    """
    todo = "judge without `engine`"
    if not text:
        raise InputError("workers judge what the run keeps, and it keeps no text", where="`engine`", todo=todo)
    for name, limit in {"max_calls": "of calls", "max_cost": "of costs", "rpm": "a minute", "tpm": "a minute"}.items():
        if getattr(settings, name) is not None:
            raise InputError(f"workers can't share a limit {limit}", where=f"`{name}`", todo=todo)


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
        _stores(run).collect()
        for order in (JudgingOrder(name, part, asked) for name in named_models(judges) for part in work.parts()):
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
    run: Run, order: JudgingOrder, ids: set[str], engine: Engine, before: JudgingSummary, progress: JudgingWatch | None
) -> list[JudgingSummary]:
    """Have workers ask about these transcripts, and take in what they finish; returns what each part took."""
    summaries: list[JudgingSummary] = []
    store = run.path / STORE
    begun = first_asked_about(store) if store.exists() else {}

    def extract(part: _JudgedPart, path: Path) -> None:
        judged = [name for name in part.ids if name in begun]
        if judged:
            merge_store(path, store, transcripts=judged, alone=True)

    done = stored = sum(count.stored for count in before.rubrics)
    missing = calls = 0
    with closing(_stores(run).share(engine, _judge, _parts(run, order, ids, engine.workers), extract)) as parts:
        for summary in parts:
            summaries.append(summary)
            for count in summary.rubrics:
                done += count.judgements - count.stored
                missing += count.judgements - count.answered
                calls += count.calls
            if progress is not None:
                progress(order.judge.shown, JudgingProgress(done, stored, missing, calls))
    return summaries


def _stores(run: Run) -> PartDatabases:
    """The stores of workers beside the run's."""
    return PartDatabases(run.path / STORE, PARTS, _merge)


def _merge(target: Path, source: Path) -> None:
    merge_store(target, source, alone=target.parent.name == PARTS)


def _parts(run: Run, order: JudgingOrder, ids: set[str], workers: int) -> Iterator[_JudgedPart]:
    size = part_size(len(ids), workers, _MOST_TRANSCRIPTS)
    for file in sorted((run.path / "transcripts").glob("*.parquet")):
        names = [name for name in pl.read_parquet(file, columns=["id"]).to_series() if name in ids]
        for start in range(0, len(names), size):
            yield _JudgedPart(run.path.absolute(), file.name, tuple(names[start : start + size]), order)


def _judge(part: _JudgedPart, store: Path) -> JudgingSummary:
    """What a worker does: judge a part into a store of its own."""
    run = Run(part.run)
    run.check_file(f"{TRANSCRIPT_FOLDER}/{part.file}")
    table = pl.read_parquet(run.path / "transcripts" / part.file, columns=["id", "content", "source"])
    rows = table.filter(pl.col("id").is_in(part.ids)).select("content", "source").rows()

    def transcripts() -> Iterator[Transcript]:
        return (parse_transcript(*row) for row in rows)

    with judging(run, transcripts, part.order, store=store) as finished:
        return finished.summary


def _summed(before: JudgingSummary, after: JudgingSummary, parts: Sequence[JudgingSummary]) -> JudgingSummary:
    """What judging apart took: what is there afterwards, with what all parts sent."""
    stored = {count.rubric: count.stored for count in before.rubrics}
    rubrics = []
    for count in after.rubrics:
        counts = [of_part for part in parts for of_part in part.rubrics if of_part.rubric == count.rubric]
        costs = [of_part.cost for of_part in counts]
        rubrics.append(
            replace(
                count,
                stored=stored[count.rubric],
                cost=None if None in costs else sum(cost for cost in costs if cost is not None),
                **{name: sum(getattr(of_part, name) for of_part in counts) for name in _SENT},
            )
        )
    return replace(after, rubrics=tuple(rubrics), calls=sum(part.calls for part in parts))
