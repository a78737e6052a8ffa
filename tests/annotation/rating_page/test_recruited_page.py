"""People who enrol, without a network: the study file, the way through it, decisions, and hostile words."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.annotation import answer_store
from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem
from bedside.annotation.answer_store import plan_folder
from bedside.annotation.page_words import words_of
from bedside.annotation.plan_file import read_plan, sealed, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.rating_page.adjudication_queue import AdjudicationQueue
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import EntryConflictError
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.page_state import (
    ClosedItemError,
    IncompleteEntryError,
    NoSuchItemError,
    PageState,
    study_words,
)
from bedside.annotation.rating_page.recruited_page import ENROLMENT, RecruitedPage
from bedside.annotation.reassignment import as_assigned, hand_over, reassign
from bedside.annotation.study_file import MOST_ANSWER, SERVICES, Payment, read_study
from bedside.annotation.training_cases import read_training
from bedside.api.annotating import keep_plan
from bedside.core.errors import DataError, InputError, RunError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from tests.annotation.builders import gold_file, people
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.rating_page.recruiting import STUDY, known_levels, write_study
from tests.annotation.study import EMPATHY, GOAL, new_study, rating_plan

RATED = {"empathy": "4", "goal_alignment": "2"}
PARAMETERS = {"PROLIFIC_PID": "abc123", "STUDY_ID": "s", "SESSION_ID": "t"}


def trained_plan(run: Run, folder: Path, **options: Any) -> AnnotationPlan:
    training = read_training(gold_file(folder, 2), "rate", (EMPATHY, GOAL))
    again = read_training(gold_file(folder, 2, "second"), "rate", (EMPATHY, GOAL))
    given = {"raters": ("rater-1", "rater-2", "anna"), "overlap": 1, "per": 6}
    known = {"training": training, "training_again": again, "training_kappa": 0.6}
    return rating_plan(run, **{**given, **known, **options})


def recruited(run: Run, plan: AnnotationPlan, tmp_path: Path, text: str = STUDY) -> RecruitedPage:
    folder = page_folder(run, plan)
    folder.make()
    write_plan(plan, tmp_path / "plan.json")
    return RecruitedPage(plan, run, folder, "", read_study(write_study(tmp_path / "study", text=text), plan))


def enrolled(page: RecruitedPage, pid: str = "abc123", **more: Any) -> str:
    """The name of somebody who agreed."""
    reply = enrol(page, {**PARAMETERS, "PROLIFIC_PID": pid}, "agreed", **more)
    rater = page.rater_of(reply["secret"])
    assert rater is not None
    return rater


def enrol(
    page: RecruitedPage, parameters: Mapping[str, Any], decision: str | None, version: str | None = None, **more: Any
) -> dict[str, Any]:
    body = {"parameters": parameters, "decision": decision, "version": page.study.version, "mark": "m" * 9, **more}
    return page.enrol(ENROLMENT, json.dumps(body | ({} if version is None else {"version": version})).encode())


def answered(page: RecruitedPage, rater: str, **answers: Any) -> dict[str, Any]:
    body = {"answers": answers or {"experience": ["longer"]}, "mark": "q" * 9}
    return page.answer_questionnaire(rater, json.dumps(body).encode())


def trained(page: PageState, plan: AnnotationPlan, rater: str, *, right: bool, again: bool = False) -> None:
    for item in (item for item in plan.training if item.again == again):
        said = known_levels(plan)[item.id]
        page.save(rater, item.id, sent(choices=said if right else {key: str(6 - int(said[key])) for key in said}))


def items_of(plan: AnnotationPlan, rater: str) -> list[str]:
    return [item for item in plan.assignment[rater] if not isinstance(plan.by_id[item], KnownItem)]


# -- The way through ------------------------------------------------------------------------------------


def test_people_of_two_studies_on_one_run_are_not_one(run: Run, tmp_path: Path) -> None:
    names = []
    for study in ("first", "second"):
        (tmp_path / study).mkdir()
        plan = trained_plan(run, tmp_path / study, round=study)
        names.append(enrolled(recruited(run, plan, tmp_path / study)))
    assert names == ["p-1", "p-2"]


def test_other_plans_of_the_run_are_read_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = []
    for study in ("first", "second"):
        (tmp_path / study).mkdir()
        pages.append(recruited(run, trained_plan(run, tmp_path / study, round=study), tmp_path / study))
    reads: list[Path] = []

    def read(path: Path, *more: Any) -> AnnotationPlan:
        reads.append(path)
        return read_plan(path, *more)

    monkeypatch.setattr(answer_store, "read_plan", read)
    # Both are open at once: who enrols in one is nobody of the other.
    assert [enrolled(pages[place], pid) for place, pid in ((0, "a"), (1, "b"), (1, "c"))] == ["p-1", "p-2", "p-3"]
    assert len(reads) == 1


def test_from_the_link_to_the_code(run: Run, tmp_path: Path) -> None:
    plan = trained_plan(run, tmp_path)
    page = recruited(run, plan, tmp_path)
    welcome = enrol(page, PARAMETERS, None)["welcome"]
    assert welcome["information"] == (
        "<h1>About</h1>\n<p>We keep <em>ratings</em>. &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
    )
    assert (len(welcome["statements"]), welcome["ending"]) == (2, None)
    assert enrol(page, PARAMETERS, "declined") == {
        "ending": {"kind": "declined", "code": "C5", "link": None, "debriefing": None}
    }
    with pytest.raises(EntryConflictError, match="was changed"):
        enrol(page, PARAMETERS, "agreed", version="0" * 64)
    assert page.people.persons() == []
    rater = enrolled(page)
    assert (rater, enrolled(page)) == ("p-1", "p-1")
    assert enrol(page, PARAMETERS, "declined") == enrol(page, PARAMETERS, None)  # known: their own link again
    share = page.share(rater)
    assert (share["stage"], share["study"]["until"][:2]) == ("questionnaire", "20")
    assert share["study"]["can_withdraw"] is True
    assert share["study"]["help"] == "<p>Talk to somebody at 116 123.</p>\n"
    assert [question["kind"] for question in share["study"]["questions"]] == ["choice", "several", "number"]
    assert {item["closed"] for item in share["items"]} == {True}
    # The share of the slot, in its order, after the training set.
    assert [item["item"] for item in share["items"]] == [
        *(item.id for item in plan.training if not item.again), *items_of(plan, "rater-1"),
    ]  # fmt: skip
    for item in (plan.training[0].id, items_of(plan, "rater-1")[0]):
        with pytest.raises(ClosedItemError, match="questionnaire"):
            page.item(rater, item)
    with pytest.raises(IncompleteEntryError) as wanting:
        answered(page, rater, experience=["never"], languages=["French"], age=["about 40"])
    assert set(wanting.value.wanting) == {"experience", "languages", "age"}
    assert answered(page, rater, experience=["longer"], languages=["English", "German"])["stage"] == "training"
    with pytest.raises(ClosedItemError, match="training"):
        page.item(rater, items_of(plan, "rater-1")[0])
    trained(page, plan, rater, right=True)
    assert page.share(rater)["stage"] == "rating"
    for item in items_of(plan, "rater-1"):
        page.save(rater, item, sent(choices=RATED))
    share = page.share(rater)
    assert share["study"]["ending"] == {
        "kind": "completed", "code": None, "link": "https://app.example.org/complete?cc=C1&id=abc123",
        "debriefing": "<p><strong>Thank you.</strong></p>\n",
    }  # fmt: skip
    with pytest.raises(ClosedItemError, match="ended"):
        page.item(rater, items_of(plan, "rater-1")[0])
    events = [event for _, name, event, _ in page.people.events() if name == rater]
    assert events == ["consented", "questionnaire answered", "trained", "completed"]
    assert page.people.persons()[0].answers["languages"] == ["English", "German"]


def test_a_share_waits_again_and_goes_on_where_it_was_left(run: Run, tmp_path: Path) -> None:
    plan = trained_plan(run, tmp_path, raters=("rater-1",), per=4)
    page = recruited(run, plan, tmp_path)
    first = enrolled(page)
    assert enrol(page, {**PARAMETERS, "PROLIFIC_PID": "next"}, "agreed")["ending"]["kind"] == "full"
    assert enrol(page, {**PARAMETERS, "PROLIFIC_PID": "next"}, None)["welcome"]["ending"]["code"] == "C4"
    answered(page, first)
    trained(page, plan, first, right=True)
    own = items_of(plan, "rater-1")
    page.save(first, own[1], sent(choices=RATED))
    page.save(first, own[2], sent("draft", RATED))
    with page.people.changing() as database:
        database.execute("UPDATE persons SET until = '2020-01-01T00:00:00.000+00:00'")
    with pytest.raises(ClosedItemError, match="has ended"):
        page.save(first, own[0], sent(choices=RATED))
    share = page.share(first)
    assert (share["stage"], share["study"]["ending"]["code"]) == ("ended", "C3")
    second = enrolled(page, "next")
    assert items_of(page.plan, second) == [own[0], *own[2:]]
    assert items_of(page.plan, first) == [own[1]]
    answered(page, second)
    with pytest.raises(NoSuchItemError):
        page.item(second, own[1])
    page.recruitment.decide(second, "exclude")
    second = enrolled(page, "third")
    assert items_of(page.plan, second) == [own[0], *own[2:]]
    assert answered(page, second, experience=["not yet"])["study"]["ending"]["code"].startswith("C2-")
    assert page.recruitment.waiting() == 1
    collect(page_folder(run, plan), run, page.plan)
    assert people(run)["rater"].unique().to_list() == [f"human:{first}"]


def test_who_fails_the_first_set_is_shown_the_second_and_is_out_after_that(run: Run, tmp_path: Path) -> None:
    plan = trained_plan(run, tmp_path)
    page = recruited(run, plan, tmp_path)
    lucky, other = enrolled(page), enrolled(page, "other")
    for rater in (lucky, other):
        answered(page, rater)
        trained(page, plan, rater, right=False)
        share = page.share(rater)
        assert share["stage"] == "training"
        assert [item["training"] for item in share["items"][:5]] == [True] * 4 + [False]
        assert share["training"] == {"done": False, "passed": False, "kappa": None, "wanted": 0.6}
    trained(page, plan, lucky, right=True, again=True)
    trained(page, plan, other, right=False, again=True)
    assert page.share(lucky)["stage"] == "rating"
    assert page.share(other)["study"]["ending"]["kind"] == "screened_out"
    # Who was screened out is let in again, as long as a share waits.
    page.recruitment.decide(other, "let in")
    assert page.share(other)["stage"] == "rating"
    assert items_of(page.plan, other) == items_of(plan, "rater-2")
    page.recruitment.decide(lucky, "exclude")
    assert page.share(lucky)["study"]["ending"]["kind"] == "excluded"
    page.recruitment.decide(lucky, "let in")
    assert page.share(lucky)["stage"] == "rating"
    assert items_of(page.plan, lucky) == items_of(plan, "rater-1")


def timed_out(page: RecruitedPage, *raters: str) -> None:
    with page.people.changing() as database:
        for rater in raters:
            database.execute("UPDATE persons SET until = '2020-01-01T00:00:00.000+00:00' WHERE rater = ?", (rater,))
    page.sweep()


def begun(run: Run, tmp_path: Path) -> tuple[AnnotationPlan, RecruitedPage, str]:
    """Two of four shares are out of time, and an item of both that the second handed in and the first did not."""
    plan = rating_plan(run, raters=("rater-1", "rater-2", "rater-3", "rater-4"), overlap=2)
    page = recruited(run, plan, tmp_path)
    assert [enrolled(page), enrolled(page, "second")] == ["p-1", "p-2"]
    first, second = items_of(plan, "rater-1"), items_of(plan, "rater-2")
    both = next(item for item in second if item in first)
    done = {"p-1": [item for item in first if item != both][:2], "p-2": [both]}
    for rater, items in done.items():
        answered(page, rater)
        for item in items:
            page.save(rater, item, sent(choices=RATED))
    timed_out(page, "p-1", "p-2")
    assert [person.state for person in page.people.persons()] == ["timed_out"] * 2
    return plan, page, both


def test_who_is_let_in_goes_on_with_the_rest_of_their_own_share(run: Run, tmp_path: Path) -> None:
    plan, page, both = begun(run, tmp_path)
    page.recruitment.decide("p-2", "let in")
    assert sorted(items_of(page.plan, "p-2")) == sorted(items_of(plan, "rater-2"))
    assert both in items_of(page.plan, "rater-1")
    for item in items_of(plan, "rater-2"):
        assert page.share("p-2")["stage"] == "rating"
        page.save("p-2", item, sent(choices=RATED, version=page.item("p-2", item)["entry"]["version"]))
    assert page.share("p-2")["study"]["ending"]["kind"] == "completed"


def test_who_is_let_in_gets_no_share_with_an_item_of_theirs(run: Run, tmp_path: Path) -> None:
    plan, page, both = begun(run, tmp_path)
    # Somebody else has their own share meanwhile; rater-1's holds what they handed in.
    with page.people.changing():
        assert page.people.enrol("id:other", {}, page.study, ["rater-2"], ()) is not None
    page.recruitment.settle()
    page.recruitment.decide("p-2", "let in")
    free = next(slot for slot in ("rater-3", "rater-4") if both not in items_of(plan, slot))
    assert items_of(page.plan, "p-2") == [both, *items_of(plan, free)]
    assert both in items_of(page.plan, "rater-1")
    timed_out(page, "p-2")
    for name in ("b", "c", "d"):
        enrolled(page, name)
    before = as_assigned(run, plan).assignment
    with pytest.raises(InputError, match="no share is free for p-2"):
        page.recruitment.decide("p-2", "retrain")
    assert as_assigned(run, plan).assignment == before


def test_who_ran_out_of_time_is_let_in_without_a_training_set(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "anna"), overlap=1, per=4)
    page = recruited(run, plan, tmp_path)
    answered(page, enrolled(page))
    timed_out(page, "p-1")
    assert page.share("p-1")["study"]["ending"]["kind"] == "timed_out"
    with pytest.raises(InputError, match="the plan has no training set"):
        bedside.study_people(tmp_path / "plan.json", run=run, retrain="p-1")
    bedside.study_people(tmp_path / "plan.json", run=run, let_in="p-1")
    assert page.share("p-1")["stage"] == "rating"
    assert items_of(page.plan, "p-1") == items_of(plan, "rater-1")


@pytest.mark.parametrize("taken", [False, True])
def test_who_was_excluded_by_mistake_is_let_in(run: Run, tmp_path: Path, taken: bool) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=4)
    page, file = recruited(run, plan, tmp_path), tmp_path / "plan.json"
    own, other = items_of(plan, "rater-1"), items_of(plan, "rater-2")
    answered(page, enrolled(page))
    page.save("p-1", own[0], sent(choices=RATED))
    bedside.study_people(file, run=run, exclude="p-1")
    assert people(run)["value"].null_count() == len(people(run)) > 0
    if taken:
        follower = enrolled(page, "next")
        assert items_of(page.plan, follower) == own
    bedside.study_people(file, run=run, let_in="p-1")
    # Their own share, or another's; what they handed in counts again either way.
    assert people(run)["value"].null_count() == 0
    assert items_of(page.plan, "p-1") == (other if taken else own)
    share = page.share("p-1")
    assert share["stage"] == "rating"
    done = [item["item"] for item in share["items"] if item["handed_in"]]
    assert done == ([] if taken else own[:1])
    for item in (other if taken else own)[not taken :]:
        page.save("p-1", item, sent(choices=RATED))
    assert page.share("p-1")["study"]["ending"]["kind"] == "completed"
    for decision in ("let_in", "retrain"):
        with pytest.raises(InputError, match=r"^`rater`: p-1's part is over, as completed, and stays so$"):
            bedside.study_people(file, run=run, **{decision: "p-1"})


def test_who_is_let_in_answers_the_questionnaire_first(run: Run, tmp_path: Path) -> None:
    page = recruited(run, rating_plan(run, raters=("rater-1",), overlap=1, per=4), tmp_path)
    timed_out(page, enrolled(page))
    page.recruitment.decide("p-1", "let in")
    assert page.share("p-1")["stage"] == "questionnaire"
    assert answered(page, "p-1", experience=["not yet"])["study"]["ending"]["kind"] == "screened_out"
    page.recruitment.decide("p-1", "let in")
    assert page.share("p-1")["stage"] == "rating"


def test_who_withdraws_is_not_let_in(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=4)
    page = recruited(run, plan, tmp_path)
    enrolled(page)
    page.recruitment.begin_withdrawal("p-1")  # another command holds the run: the rest comes later
    with pytest.raises(InputError, match="p-1's part is over, as withdrawn"):
        page.recruitment.decide("p-1", "let in")
    assert page.recruitment.waiting() == 2


def test_an_item_is_never_handed_over_to_who_has_it(run: Run) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2", "rater-3"), overlap=2)
    first, second = items_of(plan, "rater-1"), items_of(plan, "rater-2")
    assert hand_over(run, plan, "rater-1", "rater-2")
    now = as_assigned(run, plan)
    assert items_of(now, "rater-1") == [item for item in first if item in second]
    assert sorted(items_of(now, "rater-2")) == sorted({*first, *second})
    assert not hand_over(run, plan, "rater-1", "rater-2")
    assert len(json.loads((plan_folder(run, plan) / "reassigned.json").read_text())["changes"]) == 1


def test_who_rates_nothing_takes_nothing_over_and_is_not_done_by_that(tmp_path: Path) -> None:
    """Of six people, two rate; an invited rater who was excluded is no taker, either."""
    raters = (*(f"rater-{number}" for number in range(1, 8)), "anna")
    run = new_study(tmp_path, cases=16)
    plan = rating_plan(run, raters=raters, overlap=1, share_size=4)
    page, file = recruited(run, plan, tmp_path), tmp_path / "plan.json"
    for name in ("a", "b", "c", "d", "e", "f"):
        rater = enrolled(page, name)
        if name != "f":  # p-6 is at the questionnaire
            answered(page, rater)
    for item in items_of(plan, "rater-1"):
        page.save("p-1", item, sent(choices=RATED))
    page.recruitment.decide("p-2", "exclude")
    page.recruitment.decide("anna", "exclude")
    timed_out(page, "p-5")
    states = [person.state for person in page.people.persons()]
    assert states == ["completed", "excluded", "rating", "rating", "timed_out", "questionnaire"]
    open_items = items_of(page.plan, "p-3")
    for name in ("p-1", "p-2", "P-5", "p-6", "anna", "rater-7"):
        with pytest.raises(InputError, match="rates nothing now; name another"):
            bedside.reassign(file, "p-3", run=run, to=[name])
    assert bedside.reassign(file, "p-3", run=run).results.moved == {"p-4": len(open_items)}
    assert set(items_of(page.plan, "p-4")) == {*items_of(plan, "rater-4"), *open_items}
    share = page.share("p-3")
    assert (share["stage"], share["study"]["ending"]["kind"]) == ("ended", "timed_out")
    bedside.study_people(file, run=run, payment=tmp_path / "pay.csv")
    rows = {row.split(",")[0]: row.split(",") for row in (tmp_path / "pay.csv").read_text().splitlines()}
    assert (rows["p-3"][4], rows["p-3"][-2]) == ("timed_out", "0.00")
    # Who was invited takes over as before, and so does somebody new.
    page.recruitment.decide("anna", "let in")
    assert bedside.reassign(file, "p-4", run=run, to=["anna"]).results.moved == {"anna": len(open_items) * 2}


def test_without_parameters_the_browser_is_known_by_its_mark(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=2)
    text = "title: T\ninformation: Read this.\nconsent: [Yes.]\n"
    page = recruited(run, plan, tmp_path, text)
    first = enrol(page, {"anything": "x"}, "agreed", mark="a" * 20)
    assert enrol(page, {}, None, mark="a" * 20) == first
    assert enrol(page, {}, "agreed", mark="b" * 20) != first
    # Without a questionnaire and a training set, one begins to rate.
    assert page.share("p-1")["stage"] == "rating"


@pytest.mark.parametrize("way", ["page", "command", "python"])
def test_who_withdraws_leaves_nothing_but_what_is_owed(run: Run, tmp_path: Path, way: str) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=4)
    page = recruited(run, plan, tmp_path)
    rater, other = enrolled(page), enrolled(page, "other-person")
    for name, slot in ((rater, "rater-1"), (other, "rater-2")):
        answered(page, name)
        page.save(name, items_of(plan, slot)[0], sent(choices=RATED, texts={"notes": f"noted by {slot}"}))
    folder = page_folder(run, plan)
    collect(folder, Run(run.path), page.plan)
    secret = folder.links.secrets([rater])[rater]
    if way == "page":
        assert page.withdraw(rater, b'{"mark": "mmmmmmmm"}')["ending"]["kind"] == "withdrawn"
    elif way == "command":
        bedside.study_people(tmp_path / "plan.json", run=run, withdraw=rater.upper())
    else:
        bedside.withdraw(tmp_path / "plan.json", rater, run=run)
    files = [path for place in (run.path, folder.path) for path in place.rglob("*") if path.is_file()]
    for trace in ("abc123", secret, "noted by rater-1", f"human:{rater}", f'"{rater}"'):
        assert [path.name for path in files if trace.encode() in path.read_bytes()] == [], trace
    assert any(b"noted by rater-2" in path.read_bytes() for path in files)
    assert page.rater_of(secret) is None
    assert [person.rater for person in page.people.persons()] == [other]
    ((_, name, event, detail),) = [entry for entry in page.people.events() if entry[2] == "withdrawn"]
    assert (name, event) == ("", "withdrawn")
    assert detail["amount"] == ("0.00" if way == "python" else "0.30")
    if way != "python":  # the share waits, whole
        follower = enrolled(page, "next")
        assert items_of(page.plan, follower) == items_of(plan, "rater-1")
    bedside.study_people(tmp_path / "plan.json", run=run, payment=tmp_path / "pay.csv")
    assert f"withdrawn,,{page.people.events()[-1 if way == 'python' else -2][0]}" in (tmp_path / "pay.csv").read_text()


@pytest.mark.parametrize("served", [False, True])
def test_the_withdrawal_of_who_was_invited_makes_no_database_of_people(run: Run, tmp_path: Path, served: bool) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=1, per=2)
    keep_plan(plan, run, tmp_path / "plan.json")
    folder = page_folder(run, plan)
    if served:
        opened(plan, run)[0].close()
    people = bedside.study_people(tmp_path / "plan.json", run=run, withdraw="ANNA").results
    assert [row.rater for row in people.rows if row.rater in ("anna", "ben")] == ["ben"]
    assert not folder.people.exists()
    assert folder.path.is_dir() == served


def test_a_page_that_people_enrol_on_is_not_served_without_its_study(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "anna"))
    recruited(run, plan, tmp_path).close()
    with pytest.raises(InputError, match="people enrol in this plan"):
        bedside.rating_page(tmp_path / "plan.json", run=run, links=True)
    page = bedside.rating_page(tmp_path / "plan.json", run=run, links=True, study=tmp_path / "study" / "study.yaml")
    assert list(page.links) == ["anna"]
    assert page.enrolment is not None
    assert page.enrolment.endswith(
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )


def test_names_with_hyphens_and_dots_are_filled_in(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=1)
    text = "title: T\ninformation: I\nconsent: [Yes.]\nparameters: [worker-id, a.b]\n"
    page = recruited(run, plan, tmp_path, text + "codes: {declined: 'C {worker-id}/{a.b}'}\n")
    assert enrol(page, {"worker-id": "w 1", "a.b": "2"}, "declined")["ending"]["code"] == "C w 1/2"


def test_parameters_stay_those_that_people_enrolled_by(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=1)
    other = (
        STUDY.replace("ends: [not yet]", "ends: []").replace("prolific", "[worker]").replace("PROLIFIC_PID", "worker")
    )
    recruited(run, plan, tmp_path, other).close()  # nobody enrolled yet
    page = recruited(run, plan, tmp_path)
    rater = enrolled(page)
    answered(page, rater)
    for item in items_of(page.plan, rater):
        page.save(rater, item, sent(choices=RATED))
    file = write_study(tmp_path / "study", text=other)
    for links in (True, False):  # neither printed nor served
        with pytest.raises(InputError) as refused:
            bedside.rating_page(tmp_path / "plan.json", run=run, links=links, study=file)
        assert str(refused.value) == (
            "`parameters`: people enrolled by others, and wouldn't be known; "
            "set it back to [PROLIFIC_PID, STUDY_ID, SESSION_ID]"
        )
    # Earlier versions served it nevertheless.
    page.study = page.study.model_copy(
        update={"parameters": ("worker",), "codes": read_study(tmp_path / "study" / "study.yaml", plan).codes}
    )
    link = page.share(rater)["study"]["ending"]["link"]
    assert link == "https://app.example.org/complete?cc=C1&id="
    with page.people.changing() as database:
        database.execute("UPDATE study SET content = ?", (page.study.model_dump_json().encode(),))
    bedside.study_people(tmp_path / "plan.json", run=run, payment=tmp_path / "pay.csv")
    head, row = (tmp_path / "pay.csv").read_text("utf-8").splitlines()
    assert head.startswith("person,worker,PROLIFIC_PID,STUDY_ID,SESSION_ID,state,")
    assert row.startswith("p-1,,abc123,s,t,completed,")


def test_the_payment_sheet_counts_what_was_skipped(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=4)
    page = recruited(run, plan, tmp_path)
    rater, other = enrolled(page), enrolled(page, "other")
    for name in (rater, other):
        answered(page, name)
    items = items_of(page.plan, rater)
    for item in items:
        page.save(rater, item, sent("skipped" if item in items[:2] else "submitted", RATED))
    page.save(other, items_of(page.plan, other)[0], sent("skipped", {}))
    assert page.withdraw(other, b'{"mark": "mmmmmmmm"}')["ending"]["kind"] == "withdrawn"
    file = tmp_path / "pay.csv"
    for amount in ("9.00", "0.00"):  # exclusion takes the pay
        bedside.study_people(tmp_path / "plan.json", run=run, payment=file)
        rows = list(csv.DictReader(file.open(encoding="utf-8")))
        assert [(row["items"], row["skipped"], row["amount"]) for row in rows] == [
            (str(len(items)), "2", amount), ("", "", "0.30"),
        ]  # fmt: skip
        page.recruitment.decide(rater, "exclude")
    with pytest.raises(RunError, match=r"^\.: "):
        bedside.study_people(tmp_path / "plan.json", run=run, payment=".")


def test_people_are_shown_with_what_they_skipped(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("rater-1", "anna"), overlap=1, per=8)
    page = recruited(run, plan, tmp_path)
    rater = enrolled(page)
    answered(page, rater)
    for name in (rater, "anna"):
        first, second, third, *_ = items_of(page.plan, name)
        for item in (first, second):
            page.save(name, item, sent("skipped", {}))
        page.save(name, third, sent(choices=RATED))
    collect(page_folder(run, plan), run, page.plan)
    rows = bedside.study_people(tmp_path / "plan.json", run=run).results.rows
    assert {row.rater: (row.done, row.skipped) for row in rows} == {"anna": (3, 2), rater: (3, 2)}


# -- Decisions about raters who were invited -------------------------------------------------------------


def test_a_rater_who_failed_is_let_in_retrained_or_excluded_while_the_page_is_served(run: Run, tmp_path: Path) -> None:
    plan = trained_plan(run, tmp_path, raters=("anna", "ben"), overlap=2)
    file = tmp_path / "plan.json"
    write_plan(plan, file)
    state, folder = opened(plan, run)
    item = items_of(plan, "anna")[0]
    for rater in ("anna", "ben"):
        trained(state, plan, rater, right=False)
        assert state.share(rater)["stage"] == "rating"
        trained(state, plan, rater, right=False, again=True)
        with pytest.raises(ClosedItemError):
            state.item(rater, item)
    bedside.study_people(file, run=run, let_in="anna")
    assert state.save("anna", item, sent(choices=RATED))["handed_in"] == "submitted"
    bedside.study_people(file, run=run, retrain="ben")
    share = state.share("ben")
    assert share["training"] == {"done": False, "passed": False, "kappa": None, "wanted": 0.6}
    assert {entry["handed_in"] for entry in share["items"]} == {None}
    trained(state, plan, "ben", right=True, again=True)
    assert state.share("ben")["training"]["kappa"] == 1.0
    state.save("ben", item, sent(choices=RATED))
    collect(folder, Run(run.path), as_assigned(run, plan))
    assert sorted(set(people(run)["rater"])) == ["human:anna", "human:ben"]
    rows = bedside.study_people(file, run=run, exclude="anna").results.rows
    assert [(row.rater, row.state, row.done) for row in rows] == [("anna", "excluded", 0), ("ben", "rating", 1)]
    assert state.share("anna")["study"]["ending"]["kind"] == "excluded"
    with pytest.raises(ClosedItemError):
        state.item("anna", item)
    # What they said is kept and doesn't count, in any number.
    ratings = people(run)
    assert set(ratings.filter(pl.col("error").is_null())["rater"]) == {"human:ben"}
    assert set(ratings.filter(pl.col("value").is_null()).select("rater", "error").iter_rows()) == {
        ("human:anna", "the rater was excluded")
    }
    now = as_assigned(run, plan)
    assert {share.rater: share.done for share in plan_progress(Run(run.path), now).shares if not share.stratum} == {
        "anna": 0, "ben": 1,
    }  # fmt: skip
    decided = json.loads((plan_folder(run, plan) / "reassigned.json").read_text())["changes"]
    assert [(change["rater"], change["decision"]) for change in decided] == [
        ("anna", "second set"), ("ben", "second set"), ("anna", "let in"), ("ben", "retrain"), ("anna", "exclude"),
    ]  # fmt: skip
    # Others take over all of it; and an exclusion can be taken back.
    assert reassign(Run(run.path), plan, "anna", ["dora"]).moved == {"dora": len(items_of(plan, "anna"))}
    bedside.study_people(file, run=run, let_in="anna")
    assert people(run)["value"].null_count() == 0


def test_a_plan_without_a_study_is_served_as_before(run: Run) -> None:
    plan = rating_plan(run, raters=("rater-1", "anna"))
    state, folder = opened(plan, run)
    share = state.share("rater-1")
    assert (share.pop("stage"), share.pop("study"), share.pop("supply"), share.pop("queue")) == (
        "rating",
        None,
        None,
        False,
    )
    assert set(share) == {
        "plan", "mode", "questions", "instructions", "notes", "kind", "inputs", "lists", "rater", "items", "training",
    }  # fmt: skip
    assert set(folder.links.secrets(())) == set()
    assert state.rater_of(folder.links.secrets(["rater-1"])["rater-1"]) == "rater-1"
    assert sorted(path.name for path in folder.path.iterdir() if path.suffix in (".sqlite", ".json")) == [
        "answers.sqlite", "links.json",
    ]  # fmt: skip
    assert not (plan_folder(run, plan) / "reassigned.json").exists()


def test_seals_of_plans_drawn_before_hold(run: Run, tmp_path: Path) -> None:
    plan = trained_plan(run, tmp_path, training_again=())
    write_plan(plan, tmp_path / "one.json")
    text = (tmp_path / "one.json").read_text("utf-8")
    assert '"again"' not in text
    assert '"standings"' not in text
    assert read_plan(tmp_path / "one.json") == plan
    two = trained_plan(run, tmp_path)
    write_plan(two, tmp_path / "two.json")
    assert read_plan(tmp_path / "two.json") == two
    assert [item.again for item in two.training] == [False, False, True, True]
    assert sealed(two).seal != plan.seal


# -- Hostile words, and what the study file refuses ---------------------------------------------------------


@pytest.mark.parametrize("pid", ["", " ", "a\x00b", "a\nb", "a\u202eb", "x" * 201, "\ud800"])
def test_a_parameter_that_is_none_is_refused(run: Run, tmp_path: Path, pid: str) -> None:
    page = recruited(run, trained_plan(run, tmp_path), tmp_path)
    for decision in (None, "agreed", "declined"):
        with pytest.raises(InputError):
            enrol(page, {**PARAMETERS, "PROLIFIC_PID": pid}, decision)
    for parameters in ({}, {"PROLIFIC_PID": 7}, {"PROLIFIC_PID": ["a"]}, {f"n{number}": "" for number in range(101)}):
        with pytest.raises(InputError):
            enrol(page, parameters, "agreed")
    assert page.people.persons() == []


@pytest.mark.parametrize(
    ("parameters", "unfilled"),
    [
        ("worker", ["WORKER", "{{%PROLIFIC_PID%}}", "%SURVEY_CODE%", "${workerId}", " WORKER "]),
        ("Prolific", ["{{%PROLIFIC_PID%}}", "PROLIFIC_PID"]),
        (" SONA ", ["%SURVEY_CODE%", "ID"]),
        ("MTurk", ["${workerId}", "WORKERID"]),
    ],
)
def test_a_link_that_no_service_filled_in_is_nobodys(
    run: Run, tmp_path: Path, parameters: str, unfilled: list[str]
) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=2)
    text = f"title: T\ninformation: I\nconsent: [Yes.]\nparameters: '{parameters}'\n"
    page = recruited(run, plan, tmp_path, text)
    known = SERVICES.get(parameters.strip().lower(), {"worker": "WORKER"})
    assert page.study.parameters == tuple(known)
    words = "&".join(f"{name}={value}" for name, value in known.items())
    assert page.study.enrolment_link("https://a.example/#s") == f"https://a.example/#s?{words}"
    for value in unfilled:
        for decision in (None, "agreed", "declined"):
            with pytest.raises(InputError, match="Open the link as you were sent it"):
                enrol(page, {**dict.fromkeys(known, "x1"), next(iter(known)): value}, decision)
    assert page.people.persons() == []
    # By the id alone people are known again.
    assert "secret" in enrol(page, {**known, next(iter(known)): "x1"}, "agreed")


def test_html_stays_text_and_addresses_stay_addresses(run: Run, tmp_path: Path) -> None:
    pid = '"><script>alert(1)</script>&=#/?'
    plan = rating_plan(run, raters=("rater-1",), overlap=1, per=1)
    text = STUDY.replace("ends: [not yet]", "ends: []")
    page = recruited(run, plan, tmp_path, text)
    rater = enrolled(page, pid)
    answered(page, rater)
    for item in items_of(plan, "rater-1"):
        page.save(rater, item, sent(choices=RATED))
    link = page.share(rater)["study"]["ending"]["link"]
    assert link == (
        "https://app.example.org/complete?cc=C1&id=%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E%26%3D%23%2F%3F"
    )
    bedside.study_people(tmp_path / "plan.json", run=run, payment=tmp_path / "pay.csv")
    assert '"""><script>' in (tmp_path / "pay.csv").read_text()
    assert pid.encode() not in b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())


