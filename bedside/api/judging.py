"""Judging from Python: language models rate a run, or transcripts on their way into one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.api.run_files import open_run
from bedside.core.errors import InputError, RunError
from bedside.core.words import Names, listed
from bedside.ratings.run import Run
from bedside.ratings.run_folder import is_run
from bedside.reports.table import Table, Tables

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.counts import JudgingSummary
    from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
    from bedside.judges.llm.model_names import ModelName
    from bedside.judges.prompt import Order
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.judges.settings import JudgeSettings
    from bedside.ratings.suites import Suite
    from bedside.scoring.judging_orders import JudgingWork, RubricNames
    from bedside.scoring.plan import ScoringSummary
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.transcripts import ReadOptions
    from bedside.transcripts.memory_reading import TranscriptInput


@dataclass(frozen=True, slots=True, repr=False)
class AskedRun:
    """A run that judges were asked about.

    Attributes:
        run: the run.
        judges: what each judge did.
        table: what the judges were asked, rubric by rubric, and what it took.
    """

    run: Run
    judges: tuple[JudgingSummary, ...]
    table: Table

    @property
    def complete(self) -> bool:
        """Whether everything was answered; else the same call again asks what is missing."""
        return all(judge.complete for judge in self.judges)

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


@dataclass(frozen=True, slots=True, repr=False)
class JudgedRun(AskedRun):
    """A run that judges rated.

    Attributes:
        run, judges, table: as of :class:`AskedRun`.
        scoring: what algorithms did before; None where the run was there already.
    """

    scoring: ScoringSummary | None

    def __repr__(self) -> str:
        rest = "" if self.complete else "; not everything was answered"
        return f"JudgedRun({self.run!r}, judged by {', '.join(judge.rater for judge in self.judges)}{rest})"


def judge(
    source: Run | TranscriptInput,
    judges: Names,
    *,
    out: str | os.PathLike[str] | None = None,
    rubrics: RubricNames | None = None,
    codes: Names = (),
    suite: str | Suite | None = None,
    metrics: Names | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    options: ReadOptions | None = None,
    text: bool = True,
    passes: int = 1,
    temperature: float | None = 0.0,
    reasoning_effort: str | None = None,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_prompt_tokens: int | None = None,
    max_tokens: int = 4096,
    order: Order = "transcript-first",
    expected: bool = False,
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
    progress: JudgingWatch | None = None,
) -> JudgedRun:
    """Have language models rate a run's transcripts by rubrics, or code their turns; their ratings join the run.

    Every judgement is kept in the run as soon as it is made: the same call again, after a stop or with more rubrics,
    asks only what isn't answered yet. It works where an event loop runs already, as in a notebook.

    Args:
        source: a run (the object or its folder); or, with ``out``, transcripts as :func:`bedside.score` takes them,
            which algorithms rate first.
        judges: models, such as ``openai/gpt-5-mini`` or ``http://localhost:8000/v1#NAME``, or YAML files of addresses.
        out: the folder of the run that transcripts go into: new, or an existing run of the same transcripts.
        rubrics: names, files or :class:`~bedside.judges.rubrics.rubric.Rubric` objects, in place of the suite's.
        codes: behaviour codes that the judges give to turns, in place of rubrics; ``all`` for all of them.
        suite: whose rubrics (and, with ``out``, metrics) are taken; that of the run unless named, else ``default``.
        metrics, parameters: with ``out``, as for :func:`bedside.score`; of metrics that begin with ``deepeval:`` and
            of the parameters of ``deepeval``, the judge takes care, of a run, too. Unless rubrics or codes are named
            beside them, it rates by these metrics alone.
        options, text: with ``out``, as for :func:`bedside.score`.
        passes: how often each thing is asked; the pass is the rating's ``replicate``.
        temperature: 0 to 2; None leaves it to the provider, as it is where the model takes none.
        reasoning_effort: how long a model that reasons does so: ``none``, ``minimal``, ``low``, ``medium``, ``high`` or
            ``xhigh``, of which each takes some; None leaves it to the provider.
        max_concurrency: most requests under way at once to a judge, or to each address that serves it.
        max_calls: most requests to send; what is left is missing until the same call is made again.
        max_cost: US dollars after which nothing more is sent, likewise.
        max_prompt_tokens: longer prompts, by an estimate, are not sent, and their ratings say so.
        max_tokens: most tokens of a reply, those of the reasoning before it included.
        order: what a prompt begins with, which a provider may cache: ``transcript-first`` or ``rubric-first``.
        expected: whether to rate the expected level too, from the probabilities of the answer's tokens.
        price: US dollars for a million tokens in and out, where bedside doesn't know them; a third number is that of
            tokens in the provider's cache.
        seed: of random waits, and of sampling where the temperature isn't 0.
        progress: called with the judge and how far it is.

    Raises:
        BedsideError: a name that is none, a run or file that can't be read (nothing is written then), or a judge that
            can't be asked; what it answered before is kept.
    """
    from bedside.judges.judgement_queue import judge_price
    from bedside.judges.llm.contract import check_models

    call = _JudgingCall(
        source,
        judges,
        out=out,
        rubrics=rubrics,
        codes=codes,
        suite=suite,
        metrics=metrics,
        parameters=parameters,
    )
    settings = judge_settings(
        passes=passes,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        max_prompt_tokens=max_prompt_tokens,
        max_tokens=max_tokens,
        order=order,
        expected=expected,
        price=price,
        seed=seed,
    )
    scoring = None
    check_models(call.names)
    for name in call.names:
        judge_price(name, settings, settings.max_cost)
    if call.transcripts is None:
        call.check_unscored(metrics=call.metrics or None, parameters=call.parameters or None, options=options)
    else:
        scoring = call.score(options=options, text=text, seed=seed)
    return call.ask(scoring, options, settings, progress)


def preview_judging(
    source: Run | TranscriptInput,
    judges: Names,
    *,
    out: str | os.PathLike[str] | None = None,
    rubrics: RubricNames | None = None,
    codes: Names = (),
    suite: str | Suite | None = None,
    metrics: Names | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    options: ReadOptions | None = None,
    passes: int = 1,
    temperature: float | None = 0.0,
    reasoning_effort: str | None = None,
    max_concurrency: int = 8,
    max_prompt_tokens: int | None = None,
    max_tokens: int = 4096,
    order: Order = "transcript-first",
    expected: bool = False,
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
) -> Tables[tuple[RubricPlan, ...]]:
    """What :func:`judge` with the same arguments would ask: requests, tokens, dollars. Nothing is asked or written.

    Args:
        source, judges, rubrics, codes, suite, metrics, parameters, options: as for :func:`judge`.
        out: the run whose answers count as given; transcripts need none here.
        passes, temperature, reasoning_effort, max_concurrency, max_prompt_tokens, max_tokens, order, expected, price,
            seed: as for :func:`judge`.

    Raises:
        BedsideError: a name that is none, or a run or file that can't be read.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.reports.judgements import plan_table
    from bedside.scoring.preview import preview_judging as run_preview

    call = _JudgingCall(
        source,
        judges,
        out=out,
        rubrics=rubrics,
        codes=codes,
        suite=suite,
        metrics=metrics,
        parameters=parameters,
        writes=False,
    )
    settings = judge_settings(
        passes=passes,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        max_concurrency=max_concurrency,
        max_prompt_tokens=max_prompt_tokens,
        max_tokens=max_tokens,
        order=order,
        expected=expected,
        price=price,
        seed=seed,
    )
    with tempfile.TemporaryDirectory() as nothing:
        plans = run_preview(
            call.folder or Path(nothing),
            call.transcripts,
            call.models,
            call.work,
            options=options,
            settings=settings,
        )
    lines = endpoint_lines(call.models, settings.max_concurrency)
    return Tables([plan_table(plans, call.work.rubrics, lines)], plans)


