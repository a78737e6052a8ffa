"""A plan and a real Label Studio: pushed, answered through the API and in a browser, pulled; and what goes wrong."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation import label_studio_server as own
from bedside.annotation.annotation_plan import AnnotationPlan, round_of
from bedside.annotation.answer_store import plan_folder
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.annotation.label_studio_projects import pull, push
from bedside.annotation.plan_file import write_plan
from bedside.annotation.reassignment import reassign
from bedside.annotation.training_cases import read_training
from bedside.core.errors import LabelStudioError
from bedside.ratings.run import Run
from bedside.scoring.score import score
from tests.annotation.builders import MODES, copy_of, human, odd_rubric, pulled, said_in
from tests.annotation.study import GOAL, JUDGE, SYSTEMS, USERS, exported, level_of, levels, rating_plan, results

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.studio]
RATERS = ("anna", "ben", "cleo")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[own.OwnServer]:
    """The one server of these tests. Its empty database is kept beside its environment: making it takes a minute."""
    try:
        own.ensure_environment()
    except LabelStudioError as error:
        pytest.skip(f"no Label Studio here: {error}")
    folder = tmp_path_factory.mktemp("studio") / "server"
    shutil.copytree(_empty_server(tmp_path_factory), folder)
    found = own.serve(folder, raters=RATERS, port=free_port())
    yield found
    own.stop_server(folder)


def _empty_server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server that nobody has used yet, made by whoever needs it first."""
    import filelock

    empty = own.environment_folder().with_name(f"label-studio-{own.VERSION}-empty")
    with filelock.FileLock(f"{empty}.lock"):
        if not (empty / "data").is_dir():
            fresh = tmp_path_factory.mktemp("fresh")
            own.serve(fresh, port=free_port())
            own.stop_server(fresh)
            shutil.rmtree(empty, ignore_errors=True)
            shutil.copytree(fresh, empty)
    return empty


@pytest.fixture
def key(studio: own.OwnServer) -> str:
    return studio.key_file.read_text().strip()


@pytest.fixture
def server(studio: own.OwnServer, key: str) -> LabelStudioClient:
    return LabelStudioClient(studio.url, key)


@pytest.fixture(scope="module")
def people(studio: own.OwnServer) -> dict[str, Any]:
    """Each rater's own client."""
    import httpx
    from label_studio_sdk.client import LabelStudio

    found = {}
    for login in studio.logins:
        with httpx.Client(base_url=studio.url) as session:
            page = session.get("/user/login/").text
            code = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
            assert code is not None
            fields = {"csrfmiddlewaretoken": code[1], "email": login.email, "password": login.password}
            session.post("/user/login/", data=fields, headers={"Referer": f"{studio.url}/user/login/"})
            token = session.get("/api/current-user/token").json()["token"]
        found[login.rater] = LabelStudio(base_url=studio.url, api_key=token)
    return found


def tasks_of(server: LabelStudioClient, plan: AnnotationPlan) -> list[Any]:
    projects = [each for known in server.projects(plan).values() for each in known]
    return [task for several in server.tasks(projects).values() for task in several]


def tasks_of_project(server: LabelStudioClient, project: Any) -> dict[str, Any]:
    return {task.data["external_id"]: task for several in server.tasks([project]).values() for task in several}


def tasks_by_item(server: LabelStudioClient, plan: AnnotationPlan) -> dict[str, Any]:
    return {task.data["external_id"]: task for task in tasks_of(server, plan)}


def answer(person: Any, task: Any, given: dict[str, Any]) -> Any:
    return person.annotations.create(id=task.id, result=results(given), lead_time=30.0)


def draft(person: Any, task: int, given: dict[str, Any] | None = None) -> None:
    body = {"result": results(given or {})}
    person._client_wrapper.httpx_client.request(f"api/tasks/{task}/drafts", method="POST", json=body)


def pushed_project(plan: AnnotationPlan, run: Run, server: LabelStudioClient) -> Any:
    """The one project of a plan that was sent."""
    push(plan, run, server)
    ((project, *_),) = server.projects(plan).values()
    return project


def run_again(run: Run) -> Run:
    return Run(run.path)


def annas(run: Run, per: int, seed: int) -> AnnotationPlan:
    return rating_plan(run, raters=("anna",), per=per, overlap=1, seed=seed)


