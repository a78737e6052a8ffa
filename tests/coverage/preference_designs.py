"""Systems that are preferred as often as one another, or as often as is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
from scipy.special import expit

import bedside
from bedside.ratings.table import frame_of
from tests.analysis.preference_study import Chooser, simulated_study
from tests.coverage.drawn_ratings import DrawnRun, new_run, opened
from tests.coverage.many_systems_designs import ANY
from tests.coverage.replicates import AT_MOST, Check, Design, Question, Study, covers, finds

PREFERENCES = Question(("compare", "--preferences"), bedside.preferences)
#: How much systems' qualities differ by case.
SPREAD = 0.8


def preferred(rng: np.random.Generator, cases: int, strengths: dict[str, float], raters: tuple[Chooser, ...]) -> Study:
    """Preferences of all pairs on all cases."""
    study = simulated_study(strengths, raters, cases=cases, spread=SPREAD, seed=int(rng.integers(1 << 31)))
    return compared_run("".join(strengths), cases).study(
        frame_of(study.rows), wins(strengths["A"] - strengths["B"]) if len(strengths) == 2 else 0.0
    )


@cache
def compared_run(systems: str, cases: int) -> DrawnRun:
    """A run of a conversation of each system on each case."""
    talks = [
        {"id": f"{system}-{case}", "system": system, "case_id": f"case {case}"}
        for system in systems for case in range(cases)
    ]  # fmt: skip
    return opened(new_run(f"compared {systems} {cases}", talks))


@cache
def wins(difference: float) -> float:
    """The first system's share of wins, over cases; ties, a fifth, are half a win."""
    qualities = difference + np.sqrt(2) * SPREAD * np.random.default_rng(3).normal(size=1_000_000)
    return 0.5 * 0.2 + 0.8 * float(expit(qualities).mean())


def preference_designs() -> Iterator[Design]:
    """By ``bedside compare --preferences``."""
    judge = Chooser("judge:m", levels=False)
    passes = replace(judge, place=0.6, passes=2)
    taste = replace(judge, place=1.0, both_orders=False)
    people = tuple(Chooser(f"human:{name}", both_orders=False, levels=False) for name in ("anna", "ben"))
    two = {"A": 0.0, "B": 0.0}
    found = finds("finds a preference", table="win_rates", p="p")
    share = covers("the share of wins' interval holds it", table="win_rates", name="wins")
    any_found = Check(ANY.words, finds(table="win_rates", p="p_corrected").happens, AT_MOST, ANY.why)
    drawn: dict[str, tuple[int, dict[str, float], tuple[Chooser, ...], tuple[Check, ...]]] = {
        "2 systems, 20 cases": (20, two, (judge,), (found, share)),
        "2 systems, 12 cases, 2 passes": (12, two, (passes,), (found, share)),
        "2 systems, one order each, a taste for the first place": (30, two, (taste,), (found,)),
        "2 systems, 25 cases, one better": (25, {"A": 0.8, "B": 0.0}, (judge,), (share,)),
        "2 people, 30 cases": (30, two, people, (found, share)),
        "3 systems, 20 cases": (20, dict.fromkeys("ABC", 0.0), (judge,), (any_found,)),
        "6 systems, 15 cases": (15, dict.fromkeys("ABCDEF", 0.0), (judge,), (any_found,)),
    }
    for name, (cases, strengths, raters, checks) in drawn.items():
        draw = partial(preferred, cases=cases, strengths=strengths, raters=raters)
        yield Design(f"preferences, {name}", PREFERENCES, draw, checks, few=5 if len(strengths) < 6 else 2)
