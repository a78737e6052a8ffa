"""What a question to ratings can be asked with: names of tests, corrections and weights. Nothing heavy is imported here."""

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


CorrectionFamily = Literal["all", "metric", "level"]


Correction = Literal["holm", "bonferroni", "bh"]


TESTS: tuple[Test, ...] = get_args(Test)


CORRECTION_FAMILIES: tuple[CorrectionFamily, ...] = get_args(CorrectionFamily)


CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


Weights = Literal["none", "linear", "quadratic"]


WEIGHTS: tuple[Weights, ...] = ("none", "linear", "quadratic")
