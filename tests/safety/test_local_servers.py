"""The pages that this machine serves, each by its command: slow connections, too few files, TLS, headers of proxies."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from bedside.annotation.plan_file import write_plan
from tests.annotation.study import new_study, rating_plan

pytestmark = [pytest.mark.server, pytest.mark.slow]
#: bedside with so many open files at most, and with short limits of time where it speaks TLS or has a proxy.
_FEW = """
import resource, sys
files = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (files,) * 2)
from bedside.core import page_serving
if files < 100:  # more connections than files: as where others took them
    page_serving._free_files = lambda: 1000
if "--certificate" in sys.argv or "--address" in sys.argv:  # nobody here waits a minute
    page_serving._IDLE_SECONDS = page_serving._REQUEST_SECONDS = page_serving._TLS_SECONDS = 2.0
from bedside.__main__ import main
main()
"""
#: What a person's page asks for, by command.
ASKED = {"annotate page": "/share", "view": "/list", "simulate": "/news?since=0"}
#: What it changes, by command; ``view`` changes nothing.
CHANGED = {"annotate page": "/items/x", "simulate": "/line"}


class Served:
    """A page that a command serves."""

    def __init__(self, link: str, own: int, asked: str, log: Path) -> None:
        self.log, self.printed = log, len(log.read_text())
        self.address, _, fragment = link.partition("/#")
        self.known = {"Authorization": f"Bearer {fragment.removeprefix('secret=')}"}
        self.asked, self.own = asked, own

    def said(self) -> str:
        """What was printed since."""
        time.sleep(0.3)
        return self.log.read_text()[self.printed :]

    def seconds(self, headers: dict[str, str] | None = None) -> float:
        """How long a person waits for an answer, from a connection of their own."""
        with httpx.Client(headers={**self.known, **(headers or {})}, timeout=30) as client:
            begin = time.perf_counter()
            client.get(self.address + self.asked).raise_for_status()
            return time.perf_counter() - begin


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    run = new_study(tmp_path_factory.mktemp("served"), cases=6)
    folder = Path(run.path).parent
    write_plan(rating_plan(run, overlap=2), folder / "plan.json")
    return {
        "annotate page": ["annotate", "page", str(folder / "plan.json")],
        "view": ["view", str(run.path), "--no-browser"],
        "simulate": [
            *"simulate --protocol medconceal --clinician human:anna --patient script:good --page --out".split(),
            str(folder / "talks"),
        ],
    }


@contextmanager
def serving(
    commands: dict[str, list[str]], command: str, folder: Path, *options: str, files: int = 8000
) -> Iterator[Served]:
    with socket.socket() as probe:
        probe.bind(("", 0))  # connections of earlier tests may still hold a port at their addresses
        port = probe.getsockname()[1]
    log = folder / "printed.txt"
    typed = [sys.executable, "-u", "-c", _FEW, str(files), *commands[command], "--port", str(port), *options]
    with log.open("w") as printed, subprocess.Popen(typed, stdout=printed, stderr=printed) as process:
        try:
            end = time.monotonic() + 60
            while not (link := re.search(r"https?://\S+/#\S+", log.read_text())):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.1)
            yield Served(link[0], port, ASKED[command], log)
        finally:
            process.kill()


@pytest.mark.parametrize("command", ASKED)
def test_five_thousand_slow_connections(commands: dict[str, list[str]], command: str, tmp_path: Path) -> None:
    """From a hundred addresses, each begins a request and never ends it; a person is answered within a second."""
    count = _sockets(5000)
    with serving(commands, command, tmp_path) as served, ExitStack() as stack:
        waits = [served.seconds()]
        for number in range(count):
            slow = stack.enter_context(_from(served, number))
            with suppress(ConnectionError):
                slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
            if number % 250 == 249:
                waits.append(served.seconds())
        assert max(waits) < 1, waits
        assert served.said().count("\n") <= 2


@pytest.mark.parametrize(
    ("command", "files"), [("annotate page", 90), ("simulate", 90), ("simulate", 130), ("view", 130)]
)
def test_no_more_files_is_a_line(commands: dict[str, list[str]], command: str, files: int, tmp_path: Path) -> None:
    """More connections than files: a person is answered meanwhile and after, and little is written of it."""
    with serving(commands, command, tmp_path, files=files) as served:
        served.seconds()  # the first reads what there is
        for _ in range(3):
            with ExitStack() as stack:
                for number in range(400):
                    stack.enter_context(_from(served, number))
                assert served.seconds() < 1
            assert served.seconds() < 1
        assert "Traceback" not in served.said()
        assert len(served.said()) < 2000, served.said()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate that nobody but itself vouches for, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    making = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2"
    own, key = str(folder / "own.pem"), str(folder / "key.pem")
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", own]
    subprocess.run([*making.split(), *more], check=True, capture_output=True)
    return own, key


@pytest.mark.parametrize("command", ["annotate page", "simulate"])
def test_tls(commands: dict[str, list[str]], command: str, certificate: tuple[str, str], tmp_path: Path) -> None:
    """Links are https, and so is what is served; 600 who never shake hands keep nobody out, and go in time."""
    own, key = certificate
    with serving(commands, command, tmp_path, "--certificate", own, "--key", key) as served:
        assert served.address.startswith("https://")
        trusting = ssl.create_default_context(cafile=own)
        with ExitStack() as stack:
            mute = [stack.enter_context(_from(served, number)) for number in range(600)]
            with httpx.Client(verify=trusting, headers=served.known, timeout=30) as client:
                begin = time.perf_counter()
                client.get(served.address + served.asked).raise_for_status()
                assert time.perf_counter() - begin < 1
            assert _ends_within(mute[-1], 6)
        with pytest.raises(httpx.ConnectError), httpx.Client() as client:
            client.get(served.address + served.asked)
        with pytest.raises(httpx.TransportError), httpx.Client() as client:
            client.get(served.address.replace("https:", "http:"))
        assert "Traceback" not in served.said()


def test_a_proxy_is_taken_at_its_word_in_nothing(commands: dict[str, list[str]], tmp_path: Path) -> None:
    """Links are the stated proxy's; headers in which proxies say who asks change nothing, and a body has its time."""
    public = ("--host", "0.0.0.0", "--address", "https://studies.example.org/rating")
    with serving(commands, "annotate page", tmp_path, *public) as served:
        assert served.address == "https://studies.example.org/rating"
        origin = f"http://127.0.0.1:{served.own}"
        forged = {"X-Forwarded-Host": "a.example", "X-Forwarded-For": "127.0.0.1", "Forwarded": "host=a.example"}
        forged |= {"X-Forwarded-Proto": "https", "X-Real-IP": "127.0.0.1"}
        with httpx.Client(base_url=origin, headers=served.known, timeout=30) as client:
            plain, more = (client.get("/share", headers=headers) for headers in ({}, forged))
            assert plain.raise_for_status().json() == more.raise_for_status().json()
            assert client.get("/share", headers={**forged, "Host": "a.example"}).status_code == 421
            item = plain.json()["items"][0]["item"]
            for sent in ("https://a.example", "https://127.0.0.1"):
                answer = client.put(f"/items/{item}", headers={**forged, "Origin": sent}, content=b"{}")
                assert answer.status_code == 403
        slow = socket.create_connection(("127.0.0.1", served.own))
        known = f"Authorization: {served.known['Authorization']}\r\nOrigin: {origin}\r\nContent-Length: 900\r\n\r\n{{"
        slow.sendall(f"PUT /items/{item} HTTP/1.1\r\nHost: 127.0.0.1:{served.own}\r\n{known}".encode())
        slow.settimeout(8)
        assert b" 408 " in slow.recv(100)
        slow.close()
        dribbling = _from(served, 0)
        dribbling.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert _ends_within(dribbling, 6, b"x")


