"""What kind of rater a rater is, in words."""

from __future__ import annotations

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.juries import jury_named
from bedside.ratings.learnt_units import learned_raters
from bedside.ratings.names import LABEL_FREE_WORDS, is_algorithm, is_judge, is_jury


def is_carded(view: RatingsView, rater: str) -> bool:
    """Whether a rater has a card in a report: judges, juries, and the learned raters they should beat."""
    learned = view.run is not None and rater in learned_raters(view.run.manifest)
    return is_judge(rater) or is_jury(rater) or learned


def kind_words(view: RatingsView, rater: str) -> str:
    """The kind of a rater that is no person; of a jury, who is in it and how they are combined."""
    manifest = {} if view.run is None else view.run.manifest
    jury = jury_named(manifest, rater)
    if jury is not None:
        by = {"weights": "weights learnt from people", **LABEL_FREE_WORDS}.get(jury.rule, jury.rule)
        return f"jury of {len(jury.members)}: {', '.join(jury.members)}, combined by {by}"
    if is_jury(rater):
        return "jury"
    if rater in learned_raters(manifest):
        return "learned rater, the baseline that a judge should beat"
    return "language-model judge" if is_judge(rater) else "algorithm" if is_algorithm(rater) else "not recorded"
