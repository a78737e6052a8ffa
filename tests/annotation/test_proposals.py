"""What to rate next: the right units, and the gain that is promised."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bedside.analysis.agreement import agree
from bedside.analysis.estimation import estimate
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.follow_up import follow_up_plan
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.mean_proposals import CorrectedUnits, _allocate, _error
from bedside.annotation.proposals import propose
from bedside.annotation.sampling import rater_slots
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.reports.annotation import proposal_tables
from bedside.reports.renderers.markdown import markdown
from bedside.stats.stratified_means import judged_units
from bedside.support.errors import DataError
from tests.annotation.study import EMPATHY, JUDGE, RATERS, USERS, exported, levels, rating_plan


def rated(run: Run, plan: AnnotationPlan, open_: int = 0) -> None:
    left = {item.id for item in plan.items[:open_]}
    asked = {"notes", *(each.rubric.name for each in plan.rubrics)}

    def say(item: str, rater: str) -> dict[str, object] | None:
        return (
            None
            if item in left
            else {name: said for name, said in levels(item, rater).items() if name in asked}
        )

    tasks = exported(plan, say, USERS)
    keep_answers(run, plan, read_export(plan, tasks, RATERS, where="x").answers)


def copy_of(run: Run, tmp_path: object) -> Run:
    import shutil

    return Run(shutil.copytree(run.path, f"{tmp_path}/run"))


def test_units_that_one_person_rated_come_first_for_kappa(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    once = rating_plan(run, overlap=1, per=5, seed=1, round="main")
    rated(run, once)
    without = [(item.transcript, item.unit) for item in once.items]
    plan = rating_plan(run, per=20, seed=2, without=without, round="main")
    rated(run, plan)
    found = propose(run, plan, aim="kappa", count=8)
    assert {each.transcript for each in found.proposals[:5]} == {item.transcript for item in once.items}
    assert [(each.rated_by, each.raters_wanted) for each in found.proposals] == [(1, 1)] * 5 + [(0, 2)] * 3
    assert not {each.transcript for each in found.proposals} & {item.transcript for item in plan.items}


def test_the_half_width_now_is_that_of_the_agreement_table(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=40, raters=("anna", "ben"))
    rated(run, plan)
    found = propose(run, plan, aim="kappa", count=40)
    by_metric = {gain.metric: gain for gain in found.gains}
    for row in agree(open_ratings_view(run.path), metrics=["empathy", "goal_alignment"], raters=["human:*"]):
        if row.kind == "people":
            interval = row.statistics["kappa"].interval
            assert interval is not None
            assert by_metric[row.metric].half_width == pytest.approx((interval.high - interval.low) / 2)
            assert by_metric[row.metric].units == 40
    # Twice the units: about 1/√2 of the width.
    ratio = by_metric["empathy"].expected_half_width / by_metric["empathy"].half_width  # type: ignore[operator]
    assert 0.6 < ratio < 0.8


def test_what_kappa_would_gain_is_what_is_gained(large: Run, tmp_path: object) -> None:
    """Rate what is proposed by the same rule that the raters follow: the width comes out near what was promised."""
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=30, rubrics=(EMPATHY,), raters=("anna", "ben"))
    rated(run, plan)
    found = propose(run, plan, aim="kappa", count=30)
    (gain,) = found.gains
    more = follow_up_plan(run, plan, found)
    rated(run, more)
    (after,) = propose(run, more, aim="kappa", count=5).gains
    assert after.units == 60
    assert after.half_width == pytest.approx(gain.expected_half_width, rel=0.3)


def corrected(human: np.ndarray, judge: np.ndarray) -> CorrectedUnits:
    """Units of which people rated the first."""
    return CorrectedUnits(
        judged_units(judge, np.pad(human, (0, judge.size - human.size), constant_values=np.nan))
    )


def test_new_units_go_where_the_judge_is_least_sure(large: Run, tmp_path: object) -> None:
    rng = np.random.default_rng(0)
    judge = rng.integers(1, 6, 60).astype(float)
    good, bad = judge[:15] + rng.choice((-0.1, 0.1), 15), judge[:15] + rng.choice((-2.0, 2.0), 15)
    values = {
        "m": {
            "good": corrected(good, judge),
            "bad": corrected(bad, judge),
        }
    }
    scales = {"m": Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)}
    shares = _allocate(values, scales, {"good": 45, "bad": 45}, 20)
    assert sum(shares.values()) == 20
    assert shares["bad"] > 15
    # As good as any other division: the greedy choice is optimal where each unit brings less than the one before.
    total = {n: _error(values["m"]["bad"], n) + _error(values["m"]["good"], 20 - n) for n in range(21)}
    assert total[shares["bad"]] == pytest.approx(min(total.values()))


def test_systems_nobody_rated_come_first() -> None:
    judge = np.arange(1.0, 6.0).repeat(4)
    none = corrected(np.array([]), judge)
    some = corrected(judge[:8], np.concatenate([judge[:8] + 1, judge[8:]]))
    scales = {"m": Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)}
    shares = _allocate({"m": {"none": none, "some": some}}, scales, {"none": 20, "some": 12}, 3)
    assert shares == {"none": 3}


def test_the_half_width_of_a_corrected_mean_is_that_of_the_estimate(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=12, by=("system",), raters=("anna", "ben"))
    rated(run, plan)
    found = propose(run, plan, aim="estimate", count=20)
    now = {(gain.metric, gain.quantity): gain for gain in found.gains}
    for each in estimate(open_ratings_view(run.path), judge=JUDGE, metrics=["empathy"]):
        interval = each.corrected.interval
        if " − " not in each.quantity and interval is not None:
            gain = now["empathy", f"corrected mean of {each.quantity}"]
            assert gain.half_width == pytest.approx((interval.high - interval.low) / 2)
            assert gain.expected_half_width is not None
            assert gain.added == 0 or gain.expected_half_width < gain.half_width  # type: ignore[operator]
    assert sum(gain.added for gain in found.gains if gain.metric == "empathy") == 20
    assert all(each.rated_by == 0 for each in found.proposals)
    assert "half-width" in markdown(proposal_tables(found)[1])


def test_the_most_disputed_units_are_proposed_and_go_to_somebody_else(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=10, raters=("anna", "ben", "cleo"), rubrics=(EMPATHY,))
    rated(run, plan)
    found = propose(run, plan, aim="disagreement", count=4)
    ratings = Run(run.path).ratings.filter(pl.col("metric") == "empathy", pl.col("replicate") == 0)
    apart: dict[str, float] = {}
    for item in plan.items:
        own = ratings.filter(pl.col("transcript_id") == item.transcript)
        people = own.filter(pl.col("rater") != JUDGE)["value"].to_list()
        judge = own.filter(pl.col("rater") == JUDGE)["value"][0]
        apart[item.transcript] = max(abs(judge - float(np.median(people))), max(people) - min(people))
    worst = sorted(apart.values(), reverse=True)[:4]
    assert [apart[each.transcript] for each in found.proposals] == worst
    more = follow_up_plan(run, plan, found)
    for item in more.items:
        (rater,) = more.raters_of[item.id]
        before = next(
            raters
            for name, raters in plan.raters_of.items()
            if plan.by_id[name].transcript == item.transcript
        )
        assert rater not in before
    assert {item.drawn for item in more.items} == {"disagreement"}
    both = rating_plan(run, per=10, raters=("anna", "ben"), rubrics=(EMPATHY,), seed=4)
    rated(run, both)
    with pytest.raises(DataError, match="have rated all that is proposed"):
        follow_up_plan(run, both, propose(run, both, aim="disagreement", count=1))


def test_answers_still_to_come_are_counted_and_not_proposed_again(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=20)
    rated(run, plan, open_=6)
    found = propose(run, plan, aim="kappa", count=100)
    assert found.open == 12
    assert len(found.proposals) == 60
    assert not {each.transcript for each in found.proposals} & {item.transcript for item in plan.items}


def test_without_ratings_it_says_that_nothing_can_be_said(run: Run) -> None:
    plan = rating_plan(run, per=2, raters=rater_slots(2))
    found = propose(run, plan, aim="kappa", count=3)
    assert {gain.missing for gain in found.gains} == {"nobody has rated it"}
    found = propose(run, plan, aim="estimate", count=3)
    assert all(gain.missing == "people rated 0 of it, fewer than 3" for gain in found.gains)
    with pytest.raises(DataError, match="nothing is left to propose"):
        propose(run, plan, aim="disagreement")
    with pytest.raises(DataError, match="there is no aim 'more'"):
        propose(run, plan, aim="more")  # type: ignore[arg-type]


def test_the_same_seed_proposes_the_same(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=12)
    rated(run, plan)
    assert propose(run, plan, aim="estimate", seed=3) == propose(run, plan, aim="estimate", seed=3)
