"""The evaluator that simulated patients went by, beside a second rater of the same turns."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bedside.analysis.ratings_view import MetricRatings, RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.protocols.medconceal import FEATURES, simulated_turns, turn_rater
from bedside.ratings.names import unit_name
from bedside.stats.reliability import icc
from bedside.stats.result import Result
from bedside.stats.two_raters import bias

#: The rubric that a second rater is asked by, and what of an evaluator's labels its parts are beside.
RUBRIC = "turn_evaluator"
_EMPATHY = "empathy_strength"


@dataclass(frozen=True, slots=True)
class EvaluatorAgreement(MetricRatings):
    """Agreement of a simulation's evaluator with a second rater on one feature of clinician turns.

    Attributes:
        evaluator: whose labels the patient went by.
        rater: who rated the turns afterwards.
        turns, cases: what both rated.
        means: the evaluator's mean and the second rater's.
        agreement: ICC(2,1), with an interval over cases.
        difference: mean of evaluator minus second rater, with an interval over cases.
    """

    evaluator: str
    rater: str
    turns: int
    cases: int
    means: tuple[float, float]
    agreement: Result
    difference: Result


def evaluator_agreements(view: RatingsView) -> tuple[EvaluatorAgreement, ...]:
    """Agreement of evaluators with all who rated their turns afterwards; nothing where nobody did.

    Several passes of a rater are averaged.

    Raises:
        DataError: a transcript doesn't hold the labels that its simulation says it does.
    """
    metrics = {f"{RUBRIC}.{name}": name for name in (*FEATURES, _EMPATHY)}
    ratings = view.ratings.filter(pl.col("metric").is_in(list(metrics)), pl.col("value").is_not_null())
    if (
        ratings.is_empty()
        or simulated_talks(view, read=False) is None
        or view.run is None
        or not view.run.keeps_text
    ):
        return ()
    rated = ratings.group_by("transcript_id", "case_id", "unit", "metric", "rater", maintain_order=True).agg(
        pl.col("value").mean()
    )
    joined = rated.join(_evaluated(view, metrics), on=["transcript_id", "unit", "metric"], how="inner")
    results = []
    for (evaluator, rater, metric), rows in sorted(
        joined.partition_by(["evaluator", "rater", "metric"], as_dict=True).items(),
        key=lambda item: (item[0][:2], list(metrics).index(str(item[0][2]))),
    ):
        if rater == evaluator:
            continue
        ours, theirs = rows["own"].to_numpy(), rows["value"].to_numpy()
        cases = rows.select(pl.coalesce("case_id", "transcript_id")).to_series().to_list()
        results.append(
            EvaluatorAgreement(
                view.facts(str(metric)),
                str(evaluator),
                str(rater),
                rows.height,
                len(set(cases)),
                (float(ours.mean()), float(theirs.mean())),
                icc(rows.select("own", "value").to_numpy(), clusters=cases),
                bias(ours, theirs, clusters=cases),
            )
        )
    return tuple(results)


def _evaluated(view: RatingsView, metrics: dict[str, str]) -> pl.DataFrame:
    """What evaluators said of the turns, a row for each turn and feature."""
    assert view.run is not None
    rows = []
    for transcript in view.run.transcripts():
        for index, labels in (simulated_turns(transcript) or {}).items():
            said = {**labels.z.model_dump(), _EMPATHY: labels.empathy_strength}
            rows += [
                (transcript.id, unit_name(index), metric, turn_rater(transcript), said[name])
                for metric, name in metrics.items()
                if said[name] is not None
            ]
    columns = dict.fromkeys(("transcript_id", "unit", "metric", "evaluator"), pl.String())
    return pl.DataFrame(rows, schema={**columns, "own": pl.Float64()}, orient="row")
