"""The evaluator that simulated patients went by, beside a second rater of the same clinician turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.evaluator_agreement import RUBRIC, EvaluatorAgreement, evaluator_agreements
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.number_text import DASH, between, bounded_record, decimal, rater_words, signed
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.stats.result import Result

_TITLE = "The simulation's evaluator beside a second rater"


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """Agreement by feature; None where nobody rated the turns after the evaluator."""
    agreements = evaluator_agreements(view)
    if not agreements:
        return None
    return Table(
        name="simulation_evaluator",
        title=_TITLE,
        columns=(
            Column("Feature", "left"), Column("Turns"), Column("Cases"), Column("Evaluator"), Column("Second rater"),
            Column("Difference"), Column("95 % CI"), Column("Agreement"), Column("95 % CI"), Column("By", "left"),
        ),
        rows=tuple(
            Row(tuple(Cell(text, record=number) for text in _texts(agreement)), _heading(agreement))
            for number, agreement in enumerate(agreements)
        ),
        notes=tuple(_notes(agreements)),
        records=tuple(
            {
                "cell": f"{agreement.metric}/{agreement.rater}", "metric": agreement.metric,
                "evaluator": agreement.evaluator, "rater": agreement.rater, "turns": agreement.turns,
                "cases": agreement.cases, "passes": agreement.passes,
                "mean_evaluator": agreement.means[0] if agreement.means else None,
                "mean_rater": agreement.means[1] if agreement.means else None,
                **bounded_record("difference", agreement.difference),
                "statistic": _statistic(agreement), **bounded_record("agreement", agreement.agreement),
                "agreement_missing": agreement.agreement.missing,
            }
            for agreement in agreements
        ),
    )  # fmt: skip


def _heading(agreement: EvaluatorAgreement) -> str:
    return f"{rater_words(agreement.evaluator)} and {rater_words(agreement.rater)}"


def _statistic(agreement: EvaluatorAgreement) -> str:
    return "kappa" if agreement.of_intent else "ICC(2,1)"


def _notes(agreements: Sequence[EvaluatorAgreement]) -> Iterator[str]:
    yield (
        "Both rated the same clinician turns, the evaluator while the conversation went on: the patient's reserve "
        f"rests on its labels. The second rater was asked by the rubric {RUBRIC} afterwards. Evaluator and second "
        "rater: means. Intervals leave out whole cases."
    )
    if any(agreement.of_intent for agreement in agreements):
        yield (
            "Intent: what a turn is mainly for, one of nine labels, of which meta_probe blocks what a patient reveals; "
            "its agreement is Cohen's kappa."
        )
    if any(agreement.passes > 1 for agreement in agreements):
        yield (
            "Of several passes of a rater the mean is taken, of intents the most frequent, or the first of those that "
            "are equally frequent."
        )
    yield from dict.fromkeys(
        f"{DASH} {agreement.part}: {agreement.agreement.missing}."
        for agreement in agreements
        if agreement.agreement.missing
    )


def _texts(agreement: EvaluatorAgreement) -> tuple[str, ...]:
    own, theirs = agreement.means or (None, None)
    difference = agreement.difference
    return (
        agreement.part.replace("_", " ").capitalize(),
        f"{agreement.turns:,}",
        f"{agreement.cases:,}",
        decimal(own),
        decimal(theirs),
        DASH if difference is None else signed(difference.estimate, 2),
        _interval(difference),
        decimal(agreement.agreement.estimate),
        _interval(agreement.agreement),
        _statistic(agreement),
    )


def _interval(result: Result | None) -> str:
    if result is None or result.interval is None:
        return DASH
    return between(result.interval.low, result.interval.high)


TABLE = TableKind("simulation_evaluator", _TITLE, 74, build, heading="Simulation: the evaluator", shown="always")
