"""MedConceal (Han et al., 2026): the identities its tables must keep."""

from __future__ import annotations

from bedside.metrics.protocols.medconceal.matching import f1
from replications._figures import Figure

SOURCE = "arXiv 2604.08788: precision, recall and F1 of sums over cases (micro)."


def figures() -> list[Figure]:
    """The figures. F1 of summed counts is the harmonic mean of precision and recall; the mean of cases' F1 is not."""
    cases = [(1, 1, 4), (4, 8, 4), (0, 2, 3)]  # matches, findings, gold concerns of three invented cases
    matched, found, gold = (sum(case[at] for case in cases) for at in range(3))
    micro = f1(matched / found, matched / gold)
    by_case = sum(f1(m / n, m / g) if m else 0.0 for m, n, g in cases) / len(cases)
    return [
        Figure(
            "F1 of precision .721 and recall .411",
            ".523",
            f1(0.721, 0.411),
            "published from unrounded precision and recall",
        ),
        Figure("F1 of precision .791 and recall .451", ".574", f1(0.791, 0.451)),
        Figure("three invented cases: F1 of the sums, by hand 10/22", ".455", micro),
        Figure("the same: mean of the cases' F1, by hand (2/5 + 2/3 + 0)/3", ".356", by_case),
    ]
