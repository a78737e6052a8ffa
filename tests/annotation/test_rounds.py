"""Rounds, revisions and new hands: which answer counts, by which plan it came, with which chance, and who rates on."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_store import StoreSummary, keep_answers, plan_folder, read_store, restore_answer
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.plan_choices import Aim
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress, plan_view
from bedside.annotation.proposals import follow_up_plan, propose
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.core.errors import DataError, InputError
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from tests.annotation.builders import gold_cases, keep, people, rater_answer
from tests.annotation.study import EMPATHY, rating_plan
from tests.conftest import Call, works


def answered(run: Run, plan: AnnotationPlan, empathy: int) -> None:
    """Everybody gives this level of empathy to everything."""
    keep(run, plan, lambda item, rater: {"empathy": str(empathy), "goal_alignment": "1"})


def empathies(run: Run) -> pl.DataFrame:
    return people(run, "empathy")


def imported(run: Run, path: Path, text: str, round: str = "import", **reading: Any) -> tuple[int, int]:
    path.write_text(text)
    ratings = read_rating_file(path, RatingReading(**reading)) if reading else read_rating_file(path)
    return import_ratings(Run(run.path), path, ratings, round)


def test_a_second_plan_of_the_same_raters_takes_nothing_from_the_first(run: Run) -> None:
    first, second = (rating_plan(run, seed=seed) for seed in (1, 2))
    assert round_of(first) == f"plan-{plan_hash(first)}" != round_of(second)
    answered(run, first, 2)
    before = empathies(run)
    answered(run, second, 5)
    assert empathies(run).filter(pl.col("round") == round_of(first)).equals(before)
    answered(run, first, 2)  # a pull again
    by_round = empathies(run).group_by("round").agg(pl.col("value").unique())
    assert dict(by_round.iter_rows()) == {round_of(first): [2.0], round_of(second): [5.0]}
    assert not empathies(run).select("transcript_id", "rater", "metric", "round").is_duplicated().any()


def test_a_round_has_the_name_that_it_is_given(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, round="pilot 1")
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json", run) == plan
    answered(run, plan, 3)
    assert empathies(run)["round"].unique().to_list() == ["pilot 1"]
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
    assert set(empathies(run)["drawn"]) == {2 / 6}
    entry = run.manifest["imports"][-1]
    assert (entry["rounds"], entry["by"]) == (["main"], ["system"])


@pytest.mark.parametrize(("aim", "chance"), [("kappa", None), ("disagreement", 0.0)])
def test_a_follow_up_is_of_the_same_round_and_not_drawn_alone(aim: Aim, chance: float | None, run: Run) -> None:
    plan = rating_plan(run, by=("system",), per=2, overlap=1, round="main")
    answered(run, plan, 3)
    following = follow_up_plan(run, plan, propose(run, plan, aim=aim, count=4))
    assert round_of(following) == "main"
    assert [item.chance for item in following.items] == [chance] * 4


def test_two_plans_of_one_round_leave_no_chance_that_is_wrong(run: Run) -> None:
    """A unit that either could draw came in with more than the chance of one; what was picked stays so."""
    first, second = (rating_plan(run, per=4, seed=seed, round="main") for seed in (1, 2))
    picked = rating_plan(run, per=4, focus="disagreement", random_share=0.5, round="main")
    steps = ((first, {4 / 12}), (second, {4 / 12, None}), (first, {None}), (picked, {None, 0.0}))
    for plan, chances in steps:
        answered(run, plan, 2)
        assert set(empathies(run)["drawn"]) == chances


def test_imports_of_two_rounds_stand_side_by_side(run: Run, tmp_path: Path) -> None:
    name = run.index["id"][0]
    for number, round in enumerate(("pilot", "main", "main")):
        text = f"item,rater,metric,value\n{name},anna,empathy,{number + 1}\n"
        assert imported(run, tmp_path / f"{number}.csv", text, round) == (1, number // 2)
    assert dict(empathies(run).select("round", "value").iter_rows()) == {"pilot": 1.0, "main": 3.0}


def test_a_metric_has_one_scale_in_a_run(run: Run, tmp_path: Path) -> None:
    """Before, the later import's scale was taken for all, and ratings on 0 to 1 were averaged with those on 1 to 5."""
    text = f"item,rater,metric,value\n{run.index['id'][0]},anna,warmth,1\n"
    for number in range(2):
        imported(run, tmp_path / f"{number}.csv", text, scales=parse_scales(["warmth=1-5"]))
    with pytest.raises(InputError, match=r"0\.csv: 0, 1, not 1, 2, 3, 4, 5"):
        imported(run, tmp_path / "2.csv", text, scales=parse_scales(["warmth=0,1"]))


