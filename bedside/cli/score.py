"""``bedside score``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.api.judging import judging_work, named_judges
from bedside.cli import completion as complete
from bedside.cli.engines import EngineOptions
from bedside.cli.judgements import say_batched, show_batch_files
from bedside.cli.judges import (
    BatchOutOption,
    DryRunOption,
    JuryOption,
    JuryRuleOption,
    LearnedRaterOption,
    ScoredJudging,
    ScoredJuries,
    check_learned_raters,
    check_no_judge_options,
    rate_with,
    read_scored_juries,
)
from bedside.cli.output import in_options, note, note_account, say, say_limit, show_records, show_tables
from bedside.cli.parsing import read_names, read_settings
from bedside.cli.progress import judging_progress, scoring_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.question_settings import OUTPUT, READING
from bedside.core.words import counted, listed, typed
from bedside.ratings.run_folder import MANIFEST
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.judges.deepeval_raters.chosen_metrics import DeepevalMetric
    from bedside.ratings.run import Run
    from bedside.ratings.suites import Suite
    from bedside.scoring.plan import ScoringSummary


# -- ``--trace``: spans of what a command does ----------------------------------------------------------

TraceOption = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="URL",
        help="Collector that spans of scoring and of judgements are sent to, by OTLP over HTTP. They hold names of "
        "models and rubrics, counts, tokens and costs, and no text.",
        rich_help_panel=OUTPUT,
    ),
]


@contextmanager
def trace_to(address: str | None) -> Iterator[None]:
    """Trace what is done in the block, where an address is given; a collector that is away stops nothing."""
    if address is None:
        yield
        return
    from bedside.core.tracing import traced

    with traced(address) as report:
        yield
    if report.lost:
        note(f"The collector did not take {counted(report.lost, 'span')}. What was scored is complete.")


# -- What is said of transcripts that were scored -------------------------------------------------------

#: How many reasons for missing ratings, transcripts that were skipped, and metrics of a reason are named.
_REASONS, _SKIPPED, _METRICS = 5, 20, 3


def say_scored(summary: ScoringSummary) -> None:
    """Say what was read, and what a scoring did."""

    note_account(summary.account.lines())
    transcripts, turns = counted(summary.transcripts, "transcript"), counted(summary.turns, "turn")
    ratings = counted(summary.ratings, "rating")
    say(f"Scored {transcripts} ({turns}) into {summary.run.path}: {ratings}, {summary.missing:,} of them missing.")
    if summary.resumed:
        say(f"Took {counted(summary.resumed, 'part')} over that had been scored before.")
    if summary.replaced:
        say(f"Replaced {counted(summary.replaced, 'rating')} that the run had.")
    if summary.missing:
        for reason, count, metrics in _reasons(summary.run.manifest["scorings"][-1]["missing"])[:_REASONS]:
            say(f"  missing {count:,}: {reason} ({metrics})")
    _say_warnings(summary.run)
    if summary.ignored:
        say(f"Left out {counted(summary.ignored, 'file')} that by the ending of the name can't be a transcript.")
    if summary.skipped:
        _say_skipped(summary)
    show_records(
        "scored",
        f"What was scored into {summary.run.path}",
        [
            {
                "run": str(summary.run.path),
                "transcripts": summary.transcripts,
                "turns": summary.turns,
                "ratings": summary.ratings,
                "missing": summary.missing,
                "resumed": summary.resumed,
                "replaced": summary.replaced,
                "ignored_files": summary.ignored,
                "skipped": summary.skipped,
            }
        ],
        notes=[in_options(reason) for reason in summary.reasons],
    )


def comparing_groups(run: Run) -> str:
    """The command that compares groups, to be said after others; empty where there are systems or no groups."""
    from bedside.analysis.selection import comparable_groups

    if run.index["system"].drop_nulls().n_unique() > 1:
        return ""
    groups = list(comparable_groups(run.factors, declared=run.declared_kinds))
    return f"; bedside compare {typed(run.path)} --groups {typed(groups[0])}" if groups else ""


def _say_warnings(run: Run) -> None:
    """Say what values warn of, and of how many transcripts."""
    from bedside.ratings.table import warnings_in

    warned = warnings_in(run.scan()).select("warning", "transcript_id").unique().collect()
    for warning, count in sorted(warned["warning"].value_counts().iter_rows()):
        say(f"Warning: {warning} ({counted(count, 'transcript')}).")


def _say_skipped(summary: ScoringSummary) -> None:
    say(f"{summary.skipped:,} skipped:")
    for reason in summary.reasons[:_SKIPPED]:
        say(f"  {in_options(reason)}")
    more = len(summary.reasons) - _SKIPPED
    if more > 0:
        say(f"  … and {more:,} more; all are in {summary.run.path / MANIFEST}")


def _reasons(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Missing ratings by reason: the reason, how many, and which metrics, most first."""
    from bedside.ratings.values import kinds_of_reasons

    counts: dict[str, int] = {}
    metrics: dict[str, list[str]] = {}
    for row in kinds_of_reasons(rows):
        counts[row["error"]] = counts.get(row["error"], 0) + row["n"]
        metrics.setdefault(row["error"], []).append(row["metric"])
    reasons = []
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        names = list(dict.fromkeys(metrics[reason]))
        more = f" and {counted(len(names) - _METRICS, 'more metric')}" if len(names) > _METRICS else ""
        reasons.append((reason, count, ", ".join(names[:_METRICS]) + more))
    return reasons


