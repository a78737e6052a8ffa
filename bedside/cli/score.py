"""``bedside score``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.api.judging import JudgingCall, preview_judging
from bedside.cli.engines import EngineOptions
from bedside.cli.judgements import batches_left, say_batched, show_batch_files
from bedside.cli.judges import BesideScoring, JudgedTogether, ScoredJudging, ScoredJuries, check_no_judge_options
from bedside.cli.output import (
    comparing_groups,
    in_options,
    note,
    note_account,
    say,
    say_limit,
    show_records,
    show_tables,
)
from bedside.cli.progress import judging_progress, scoring_progress
from bedside.cli.settings_options import takes_settings_with
from bedside.core.errors import BedsideError, InputError
from bedside.core.words import counted, listed, typed
from bedside.ratings.run_folder import MANIFEST
from bedside.scoring.score_settings import ScoreSettings
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.ratings.run import Run
    from bedside.reports.table import Table
    from bedside.scoring.plan import ScoringSummary

# -- What is said of transcripts that were scored -------------------------------------------------------


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


#: How many reasons for missing ratings, transcripts that were skipped, and metrics of a reason are named.
_REASONS, _SKIPPED, _METRICS = 3, 20, 1


def say_scored(summary: ScoringSummary) -> None:
    """Say what was read, and what a scoring did."""

    note_account(summary.account.brief_lines())
    transcripts, turns = counted(summary.transcripts, "transcript"), counted(summary.turns, "turn")
    ratings = counted(summary.ratings, "rating")
    say(f"Scored {transcripts} ({turns}) into {summary.run.path}: {ratings}, {summary.missing:,} of them missing.")
    if summary.resumed:
        say(f"Took {counted(summary.resumed, 'part')} over that had been scored before.")
    if summary.replaced:
        say(f"Replaced {counted(summary.replaced, 'rating')} that the run had.")
    if summary.missing:
        reasons = _reasons(summary.run.manifest["scorings"][-1]["missing"])
        for reason, count, metrics in reasons[:_REASONS]:
            say(f"  missing {count:,}: {reason} ({metrics})")
        if len(reasons) > _REASONS:
            say(f"  {counted(len(reasons) - _REASONS, 'more reason')}: bedside report {typed(summary.run.path)}")
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


#: To show means reads all ratings at once; scoring doesn't, however many there are.
_MOST_RATINGS = 3_000_000


def _first_measures(run: Run, *, judged: bool = False) -> list[Table]:
    """The table of what was scored, none where nothing has a number; why it can't be made is said instead.

    Args:
        run: the run.
        judged: whether what judges rated comes first.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.reports.first_measures import first_measures

    ratings = sum(run.contents.ratings.values())
    if ratings > _MOST_RATINGS:
        say(f"No means are shown of {ratings:,} ratings, which would be read at once: bedside report shows them.")
        return []
    try:
        table = first_measures(open_ratings_view(run), judged=judged)
    except BedsideError as error:  # the scoring itself is complete
        say(f"No means are shown: {in_options(str(error))}")
        return []
    return [] if table is None else [table]


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
        help="Transcripts: files, folders or patterns, in any format of bedside list readers; or the folder of "
        "a simulation.",
    ),
]


