"""The gate: what passes, what doesn't, and what is asked back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bedside.analysis.gate import gate
from bedside.analysis.non_inferiority import margins_of
from bedside.core.errors import DataError
from bedside.ratings.scales import parse_scale
from bedside.reports.equivalence import gate_table
from tests.analysis.ratings_rows import Row, view
from tests.soak import budget

BASE = np.round(np.random.default_rng(1).normal(3, 0.8, 40), 2)
WOBBLE = np.tile((0.2, -0.2), 20)
MARGIN = margins_of({"empathy": 0.3})


def rated(system: str, values: np.ndarray, metric: str = "empathy", rater: str = "judge:m") -> list[Row]:
    return [(f"{system}{i}", system, f"c{i}", metric, rater, float(value)) for i, value in enumerate(values)]


def safe(system: str, failing: tuple[int, ...] = (), rater: str = "judge:m") -> list[Row]:
    """Ratings by the shipped rubric of safety, by which 1 is a leak."""
    return rated(system, np.array([1.0 if i in failing else 0.0 for i in range(40)]), "safety", rater)


GOOD = rated("A", BASE) + rated("B", BASE + WOBBLE)


def test_a_system_that_is_no_worse_passes() -> None:
    held = gate(view(GOOD + safe("A") + safe("B")), baseline="A", margins=MARGIN)
    assert (held.system, held.passed) == ("B", True)
    (check,) = held.safety
    assert (check.level, check.better, check.passed) == (1, "lower", True)
    assert "B against A: passed" in str(gate_table(held))


@pytest.mark.parametrize("shift", [-0.25, -0.6])
def test_a_system_that_may_be_worse_does_not_pass(shift: float) -> None:
    held = gate(view(rated("A", BASE) + rated("B", BASE + WOBBLE + shift)), baseline="A", margins=MARGIN)
    assert not held.passed
    assert "nothing is said of safety" in str(gate_table(held))


def test_one_margin_of_two_is_not_enough() -> None:
    table = GOOD + rated("A", BASE, "warmth") + rated("B", BASE - 0.5 + WOBBLE, "warmth")
    held = gate(view(table), baseline="A", margins=margins_of({"empathy": 0.3, "warmth": "0.3:higher"}))
    assert [test.is_shown for test in held.margins] == [True, False]
    assert not held.passed


def test_one_failure_of_safety_by_any_rater_stops_it() -> None:
    table = GOOD + safe("A", (1, 2)) + safe("B") + safe("B", (7,), rater="judge:other")
    held = gate(view(table), baseline="A", margins=MARGIN)
    (check,) = held.safety
    assert (check.failed, check.failed_before, held.passed) == (("B7",), 2, False)
    assert "1 transcript failed: B7" in str(gate_table(held))


def test_of_safety_everybodys_ratings_count() -> None:
    """Whose ratings the margins rest on decides nothing of safety, nor of which transcripts there are."""
    table = GOOD + safe("A") + safe("B", (4,), rater="human:anna")[:5] + safe("B")
    held = gate(view(table), baseline="A", margins=MARGIN, raters=["judge:*"])
    (check,) = held.safety
    assert (check.failed, check.rated, check.unrated) == (("B4",), 40, 0)


def test_a_transcript_without_a_rating_of_safety_stops_it() -> None:
    held = gate(view(GOOD + safe("A") + safe("B")[:-3]), baseline="A", margins=MARGIN)
    (check,) = held.safety
    assert (check.rated, check.unrated, held.passed) == (37, 3, False)
    assert "3 transcripts not rated" in str(gate_table(held))


def test_other_metrics_of_safety_are_named_with_the_level_at_which_they_fail() -> None:
    ratings = view(GOOD + rated("A", np.zeros(40), "harm") + rated("B", np.eye(40)[3] * 2, "harm"))
    study = replace(ratings, scales={"harm": parse_scale("0-2")})
    held = gate(study, baseline="A", margins=MARGIN, safety={"harm": 2})
    assert held.safety[0].failed == ("B3",)
    with pytest.raises(DataError, match="whether higher or lower is better of harm"):
        gate(study, baseline="A", margins=MARGIN, safety={"harm": 1})


def test_too_few_cases_are_said() -> None:
    few = [row for row in GOOD if int(row[2][1:]) < 4]  # type: ignore[index]
    held = gate(view(few), baseline="A", margins=margins_of({"empathy": 0.1}))
    assert not held.passed
    assert "too few cases" in str(gate_table(held))


def test_what_is_not_clear_is_asked_back() -> None:
    with pytest.raises(DataError, match="2 systems could be meant: B, C; name one with `system`"):
        gate(view(GOOD + rated("C", BASE)), baseline="A", margins=MARGIN)
    with pytest.raises(
        DataError, match="rated by people and by judge:m; name whose ratings count with `raters`"
    ):
        gate(view(GOOD + rated("A", BASE, rater="human:anna") + rated("B", BASE, rater="human:anna")),
             baseline="A", margins=MARGIN)  # fmt: skip
    with pytest.raises(DataError, match=r"write warmth=0\.3:higher or warmth=0\.3:lower"):
        gate(view(GOOD + rated("A", BASE, "warmth") + rated("B", BASE, "warmth")),
             baseline="A", margins=margins_of({"warmth": 0.3}))  # fmt: skip
    with pytest.raises(DataError, match="'Z'"):
        gate(view(GOOD), baseline="Z", margins=MARGIN)
    with pytest.raises(DataError, match="a comparison needs two systems"):
        gate(view(GOOD), baseline="A", margins=MARGIN, system="A")


@pytest.mark.slow
@pytest.mark.soak
def test_a_worse_system_passes_in_five_of_a_hundred() -> None:
    """Worse by the margin on one metric of two: studies of 20 cases."""
    rng = np.random.default_rng(6)
    passed, studies = 0, budget(100, 1000)
    for _ in range(studies):
        base, other = rng.normal(3, 0.8, (2, 20))
        table = [
            *rated("A", base), *rated("B", base - 0.3 + rng.normal(0, 0.5, 20)),
            *rated("A", other, "warmth"), *rated("B", other + rng.normal(0, 0.5, 20), "warmth"),
        ]  # fmt: skip
        margins = margins_of({"empathy": 0.3, "warmth": "0.5:higher"})
        passed += gate(view(table), baseline="A", margins=margins).passed
    assert passed / studies < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / studies)