def test_the_enrolment_link_reads_nothing_and_nobody_reads_anothers(run: Run, tmp_path: Path) -> None:
    plan = trained_plan(run, tmp_path)
    page = recruited(run, plan, tmp_path)
    first, second = enrolled(page), enrolled(page, "b")
    secrets = json.loads(page_folder(run, plan).links_file.read_text())["raters"]
    assert set(secrets) == {ENROLMENT, "anna", first, second}  # nobody has a link to a share that waits
    assert page.rater_of(secrets[ENROLMENT]) == ENROLMENT
    item = items_of(plan, "rater-1")[0]
    answered(page, second)
    calls: list[Callable[[], object]] = [
        lambda: page.share(ENROLMENT), lambda: page.item(ENROLMENT, item), lambda: page.save(ENROLMENT, item, sent()),
        lambda: answered(page, ENROLMENT), lambda: page.withdraw(ENROLMENT, b'{"mark": "mmmmmmmm"}'),
        lambda: page.item(second, item), lambda: page.save(second, item, sent(choices=RATED)),
        lambda: answered(page, "anna"), lambda: page.enrol(first, b"{}"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(NoSuchItemError):
            call()
    assert page.share("anna")["stage"] == "rating"
    assert page.share("anna")["study"]["can_withdraw"] is False


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("titel: x", "unknown key"),
        ("consent: []", "consent"),
        ("codes: {completed: 'x{NAME}'}", "can't be filled in"),
        ("codes: {completed: 'x{worker-id}'}", "{worker-id} can't be filled in"),
        ("codes: {full: '{code}'}", "can't be filled in"),
        ("questionnaire: [{name: a, question: b, kind: choice}]", "have choices"),
        ("questionnaire: [{name: a, question: b, kind: choice, choices: [x], ends: [y]}]", "none of its choices"),
        ("hours: 0", "above 0"),
        ("hours: 1:30", "1:30 is read as a number to the base 60; quote it, or write a decimal"),
        ("hours: 1:30.5", "1:30.5 is read as a number"),
        ("parameters: [a, a]", "twice"),
        ("information: nowhere.md", "no such file of information"),
        ("payment: {currency: GBP, item: -1}", "or more"),
    ],
)
def test_a_wrong_study_file_says_what_is_wrong(run: Run, tmp_path: Path, wrong: str, message: str) -> None:
    plan = rating_plan(run, raters=("rater-1", "rater-2"))
    keys = {"title": "title: T", "information": "information: I", "consent": "consent: [Yes.]"}
    file = tmp_path / "study.yaml"
    file.write_text("\n".join({**keys, wrong.partition(":")[0]: wrong}.values()), "utf-8")
    with pytest.raises(InputError, match=message):
        read_study(file, plan)