# -- ``bedside score`` ----------------------------------------------------------------------------------

ScoredFilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="Transcripts: files, folders or patterns, in any of the formats that bedside readers lists; or the folder "
        "of a simulation.",
    ),
]
RunFolderOption = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; a run that is there is added to."),
]
SuiteOption = Annotated[
    str | None,
    typer.Option(
        metavar="SUITE",
        help="What is scored: the name of a suite (bedside suites lists them), or your own suite file. Without it, the "
        "suite default; of the folder of a simulation, its protocol's.",
        autocompletion=complete.suites,
    ),
]
ScoredMetricsOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Metrics or families to score in place of the suite's; bedside metrics lists them. Those that begin with "
        "deepeval: ask the judge.",
        autocompletion=complete.metrics,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FAMILY.NAME=VALUE",
        help="A parameter of a family; bedside metrics show FAMILY lists them. May be repeated.",
    ),
]
NoTextOption = Annotated[
    bool,
    typer.Option("--no-text", help="Keep ids, factors and hashes in the run, but no text.", rich_help_panel=READING),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labels to score the suite {protocols} from, in place of a judge's answers; the suite's page in the "
        "documentation shows their form.",
        rich_help_panel=READING,
    ),
]


#: What parameters of deepeval's metrics begin with.
_DEEPEVAL = "deepeval"


