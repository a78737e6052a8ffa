"""Tables of a learned rater: how well it agrees with people, and the judges that should beat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bedside.core.words import counted
from bedside.reports.juries import gain_record, measure_notes
from bedside.reports.number_text import DASH, decimal, number
from bedside.reports.result_text import bounded_record, plain_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result
from bedside.tuning.rater_training import LearnedRaterTrial


def trial_tables(trials: Sequence[LearnedRaterTrial]) -> tuple[Table, ...]:
    """Learned raters beside people; and each judge beside the learned rater, where judges rated too."""
    tables = [_trial_table(trials)]
    if any(trial.gains for trial in trials):
        tables.append(_judges_table(trials))
    return tuple(tables)


def _statistic(trial: LearnedRaterTrial, row: str, name: str) -> Result | None:
    agreement = getattr(trial, row)
    return agreement.statistics.get(name) if agreement is not None else None


def _trial_table(trials: Sequence[LearnedRaterTrial]) -> Table:
    rows, records = [], []
    for trial in trials:
        kappa = _statistic(trial, "mean", "kappa")
        figures = {
            "kappa": kappa,
            "kappa_people": _statistic(trial, "people", "kappa"),
            "kappa_consensus": _statistic(trial, "consensus", "kappa"),
            "kappa_ceiling": _statistic(trial, "ceiling", "kappa"),
        }
        units = trial.mean.units if trial.mean is not None else 0
        cases = trial.mean.cases if trial.mean is not None else 0
        cells = (
            trial.facts.title,
            share_words(kappa),
            reading(kappa.estimate if kappa else None) or DASH,
            *(share_words(figures[name]) for name in ("kappa_people", "kappa_consensus", "kappa_ceiling")),
            f"{units:,}",
            f"{cases:,}",
        )
        rows.append(Row(tuple(map(Cell, cells))))
        record: dict[str, Any] = {
            "metric": trial.metric, "rater": trial.rater, "training_units": trial.training_units,
            "training_cases": trial.training_cases, "out_of_fold": trial.out_of_fold, "units": units, "cases": cases,
        }  # fmt: skip
        for name, result in figures.items():
            record |= bounded_record(name, result)
        records.append(record)
    return Table(
        name="learned_rater",
        title=f"{trials[0].rater} beside people",
        columns=(
            Column("Metric", "left"), Column("κ [95 % CI]"), Column("Reading", "left"), Column("People's κ"),
            Column("κ with consensus"), Column("Human ceiling"), Column("Units"), Column("Cases"),
        ),
        rows=tuple(rows),
        notes=tuple(_trial_notes(trials)),
        records=tuple(records),
    )  # fmt: skip


def _trial_notes(trials: Sequence[LearnedRaterTrial]) -> Iterator[str]:
    yield "The cheap baseline: a rater that knows the words and nothing of the rubric. Any judge should beat it."
    yield (
        "κ: mean of Cohen's kappa with each person; People's κ: the mean over pairs of people. κ with consensus stands "
        "beside the human ceiling: one person against the consensus of the others."
    )
    for trial in trials:
        learnt = f"{counted(trial.training_units, 'unit')} of {counted(trial.training_cases, 'case')}"
        yield (
            f"{trial.facts.title}: learnt from {learnt}, and tried on the same by raters like it, each of which learnt "
            "from four fifths of the cases and rated the others."
            if trial.out_of_fold
            else f"{trial.facts.title}: learnt from {learnt}, and tried on others."
        )


def _judges_table(trials: Sequence[LearnedRaterTrial]) -> Table:
    rows, records = [], []
    for trial in trials:
        for gain in trial.gains:
            shown = decimal if gain.by_kappa else number
            difference = plain_words(gain.gain)
            if gain.gain.estimate is None:
                difference = f"{DASH} ({gain.gain.missing})"
            cells = (
                gain.rater, shown(gain.own), shown(gain.others), difference,
                {True: "yes", False: "not shown", None: "can't be said"}[gain.better],
                f"{gain.units:,}", f"{gain.cases:,}", f"{gain.people:,}",
            )  # fmt: skip
            rows.append(Row(tuple(map(Cell, cells)), trial.facts.title))
            records.append(gain_record(gain))
    gains = [gain for trial in trials for gain in trial.gains]
    return Table(
        name="learned_rater_judges",
        title=f"Judges beside {trials[0].rater}",
        columns=(
            Column("Judge", "left"), Column("Judge's κ"), Column("Learned rater's κ"), Column("Difference [95 % CI]"),
            Column("Beats it", "left"), Column("Units"), Column("Cases"), Column("People"),
        ),
        rows=tuple(rows),
        notes=(*measure_notes(gains), "A judge beats it where the whole interval of the difference lies above 0."),
        records=tuple(records),
    )  # fmt: skip
