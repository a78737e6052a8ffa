"""A plan's projects on a server: whatever their owner calls them, which one is named, a server that hangs, a watch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from bedside.annotation import label_studio_client
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import read_store
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import pull, push
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.reassignment import as_assigned
from bedside.annotation.withdrawal import withdraw
from bedside.api.annotating import keep_plan
from bedside.core.errors import LabelStudioError
from bedside.ratings.run import Run
from tests.annotation.label_studio_stand_in import Studio, studio
from tests.annotation.study import USERS, rating_plan
from tests.conftest import Call

GIVEN = {"empathy": "4", "goal_alignment": "2"}


@pytest.fixture
def server() -> Iterator[Studio]:
    with studio() as stand_in:
        yield stand_in


def client(server: Studio) -> LabelStudioClient:
    return LabelStudioClient(server.url, "a" * 40)


def small_plan(run: Run, seed: int = 3) -> AnnotationPlan:
    return rating_plan(run, raters=("anna", "ben"), per=6, overlap=2, seed=seed)


@pytest.mark.parametrize("strict", [True, False])
def test_a_project_that_its_owner_describes_anew_is_known_by_its_tasks(
    run: Run, server: Studio, strict: bool
) -> None:  # fmt: skip
    plan = small_plan(run)
    push(plan, run, client(server), strict=strict)
    held = {number: [task["id"] for task in project["tasks"]] for number, project in server.projects.items()}
    parts = {number: str(project["description"]) for number, project in server.projects.items()}
    for project in server.projects.values():
        project |= {"title": "Ward 3", "description": "Please rate by Friday. \\1"}
    first = plan.assignment["anna"][0]
    server.rate("anna", GIVEN, first)
    assert pull(plan, run, client(server)).stored.new == 1
    pushed = push(plan, Run(run.path), client(server))
    assert (pushed.sent, pushed.taken_back) == (0, 0)
    assert {number: [task["id"] for task in one["tasks"]] for number, one in server.projects.items()} == held
    # The mark is back, of the same rater's tasks, and what the owner wrote stays.
    said = {number: project["description"] for number, project in server.projects.items()}
    assert said == {number: f"Please rate by Friday. \\1\n{mark}" for number, mark in parts.items()}
    assert {project["title"] for project in server.projects.values()} == {"Ward 3"}


def test_a_project_of_other_tasks_is_not_taken_for_the_plans(run: Run, server: Studio) -> None:
    push(small_plan(run, seed=5), run, client(server), strict=False)
    server.projects[1]["description"] = ""
    pushed = push(small_plan(run), run, client(server), strict=False)
    assert pushed.sent == 6
    assert len(server.projects) == 2


def test_a_project_is_named(run: Run, server: Studio) -> None:
    plan = small_plan(run)
    for seed in (3, 5):
        push(small_plan(run, seed), run, client(server), strict=False)
    # Its description says another plan's name, and it can't be known by itself.
    server.projects[1]["description"] = server.projects[2]["description"].replace("plan=", "plan=0")
    server.rate("ben", GIVEN, plan.assignment["ben"][0])
    with pytest.raises(LabelStudioError, match="has no project of plan"):
        pull(plan, run, client(server))
    for wrong in (2, 9):
        for ask in (push, pull):
            with pytest.raises(LabelStudioError, match=f"project {wrong} is not there, or holds other tasks") as told:
                ask(plan, run, client(server), project=wrong)
            assert "\n" not in str(told.value)
    assert pull(plan, run, client(server), project=1).stored.new == 1
    assert push(plan, Run(run.path), client(server), project=1).sent == 0
    assert len(server.projects) == 2


def test_of_several_projects_the_named_one_is_pulled(run: Run, server: Studio) -> None:
    plan = small_plan(run)
    push(plan, run, client(server), strict=True)
    shared = set(plan.assignment["anna"]) & set(plan.assignment["ben"])
    server.rate("anna", GIVEN, *shared)
    known = client(server).projects(plan)
    pull(plan, run, client(server), project=known["ben"][0].id)
    answers = read_store(Run(run.path), plan).revisions
    assert {revision.answer.id.partition("-")[0][0] for revision in answers} == {str(known["ben"][0].id)}


@pytest.mark.slow
@pytest.mark.parametrize("hangs", ["whoami", "/projects/$"])
@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_server_that_hangs_is_said_in_a_line(
    run: Run, server: Studio, call: Call, monkeypatch: pytest.MonkeyPatch, command: str, hangs: str
) -> None:
    server.hangs = hangs
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "a" * 40)
    write_plan(small_plan(run), Path("plan.json"))
    assert label_studio_client._PROMPT <= 15
    monkeypatch.setattr(label_studio_client, "_PROMPT", 2.0)
    begun = time.monotonic()
    code, _, err = call("annotate", command, "plan.json", "--url", server.url, "--run", run.path)
    assert time.monotonic() - begun < 7
    assert (code, err.count("\n"), "it doesn't answer" in err, server.url in err) == (2, 1, True, True)


def test_a_watch_says_what_came_and_is_quiet_where_nothing_did(
    run: Run, server: Studio, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(run)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "a" * 40)
    write_plan(plan, Path("plan.json"))
    push(plan, run, client(server), strict=False)
    first, second, third, *_ = plan.assignment["anna"]
    both = next(item for item in plan.assignment["ben"] if item not in (first, second, third))
    server.rate("anna", GIVEN, first)

    def quiet() -> None:
        pass

    def more() -> None:
        server.rate("anna", GIVEN, second, third)
        server.rate("ben", GIVEN, first)

    def away() -> None:
        server.hangs = "/projects/$"
        monkeypatch.setattr("bedside.annotation.label_studio_client._PROMPT", 0.2)

    def back() -> None:
        server.hangs = ""
        server.rate("ben", GIVEN, both)

    def changed() -> None:
        task = next(task for task in server.projects[1]["tasks"] if task["data"]["external_id"] == first)
        task["annotations"][0]["updated_at"] = "2026-03-02T10:00:00.000000Z"
        task["annotations"][0]["lead_time"] = 90.0

    steps = [
        quiet, more, away, quiet, back, changed,
    ]  # fmt: skip

    def wait(seconds: float) -> None:
        assert seconds >= 10
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    monkeypatch.setattr("bedside.api.annotating.time.sleep", wait)
    code, out, err = call("annotate", "pull", "plan.json", "--url", server.url, "--run", run.path, "--watch")
    lines = err.splitlines()
    assert lines[:2] == [
        "1 new answer of anna; 1 of 12 expected.",
        "2 new answers of anna, 1 new answer of ben; 4 of 12 expected.",
    ]
    assert "it doesn't answer" in lines[2]
    assert lines[3:] == ["1 new answer of ben; 5 of 12 expected.", "1 correction; 5 of 12 expected."]
    assert (code, out.startswith("0 new answers, 1 correction, 4 there already; 5 count")) == (0, True)


@pytest.mark.parametrize("strict", [True, False])
def test_who_withdrew_comes_back_by_no_pull_and_no_push(run: Run, server: Studio, strict: bool, tmp_path: Path) -> None:
    plan = small_plan(run)
    keep_plan(plan, run, tmp_path / "plan.json")
    push(plan, run, client(server), strict=strict)
    first, second = plan.assignment["anna"][:2]
    for rater in plan.raters:
        server.rate(rater, GIVEN, first)
    assert pull(plan, run, client(server)).stored.new == 2
    before = Run(run.path).ratings.filter(pl.col("rater") != "human:anna")
    withdraw(Run(run.path), plan, page_folder(run, plan), "anna")
    server.rate("anna", GIVEN, second)
    now, count = as_assigned(Run(run.path), plan), len(server.projects)
    # Whether the address says who it is, or the user does.
    for users in ({}, {"anna@example.org": "anna"}):
        pulled = pull(now, Run(run.path), client(server), users=users)
        assert (pulled.stored.new, pulled.collected.strangers) == (0, {})
        assert pulled.stored.withdrawn > 1
    assert Run(run.path).ratings.equals(before)
    # Nobody gets a project for nobody; what is there of hers is the owner's to delete.
    assert push(now, Run(run.path), client(server)).sent == 0
    assert len(server.projects) == count


def test_a_push_by_need_sends_the_next_batch_until_it_is_enough(
    run: Run, server: Studio, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six items each at first, what is needed after that, and once the mean is known to half a level, nothing: what
    nobody has begun is taken back."""
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "a" * 40)
    write_plan(plan, Path("plan.json"))
    where = ("plan.json", "--url", server.url, "--run", run.path)
    until = ("--until", "empathy mean±2.3")

    def on_server() -> dict[str, set[str]]:
        return {
            str(project["title"]).rpartition(" ")[2]: {task["data"]["external_id"] for task in project["tasks"]}
            for project in server.projects.values()
        }

    code, _, err = call("annotate", "push", *where, *until, "--pool")
    assert (code, "items go to raters by need" in err) == (2, True)
    assert call("annotate", "push", *where, *until)[0] == 0
    first = on_server()
    assert {rater: len(items) for rater, items in first.items()} == {"anna": 6, "ben": 6}
    assert first["anna"] == first["ben"]
    assert "Sent 0 tasks; 12 there already." in call("annotate", "push", *where)[1]
    by_case: dict[str, list[str]] = {}
    shown = {item.id: item.transcript for item in plan.items}
    cases = dict(run.index.select("id", "case_id").iter_rows())

    def rate(*wanted: int) -> None:
        """Both rate the items of some cases, in the order in which they were sent; each in a project of their own."""
        for task in server.projects[1]["tasks"]:
            own = by_case.setdefault(cases[shown[task["data"]["external_id"]]], [])
            own += [task["data"]["external_id"]] if task["data"]["external_id"] not in own else []
        for place in wanted:
            for item in list(by_case.values())[place]:
                for rater in ("anna", "ben"):
                    server.rate(rater, {**GIVEN, "empathy": str(3 + place % 2)}, item)
        for project in server.projects.values():
            user = USERS[str(project["title"]).rpartition(" ")[2]]
            for task in project["tasks"]:
                task["annotations"] = [one for one in task["annotations"] if one["completed_by"] == user]

    rate(0, 1)
    code, out, _ = call("annotate", "pull", *where)
    assert code == 0
    assert "reached" not in out
    assert "Sent 8 tasks; 12 there already." in call("annotate", "push", *where)[1]
    rate(2, 3)
    _, out, _ = call("annotate", "pull", *where)
    assert "The targets empathy mean±2.3 are reached: nobody gets more items." in out
    out = call("annotate", "push", *where)[1]
    assert "Sent 0 tasks; 16 there already." in out
    assert "Took back 4 tasks that their raters no longer have." in out
