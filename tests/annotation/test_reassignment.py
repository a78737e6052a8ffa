"""When a rater drops out, others take over what is open, and nothing of the design is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bedside.annotation.annotation_plan import plan_hash
from bedside.annotation.answer_store import keep_answers, plan_folder
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.core.errors import InputError, RunError
from bedside.ratings.run import Run
from tests.annotation.study import EMPATHY, rating_plan
from tests.annotation.test_gold_items import gold_cases
from tests.conftest import Call


def rated(item: str, rater: str, level: int = 3) -> RaterAnswer:
    return RaterAnswer(item, rater, "submitted", {"empathy": (f"{level}",)}, id=f"{item}{rater}")


def test_others_take_over_what_is_open(run: Run) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben", "cleo", "dora"), per=6, overlap=2)
    done = plan.assignment["ben"][:2]
    keep_answers(run, plan, [rated(item, "ben") for item in done])
    before = Run(run.path).ratings.filter(rater="human:ben")
    result = reassign(run, plan, "ben")
    now = as_assigned(Run(run.path), plan)
    assert (now.assignment, plan_hash(now)) == (result.plan.assignment, plan_hash(plan))
    assert now.assignment["ben"] == done
    # Each item has as many raters as before, none twice, and the load is as even as it was.
    assert {item: len(raters) for item, raters in now.raters_of.items()} == {
        item.id: 2 for item in plan.items
    }
    assert all(len(set(order)) == len(order) for order in now.assignment.values())
    loads = [len(now.assignment[name]) for name in ("anna", "cleo", "dora")]
    assert max(loads) - min(loads) <= 1
    assert sum(result.moved.values()) == len(plan.assignment["ben"]) - 2
    # What ben said counts, with its chance; what the others say of the items has theirs.
    taker, taken = next(
        (rater, item)
        for rater in ("anna", "cleo", "dora")
        for item in now.assignment[rater]
        if item not in plan.assignment[rater]
    )
    keep_answers(run, now, [rated(taken, taker)])
    ratings = Run(run.path).ratings
    assert ratings.filter(rater="human:ben").equals(before)
    assert ratings.filter(rater=f"human:{taker}", metric="empathy")["drawn"].to_list() == [
        plan.by_id[taken].chance
    ]
    assert plan_progress(Run(run.path), now).outside == 0


def test_somebody_new_takes_over_training_and_all(run: Run) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4, overlap=2)
    result = reassign(run, plan, "BEN", ["eve"])
    assert (result.moved, result.untaken) == ({"eve": len(plan.items)}, 0)
    assert set(result.plan.assignment["eve"]) == set(plan.assignment["ben"])
    keep_answers(run, result.plan, [rated(plan.items[0].id, "eve")])
    assert Run(run.path).ratings.filter(rater="human:eve").height == 1
    # Twice is no harm: eve drops out, too.
    again = reassign(Run(run.path), as_assigned(run, plan), "eve", ["finn"])
    assert again.moved == {"finn": len(plan.items) - 1}


def test_where_nobody_can_take_over_nothing_changes(run: Run) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4, overlap=2)
    with pytest.raises(InputError, match="all others have what ben hasn't answered") as error:
        reassign(run, plan, "ben")
    assert "name somebody new" in str(error.value)
    assert as_assigned(run, plan).assignment == plan.assignment


def test_what_nobody_can_take_stays(run: Run) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben", "cleo"), per=6, overlap=2, shared=2)
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
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4, overlap=1)
    with pytest.raises(InputError, match=message):
        reassign(run, plan, rater, to)
    assert not (plan_folder(run, plan) / "reassigned.json").exists()


def test_a_damaged_file_is_named(run: Run) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben"), per=4, overlap=1)
    reassign(run, plan, "ben")
    path = plan_folder(run, plan) / "reassigned.json"
    path.write_text(path.read_text("utf-8").replace(plan.items[0].id, "elsewhere"), "utf-8")
    with pytest.raises(RunError, match=r"who rates what now is damaged"):
        as_assigned(run, plan)


def test_the_command_and_what_follows_it(run: Run, call: Call, tmp_path: Path) -> None:
    plan = rating_plan(run, rubrics=(EMPATHY,), raters=("anna", "ben", "cleo"), per=6, overlap=1)
    write_plan(plan, tmp_path / "plan.json")
    code, out, err = call("annotate", "reassign", "plan.json", "--run", run.path, "--rater", "ben")
    assert code == 0, err
    moved = Counter(line.partition(" ")[0] for line in out.splitlines())
    assert moved == {"anna": 1, "cleo": 1}
    assert call("annotate", "export", "plan.json", "--run", run.path, "--format", "csv")[0] == 0
    sizes = {path.stem: path.read_text("utf-8") for path in Path("to-rate").glob("*.csv")}
    now = as_assigned(run, read_plan("plan.json", run))
    for name, text in sizes.items():
        assert {item.id for item in plan.items if item.id in text} == set(now.assignment[name])
    code, out, _ = call("annotate", "status", "plan.json", "--run", run.path)
    assert (code, f"{len(now.assignment['anna'])}" in out) == (0, True)


def test_gold_goes_along_and_a_second_showing_only_with_its_first(run: Run, tmp_path: Path) -> None:
    hidden = gold_cases(tmp_path)
    plan = rating_plan(run, raters=("anna", "ben"), per=6, overlap=1, repeat=0.5, gold=hidden, gold_share=0.3)
    again = {(item.transcript, item.unit) for item in plan.items if item.replicate}
    mine = [plan.by_id[name] for name in plan.assignment["ben"]]
    answered = next(item for item in mine if (item.transcript, item.unit) in again)
    answers = {"empathy": ("3",), "goal_alignment": ("3",)}
    keep_answers(run, plan, [RaterAnswer(answered.id, "ben", "submitted", answers, id="first")])
    result = reassign(run, plan, "ben", ["eve"])
    assert (result.repeats, result.untaken) == (1, 0)
    theirs = result.plan.assignment["eve"]
    gold = {item.id for item in plan.gold}
    assert gold.intersection(theirs)
    seen = [plan.by_id[name] for name in theirs if name not in gold]
    assert (answered.transcript, answered.unit) not in {(item.transcript, item.unit) for item in seen}
