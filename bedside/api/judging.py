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
from bedside.core.question_settings import JUDGES, option, question, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import RepeatedAsking, RubricChoice
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.counts import JudgingSummary
    from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
    from bedside.judges.llm.model_names import ModelName
    from bedside.judges.settings import JudgeSettings
    from bedside.ratings.run import Run
    from bedside.ratings.suites import Suite
    from bedside.reports.table import Table, Tables
    from bedside.scoring.judging_orders import JudgingWork
    from bedside.scoring.plan import ScoringSummary
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.read_options import ReadOptions


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


@settings_class
class JudgingSettings(RubricChoice, RepeatedAsking):
    """Have language models rate a run's transcripts by rubrics, or code their turns; their ratings join the run.

    Every judgement is kept in the run as soon as it is made: the same call again, after a stop or with more rubrics,
    asks only what isn't answered yet. It works where an event loop runs already, as in a notebook.
    """

    judges: Names = option(
        "Language models that rate: openai/MODEL, http://host:port/v1#MODEL …, or YAML files of addresses; "
        "addresses of one model share its requests.",
        "--judge", heading=JUDGES, metavar="MODEL", form="repeated", offers="judges", kw_only=False,
    )  # fmt: skip
    out: str | os.PathLike[str] | None = option(
        "Folder of the run that transcripts go into: new, or an existing run of the same transcripts.",
        default=None, heading=None,
    )  # fmt: skip
    codes: Names = option(
        "Behaviour codes that the judge gives to turns, in place of rubrics: question,reflection … or all.",
        default=(), heading=JUDGES, metavar="A,B", form="names", offers="codes",
    )  # fmt: skip
    expected: bool = option(
        "Rate the expected level too, from the probabilities of the answer's tokens.", default=False, heading=JUDGES
    )
    suite: str | Suite | None = option(
        "Suite whose rubrics, and with out metrics, are taken; that of the run unless named, else default.",
        default=None, heading=None,
    )  # fmt: skip
    metrics: Names | None = option(
        "With out, as for bedside.score. Of metrics that begin with deepeval: the judge takes care, of a run, too; "
        "unless rubrics or codes are named beside them, it rates by these alone.",
        default=None, heading=None,
    )  # fmt: skip
    parameters: Mapping[str, Mapping[str, Any]] | None = option(
        "With out, as for bedside.score; those of deepeval are the judge's.", default=None, heading=None
    )
    options: ReadOptions | None = option("With out, how the files are read.", default=None, heading=None)
    text: bool = option("With out, whether the run keeps the transcripts' text.", default=True, heading=None)
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(JudgingSettings, "A run (the object or its folder); or, with out, transcripts, which algorithms rate first.")
def judge(source: Run | TranscriptInput, settings: JudgingSettings) -> JudgedRun:
    """Raises:
    BedsideError: a name that is none, a run or file that can't be read (nothing is written then), or a judge that can't
        be asked; what it answered before is kept.
    """
    from bedside.judges.judgement_queue import judge_price
    from bedside.judges.llm.contract import check_models
    from bedside.judges.settings import judge_settings

    call = JudgingCall(source, settings)
    how = judge_settings(settings)
    scoring = None
    check_models(call.names)
    for name in call.names:
        judge_price(name, how, how.max_cost)
    if call.transcripts is None:
        call.check_unscored()
    else:
        scoring = call.score()
    return call.ask(scoring, how)


