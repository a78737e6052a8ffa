"""What a question to ratings can be asked with: names of tests, corrections and weights, and kinds of raters."""

from __future__ import annotations

from typing import Literal, get_args

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.juries import jury_named
from bedside.ratings.learnt_units import learned_raters
from bedside.ratings.names import is_algorithm, is_judge, is_jury

# -- What kind of rater a rater is ----------------------------------------------------------------------


def is_carded(view: RatingsView, rater: str) -> bool:
    """Whether a rater has a card in a report: judges, juries, and the learned raters they should beat."""
    learned = view.run is not None and rater in learned_raters(view.run.manifest)
    return is_judge(rater) or is_jury(rater) or learned


def kind_words(view: RatingsView, rater: str) -> str:
    """The kind of a rater that is no person; of a jury, who is in it and how they are combined."""
    manifest = {} if view.run is None else view.run.manifest
    jury = jury_named(manifest, rater)
    if jury is not None:
        by = "weights learnt from people" if jury.rule == "weights" else jury.rule
        return f"jury of {len(jury.members)}: {', '.join(jury.members)}, combined by {by}"
    if is_jury(rater):
        return "jury"
    if rater in learned_raters(manifest):
        return "learned rater, the baseline that a judge should beat"
    return (
        "language-model judge" if is_judge(rater) else "algorithm" if is_algorithm(rater) else "not recorded"
    )


# -- What a question to ratings can be asked with -------------------------------------------------------

Test = Literal[
    "auto",
    "wilcoxon",
    "permutation",
    "t",
    "mcnemar",
    "friedman",
    "overlapping",
    "mannwhitney",
    "fisher",
    "welch",
    "student",
    "kruskal",
]
TESTS: tuple[Test, ...] = get_args(Test)

Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)

CorrectionFamily = Literal["all", "metric", "level"]
CORRECTION_FAMILIES: tuple[CorrectionFamily, ...] = get_args(CorrectionFamily)

Correction = Literal["holm", "bonferroni", "bh"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

Weights = Literal["none", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)

#: How far apart two values are for Krippendorff's alpha.
AlphaMetric = Literal["nominal", "ordinal", "interval"]
ALPHA_METRICS: tuple[AlphaMetric, ...] = get_args(AlphaMetric)

#: Forms of the intraclass correlation: Shrout and Fleiss's model, then one rater or the mean of all.
IccForm = Literal["1,1", "1,k", "2,1", "2,k", "3,1", "3,k"]
ICC_FORMS: tuple[IccForm, ...] = get_args(IccForm)

#: What corrected means are about: cases like these, or the run's transcripts alone.
EstimateAbout = Literal["cases", "run"]
ESTIMATE_ABOUT: tuple[EstimateAbout, ...] = get_args(EstimateAbout)

EstimateMethod = Literal["prediction-powered", "rogan-gladen"]
ESTIMATE_METHODS: tuple[EstimateMethod, ...] = get_args(EstimateMethod)
