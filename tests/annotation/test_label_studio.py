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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from bedside.annotation import server as own
from bedside.annotation.plan import Plan, plan_hash, write_plan
from bedside.annotation.sync import Server, pull, push
from bedside.errors import InputError, LabelStudioError, RunError
from bedside.judges import RUBRICS
from bedside.judges.coding import CODEBOOK
from bedside.ratings import Run
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, level_of, levels, rating_plan, results

pytestmark = [pytest.mark.server, pytest.mark.slow]
RATERS = ("anna", "ben", "cleo")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[own.Server]:
    """The one server of these tests. Its empty database is kept beside its environment: making it takes a minute."""
    try:
        own.ensure_environment()
    except LabelStudioError as error:
        pytest.skip(f"no Label Studio here: {error}")
    empty = own.environment_folder().with_name(f"label-studio-{own.VERSION}-empty")
    folder = tmp_path_factory.mktemp("studio") / "server"
    if not (empty / "data").is_dir():
        fresh = tmp_path_factory.mktemp("fresh")
        own.serve(fresh, port=free_port())
        own.stop(fresh)
        empty.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(empty, ignore_errors=True)
        shutil.copytree(fresh, empty)
    shutil.copytree(empty, folder)
    found = own.serve(folder, raters=RATERS, port=free_port())
    yield found
    own.stop(folder)


@pytest.fixture
def key(studio: own.Server) -> str:
    return studio.key_file.read_text().strip()


@pytest.fixture
def server(studio: own.Server, key: str) -> Server:
    return Server(studio.url, key)


@pytest.fixture(scope="module")
def people(studio: own.Server) -> dict[str, Any]:
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


def tasks_of(server: Server, plan: Plan) -> list[Any]:
    projects = [each for known in server.projects(plan).values() for each in known]
    return [task for several in server.tasks(projects).values() for task in several]


def answer(person: Any, task: Any, given: dict[str, Any]) -> Any:
    return person.annotations.create(id=task.id, result=results(given), lead_time=30.0)


# -- the whole way ----------------------------------------------------------------------------------


def test_answers_of_three_people_come_back_as_given(
    run: Run, studio: own.Server, server: Server, people: dict[str, Any], key: str
) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium here")
    plan = rating_plan(run, raters=RATERS, per=3, overlap=3)
    first = push(plan, run, server, text="# Welcome\n\nYou *consent*. <script>alert(1)</script>")
    assert (first.sent, first.present) == (3, 0)
    again = push(plan, run, server)
    assert (again.sent, again.present, again.removed) == (0, 3, 0)
    tasks = {task.data["external_id"]: task for task in tasks_of(server, plan)}
    assert sorted(tasks) == sorted(item.id for item in plan.items)
    for rater in ("anna", "ben"):
        for item, task in tasks.items():
            answer(people[rater], task, levels(item, rater))
    (address,) = first.projects.values()
    seen = _rate_in_browser(chromium, studio, "cleo", address, tasks)
    assert seen == {studio.url.removeprefix("http://")}
    pulled = pull(plan, run, server)
    assert (pulled.kept.new, pulled.kept.submitted, pulled.kept.missing) == (9, 9, 0)
    typed = {(item, rater): level_of(item, rater) for item in tasks for rater in RATERS}
    by_id = {item.transcript: item.id for item in plan.items}
    rows = (
        run_again(run).ratings.filter(metric="empathy").select("transcript_id", "rater", "value").iter_rows()
    )
    found = {(by_id[name], rater[6:]): value for name, rater, value in rows if rater.startswith("human:")}
    assert found == typed
    again_pulled = pull(plan, run_again(run), server)
    assert (again_pulled.kept.new, again_pulled.kept.unchanged) == (0, 9)
    _agreement_is_of_what_was_typed(run, typed)
    _nothing_tells_systems_apart(server, plan)


def run_again(run: Run) -> Run:
    return Run(run.path)


