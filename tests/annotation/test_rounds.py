"""Rounds of annotation: ratings of two plans stand side by side, each with the chance of its own draw."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_store import StoreSummary, keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.follow_up import follow_up_plan
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_view
from bedside.annotation.proposals import Aim, propose
from bedside.core.errors import DataError, InputError
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from tests.annotation.study import EMPATHY, RATERS, USERS, exported, rating_plan


def answered(run: Run, plan: AnnotationPlan, empathy: int) -> None:
    """Everybody gives this level of empathy to everything, and skips goal alignment."""

    def say(item: str, rater: str) -> Mapping[str, Any]:
        return {"empathy": str(empathy), "goal_alignment": "1"}

    keep_answers(run, plan, read_export(plan, exported(plan, say, USERS), RATERS, where="x").answers)


def people(run: Run, metric: str = "empathy") -> pl.DataFrame:
    return run.ratings.filter(rated_by_humans(), pl.col("metric") == metric)


def test_a_second_plan_of_the_same_raters_takes_nothing_from_the_first(run: Run) -> None:
    first, second = (rating_plan(run, seed=seed) for seed in (1, 2))
    assert round_of(first) == f"plan-{plan_hash(first)}" != round_of(second)
    answered(run, first, 2)
    before = people(run)
    answered(run, second, 5)
    assert people(run).filter(pl.col("round") == round_of(first)).equals(before)
    answered(run, first, 2)  # a pull again
    by_round = people(run).group_by("round").agg(pl.col("value").unique())
    assert dict(by_round.iter_rows()) == {round_of(first): [2.0], round_of(second): [5.0]}
    assert not people(run).select("transcript_id", "rater", "metric", "round").is_duplicated().any()


def test_a_round_has_the_name_that_it_is_given(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, round="pilot 1")
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan
    answered(run, plan, 3)
    assert people(run)["round"].unique().to_list() == ["pilot 1"]
    assert run.ratings.filter(~rated_by_humans())["round"].unique().to_list() == [""]
    with pytest.raises(DataError, match="can't be the name of a round"):
        rating_plan(run, round="a/b")


def test_what_is_said_of_a_plan_is_of_its_round(run: Run) -> None:
    pilot, main = (rating_plan(run, seed=seed, round=name) for seed, name in ((1, "pilot"), (2, "main")))
    answered(run, pilot, 1)
    answered(run, main, 4)
    answers = {(item.id, rater): None for item in main.items for rater in main.raters_of[item.id]}
    view = plan_view(run, main, answers)  # type: ignore[arg-type]
    assert set(view.ratings.filter(rated_by_humans(), pl.col("metric") == "empathy")["value"]) == {4.0}


def test_the_chance_of_the_draw_stays_with_the_rating(run: Run) -> None:
    plan = rating_plan(run, by=("system",), per=2, round="main")
    assert {item.chance for item in plan.items} == {2 / 6}
    everything = rating_plan(run, focus="disagreement")
    assert {item.chance for item in everything.items} == {1.0}
    mixed = rating_plan(run, per=4, focus="disagreement", random_share=0.5)
    assert sorted(item.chance or 0.0 for item in mixed.items) == [0.0, 0.0, 2 / 12, 2 / 12]
    answered(run, plan, 3)
    assert set(people(run)["drawn"]) == {2 / 6}
    entry = run.manifest["imports"][-1]
    assert (entry["rounds"], entry["by"]) == (["main"], ["system"])


@pytest.mark.slow
def test_shares_of_draws_are_the_chances(run: Run) -> None:
    """Over many seeds, each unit comes in as often as its chance says, whatever goes first."""
    times: dict[str, int] = {}
    at_random: dict[str, int] = {}
    seeds = 400
    for seed in range(1000, 1000 + seeds):
        for item in rating_plan(run, per=5, seed=seed).items:
            times[item.transcript] = times.get(item.transcript, 0) + 1
        for item in rating_plan(run, per=4, focus="disagreement", random_share=0.5, seed=seed).items:
            if item.chance:
                at_random[item.transcript] = at_random.get(item.transcript, 0) + 1
    # Four standard errors of a share.
    assert all(abs(count / seeds - 5 / 12) < 0.1 for count in times.values())
    assert len(at_random) == 12
    assert all(abs(count / seeds - 2 / 12) < 0.075 for count in at_random.values())


@pytest.mark.parametrize(("aim", "chance"), [("kappa", None), ("disagreement", 0.0)])
def test_a_follow_up_is_of_the_same_round_and_was_not_drawn_alone(
    aim: Aim, chance: float | None, run: Run
) -> None:
    plan = rating_plan(run, by=("system",), per=2, overlap=1, round="main")
    answered(run, plan, 3)
    following = follow_up_plan(run, plan, propose(run, plan, aim=aim, count=4))
    assert round_of(following) == "main"
    assert [item.chance for item in following.items] == [chance] * 4


def test_two_plans_of_one_round_leave_no_chance_that_is_wrong(run: Run) -> None:
    """A unit that either could draw came in with more than the chance of one; what was picked stays so."""
    first, second = (rating_plan(run, per=4, seed=seed, round="main") for seed in (1, 2))
    picked = rating_plan(run, per=4, focus="disagreement", random_share=0.5, round="main")
    answered(run, first, 2)
    assert set(people(run)["drawn"]) == {4 / 12}
    answered(run, second, 2)
    assert set(people(run)["drawn"]) == {4 / 12, None}
    answered(run, first, 2)
    assert set(people(run)["drawn"]) == {None}
    answered(run, picked, 2)
    assert set(people(run)["drawn"]) == {None, 0.0}


def test_imports_of_two_rounds_stand_side_by_side(run: Run, tmp_path: Path) -> None:
    name = run.index["id"][0]
    for number, round in enumerate(("pilot", "main", "main")):
        file = tmp_path / f"{number}.csv"
        file.write_text(f"item,rater,metric,value\n{name},anna,empathy,{number + 1}\n")
        added, replaced = import_ratings(run, file, read_rating_file(file), round)
        assert (added, replaced) == (1, number // 2)
    assert dict(people(run).select("round", "value").iter_rows()) == {"pilot": 1.0, "main": 3.0}


def test_a_metric_has_one_scale_in_a_run(run: Run, tmp_path: Path) -> None:
    """Before, the later import's scale was taken for all, and ratings on 0 to 1 were averaged with those on 1 to 5."""
    name = run.index["id"][0]
    for number, scale in enumerate(("1-5", "1-5", "0,1")):
        file = tmp_path / f"{number}.csv"
        file.write_text(f"item,rater,metric,value\n{name},anna,warmth,1\n")
        ratings = read_rating_file(file, RatingReading(scales=parse_scales([f"warmth={scale}"])))
        if number < 2:
            import_ratings(run, file, ratings)
            continue
        with pytest.raises(InputError, match=r"another scale than in .*0\.csv: 0, 1, not 1, 2, 3, 4, 5"):
            import_ratings(run, file, ratings)


