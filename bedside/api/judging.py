"""Judging from Python: language models rate conversations, or compare them two by two; what they were asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import InputError, RunError, one_of
from bedside.core.question_settings import ARGUMENTS, JUDGES, OPTIONS, WHICH, option, question, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import STATES, BatchAsking, RubricChoice, RubricNames, State
from bedside.ratings.run_folder import is_run
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.core.engines.contract import Engine
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.counts import JudgingSummary
    from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
    from bedside.judges.llm.model_names import ModelName
    from bedside.ratings.run import Run
    from bedside.ratings.suites import Suite
    from bedside.reports.table import Table
    from bedside.scoring.judging_batches import BatchOutcome
    from bedside.scoring.judging_orders import JudgingWork
    from bedside.scoring.merged_runs import MergedRun
    from bedside.scoring.plan import ScoringSummary
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.scoring.transcript_pairs import PairedTranscripts
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.read_options import ReadOptions
    from bedside.transcripts.reading import Paths


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
class JudgingSettings(RubricChoice, BatchAsking):
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
    call = JudgingCall(source, settings)
    call.check_askable()
    if call.transcripts is None:
        call.check_unscored()
    return call.ask(None if call.transcripts is None else call.score(), progress=settings.progress)


@question(JudgingSettings, "A run (the object or its folder); or, with out, transcripts, which algorithms rate first.")
def preview_judging(source: Run | TranscriptInput, settings: JudgingSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked or written: it says how many requests, tokens and dollars the same call of judge would take.

    Raises:
        BedsideError: a name that is none, or a run or file that can't be read.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.reports.judgements import plan_table
    from bedside.scoring.preview import preview_judging as run_preview

    call = JudgingCall(source, settings, writes=False)
    with tempfile.TemporaryDirectory() as nothing:
        plans = run_preview(
            call.folder or Path(nothing),
            call.transcripts,
            call.models,
            call.work,
            options=settings.options,
            settings=call.how,
            batch=settings.batch,
        )
    lines = endpoint_lines(call.models, call.how.max_concurrency)
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
            "behaviour codes are asked in English only", where="`prompt_language`", todo="leave it out, or name rubrics"
        )
    if codes or (deepeval and settings.rubrics is None):
        if settings.show:
            raise InputError("only rubrics are asked with it", where="`show`", todo="leave it out, or name rubrics")
        return JudgingWork((), codes, deepeval=deepeval)
    rubrics = chosen_rubrics(settings, run, suite.rubrics)
    return JudgingWork(rubrics, (), suite, from_suite=settings.rubrics is None, deepeval=deepeval)


class JudgingCall:
    """What is judged, and by what; names that are none stop here, before anything is written.

    Attributes:
        run: the run that is there; None where it is to be made.
        folder: the run's, there or not; None where none is named.
        transcripts: what is to be scored first; None where a run is judged as it is.
        settings: the settings.
        how: how the judges are asked.
        models: names of the judges.
        names: these, taken apart.
        suite: whose metrics and rubrics are taken.
        work: what is asked.
        metrics: those that algorithms compute; None for the suite's.
        parameters: of theirs.
    """

    def __init__(self, source: Run | TranscriptInput, settings: JudgingSettings, *, writes: bool = True) -> None:
        from bedside.judges.deepeval_raters.catalogue import metrics_apart
        from bedside.judges.settings import judge_settings
        from bedside.ratings.run import Run

        self.settings = settings
        self.how = judge_settings(settings)
        self.models, self.names = named_judges(settings.judges)
        self.run: Run | None = None
        self.transcripts: TranscriptInput | None = None
        self.folder = None if settings.out is None else Path(settings.out)
        if isinstance(source, Run) or (isinstance(source, str | os.PathLike) and is_run(source)):
            if settings.out is not None:
                raise InputError("a run is judged where it is", where="`out`", todo="leave it out, or give transcripts")
            self.run = open_run(source)
            self.folder = self.run.path
        else:
            self._take(source, writes)
        self.suite = self._suite(settings.suite)
        self.metrics, of_deepeval = metrics_apart(listed(settings.metrics, "metrics"))
        self.parameters = dict(settings.parameters or {})
        own = self.parameters.pop("deepeval", {}) if of_deepeval else {}
        chosen: tuple[DeepevalMetric, ...] = ()
        if of_deepeval:
            from bedside.judges.deepeval_raters.chosen_metrics import chosen_metrics

            chosen = chosen_metrics(of_deepeval, own)
        self.work = judging_work(settings, self.suite, chosen, self.run)

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

    def check_askable(self) -> None:
        """Refuse judges that aren't set up, or whose price isn't known where costs are limited.

        Raises:
            BedsideError: there is one.
        """
        from bedside.judges.llm.contract import check_models

        check_models(self.names)
        self.check_prices()
        if self.settings.batch:
            from bedside.judges.llm.contract import open_batches
            from bedside.scoring.judging_batches import check_batch_work

            check_batch_work(self.work)
            for name in self.names:
                open_batches(name)

    def check_prices(self) -> None:
        """Refuse judges whose price isn't known where costs are limited.

        Raises:
            BedsideError: there is one.
        """
        from bedside.judges.judgement_queue import judge_price

        for name in self.names:
            judge_price(name, self.how, self.how.max_cost)

    def score(self, engine: Engine | None = None, progress: Callable[[int, int], None] | None = None) -> ScoringSummary:
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
            engine=engine,
            progress=progress,
        )

    def ask(
        self, scoring: ScoringSummary | None, engine: Engine | None = None, progress: JudgingWatch | None = None
    ) -> JudgedRun:
        """Have the judges rate the run, by an engine's workers where there is one."""
        from bedside.reports.judgements import judged_table
        from bedside.scoring.judging_batches import judge_by_batch
        from bedside.scoring.judging_workers import judge_apart
        from bedside.scoring.run_judging import judge_run

        run = self.run if scoring is None else scoring.run
        assert run is not None
        if self.settings.batch:
            judges = judge_by_batch(run, self.models, self.work, settings=self.how, progress=progress)
        elif engine is not None:
            judges = judge_apart(run, self.models, self.work, engine, settings=self.how, progress=progress)
        else:
            # What a run keeps is read faster than what it was made of.
            transcripts = None if run.keeps_text else self.transcripts
            options = None if transcripts is None else self.settings.options
            judges = judge_run(
                run, transcripts, self.models, self.work, options=options, settings=self.how, progress=progress
            )
        return JudgedRun(run, judges, judged_table(judges, self.work.rubrics), scoring)

    def check_batch(self) -> None:
        """Refuse what can't be asked by a service that answers batches.

        Raises:
            InputError: a judge, or what it is asked.
        """
        from bedside.judges.llm.batch_files import check_batchable
        from bedside.scoring.judging_batches import check_batch_work

        for name in self.names:
            check_batchable(name)
        check_batch_work(self.work)

    def write_batch(
        self, scoring: ScoringSummary, out: str | os.PathLike[str], progress: JudgingWatch | None = None
    ) -> BatchOutcome:
        """Write what the judges would be asked of the run to a file, for a service that answers batches."""
        from bedside.scoring.judging_batches import write_batch

        return write_batch(scoring.run, self.models, self.work, Path(out), settings=self.how, progress=progress)