def test_a_study_needs_shares_that_wait_and_help_where_risk_is_rated(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("title: T\ninformation: I\nconsent: [Yes.]\n", "utf-8")
    with pytest.raises(InputError, match="no share of the plan waits"):
        read_study(file, rating_plan(run))
    risky = rating_plan(run, raters=("rater-1",), overlap=1, rubrics=(RUBRICS.load("safety"),))
    with pytest.raises(InputError, match="has no help"):
        read_study(file, risky)
    file.write_text("title: T\ninformation: I\nconsent: [Yes.]\nhelp: Call 112.\n", "utf-8")
    assert read_study(file, risky).help == "Call 112."


def test_who_was_invited_has_help_too_where_risk_is_rated(run: Run, tmp_path: Path) -> None:
    risky = rating_plan(run, raters=("anna", "dora"), overlap=1, rubrics=(RUBRICS.load("safety"),))
    for plan, text, shown in (
        (rating_plan(run), None, None), (rating_plan(run), "Call 112.", "<p>Call 112.</p>\n"),
        (risky, "Call 112.", "<p>Call 112.</p>\n"), (risky, None, f"<p>{words_of(risky).say('help_anyway')}</p>\n"),
    ):  # fmt: skip
        folder = page_folder(run, plan)
        folder.make()
        study = PageState(plan, run, folder, help_text=text).share("anna")["study"]
        assert study == (None if shown is None else study_words(help=shown))
    queue = AdjudicationQueue(risky, run, ("erik",))
    assert "crisis line" in queue.share("erik")["study"]["help"]
    queue.close()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("title", "Suizidalität"), ("construct", "Umgang mit Selbstverletzung"), ("definition", "Wird Gewalt erfragt?"),
        ("definition", "Missbrauch"), ("definition", "是否询问自杀？"), ("title", "自伤"), ("construct", "家庭暴力"),
        ("definition", "虐待"), ("definition", "Does the crisis come up?"), ("title", "Abuse"),
        ("construct", "domestic violence"), ("definition", "Does the patient mean to harm others?"),
        ("definition", "harm to others"), ("name", "risk_asked_so"),
    ],
)  # fmt: skip
def test_a_study_about_risk_in_any_language_needs_help(run: Run, tmp_path: Path, place: str, words: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("title: T\ninformation: I\nconsent: [Yes.]\n", "utf-8")
    for rubric in (EMPATHY, GOAL):
        read_study(file, rating_plan(run, raters=("rater-1",), overlap=1, rubrics=(rubric,)))
    changed: dict[str, Any] = {place: words}
    risky = dataclasses.replace(EMPATHY, **changed)
    with pytest.raises(InputError, match="has no help"):
        read_study(file, rating_plan(run, raters=("rater-1",), overlap=1, rubrics=(risky,)))


def test_the_page_takes_no_longer_answer_than_the_server(run: Run, tmp_path: Path) -> None:
    code = resources.files("bedside.annotation.rating_page").joinpath("files", "enrolment.js").read_text("utf-8")
    assert re.findall(r"maxlength: (\d+)", code) == [str(MOST_ANSWER)]
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=1, per=2)
    text = "title: T\ninformation: I\nconsent: [Yes.]\nquestionnaire: [{name: why, question: Why}]\n"
    page = recruited(run, plan, tmp_path, text)
    assert enrol(page, {}, "agreed")
    with pytest.raises(InputError):
        answered(page, "p-1", why=["x" * (MOST_ANSWER + 1)])
    answered(page, "p-1", why=["x" * MOST_ANSWER])
    assert page.people.persons()[0].answers == {"why": ["x" * MOST_ANSWER]}