def test_a_file_says_round_and_chance_of_each_rating(run: Run, tmp_path: Path) -> None:
    first, second = run.index["id"][:2]
    file = tmp_path / "ratings.csv"
    file.write_text(
        "item,rater,metric,value,round,drawn\n"
        f"{first},anna,empathy,1,test,0.5\n{first},anna,empathy,2,retest,\n{second},anna,empathy,3,,1\n"
    )
    import_ratings(run, file, read_rating_file(file))
    assert people(run).sort("value").select("round", "drawn").rows() == [
        ("test", 0.5), ("retest", None), ("import", 1.0)
    ]  # fmt: skip
    assert run.manifest["imports"][-1]["rounds"] == ["import", "retest", "test"]
    file.write_text(f"item,rater,metric,value,drawn\n{first},anna,empathy,1,2\n")
    with pytest.raises(InputError, match="'2' is no number from 0 to 1"):
        read_rating_file(file)


_TIMES = count()


def said(run: Run, plan: AnnotationPlan, level: int | None) -> StoreSummary:
    """What becomes of it that anna gives this level of empathy to all of the plan's items, or skips them."""
    now = f"{next(_TIMES):04}"
    answers = [
        RaterAnswer(item.id, "anna", "skipped" if level is None else "submitted",
                    {} if level is None else {"empathy": (str(level),)}, id=item.id, updated=now)
        for item in plan.items
    ]  # fmt: skip
    return keep_answers(Run(run.path), plan, answers)


