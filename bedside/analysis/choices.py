"""What a question to ratings can be asked with: names of tests, corrections and weights; light to import."""

from __future__ import annotations

from typing import Literal, get_args

Test = Literal[
    "auto",
    "wilcoxon",
    "permutation",
    "t",
    "mcnemar",
    "friedman",
    "mannwhitney",
    "welch",
    "student",
    "kruskal",
]
TESTS: tuple[Test, ...] = get_args(Test)

CorrectionFamily = Literal["all", "metric", "level"]
CORRECTION_FAMILIES: tuple[CorrectionFamily, ...] = get_args(CorrectionFamily)

Correction = Literal["holm", "bonferroni", "bh"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

Weights = Literal["none", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
