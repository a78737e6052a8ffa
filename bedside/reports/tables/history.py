"""History taking (Note2Chat): findings elicited, diagnosis ranked, and how far the patient can be relied on."""

from __future__ import annotations

from bedside.evaluation import Evaluation
from bedside.reports.table import Table
from bedside.reports.tables._cases import Block, Measure, cases_table
from bedside.reports.tables._contract import TableKind

_TOP = (1, 2, 3, 4, 5)
_CATEGORIES = {
    "site": "Site",
    "onset": "Onset",
    "character": "Character",
    "radiation": "Radiation",
    "associated": "Associated symptoms",
    "timing": "Timing",
    "exacerbating_relieving": "Exacerbating and relieving factors",
    "severity": "Severity",
    "history": "Past history and treatment",
}
_BLOCKS = (
    Block(
        "Findings",
        (
            Measure("F1", "history_f1"),
            Measure("Recall", "history_recall"),
            Measure("Precision", "history_precision"),
            Measure("Questions", "history_questions", digits=1),
        ),
    ),
    Block(
        "Diagnosis",
        (
            *(Measure(f"Top-{k} accuracy", f"diagnosis_top_{k}") for k in _TOP),
            Measure("Rank, from 0, where it is among the candidates", "diagnosis_rank", digits=1),
        ),
    ),
    Block(
        "Recall by category (SOCRATES)",
        tuple(Measure(title, f"recall_{name}") for name, title in _CATEGORIES.items()),
    ),
    Block(
        "The patient's replies",
        (
            Measure("Information control", "information_control_rate"),
            Measure("Factual conflicts", "factual_conflict_rate"),
            Measure('"Don\'t know"', "dont_know_share"),
            Measure('"Already asked"', "already_asked_share"),
        ),
    ),
)
_NOTES = (
    "Means (standard deviation) over cases, so that F1 is not that of the mean recall and precision. A category's "
    "recall is over the cases with such findings.",
    "Several passes, and several people, are averaged for each case first. Best in bold, with no regard to chance.",
)


def build(evaluation: Evaluation, seed: int = 0) -> Table | None:
    """The measures of Note2Chat; None where nobody labelled anything for them."""
    decisive = ("history_recall", "diagnosis_top_1", "information_control_rate", "factual_conflict_rate")
    return cases_table(evaluation, "history", "History taking by system", _BLOCKS, decisive, _NOTES)


TABLE = TableKind("history", "History taking by system (Note2Chat)", 14, build)