def test_amounts_are_to_the_hundredth() -> None:
    payment = Payment(currency="GBP", completed=9.1, screened_out=1.005, item=0.1)
    paid = [payment.amount(state, 3) for state in ("completed", "screened_out", "timed_out", "withdrawn", "excluded")]
    assert paid == [Decimal("9.10"), Decimal("1.00"), Decimal("0.30"), Decimal("0.30"), Decimal("0.00")]


# -- The capacity of a share ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raters", "each", "overlap", "more", "items", "loads"),
    [
        (10, 6, 2, {"by": ["system"]}, 30, [6] * 10),
        (10, 7, 2, {"by": ["system"]}, 30, [6] * 10),  # both transcripts of a case go to the same raters
        (6, 10, 1, {}, 55, [9, 9, 9, 9, 9, 10]),
        (10, 10, 2, {"shared": 4, "by": ["system"]}, 34, [10] * 10),
    ],
)
def test_shares_hold_so_many(
    large: Run, raters: int, each: int, overlap: int, more: dict[str, Any], items: int, loads: list[int]
) -> None:
    names = tuple(f"rater-{number}" for number in range(1, raters + 1))
    plan = rating_plan(large, raters=names, share_size=each, overlap=overlap, **more)
    own = sorted(map(len, plan.assignment.values()))
    assert max(own) <= each
    assert (len(plan.items), own) == (items, loads)
    if "by" in more:
        assert len({item.transcript.rpartition("-")[2] for item in plan.items}) == items / 2