def _rate_in_browser(
    chromium: str, studio: own.Server, rater: str, address: str, tasks: dict[str, Any]
) -> set[str]:
    """A rater logs in, opens each task and rates it with the mouse and the keyboard. The hosts that were asked."""
    playwright = pytest.importorskip("playwright.sync_api")
    login = next(each for each in studio.logins if each.rater == rater)
    hosts: set[str] = set()
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(40_000)
        page.on(
            "request", lambda request: hosts.add(request.url.split("/")[2]) if "://" in request.url else None
        )
        page.goto(f"{studio.url}/user/login/")
        page.fill("input[name=email]", login.email)
        page.fill("input[name=password]", login.password)
        page.click("button[type=submit]")
        page.wait_for_url(lambda url: "login" not in url)
        items = {task.id: item for item, task in tasks.items()}
        page.goto(address)
        # Never by a row of the table: that would open the answer of somebody else.
        page.get_by_role("button", name="Label All Tasks").click()
        page.get_by_text("Welcome", exact=True).wait_for()
        page.keyboard.press("Escape")
        while items:
            page.wait_for_selector(".bedside-right .lsf-choice")
            page.wait_for_timeout(1000)
            number = page.locator('[class*="current-task"]').first.inner_text()
            item = items.pop(int(re.findall(r"\d+", number)[0]))
            # All of it in one view: the goal, the first turn, the first rubric, and the second rubric's name.
            for words in ("Goal", "Clinician", "1. Empathy", "2. Goal alignment"):
                box = page.get_by_text(words, exact=True).first.bounding_box()
                assert box is not None
                assert 0 <= box["y"] < 900
            level = level_of(item, rater)
            page.locator(".bedside-rubric").nth(0).locator(".lsf-choice").nth(level - 1).click()
            page.keyboard.press("qwert"[5 - level])
            page.wait_for_timeout(500)
            with page.expect_response(
                lambda answered: answered.request.method == "POST" and "/annotations" in answered.url
            ) as said:
                page.get_by_test_id("bottombar-submit-button").click()
            assert said.value.ok
        browser.close()
    return hosts


def _agreement_is_of_what_was_typed(run: Run, typed: dict[tuple[str, str], int]) -> None:
    from bedside.agreement import agree
    from bedside.evaluation import open_evaluation

    found = agree(open_evaluation(run.path), metrics=["empathy"], raters=["human:anna", "human:ben"])
    items = sorted({item for item, _ in typed})
    pair = [[typed[item, rater] for item in items] for rater in ("anna", "ben")]
    if len({*pair[0], *pair[1]}) > 1:
        expected = cohen_kappa_score(*pair, weights="quadratic", labels=[1, 2, 3, 4, 5])
        assert re.search(rf"{expected:.6f}"[:6], repr(found))


def _nothing_tells_systems_apart(server: Server, plan: Plan) -> None:
    for known in server.projects(plan).values():
        for project in known:
            everything = json.dumps(server.client.projects.exports.as_json(project.id))
            everything += server.client.projects.get(project.id).model_dump_json()
            everything += "".join(
                task.model_dump_json() for task in server.client.tasks.list(project=project.id, fields="all")
            )
            for secret in (*SYSTEMS, JUDGE, "invented", "secretfile", "hushcase", "Because.", "in.jsonl"):
                assert secret not in everything


# -- forms of projects ------------------------------------------------------------------------------


def test_strict_gives_each_rater_a_project_in_their_own_order(run: Run, server: Server) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=6, seed=3)
    pushed = push(plan, run, server, strict=True)
    assert len(pushed.projects) == 2
    projects = server.projects(plan)
    for rater in plan.raters:
        tasks = sorted(tasks_of_project(server, projects[rater][0]), key=lambda task: task.id)
        assert [task.data["external_id"] for task in tasks] == list(plan.assignment[rater])
    with pytest.raises(LabelStudioError, match="a project for each rater"):
        push(plan, run, server)


def tasks_of_project(server: Server, project: Any) -> list[Any]:
    return [task for several in server.tasks([project]).values() for task in several]


def test_an_item_that_everyone_rates_is_shown_to_everyone(run: Run, server: Server) -> None:
    plan = rating_plan(run, per=6, overlap=1, shared=2, seed=5)
    push(plan, run, server)
    overlaps = {task.data["external_id"]: task.overlap for task in tasks_of(server, plan)}
    assert overlaps == {item: len(raters) for item, raters in plan.raters_of.items()}


