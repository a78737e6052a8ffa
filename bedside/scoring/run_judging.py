"""Judging a run: language models rate its transcripts, code their turns or compare two, and the ratings join the run.

Where the rubrics asked belong to a protocol (:mod:`bedside.scoring.pipeline`), what is asked about another rubric's
answers waits for these, and the protocol's metrics follow from the answers, pass by pass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Unpack

import orjson
import polars as pl

from bedside.core.errors import DataError
from bedside.core.trace_spans import span
from bedside.core.words import Names, listed
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.deepeval_raters.ratings import rate_by_deepeval
from bedside.judges.judgement_queue import JudgeAccess, JudgingStage, ask_judge
from bedside.judges.llm.contract import check_models
from bedside.judges.llm.endpoints import named_models
from bedside.judges.llm.protocol import Client
from bedside.judges.llm.spending import CostLimit
from bedside.judges.prompt import ITEMS_PER_CALL, Conversation, Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup, QuestionSet
from bedside.judges.raters import RatingRows, rubric_rater
from bedside.judges.rubric_ratings import asked_with, ratings_of
from bedside.judges.rubrics.rubric import Rubric, as_data
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.turn_codes import code_transcripts
from bedside.ratings.learnt_units import LearntUnits, with_learnt
from bedside.ratings.names import TRANSCRIPT, unit_name
from bedside.ratings.run import Run
from bedside.ratings.suites import Suite
from bedside.ratings.suites.run_suites import suites_of, unregistered
from bedside.ratings.table import KEY, RatingRow, missing_counts, rating_writer
from bedside.scoring.judging_orders import STORE, JudgingOrder, JudgingWork, check_work_wordless
from bedside.scoring.pair_judging import PairJudging
from bedside.scoring.pipeline import LaterQuestion, PassAnswers, Pipeline, later_questions, pipelines_for, spared_by
from bedside.scoring.run_transcripts import (
    FailedTalk,
    TranscriptSource,
    checked_transcripts,
    failed_talk,
    kept_transcripts,
    read_again,
    run_versions,
    without_failed,
)
from bedside.scoring.transcript_pairs import PairedTranscripts
from bedside.transcripts.memory_reading import TranscriptInput
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.transcript import Transcript

# -- Answers on disk ------------------------------------------------------------------------------------


class AnswerSpool:
    """What a judge answered, on disk in the order of the transcripts: memory holds one transcript's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    def add(self, group: QuestionGroup) -> None:
        """Write down a group's answers."""
        answers = [(answer.unit, answer.items, answer.answer, answer.error) for answer in group.answers]
        line = (group.transcript.id, group.number, group.question.rubric.name, answers)
        self._file.write(orjson.dumps(line) + b"\n")

    def close(self) -> None:
        """All is written."""
        self._file.close()

    def reader(self) -> AnswerReader:
        """What gives back what is written."""
        return AnswerReader(self._path)


class AnswerReader:
    """Answers in a spool, to be asked for in the order of the transcripts."""

    def __init__(self, path: Path) -> None:
        self._by_transcript = groupby(_lines(path), key=lambda line: line[0])
        self._ahead = next(self._by_transcript, None)

    def take(self, transcript: str) -> dict[int, dict[str, list[JudgeAnswer]]]:
        """What was answered of a transcript, by pass and rubric."""
        passes: dict[int, dict[str, list[JudgeAnswer]]] = {}
        if self._ahead is not None and self._ahead[0] == transcript:
            for _, number, rubric, answers in self._ahead[1]:
                passes.setdefault(number, {})[rubric] = [_answer(*fields) for fields in answers]
            self._ahead = next(self._by_transcript, None)
        return passes


def _lines(path: Path) -> Iterator[tuple[str, int, str, list[Any]]]:
    with path.open("rb") as file:
        for line in file:
            yield orjson.loads(line)


def _answer(unit: str, items: list[int] | None, answer: dict[str, Any] | None, error: str | None) -> JudgeAnswer:
    return JudgeAnswer(unit, None if items is None else tuple(items), answer, error)


# -- One judge's rating of a run ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FollowingMetrics:
    """The metrics that follow from a judge's answers by one pipeline.

    Attributes:
        pipeline: how they follow.
        names: the metrics.
        settings: all parameters of their family.
    """

    pipeline: Pipeline
    names: frozenset[str]
    settings: Mapping[str, Any]


