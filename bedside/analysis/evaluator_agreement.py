"""The evaluator that simulated patients went by, beside a second rater of the same turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from bedside.analysis.case_values import mean_in_group
from bedside.analysis.checked_units import grid_of
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal.labels import (
    FEATURES,
    INTENTS,
    ConcernTurnLabels,
    simulated_turns,
    turn_rater,
)
from bedside.ratings.names import unit_name
from bedside.stats.reliability import icc
from bedside.stats.result import Result
from bedside.stats.two_raters import bias, kappa

#: The rubric that a second rater is asked by, and what of an evaluator's labels its parts are beside.
RUBRIC = "turn_evaluator"
_EMPATHY = "empathy_strength"
_INTENT = f"{RUBRIC}.intent_probabilities"


@dataclass(frozen=True, slots=True)
class EvaluatorAgreement(MetricRatings):
    """Agreement of a simulation's evaluator with a second rater on one feature of clinician turns, or on their intent.

    Attributes:
        evaluator: whose labels the patient went by.
        rater: who rated the turns afterwards.
        turns, cases: what both rated.
        passes: most passes of the second rater over a turn.
        agreement: of a feature ICC(2,1), of the intent Cohen's kappa; with an interval over cases.
        means: of a feature the evaluator's mean and the second rater's; None of the intent.
        difference: mean of evaluator minus second rater, with an interval over cases; None of the intent.
    """

    evaluator: str
    rater: str
    turns: int
    cases: int
    passes: int
    agreement: Result
    means: tuple[float, float] | None = None
    difference: Result | None = None

    @property
    def of_intent(self) -> bool:
        """Whether it is on what turns are mainly for."""
        return self.metric == _INTENT

    @property
    def part(self) -> str:
        """The feature, or ``intent``."""
        return "intent" if self.of_intent else self.metric.removeprefix(f"{RUBRIC}.")


@dataclass(frozen=True, slots=True)
class _EvaluatedTurn:
    """What an evaluator said of a turn."""

    transcript: str
    unit: str
    evaluator: str
    labels: ConcernTurnLabels


def evaluator_agreements(view: RatingsView) -> tuple[EvaluatorAgreement, ...]:
    """Agreement of evaluators with all who rated their turns afterwards; nothing where nobody did.

    Several passes of a rater are averaged; of intents the most frequent counts, of several the first.

    Raises:
        DataError: a transcript doesn't hold the labels that its simulation says it does, or a rating is of no intent.
    """
    metrics = {f"{RUBRIC}.{name}": name for name in (*FEATURES, _EMPATHY)}
    ratings = view.ratings.filter(pl.col("metric").is_in([*metrics, _INTENT]))
    if ratings.is_empty() or simulated_talks(view, read=False) is None or view.run is None or not view.run.keeps_text:
        return ()
    evaluated = list(_evaluated(view))
    agreements = [*_on_features(view, ratings, evaluated, metrics), *_on_intent(view, ratings, evaluated)]
    order = [*metrics, _INTENT]
    return tuple(sorted(agreements, key=lambda each: (each.evaluator, each.rater, order.index(each.metric))))


def _evaluated(view: RatingsView) -> Iterator[_EvaluatedTurn]:
    assert view.run is not None
    for transcript in view.run.transcripts():
        for index, labels in (simulated_turns(transcript) or {}).items():
            yield _EvaluatedTurn(transcript.id, unit_name(index), str(turn_rater(transcript)), labels)


def _on_features(
    view: RatingsView, ratings: pl.DataFrame, evaluated: Sequence[_EvaluatedTurn], metrics: dict[str, str]
) -> Iterator[EvaluatorAgreement]:
    rated = (
        ratings.filter(pl.col("metric").is_in(list(metrics)), pl.col("value").is_not_null())
        .group_by("transcript_id", "case_id", "unit", "metric", "rater", maintain_order=True)
        .agg(mean_in_group("value"), pl.len().alias("passes"))
    )
    joined = rated.join(_feature_rows(evaluated, metrics), on=["transcript_id", "unit", "metric"], how="inner")
    for (evaluator, rater, metric), rows in joined.partition_by(["evaluator", "rater", "metric"], as_dict=True).items():
        if rater == evaluator:
            continue
        ours, theirs = rows["own"].to_numpy(), rows["value"].to_numpy()
        cases = rows.select(pl.coalesce("case_id", "transcript_id")).to_series().to_list()
        yield EvaluatorAgreement(
            view.facts(str(metric)),
            str(evaluator),
            str(rater),
            rows.height,
            len(set(cases)),
            int(rows.select(pl.col("passes").max()).item()),
            icc(rows.select("own", "value").to_numpy(), clusters=cases),
            (float(ours.mean()), float(theirs.mean())),
            bias(ours, theirs, clusters=cases),
        )


def _feature_rows(evaluated: Sequence[_EvaluatedTurn], metrics: dict[str, str]) -> pl.DataFrame:
    """What evaluators said of the turns, a row for each turn and feature."""
    rows = []
    for turn in evaluated:
        said = {**turn.labels.z.model_dump(), _EMPATHY: turn.labels.empathy_strength}
        rows += [
            (turn.transcript, turn.unit, metric, turn.evaluator, said[name])
            for metric, name in metrics.items()
            if said[name] is not None
        ]
    columns = dict.fromkeys(("transcript_id", "unit", "metric", "evaluator"), pl.String())
    return pl.DataFrame(rows, schema={**columns, "own": pl.Float64()}, orient="row")


def _on_intent(
    view: RatingsView, ratings: pl.DataFrame, evaluated: Sequence[_EvaluatedTurn]
) -> Iterator[EvaluatorAgreement]:
    labelled = ratings.filter(pl.col("metric") == _INTENT, pl.col("label").is_not_null())
    if labelled.is_empty():
        return
    others = labelled.filter(~pl.col("label").is_in(list(INTENTS)))
    if not others.is_empty():
        name, unit, rater, label = others.select("transcript_id", "unit", "rater", "label").row(0)
        raise DataError(
            f"{rater} gives a turn the intent {label!r}",
            where=f"transcript {name}, {unit}, {_INTENT}",
            todo=f"write one of {', '.join(INTENTS)}",
        )
    grid = grid_of(labelled)
    row_of = {key: row for row, key in enumerate(zip(grid.transcripts, grid.units, strict=True))}
    passes = dict(
        labelled.group_by("transcript_id", "unit", "rater").len().group_by("rater").agg(pl.col("len").max()).rows()
    )  # fmt: skip
    turns = [
        (turn.evaluator, turn.labels.intent, row_of[turn.transcript, turn.unit])
        for turn in evaluated
        if turn.labels.intent is not None and (turn.transcript, turn.unit) in row_of
    ]
    for evaluator in sorted({turn[0] for turn in turns}):
        for column, rater in enumerate(grid.raters):
            both = [(own, row) for by, own, row in turns if by == evaluator and grid.cells[row, column] is not None]
            if rater == evaluator or not both:
                continue
            rows = np.array([row for _, row in both])
            cases = grid.cases[rows].tolist()
            yield EvaluatorAgreement(
                view.facts(_INTENT),
                evaluator,
                rater,
                len(both),
                len(set(cases)),
                passes[rater],
                kappa([own for own, _ in both], grid.cells[rows, column].tolist(), scale=INTENTS, clusters=cases),
            )