@takes_settings
def score(
    files: ScoredFilesArgument,
    out: RunFolderOption = Path("run"),
    suite: SuiteOption = None,
    metrics: ScoredMetricsOption = None,
    set_: SetOption = None,
    *,
    judging: ScoredJudging,
    jury: JuryOption = None,
    jury_by: JuryRuleOption = "median",
    rater: LearnedRaterOption = None,
    batch_out: BatchOutOption = None,
    dry_run: DryRunOption = False,
    reading: ReadOptions,
    no_text: NoTextOption = False,
    labels: LabelsOption = None,
    sharing: EngineOptions,
    trace: TraceOption = None,
) -> None:
    """Score transcripts: algorithms rate them, and judges that you name.

    Only what a judge is asked leaves this machine, and it goes only to the judge that you name.

    Examples:
        $ bedside score talks/ --out run
        $ bedside score talks/ --path-fields '{system}/{case_id}' --out run
        $ bedside score talks/ --path-fields '{site}/{system}/{case_id}' --conditions site
        $ bedside score talks/ --suite calm-it --judge openai/gpt-5-mini --dry-run
        $ bedside score talks/ --metrics structure,smog --set readability.min_words=10
        $ bedside score talks/ --metrics deepeval:turn_relevancy --judge openai/gpt-5-mini --max-cost 5
    """
    from bedside.judges.deepeval_raters.chosen_metrics import chosen_metrics, metrics_apart
    from bedside.ratings.suites import SUITES

    computed, of_deepeval = metrics_apart(read_names(metrics))
    parameters = read_settings(set_ or [])
    deepeval_parameters = parameters.pop(_DEEPEVAL, {}) if of_deepeval else {}
    if of_deepeval and not judging.judges:
        raise InputError(
            "it asks a language model, and no judge is named", where=of_deepeval[0], todo="add --judge MODEL"
        )
    check_learned_raters(rater)
    call = _ScoringCall(
        files=files,
        out=out,
        suite=SUITES.find(suite or _usual_suite(files)),
        metrics=computed,
        parameters=parameters,
        reading=reading,
        labels=labels,
        raters=rater,
        text=not no_text,
        engine=sharing,
        seed=judging.seed,
    )
    models = listed(judging.judges, "judge")
    juries = read_scored_juries(jury, jury_by, models, codes=bool(judging.codes), batch=batch_out is not None)
    if not models:
        check_no_judge_options(judging, dry_run=dry_run, batch_out=batch_out)
        with trace_to(trace):
            call.without_judge()
        return
    deepeval = chosen_metrics(of_deepeval, deepeval_parameters) if of_deepeval else ()
    judged = _JudgedCall(call, judging, deepeval, batch_out, juries)
    with trace_to(trace):
        if dry_run:
            judged.preview()
        elif batch_out is not None:
            judged.write_batch()
        else:
            judged.ask()


def _usual_suite(files: list[str]) -> str:
    """The suite where none is named: that of the protocol whose simulations are scored, else the usual one."""
    from bedside.ratings.suites import SUITES
    from bedside.transcripts.simulation_folder import simulated_protocol

    protocol = simulated_protocol(files)
    if protocol is None or protocol not in SUITES:
        return "default"
    note(f"The suite is {protocol}, the protocol that was simulated.")
    return protocol


@dataclass(frozen=True, slots=True)
class _ScoringCall:
    """What is scored, and how."""

    files: list[str]
    out: Path
    suite: Suite
    metrics: list[str] | None
    parameters: dict[str, dict[str, Any]]
    reading: ReadOptions
    labels: Path | None
    raters: list[Path] | None
    text: bool
    engine: EngineOptions
    seed: int

    def without_judge(self) -> None:
        """Algorithms rate."""
        summary = self.score()
        say_scored(summary)
        run = typed(self.out)
        say(f"Next: bedside agree {run}; bedside report {run}{comparing_groups(summary.run)}")
        if self.suite.rubrics:
            say(
                f"The suite has {counted(len(self.suite.rubrics), 'rubric')} for a judge: add --judge MODEL "
                "(see docs/judges.md)."
            )

    def score(self, rubrics: frozenset[str] = frozenset()) -> ScoringSummary:
        """Have algorithms and learned raters rate, but what follows from a judge's answers by ``rubrics``."""
        summary = self._scored(rubrics)
        rate_with(self.out, self.raters, self.files, self.reading)
        return summary

    def _scored(self, rubrics: frozenset[str]) -> ScoringSummary:
        from bedside.scoring.pipeline import metrics_from_labels
        from bedside.scoring.score import score

        with self.engine.opened(self.out) as engine, scoring_progress() as progress:
            return score(
                self.files,
                self.out,
                suite=self.suite,
                metrics=self.metrics,
                parameters=self.parameters,
                options=self.reading,
                labels=self.labels,
                waiting=metrics_from_labels(rubrics) if rubrics else frozenset(),
                text=self.text,
                seed=self.seed,
                engine=engine,
                progress=progress,
            )


