"""What a plan can show: the power that is promised is there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bedside.annotation.plan_power import LEVEL, POWER, shown_differences
from bedside.ratings.run import Run
from bedside.reports.annotation import plan_tables
from bedside.reports.renderers.markdown import markdown
from bedside.stats import overlapping
from tests.annotation.study import SYSTEMS, rating_plan


@pytest.mark.parametrize("per", [4, 12, 30])
def test_the_smallest_difference_is_shown_as_often_as_is_said(large: Run, per: int) -> None:
    (shown,) = shown_differences(large, rating_plan(large, by=("system",), per=per))
    assert (shown.a, shown.b, shown.pairs, shown.alone_a, shown.alone_b) == (*SYSTEMS, per, 0, 0)
    assert shown.smallest is not None
    differences = np.random.default_rng(per).normal(shown.smallest, 1, size=(20_000, per))
    rejected = stats.ttest_1samp(differences, 0, axis=1).pvalue <= LEVEL
    assert rejected.mean() == pytest.approx(POWER, abs=0.012)


def test_systems_without_common_cases_are_compared_unpaired(large: Run) -> None:
    halves = [
        (name, "transcript")
        for name, system, case in large.index.select("id", "system", "case_id").iter_rows()
        if (system == SYSTEMS[0]) == (int(str(case).removeprefix("hushcase")) < 20)
    ]
    plan = rating_plan(large, by=("system",), per=15, without=halves)
    (shown,) = shown_differences(large, plan)
    assert (shown.pairs, shown.alone_a, shown.alone_b, shown.kind) == (0, 15, 15, "unpaired")
    assert shown.smallest is not None
    rng = np.random.default_rng(3)
    a, b = rng.normal(shown.smallest, 1, size=(20_000, 15)), rng.normal(0, 1, size=(20_000, 15))
    rejected = stats.ttest_ind(a, b, axis=1).pvalue <= LEVEL
    assert rejected.mean() == pytest.approx(POWER, abs=0.012)


def test_partly_shared_cases_are_compared_with_the_others(large: Run) -> None:
    """They were called unpaired, and promised what the test of two groups shows."""
    own = [
        (name, "transcript")
        for name, system, case in large.index.select("id", "system", "case_id").iter_rows()
        if not (0 if system == SYSTEMS[0] else 6)
        <= int(str(case).removeprefix("hushcase"))
        < 10 + 6 * (system != SYSTEMS[0])
    ]
    plan = rating_plan(large, by=("system",), without=own)
    (shown,) = differences = shown_differences(large, plan)
    assert (shown.pairs, shown.alone_a, shown.alone_b, shown.kind) == (4, 6, 6, "partly shared")
    assert shown.smallest is not None
    rng = np.random.default_rng(4)
    a, b = rng.normal(shown.smallest, 1, size=(500, 10)), rng.normal(0, 1, size=(500, 10))
    tests = [overlapping.t_test(x[:4], y[:4], x[4:], y[4:]).p for x, y in zip(a, b, strict=True)]
    assert np.mean([p is not None and p <= LEVEL for p in tests]) == pytest.approx(POWER, abs=0.05)
    power = plan_tables(plan, differences)[2]
    assert "partly shared" in markdown(power)
    assert "half of the cases or fewer pair, and all count" in markdown(power)


def test_too_few_cases_promise_nothing(large: Run) -> None:
    plan = rating_plan(large, by=("system",), per=2)
    differences = shown_differences(large, plan)
    assert differences[0].smallest is None
    assert "–: too few cases to show any difference." in markdown(plan_tables(plan, differences)[2])


def test_an_audit_promises_no_difference_of_systems(large: Run) -> None:
    plan = rating_plan(large, by=("system",), per=12)
    assert shown_differences(large, plan)
    assert shown_differences(large, plan.model_copy(update={"mode": "audit"})) == (), "it measures the judge"