# -- Conversations compared two by two ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class ComparedRun(AskedRun):
    """A run whose conversations judges compared.

    Attributes:
        run, judges, table: as of :class:`AskedRun`.
        pairs: what was compared, and what has no counterpart.
        rubrics: by what, by name.
    """

    pairs: PairedTranscripts
    rubrics: tuple[str, ...]

    def __repr__(self) -> str:
        rest = "" if self.complete else "; not everything was answered"
        names = ", ".join(judge.rater for judge in self.judges)
        return f"ComparedRun({self.run!r}, {len(self.pairs.pairs):,} pairs compared by {names}{rest})"


@settings_class
class PairsSettings(RubricChoice, BatchAsking):
    """Have judges say which of two conversations on one case is better, in both orders.

    Every two systems are compared on every case that both have; ties are allowed. The same command again asks only what
    is missing.

    Examples:
        $ bedside judge pairs run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge pairs run --systems A,B --rubric empathy --judge openai/gpt-5-mini
    """

    judges: Names = option(
        "Language models that compare: openai/MODEL, http://host:port/v1#MODEL …, or YAML files of addresses.",
        "--judge", heading=JUDGES, metavar="MODEL", form="repeated", offers="judges", kw_only=False,
    )  # fmt: skip
    rubrics: RubricNames = option(
        "Rubrics to compare by: those that rate whole conversations on levels; bedside list rubrics lists them.",
        "--rubrics", "--rubric", heading=JUDGES, metavar="A,B", form="names", offers="rubrics",
    )  # fmt: skip
    systems: Names | None = option(
        "Systems whose conversations are compared; all of the run's unless named.",
        default=None, heading=WHICH, metavar="A,B", form="names",
    )  # fmt: skip
    pairs: int | None = option(
        "Most pairs of conversations, drawn so that every two systems are compared about equally often and cases are "
        "used about equally often. A larger number with the same seed adds to what was asked.",
        default=None, heading=WHICH, metavar="NUMBER",
    )  # fmt: skip
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(PairsSettings, "The run, or its folder.")
def judge_pairs(run: RunOrFolder, settings: PairsSettings) -> ComparedRun:
    """Of a preference, ``transcript_id`` is the conversation shown first, and ``unit`` is ``pair:`` with the id of the
    one shown second. ``metric`` is ``<rubric>.preference``, ``label`` is ``first``, ``second`` or ``tie``. ``value``
    is the share of the win that the first one has: 1, 0 or 0.5.

    Raises:
        BedsideError: a name that is none, a rubric by which conversations can't be compared, systems without a case in
            common, or a judge that can't be asked; what it answered before is kept.
    """
    from bedside.judges.settings import judge_settings
    from bedside.reports.judgements import judged_table
    from bedside.scoring.judging_batches import judge_by_batch
    from bedside.scoring.run_judging import judge_run

    how, progress = judge_settings(settings), settings.progress
    opened, models, pairs, work = _compared(run, settings)
    if settings.batch:
        judged = judge_by_batch(opened, models, work, settings=how, progress=progress)
    else:
        judged = judge_run(opened, None, models, work, settings=how, progress=progress)
    table = judged_table(judged, work.rubrics, pairs.lines())
    return ComparedRun(opened, judged, table, pairs, tuple(rubric.name for rubric in work.rubrics))


