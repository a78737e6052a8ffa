"""Unitised alpha and gamma, against other implementations (``tests/reference/span_values.py``) and known truths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.core.errors import DataError
from bedside.stats import unitizing
from tests.analysis.builders import definite
from tests.stats.results import ends

KNOWN = json.loads((Path(__file__).parents[1] / "reference" / "spans.json").read_text())
Marks = list[list[list[tuple[int, int]] | None]]


@pytest.mark.parametrize("known", KNOWN)
def test_unitised_alpha_is_that_of_another_implementation(known: dict[str, Any]) -> None:
    result = unitizing.unitized_alpha([known["marks"]], lengths=[known["length"]])
    assert result.estimate == pytest.approx(known["alpha"], abs=1e-9)


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("many", [0, unitizing._MANY_SPANS], ids=["by program", "by all ways"])
def test_gamma_is_that_of_pygamma(known: dict[str, Any], many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alignments are equal; chance is, within both samples' error. Its own shuffling moves two raters less alike."""
    monkeypatch.setattr(unitizing, "_MANY_SPANS", many)
    monkeypatch.setattr(unitizing, "_SAMPLES", (30, 3000 if many else 30))
    other = known["gamma"]
    result = unitizing.gamma([known["marks"]], lengths=[known["length"]])
    observed, expected = result.details["observed disagreement"], definite(result.details["expected disagreement"])
    assert observed == pytest.approx(other["disorder"], rel=1e-6)
    assert result.estimate == pytest.approx(1 - definite(observed) / expected)
    if many:
        error = np.hypot(other["error"], 0.01 * expected)
        assert abs(expected - other["expected"]) < 3 * error
        assert expected == pytest.approx(other["shuffled"], rel=0.06)


def drawn(rng: np.random.Generator, length: int, most: int = 5) -> list[tuple[int, int]]:
    """Runs of marked turns at random."""
    marked = np.zeros(length + 2, dtype=np.intp)
    for start in rng.integers(1, length + 1, rng.integers(0, most)):
        marked[start : min(start + int(rng.integers(1, 4)), length + 1)] = 1
    edges = np.flatnonzero(np.diff(marked)).tolist()
    return [(start, end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]


@pytest.mark.parametrize("raters", [2, 3])
def test_chance_is_about_0_and_the_same_is_1(raters: int) -> None:
    rng, lengths = np.random.default_rng(raters), [20, 30, 40, 50] * 60
    by_chance: Marks = [[drawn(rng, length) for _ in range(raters)] for length in lengths]
    same: Marks = [[row[0]] * raters for row in by_chance]
    for statistic in (unitizing.unitized_alpha, unitizing.gamma):
        assert statistic(by_chance, lengths=lengths).estimate == pytest.approx(0, abs=0.04)
        assert statistic(same, lengths=lengths).estimate == pytest.approx(1)


def test_more_noise_is_less_agreement() -> None:
    rng = np.random.default_rng(1)
    estimates = []
    for kept in (0.9, 0.6, 0.3):
        truth = [drawn(rng, 40) for _ in range(80)]
        marks: Marks = [[[span for span in own if rng.random() < kept] for _ in range(2)] for own in truth]
        estimates.append(
            [definite(of(marks, lengths=[40] * 80).estimate) for of in (unitizing.unitized_alpha, unitizing.gamma)]
        )
    assert (np.diff(estimates, axis=0) < -0.05).all()


def test_several_continua_are_one_made_of_them() -> None:
    rng, lengths = np.random.default_rng(5), [10, 25, 17]
    marks = [[drawn(rng, length) for _ in range(3)] for length in lengths]
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    joined = [
        [(at + start, size) for at, row in zip(starts, marks, strict=True) for start, size in row[rater]]
        for rater in range(3)
    ]
    whole = unitizing.unitized_alpha([joined], lengths=[sum(lengths)])
    assert unitizing.unitized_alpha(marks, lengths=lengths).estimate == pytest.approx(definite(whole.estimate))


def test_intervals_leave_out_clusters_and_continua_of_one_rater_are_dropped() -> None:
    rng = np.random.default_rng(2)
    marks: Marks = [[own, own[:-1] if number % 3 else own] for number in range(40) for own in [drawn(rng, 30)]]
    marks += [[[(1, 2)], None]]
    for statistic in (unitizing.unitized_alpha, unitizing.gamma):
        plain = statistic(marks, lengths=[30] * 41)
        doubled = statistic([*marks, *marks], lengths=[30] * 82, clusters=[*range(41), *range(41)])
        assert (plain.n, plain.dropped) == (40, 1)
        low, high = ends(plain.interval)
        assert low < definite(plain.estimate) < high
        assert ends(doubled.interval) == pytest.approx((low, high), abs=0.02)


def test_what_has_no_value_says_why() -> None:
    dense: Marks = [[[(own + at, 9) for at in range(3)] for own in range(12)]]
    for statistic in (unitizing.unitized_alpha, unitizing.gamma):
        empty: list[Marks] = [[[[(0, 1)], None]], [[[], []]], []]
        for marks in empty:
            result = statistic(marks, lengths=[9] * len(marks))
            assert result.estimate is None
            assert result.missing
    assert unitizing.unitized_alpha([[[(0, 9)], [(0, 9)]]], lengths=[9]).missing
    assert unitizing.gamma(dense, lengths=[30]).missing


@pytest.mark.parametrize("marks", [[[[(8, 2)], []]], [[[(-1, 2)], []]], [[[(1, 0)], []]], [[[], []], [[], []]]])
def test_what_can_not_be_marked_is_refused(marks: Marks) -> None:
    for statistic in (unitizing.unitized_alpha, unitizing.gamma):
        with pytest.raises(DataError):
            statistic(marks, lengths=[9])


def test_a_rater_who_marks_a_turn_twice_is_refused() -> None:
    with pytest.raises(DataError):
        unitizing.unitized_alpha([[[(1, 3), (2, 2)], []]], lengths=[9])
