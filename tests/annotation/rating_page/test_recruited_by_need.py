"""People who enrol get items by need: until it is enough, or their share is full; what they leave goes to others."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import read_store
from bedside.annotation.assignment_by_need import WorkDone, begin
from bedside.annotation.page_words import page_words
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.page_state import ClosedItemError
from bedside.annotation.rating_page.recruited_page import RecruitedPage
from bedside.annotation.rating_page.study_people import payment_sheet, rater_rows
from bedside.annotation.reassignment import as_assigned
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import sent
from tests.annotation.rating_page.test_recruited_page import (
    PARAMETERS,
    RATED,
    answered,
    enrol,
    enrolled,
    items_of,
    recruited,
    timed_out,
    trained,
    trained_plan,
)
from tests.annotation.study import new_study

#: Three shares of four of the twelve conversations.
SHARES: dict[str, Any] = {"raters": ("rater-1", "rater-2", "rater-3"), "overlap": 1, "per": 12}


@pytest.fixture
def by_need(run: Run, tmp_path: Path) -> tuple[AnnotationPlan, RecruitedPage]:
    return open_by_need(run, tmp_path)


def open_by_need(run: Run, folder: Path, **options: Any) -> tuple[AnnotationPlan, RecruitedPage]:
    plan = trained_plan(run, folder, **{**SHARES, **options})
    begin(run, plan, "mean±.001", 24.0, WorkDone())
    return plan, recruited(run, plan, folder)


def joined(plan: AnnotationPlan, page: RecruitedPage, pid: str) -> str:
    """The name of somebody who passed the training."""
    rater = enrolled(page, pid)
    answered(page, rater)
    trained(page, plan, rater, right=True)
    return rater


def left(page: RecruitedPage, rater: str) -> list[str]:
    return [item["item"] for item in page.share(rater)["items"] if item["handed_in"] is None and not item["training"]]


def works(page: RecruitedPage, rater: str, most: int = 1000) -> int:
    """How many items somebody handed in before there were no more, or so many."""
    done = 0
    while done < most and (items := left(page, rater)):
        page.save(rater, items[0], sent(choices=RATED))
        done += 1
    return done


def ending(page: RecruitedPage, rater: str) -> tuple[str, str | None]:
    shown = page.share(rater)["study"]["ending"]
    return (shown["kind"], shown["code"] or shown["link"]) if shown else ("", None)


def state_of(page: RecruitedPage, rater: str) -> str:
    person = page.people.person(rater)
    assert person is not None
    return person.state


def test_a_share_is_so_many_items_a_few_at_a_time(by_need: tuple[AnnotationPlan, RecruitedPage]) -> None:
    plan, page = by_need
    first = joined(plan, page, "a1")
    share = page.share(first)
    assert share["supply"] == "more"
    assert 0 < len(left(page, first)) < 6
    assert works(page, first) == 4
    assert ending(page, first)[0] == "completed"
    # Three shares, and no fourth.
    for pid in ("a2", "a3"):
        assert works(page, joined(plan, page, pid)) == 4
    assert enrol(page, {**PARAMETERS, "PROLIFIC_PID": "a4"}, "agreed")["ending"]["kind"] == "full"
    raters = Counter(item for rater in ("p-1", "p-2", "p-3") for item in items_of(page.plan, rater))
    assert set(raters.values()) == {1}
    assert len(raters) == 12


def test_a_place_of_which_items_were_left_opens_again_for_them(run: Run, tmp_path: Path) -> None:
    """Three shares of eight: two people rate the same, and the third can give only half of what is left."""
    plan, page = open_by_need(run, tmp_path, overlap=2)
    done = [works(page, joined(plan, page, pid)) for pid in ("a1", "a2", "a3")]
    assert done == [8, 8, 4]
    assert page.recruitment.waiting() == 1
    fourth = joined(plan, page, "a4")
    # Nobody else comes in while the fourth has what is left.
    assert enrol(page, {**PARAMETERS, "PROLIFIC_PID": "a5"}, "agreed")["ending"]["kind"] == "full"
    assert works(page, fourth) == 4
    assert enrol(page, {**PARAMETERS, "PROLIFIC_PID": "a5"}, "agreed")["ending"]["kind"] == "full"
    assert {person.state for person in page.people.persons()} == {"completed"}
    raters = Counter(item for person in page.people.persons() for item in items_of(page.plan, person.rater))
    assert [raters[item.id] for item in plan.items] == [2] * 12


@pytest.mark.parametrize("way", ["timed out", "excluded", "withdrawn"])
def test_what_somebody_leaves_goes_to_the_next(
    by_need: tuple[AnnotationPlan, RecruitedPage], run: Run, way: str
) -> None:
    plan, page = by_need
    first = joined(plan, page, "a1")
    assert works(page, first, 2) == 2
    kept = set(page.recruitment.handed_in(first)) - {item.id for item in plan.training}
    open_items = set(left(page, first))
    assert open_items
    if way == "timed out":
        timed_out(page, first)
        page.sweep()
    elif way == "excluded":
        page.recruitment.decide(first, "exclude")
    else:
        page.withdraw(first, b'{"mark": "withdrawal"}')
    collect(page._folder, Run(page._run.path), page.plan)
    others = [joined(plan, page, f"b{number}") for number in range(3)]
    assert enrol(page, {**PARAMETERS, "PROLIFIC_PID": "c"}, "agreed")["ending"]["kind"] == "full"
    done = [works(page, rater) for rater in others]
    assert {state_of(page, rater) for rater in others} == {"completed"}
    held = Counter(item for rater in others for item in items_of(page.plan, rater))
    every = {item.id for item in plan.items}
    assert set(held) == (every - kept if way == "timed out" else every)
    assert sum(done) == (10 if way == "timed out" else 12)
    assert max(held.values()) == 1
    # Shares that nobody has, and who withdrew, are no rows; who was invited or enrolled is, whatever they did.
    now = as_assigned(run, plan)
    there = [person.rater for person in page.people.persons()]
    progress = plan_progress(Run(run.path), now)
    assert [row.rater for row in rater_rows(Run(run.path), now, page.recruitment)] == there
    assert list(dict.fromkeys(share.rater for share in progress.shares)) == there
    assert [quality.rater for quality in progress.quality] == [result.rater for result in progress.training] == there
    assert len(there) == (3 if way == "withdrawn" else 4)
    sheet, total = payment_sheet(page.recruitment)
    rows = list(csv.DictReader(io.StringIO(sheet)))
    amounts = {"timed out": "0.60", "excluded": "0.00", "withdrawn": "0.60"}
    assert sorted(row["amount"] for row in rows) == sorted([amounts[way], *["9.00"] * 3])
    assert total == sum(Decimal(row["amount"]) for row in rows)


def test_who_was_excluded_by_mistake_has_what_they_said_back_where_nobody_took_it(
    by_need: tuple[AnnotationPlan, RecruitedPage],
) -> None:
    plan, page = by_need
    first = joined(plan, page, "a1")
    assert works(page, first, 2) == 2
    said = set(page.recruitment.handed_in(first)) - {item.id for item in plan.training}
    page.recruitment.decide(first, "exclude")
    collect(page._folder, Run(page._run.path), page.plan)
    assert not items_of(page.plan, first)
    page.recruitment.decide(first, "let in")
    collect(page._folder, Run(page._run.path), page.plan)
    assert set(items_of(page.plan, first)) >= said
    assert works(page, first) == 2
    assert state_of(page, first) == "completed"


def test_enough_is_kind(by_need: tuple[AnnotationPlan, RecruitedPage]) -> None:
    plan, page = by_need
    at_item, drafting, training = joined(plan, page, "a1"), joined(plan, page, "a2"), enrolled(page, "a3")
    for rater in (at_item, drafting):
        works(page, rater, 1)
    on_screen, draft = left(page, at_item)[0], left(page, drafting)[0]
    page.save(drafting, draft, sent("draft", {"empathy": "4"}))
    page.stop()
    page.sweep()
    assert [state_of(page, rater) for rater in (at_item, drafting, training)] == ["rating", "rating", "questionnaire"]
    # What is on the screen, without a word yet, is taken, and then their part ends well.
    page.save(at_item, on_screen, sent(choices=RATED))
    assert ending(page, at_item) == ("enough", "https://app.example.org/complete?cc=C1&id=a1")
    assert left(page, drafting) == [draft]
    page.save(drafting, draft, sent(choices=RATED, version=1))
    assert ending(page, drafting)[0] == "enough"
    person = page.people.person(training)
    assert person is not None
    assert ending(page, training) == ("enough", f"C2-{person.code}")
    with pytest.raises(ClosedItemError):
        page.save(drafting, draft, sent(choices=RATED, version=2))
    # Nobody new gets work, and is told so, by the code of who finds no place.
    closed = {"kind": "closed", "code": "C4", "link": None, "debriefing": None}
    for decision in (None, "agreed"):
        reply = enrol(page, {**PARAMETERS, "PROLIFIC_PID": "late"}, decision)
        assert (reply.get("welcome") or reply)["ending"] == closed
    sheet, _ = payment_sheet(page.recruitment)
    rows = {row["person"]: row for row in csv.DictReader(io.StringIO(sheet))}
    assert [(rows[rater]["items"], rows[rater]["amount"]) for rater in (at_item, drafting, training)] == [
        ("2", "9.00"), ("2", "9.00"), ("0", "1.10")
    ]  # fmt: skip
    assert len({page_words(tag).say("ending_closed") for tag in ("en", "de", "zh")}) == 3
    # Other targets have it go on, with people who come anew.
    begin(page._run, plan, "mean±.0001", 24.0, WorkDone())
    assert works(page, joined(plan, page, "late")) == 4


def test_who_never_comes_back_after_it_was_enough_is_done_all_the_same(
    by_need: tuple[AnnotationPlan, RecruitedPage],
) -> None:
    plan, page = by_need
    first, nothing = joined(plan, page, "a1"), enrolled(page, "a2")
    works(page, first, 1)
    page.stop()
    timed_out(page, first, nothing)
    page.sweep()
    assert [state_of(page, rater) for rater in (first, nothing)] == ["enough", "timed_out"]


def test_a_page_that_was_killed_between_two_steps_goes_on(by_need: tuple[AnnotationPlan, RecruitedPage]) -> None:
    plan, page = by_need
    first = joined(plan, page, "a1")
    works(page, first, 1)
    page.people.move(first, "timed_out", "timed out")
    page.close()
    again = RecruitedPage(plan, page._run, page_folder(page._run, plan), "", page.study)
    assert len(items_of(again.plan, first)) == 1
    person = again.people.person(first)
    assert person is not None
    assert person.slot is None
    # Both conversations of a case go to one person.
    assert works(again, joined(plan, again, "a2")) == 5


def test_items_have_two_people_though_a_third_of_them_leave(tmp_path: Path) -> None:
    run = new_study(tmp_path, cases=20)
    shares = tuple(f"rater-{number}" for number in range(1, 11))
    plan, page = open_by_need(run, tmp_path, raters=shares, overlap=2, per=20)
    rng = random.Random(7)
    there: list[str] = []
    for number in range(60):
        reply = enrol(page, {**PARAMETERS, "PROLIFIC_PID": f"p{number}"}, "agreed")
        if "ending" in reply:
            for rater in there:
                works(page, rater)
            there = []
            continue
        rater = joined(plan, page, f"p{number}")
        works(page, rater, rng.randrange(1, 4))
        if rng.random() < 1 / 3:
            timed_out(page, rater)
            page.sweep()
        else:
            there.append(rater)
    for rater in there:
        works(page, rater)
    collect(page._folder, Run(run.path), page.plan)
    answers = read_store(run, page.plan).answers()
    raters = Counter(item for item, _ in answers)
    assert Counter(raters[item.id] for item in plan.items) == {2: len(plan.items)}
    persons = page.people.persons()
    assert {person.state for person in persons} == {"completed", "timed_out"}
    slots = [person.slot for person in persons if person.slot]
    assert len(slots) == len(set(slots)) <= 10
    most = max(len(items_of(page.plan, person.rater)) for person in persons)
    assert most <= max(map(len, (items_of(plan, share) for share in shares))) + 1