@pytest.mark.parametrize(
    ("mode", "rubrics"),
    [
        ("audit", (EMPATHY, GOAL)),
        ("findings", (RUBRICS.load("finding_extraction"),)),
        ("codes", (CODEBOOK.load("question"), CODEBOOK.load("client_talk"))),
    ],
)
def test_every_mode_has_a_page_that_the_server_takes(
    run: Run, server: Server, mode: str, rubrics: Any
) -> None:
    given = {"judge": JUDGE} if mode == "audit" else {}
    plan = rating_plan(run, mode=mode, rubrics=rubrics, per=1, raters=("anna",), overlap=1, **given)
    assert push(plan, run, server).sent == 1
    assert push(plan, run, server).sent == 0


# -- what people do to a server ---------------------------------------------------------------------


def test_answers_outlive_tasks_projects_and_the_hands_of_others(
    run: Run, server: Server, people: dict[str, Any]
) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), per=4, overlap=2, seed=11)
    push(plan, run, server)
    tasks = {task.data["external_id"]: task for task in tasks_of(server, plan)}
    done, open_ = sorted(tasks)[0], sorted(tasks)[1]
    for rater in ("anna", "ben"):
        mine = answer(people[rater], tasks[done], levels(done, rater))
    theirs = answer(people["anna"], tasks[open_], levels(open_, "anna"))
    assert pull(plan, run, server).kept.submitted == 3
    # Ben overwrites what Anna said; Anna corrects herself elsewhere.
    people["ben"].annotations.update(id=theirs.id, result=results({"empathy": "1", "goal_alignment": "1"}))
    people["ben"].annotations.update(id=mine.id, result=results({"empathy": "2", "goal_alignment": "2"}))
    kept = pull(plan, run_again(run), server).kept
    assert kept.revised == 2
    assert kept.changed_by == {"ben": 1}
    # An answered task is gone, and an open one: only the open one comes back.
    server.client.tasks.delete(tasks[done].id)
    server.client.tasks.delete(tasks[sorted(tasks)[2]].id)
    pushed = push(plan, run_again(run), server)
    assert (pushed.sent, pushed.answered) == (1, 1)
    assert pull(plan, run_again(run), server).kept.submitted == 3
    ((project, *_),) = server.projects(plan).values()
    server.client.projects.delete(project.id)
    with pytest.raises(LabelStudioError, match="no project of plan"):
        pull(plan, run_again(run), server)
    human = run_again(run).ratings.filter(metric="empathy")["rater"].str.starts_with("human:").sum()
    assert human == 3


def test_a_changed_page_is_put_right_or_refused(run: Run, server: Server, people: dict[str, Any]) -> None:
    plan = rating_plan(run, raters=("anna",), per=2, overlap=1, seed=13)
    push(plan, run, server)
    ((project, *_),) = server.projects(plan).values()
    page = project.label_config
    server.client.projects.update(project.id, label_config=page.replace('alias="5"', 'alias="9"'))
    push(plan, run, server)
    assert server.client.projects.get(project.id).label_config == page
    task = tasks_of(server, plan)[0]
    answer(people["anna"], task, {"empathy": "9", "goal_alignment": "1"})
    with pytest.raises(InputError, match=rf"task {task.id}: '9' is no choice of empathy"):
        pull(plan, run, server)
    assert not run.ratings["rater"].str.starts_with("human:").any()
    changed = page.replace('alias="5"', 'alias="7"')
    server.client.projects.update(project.id, label_config=changed)
    with pytest.raises(LabelStudioError, match="asks something else than the plan"):
        push(plan, run, server)


def test_second_copies_that_nobody_answered_go(run: Run, server: Server) -> None:
    plan = rating_plan(run, raters=("anna",), per=3, overlap=1, seed=17)
    push(plan, run, server)
    ((project, *_),) = server.projects(plan).values()
    copies = [{"data": task.data} for task in tasks_of(server, plan)]
    server.client.projects.import_tasks(project.id, request=copies)
    assert push(plan, run, server).removed == 3
    assert Counter(task.data["external_id"] for task in tasks_of(server, plan)).most_common(1)[0][1] == 1


