"""Judging a run: language models rate its transcripts by rubrics, or code their turns, and the ratings join the run.

Where the rubrics asked belong to a protocol (:mod:`bedside.scoring.pipeline`), what is asked about another rubric's
answers waits for these, and the protocol's metrics follow from the answers, pass by pass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from bedside.core.name_lists import Names, listed
from bedside.core.trace_spans import span
from bedside.judges.cost_limit import JudgeBudget
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.deepeval_raters.ratings import rate_by_deepeval
from bedside.judges.llm.contract import check_models
from bedside.judges.llm.endpoints import named_models
from bedside.judges.llm.protocol import Client
from bedside.judges.rubrics.rubric import as_data
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.turn_codes import code_transcripts
from bedside.metrics import FAMILIES
from bedside.ratings.learnt_units import LearntUnits, with_learnt
from bedside.ratings.run import Run
from bedside.ratings.table import KEY, missing_counts, rating_writer
from bedside.scoring._pipeline_judging import PipelineJudging
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork, check_work_wordless
from bedside.scoring.pipeline import Pipeline
from bedside.scoring.run_transcripts import (
    TranscriptSource,
    checked_transcripts,
    kept_transcripts,
    read_again,
)
from bedside.scoring.versions import run_versions
from bedside.transcripts import ReadOptions
from bedside.transcripts.memory_reading import TranscriptInput

#: Called with a judge and how far it is.
JudgingWatch = Callable[[str, JudgingProgress], None]

#: What a judge rates of a transcript it rates whole: what was missing for all turns may now be there for each.
_WHOLE = tuple(column for column in KEY if column != "unit")


def judge_run(
    run: Run,
    transcripts: TranscriptInput | None,
    judges: Names,
    work: JudgingWork,
    *,
    options: ReadOptions | None = None,
    settings: JudgeSettings | None = None,
    progress: JudgingWatch | None = None,
) -> tuple[JudgingSummary, ...]:
    """Have judges rate the transcripts of a run and add their ratings to it, and the metrics that follow from them.

    Every judgement is kept in the run as soon as it is made: the same call after a stop asks only what is missing.
    Metrics have the parameters that the run was last scored with.

    Args:
        run: the run.
        transcripts: the files, or the transcripts in memory, that the run was scored from; None for what the run keeps.
        judges: models, see :mod:`bedside.judges.llm.endpoints`; addresses that serve the same model are one judge.
        work: what is asked.
        options: how to read the files.
        settings: passes, limits and the like; the limits are those of all judges together.
        progress: called with the judge and how far it is.

    Raises:
        LanguageModelError: a judge can't be asked; what was finished is kept in the run's store.
        InputError: the files hold other transcripts than the run.
    """
    summaries, budget = [], JudgeBudget(None if settings is None else settings.max_cost)
    names = named_models(listed(judges, "judges"))
    check_models(names)
    if transcripts is None:
        source = kept_transcripts(run)
    else:
        source = checked_transcripts(run, read_again(transcripts, options))
    run.check_told_apart()
    with run.locked():
        for name in names:
            for part in work.parts():
                order = JudgingOrder(name, part, settings or JudgeSettings())
                with (
                    span("bedside judge", gen_ai__request__model=name.model) as trace,
                    judging(run, source, order, progress=progress, budget=budget) as finished,
                ):
                    finished.add(run)
                    trace.add(
                        bedside__ratings=finished.summary.ratings,
                        bedside__requests=finished.summary.calls,
                        bedside__complete=finished.summary.complete,
                    )
                summaries.append(finished.summary)
    return tuple(summaries)


@dataclass(frozen=True, slots=True)
class FinishedJudging:
    """One judge's work on a run, before it is added to it.

    Attributes:
        order: what was asked, and how.
        summary: what it came to.
        ratings: rows of the ratings table.
        metrics: the rubrics, and the metrics that follow from them.
        parameters: of these metrics, by family.
    """

    order: JudgingOrder
    summary: JudgingSummary
    ratings: pl.LazyFrame
    metrics: list[str]
    parameters: dict[str, Any]

    def add(self, run: Run, *, batch: bool = False) -> None:
        """Add the ratings to the run, and to its manifest what was asked; by batch files, if ``batch``."""
        rubrics = self.order.work.rubrics
        entry = {
            "suite": self.order.work.suite,
            "metrics": self.metrics,
            "parameters": self.parameters,
            "seed": self.order.settings.seed,
            "judges": {self.summary.rater: self._judge_entry(batch)},
            **run_versions(),
            "ratings": self.summary.ratings,
            "raters": [self.summary.rater],
            "missing": missing_counts(self.ratings),
        }
        manifest = {**run.manifest, "scorings": [*run.manifest["scorings"], entry]}
        own = {rubric.key: as_data(rubric) for rubric in rubrics if rubric.key not in RUBRICS}
        if own:
            manifest["rubrics"] = {**run.manifest.get("rubrics", {}), **own}
        for rubric in rubrics:
            if rubric.learnt_from:
                learnt = LearntUnits(self.summary.rater, rubric.name, rubric.learnt_from)
                manifest = with_learnt(manifest, learnt)
        run.add(self.ratings, manifest, key=_WHOLE)

    def _judge_entry(self, batch: bool) -> dict[str, Any]:
        """All that it takes to do the same again, and what it took."""
        summary, settings, judge = self.summary, self.order.settings, self.order.judge
        shows = {kind for rubric in self.order.work.rubrics for kind in rubric.shows}
        endpoints = [
            {"address": endpoint.name.text, "weight": endpoint.weight} for endpoint in judge.endpoints
        ]
        return {
            "model": judge.text,
            **({"endpoints": endpoints} if endpoints else {}),
            **summary.parameters,
            "wanted": settings.sampling().parameters(),
            "max_prompt_tokens": settings.max_prompt_tokens,
            "price": None if settings.price is None else asdict(settings.price),
            "passes": summary.passes,
            "codes": list(self.order.work.codes),
            "from_suite": self.order.work.from_suite,
            "batch": batch,
            "complete": summary.complete,
            "prompts": {count.rubric: count.version for count in summary.rubrics},
            "rubrics": [asdict(count) for count in summary.rubrics],
            **({"shows": sorted(shows)} if shows else {}),
        }


@contextmanager
def judging(
    run: Run,
    transcripts: TranscriptSource,
    order: JudgingOrder,
    *,
    client: Callable[[], Client] | None = None,
    store: Path | None = None,
    progress: JudgingWatch | None = None,
    budget: JudgeBudget | None = None,
) -> Iterator[FinishedJudging]:
    """Have one judge do its work on a run that is locked; the ratings are there as long as the block lasts.

    Args:
        run: the run.
        transcripts: those of the run, or some of them.
        order: what the judge is asked, and how.
        client: opens what is asked in place of the judge's model.
        store: keeps the judgements in place of the run's store, and is used by nobody else.
        progress: called with the judge and how far it is.
        budget: what several judges may cost together; as the settings say unless given.
    """
    work, text = order.work, run.keeps_text
    if not text:
        check_work_wordless(work)
    store_path = store or run.path / STORE
    watch = None if progress is None else partial(progress, order.judge.shown)
    with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
        ratings = rating_writer(Path(folder))
        if work.codes:
            summary = code_transcripts(
                transcripts(),
                order.judge,
                store_path=store_path,
                add=ratings.add,
                codes=work.codes,
                settings=order.settings,
                text=text,
                progress=watch,
                client=client,
                alone=store is not None,
                budget=budget,
                count=run.index.height,
            )
            yield FinishedJudging(order, summary, ratings.result(), list(work.codes), {})
            return
        if work.deepeval:
            summary = rate_by_deepeval(
                transcripts(),
                order.judge,
                work.deepeval,
                store_path=store_path,
                add=ratings.add,
                settings=order.settings,
                progress=watch,
                client=client,
                alone=store is not None,
                budget=budget,
                count=run.index.height,
            )
            metrics = [metric.metric for metric in work.deepeval]
            yield FinishedJudging(order, summary, ratings.result(), metrics, {})
            return
        rating = PipelineJudging(order, partial(_parameters, run), Path(folder), ratings.add)
        summary = rating.judge(
            store_path,
            transcripts,
            text=text,
            progress=watch,
            client=client,
            alone=store is not None,
            budget=budget,
            count=run.index.height,
        )
        metrics = [rubric.name for rubric in work.rubrics]
        parameters = {}
        for following in rating.following:
            metrics += sorted(following.names)
            if following.settings:
                parameters[following.pipeline.family] = dict(following.settings)
        yield FinishedJudging(order, summary, ratings.result(), metrics, parameters)


def _parameters(run: Run, pipeline: Pipeline) -> dict[str, Any]:
    """All parameters of a pipeline's metric family: its own, or those that the run was last scored with."""
    settings = pipeline.settings
    if settings is None:
        by_scoring = (entry["parameters"] for entry in reversed(run.manifest["scorings"]))
        settings = next(
            (by_family[pipeline.family] for by_family in by_scoring if pipeline.family in by_family), {}
        )
    return FAMILIES.load(pipeline.family).settings(settings)
