"""Intervals of corrected means and differences cover the truth as often as they say, however units were drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bedside.annotation.strata import DrawableUnit, drawn_units
from bedside.stats.stratified_means import JudgedUnits, difference, judged_units, mean
from tests.analysis.builders import definite
from tests.soak import budget

#: Letters are the systems of each case: of all as many, of some more, of few many, or of each system several.
STUDIES = {
    "balanced": ["ABC"] * 60,
    "unbalanced": ["A", "AB", "ABC", "BC", "C", "B"] * 15,
    "lopsided": ["A"] * 40 + ["B"] * 25 + ["AB"] * 10 + ["AABBBC"] * 12 + ["ABC"] * 10,
    "repeats": ["AAABBB"] * 15 + ["AB"] * 30 + ["AAB"] * 15 + ["ABB"] * 10,
}
MEANS = {"A": 3.0, "B": 3.3, "C": 2.8}


def units_of(systems_by_case: Sequence[str]) -> tuple[list[DrawableUnit], Any, Any]:
    """What can be drawn, with the system and case of each."""
    units, systems, cases = [], [], []
    for case, letters in enumerate(systems_by_case):
        counts: Counter[str] = Counter()
        for system in letters:
            place = f"case:{counts[system]}:{case}:transcript"
            units.append(DrawableUnit(f"{case}-{system}-{counts[system]}", "transcript", place))
            counts[system] += 1
            systems.append(system)
            cases.append(case)
    return units, np.array(systems), np.array(cases)


def judged(systems_by_case: Sequence[str], by_system: bool, seed: int) -> tuple[dict[str, JudgedUnits], Any]:
    """Units of systems A and B of which people rated about 60, as a plan draws them; and what people would say."""
    units, systems, cases = units_of(systems_by_case)
    names = sorted(set(systems))
    strata = [np.flatnonzero(systems == name) for name in names] if by_system else [np.arange(len(units))]
    chosen = {
        unit.transcript
        for stratum in strata
        for unit in drawn_units([units[n] for n in stratum], 60 // len(strata), {}, "random", 0.0, str(seed))
    }
    seen = np.array([unit.transcript in chosen for unit in units])
    rng = np.random.default_rng(seed)
    people = np.array([MEANS[name] for name in systems]) + rng.normal(0, 0.6, cases.max() + 1)[cases]
    people += rng.normal(0, 0.7, cases.size)
    judge = 0.4 + 0.8 * people + rng.normal(0, 0.3, cases.max() + 1)[cases] + rng.normal(0, 0.5, cases.size)
    labels = np.where(seen, people, np.nan)
    return (
        {s: judged_units(judge[systems == s], labels[systems == s], cases=cases[systems == s]) for s in "AB"},
        {s: float(people[systems == s].mean()) for s in "AB"},
    )


@pytest.mark.slow
@pytest.mark.soak
def test_intervals_cover_what_all_would_have_been_rated() -> None:
    """Of cases like these, and of these alone; each transcript drawn by itself, or the same cases of each system."""
    times = budget(120, 1000)
    covered: Counter[tuple[str, ...]] = Counter()
    for study, systems_by_case in STUDIES.items():
        for by_system in (False, True):
            for seed in range(times):
                units, at_hand = judged(systems_by_case, by_system, seed)
                for about in ("cases", "run"):
                    truth = MEANS if about == "cases" else at_hand
                    results = {
                        "mean": (mean(units["A"], about=about), truth["A"]),
                        "difference": (difference(units["A"], units["B"], about=about), truth["A"] - truth["B"]),
                    }
                    for quantity, (result, value) in results.items():
                        inside = definite(result.interval).low <= value <= definite(result.interval).high
                        covered[study, f"{by_system}", about, quantity] += inside
    shares = {design: count / times for design, count in covered.items()}
    error = np.sqrt(0.95 * 0.05 / times)
    assert all(0.95 - 0.01 - 3.5 * error < share < 0.95 + 0.015 + 3.5 * error for share in shares.values()), shares
    for about in ("cases", "run"):
        for quantity in ("mean", "difference"):
            own = [share for design, share in shares.items() if design[2:] == (about, quantity)]
            assert 0.93 < np.mean(own) < 0.97, (about, quantity, own)
