"""Comparing conversations two by two from Python: language models say which of two is better by a rubric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bedside.api.judging import AskedRun, judge_settings, named_judges
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.words import Names
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.prompt import Order
    from bedside.ratings.run import Run
    from bedside.scoring.judging_orders import RubricNames
    from bedside.scoring.pair_judging import PairingWork
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


def judge_pairs(
    run: RunOrFolder,
    judges: Names,
    *,
    rubrics: RubricNames,
    systems: Names | None = None,
    pairs: int | None = None,
    passes: int = 1,
    temperature: float | None = 0.0,
    reasoning_effort: str | None = None,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_prompt_tokens: int | None = None,
    max_tokens: int = 4096,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
    progress: JudgingWatch | None = None,
) -> ComparedRun:
    """Have language models say which of two conversations is better, in both orders; their preferences join the run.

    Compared are conversations of two systems on one case. Of a preference, ``transcript_id`` is the conversation shown
    first, ``unit`` is ``pair:`` with the id of the one shown second, ``metric`` is ``<rubric>.preference``, ``label``
    is ``first``, ``second`` or ``tie``, and ``value`` the share of the win that the first one has: 1, 0 or 0.5. The
    same call again, after a stop or with more systems, asks only what isn't answered yet.

    Args:
        run: the run, or its folder.
        judges: models, as for :func:`bedside.judge`.
        rubrics: names, files or objects; rubrics that rate whole conversations on levels.
        systems: whose conversations are compared; those of all systems unless named.
        pairs: how many pairs at most, drawn so that every two systems are compared about equally often, and cases are
            used about equally often; of more pairs with the same seed, these are part.
        passes, temperature, reasoning_effort, max_concurrency, max_calls, max_cost, max_prompt_tokens, max_tokens,
            order, price: as for :func:`bedside.judge`.
        seed: of the draw of pairs, of random waits, and of sampling where the temperature isn't 0.
        progress: called with the judge and how far it is.

    Raises:
        BedsideError: a name that is none, a rubric by which conversations can't be compared, systems without a case in
            common, or a judge that can't be asked; what it answered before is kept.
    """
    from bedside.reports.judgements import judged_table
    from bedside.scoring.pair_judging import judge_run_pairs

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
        price=price,
        seed=seed,
    )
    opened, models, work = _compared(run, judges, rubrics, systems, pairs, seed)
    judged = judge_run_pairs(opened, models, work, settings=settings, progress=progress)
    table = judged_table(judged, work.rubrics, work.pairs.lines())
    return ComparedRun(opened, judged, table, work.pairs, tuple(rubric.name for rubric in work.rubrics))


def preview_pairs(
    run: RunOrFolder,
    judges: Names,
    *,
    rubrics: RubricNames,
    systems: Names | None = None,
    pairs: int | None = None,
    passes: int = 1,
    temperature: float | None = 0.0,
    reasoning_effort: str | None = None,
    max_concurrency: int = 8,
    max_prompt_tokens: int | None = None,
    max_tokens: int = 4096,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
) -> Tables[tuple[RubricPlan, ...]]:
    """What :func:`judge_pairs` with the same arguments would ask: requests, tokens, dollars. Nothing is asked.

    Args:
        run, judges, rubrics, systems, pairs, passes, temperature, reasoning_effort, max_concurrency,
            max_prompt_tokens, max_tokens, order, price, seed: as for :func:`judge_pairs`.

    Raises:
        BedsideError: as for :func:`judge_pairs`.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.reports.judgements import plan_table
    from bedside.scoring.pair_judging import preview_run_pairs

    settings = judge_settings(
        passes=passes,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        max_concurrency=max_concurrency,
        max_prompt_tokens=max_prompt_tokens,
        max_tokens=max_tokens,
        order=order,
        price=price,
        seed=seed,
    )
    opened, models, work = _compared(run, judges, rubrics, systems, pairs, seed)
    plans = preview_run_pairs(opened, models, work, settings=settings)
    lines = (*work.pairs.lines(), *endpoint_lines(models, settings.max_concurrency))
    return Tables([plan_table(plans, work.rubrics, lines)], plans)


def _compared(
    run: RunOrFolder,
    judges: Names,
    rubrics: RubricNames,
    systems: Names | None,
    pairs: int | None,
    seed: int,
) -> tuple[Run, list[str], PairingWork]:
    """The run, the judges' names, and what they compare; what is misspelt stops here."""
    from bedside.scoring.judging_orders import rubrics_of
    from bedside.scoring.pair_judging import PairingWork
    from bedside.scoring.transcript_pairs import paired_transcripts

    models, _ = named_judges(judges)
    opened = open_run(run)
    chosen = rubrics_of(rubrics, opened)
    return opened, models, PairingWork(paired_transcripts(opened, systems, most=pairs, seed=seed), chosen)