def judge_settings(*, price: tuple[float, float] | tuple[float, float, float] | None, **settings: Any) -> JudgeSettings:
    """How judges are asked, with the price as numbers."""
    from bedside.judges.llm.prices import Price
    from bedside.judges.settings import JudgeSettings

    try:
        known = None if price is None else Price(*map(float, price))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{price!r:.40} is not a price",
            where="`price`",
            todo="give dollars for tokens in and out: (0.25, 2)",
        ) from error
    return JudgeSettings(**settings, price=known)


def named_judges(judges: Names) -> tuple[list[str], tuple[ModelName, ...]]:
    """Models that judge: their names, and these taken apart.

    Raises:
        InputError: none is named, or a name is none.
    """
    from bedside.judges.llm.endpoints import named_models

    models = listed(judges, "judges")
    names = tuple(named_models(models))
    if not names:
        raise InputError("no judge is named", where="`judges`", todo="name a model, such as openai/gpt-5-mini")
    return models, names


class _JudgingCall:
    """What is judged, and by what; names that are none stop here, before anything is written.

    Attributes:
        run: the run that is there; None where it is to be made.
        folder: the run's, there or not; None where none is named.
        transcripts: what is to be scored first; None where a run is judged as it is.
        models: names of the judges.
        names: these, taken apart.
        suite: whose metrics and rubrics are taken.
        work: what is asked.
        metrics: those that algorithms compute; None for the suite's.
        parameters: of theirs.
    """

    def __init__(
        self,
        source: Run | TranscriptInput,
        judges: Names,
        *,
        out: str | os.PathLike[str] | None,
        rubrics: RubricNames | None,
        codes: Names,
        suite: str | Suite | None,
        metrics: Names | None,
        parameters: Mapping[str, Mapping[str, Any]] | None,
        writes: bool = True,
    ) -> None:
        from bedside.judges.deepeval_raters.chosen_metrics import chosen_metrics, metrics_apart

        self.models, self.names = named_judges(judges)
        self.run: Run | None = None
        self.transcripts: TranscriptInput | None = None
        self.folder = None if out is None else Path(out)
        if isinstance(source, Run) or _names_run(source):
            if out is not None:
                raise InputError("a run is judged where it is", where="`out`", todo="leave it out, or give transcripts")
            self.run = open_run(source)  # type: ignore[arg-type]
            self.folder = self.run.path
        else:
            self._take(source, writes)
        self.suite = self._suite(suite)
        self.metrics, of_deepeval = metrics_apart(listed(metrics, "metrics"))
        self.parameters = dict(parameters or {})
        own = self.parameters.pop("deepeval", {}) if of_deepeval else {}
        deepeval = chosen_metrics(of_deepeval, own) if of_deepeval else ()
        self.work = self._work(rubrics, codes, deepeval)

    def _take(self, transcripts: TranscriptInput, writes: bool) -> None:
        """Take transcripts that go into the run at the folder."""
        from bedside.transcripts.memory_reading import several_times

        if self.folder is None and writes:
            raise RunError(
                "this is not a run, and transcripts are judged in one",
                where=str(transcripts) if isinstance(transcripts, str | os.PathLike) else None,
                todo="name a run, or with `out` the folder that the transcripts' run goes into",
            )
        if self.folder is not None and is_run(self.folder):
            self.run = Run(self.folder)
        self.transcripts = several_times(transcripts)

    def _suite(self, suite: str | Suite | None) -> Suite:
        """The suite that is named, or the last one with rubrics that the run was scored by, or the default."""
        from bedside.ratings.suites import SUITES, Suite
        from bedside.ratings.suites.run_suites import suites_of

        if suite is not None:
            return suite if isinstance(suite, Suite) else SUITES.find(suite)
        of_run = () if self.run is None else suites_of(self.run)
        with_rubrics = [scored for scored in of_run if scored.rubrics]
        return [SUITES.load("default"), *of_run, *with_rubrics][-1]

    def _work(self, rubrics: RubricNames | None, codes: Names, deepeval: tuple[DeepevalMetric, ...]) -> JudgingWork:
        from bedside.scoring.judging_orders import JudgingWork, chosen_codes, rubrics_of

        names = chosen_codes(codes)
        if names and rubrics is not None:
            raise InputError(
                "codes are given in place of rubrics", where="`codes`", todo="name codes or rubrics, not both"
            )
        if names or (deepeval and rubrics is None):
            return JudgingWork((), names, deepeval=deepeval)
        asked: tuple[Rubric, ...] = rubrics_of(self.suite.rubrics if rubrics is None else rubrics, self.run)
        return JudgingWork(asked, (), self.suite.name, from_suite=rubrics is None, deepeval=deepeval)

    def check_unscored(self, **scoring: object) -> None:
        """Raise InputError where something is said of scoring, and nothing is scored."""
        for name, value in scoring.items():
            if value is not None:
                raise InputError(
                    "a run that is there is judged, and not scored again",
                    where=f"`{name}`",
                    todo="leave it out, or give transcripts, and the run's folder with `out`",
                )

    def score(
        self,
        *,
        options: ReadOptions | None,
        text: bool,
        seed: int,
    ) -> ScoringSummary:
        """Have algorithms rate the transcripts, but what follows from the judges' answers."""
        from bedside.scoring.judging_orders import check_work_wordless
        from bedside.scoring.pipeline import metrics_from_labels
        from bedside.scoring.score import score

        assert self.transcripts is not None
        assert self.folder is not None
        if not text:
            check_work_wordless(self.work)
        names = frozenset(rubric.name for rubric in self.work.rubrics)
        return score(
            self.transcripts,
            self.folder,
            suite=self.suite,
            metrics=self.metrics,
            parameters=self.parameters,
            options=options,
            waiting=metrics_from_labels(names) if names else (),
            text=text,
            seed=seed,
        )

    def ask(
        self,
        scoring: ScoringSummary | None,
        options: ReadOptions | None,
        settings: JudgeSettings,
        progress: JudgingWatch | None,
    ) -> JudgedRun:
        """Have the judges rate the run."""
        from bedside.reports.judgements import judged_table
        from bedside.scoring.run_judging import judge_run

        run = self.run if scoring is None else scoring.run
        assert run is not None
        # What a run keeps is read faster than what it was made of.
        transcripts = None if run.keeps_text else self.transcripts
        judges = judge_run(
            run,
            transcripts,
            self.models,
            self.work,
            options=None if transcripts is None else options,
            settings=settings,
            progress=progress,
        )
        return JudgedRun(run, judges, judged_table(judges, self.work.rubrics), scoring)


def _names_run(source: object) -> bool:
    """Whether it is the path of a folder that holds a run."""
    return isinstance(source, str | os.PathLike) and is_run(source)