# -- faults on the way ------------------------------------------------------------------------------


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
    run: Run, studio: own.Server, server: Server, key: str
) -> None:
    lost: list[str] = []

    def fault(method: str, path: str) -> str | None:
        path = path.partition("?")[0]
        creates = method == "POST" and (
            path.rstrip("/").endswith("/import") or path.rstrip("/") == "/api/projects"
        )
        if creates and path not in lost:
            lost.append(path)
            return "drop"
        return None

    plan = rating_plan(run, raters=("anna",), per=12, overlap=1, seed=19)
    push(plan, run, Server(Proxy(studio.url, fault).url, key))
    assert len(lost) == 2
    assert len(server.projects(plan)["everyone"]) == 1
    names = [task.data["external_id"] for task in tasks_of(server, plan)]
    assert sorted(names) == sorted(item.id for item in plan.items)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_killed_process_is_taken_up_where_it_was(
    run: Run,
    studio: own.Server,
    server: Server,
    people: dict[str, Any],
    key: str,
    tmp_path: Path,
    command: str,
) -> None:
    ending = {"push": "/import", "pull": "/export"}[command]
    proxy = Proxy(
        studio.url, lambda _, path: "hold" if path.partition("?")[0].rstrip("/").endswith(ending) else None
    )
    plan = rating_plan(run, raters=("anna",), per=3, overlap=1, seed=23 if command == "push" else 29)
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
        assert pull(plan, run_again(run), server).kept.new == 3


def test_wrong_key_and_absent_server_are_one_line(run: Run, studio: own.Server, server: Server) -> None:
    with pytest.raises(LabelStudioError, match="does not take this key") as wrong:
        Server(studio.url, "0" * 40)
    assert "\n" not in str(wrong.value)
    assert "0" * 40 not in str(wrong.value)
    with pytest.raises(LabelStudioError, match="can't be reached"):
        Server(f"http://127.0.0.1:{free_port()}", "0" * 40)
    with pytest.raises(InputError, match="is no address"):
        Server("127.0.0.1:8080", "0" * 40)


def test_a_server_that_goes_away_is_one_line_and_a_second_push_ends_the_work(
    run: Run, studio: own.Server, server: Server, key: str
) -> None:
    plan = rating_plan(run, raters=("anna",), per=5, overlap=1, seed=31)
    proxy = Proxy(studio.url, lambda method, path: "drop" if "/import" in path else None)
    reached = Server(proxy.url, key)
    proxy.fault = lambda method, path: "drop"
    with pytest.raises(LabelStudioError, match="can't be reached"):
        push(plan, run, reached)
    assert push(plan, run, server).sent == 5
    assert len(tasks_of(server, plan)) == 5


def test_two_pushers_at_once(run: Run, server: Server) -> None:
    import filelock

    from bedside.annotation.answers import plan_folder

    plan = rating_plan(run, raters=("anna",), per=2, overlap=1, seed=37)
    plan_folder(run, plan).mkdir(parents=True)
    with (
        filelock.FileLock(plan_folder(run, plan) / ".push.lock"),
        pytest.raises(LabelStudioError, match="another bedside process pushes"),
    ):
        push(plan, run, server)


def test_personal_access_tokens_and_addresses_with_a_path(
    run: Run, studio: own.Server, server: Server
) -> None:
    token = server.client.tokens.create()
    proxy = Proxy(studio.url, lambda method, path: None, prefix="/label/studio")
    plan = rating_plan(run, raters=("anna",), per=2, overlap=1, seed=41)
    assert push(plan, run, Server(proxy.url, token.token)).sent == 2
    assert len(tasks_of(server, plan)) == 2


# -- the server itself ------------------------------------------------------------------------------


def test_a_second_start_finds_the_first_and_adds_raters(studio: own.Server) -> None:
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


def test_a_taken_port_and_an_impossible_name(studio: own.Server, tmp_path: Path) -> None:
    taken = int(studio.url.rpartition(":")[2])
    with pytest.raises(LabelStudioError, match=f"port {taken} is taken"):
        own.serve(tmp_path / "other", port=taken)
    with pytest.raises(LabelStudioError, match="can't be a rater's name"):
        own.serve(tmp_path / "other", raters=["anna smith"])
    assert own.find(tmp_path / "other") is None
    assert not own.stop(tmp_path / "other")


def test_the_plan_of_another_run_is_refused(run: Run, server: Server, tmp_path: Path) -> None:
    assert plan_hash(rating_plan(run)) not in {each.title for each in server.client.projects.list()}
    with pytest.raises(RunError):
        Run(tmp_path / "nowhere")