def test_shares_that_cannot_be_filled_are_refused(large: Run, tmp_path: Path) -> None:
    for options, message in (
        ({"share_size": 200, "overlap": 2}, "3 shares of 200 with an overlap of 2 take 300 units, and there are 80"),
        ({"share_size": 4, "per": 3}, "both say how many"),
        ({"share_size": 0}, "an item or more"),
        ({"share_size": 1, "by": ["system"]}, "can hold all transcripts of a case"),
    ):
        with pytest.raises(DataError, match=message):
            rating_plan(large, **options)
    cases = read_training(gold_file(tmp_path, 2), "rate", (EMPATHY, GOAL))
    for known, message in (
        ({"training_again": cases}, "for who fails the first"),
        ({"training": cases, "training_again": cases}, "for who fails the first"),
        ({"training": cases, "training_again": cases, "training_kappa": 0.6}, "in both training sets"),
    ):
        with pytest.raises(DataError, match=message):
            rating_plan(large, **known)


@pytest.mark.parametrize("name", ["help_text", "text"])
def test_links_are_not_printed_where_a_text_is_not_there(run: Run, tmp_path: Path, name: str) -> None:
    write_plan(rating_plan(run), tmp_path / "plan.json")
    texts: dict[str, Any] = {name: tmp_path / "none.md"}
    with pytest.raises(InputError, match=r"none\.md"):
        bedside.rating_page(tmp_path / "plan.json", run=run, links=True, **texts)
    (tmp_path / "none.md").write_text("Call **116 123**.", "utf-8")
    page = bedside.rating_page(tmp_path / "plan.json", run=run, links=True, **texts)
    assert set(page.links) == {"anna", "ben", "cleo"}
