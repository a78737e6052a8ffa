"""What differences between systems the ratings of a plan can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from bedside.analysis.case_values import most_cases_pair
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.ratings.run import Run

#: Level of the test, and the power a difference is shown with.
LEVEL, POWER = 0.05, 0.8
#: With fewer cases no standard deviation is worth a promise.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """The smallest difference of two systems that a plan can show.

    Attributes:
        a, b: the systems.
        pairs: cases of both of which people rate a transcript of each.
        alone_a, alone_b: other cases, which only one of them has in the plan.
        smallest: difference in standard deviations (paired: of the differences case by case; else of the cases) that
            a two-sided t test at :data:`LEVEL` shows with :data:`POWER`, of partly shared cases as if pairs were no
            more alike than others; None where there are too few cases.
    """

    a: str
    b: str
    pairs: int
    alone_a: int
    alone_b: int
    smallest: float | None

    @property
    def kind(self) -> Literal["paired", "partly shared", "unpaired"]:
        """What ``bedside compare`` makes of these cases: on those that pair alone, on all, or on two groups."""
        if most_cases_pair(self.pairs, (self.pairs + self.alone_a, self.pairs + self.alone_b)):
            return "paired"
        return "partly shared" if self.pairs else "unpaired"


def shown_differences(run: Run, plan: AnnotationPlan) -> tuple[ShownDifference, ...]:
    """The smallest difference of each two systems; empty where the run has fewer than two, or people audit a judge or
    compare transcripts.

    Whether a judge is right is no measure of a system, nor is which of two is better. What several raters, turns or
    transcripts of a case bring lies in the standard deviation.
    """
    cases = _drawn_cases(run, plan) if plan.mode not in ("audit", "pairs") else {}
    return tuple(_difference(cases, a, b) for a, b in combinations(sorted(cases), 2))


def _drawn_cases(run: Run, plan: AnnotationPlan) -> Mapping[str, set[str]]:
    """System → its cases in the plan; a transcript without a case is one of its own."""
    origins = {name: (system, case) for name, system, case in run.index.select("id", "system", "case_id").iter_rows()}
    cases: dict[str, set[str]] = {}
    for item in plan.items:
        system, case = origins[item.transcript]
        if system is not None:
            place = f"case {case}" if case is not None else f"transcript {item.transcript}"
            cases.setdefault(system, set()).add(place)
    return cases


def _difference(cases: Mapping[str, set[str]], a: str, b: str) -> ShownDifference:
    from bedside.stats.overlapping import detectable_difference

    pairs = len(cases[a] & cases[b])
    difference = ShownDifference(a, b, pairs, len(cases[a]) - pairs, len(cases[b]) - pairs, None)
    paired = difference.kind == "paired"
    if (pairs if paired else min(len(cases[a]), len(cases[b]))) < _FEWEST:
        return difference
    # Without pairs it is Welch's test of two groups; cases that correlate by a half differ by their own deviation.
    alone = (0, 0) if paired else (difference.alone_a, difference.alone_b)
    correlation = 0.5 if paired else 0.0
    smallest = detectable_difference(pairs, *alone, correlation=correlation, alpha=LEVEL, power=POWER)
    return replace(difference, smallest=smallest)
