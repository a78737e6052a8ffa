"""What to rate next: the right units, and the gain that is promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.follow_up import follow_up_plan
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.proposals import propose
from bedside.annotation.sampling import rater_slots
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from benchmarks.proposal_allocation import DESIGNS, compared
from tests.annotation.study import EMPATHY, JUDGE, RATERS, USERS, exported, levels, rating_plan
from tests.soak import budget


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


def test_what_kappa_would_gain_is_what_is_gained(large: Run, tmp_path: Path) -> None:
    """Rate what is proposed by the same rule that the raters follow: the width comes out near what was promised."""
    ratios = []
    for seed in range(3):
        run = copy_of(large, tmp_path / str(seed))
        plan = rating_plan(run, per=30, rubrics=(EMPATHY,), raters=("anna", "ben"), seed=seed)
        rated(run, plan)
        found = propose(run, plan, aim="kappa", count=30)
        (gain,) = found.gains
        more = follow_up_plan(run, plan, found)
        rated(run, more)
        (after,) = propose(run, more, aim="kappa", count=5).gains
        assert after.units == 60
        assert after.half_width is not None
        assert gain.expected_half_width is not None
        ratios.append(after.half_width / gain.expected_half_width)
    assert np.mean(ratios) == pytest.approx(1, abs=0.2)


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
    with pytest.raises(DataError, match="nothing is left to propose"):
        propose(run, plan, aim="disagreement")
    with pytest.raises(DataError, match="there is no aim 'more'"):
        propose(run, plan, aim="more")  # type: ignore[arg-type]


def test_the_same_seed_proposes_the_same(large: Run, tmp_path: object) -> None:
    run = copy_of(large, tmp_path)
    plan = rating_plan(run, per=12)
    rated(run, plan)
    assert propose(run, plan, aim="kappa", seed=3) == propose(run, plan, aim="kappa", seed=3)


@pytest.mark.soak
def test_no_choice_of_strata_narrows_corrected_means_by_much() -> None:
    """Why no units are proposed for them. The interval holds the truth however the strata were chosen."""
    studies = budget(40, 400)
    slack = 2 * np.sqrt(0.05 * 0.95 / studies)
    for name in ("two, 270 and 30, noise .3 and 1.2", "0/1, 240 and 60, ones .1 and .5"):
        (design,) = (each for each in DESIGNS if each.name == name)
        records = compared(design, (20, 20), studies, 1)
        for record in records.values():
            assert all(0.95 - slack < share < 0.97 + slack for share in record.coverage)
        assert all(0.92 < records[rule].half_widths[0] < 1 for rule in ("seen", "known"))
