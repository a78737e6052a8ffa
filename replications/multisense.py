"""MultiSenseEval (Chandra et al., ACL 2026): the tests that follow from its published counts and summaries."""

from __future__ import annotations

import numpy as np

from bedside.stats import unpaired
from bedside.stats.kappa_bands import reading
from replications._figures import Figure

SOURCE = "“Reasoning Is Not All You Need”: counts of right diagnoses, and means with SDs."


def figures() -> list[Figure]:
    """The figures."""
    first, second = np.zeros(1142), np.zeros(1142)
    first[:355], second[:356] = 1, 1
    rank = unpaired.mann_whitney(first, second)
    smog = unpaired.t_test_from_summary(11.50, 1.26, 1142, 13.33, 1.47, 1142, equal_variances=True)
    return [
        Figure("Mann–Whitney U, 355 and 356 of 1142 right", "651511", rank.statistic),
        Figure("its p", ".9640", rank.p),
        Figure("standard deviation of the first, %", "46.31", 100 * float(first.std(ddof=1)),
               "these counts give 46.30 (46.28 with n)"),
        Figure("standard deviation of the second, %", "46.34", 100 * float(second.std(ddof=1))),
        Figure("t of SMOG, 11.50 (1.26) and 13.33 (1.47)", "-31.95", smog.statistic,
               "published from unrounded means; from those printed it is −31.94"),
        Figure("κ of .46 is read as", "moderate", reading(0.46)),
        Figure("κ of .62 is read as", "substantial", reading(0.62)),
    ]  # fmt: skip
