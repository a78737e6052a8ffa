"""What differences between systems the ratings of a plan can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

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
            a two-sided t test at :data:`LEVEL` shows with :data:`POWER`; None where there are too few cases.
    """

    a: str
    b: str
    pairs: int
    alone_a: int
    alone_b: int
    smallest: float | None

    @property
    def paired(self) -> bool:
        """Whether the systems are compared on the cases that pair."""
        return 2 * self.pairs > self.pairs + min(self.alone_a, self.alone_b)


def shown_differences(run: Run, plan: AnnotationPlan) -> tuple[ShownDifference, ...]:
    """The smallest difference of each two systems; empty where the run has fewer than two.

    What several raters, turns or transcripts of a case bring lies in the standard deviation.
    """
    cases = _drawn_cases(run, plan)
    return tuple(_difference(cases, a, b) for a, b in combinations(sorted(cases), 2))


def _drawn_cases(run: Run, plan: AnnotationPlan) -> Mapping[str, set[str]]:
    """System → its cases in the plan; a transcript without a case is one of its own."""
    origins = {
        name: (system, case) for name, system, case in run.index.select("id", "system", "case_id").iter_rows()
    }
    cases: dict[str, set[str]] = {}
    for item in plan.items:
        system, case = origins[item.transcript]
        if system is not None:
            place = f"case {case}" if case is not None else f"transcript {item.transcript}"
            cases.setdefault(system, set()).add(place)
    return cases


def _difference(cases: Mapping[str, set[str]], a: str, b: str) -> ShownDifference:
    from statsmodels.stats.power import TTestIndPower, TTestPower

    pairs = len(cases[a] & cases[b])
    difference = ShownDifference(a, b, pairs, len(cases[a]) - pairs, len(cases[b]) - pairs, None)
    goal = {"alpha": LEVEL, "power": POWER, "alternative": "two-sided"}
    smallest = None
    if difference.paired:
        if pairs >= _FEWEST:
            smallest = TTestPower().solve_power(effect_size=None, nobs=pairs, **goal)
    elif min(len(cases[a]), len(cases[b])) >= _FEWEST:
        ratio = len(cases[b]) / len(cases[a])
        smallest = TTestIndPower().solve_power(effect_size=None, nobs1=len(cases[a]), ratio=ratio, **goal)
    return ShownDifference(
        a, b, pairs, difference.alone_a, difference.alone_b, None if smallest is None else float(smallest)
    )