@question(JudgingSettings, "A run (the object or its folder); or, with out, transcripts, which algorithms rate first.")
def preview_judging(source: Run | TranscriptInput, settings: JudgingSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked or written: it says how many requests, tokens and dollars the same call of judge would take.

    Raises:
        BedsideError: a name that is none, or a run or file that can't be read.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.judges.settings import judge_settings
    from bedside.reports.judgements import plan_table
    from bedside.reports.table import Tables
    from bedside.scoring.preview import preview_judging as run_preview

    call = JudgingCall(source, settings, writes=False)
    how = judge_settings(settings)
    with tempfile.TemporaryDirectory() as nothing:
        plans = run_preview(
            call.folder or Path(nothing),
            call.transcripts,
            call.models,
            call.work,
            options=settings.options,
            settings=how,
        )
    lines = endpoint_lines(call.models, how.max_concurrency)
    return Tables([plan_table(plans, call.work.rubrics, lines)], plans)


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


def judging_work(
    settings: JudgingSettings, suite: Suite, deepeval: tuple[DeepevalMetric, ...] = (), run: Run | None = None
) -> JudgingWork:
    """What judges are asked: by the suite's rubrics unless rubrics or codes are named.

    Args:
        settings: the settings.
        suite: the suite.
        deepeval: metrics of deepeval; unless rubrics or codes are named beside them, judges rate by them alone.
        run: which may keep rubrics of the user's own.

    Raises:
        BedsideError: a name is none, or things are named of which one takes the place of the other.
    """
    from bedside.scoring.judging_orders import JudgingWork, chosen_codes, chosen_rubrics

    codes = chosen_codes(settings.codes)
    if codes and settings.rubrics is not None:
        raise InputError("codes are given in place of rubrics", where="`codes`", todo="name codes or rubrics, not both")
    if codes and settings.prompt_language not in (None, "en"):
        raise InputError(
            "behaviour codes are asked in English only",
            where="`prompt_language`",
            todo="leave it out, or name rubrics",
        )
    if codes or (deepeval and settings.rubrics is None):
        if settings.show:
            raise InputError("only rubrics are asked with it", where="`show`", todo="leave it out, or name rubrics")
        return JudgingWork((), codes, deepeval=deepeval)
    rubrics = chosen_rubrics(settings, run, suite.rubrics)
    return JudgingWork(rubrics, (), suite.name, from_suite=settings.rubrics is None, deepeval=deepeval)


class JudgingCall:
    """What is judged, and by what; names that are none stop here, before anything is written.

    Attributes:
        run: the run that is there; None where it is to be made.
        folder: the run's, there or not; None where none is named.
        transcripts: what is to be scored first; None where a run is judged as it is.
        settings: the settings.
        models: names of the judges.
        names: these, taken apart.
        suite: whose metrics and rubrics are taken.
        work: what is asked.
        metrics: those that algorithms compute; None for the suite's.
        parameters: of theirs.
    """

    def __init__(self, source: Run | TranscriptInput, settings: JudgingSettings, *, writes: bool = True) -> None:
        from bedside.judges.deepeval_raters.chosen_metrics import chosen_metrics, metrics_apart
        from bedside.ratings.run import Run

        self.settings = settings
        self.models, self.names = named_judges(settings.judges)
        self.run: Run | None = None
        self.transcripts: TranscriptInput | None = None
        self.folder = None if settings.out is None else Path(settings.out)
        if isinstance(source, Run) or _names_run(source):
            if settings.out is not None:
                raise InputError("a run is judged where it is", where="`out`", todo="leave it out, or give transcripts")
            self.run = open_run(source)  # type: ignore[arg-type]
            self.folder = self.run.path
        else:
            self._take(source, writes)
        self.suite = self._suite(settings.suite)
        self.metrics, of_deepeval = metrics_apart(listed(settings.metrics, "metrics"))
        self.parameters = dict(settings.parameters or {})
        own = self.parameters.pop("deepeval", {}) if of_deepeval else {}
        self.work = judging_work(
            settings, self.suite, chosen_metrics(of_deepeval, own) if of_deepeval else (), self.run
        )

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
            self.run = open_run(self.folder)
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

    def check_unscored(self) -> None:
        """Raise InputError where something is said of scoring, and nothing is scored."""
        for name, value in (
            ("metrics", self.metrics),
            ("parameters", self.parameters),
            ("options", self.settings.options),
        ):
            if value:
                raise InputError(
                    "a run that is there is judged, and not scored again",
                    where=f"`{name}`",
                    todo="leave it out, or give transcripts, and the run's folder with `out`",
                )

    def score(self) -> ScoringSummary:
        """Have algorithms rate the transcripts, but what follows from the judges' answers."""
        from bedside.scoring.judging_orders import check_work_wordless
        from bedside.scoring.pipeline import metrics_from_labels
        from bedside.scoring.score import score

        assert self.transcripts is not None
        assert self.folder is not None
        if not self.settings.text:
            check_work_wordless(self.work)
        names = frozenset(rubric.name for rubric in self.work.rubrics)
        return score(
            self.transcripts,
            self.folder,
            suite=self.suite,
            metrics=self.metrics,
            parameters=self.parameters,
            options=self.settings.options,
            waiting=metrics_from_labels(names) if names else (),
            text=self.settings.text,
            seed=self.settings.seed,
        )

    def ask(self, scoring: ScoringSummary | None, settings: JudgeSettings) -> JudgedRun:
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
            options=None if transcripts is None else self.settings.options,
            settings=settings,
            progress=self.settings.progress,
        )
        return JudgedRun(run, judges, judged_table(judges, self.work.rubrics), scoring)


def _names_run(source: object) -> bool:
    """Whether it is the path of a folder that holds a run."""
    return isinstance(source, str | os.PathLike) and is_run(source)
