"""The evaluator that simulated patients went by, beside a second rater of the same clinician turns."""

from __future__ import annotations

from bedside.analysis.evaluator_agreement import RUBRIC, EvaluatorAgreement, evaluator_agreements
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.cell_names import rater_words
from bedside.reports.number_text import DASH, between, decimal, signed
from bedside.reports.result_text import bounded_record
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

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
            Column("Difference"), Column("95 % CI"), Column("ICC(2,1)"), Column("95 % CI"),
        ),
        rows=tuple(
            Row(tuple(Cell(text, record=number) for text in _texts(agreement)), _heading(agreement))
            for number, agreement in enumerate(agreements)
        ),
        notes=(
            "Both rated the same clinician turns, the evaluator while the conversation went on: the patient's reserve "
            f"rests on its labels. The second rater was asked by the rubric {RUBRIC} afterwards. Evaluator and second "
            "rater: means. Intervals leave out whole cases. The intent of a turn, which can block what a patient "
            "reveals, is not among what a rater's ratings hold.",
            *dict.fromkeys(
                f"{DASH} ICC: {agreement.agreement.missing}."
                for agreement in agreements
                if agreement.agreement.missing
            ),
        ),
        records=tuple(
            {
                "cell": f"{agreement.metric}/{agreement.rater}", "metric": agreement.metric,
                "evaluator": agreement.evaluator, "rater": agreement.rater, "turns": agreement.turns,
                "cases": agreement.cases, "mean_evaluator": agreement.means[0], "mean_rater": agreement.means[1],
                **bounded_record("difference", agreement.difference),
                **bounded_record("icc", agreement.agreement), "icc_missing": agreement.agreement.missing,
            }
            for agreement in agreements
        ),
    )  # fmt: skip


def _heading(agreement: EvaluatorAgreement) -> str:
    return f"{rater_words(agreement.evaluator)} and {rater_words(agreement.rater)}"


def _texts(agreement: EvaluatorAgreement) -> tuple[str, ...]:
    difference, single = agreement.difference, agreement.agreement
    return (
        agreement.facts.title,
        f"{agreement.turns:,}",
        f"{agreement.cases:,}",
        decimal(agreement.means[0]),
        decimal(agreement.means[1]),
        signed(difference.estimate, 2),
        DASH if difference.interval is None else between(difference.interval.low, difference.interval.high),
        decimal(single.estimate),
        DASH if single.interval is None else between(single.interval.low, single.interval.high),
    )


TABLE = TableKind("simulation_evaluator", _TITLE, 74, build)