def test_a_file_says_round_and_chance_of_each_rating(run: Run, tmp_path: Path) -> None:
    first, second = run.index["id"][:2]
    file = tmp_path / "ratings.csv"
    rows = (f"{first},anna,empathy,1,test,0.5", f"{first},anna,empathy,2,retest,", f"{second},anna,empathy,3,,1")
    imported(run, file, "\n".join(("item,rater,metric,value,round,drawn", *rows)))
    expected = [("test", 0.5), ("retest", None), ("import", 1.0)]
    assert empathies(run).sort("value").select("round", "drawn").rows() == expected
    assert Run(run.path).manifest["imports"][-1]["rounds"] == ["import", "retest", "test"]
    with pytest.raises(InputError, match="'2' is no number from 0 to 1"):
        imported(run, file, f"item,rater,metric,value,drawn\n{first},anna,empathy,1,2\n")


_TIMES = count()


def annas(run: Run, plan: AnnotationPlan, level: int | None) -> StoreSummary:
    """What becomes of it that anna gives this level of empathy to all of the plan's items, or skips them."""
    now = f"{next(_TIMES):04}"
    choices = None if level is None else {"empathy": str(level)}
    answers = [rater_answer(item.id, "anna", choices, updated=now) for item in plan.items]
    return keep_answers(Run(run.path), plan, answers)


def annas_plans(run: Run) -> tuple[AnnotationPlan, AnnotationPlan]:
    """Two plans of one round that show anna all 12 transcripts."""
    options: dict[str, Any] = {"rubrics": (EMPATHY,), "raters": ("anna",), "overlap": 1, "round": "main"}
    return rating_plan(run, seed=1, **options), rating_plan(run, seed=2, **options)


def standing(run: Run) -> tuple[list[float], int]:
    """The values that people gave, and how many of their ratings are missing."""
    rated = empathies(run)
    return sorted(rated["value"].drop_nulls().unique()), rated["value"].null_count()


@pytest.mark.parametrize("skipped_first", [True, False])
def test_a_rating_stands_in_place_of_a_skip(run: Run, skipped_first: bool) -> None:
    """Before, the skip stood where its plan was imported first, and what was rated was lost to every answer."""
    first, second = annas_plans(run)
    given = ((first, None), (second, 4)) if skipped_first else ((first, 4), (second, None))
    kept = [annas(run, plan, level) for plan, level in given]
    assert standing(run) == ([4.0], 0)
    assert [(each.ratings, each.filled, dict(each.standing)) for each in kept] == (
        [(12, 0, {}), (12, 0, {})] if skipped_first else [(12, 0, {}), (0, 12, {})]
    )
    for plan, level in (*given, *reversed(given)):
        annas(run, plan, level)
        assert standing(run) == ([4.0], 0), "whatever is pulled again"


def test_who_skips_on_second_thoughts_has_skipped_unless_another_plan_has_a_rating(run: Run) -> None:
    first, second = annas_plans(run)
    annas(run, first, 3)
    assert annas(run, first, None).missing == 12
    assert standing(run) == ([], 12)
    annas(run, first, 3)
    kept = annas(run, second, 5)
    assert (kept.standing, standing(run)) == ({plan_hash(first): 12}, ([3.0], 0))
    assert annas(run, first, None).filled == 12
    assert standing(run) == ([5.0], 0), "the other plan's, which was kept"
    kept = annas(run, first, 2)
    assert (kept.standing, standing(run)) == ({}, ([2.0], 0)), "of two ratings the first plan's, as ever"
    assert annas(run, second, None).ratings == 0
    assert standing(run) == ([2.0], 0)