class PipelineJudging:
    """One judge's rating of a run: what is asked at once, what waits for that, and what follows.

    Args:
        order: what the judge is asked, and how.
        suites: those that the run was scored by.
        settings: parameters of a pipeline's metric family.
        folder: for what is remembered between the stages.
        add: called with each row of the ratings table.

    Attributes:
        following: the metrics that follow from the answers.
    """

    def __init__(
        self,
        order: JudgingOrder,
        suites: Sequence[Suite],
        settings: Callable[[Pipeline], Mapping[str, Any]],
        folder: Path,
        add: Callable[[RatingRow], object],
    ) -> None:
        asked = {rubric.name for rubric in order.work.rubrics}
        pipelines = pipelines_for(asked)
        self.following = [
            FollowingMetrics(pipeline, pipeline.metrics(asked), settings(pipeline)) for pipeline in pipelines
        ]
        self._later = later_questions(pipelines, asked)
        self._followed = frozenset[str]().union(*(pipeline.rubrics for pipeline in pipelines))
        self._order = order
        self._suites = suites if order.work.suite is None else [*suites, order.work.suite]
        self._passes = order.settings.passes
        self._questions = QuestionSet(
            map(Question, order.work.rubrics),
            self._passes,
            spared=spared_by(pipelines) if order.work.from_suite else None,
        )
        self._spools = [AnswerSpool(folder / f"answers-{stage}") for stage in range(2 if self._later else 1)]
        self._rows = RatingRows(rubric_rater(order.judge, order.work.rubrics), add)

    def judge(
        self,
        store: Path,
        transcripts: TranscriptSource,
        *,
        progress: Callable[[JudgingProgress], None] | None,
        count: int,
        **access: Unpack[JudgeAccess],
    ) -> JudgingSummary:
        """Ask everything, rate what is answered, and make the metrics that follow.

        Nothing is asked about conversations that the clinician failed: what they are rated with is stated beforehand.

        Args:
            store: where judgements are kept.
            transcripts: what is asked about.
            progress, access: as for :func:`bedside.judges.judgement_queue.ask_judge`.
            count: how many transcripts there are at most, for the progress.
        """
        settings = self._order.settings
        held = without_failed(transcripts)
        at_once = [name for name in self._questions.questions if name not in self._later]
        makers = [(lambda: self._questions.groups(held(), at_once), len(at_once))]
        if self._later:
            makers.append((lambda: self._later_groups(held()), len(self._later)))
        stages = [
            JudgingStage(groups, partial(self._emit, spool), count * asked * self._passes)
            for (groups, asked), spool in zip(makers, self._spools, strict=True)
        ]
        try:
            calls = ask_judge(self._order.judge, settings, store, stages, progress=progress, **access)
        finally:
            for spool in self._spools:
                spool.close()
        self._derive(held)
        self._rate_failed(transcripts)
        tallies = self._questions.tallies
        return JudgingSummary(
            rater=self._rows.rater,
            parameters=asked_with(settings, ITEMS_PER_CALL),
            passes=self._passes,
            rubrics=self._questions.counts(),
            ratings=self._rows.count,
            calls=calls,
            waiting=tuple(
                name
                for name, later in self._later.items()
                if tallies[later.after].not_asked or tallies[later.after].failed
            ),
        )

    def _later_groups(self, transcripts: Iterable[Transcript]) -> Iterator[QuestionGroup]:
        """What is asked about the answers of the first stage."""
        self._spools[0].close()
        reader = self._spools[0].reader()
        for transcript in transcripts:
            passes = reader.take(transcript.id)
            for name, later in self._later.items():
                for number in range(self._passes):
                    try:
                        asked = later.with_input(transcript, later.find(transcript, passes[number]))
                    except DataError:  # what it says is rated when metrics are made
                        tally = self._questions.tallies[name]
                        tally.judgements += 1
                        tally.not_askable += 1
                        continue
                    yield self._questions.group(Conversation(asked), name, number)

    def _emit(self, spool: AnswerSpool, group: QuestionGroup) -> None:
        rubric = group.question.rubric
        self._rate(group.transcript, rubric, group.number, group.answers)
        if rubric.name in self._followed:
            spool.add(group)

    def _rate(self, transcript: Transcript, rubric: Rubric, number: int, answers: Sequence[JudgeAnswer]) -> None:
        for rating in ratings_of(rubric, transcript, answers):
            self._rows.add(transcript, number, *rating)

    def _derive(self, transcripts: TranscriptSource) -> None:
        """Make the metrics that follow from what was answered."""
        if not self.following:
            return
        readers = [spool.reader() for spool in self._spools]
        for transcript in transcripts():
            stages = [reader.take(transcript.id) for reader in readers]
            for number in range(self._passes):
                answers = {
                    rubric: rubric_answers
                    for passes in stages
                    for rubric, rubric_answers in passes.get(number, {}).items()
                }
                for name, later in self._later.items():
                    if name not in answers:
                        answers[name] = [_not_asked(transcript, later, answers)]
                        rubric = self._questions.questions[name].rubric
                        self._rate(transcript, rubric, number, answers[name])
                for metrics in self.following:
                    self._add_metrics(transcript, number, answers, metrics)

    def _rate_failed(self, transcripts: TranscriptSource) -> None:
        """Rate the conversations that the clinician failed."""
        for transcript in transcripts():
            failed = failed_talk(transcript, self._suites)
            if failed is None:
                continue
            for number in range(self._passes):
                for question in self._questions.questions.values():
                    rubric = question.rubric
                    answer = JudgeAnswer(TRANSCRIPT, None, None, failed.why)
                    levels = {measure.name: failed.level(measure) for measure in (rubric, *rubric.measures)}
                    levels |= _failed_mean(rubric, levels)
                    labels = {measure.name: failed.label(measure) for measure in (rubric, *rubric.measures)}
                    for unit, metric, _, _, _, error in ratings_of(rubric, transcript, [answer]):
                        # Who says nothing reaches no points.
                        worst = 0.0 if rubric.points is not None and error == failed.why else levels.get(metric)
                        label = labels.get(metric)
                        if worst is None and label is None:
                            self._rows.add(transcript, number, unit, metric, None, None, None, error)
                        else:
                            self._rows.add(transcript, number, unit, metric, worst, label, failed.why, None)
                for metrics in self.following:
                    self._add_metrics(transcript, number, {}, metrics, failed)

    def _add_metrics(
        self,
        transcript: Transcript,
        number: int,
        answers: PassAnswers,
        metrics: FollowingMetrics,
        failed: FailedTalk | None = None,
    ) -> None:
        """Rate what follows from one pass over a transcript."""
        for value in metrics.pipeline.values(transcript, self._rows.rater, answers, metrics.names, metrics.settings):
            if failed is not None:
                value = failed.rated(value)
                if value.value is None and value.error is not None:
                    value = value._replace(error=failed.why)
            self._rows.add(
                transcript,
                number,
                unit_name(value.turn),
                value.metric if value.role is None else f"{value.metric}.{value.role}",
                value.value,
                value.label,
                value.reason,
                value.error,
                rater=value.rater,
            )