class _JudgedCall:
    """What is scored by algorithms and by judges; names that are none stop here, before anything is written."""

    def __init__(
        self,
        call: _ScoringCall,
        judging: ScoredJudging,
        deepeval: tuple[DeepevalMetric, ...],
        batch_out: Path | None,
        juries: ScoredJuries,
    ) -> None:
        from bedside.judges.llm.batch_files import check_batchable
        from bedside.judges.settings import judge_settings
        from bedside.scoring.judging_batches import check_batch_work
        from bedside.scoring.judging_orders import check_work_wordless
        from bedside.scoring.judging_workers import check_apart

        if call.labels is not None:
            raise InputError(
                "labels take the place of a judge's answers", where="--labels", todo="name labels or a judge"
            )
        self.call = call
        self.models, names = named_judges(judging.judges)
        self.work = judging_work(judging, call.suite, deepeval)
        self.settings = judge_settings(judging)
        self.batch_out = batch_out
        self.juries = juries
        if batch_out is not None:
            for name in names:
                check_batchable(name)
            check_batch_work(self.work)
        if not call.text:
            check_work_wordless(self.work)
        if call.engine.engine is not None and batch_out is None:
            check_apart(self.settings, text=call.text)

    def preview(self) -> None:
        """Print what was read and what judges would be asked; write nothing."""
        from bedside.judges.raters import endpoint_lines
        from bedside.reports.judgements import plan_table
        from bedside.scoring.preview import preview_judging
        from bedside.transcripts.reading import read_account

        note_account(read_account(self.call.files, self.call.reading).lines())
        plans = preview_judging(
            self.call.out,
            self.call.files,
            self.models,
            self.work,
            options=self.call.reading,
            settings=self.settings,
        )
        endpoints = endpoint_lines(self.models, self.settings.max_concurrency)
        show_tables([plan_table(plans, self.work.rubrics, endpoints)])

    def write_batch(self) -> None:
        """Have algorithms rate, and write a judge's calls to a file."""
        from bedside.scoring.judging_batches import write_batch

        assert self.batch_out is not None
        summary = self._scored()
        with judging_progress() as progress:
            batched = write_batch(
                summary.run, self.models, self.work, self.batch_out, settings=self.settings, progress=progress
            )
        say_batched(batched, self.call.out)
        show_batch_files(batched.files)

    def ask(self) -> None:
        """Have algorithms rate, then judges."""
        from bedside.judges.counts import spent
        from bedside.judges.judgement_queue import judge_price
        from bedside.judges.llm.contract import check_models
        from bedside.judges.llm.endpoints import named_models
        from bedside.reports.judgements import judged_table

        names = named_models(self.models)
        if self.call.engine.engine is None:  # an engine's workers have keys of their own
            check_models(names)
        for name in names:
            judge_price(name, self.settings, self.settings.max_cost)
        summary = self._scored()
        judged = self._judged(summary)
        tables = [judged_table(judged, self.work.rubrics), *self.juries.add(self.call.out)]
        show_tables(tables)
        if not all(judging.complete for judging in judged):
            say_limit(spent(judged), self.settings.max_cost, say)
            say("Not everything was answered: the same command asks what is missing.")
        out = self.call.out
        run = typed(out)
        say(f"Next: bedside agree {run}; bedside validate {run}; bedside report {run}")

    def _scored(self) -> ScoringSummary:
        summary = self.call.score(frozenset(rubric.name for rubric in self.work.rubrics))
        say_scored(summary)
        return summary

    def _judged(self, summary: ScoringSummary) -> Any:
        from bedside.scoring.judging_workers import judge_apart
        from bedside.scoring.run_judging import judge_run

        call = self.call
        with call.engine.opened(call.out) as engine, judging_progress() as progress:
            if engine is None:
                return judge_run(
                    summary.run,
                    call.files,
                    self.models,
                    self.work,
                    options=call.reading,
                    settings=self.settings,
                    progress=progress,
                )
            return judge_apart(summary.run, self.models, self.work, engine, settings=self.settings, progress=progress)
