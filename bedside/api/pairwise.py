"""Comparing conversations two by two from Python: language models say which of two is better by a rubric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bedside.api.judging import AskedRun, named_judges
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.question_settings import JUDGES, WHICH, option, question, settings_class
from bedside.core.words import Names
from bedside.judges.ask_settings import RepeatedAsking, RubricChoice, RubricNames

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.ratings.run import Run
    from bedside.reports.table import Tables
    from bedside.scoring.judging_orders import JudgingWork
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.scoring.transcript_pairs import PairedTranscripts


@dataclass(frozen=True, slots=True, repr=False)
class ComparedRun(AskedRun):
    """A run whose conversations judges compared.

    Attributes:
        run, judges, table: as of :class:`bedside.api.judging.AskedRun`.
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
class PairsSettings(RubricChoice, RepeatedAsking):
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
        "Rubrics to compare by: those that rate whole conversations on levels; bedside rubrics lists them.",
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
    from bedside.scoring.run_judging import judge_run

    opened, models, pairs, work = _compared(run, settings)
    judged = judge_run(opened, None, models, work, settings=judge_settings(settings), progress=settings.progress)
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
    from bedside.reports.table import Tables
    from bedside.scoring.preview import preview_judging

    how = judge_settings(settings)
    opened, models, pairs, work = _compared(run, settings)
    plans = preview_judging(opened.path, None, models, work, settings=how)
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