def _failed_mean(rubric: Rubric, levels: Mapping[str, float | None]) -> dict[str, float]:
    """The mean of a sheet's criteria where each of them is at its worst level."""
    if rubric.aggregate is None:
        return {}
    worst = [levels[f"{rubric.name}_{name}"] for name in rubric.aggregate.mean_of]
    known = [level for level in worst if level is not None]
    return {rubric.aggregate.name: sum(known) / len(known)} if len(known) == len(worst) else {}


def _not_asked(transcript: Transcript, later: LaterQuestion, answers: PassAnswers) -> JudgeAnswer:
    """The answer to a rubric that had nothing to be asked about: why."""
    try:
        later.find(transcript, answers)
    except DataError as error:
        return JudgeAnswer(TRANSCRIPT, None, None, str(error))
    raise AssertionError("it could have been asked")


# -- Judging a run --------------------------------------------------------------------------------------

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
    client: Callable[[], Client] | None = None,
    budget: CostLimit | None = None,
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
        client: opens what is asked in place of the judges' models.
        budget: what may be spent, where that is more than these judges'; as the settings say unless given.

    Raises:
        LanguageModelError: a judge can't be asked; what was finished is kept in the run's store.
        RunError: the run keeps no text, and the files it was scored from have changed or are gone.
        InputError: the files hold other transcripts than the run.
    """
    summaries, budget = [], budget or CostLimit(None if settings is None else settings.max_cost)
    names = named_models(listed(judges, "judges"))
    if client is None:
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
                    judging(run, source, order, client=client, progress=progress, budget=budget) as finished,
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
        rubrics, pairs = self.order.work.rubrics, self.order.work.pairs
        if pairs is not None:
            name, entry = "preferences", self._pairs_entry(pairs)
        else:
            name, entry = "scorings", self._scoring_entry(batch)
        manifest = {**run.manifest, name: [*run.manifest.get(name, []), entry]}
        own = {rubric.key: as_data(rubric) for rubric in rubrics if rubric.measures or rubric.key not in RUBRICS}
        if own:
            manifest["rubrics"] = {**run.manifest.get("rubrics", {}), **own}
        if pairs is not None:
            run.add(self.ratings, manifest)
            return
        for rubric in rubrics:
            if rubric.learnt_from:
                learnt = LearntUnits(self.summary.rater, rubric.name, rubric.learnt_from)
                manifest = with_learnt(manifest, learnt)
        run.add(self.ratings, manifest, key=_WHOLE)

    def _scoring_entry(self, batch: bool) -> dict[str, Any]:
        suite = self.order.work.suite
        own = None if suite is None else unregistered(suite)
        return {
            "suite": None if suite is None else suite.name,
            **({} if own is None else {"own_suite": own}),
            "metrics": self.metrics,
            "parameters": self.parameters,
            "seed": self.order.settings.seed,
            "judges": {self.summary.rater: self._judge_entry(batch)},
            **run_versions(),
            "ratings": self.summary.ratings,
            "raters": [self.summary.rater],
            "missing": missing_counts(self.ratings),
        }

    def _pairs_entry(self, pairs: PairedTranscripts) -> dict[str, Any]:
        """What was compared, and what it took."""
        summary, settings = self.summary, self.order.settings
        return {
            "rater": summary.rater,
            "model": self.order.judge.text,
            **summary.parameters,
            "max_prompt_tokens": settings.max_prompt_tokens,
            "passes": summary.passes,
            "seed": settings.seed,
            "systems": list(pairs.systems),
            "matched_by": list(pairs.matched_by),
            "pairs": len(pairs.pairs),
            "available": pairs.available,
            "without_partner": [asdict(lacking) for lacking in pairs.without_partner],
            "complete": summary.complete,
            "prompts": {
                rubric.name: count.version
                for rubric, count in zip(self.order.work.rubrics, summary.rubrics, strict=True)
            },
            "rubrics": [asdict(count) for count in summary.rubrics],
            "ratings": summary.ratings,
            "missing": missing_counts(self.ratings),
            **run_versions(),
        }

    def _judge_entry(self, batch: bool) -> dict[str, Any]:
        """All that it takes to do the same again, and what it took."""
        summary, settings, judge = self.summary, self.order.settings, self.order.judge
        shows = {kind for rubric in self.order.work.rubrics for kind in rubric.shows}
        endpoints = [{"address": endpoint.name.text, "weight": endpoint.weight} for endpoint in judge.endpoints]
        sampling = settings.sampling(judge)
        return {
            "model": judge.text,
            **({"endpoints": endpoints} if endpoints else {}),
            **summary.parameters,
            "wanted": {**sampling.parameters(), **({"extra": dict(sampling.extra)} if sampling.extra else {})},
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
    budget: CostLimit | None = None,
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
    if not text and work.pairs is None:
        check_work_wordless(work)
    store_path = store or run.path / STORE
    watch = None if progress is None else partial(progress, order.judge.shown)
    access: JudgeAccess = {"text": text, "client": client, "alone": store is not None, "budget": budget}
    with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
        ratings = rating_writer(Path(folder))
        if work.pairs is not None:
            summary = PairJudging(run, order).judge(store_path, ratings.add, progress=watch, **access)
            yield FinishedJudging(order, summary, ratings.result(), [], {})
            return
        if work.codes:
            summary = code_transcripts(
                transcripts(),
                order.judge,
                store_path=store_path,
                add=ratings.add,
                codes=work.codes,
                settings=order.settings,
                progress=watch,
                count=run.index.height,
                **access,
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
                count=run.index.height,
                **access,
            )
            metrics = [metric.metric for metric in work.deepeval]
            yield FinishedJudging(order, summary, ratings.result(), metrics, {})
            return
        rating = PipelineJudging(
            order, suites_of(run), lambda pipeline: pipeline.parameters(run), Path(folder), ratings.add
        )
        summary = rating.judge(store_path, transcripts, progress=watch, count=run.index.height, **access)
        metrics = [metric for rubric in work.rubrics for metric in rubric.metrics]
        parameters = {}
        for following in rating.following:
            metrics += sorted(following.names)
            if following.settings:
                parameters[following.pipeline.family] = dict(following.settings)
        yield FinishedJudging(order, summary, ratings.result(), metrics, parameters)