def test_what_was_imported_stands_before_a_skip_and_a_later_rating(run: Run, tmp_path: Path) -> None:
    plan, _ = annas_plans(run)

    def sheet(level: int) -> None:
        rows = "".join(f"{name},anna,empathy,{level}\n" for name in run.index["id"].sort())
        imported(run, tmp_path / "sheet.csv", f"item,rater,metric,value\n{rows}", "main")

    assert annas(run, plan, None).missing == 12
    sheet(4)
    assert standing(run) == ([4.0], 0)
    assert annas(run, plan, None).filled == 12
    assert standing(run) == ([4.0], 0)
    kept = annas(run, plan, 2)
    assert (kept.standing, standing(run)) == ({"sheet.csv": 12}, ([4.0], 0))
    sheet(5)
    assert annas(run, plan, 2).standing == {"sheet.csv": 12}
    assert standing(run) == ([5.0], 0), "a corrected sheet takes the place of what it said before"


# -- revisions --

#: Item's number, rater, level and the minute of the change: at most one answer a rater, item and minute.
_ANSWERS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(("anna", "ben")), st.integers(1, 5), st.integers(10, 59)),
    max_size=12,
    unique_by=lambda answer: (answer[0], answer[1], answer[3]),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(given_answers=_ANSWERS, cuts=st.lists(st.integers(0, 12), max_size=3), data=st.data())
def test_order_and_portions_do_not_matter(
    study_folder: Path, given_answers: list[tuple[int, str, int, int]], cuts: list[int], data: Any
) -> None:
    with tempfile.TemporaryDirectory() as name:
        run = Run(shutil.copytree(study_folder, Path(name) / "run"))
        plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4)
        answers = [
            said(plan.items[item].id, level, rater=rater, at=f"{minute}", name=f"{item}{rater}")
            for item, rater, level, minute in given_answers
        ]
        order = data.draw(st.permutations(answers))
        # Some come twice, as they do where a pull is repeated.
        edges = sorted({0, len(order), *(min(cut, len(order)) for cut in cuts)})
        for start, end in pairwise(edges):
            keep_answers(run, plan, order[max(0, start - 1) : end])
        by_time = sorted(answers, key=lambda answer: answer.updated)
        expected = {(answer.item, answer.rater): answer for answer in by_time}
        assert read_store(run, plan).answers() == expected
        assert len(read_store(run, plan).revisions) == len(answers)
        assert set(people(run).select("transcript_id", "rater", "value").iter_rows()) == {
            (plan.by_id[item].transcript, f"human:{rater}", float(answer.choices["empathy"][0]))
            for (item, rater), answer in expected.items()
        }


def said(
    item: str, level: int, *, at: str, rater: str = "anna", by: str | None = None, name: str = "annotation 1"
) -> RaterAnswer:
    """What somebody said of an item, as a server has it."""
    updated = f"2026-01-01T00:{at}:00Z"
    return rater_answer(item, rater, {"empathy": f"{level}"}, id=name, updated=updated, changed_by=by)


Study = tuple[Run, AnnotationPlan, str]


@pytest.fixture
def study(run: Run) -> Study:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4)
    return run, plan, plan.assignment["anna"][0]


def level_of(run: Run, plan: AnnotationPlan, item: str) -> float | None:
    ratings = people(run).filter(rater="human:anna", transcript_id=plan.by_id[item].transcript)
    return ratings["value"][0] if ratings.height else None


def test_what_a_server_holds_counts_whatever_its_clock_says(study: Study) -> None:
    run, plan, item = study
    keep_answers(run, plan, [said(item, 2, at="30")], current=True)
    kept = keep_answers(run, plan, [said(item, 5, at="10")], current=True)
    assert (kept.revised, level_of(run, plan, item)) == (1, 5)
    # An export that was saved before is older than what the server holds now.
    assert keep_answers(run, plan, [said(item, 2, at="30")]).unchanged == 1
    assert keep_answers(run, plan, [said(item, 5, at="10")], current=True).unchanged == 1
    assert level_of(run, plan, item) == 5