@question(PairsSettings, "The run, or its folder.")
def preview_pairs(run: RunOrFolder, settings: PairsSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked: it says how many requests, tokens and dollars the same call of judge_pairs would take.

    Raises:
        BedsideError: as for :func:`judge_pairs`.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.judges.settings import judge_settings
    from bedside.reports.judgements import plan_table
    from bedside.scoring.preview import preview_judging as preview

    how = judge_settings(settings)
    opened, models, pairs, work = _compared(run, settings)
    plans = preview(opened.path, None, models, work, settings=how, batch=settings.batch)
    lines = (*pairs.lines(), *endpoint_lines(models, how.max_concurrency))
    return Tables([plan_table(plans, work.rubrics, lines)], plans)


def _compared(run: RunOrFolder, settings: PairsSettings) -> tuple[Run, list[str], PairedTranscripts, JudgingWork]:
    """The run, the judges' names, and what they compare; what is misspelt stops here."""
    from bedside.scoring.judging_orders import JudgingWork, chosen_rubrics
    from bedside.scoring.transcript_pairs import paired_transcripts

    models, _ = named_judges(settings.judges)
    opened = open_run(run)
    chosen = chosen_rubrics(settings, opened)
    pairs = paired_transcripts(opened, settings.systems, most=settings.pairs, seed=settings.seed)
    return opened, models, pairs, JudgingWork(chosen, pairs=pairs)


# -- What judges were asked and replied -----------------------------------------------------------------


@settings_class
class JudgementsSettings:
    """List the judgements kept in a run.

    Examples:
        $ bedside judge answers list run --rubric empathy --state unusable
    """

    rubric: str | None = option(
        "List only the judgements by this rubric.", default=None, heading=OPTIONS, metavar="NAME", offers="rubric"
    )
    transcript: str | None = option(
        "List only the judgements about this transcript.", default=None, heading=OPTIONS, metavar="ID"
    )
    state: State | None = option(
        "List only the judgements of this state: answered, unusable (the reply could not be read), refused (by the "
        "judge), filtered (by the provider's content filter) or failed (there was no reply).",
        default=None, heading=OPTIONS, metavar="NAME",
    )  # fmt: skip


@question(JudgementsSettings, "The run, or its folder.")
def judgements(run: RunOrFolder, settings: JudgementsSettings) -> Tables[None]:
    """Raises:
    BedsideError: no such run or state, or a run without judgements.
    """
    from bedside.reports.judgements import judgements_table

    if settings.state is not None:
        one_of(settings.state, STATES, "choice", InputError, where="`state`")
    path = open_run(run).path
    shown = {name: getattr(settings, name) for name in ("rubric", "transcript", "state")}
    return Tables([judgements_table(path, **shown)], None)


def judgement(run: RunOrFolder, key: str) -> str:
    """Show one judgement: what was asked, what was replied, and the rating that came of it.

    Args:
        run: the run, or its folder.
        key: the first digits of its key.

    Raises:
        BedsideError: no such run, or not one judgement that has such a key.
    """
    from bedside.reports.judgements import judgement_text

    return judgement_text(open_run(run).path, key)


def judge_passes(run: RunOrFolder) -> Tables[None]:
    """Show how far a judge's passes spread and agree, and what they come to.

    Args:
        run: the run, or its folder.

    Raises:
        BedsideError: no such run, or no judge that was asked more than once.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.study_parts import ALL_ROUNDS
    from bedside.reports.judgements import passes_table

    # What people rated isn't looked at, nor what the systems are like.
    return Tables([passes_table(open_ratings_view(run, rounds=[ALL_ROUNDS], one_kind=False))], None)


_JUDGING: Any = option("Called with the judge and how far it is.", default=None, heading=None)


@settings_class
class ImportJudgementsSettings:
    """Read a service's answers to a batch of calls, and make the ratings.

    The calls are those that bedside score --batch-out wrote.

    Examples:
        $ bedside judge answers import run answers.jsonl
    """

    files: Paths = option(
        "Files of the service's answers and errors.",
        heading=ARGUMENTS, metavar="FILES", form="repeated", kw_only=False,
    )  # fmt: skip
    batch_out: str | os.PathLike[str] | None = option(
        "JSONL file to write the calls that remain to.", default=None, heading=OPTIONS, metavar="FILE", form="path"
    )
    progress: JudgingWatch | None = _JUDGING


@question(ImportJudgementsSettings, "The run, or its folder.")
def import_judgements(run: RunOrFolder, settings: ImportJudgementsSettings) -> Tables[BatchOutcome]:
    """Raises:
    BedsideError: no such run or file, nothing was exported from the run, or the answers are to another's calls.
    """
    return _read_batch(run, _paths(settings.files), settings.batch_out, settings.progress)


@settings_class
class ExportJudgementsSettings:
    """Write the calls that remain of a batch.

    Examples:
        $ bedside judge answers export run calls.jsonl
    """

    file: str | os.PathLike[str] = option(
        "JSONL file to write the calls to; where they don't fit in one, several files are written.",
        heading=ARGUMENTS, metavar="FILE", form="path", kw_only=False,
    )  # fmt: skip
    progress: JudgingWatch | None = _JUDGING


@question(ExportJudgementsSettings, "The run, or its folder.")
def export_judgements(run: RunOrFolder, settings: ExportJudgementsSettings) -> Tables[BatchOutcome]:
    """Raises:
    BedsideError: no such run, or nothing was exported from it before.
    """
    return _read_batch(run, [], settings.file, settings.progress)


def _read_batch(
    run: RunOrFolder, files: list[Path], out: str | os.PathLike[str] | None, progress: JudgingWatch | None
) -> Tables[BatchOutcome]:
    from bedside.judges.rubrics.rubric_files import own_rubrics
    from bedside.reports.judgements import judged_table
    from bedside.scoring.judging_batches import read_batch

    opened = open_run(run)
    batched = read_batch(opened, files, None if out is None else Path(out), progress=progress)
    return Tables([judged_table(batched.judged, own_rubrics(opened).values())] if files else [], batched)


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


@settings_class
class MergeJudgementsSettings:
    """Take over what was judged elsewhere, such as on other machines, and make the ratings.

    An answer that stands in several runs counts once. Of two different answers to one question, the one that was asked
    first counts.

    Examples:
        $ bedside judge answers merge run part-1 part-2 part-3
    """

    others: Paths = option(
        "Runs that were judged elsewhere, or their judgements.sqlite files.",
        heading=ARGUMENTS, metavar="OTHERS", form="repeated", kw_only=False,
    )  # fmt: skip
    progress: JudgingWatch | None = _JUDGING


@question(MergeJudgementsSettings, "The run, or its folder.")
def merge_judgements(run: RunOrFolder, settings: MergeJudgementsSettings) -> Tables[MergedRun]:
    """Raises:
    BedsideError: no such run, or a source that is none.
    """
    from bedside.judges.rubrics.rubric_files import own_rubrics
    from bedside.reports.judgements import judged_table
    from bedside.scoring.merged_runs import merge_judgements as merge

    opened = open_run(run)
    merged = merge(opened, _paths(settings.others), progress=settings.progress)
    return Tables([judged_table(merged.judged, own_rubrics(opened).values())] if merged.judged else [], merged)
