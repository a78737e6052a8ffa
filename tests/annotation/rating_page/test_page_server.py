"""The rating page over its network: who gets in, what is refused, what a kill leaves."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import read_store
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.page_server import serve_page
from bedside.annotation.reassignment import need_of
from bedside.core.errors import InputError
from bedside.core.page_serving import PagePlace
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import ServedPage, opened, serving
from tests.annotation.study import EMPATHY, new_study, rating_plan

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """The one server of these tests: three raters, two of them for each item."""
    run = new_study(tmp_path_factory.mktemp("served"), cases=12)
    with serving(rating_plan(run, overlap=2), run) as page:
        yield page


@pytest.fixture
def client(served: ServedPage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.address, timeout=20) as session:
        yield session


@pytest.fixture
def item(client: httpx.Client, served: ServedPage) -> str:
    """The first that anna has."""
    return share(client, served, "anna")[0]


def plan_of(served: ServedPage) -> AnnotationPlan:
    return read_plan(served.plan_file)


def known(served: ServedPage, rater: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.secret(rater)}", "Origin": served.address, **more}


def share(client: httpx.Client, served: ServedPage, rater: str) -> list[str]:
    items = client.get("/share", headers=known(served, rater)).raise_for_status().json()["items"]
    return [item["item"] for item in items]


def body(mark: str, version: int = 0, state: str = "submitted", **more: Any) -> dict[str, Any]:
    choices = {"empathy": ["4"], "goal_alignment": ["2"]}
    sending = {"state": state, "version": version, "mark": mark, "seconds": 3, "choices": choices, "texts": {}}
    return {**sending, **more}


def test_nothing_without_a_link(client: httpx.Client, served: ServedPage, item: str) -> None:
    for path in ("/share", f"/items/{item}"):
        for headers in (
            {},
            {"Authorization": "Bearer x"},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic YTpi"},
            {"Authorization": b"Bearer \xff\xfe"},
        ):
            answer = client.get(path, headers=headers)  # type: ignore[arg-type]
            assert answer.status_code == 401
            assert "i0" not in answer.text
    saved = client.put(f"/items/{item}", json=body("a" * 32), headers={"Origin": served.address})
    assert saved.status_code == 401
    # The page itself holds nothing of the study.
    page = client.get("/").text
    assert "anna" not in page
    assert "mpathy" not in page


def test_a_rater_reaches_no_other_item(client: httpx.Client, served: ServedPage) -> None:
    anna, ben = (set(share(client, served, rater)) for rater in ("anna", "ben"))
    for item in (*[*(ben - anna)][:2], "i00000000000", "..%2f..%2fshare"):
        assert client.get(f"/items/{item}", headers=known(served, "anna")).status_code == 404
        answer = client.put(f"/items/{item}", json=body("b" * 32), headers=known(served, "anna"))
        assert answer.status_code == 404


def test_other_pages_and_names_are_refused(client: httpx.Client, served: ServedPage, item: str) -> None:
    for more in (
        {"Origin": "http://attacker.example"}, {"Origin": "null"}, {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ):  # fmt: skip
        answer = client.put(f"/items/{item}", json=body("c" * 32), headers=known(served, "anna", **more))
        assert answer.status_code == 403
    for path in ("/", "/share", "/files/page.js"):
        answer = client.get(path, headers=known(served, "anna", Host="attacker.example"))
        assert answer.status_code == 421
        assert "mpathy" not in answer.text
    assert client.get(f"/items/{item}", headers=known(served, "anna")).json()["entry"]["version"] == 0


def test_every_answer_forbids_what_the_page_does_not_need(client: httpx.Client) -> None:
    for path in ("/", "/files/page.js", "/files/page.css", "/share", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        names = ("Cache-Control", "X-Content-Type-Options", "Referrer-Policy")
        assert [headers[name] for name in names] == ["no-store", "nosniff", "no-referrer"]
        assert "Set-Cookie" not in headers
        assert headers["Server"] == "bedside"
        assert not headers.get("Access-Control-Allow-Origin")
    for hidden in ("files/page_server.py", "files/..%2fpage_server.py", "files/", "../links.json", "items"):
        assert client.get(f"/{hidden}").status_code == 404
    assert client.post("/share").status_code == 403


def test_limits_of_size_and_form(client: httpx.Client, served: ServedPage, item: str) -> None:
    headers = known(served, "anna")
    large = {**body("d" * 32, state="draft"), "texts": {"notes": ["x" * 3_000_000]}}
    assert client.put(f"/items/{item}", json=large, headers=headers).status_code == 413
    for content in (b"", b"[]", b"{" * 5000, json.dumps(body("e" * 32, state="other")).encode(), b"\xff\xfe"):
        assert client.put(f"/items/{item}", content=content, headers=headers).status_code == 422
    wrong = client.put(f"/items/{item}", json={**body("f" * 32), "choices": {"empathy": ["9"]}}, headers=headers).json()
    assert wrong["error"].startswith("there is no empathy choice '9'; its choices are 1, 2")
    assert client.get(f"/items/{item}", headers=headers).json()["entry"]["version"] == 0


def test_many_slow_connections_keep_nobody_out(served: ServedPage, client: httpx.Client) -> None:
    """Seven hundred of one address begin a request each and never end it; half of what may be open stays theirs."""
    host, port = served.address.removeprefix("http://").split(":")
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection((host, int(port)), 20)) for _ in range(700)]
        for connection in slow:
            with suppress(ConnectionError):
                connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert share(client, served, "anna")
        ended = [_is_ended(connection) for connection in slow]
    assert 700 - 256 <= sum(ended) <= 700 - 256 + 64
    # The oldest went.
    assert ended == sorted(ended, reverse=True)


def _is_ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(served: ServedPage) -> None:
    """Three raters hand in as fast as they can, and the server is killed twice in the middle of it."""
    acknowledged: dict[tuple[str, str], list[str]] = {}
    ended = threading.Event()

    def rate(rater: str) -> None:
        with httpx.Client(base_url=served.address, timeout=20) as own:
            for round_number in itertools.count():
                for item in items[rater]:
                    text, mark = f"{rater} {item} {round_number}", f"{rater}-{item}-{round_number}"
                    while not ended.wait(0.01):
                        try:
                            seen = own.get(f"/items/{item}", headers=known(served, rater)).json()["entry"]
                            sending = body(mark, seen["version"], texts={"notes": [text]})
                            answer = own.put(f"/items/{item}", json=sending, headers=known(served, rater))
                        except httpx.TransportError:
                            ended.wait(0.2)
                            continue
                        assert answer.status_code == 200, answer.text
                        acknowledged.setdefault((rater, item), []).append(text)
                        break
                if ended.is_set():
                    return

    with httpx.Client(base_url=served.address, timeout=20) as own:
        items = {rater: share(own, served, rater)[:3] for rater in served.links}
    people = [threading.Thread(target=rate, args=(rater,)) for rater in items]
    for person in people:
        person.start()
    links = dict(served.links)
    ended.wait(1)
    served.kill()
    served.start()
    ended.wait(1)
    served.kill()
    ended.set()
    for person in people:
        person.join()
    assert sum(map(len, acknowledged.values())) > 20
    plan = plan_of(served)
    collect(page_folder(served.run, plan), Run(served.run.path), plan)
    said: dict[tuple[str, str], list[str]] = {}
    for revision in read_store(Run(served.run.path), plan).revisions:
        said.setdefault((revision.answer.rater, revision.answer.item), []).append(revision.answer.notes)
    for key, texts in acknowledged.items():
        # In the order given and none twice. One whose reply was lost may stand there, too.
        assert len(set(said[key])) == len(said[key])
        assert [text for text in said[key] if text in texts] == texts
    served.start()
    assert served.links == links


def test_nothing_is_lost_when_others_read_the_answers_beside_the_server(
    client: httpx.Client, served: ServedPage
) -> None:
    """The server and a command put answers into the run by turns; then more are handed in, and the server is killed."""
    first, *others = share(client, served, "anna")
    plan, run = plan_of(served), Run(served.run.path)

    def hand_in(item: str) -> None:
        version = client.get(f"/items/{item}", headers=known(served, "anna")).json()["entry"]["version"]
        sending = body(f"beside-{item}", version, texts={"notes": ["beside"]})
        assert client.put(f"/items/{item}", json=sending, headers=known(served, "anna")).status_code == 200

    def stored() -> set[str]:
        revisions = [revision.answer for revision in read_store(run, plan).revisions]
        return {answer.item for answer in revisions if answer.notes == "beside"}

    hand_in(first)
    deadline = time.monotonic() + 60
    while not stored():  # the server puts it there
        assert time.monotonic() < deadline
        time.sleep(0.1)
    typed(served, "--collect")
    for item in others:
        hand_in(item)
    served.kill()
    collect(page_folder(run, plan), Run(served.run.path), plan)
    assert stored() == {first, *others}
    served.start()


def typed(served: ServedPage, *options: str, code: int = 0) -> str:
    """What the command says, typed once more, as a program of its own."""
    program = [sys.executable, "-m", "bedside", *served.call(*options)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_second_server_refuses_and_links_are_printed_again(served: ServedPage) -> None:
    second = typed(served, code=2)
    assert "another server has this plan's rating page" in second
    assert "Traceback" not in second
    assert not [rater for rater in served.links if served.secret(rater) in second]
    again = typed(served, "--links")
    assert all(link in again for link in served.links.values())


def test_tls_and_a_port_that_is_taken(run: Run, tmp_path: Path) -> None:
    """Raters reach it by https where it has a certificate, and only so; a second one can't have the port."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    making = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split()
    making += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*making, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    plan = rating_plan(run)
    state, folder = opened(plan, run)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = PagePlace(port=probe.getsockname()[1], certificate=certificate, key=key)
    trusted = ssl.create_default_context(cafile=str(certificate))
    secret = folder.links.secrets(plan.raters)["ben"]

    async def serve(started: asyncio.Event) -> None:
        await serve_page(state, place, folder, run, started=started.set, say=lambda line: None)

    async def visit() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(serve(started))
        await started.wait()
        async with httpx.AsyncClient(verify=trusted, base_url=place.address) as client:
            shared = await client.get("/share", headers={"Authorization": f"Bearer {secret}"})
            assert shared.json()["rater"] == "ben"
            with pytest.raises(httpx.TransportError):
                await client.get(place.address.replace("https:", "http:"))
        with pytest.raises(InputError, match=r"can't listen at 127\.0\.0\.1, port"):
            await serve(started)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert place.address.startswith("https://127.0.0.1:")
    asyncio.run(visit())