def test_what_somebody_else_made_of_an_answer_counts_only_where_it_is_restored(study: Study) -> None:
    run, plan, item = study
    keep_answers(run, plan, [said(item, 2, at="10")], current=True)
    changed = said(item, 5, at="20", by="ben")
    kept = keep_answers(run, plan, [changed], current=True)
    assert (kept.changed_by, level_of(run, plan, item)) == ({"ben": 1}, 2)
    restored = restore_answer(run, plan, 1)
    assert (restored.changed_by, level_of(run, plan, item)) == ({}, 5)
    # The server holds the same as before: nothing new, and what was restored stands.
    assert keep_answers(run, plan, [changed], current=True).unchanged == 1
    assert level_of(run, plan, item) == 5
    keep_answers(run, plan, [said(item, 3, at="40")], current=True)
    assert level_of(run, plan, item) == 3
    assert [revision.restored for revision in read_store(run, plan).revisions] == [None, None, 1, None]
    for number, message in ((3, "revision 3 counts already"), (9, "no revision 9")):
        with pytest.raises(InputError, match=message):
            restore_answer(run, plan, number)


def test_an_answer_known_only_as_somebody_else_changed_it_is_no_answer(study: Study) -> None:
    run, plan, item = study
    kept = keep_answers(run, plan, [said(item, 5, at="20", by="ben")], current=True)
    assert (kept.new, kept.submitted, kept.changed_by) == (0, 0, {"ben": 1})
    assert level_of(run, plan, item) is None


def test_the_command_shows_and_restores(study: Study, call: Call, tmp_path: Path) -> None:
    run, plan, item = study
    write_plan(plan, tmp_path / "my plan.json")
    keep_answers(run, plan, [said(item, 2, at="10")], current=True)
    keep_answers(run, plan, [said(item, 5, at="20", by="ben")], current=True)
    command = ("annotate", "revisions", "my plan.json", "--run", run.path)
    out, _ = works(call, *command)
    assert ("empathy 2" in out, "empathy 5" in out, "ben" in out) == (True, True, True)
    out, _ = works(call, *command, "--restore", 1, "--json")
    rows = json.loads(out)[0]["rows"]
    assert [(row["number"], row["changed_by"], row["counts"]) for row in rows] == [
        (0, None, False), (1, "ben", False), (2, "ben", True),
    ]  # fmt: skip


# -- when a rater drops out --


def rated(item: str, rater: str) -> RaterAnswer:
    return rater_answer(item, rater, {"empathy": "3"})


def shared_plan(run: Run, *others: str, per: int = 4, overlap: int = 2, shared: int = 0) -> AnnotationPlan:
    """By empathy, of anna, ben and others."""
    raters = ("anna", "ben", *others)
    return rating_plan(run, rubrics=(EMPATHY,), raters=raters, per=per, overlap=overlap, shared=shared)


def test_others_take_over_what_is_open(run: Run) -> None:
    plan = shared_plan(run, "cleo", "dora", per=6)
    done = plan.assignment["ben"][:2]
    keep_answers(run, plan, [rated(item, "ben") for item in done])
    before = people(run)
    result = reassign(run, plan, "ben")
    now = as_assigned(Run(run.path), plan)
    assert (now.assignment, plan_hash(now)) == (result.plan.assignment, plan_hash(plan))
    assert now.assignment["ben"] == done
    # Each item has as many raters as before, none twice, and the load is as even as it was.
    assert {item: len(raters) for item, raters in now.raters_of.items()} == dict.fromkeys(plan.raters_of, 2)
    assert all(len(set(order)) == len(order) for order in now.assignment.values())
    loads = [len(now.assignment[name]) for name in ("anna", "cleo", "dora")]
    assert max(loads) - min(loads) <= 1
    assert sum(result.moved.values()) == len(plan.assignment["ben"]) - 2
    # What ben said counts, with its chance; what the others say of the items has theirs.
    takers = [(name, item) for name in ("anna", "cleo", "dora") for item in now.assignment[name]]
    taker, taken = next((name, item) for name, item in takers if item not in plan.assignment[name])
    keep_answers(run, now, [rated(taken, taker)])
    assert people(run).filter(rater="human:ben").equals(before)
    (row,) = people(run).filter(rater=f"human:{taker}").iter_rows(named=True)
    assert row["drawn"] == next(item.chance for item in plan.items if item.id == taken)
    assert plan_progress(Run(run.path), now).outside == 0


