"""Targets, how near a study is to them, and when it may stop: the commands' own numbers, of whole items only."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.estimation import estimate
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.sampling import rater_slots
from bedside.annotation.study_targets import Target, TargetState, read_targets, target_states
from bedside.core.errors import InputError
from bedside.ratings.run import Run
from bedside.stats.fixed_width import reach, unseen_in_alpha, unseen_in_kappa
from tests.annotation.builders import QUESTION, copy_of, rater_answer
from tests.annotation.study import EMPATHY, GOAL, JUDGE, rating_plan

Level = Callable[[str, str], int]


def test_targets_are_read_as_they_are_written() -> None:
    assert read_targets("kappa±.10, mean±.2") == (Target("kappa", 0.1), Target("mean", 0.2))
    assert read_targets("empathy kappa+-0.1;alpha +/- .05") == (Target("kappa", 0.1, "empathy"), Target("alpha", 0.05))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no target is named"),
        ("kappa", "'kappa' is no target"),
        ("kappa±.1,kappa±.2", "a target is there twice"),
        ("kapa±.1", "there is no statistic 'kapa'"),
        ("kappa±0", "±0 is no half-width of kappa"),
        ("kappa±1.5", "±1.5 is no half-width of kappa"),
        ("empathy goal kappa±.1", "'empathy goal kappa±.1' is no target"),
    ],
)
def test_what_is_no_target_is_refused(text: str, what: str) -> None:
    with pytest.raises(InputError, match="until") as caught:
        read_targets(text)
    assert what in str(caught.value)


def varied(item: str, rater: str) -> int:
    """A level of each item that raters miss by one at times; the same whenever it is asked."""
    own = np.random.default_rng(int(item[1:], 16)).integers(1, 6)
    miss = np.random.default_rng([int(item[1:], 16), len(rater), ord(rater[-1])]).choice([-1, 0, 0, 0, 1])
    return int(np.clip(own + miss, 1, 5))


def hand_in(run: Run, plan: AnnotationPlan, count: int, level: Level = varied) -> Run:
    """The first answers of items in their order, an item after another; so many."""
    pairs = [(item.id, rater) for item in plan.items for rater in plan.raters_of.get(item.id, ())][:count]
    answers = [
        rater_answer(item, rater, {"empathy": str(level(item, rater)), "goal_alignment": str(level(item, rater))})
        for item, rater in pairs
    ]
    keep_answers(run, plan, answers)
    return Run(run.path)


def state_of(run: Run, plan: AnnotationPlan, text: str) -> TargetState:
    return target_states(run, plan, read_targets(text))[0]


def people(run: Run, metric: str = "empathy") -> Agreement:
    rows = agree(open_ratings_view(run), metrics=[metric], raters=["human:*"])
    return next(row for row in rows if row.kind == "people")


def test_kappa_is_the_one_that_agree_prints_and_reaches_with_what_is_unseen(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run)
    run = hand_in(run, plan, 120)
    row = people(run)
    kappa = row.statistics["kappa"]
    assert kappa.interval is not None
    state = state_of(run, plan, "empathy kappa±.04")
    assert (state.statistic, state.metric, state.system, state.items, state.of) == ("kappa", "empathy", None, 60, 80)
    assert (state.estimate, state.interval) == (kappa.estimate, kappa.interval)
    assert state.half_width == pytest.approx((kappa.interval.high - kappa.interval.low) / 2)
    cells = cells_of(run, "empathy")
    decides = reach(kappa, unseen_in_kappa(cells, scale=(1, 2, 3, 4, 5))) or 0.0
    assert state.half_width is not None
    assert state.half_width < decides
    # The study may stop just where what is unseen is within, too; not where the interval alone is.
    assert state_of(run, plan, f"empathy kappa±{decides + 1e-6}").reached
    assert not state_of(run, plan, f"empathy kappa±{decides - 1e-6}").reached
    assert not state_of(run, plan, f"empathy kappa±{state.half_width}").reached


def cells_of(run: Run, metric: str) -> Any:
    rows = run.ratings.filter(pl.col("rater").str.starts_with("human:"), pl.col("metric") == metric)
    wide = rows.pivot("rater", index="transcript_id", values="value").drop("transcript_id")
    return wide.to_numpy()


def test_only_whole_items_count(large: Run, tmp_path: Path) -> None:
    """81 answers are those of 40 items, and one of two to another."""
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, raters=("anna", "ben"))
    before = target_states(hand_in(run, plan, 80), plan, read_targets("kappa±.01, mean±.01"))
    after = target_states(hand_in(run, plan, 81), plan, read_targets("kappa±.01, mean±.01"))
    assert [(state.items, state.estimate, state.interval) for state in after] == [
        (state.items, state.estimate, state.interval) for state in before
    ]
    assert before[0].items == 40
    assert [was.more or 0 for was in before[:2]] == [1 + (now.more or 0) for now in after[:2]]


def test_means_are_those_of_people_alone_that_estimate_prints(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, by=("system",))
    run = hand_in(run, plan, 160)
    view = open_ratings_view(run)
    rows = {row.quantity: row for row in estimate(view, judge=JUDGE, metrics=["empathy"])}
    states = target_states(run, plan, read_targets("empathy mean±.2"))
    assert [state.system for state in states] == ["GPT-Secret", "Llama-Hidden"]
    for state in states:
        human = rows[str(state.system)].human
        assert human.interval is not None
        assert state.interval is not None
        assert state.estimate == pytest.approx(human.estimate, rel=1e-12)
        assert (state.interval.low, state.interval.high) == pytest.approx(
            (human.interval.low, human.interval.high), rel=1e-12
        )
        assert (state.items, state.of) == (40, 40)


def test_of_strata_that_were_drawn_alike_a_mean_is_of_all_that_is_there(large: Run, tmp_path: Path) -> None:
    """Of each length, of which there are as many, half and all were rated: it is the mean of both."""
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, by=("system", "length"), per=10)
    lengths = dict(run.factors.select("transcript_id", "length").iter_rows())
    origins = {item.id: item.transcript for item in plan.items}
    run = hand_in(run, plan, 80, lambda item, rater: 2 if str(lengths[origins[item]]) == "10" else 4)
    states = target_states(run, plan, read_targets("empathy mean±.2"))
    assert [(state.estimate, state.items, state.of) for state in states] == [(3.0, 20, 20)] * 2


def test_of_many_raters_who_share_few_items_alpha_counts(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, raters=rater_slots(10))
    run = hand_in(run, plan, 160)
    alpha = people(run).statistics["alpha"]
    state = state_of(run, plan, "empathy kappa±.1")
    assert (state.statistic, state.target.statistic) == ("alpha", "kappa")
    assert state.note.startswith("Two raters share too few items")
    assert (state.estimate, state.interval) == (alpha.estimate, alpha.interval)
    unseen = unseen_in_alpha(cells_of(run, "empathy"), metric="ordinal", scale=(1, 2, 3, 4, 5))
    decides = reach(alpha, unseen) or 0.0
    assert state_of(run, plan, f"empathy kappa±{decides + 1e-6}").reached
    assert not state_of(run, plan, f"empathy kappa±{decides - 1e-6}").reached


def test_what_is_still_expected_goes_with_the_square_of_the_width(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, raters=("anna", "ben"))
    run = hand_in(run, plan, 80)
    kappa = people(run).statistics["kappa"]
    decides = reach(kappa, unseen_in_kappa(cells_of(run, "empathy"), scale=(1, 2, 3, 4, 5))) or 0.0
    state = state_of(run, plan, f"empathy kappa±{decides / 1.25**0.5}")
    # A quarter more than the 40 items that are whole, two ratings each.
    assert (state.more, state.at_end, state.note) == (20, None, "")
    state = state_of(run, plan, "empathy kappa±.001")
    assert state.more == 80
    assert state.at_end == pytest.approx((state.half_width or 0) * 0.5**0.5)
    assert state.note == f"The plan ends with kappa ± {state.at_end:.2f}."
    run = hand_in(run, plan, 160)
    state = state_of(run, plan, "empathy kappa±.001")
    assert (state.more, state.reached, state.at_end) == (0, False, state.half_width)


def test_without_answers_nothing_is_known_and_nothing_reached(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"))
    states = target_states(run, plan, read_targets("kappa±.1, mean±.2"))
    # Two rubrics; of means two systems each.
    assert [(state.metric, state.system) for state in states] == [
        ("empathy", None),
        ("goal_alignment", None),
        ("empathy", "GPT-Secret"),
        ("empathy", "Llama-Hidden"),
        ("goal_alignment", "GPT-Secret"),
        ("goal_alignment", "Llama-Hidden"),
    ]
    assert {(state.estimate, state.interval, state.half_width, state.reached, state.more) for state in states} == {
        (None, None, None, False, None)
    }
    assert {state.note for state in states} == {"No item has all of its ratings yet."}


def test_ratings_that_are_all_equal_reach_nothing_by_chance(run: Run) -> None:
    plan = rating_plan(run)
    run = hand_in(run, plan, 20, lambda item, rater: 4)
    states = target_states(run, plan, read_targets("empathy kappa±.3, empathy mean±.5"))
    assert [state.reached for state in states] == [False] * 3
    assert all(state.note for state in states)


def test_who_takes_over_for_a_dropout_makes_items_whole(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, raters=("anna", "ben"))
    reassign(run, plan, "ben", ["cleo"])
    now = as_assigned(run, plan)
    run = hand_in(run, now, 60)
    for given in (plan, now):
        assert state_of(run, given, "empathy kappa±.1").items == 30


def test_targets_that_a_plan_can_not_be_about_are_refused(run: Run) -> None:
    alone = rating_plan(run, overlap=1)
    with pytest.raises(InputError, match="no item of the plan has two raters"):
        target_states(run, alone, read_targets("kappa±.1"))
    assert len(target_states(run, alone, read_targets("empathy mean±.1"))) == 2
    with pytest.raises(
        InputError, match="no kappa of warmth can be said of this plan; there is one of empathy, goal_alignment"
    ):
        target_states(run, rating_plan(run), read_targets("warmth kappa±.1"))
    codes = rating_plan(run, mode="codes", rubrics=(QUESTION,))
    with pytest.raises(InputError, match="no mean can be said of this plan"):
        target_states(run, codes, read_targets("mean±.1"))
    assert [state.metric for state in target_states(run, codes, read_targets("kappa±.1"))] == [QUESTION.name]
    audit = rating_plan(run, mode="audit", judge=JUDGE)
    with pytest.raises(InputError, match="no kappa can be said"):
        target_states(run, audit, read_targets("kappa±.1"))


def test_the_more_is_rated_the_less_is_expected(large: Run, tmp_path: Path) -> None:
    run = copy_of(large, tmp_path / "run")
    plan = rating_plan(run, rubrics=(EMPATHY, GOAL))
    states = [state_of(hand_in(run, plan, count), plan, "empathy mean±.45") for count in (40, 80, 120, 160)]
    assert [state.reached for state in states] == sorted(state.reached for state in states)
    assert (states[-1].reached, states[-1].more) == (True, 0)
    assert all(later <= before for before, later in pairwise(state.more or 0 for state in states))