def test_ctrl_c_ends_it_and_says_how_to_go_on_also_where_the_run_is_held(
    client: httpx.Client, served: ServedPage
) -> None:
    item = share(client, served, "cleo")[-1]
    with Run(served.run.path).locked():
        handed_in = client.put(f"/items/{item}", json=body("f" * 32), headers=known(served, "cleo"))
        assert handed_in.json()["handed_in"] == "submitted"
        code, printed = served.stop()
    assert code == 0, printed
    again = f"bedside annotate page {served.plan_file}"
    assert f"To put them there: {again} --collect" in printed
    assert f"To go on: {again} --port {served.port}" in printed
    assert "Traceback" not in printed
    assert not [rater for rater in served.links if served.secret(rater) in printed]
    plan = plan_of(served)
    left = sorted(path.name for path in page_folder(served.run, plan).path.iterdir())
    assert left == ["answers.sqlite", "links.json", "place.json"]
    assert (item, "cleo") not in read_store(Run(served.run.path), plan).answers()
    typed(served, "--collect")
    assert (item, "cleo") in read_store(Run(served.run.path), plan).answers()


def test_raters_go_on_until_it_is_enough_and_no_answer_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    """Four raters by need over the network; the server is killed in between, and stops by itself. Whoever is at an item
    then hands it in, nobody gets another, and the command says how it stands when it is started again."""
    run = new_study(tmp_path, cases=60)
    plan = rating_plan(run, raters=("anna", "ben", "cleo", "dora"), overlap=2, rubrics=(EMPATHY,))
    every = sum(map(len, plan.assignment.values()))
    acknowledged: dict[tuple[str, str], str] = {}
    supplies: dict[str, str] = {}
    ended = threading.Event()
    with serving(plan, run, "--until", "mean±.55") as served:
        assert "items by need" in served.output

        def rate(rater: str) -> None:
            with httpx.Client(base_url=served.address, timeout=20) as own:
                while not ended.wait(0.4):
                    with suppress(httpx.TransportError):
                        shared = own.get("/share", headers=known(served, rater)).raise_for_status().json()
                        supplies[rater] = shared["supply"]
                        items = [item["item"] for item in shared["items"] if item["handed_in"] is None]
                        if not items:
                            return
                        ended.wait(0.2)
                        level = str(3 + int(items[0][1:5], 16) % 2)
                        sending = body(f"{rater}-{items[0]}", choices={"empathy": [level]})
                        answer = own.put(f"/items/{items[0]}", json=sending, headers=known(served, rater))
                        assert answer.status_code == 200, answer.text
                        acknowledged[items[0], rater] = level

        people = [threading.Thread(target=rate, args=(rater,)) for rater in plan.raters]
        for person in people:
            person.start()
        ended.wait(6)
        served.kill()
        served.start()
        deadline = time.monotonic() + 90
        for person in people:
            person.join(max(0.0, deadline - time.monotonic()))
        ended.set()
        need = need_of(run, plan)
        assert need is not None
        assert need.stopped
        assert supplies == dict.fromkeys(plan.raters, "enough")
        code, printed = served.stop()
        assert code == 0, printed
        assert "The targets mean±.55 are reached: nobody gets more items." in printed
        assert "--until 'mean±.55'" in printed
    answers = read_store(Run(run.path), plan).answers()
    said = {key: answer.choices["empathy"][0] for key, answer in answers.items()}
    # One whose reply was lost when the server was killed may stand there, too.
    assert acknowledged.items() <= said.items()
    assert len(said) - len(acknowledged) <= len(plan.raters)
    assert 20 < len(said) <= 0.8 * every
    assert max(Counter(item for item, _ in said).values()) == 2
