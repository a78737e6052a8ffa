"""The page over its network: who gets in, what is refused, and that nothing is changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest

from bedside.ratings.run import Run
from tests.conftest import Call
from tests.reports.viewer.runs import HOSTILE_ID, ServedView, add_warmth

server = [pytest.mark.server, pytest.mark.slow]
QUESTIONS = (
    "/run", "/list", "/neighbours?id=case-0/alpha", "/conversation?id=case-0/alpha", "/version",
    "/judgements?id=case-0/alpha", "/judgement?key=0", "/states?id=case-0/alpha",
)  # fmt: skip


@pytest.fixture
def client(served: ServedView) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.address, timeout=60) as one:
        yield one


def known(served: ServedView, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.secret}", **more}


class TestServed:
    pytestmark = server

    def test_nothing_without_the_secret(self, client: httpx.Client, served: ServedView) -> None:
        wrong = [{"Authorization": value} for value in ("", "Bearer", "Bearer x", f"Bearer {served.secret[:-1]}",
                                                        f"Basic {served.secret}", b"Bearer \xff\xfe")]  # fmt: skip
        for path in QUESTIONS:
            for headers in ({}, {"Cookie": f"secret={served.secret}"}, *wrong):
                answer = client.get(path, headers=cast(dict[str, str], headers))
                assert answer.status_code == 401
                assert "alpha" not in answer.text
            assert client.get(f"{path}{'&' if '?' in path else '?'}secret={served.secret}").status_code == 401
            assert client.get(path, headers=known(served)).status_code == 200
        # The page itself holds nothing of the run.
        assert "alpha" not in client.get("/").text

    def test_other_pages_names_and_methods_are_refused(self, client: httpx.Client, served: ServedView) -> None:
        for path in (*QUESTIONS, "/", "/files/view.js"):
            answer = client.get(path, headers=known(served, Host="attacker.example"))
            assert answer.status_code == 421
            if path != "/":
                for site in ("cross-site", "same-site"):
                    answer = client.get(path, headers=known(served, **{"Sec-Fetch-Site": site}))
                    assert answer.status_code == 403
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            for origin, status in ((served.address, 405), ("http://attacker.example", 403)):
                answer = client.request(method, "/list", headers=known(served, Origin=origin))
                assert answer.status_code == status

    def test_every_answer_forbids_what_the_page_does_not_need(self, client: httpx.Client, served: ServedView) -> None:
        for path in ("/", "/files/view.js", "/files/page.css", "/run", "/nowhere"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "unsafe" not in headers["Content-Security-Policy"]
            kept = [headers[name] for name in ("Cache-Control", "X-Content-Type-Options", "Referrer-Policy")]
            assert kept == ["no-store", "nosniff", "no-referrer"]
            assert "Set-Cookie" not in headers
            assert not headers.get("Access-Control-Allow-Origin")
        for path in ("/files/view_server.py", "/files/..%2fview_server.py", "/files/", "/../manifest.json"):
            assert client.get(path).status_code == 404

    def test_what_is_asked_in_vain_is_said_in_a_line(self, client: httpx.Client, served: ServedView) -> None:
        wrong = ("sort=shoes", "from=much", "start=-1", "start=1e9", "start=99999999999999999999")
        statuses = {"/conversation?id=nobody": 404, "/conversation": 404, **{f"/list?{own}": 422 for own in wrong}}
        for path, status in statuses.items():
            answer = client.get(path, headers=known(served))
            assert (answer.status_code, path) == (status, path)
            assert "\n" not in answer.json()["error"]
        far = client.get("/list?start=5000", headers=known(served)).json()["data"]
        assert (far["total"], far["rows"]) == (15, [])
        assert client.get("/judgement?key=%27%20OR%201=1", headers=known(served)).json()["data"] is None
        odd = client.get("/list", params={"metric": "no such", "rater": "nobody"}, headers=known(served))
        assert odd.json()["data"]["total"] == 0

    def test_looking_changes_no_file_of_the_run(self, client: httpx.Client, served: ServedView, rich: Run) -> None:
        before = digests(Path(rich.path))
        for path in QUESTIONS:
            client.get(path, headers=known(served)).raise_for_status()
        listed = client.get("/judgements", params={"id": HOSTILE_ID}, headers=known(served)).json()["data"]
        judgement = client.get("/judgement", params={"key": listed[0]["key"]}, headers=known(served))
        assert judgement.json()["data"]
        assert digests(Path(rich.path)) == before

    def test_a_port_that_is_taken_is_said(self, served: ServedView, rich: Run) -> None:
        port = served.address.rpartition(":")[2]
        command = [sys.executable, "-m", "bedside", "view", str(rich.path), "--no-browser", "--port", port]
        second = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert second.returncode == 2
        assert f"can't listen at 127.0.0.1, port {port}" in second.stderr
        assert "Traceback" not in second.stderr

    def test_ctrl_c_ends_it_and_a_run_that_is_gone_is_said(self, rich: Run, tmp_path: Path) -> None:
        run = Run(shutil.copytree(rich.path, tmp_path / "run"))
        view = ServedView(run.path)
        try:
            with httpx.Client(base_url=view.address, timeout=60) as client:
                first = client.get("/version", headers=known(view)).json()["version"]
                add_warmth(run)
                second = client.get("/run", headers=known(view)).json()
                assert second["version"] != first
                assert "warmth" in {metric["name"] for metric in second["data"]["metrics"]}
                shutil.rmtree(run.path)
                gone = client.get("/list", headers=known(view))
                assert gone.status_code == 503
                assert "not there any more" in gone.json()["error"]
            code, printed = view.stop()
        finally:
            view.kill()
        assert code == 0
        assert "Traceback" not in printed


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file, but for those that SQLite makes for whoever reads."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name[-4:] not in ("-shm", "-wal")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_what_is_typed_in_vain_is_said_in_a_line(call: Call, rich: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    run = rich.path
    for arguments, said in {
        ("nowhere",): "there is no such run",
        ("other",): "is not a run",
        (run, "--sample", 3): "no copy is written",
        (run, "--systems", "alpha", "--where", "length=8"): "--systems, --where",
        (run, "--export", "other"): "is no copy that bedside view wrote; choose another folder with --export",
        (run, "--export", "new", "--systems", "alpah"): "alpha",
        (run, "--export", "new", "--where", "length=7"): "no length '7'",
    }.items():
        code, out, err = call("view", *arguments)
        assert (code, out) == (2, ""), arguments
        assert said in err
        assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other"]


def test_a_free_port_is_found_where_the_own_is_taken() -> None:
    from bedside.core.page_serving import HOST, free_port

    with socket.socket() as taken:
        taken.bind((HOST, 0))
        port = taken.getsockname()[1]
        assert free_port(port) not in (port, 0)
    assert free_port(port) == port


def test_the_link_is_no_word_of_a_command(
    call: Call, rich: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Others on the machine see what programs were started with: the browser gets a file that its owner alone reads."""

    from bedside.core.page_serving import opened_in_browser

    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.setenv("DISPLAY", ":0")
    link = "http://127.0.0.1:1/#secret=abc"
    with opened_in_browser(link) as starting:
        assert starting is not None
        starting.join()
        page = Path(addresses[0].removeprefix("file://"))
        assert "abc" not in addresses[0]
        assert link in page.read_text()
        assert page.parent.stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert not page.exists()