@pytest.mark.parametrize("command", ASKED)
def test_what_is_no_request_is_answered_and_logged_nowhere(
    commands: dict[str, list[str]], command: str, tmp_path: Path
) -> None:
    """What can't be parsed, a body that is none, a client that goes: nothing of it is printed, the secret least."""
    with serving(commands, command, tmp_path) as served:
        served.seconds()
        printed = served.said()
        own = f"Host: 127.0.0.1:{served.own}\r\nAuthorization: {served.known['Authorization']}"
        asked, origin = served.asked.encode(), f"Origin: {served.address}"
        put = f"PUT {CHANGED.get(command, '/')} HTTP/1.1\r\n{own}\r\n{origin}\r\n".encode()
        get = b"GET " + asked + b" HTTP/1.1\r\n" + own.encode()
        for sent, status in (
            (get + b"\x00\r\n\r\n", 400),
            (get.replace(b"HTTP/1.1", b"HTTP/9.9") + b"\r\n\r\n", 400),
            (get + b"\r\nno colon\r\n\r\n", 400),
            (get + b"\r\nContent-Length: x\r\n\r\n", 400),
            (get + b"\r\nHost: b.example\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\n\r\n", 400),
            (get.replace(asked, b"/" + b"a" * 20_000) + b"\r\n\r\n", 400),
            (get + b"\r\nExpect: more\r\n\r\n", 417),
        ):
            with _from(served, 0) as client:
                client.settimeout(10)
                client.sendall(sent)
                answer = client.recv(4000).partition(b"\r\n\r\n")[0].decode()
            assert answer.split()[1] == str(status), (sent, answer)
            assert "Server: bedside" in answer, sent
            assert "Content-Security-Policy: default-src 'none'" in answer, sent
        for begun, later in (b"Content-Length: 100\r\n\r\n{", b""), (b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"):
            with _from(served, 0) as gone:
                gone.sendall(put + begun)
                time.sleep(0.3)
                gone.sendall(later)
                time.sleep(0.1)
        served.seconds()
        assert served.said() == printed


@pytest.mark.parametrize(("command", "option"), [("annotate page", "--address"), ("simulate", "--page-address")])
def test_bodies_that_never_end_keep_nobody_out_behind_a_proxy(
    commands: dict[str, list[str]], command: str, option: str, tmp_path: Path
) -> None:
    """600 of one person, more than may be open at once; the limit of time is not what lets others in."""
    with serving(commands, command, tmp_path, f"{option}=https://studies.example.org") as served, ExitStack() as stack:
        known = f"Host: studies.example.org\r\nAuthorization: {served.known['Authorization']}\r\n"
        served.address = f"http://127.0.0.1:{served.own}"
        served.seconds()
        printed = served.said()
        sent = f"PUT {CHANGED[command]} HTTP/1.1\r\n{known}Origin: https://studies.example.org\r\n"
        for number in range(_sockets(600)):
            with suppress(ConnectionError):
                slow = stack.enter_context(_from(served, number))
                slow.sendall(f'{sent}Content-Length: 100\r\n\r\n{{"a":'.encode())
        time.sleep(1)  # all have begun by then
        assert max(served.seconds() for _ in range(3)) < 1
        assert served.said() == printed


@pytest.mark.parametrize("command", ["annotate page", "simulate"])
def test_an_open_host_wants_tls_or_a_proxy(
    commands: dict[str, list[str]], command: str, call: Callable[..., tuple[int, str, str]]
) -> None:
    for host in ("0.0.0.0", "::", "10.0.0.5", "studies.example.org"):
        code, _, errors = call(*commands[command], "--host", host)
        assert code == 2
        assert len(errors.splitlines()) == 1
        assert "--certificate" in errors
    address = "--address" if command == "annotate page" else "--page-address"
    code, _, errors = call(*commands[command], "--host", "0.0.0.0", address, "http://studies.example.org")
    assert (code, "unencrypted" in errors) == (2, True)
    for wrong in (["--port", "99999"], ["--port", "0"], [address, "https://[::1/"], [address, "https://x.org:99999"]):
        code, _, errors = call(*commands[command], *wrong)
        assert (code, len(errors.splitlines())) == (2, 1), errors
        assert wrong[0] in errors


def _from(served: Served, number: int) -> socket.socket:
    """A connection from one of a hundred addresses."""
    own = socket.socket()
    own.bind((f"127.0.1.{number % 100 + 1}", 0))
    own.connect(("127.0.0.1", served.own))
    return own


def _ends_within(connection: socket.socket, seconds: float, sent: bytes = b"") -> bool:
    """Whether the other side ends a connection, though something is sent every now and then."""
    connection.settimeout(0.2)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            connection.sendall(sent)
            if connection.recv(100) == b"":
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


def _sockets(wanted: int) -> int:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted + 500)), hard))
    return min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500)
