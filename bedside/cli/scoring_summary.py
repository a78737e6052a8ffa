"""What is said of transcripts that were scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bedside.cli.json_output import show_records
from bedside.cli.option_names import in_options
from bedside.cli.output import note_account, say
from bedside.core.plurals import counted
from bedside.core.shell_words import typed
from bedside.ratings.run_folder import MANIFEST

if TYPE_CHECKING:
    from bedside.ratings.run import Run
    from bedside.scoring.one_process import ScoringSummary

#: How many reasons for missing ratings, transcripts that were skipped, and metrics of a reason are named.
_REASONS, _SKIPPED, _METRICS = 5, 20, 3


def say_scored(summary: ScoringSummary) -> None:
    """Say what was read, and what a scoring did."""

    note_account(summary.account.lines())
    transcripts, turns = counted(summary.transcripts, "transcript"), counted(summary.turns, "turn")
    ratings = counted(summary.ratings, "rating")
    say(
        f"Scored {transcripts} ({turns}) into {summary.run.path}: {ratings}, {summary.missing:,} of them missing."
    )
    if summary.resumed:
        say(f"Took {counted(summary.resumed, 'part')} over that had been scored before.")
    if summary.replaced:
        say(f"Replaced {counted(summary.replaced, 'rating')} that the run had.")
    if summary.missing:
        for reason, count, metrics in _reasons(summary.run.manifest["scorings"][-1]["missing"])[:_REASONS]:
            say(f"  missing {count:,}: {reason} ({metrics})")
    _say_warnings(summary.run)
    if summary.ignored:
        say(
            f"Left out {counted(summary.ignored, 'file')} that by the ending of the name can't be a transcript."
        )
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