@contextmanager
def browser_of(studio: own.OwnServer, rater: str, hosts: set[str] | None = None) -> Iterator[Any]:
    """The page of a browser in which a rater has logged in; the hosts that it asks are put into ``hosts``."""
    with browser_of_all(studio, rater, hosts=hosts) as (page,):
        yield page


@contextmanager
def browser_of_all(studio: own.OwnServer, *raters: str, hosts: set[str] | None = None) -> Iterator[list[Any]]:
    """A page for each rater, who has logged in there; none knows of the others' cookies."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    reached = set() if hosts is None else hosts
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = []
        for login in (next(known for known in studio.logins if known.rater == rater) for rater in raters):
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.set_default_timeout(40_000)
            page.on("request", lambda sent: reached.add(sent.url.split("/")[2]) if "://" in sent.url else None)
            page.goto(f"{studio.url}/user/login/")
            page.fill("input[name=email]", login.email)
            page.fill("input[name=password]", login.password)
            page.click("button[type=submit]")
            page.wait_for_url(lambda url: "login" not in url)
            pages.append(page)
        yield pages
        browser.close()


def begin(page: Any, address: str) -> None:
    """Never by a row of the table: that would open the answer of somebody else."""
    page.goto(address)
    page.get_by_role("button", name="Label All Tasks").click()


def next_task(page: Any) -> int:
    page.wait_for_selector(".bedside-right .lsf-choice")
    page.wait_for_timeout(1000)
    return int(re.findall(r"\d+", page.locator('[class*="current-task"]').first.inner_text())[0])


def in_sight(page: Any, *texts: str) -> bool:
    boxes = [page.get_by_text(text, exact=True).first.bounding_box() for text in texts]
    return all(0 <= box["y"] < 900 for box in boxes)


def submit(page: Any) -> None:
    with page.expect_response(lambda reply: reply.request.method == "POST" and "/annotations" in reply.url) as reply:
        page.get_by_test_id("bottombar-submit-button").click()
    assert reply.value.ok


# -- the whole way --


def test_answers_of_three_people_come_back_as_given(
    run: Run, server: LabelStudioClient, people: dict[str, Any], tmp_path: Path
) -> None:
    plan = rating_plan(run, raters=RATERS, overlap=3)
    first = push(plan, run, server, text="# Welcome\n\nYou *consent*. <script>alert(1)</script>")
    assert (first.sent, first.present) == (12, 0)
    again = push(plan, run, server)
    assert (again.sent, again.present, again.removed) == (0, 12, 0)
    tasks = tasks_by_item(server, plan)
    assert sorted(tasks) == sorted(item.id for item in plan.items)
    typed = {(item, rater): _typed(number, rater) for number, item in enumerate(tasks) for rater in RATERS}
    for (item, rater), level in typed.items():
        answer(people[rater], tasks[item], {"empathy": str(level), "goal_alignment": str(6 - level)})
    kept = pull(plan, run, server).stored
    assert (kept.new, kept.submitted, kept.missing) == (36, 36, 0)
    kept = pull(plan, run_again(run), server).stored
    assert (kept.new, kept.revised, kept.unchanged) == (0, 0, 36)
    names = {item.id: item.transcript for item in plan.items}
    _agreement_is_of_what_was_typed(
        run, {(names[item], rater): level for (item, rater), level in typed.items()}, tmp_path / "typed.csv"
    )
    _nothing_tells_systems_apart(server, plan)


def _typed(number: int, rater: str) -> int:
    """Levels on which raters agree in part."""
    return 1 + (number + (number % 3 == 0) * RATERS.index(rater) + (rater == "ben" and number == 7)) % 5


def test_a_rater_rates_in_a_browser(run: Run, studio: own.OwnServer, server: LabelStudioClient) -> None:
    plan = rating_plan(run, raters=("cleo",), per=3, overlap=1, seed=43)
    (address,) = push(plan, run, server, text="# Welcome").projects.values()
    tasks = tasks_by_item(server, plan)
    items = {task.id: item for item, task in tasks.items()}
    hosts: set[str] = set()
    with browser_of(studio, "cleo", hosts) as page:
        begin(page, address)
        page.get_by_text("Welcome", exact=True).wait_for()
        page.keyboard.press("Escape")
        while items:
            item = items.pop(next_task(page))
            # All of it in one view: the goal, the first turn, the first rubric, and the second rubric's name.
            assert in_sight(page, "Goal", "Clinician", "1. Empathy", "2. Goal alignment")
            level = level_of(item, "cleo")
            page.locator(".bedside-rubric").nth(0).locator(".lsf-choice").nth(level - 1).click()
            page.keyboard.press("qwert"[5 - level])
            page.wait_for_timeout(500)
            submit(page)
    assert hosts == {studio.url.removeprefix("http://")}
    assert pull(plan, run, server).stored.submitted == 3
    by_id = {item.transcript: item.id for item in plan.items}
    rows = run_again(run).ratings.filter(metric="empathy", rater="human:cleo")
    found = {by_id[name]: value for name, value in rows.select("transcript_id", "value").iter_rows()}
    assert found == {item: level_of(item, "cleo") for item in tasks}


def test_a_rater_compares_two_conversations_in_a_browser(
    run: Run, studio: own.OwnServer, server: LabelStudioClient
) -> None:
    plan = rating_plan(run, mode="pairs", raters=("cleo",), per=2, overlap=1, seed=47)
    (address,) = push(plan, run, server, text="# Welcome").projects.values()
    _nothing_tells_systems_apart(server, plan)
    tasks = {task.id: task for task in tasks_of(server, plan)}
    given: dict[str, str] = {}
    with browser_of(studio, "cleo") as page:
        begin(page, address)
        page.get_by_text("Welcome", exact=True).wait_for()
        page.keyboard.press("Escape")
        for label in ("second", "tie"):
            task = tasks.pop(next_task(page))
            given[task.data["external_id"]] = label
            _two_conversations_fit(page, task.data)
            place = ("first", "second", "tie").index(label)
            page.locator(".bedside-rubric").nth(0).locator(".lsf-choice").nth(place).click()
            page.keyboard.press("qwe"[place])
            page.wait_for_timeout(500)
            submit(page)
    assert pull(plan, run, server).stored.submitted == 2
    rows = run_again(run).ratings.filter(pl.col("rater") == "human:cleo")
    shown = {item.id: (item.transcript, item.unit) for item in plan.items}
    assert set(rows.select("transcript_id", "unit", "metric", "label").iter_rows()) == {
        (*shown[item], f"{rubric}.preference", label)
        for item, label in given.items()
        for rubric in ("empathy", "goal_alignment")
    }


def _two_conversations_fit(page: Any, data: dict[str, Any]) -> None:
    """Both conversations and the first question stand side by side in one view of 1440 × 900."""
    columns = page.locator(".bedside-left")
    assert columns.count() == 2
    places = (columns.nth(0), columns.nth(1), page.locator(".bedside-right"))
    boxes = [place.bounding_box() for place in places]
    for before, after in pairwise(boxes):
        assert before["x"] + before["width"] <= after["x"] + 1
        assert abs(before["y"] - after["y"]) < 2
    for box in boxes:
        assert box["width"] > 300
        assert box["x"] + box["width"] <= 1440
        assert box["y"] + box["height"] <= 900
    for number, name in enumerate(("dialogue", "dialogue_second")):
        text = columns.nth(number).inner_text()
        assert [turn["text"].splitlines()[0] in text for turn in data[name]] == [True] * len(data[name])
    assert in_sight(page, "Goal", "First conversation", "Second conversation", "1. Empathy")


def _agreement_is_of_what_was_typed(run: Run, typed: dict[tuple[str, str], int], table: Path) -> None:
    """Every statistic of the pulled ratings is that of the same levels in a table that was never on a server."""
    cases = dict(run.index.select("id", "case_id").iter_rows())
    lines = [f"{name},{cases[name]},empathy,human:{rater},{level}" for (name, rater), level in typed.items()]
    table.write_text("\n".join(["transcript_id,case,metric,rater,value", *lines]) + "\n")
    rows = agree(open_ratings_view(run.path), metrics=["empathy"], raters=["human:*"])
    # The plan has all transcripts; a table doesn't say with what chance its items were drawn.
    assert {agreement.chances for agreement in rows} == {"equal"}
    found = tuple(replace(agreement, chances="unknown") for agreement in rows)
    assert found == agree(open_ratings_view(table), metrics=["empathy"], raters=["human:*"])
    among = next(row for row in found if row.kind == "people")
    assert (among.units, among.raters) == (12, tuple(f"human:{rater}" for rater in RATERS))
    assert {"kappa", "ac", "alpha", "icc"} <= among.statistics.keys()
    items = sorted({name for name, _ in typed})
    by_rater = [[typed[name, rater] for name in items] for rater in RATERS]
    kappas = [
        cohen_kappa_score(one, other, weights="quadratic", labels=[1, 2, 3, 4, 5])
        for one, other in combinations(by_rater, 2)
    ]
    assert among.statistics["kappa"].estimate == pytest.approx(sum(kappas) / 3)
    assert 0.3 < sum(kappas) / 3 < 0.95


def _nothing_tells_systems_apart(server: LabelStudioClient, plan: AnnotationPlan) -> None:
    for known in server.projects(plan).values():
        for project in known:
            everything = json.dumps(server.client.projects.exports.as_json(project.id))
            everything += server.client.projects.get(project.id).model_dump_json()
            everything += "".join(
                task.model_dump_json() for task in server.client.tasks.list(project=project.id, fields="all")
            )
            for secret in (*SYSTEMS, JUDGE, "invented", "secretfile", "hushcase", "Because.", "in.jsonl"):
                assert secret not in everything


# -- forms of projects --


def test_strict_gives_each_rater_a_project_in_their_own_order(run: Run, server: LabelStudioClient) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=6, seed=3)
    pushed = push(plan, run, server, strict=True)
    assert len(pushed.projects) == 2
    projects = server.projects(plan)
    for rater in plan.raters:
        tasks = tasks_of_project(server, projects[rater][0])
        assert sorted(tasks, key=lambda item: tasks[item].id) == list(plan.assignment[rater])
    with pytest.raises(LabelStudioError, match="a project for each rater"):
        push(plan, run, server, strict=False)
    again = push(plan, run, server)
    assert (again.sent, len(server.projects(plan))) == (0, 2)


def test_each_sees_their_own_share_and_others_take_over(
    run: Run, server: LabelStudioClient, people: dict[str, Any]
) -> None:
    plan = rating_plan(run, raters=RATERS, overlap=2, seed=37)
    push(plan, run, server)
    projects = server.projects(plan)
    shares = {name: tasks_of_project(server, projects[name][0]) for name in plan.raters}
    assert all(set(shares[name]) == set(order) for name, order in plan.assignment.items())
    done, begun, *_ = plan.assignment["ben"]
    answer(people["ben"], shares["ben"][done], levels(done, "ben"))
    draft(people["ben"], shares["ben"][begun].id)
    pull(plan, run, server)
    now = reassign(run_again(run), plan, "ben").plan
    pushed = push(now, run_again(run), server)
    open_items = len(plan.assignment["ben"]) - 1
    assert (pushed.sent, pushed.taken_back) == (open_items, open_items - 1)
    # What is begun isn't taken out of somebody's hands.
    assert set(tasks_of_project(server, projects["ben"][0])) == {done, begun}
    for name in ("anna", "cleo"):
        assert set(tasks_of_project(server, projects[name][0])) == set(now.assignment[name])


def test_an_item_that_everyone_rates_is_shown_to_everyone(run: Run, server: LabelStudioClient) -> None:
    plan = rating_plan(run, per=6, overlap=1, shared=2, seed=5)
    push(plan, run, server, strict=False)
    overlaps = {task.data["external_id"]: task.overlap for task in tasks_of(server, plan)}
    assert overlaps == {item: len(raters) for item, raters in plan.raters_of.items()}


@pytest.mark.parametrize("mode", ["audit", "findings", "codes"])
def test_every_mode_comes_back_as_from_a_file(
    run: Run, server: LabelStudioClient, people: dict[str, Any], tmp_path: Path, mode: str
) -> None:
    options = {**MODES[mode], "raters": ("anna", "ben"), "per": 4, "seed": 53}
    plan = rating_plan(run, mode=mode, **options)
    other = copy_of(run, tmp_path / "other")

    def say(item: str, rater: str) -> dict[str, Any]:
        return said_in(mode, item, rater)[0]

    pulled(other, plan, exported(plan, say, USERS, other))
    pushed = push(plan, run, server)
    assert push(plan, run, server).sent == 0
    tasks = tasks_by_item(server, plan)
    assert pushed.sent == len(tasks) == 4
    for item, raters in plan.raters_of.items():
        for rater in raters:
            answer(people[rater], tasks[item], say(item, rater))
    assert pull(plan, run, server).stored.submitted == 8
    assert pull(plan, run_again(run), server).stored.new == 0
    assert human(run) == human(other)


def test_long_and_odd_conversations_training_skips_and_drafts(
    server: LabelStudioClient, people: dict[str, Any], tmp_path: Path
) -> None:
    """1,000 turns; script, XML and quotes in turns, goals, rubrics and names; a training set; answers that are none."""
    odd = """$x <script>alert("1")</script> &amp; 'q' ]]> <!-- {{idx}} </View> \x0b"""
    clean = odd.replace("\x0b", "\ufffd")
    turns = [
        {"role": role, "speaker": f"<i>{role}</i> & {odd}", "text": f"{odd} {number}", "meta": {}}
        for number, role in enumerate(("clinician", "patient") * 500)
    ]
    names = [f"name <{number}> & 'x'" for number in range(3)]
    lines = [{"id": name, "turns": turns, "reference": {"goal": odd}} for name in names]
    known = {
        "id": "known",
        "turns": turns[:4],
        "reference": {"goal": odd, "answers": {"goal_alignment": 4, "odd": "<b>"}},
    }
    for name, content in (("in.jsonl", lines), ("known.jsonl", [known])):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in content))
    rubric = odd_rubric(odd, "<b>", '$d & "e"')
    run = score([tmp_path / "in.jsonl"], tmp_path / "run", metrics=["structure"]).run
    training = read_training(tmp_path / "known.jsonl", "rate", (GOAL, rubric))
    plan = rating_plan(run, rubrics=(GOAL, rubric), raters=("anna", "ben"), training=training, seed=61)
    assert push(plan, run, server, text=odd).sent == 4
    assert push(plan, run, server, text=odd).sent == 0
    tasks = tasks_by_item(server, plan)
    reasons = {f"reason__{name}": ("text", clean) for name in ("goal_alignment", "odd")}
    said = {"goal_alignment": "4", "odd": "<b>", **reasons, "notes": ("text", clean)}
    (trained,), (first, second, third) = plan.training, plan.items
    dialogue = tasks[first.id].data["dialogue"]
    assert [turn["text"] for turn in dialogue] == [f"{clean} {number}" for number in range(1000)]
    assert {turn["speaker"] for turn in dialogue} == {"Clinician", "Patient"}
    for rater in ("anna", "ben"):
        answer(people[rater], tasks[trained.id], said if rater == "anna" else {**said, "odd": '$d & "e"'})
        answer(people[rater], tasks[first.id], said)
    people["anna"].annotations.create(id=tasks[second.id].id, result=[], was_cancelled=True)
    for task, rater in ((second, "ben"), (third, "anna")):
        draft(people[rater], tasks[task.id].id, said)
    kept = pull(plan, run, server).stored
    assert (kept.new, kept.submitted, kept.skipped, kept.drafts) == (5, 4, 1, 2)
    # Neither a draft nor a training item is a rating, and what was skipped is missing.
    rows = run_again(run).ratings.filter(pl.col("rater").str.starts_with("human:"))
    found = Counter(rows.select("transcript_id", "metric", "value", "label", "reason", "error").iter_rows())
    assert found == {
        (first.transcript, "goal_alignment", 4.0, None, clean, None): 2,
        (first.transcript, "odd", None, "<b>", clean, None): 2,
        (second.transcript, "goal_alignment", None, None, None, "skipped by the rater"): 1,
        (second.transcript, "odd", None, None, None, "skipped by the rater"): 1,
    }
    again = pull(plan, run_again(run), server).stored
    assert (again.new, again.revised, again.drafts) == (0, 0, 2)


# -- what people do to a server --


def test_answers_outlive_tasks_projects_and_the_hands_of_others(
    run: Run, server: LabelStudioClient, people: dict[str, Any]
) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=4, overlap=2, seed=11)
    push(plan, run, server)
    tasks = tasks_by_item(server, plan)
    done, open_ = sorted(tasks)[0], sorted(tasks)[1]
    for rater in ("anna", "ben"):
        mine = answer(people[rater], tasks[done], levels(done, rater))
    theirs = answer(people["anna"], tasks[open_], levels(open_, "anna"))
    assert pull(plan, run, server).stored.submitted == 3
    # Ben overwrites what Anna said; Anna corrects herself elsewhere.
    people["ben"].annotations.update(id=theirs.id, result=results({"empathy": "1", "goal_alignment": "1"}))
    people["ben"].annotations.update(id=mine.id, result=results({"empathy": "2", "goal_alignment": "2"}))
    kept = pull(plan, run_again(run), server).stored
    assert kept.revised == 2
    # It doesn't count: Anna's own words do.
    assert kept.changed_by == {"ben": 1}
    key = {"transcript_id": plan.by_id[open_].transcript, "rater": "human:anna", "metric": "empathy"}
    said = float(levels(open_, "anna")["empathy"])
    assert run_again(run).ratings.filter(**key)["value"].to_list() == [said]
    # An answered task is gone, and an open one: only the open one comes back.
    server.client.tasks.delete(tasks[done].id)
    server.client.tasks.delete(tasks[sorted(tasks)[2]].id)
    pushed = push(plan, run_again(run), server)
    assert (pushed.sent, pushed.answered) == (1, 1)
    assert pull(plan, run_again(run), server).stored.submitted == 3
    ((project, *_),) = server.projects(plan).values()
    server.client.projects.delete(project.id)
    with pytest.raises(LabelStudioError, match="no project of plan"):
        pull(plan, run_again(run), server)
    human = run_again(run).ratings.filter(metric="empathy")["rater"].str.starts_with("human:").sum()
    assert human == 3


def test_a_changed_page_is_put_right_or_refused(run: Run, server: LabelStudioClient, people: dict[str, Any]) -> None:
    plan = annas(run, 2, 13)
    project = pushed_project(plan, run, server)
    page = project.label_config
    server.client.projects.update(project.id, label_config=page.replace('alias="5"', 'alias="9"'))
    push(plan, run, server)
    assert server.client.projects.get(project.id).label_config == page
    task = tasks_of(server, plan)[0]
    answer(people["anna"], task, {"empathy": "9", "goal_alignment": "1"})
    # An answer that the page can't have given, as another program may send it: it is set aside, with the way out.
    other = tasks_of(server, plan)[1]
    answer(people["anna"], other, {"empathy": "2", "goal_alignment": "1"})
    found = pull(plan, run, server)
    assert (found.stored.new, len(found.collected.set_aside)) == (1, 1)
    assert f"task {task.id}: anna: there is no empathy choice '9'" in found.collected.set_aside[0]
    # A scale turned round and a reworded descriptor are no longer the page that was sent.
    turned = page.replace('alias="5"', 'alias="x"').replace('alias="1"', 'alias="5"').replace('"x"', '"1"')
    reworded = page.replace('value="5: ', 'value="5: not ')
    spaced = page.replace("<View", "\n  <View")
    for changed in (turned, reworded):
        assert changed != page
        server.client.projects.update(project.id, label_config=changed)
        for command in (pull, push):
            with pytest.raises(LabelStudioError, match=r"was changed after it was sent.*page\.xml"):
                command(plan, run_again(run), server)
    kept = (plan_folder(run, plan) / "page.xml").read_text("utf-8")
    server.client.projects.update(project.id, label_config=kept)
    assert pull(plan, run_again(run), server).stored.unchanged == 1
    server.client.projects.update(project.id, label_config=spaced)
    assert pull(plan, run_again(run), server).stored.unchanged == 1


def test_a_renamed_project_keeps_its_answers_and_a_hand_made_task_is_no_item(
    run: Run, server: LabelStudioClient, people: dict[str, Any]
) -> None:
    plan = annas(run, 3, 31)
    project = pushed_project(plan, run, server)
    server.client.projects.update(project.id, title="Our study, second week")
    first, second, *_ = tasks_of(server, plan)
    answer(people["anna"], first, levels(first.data["external_id"], "anna"))
    data = {**second.data, "dialogue": [{"speaker": "Patient", "text": "Something else."}]}
    reply = server.client.projects.import_tasks(project.id, request=[{"data": data}], return_task_ids=True)
    (made,) = reply.task_ids
    people["anna"].annotations.create(id=made, result=results(levels(second.data["external_id"], "anna")))
    found = pull(plan, run, server)
    assert (found.stored.new, found.collected.altered_tasks) == (1, 1)
    assert push(plan, run_again(run), server).sent == 0
    assert len(server.projects(plan)) == 1


def test_second_copies_that_nobody_answered_go(run: Run, server: LabelStudioClient, people: dict[str, Any]) -> None:
    plan = annas(run, 3, 17)
    project = pushed_project(plan, run, server)
    copies = [{"data": task.data} for task in tasks_of(server, plan)]
    server.client.projects.import_tasks(project.id, request=copies)
    # Somebody has begun on one of the copies: that one stays, and what it was a copy of goes.
    begun = max(task.id for task in tasks_of(server, plan))
    draft(people["anna"], begun, {"empathy": "3"})
    assert push(plan, run, server).removed == 3
    left = {task.id: task.data["external_id"] for task in tasks_of(server, plan)}
    assert sorted(left.values()) == sorted(item.id for item in plan.items)
    assert begun in left


# -- faults on the way --


class Proxy(ThreadingHTTPServer):
    """In front of the server; ``fault(method, path)`` says whether an answer is dropped, or held for ever.

    What it drops has been done by the server. With a ``prefix``, the server is found below that path.
    """

    daemon_threads = True

    def __init__(self, target: str, fault: Callable[[str, str], str | None], prefix: str = "") -> None:
        self.target = target.removeprefix("http://")
        self.fault = fault
        self.prefix = prefix
        self.held = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{self.prefix}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.startswith(f"{self.server.prefix}/"):
            self.send_error(404)
            return
        path = self.path.removeprefix(self.server.prefix)
        connection = http.client.HTTPConnection(self.server.target, timeout=120)
        connection.request(self.command, path, body, dict(self.headers))
        answer_ = connection.getresponse()
        content = answer_.read()
        fault = self.server.fault(self.command, path)
        if fault == "hold":
            self.server.held.set()
            time.sleep(600)
        if fault == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(answer_.status)
        for name, value in answer_.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = _forward  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def test_an_answer_lost_on_the_way_makes_nothing_twice(
    run: Run, studio: own.OwnServer, server: LabelStudioClient, key: str
) -> None:
    lost: list[str] = []

    def fault(method: str, path: str) -> str | None:
        path = path.partition("?")[0].rstrip("/")
        if method != "POST" or path in lost or not (path.endswith("/import") or path == "/api/projects"):
            return None
        lost.append(path)
        return "drop"

    plan = annas(run, 12, 19)
    push(plan, run, LabelStudioClient(Proxy(studio.url, fault).url, key))
    assert len(lost) == 2
    assert len(server.projects(plan)["everyone"]) == 1
    names = [task.data["external_id"] for task in tasks_of(server, plan)]
    assert sorted(names) == sorted(item.id for item in plan.items)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_killed_process_is_taken_up_where_it_was(
    run: Run,
    studio: own.OwnServer,
    server: LabelStudioClient,
    people: dict[str, Any],
    key: str,
    tmp_path: Path,
    command: str,
) -> None:
    ending = {"push": "/import", "pull": "/api/tasks"}[command]
    proxy = Proxy(studio.url, lambda _, path: "hold" if path.partition("?")[0].rstrip("/").endswith(ending) else None)
    plan = annas(run, 3, 23 if command == "push" else 29)
    write_plan(plan, tmp_path / "plan.json")
    if command == "pull":
        push(plan, run, server)
        for task in tasks_of(server, plan):
            answer(people["anna"], task, levels(task.data["external_id"], "anna"))
    arguments = ["annotate", command, str(tmp_path / "plan.json"), "--url", proxy.url, "--run", str(run.path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "bedside", *arguments],
        env={**os.environ, "LABEL_STUDIO_API_KEY": key},
        stderr=subprocess.DEVNULL,
    )
    assert proxy.held.wait(120)
    process.send_signal(signal.SIGKILL)
    process.wait()
    push(plan, run_again(run), server)
    assert len(tasks_of(server, plan)) == 3
    if command == "pull":
        assert pull(plan, run_again(run), server).stored.new == 3


@pytest.mark.parametrize(
    ("address", "message"), [("{studio}", "does not take this key"), ("http://127.0.0.1:{free}", "can't be reached")]
)
def test_wrong_key_and_absent_server_are_one_line(studio: own.OwnServer, address: str, message: str) -> None:
    with pytest.raises(LabelStudioError, match=message) as wrong:
        LabelStudioClient(address.format(studio=studio.url, free=free_port()), "0" * 40)
    assert "\n" not in str(wrong.value)
    assert "0" * 40 not in str(wrong.value)


def test_a_server_that_goes_away_is_one_line_and_a_second_push_ends_the_work(
    run: Run, studio: own.OwnServer, server: LabelStudioClient, key: str
) -> None:
    plan = annas(run, 5, 31)
    proxy = Proxy(studio.url, lambda method, path: "drop" if "/import" in path else None)
    reached = LabelStudioClient(proxy.url, key)
    proxy.fault = lambda method, path: "drop"
    with pytest.raises(LabelStudioError, match="can't be reached"):
        push(plan, run, reached)
    assert push(plan, run, server).sent == 5
    assert len(tasks_of(server, plan)) == 5


def test_two_pushers_at_once(run: Run, server: LabelStudioClient) -> None:
    import filelock

    plan = annas(run, 2, 37)
    plan_folder(run, plan).mkdir(parents=True)
    with (
        filelock.FileLock(plan_folder(run, plan) / ".push.lock"),
        pytest.raises(LabelStudioError, match="another bedside process pushes"),
    ):
        push(plan, run, server)


def test_personal_access_tokens_and_addresses_with_a_path(
    run: Run, studio: own.OwnServer, server: LabelStudioClient
) -> None:
    token = server.client.tokens.create()
    proxy = Proxy(studio.url, lambda method, path: None, prefix="/label/studio")
    plan = annas(run, 2, 41)
    assert push(plan, run, LabelStudioClient(proxy.url, token.token)).sent == 2
    assert len(tasks_of(server, plan)) == 2


# -- the server itself --


def test_a_second_start_finds_the_first_and_adds_raters(studio: own.OwnServer) -> None:
    again = own.serve(studio.folder, raters=["anna", "dora"])
    assert not again.started
    assert (again.url, again.process) == (studio.url, studio.process)
    assert [login.rater for login in again.logins] == [*RATERS, "dora"]
    assert again.logins[0] == studio.logins[0]
    for secret in (studio.key_file, studio.logins_file):
        assert secret.stat().st_mode & 0o077 == 0
    assert studio.key_file.read_text().strip() not in (studio.folder / "server.log").read_text()
    with pytest.raises(LabelStudioError, match="runs at"):
        own.serve(studio.folder, port=free_port())


def test_a_taken_port_and_an_impossible_name(studio: own.OwnServer, tmp_path: Path) -> None:
    taken = int(studio.url.rpartition(":")[2])
    with pytest.raises(LabelStudioError, match=f"port {taken} is taken"):
        own.serve(tmp_path / "other", port=taken)
    with pytest.raises(LabelStudioError, match="can't be a rater's name"):
        own.serve(tmp_path / "other", raters=["anna smith"])
    assert own.running_server(tmp_path / "other") is None
    assert not own.stop_server(tmp_path / "other")


def test_two_plans_of_one_run_take_nothing_from_each_other(
    run: Run, server: LabelStudioClient, people: dict[str, Any]
) -> None:
    plans = [rating_plan(run, raters=("anna", "ben"), per=3, overlap=2, seed=seed) for seed in (41, 43)]
    said: dict[tuple[str, str], float] = {}
    for plan, level in zip(plans, ("1", "5"), strict=True):
        push(plan, run_again(run), server)
        for task in tasks_of(server, plan):
            for rater in plan.raters:
                answer(people[rater], task, {"empathy": level, "goal_alignment": level})
        said |= {(round_of(plan), item.transcript): float(level) for item in plan.items}
    for _ in range(2):
        for plan in plans:
            pull(plan, run_again(run), server)
            # Of a plan already pulled, the other takes nothing and changes nothing.
            rows = run_again(run).ratings.filter(
                pl.col("rater").str.starts_with("human:"), pl.col("metric") == "empathy"
            )
            for name, transcript, value in rows.select("round", "transcript_id", "value").iter_rows():
                assert value == said[name, transcript]
    assert rows.height == 2 * len(said)
    again = [pull(plan, run_again(run), server).stored for plan in plans]
    assert [(kept.new, kept.revised) for kept in again] == [(0, 0), (0, 0)]


def test_what_another_push_sent_meanwhile_is_taken_away(
    run: Run, server: LabelStudioClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push from a copy of the run, or a request of one that was killed, arrives while this one sends."""
    plan = annas(run, 3, 47)
    send = server.client.projects.import_tasks

    def twice(*arguments: Any, **named: Any) -> Any:
        send(*arguments, **named)
        return send(*arguments, **named)

    monkeypatch.setattr(server.client.projects, "import_tasks", twice)
    pushed = push(plan, run, server)
    assert (pushed.sent, pushed.removed) == (3, 3)
    assert len(tasks_of(server, plan)) == 3