def annas_plans(run: Run) -> tuple[AnnotationPlan, AnnotationPlan]:
    """Two plans of one round that show anna all 12 transcripts."""
    first, second = (
        rating_plan(run, rubrics=(EMPATHY,), raters=("anna",), overlap=1, round="main", seed=seed)
        for seed in (1, 2)
    )
    return first, second


def standing(run: Run) -> tuple[list[float], int]:
    """The values that people gave, and how many of their ratings are missing."""
    rated = Run(run.path).ratings.filter(rated_by_humans(), pl.col("metric") == "empathy")
    return sorted(rated["value"].drop_nulls().unique()), rated["value"].null_count()


@pytest.mark.parametrize("skipped_first", [True, False])
def test_a_rating_stands_in_place_of_a_skip(run: Run, skipped_first: bool) -> None:
    """Before, the skip stood where its plan was imported first, and what was rated was lost to every answer."""
    first, second = annas_plans(run)
    given = ((first, None), (second, 4)) if skipped_first else ((first, 4), (second, None))
    kept = [said(run, plan, level) for plan, level in given]
    assert standing(run) == ([4.0], 0)
    assert [(each.ratings, each.filled, dict(each.standing)) for each in kept] == (
        [(12, 0, {}), (12, 0, {})] if skipped_first else [(12, 0, {}), (0, 12, {})]
    )
    for plan, level in (*given, *reversed(given)):
        said(run, plan, level)
        assert standing(run) == ([4.0], 0), "whatever is pulled again"


def test_who_skips_on_second_thoughts_has_skipped_unless_another_plan_has_a_rating(run: Run) -> None:
    first, second = annas_plans(run)
    said(run, first, 3)
    assert said(run, first, None).missing == 12
    assert standing(run) == ([], 12)
    said(run, first, 3)
    kept = said(run, second, 5)
    assert (kept.standing, standing(run)) == ({plan_hash(first): 12}, ([3.0], 0))
    assert said(run, first, None).filled == 12
    assert standing(run) == ([5.0], 0), "the other plan's, which was kept"
    kept = said(run, first, 2)
    assert (kept.standing, standing(run)) == ({}, ([2.0], 0)), "of two ratings the first plan's, as ever"
    assert said(run, second, None).ratings == 0
    assert standing(run) == ([2.0], 0)


def test_what_was_imported_stands_before_a_skip_and_a_later_rating(run: Run, tmp_path: Path) -> None:
    plan, _ = annas_plans(run)
    file = tmp_path / "sheet.csv"

    def imported(level: int) -> None:
        names = run.index["id"].sort()
        rows = "".join(f"{name},anna,empathy,{level}\n" for name in names)
        file.write_text(f"item,rater,metric,value\n{rows}")
        import_ratings(Run(run.path), file, read_rating_file(file), "main")

    assert said(run, plan, None).missing == 12
    imported(4)
    assert standing(run) == ([4.0], 0)
    assert said(run, plan, None).filled == 12
    assert standing(run) == ([4.0], 0)
    kept = said(run, plan, 2)
    assert (kept.standing, standing(run)) == ({"sheet.csv": 12}, ([4.0], 0))
    imported(5)
    assert said(run, plan, 2).standing == {"sheet.csv": 12}
    assert standing(run) == ([5.0], 0), "a corrected sheet takes the place of what it said before"
