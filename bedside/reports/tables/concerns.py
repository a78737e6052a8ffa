"""Hidden concerns (MedConceal): found, revealed and addressed; counts summed over cases beside means of cases."""

from __future__ import annotations

from bedside.evaluation import Evaluation
from bedside.reports.table import Table
from bedside.reports.tables._cases import Block, Measure, cases_table
from bedside.reports.tables._contract import TableKind


def _shares(name: str, matches: str, gold: str) -> tuple[Measure, ...]:
    """Precision, recall and F1 of one way of matching."""
    return (
        Measure("Precision", f"{name}_precision", ((matches,), ("submitted_findings",))),
        Measure("Recall", f"{name}_recall", ((matches,), (gold,))),
        Measure("F1", f"{name}_f1", ((matches,), ("submitted_findings", gold)), times=2),
    )


_BLOCKS = (
    Block(
        "Findings that are the same specific concern (fine)",
        (
            *_shares("concern", "matched_concerns", "gold_concerns"),
            Measure(
                "Category accuracy",
                "concern_category_accuracy",
                (("agreeing_matches",), ("matched_concerns",)),
            ),
        ),
    ),
    Block("Findings of the same category (coarse)", _shares("coarse", "coarse_matches", "gold_concerns")),
    Block(
        "Findings of concerns that the trace shows as revealed (process-grounded)",
        (
            *_shares("grounded", "grounded_matches", "revealed_concerns"),
            Measure("Matched but no reveal, share of cases", "matched_without_reveal"),
        ),
    ),
    Block(
        "Confirmation",
        (
            Measure("Reveal rate", "reveal_rate", (("revealed_concerns",), ("gold_concerns",))),
            Measure("Full reveal, share of cases", "full_reveal"),
            Measure("Turns to full reveal", "turns_to_full_reveal", digits=1),
            Measure(
                "Revealed by the turn limit",
                "revealed_by_limit",
                (("concerns_revealed_by_limit",), ("gold_concerns",)),
            ),
            Measure(
                "Turns per revealed concern",
                "turns_per_revealed_concern",
                (("evaluated_turns",), ("revealed_concerns",)),
                digits=1,
            ),
        ),
    ),
    Block(
        "Intervention",
        (
            Measure("Success, share of cases", "concern_addressed"),
            Measure("Turns to address", "turns_to_address", digits=1),
            Measure("Reveal-to-address lag", "reveal_to_address_lag", digits=1),
            Measure("Meta-probe rate", "meta_probe_rate", (("blocked_turns",), ("evaluated_turns",))),
            Measure("Blocked turns", "blocked_turns", digits=1),
            Measure("Open questions after address", "open_after_address"),
            Measure("Challenge after address", "challenge_after_address"),
        ),
    ),
    Block(
        "Style",
        (
            Measure("Words per clinician turn", "words_per_turn.clinician", digits=1),
            Measure("Flesch reading ease, clinician", "flesch_reading_ease.clinician", digits=1),
            Measure("Open-question ratio", "open_question_ratio"),
            Measure("Open-question ratio, early", "early_open_question_ratio"),
            Measure("Empathy", "medconceal_empathy", digits=2),
            Measure("Collaboration", "medconceal_collaboration", digits=2),
            Measure("Rationale", "medconceal_rationale", digits=2),
            Measure("Problem solving", "medconceal_problem_solving", digits=2),
            Measure("Actionability", "medconceal_actionability", digits=2),
            Measure("Values detected", "values_detected", digits=2),
        ),
    ),
)
_NOTES = (
    "Micro: counts are summed over cases before dividing, as in the published main tables. All else is the mean "
    "(standard deviation) of the cases' own values, which is what tests compare.",
    "Several passes, and several people, are averaged for each case first. Best in bold, with no regard to chance.",
    "Reveal and address follow from the trace's parameters. The published ones are not public; what is made with "
    "bedside's own is not comparable with published figures.",
)


def build(evaluation: Evaluation, seed: int = 0) -> Table | None:
    """The measures of MedConceal; None where nobody labelled anything for them."""
    decisive = ("submitted_findings", "matched_concerns", "evaluated_turns")
    return cases_table(evaluation, "concerns", "Hidden concerns by system", _BLOCKS, decisive, _NOTES)


TABLE = TableKind("concerns", "Hidden concerns by system (MedConceal)", 12, build)
