"""The evaluator that simulated patients went by, beside a second rater of the same clinician turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.evaluator_agreement import RUBRIC, EvaluatorAgreement, evaluator_agreements
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.columns import Column, Table, bounded, interval_column, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, decimal, rater_words, signed
from bedside.reports.table_kind import TableKind

_TITLE = "The simulation's evaluator beside a second rater"


COLUMNS = (
    recorded(cell=lambda agreement: f"{agreement.metric}/{agreement.rater}"),
    recorded("metric", "evaluator", "rater"),
    Column("Feature", "left", text=lambda agreement: agreement.part.replace("_", " ").capitalize()),
    Column("Turns", field="turns"),
    Column("Cases", field="cases"),
    recorded("passes"),
    Column("Evaluator", field="mean_evaluator", value=lambda agreement: (agreement.means or (None, None))[0],
           form=decimal),
    Column("Second rater", field="mean_rater", value=lambda agreement: (agreement.means or (None, None))[1],
           form=decimal),
    Column("Difference",
           text=lambda agreement: signed(agreement.difference.estimate, 2) if agreement.difference else DASH),
    interval_column("difference"),
    bounded(difference="difference"),
    Column("Agreement", text=lambda agreement: decimal(agreement.agreement.estimate)),
    interval_column("agreement"),
    Column("By", "left", field="statistic", value=lambda own: "kappa" if own.of_intent else "ICC(2,1)"),
    bounded(agreement="agreement"),
    recorded(agreement_missing="agreement.missing"),
)  # fmt: skip
MEANING = Note(
    "simulation evaluator.meaning",
    "Both rated the same clinician turns, the evaluator while the conversation went on: the patient's reserve "
    f"rests on its labels. The second rater was asked by the rubric {RUBRIC} afterwards. Evaluator and second "
    "rater: means. Intervals leave out whole cases.",
)


@note("simulation evaluator.kinds")
def kinds(shown: Sequence[EvaluatorAgreement]) -> Iterator[str]:
    """What is said of intents, and of several passes."""
    if any(agreement.of_intent for agreement in shown):
        yield (
            "Intent: what a turn is mainly for, one of nine labels, of which meta_probe blocks what a patient reveals; "
            "its agreement is Cohen's kappa."
        )
    if any(agreement.passes > 1 for agreement in shown):
        yield (
            "Of several passes of a rater the mean is taken, of intents the most frequent, or the first of those that "
            "are equally frequent."
        )


@note("simulation evaluator.missing", "Agreement")
def missing(shown: Sequence[EvaluatorAgreement]) -> Iterator[str]:
    """Why there is no agreement."""
    for agreement in shown:
        if agreement.agreement.missing:
            yield f"{DASH} {agreement.part}: {agreement.agreement.missing}."


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """Agreement by feature; None where nobody rated the turns after the evaluator."""
    shown = evaluator_agreements(view)
    if not shown:
        return None
    return table_of("simulation_evaluator", _TITLE, shown, COLUMNS, notes=(MEANING, kinds, missing),
                    group=lambda own: f"{rater_words(own.evaluator)} and {rater_words(own.rater)}")  # fmt: skip


TABLE = TableKind("simulation_evaluator", _TITLE, 74, build, heading="Simulation: the evaluator", shown="always")
