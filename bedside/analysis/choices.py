"""What a question to ratings can be asked with: names of tests, corrections and weights; light to import."""

from __future__ import annotations

from typing import Literal, get_args

from bedside.core.errors import DataError

Test = Literal[
    "auto", "wilcoxon", "permutation", "permutation-mid-p", "t", "mcnemar", "mcnemar-mid-p", "friedman", "overlapping",
    "welch-permutation", "mannwhitney", "fisher", "fisher-mid-p", "welch", "student", "kruskal",
]  # fmt: skip
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

#: From one length to another: the change of the mean in per cent, or the mean of each pair's.
ChangeOf = Literal["means", "pairs"]

#: Forms of the intraclass correlation: Shrout and Fleiss's model, then one rater or the mean of all.
IccForm = Literal["1,1", "1,k", "2,1", "2,k", "3,1", "3,k"]
ICC_FORMS: tuple[IccForm, ...] = get_args(IccForm)

#: What corrected means are about: cases like these, or the run's transcripts alone.
EstimateAbout = Literal["cases", "run"]
ESTIMATE_ABOUT: tuple[EstimateAbout, ...] = get_args(EstimateAbout)

EstimateMethod = Literal["prediction-powered", "rogan-gladen"]
ESTIMATE_METHODS: tuple[EstimateMethod, ...] = get_args(EstimateMethod)


def check_at_looks(argument: str, value: str, *choices: str) -> None:
    """Raise DataError where a value is none of the choices that go with intervals that hold at every look."""
    if value not in choices:
        todo = "leave it out, or ask without `looks`"
        raise DataError(f"{value} holds for one look only", where=f"`{argument}`", todo=todo)
