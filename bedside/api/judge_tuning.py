"""Judges made better by people's ratings, from Python: a rubric is tuned for a judge."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bedside.api.judging import judge_settings
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import InputError
from bedside.core.words import Names, listed
from bedside.ratings.run import Run
from bedside.reports.table import Table, Tables

if TYPE_CHECKING:
    from bedside.analysis.ratings_view import RatingsView
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.prompt import Order
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.judges.settings import JudgeSettings
    from bedside.scoring.judged import JudgingWatch
    from bedside.tuning.label_split import LabelSplit
    from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome


@dataclass(frozen=True, slots=True, repr=False)
class TunedJudge:
    """What tuning a rubric for a judge came to.

    Attributes:
        rubric: the tuned rubric, with its history, to judge by; None where nothing that was tried did better in
            training.
        outcome: the split, the candidates, and the figures on what was held out.
        tables: the same as tables.
    """

    rubric: Rubric | None
    outcome: TuningOutcome
    tables: tuple[Table, ...]

    @property
    def shown(self) -> bool:
        """Whether the gain is shown on what was held out: its whole interval lies above 0."""
        return self.outcome.shown

    def __repr__(self) -> str:
        from bedside.reports.tuning import verdict

        return f"TunedJudge({self.outcome.rater}: {verdict(self.outcome)})"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables)


def tune_judge(
    run: RunOrFolder,
    judge: str,
    *,
    rubric: str | os.PathLike[str] | Rubric,
    split: float = 0.5,
    wordings: int = 4,
    examples: int = 3,
    budget: int | None = None,
    out: str | os.PathLike[str] | None = None,
    rounds: Names | None = None,
    temperature: float | None = 0.0,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_prompt_tokens: int | None = None,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
    progress: JudgingWatch | None = None,
) -> TunedJudge:
    """Tune a rubric for a judge by people's ratings: learnt from some cases, shown on the others.

    The judge rates the training units, proposes wordings from where it disagrees with people, and tries the best of
    them with examples that people rated; maps of levels are learnt. What agrees best with people in training rates the
    units that were held out, once, beside the rubric as it was: that alone is the result. Every judgement is kept in
    the run; the same call after a stop asks only what is missing.

    Args:
        run: the run, or its folder; people rated its transcripts by the rubric, and it keeps their text.
        judge: a model, as for :func:`bedside.judge`.
        rubric: its name or file, or the rubric; it asks for one level of a conversation or turn.
        split: the share of cases to learn from.
        wordings: how many wordings the judge proposes; 0 leaves the wording as it is.
        examples: how many examples are shown; 0 makes a rubric that holds no text of a transcript.
        budget: most judgements in all; fewer wordings are tried where it is small.
        out: the file for the tuned rubric, which ends in ``.yaml``; written whether or not a gain is shown, which it
            says. With examples it holds parts of transcripts.
        rounds: the rounds of annotation that count, as for :func:`bedside.agree`.
        temperature, max_concurrency, max_calls, max_cost, max_prompt_tokens, order, price, progress: as for
            :func:`bedside.judge`.
        seed: of the split and all other draws.

    Raises:
        BedsideError: there are too few ratings by people, which is said with how many are needed; a rubric that can't
            be tuned; a budget that is too small; or a judge that can't be asked. What it answered is kept.
    """
    from bedside.judges.llm.contract import check_models
    from bedside.reports.tuning import tuning_tables
    from bedside.tuning.tuned_judge import tune
    from bedside.tuning.tuned_rubric import check_rubric_file, with_history, write_tuned_rubric

    settings = judge_settings(
        temperature=temperature,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        max_prompt_tokens=max_prompt_tokens,
        order=order,
        price=price,
        seed=seed,
    )
    file = None if out is None else check_rubric_file(out)
    opened = open_run(run)
    asked = _ordered(
        judge, rubric, opened, settings, split, wordings=wordings, examples=examples, budget=budget
    )
    view, parts = _split_of(opened, asked, rounds)
    check_models([asked.judge])
    watch = None if progress is None else partial(progress, asked.judge.shown)
    with opened.locked():
        outcome = tune(opened, parts, asked, progress=watch)
    tuned = with_history(outcome, asked, view)
    if tuned is not None and file is not None:
        write_tuned_rubric(tuned, file)
    return TunedJudge(tuned, outcome, tuning_tables(outcome, asked.rubric.title))


def preview_tuning(
    run: RunOrFolder,
    judge: str,
    *,
    rubric: str | os.PathLike[str] | Rubric,
    split: float = 0.5,
    wordings: int = 4,
    examples: int = 3,
    budget: int | None = None,
    rounds: Names | None = None,
    temperature: float | None = 0.0,
    max_prompt_tokens: int | None = None,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
) -> Tables[tuple[RubricPlan, ...]]:
    """What :func:`tune_judge` with the same arguments would ask at most. Nothing is asked.

    Args:
        run, judge, rubric, split, wordings, examples, budget, rounds, temperature, max_prompt_tokens, order, price,
            seed: as for :func:`tune_judge`.

    Raises:
        BedsideError: as for :func:`tune_judge`.
    """
    from bedside.reports.judgements import plan_table
    from bedside.tuning.tuning_forecast import forecast

    settings = judge_settings(
        temperature=temperature, max_prompt_tokens=max_prompt_tokens, order=order, price=price, seed=seed
    )
    opened = open_run(run)
    asked = _ordered(
        judge, rubric, opened, settings, split, wordings=wordings, examples=examples, budget=budget
    )
    _, parts = _split_of(opened, asked, rounds)
    plans = forecast(opened, parts, asked)
    note = (
        f"At most: {len(parts.training):,} units to learn from, {len(parts.held_out):,} held out. Where no wording or "
        "example does better in training, less is asked."
    )
    return Tables([plan_table(plans, (), [note])], plans)


def _ordered(
    judge: str,
    rubric: str | os.PathLike[str] | Rubric,
    run: Run,
    settings: JudgeSettings,
    split: float,
    *,
    wordings: int,
    examples: int,
    budget: int | None,
) -> TuningOrder:
    """What is to be tuned, and how; what is misspelt stops here."""
    from bedside.judges.llm.endpoints import model_name
    from bedside.judges.settings import check_numbers
    from bedside.scoring.judging_orders import rubrics_of
    from bedside.tuning.tuned_judge import TuningOrder

    check_numbers(least=0, wordings=wordings, examples=examples)
    if budget is not None:
        check_numbers(budget=budget)
    chosen = rubrics_of(rubric, run)
    if len(chosen) != 1:
        raise InputError("one rubric is tuned at a time", where="`rubric`", todo="name one")
    return TuningOrder(
        judge=model_name(judge),
        rubric=chosen[0],
        settings=settings,
        share=split,
        wordings=wordings,
        examples=examples,
        budget=budget,
        seed=settings.seed,
    )


def _split_of(run: Run, order: TuningOrder, rounds: Names | None) -> tuple[RatingsView, LabelSplit]:
    """The run's ratings, and the two parts of what people rated."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.tuning.tuned_judge import prepared_split

    if not run.keeps_text:
        raise InputError(
            "the run keeps no text, so that nothing of it can be shown to a judge",
            where=str(run.path),
            todo="score into a run that keeps text, without `text=False`",
        )
    view = open_ratings_view(run, rounds=listed(rounds, "rounds"), one_kind=False)
    return view, prepared_split(view, order)