def test_somebody_new_takes_over_training_and_all(run: Run) -> None:
    plan = shared_plan(run)
    result = reassign(run, plan, "BEN", ["eve"])
    assert (result.moved, result.untaken) == ({"eve": len(plan.items)}, 0)
    assert set(result.plan.assignment["eve"]) == set(plan.assignment["ben"])
    keep_answers(run, result.plan, [rated(plan.items[0].id, "eve")])
    assert people(run)["rater"].to_list() == ["human:eve"]
    # Twice is no harm: eve drops out, too.
    again = reassign(Run(run.path), as_assigned(run, plan), "eve", ["finn"])
    assert again.moved == {"finn": len(plan.items) - 1}


def test_where_nobody_can_take_over_nothing_changes(run: Run) -> None:
    plan = shared_plan(run)
    with pytest.raises(InputError, match="ben hasn't answered"):
        reassign(run, plan, "ben")
    assert as_assigned(run, plan).assignment == plan.assignment


def test_what_nobody_can_take_stays(run: Run) -> None:
    plan = shared_plan(run, "cleo", per=6, shared=2)
    result = reassign(run, plan, "ben")
    assert (result.untaken, len(result.plan.assignment["ben"])) == (2, 2)
    assert {len(raters) for raters in result.plan.raters_of.values()} == {2, 3}
    # Somebody new may take them later.
    assert reassign(run, result.plan, "ben", ["dora"]).moved == {"dora": 2}


@pytest.mark.parametrize(
    ("rater", "to", "message"),
    [
        ("zoe", (), "'zoe' is not a rater of the plan"),
        ("ben", ("Ben",), "ben can't take over from ben"),
        ("ben", ("a b",), "'a b' can't be a rater's name"),
    ],
)
def test_names_that_are_none(run: Run, rater: str, to: tuple[str, ...], message: str) -> None:
    plan = shared_plan(run, overlap=1)
    with pytest.raises(InputError, match=message):
        reassign(run, plan, rater, to)
    assert not (plan_folder(run, plan) / "reassigned.json").exists()


def test_the_command_and_what_follows_it(run: Run, call: Call, tmp_path: Path) -> None:
    plan = shared_plan(run, "cleo", per=6, overlap=1)
    write_plan(plan, tmp_path / "plan.json")
    out, _ = works(call, "annotate", "reassign", "plan.json", "--run", run.path, "--rater", "ben")
    moved = Counter(line.partition(" ")[0] for line in out.splitlines())
    assert moved == {"anna": 1, "cleo": 1}
    assert call("annotate", "export", "plan.json", "--run", run.path, "--format", "csv")[0] == 0
    now = as_assigned(run, read_plan("plan.json", run))
    for path in Path("to-rate").glob("*.csv"):
        text = path.read_text("utf-8")
        assert {item.id for item in plan.items if item.id in text} == set(now.assignment[path.stem])
    code, out, _ = call("annotate", "status", "plan.json", "--run", run.path)
    assert (code, f"{len(now.assignment['anna'])}" in out) == (0, True)


def test_gold_goes_along_and_a_second_showing_only_with_its_first(run: Run, tmp_path: Path) -> None:
    hidden = gold_cases(tmp_path)
    plan = rating_plan(run, raters=("anna", "ben"), per=6, overlap=1, repeat=0.5, gold=hidden, gold_share=0.3)
    again = {(item.transcript, item.unit) for item in plan.items if item.replicate}
    mine = [plan.by_id[name] for name in plan.assignment["ben"]]
    answered = next(item for item in mine if (item.transcript, item.unit) in again)
    keep_answers(run, plan, [rater_answer(answered.id, "ben", {"empathy": "3", "goal_alignment": "3"})])
    result = reassign(run, plan, "ben", ["eve"])
    assert (result.repeats, result.untaken) == (1, 0)
    theirs = result.plan.assignment["eve"]
    gold = {item.id for item in plan.gold}
    assert gold.intersection(theirs)
    seen = [plan.by_id[name] for name in theirs if name not in gold]
    assert (answered.transcript, answered.unit) not in {(item.transcript, item.unit) for item in seen}