@takes_settings_with(out=Path("run"), suite=None)
def score(
    files: ScoredFilesArgument,
    judging: ScoredJudging,
    together: JudgedTogether,
    reading: ReadOptions,
    settings: ScoreSettings,
    sharing: EngineOptions,
    beside: BesideScoring,
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
    from bedside.judges.deepeval_raters.catalogue import metrics_apart
    from bedside.ratings.suites import SUITES
    from bedside.transcripts.reading import read_account

    _, of_deepeval = metrics_apart(listed(settings.metrics, "metrics"))
    if of_deepeval and not judging.judges:
        raise InputError(
            "it asks a language model, and no judge is named", where=of_deepeval[0], todo="add --judge MODEL"
        )
    beside.check_learned_raters()
    suite = SUITES.find(str(settings.suite or _usual_suite(files)))
    settings = replace(settings, suite=suite, options=reading, seed=judging.seed)
    juries = together.read_juries(judging)
    if not judging.judges:
        check_no_judge_options(judging, dry_run=together.dry_run, batch_out=together.batch_out)
        with trace_to(beside.trace):
            _score_alone(files, settings, beside, sharing)
        return
    if judging.batch and (together.batch_out is not None or sharing.engine is not None):
        what = "calls go by the provider's batches or in another way"
        raise InputError(what, where="`batch`", todo="leave it out, or `batch_out` and `engine`")
    call = _judging_call(files, settings, judging)
    if together.batch_out is not None:
        from bedside.judges.settings import refuse_limits

        refuse_limits(judging, "batch_out")
        call.check_batch()
    elif sharing.engine is not None:
        from bedside.scoring.judging_workers import check_apart

        check_apart(call.how, text=settings.text)
    with trace_to(beside.trace):
        if together.dry_run:
            note_account(read_account(files, reading).lines())
            show_tables(preview_judging.with_settings(files, call.settings))
        elif together.batch_out is not None:
            _write_batch(call, files, together.batch_out, beside, sharing)
        else:
            _ask(call, files, beside, juries, sharing)


def _usual_suite(files: list[str]) -> str:
    """The suite where none is named: that of the protocol whose simulations are scored, else the usual one."""
    from bedside.ratings.suites import SUITES
    from bedside.transcripts.simulation_folder import simulated_suite

    suite = simulated_suite(files)
    if suite is None or not (suite in SUITES or suite.endswith(SUITES.suffix)):
        return "default"
    note(f"The suite is {suite}, of the protocol that was simulated.")
    return suite


def _score_alone(files: list[str], settings: ScoreSettings, beside: BesideScoring, sharing: EngineOptions) -> None:
    """Algorithms rate, and learned raters."""
    from bedside.ratings.suites import Suite
    from bedside.scoring.score import score as score_transcripts

    out = Path(settings.out)
    with sharing.opened(out) as engine, scoring_progress() as progress:
        summary = score_transcripts.with_settings(files, replace(settings, engine=engine, progress=progress))
    beside.rate(out, files, settings.options)
    say_scored(summary)
    show_tables(_first_measures(summary.run))
    assert isinstance(settings.suite, Suite)
    if settings.suite.rubrics:
        say(
            f"The suite has {counted(len(settings.suite.rubrics), 'rubric')} for a judge: add --judge MODEL "
            "(see docs/judges.md)."
        )
    run = typed(out)
    commands = (f"bedside agree {run}", f"bedside report {run}", comparing_groups(summary.run))
    say(f"Next: {'; '.join(filter(None, commands))}")


def _judging_call(files: list[str], settings: ScoreSettings, judging: ScoredJudging) -> JudgingCall:
    """What is scored and judged; names that are none stop here, before anything is written."""
    from bedside.scoring.judging_orders import check_work_wordless

    if settings.labels is not None:
        raise InputError("labels take the place of a judge's answers", where="--labels", todo="name labels or a judge")
    of_scoring = {
        name: getattr(settings, name) for name in ("out", "suite", "metrics", "parameters", "options", "text")
    }
    call = JudgingCall(files, replace(judging, **of_scoring))
    if not settings.text:
        check_work_wordless(call.work)
    return call


def _scored(call: JudgingCall, files: list[str], beside: BesideScoring, sharing: EngineOptions) -> ScoringSummary:
    """Have algorithms and learned raters rate, but what follows from a judge's answers."""
    out = Path(str(call.folder))
    with sharing.opened(out) as engine, scoring_progress() as progress:
        summary = call.score(engine, progress)
    beside.rate(out, files, call.settings.options)
    say_scored(summary)
    return summary


def _write_batch(
    call: JudgingCall, files: list[str], out: str | os.PathLike[str], beside: BesideScoring, sharing: EngineOptions
) -> None:
    """Have algorithms rate, and write a judge's calls to a file."""
    summary = _scored(call, files, beside, sharing)
    with judging_progress() as progress:
        batched = call.write_batch(summary, out, progress)
    say_batched(batched, summary.run.path)
    show_batch_files(batched.files)


def _ask(
    call: JudgingCall, files: list[str], beside: BesideScoring, juries: ScoredJuries, sharing: EngineOptions
) -> None:
    """Have algorithms rate, then judges."""
    from bedside.judges.counts import spent

    if sharing.engine is None:  # an engine's workers have keys of their own
        call.check_askable()
    else:
        call.check_prices()
    summary = _scored(call, files, beside, sharing)
    out = summary.run.path
    left = batches_left(out, call.settings.batch, lambda: preview_judging.with_settings(files, call.settings))
    with left, sharing.opened(out) as engine, judging_progress() as progress:
        judged = call.ask(summary, engine, progress)
    show_tables([judged.table, *juries.add(out), *_first_measures(summary.run, judged=True)])
    if not judged.complete:
        say_limit(spent(judged.judges), call.how.max_cost, say)
        say("Not everything was answered: the same command asks what is missing.")
    run = typed(out)
    say(f"Next: bedside agree {run}; bedside validate {run}; bedside report {run}")
