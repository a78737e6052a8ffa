"""Means and differences of systems from a judge on everything, corrected by people on a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.ratings_view import ALL, PEOPLE, MetricFacts, MetricRatings, RatingsView
from bedside.analysis.selection import chosen_systems
from bedside.stats.result import Result
from bedside.support.errors import DataError

#: With fewer transcripts rated by people, nothing is corrected: the judge's error can't be told from chance.
FEWEST_LABELLED = 10


@dataclass(frozen=True, slots=True)
class Estimate(MetricRatings):
    """One quantity in three ways, so that the corrected one is never taken for the naive one.

    Attributes:
        facts, judge: what was rated, and by which judge (or algorithm).
        quantity: a system's name, or ``A − B`` for a difference.
        labelled: transcripts that people and the judge rated; of a paired difference, cases of both systems.
        judged: transcripts (cases) that the judge rated.
        naive: from the judge's ratings alone, as if the judge made no error.
        human: from people's ratings of the sample alone.
        corrected: prediction-powered (or Rogan–Gladen for zeros and ones), unbiased where the sample is random.
    """

    judge: str
    quantity: str
    labelled: int
    judged: int
    naive: Result
    human: Result
    corrected: Result


@dataclass(frozen=True, slots=True)
class _Sample:
    """A system's transcripts: people's and the judge's values of those both rated, the judge's of the others."""

    human: np.ndarray[Any, Any]
    judge: np.ndarray[Any, Any]
    unlabelled: np.ndarray[Any, Any]
    by_case: dict[str, tuple[float | None, float]]

    @property
    def everything(self) -> np.ndarray[Any, Any]:
        return np.concatenate([self.judge, self.unlabelled])


def estimate(
    view: RatingsView,
    *,
    judge: str,
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """Corrected means of each system, and differences of each pair, on every metric that people and the judge rated.

    Metrics of numbers are corrected by prediction-powered inference with the judge's weight tuned (Angelopoulos et al.
    2023, PPI++), metrics of zeros and ones by Rogan and Gladen's (1978) estimator beside it. Differences are paired by
    case where more than half of the smaller system's cases pair.

    Args:
        view: the ratings. The transcripts that people rated must be a random sample of those the judge rated.
        judge: the rater that rated everything, or a pattern that one rater matches.
        systems: the systems; all unless named.
        metrics: metrics or patterns; every one that both rated unless named.
        seed: of what is drawn at random.

    Raises:
        DataError: no such judge, more than one, or no metric that people and the judge rated.
    """
    matching = view.raters([judge])
    if len(matching) > 1:
        raise DataError(
            f"{len(matching)} raters match {judge!r}",
            where="`judge`",
            todo=f"name one: {', '.join(matching)}",
        )
    name = matching[0]
    chosen = chosen_systems(view, systems, fewest=1) if view.systems() else [ALL]
    estimates: list[Estimate] = []
    for metric in view.metrics(metrics):
        values = (
            view.transcript_values([metric])
            .with_columns(pl.col("system").fill_null(ALL))
            .filter(pl.col("system").is_in(chosen))
        )
        if not {name, PEOPLE} <= set(values.drop_nulls("value")["group"]):
            continue
        samples = {system: _sample(values.filter(pl.col("system") == system), name) for system in chosen}
        facts = view.facts(metric)
        estimates += [_mean(facts, name, system, sample, seed) for system, sample in samples.items()]
        estimates += [_difference(facts, name, (a, b), samples) for a, b in combinations(chosen, 2)]
    if not estimates:
        raise DataError(
            f"no metric was rated by people and by {name}",
            where=view.name,
            todo="import people's ratings of a random sample with bedside ratings import",
        )
    return tuple(estimates)


def _sample(values: pl.DataFrame, judge: str) -> _Sample:
    wide = values.pivot("group", index=["transcript_id", "case_id"], values="value")
    for group in (PEOPLE, judge):
        if group not in wide.columns:
            wide = wide.with_columns(pl.lit(None, dtype=pl.Float64()).alias(group))
    judged = wide.drop_nulls(judge)
    both = judged.drop_nulls(PEOPLE)
    unlabelled = judged.filter(pl.col(PEOPLE).is_null())
    # Of several transcripts of a case, the means; people's only where they rated all of them.
    cases = (
        judged.drop_nulls("case_id")
        .group_by("case_id")
        .agg(
            pl.col(judge).mean(),
            pl.when(pl.col(PEOPLE).null_count() == 0).then(pl.col(PEOPLE).mean()).alias(PEOPLE),
        )
        .sort("case_id")
    )
    return _Sample(
        human=both[PEOPLE].to_numpy(),
        judge=both[judge].to_numpy(),
        unlabelled=unlabelled[judge].to_numpy(),
        by_case={
            case: (by_people, by_judge)
            for case, by_judge, by_people in cases.select("case_id", judge, PEOPLE).iter_rows()
        },
    )


def _mean(facts: MetricFacts, judge: str, system: str, sample: _Sample, seed: int) -> Estimate:
    from bedside.stats import prediction_powered
    from bedside.stats.intervals import mean_t, proportion

    together = np.concatenate([sample.human, sample.everything])
    if together.size and np.isin(together, (0.0, 1.0)).all():
        naive, human = proportion(sample.everything), proportion(sample.human)
        corrected = prediction_powered.rogan_gladen(sample.human, sample.judge, sample.everything, seed=seed)
    else:
        naive, human = mean_t(sample.everything), mean_t(sample.human)
        corrected = prediction_powered.mean(sample.human, sample.judge, sample.unlabelled, interval="t")
    labelled = sample.human.size
    return Estimate(
        facts=facts, judge=judge, quantity=system, labelled=labelled, judged=sample.everything.size,
        naive=naive, human=human, corrected=_enough(corrected, labelled),
    )  # fmt: skip


def _enough(corrected: Result, labelled: int) -> Result:
    """The corrected result, or the reason why there are too few labels for one."""
    if labelled >= FEWEST_LABELLED:
        return corrected
    return replace(
        corrected,
        estimate=None,
        interval=None,
        p=None,
        missing=f"{labelled} rated by people, fewer than {FEWEST_LABELLED}: too few to correct the judge",
    )


def _difference(
    facts: MetricFacts, judge: str, systems: tuple[str, str], samples: Mapping[str, _Sample]
) -> Estimate:
    from bedside.stats import paired, prediction_powered, unpaired

    x, y = (samples[system] for system in systems)
    shared = sorted(x.by_case.keys() & y.by_case.keys())
    if 2 * len(shared) > min(len(x.by_case), len(y.by_case)):
        labelled = [c for c in shared if x.by_case[c][0] is not None and y.by_case[c][0] is not None]
        unlabelled = [case for case in shared if case not in set(labelled)]

        def values(sample: _Sample, cases: list[str], column: int) -> np.ndarray[Any, Any]:
            return np.array([sample.by_case[case][column] for case in cases], dtype=float)

        corrected = prediction_powered.paired_difference(
            values(x, labelled, 0), values(x, labelled, 1), values(x, unlabelled, 1),
            values(y, labelled, 0), values(y, labelled, 1), values(y, unlabelled, 1),
        )  # fmt: skip
        naive = paired.t_test(values(x, shared, 1), values(y, shared, 1))
        human = paired.t_test(values(x, labelled, 0), values(y, labelled, 0))
        counts = (len(labelled), len(shared))
    else:
        corrected = prediction_powered.unpaired_difference(
            x.human, x.judge, x.unlabelled, y.human, y.judge, y.unlabelled
        )
        naive = unpaired.t_test(x.everything, y.everything)
        human = unpaired.t_test(x.human, y.human)
        counts = (x.human.size + y.human.size, x.everything.size + y.everything.size)
    return Estimate(
        facts=facts, judge=judge, quantity=f"{systems[0]} − {systems[1]}", labelled=counts[0], judged=counts[1],
        naive=naive, human=human, corrected=_enough(corrected, counts[0]),
    )  # fmt: skip
