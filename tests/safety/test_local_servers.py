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
#: bedside with so many open files at most.
_FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop(1)),) * 2)
from bedside.__main__ import main
main()
"""
#: What a person's page asks for, by command.
ASKED = {"annotate page": "/share", "view": "/list", "simulate": "/news?since=0"}


class Served:
    """A page that a command serves."""

    def __init__(self, link: str, asked: str, log: Path) -> None:
        self.log, self.printed = log, len(log.read_text())
        self.address, _, fragment = link.partition("/#")
        self.known = {"Authorization": f"Bearer {fragment.removeprefix('secret=')}"}
        self.asked = asked
        self.port = int(self.address.rpartition(":")[2])

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
        "simulate": ["simulate", "--protocol", "medconceal", "--clinician", "human:anna", "--patient", "script:good"]
        + ["--page", "--out", str(folder / "talks")],
    }  # fmt: skip


@contextmanager
def serving(commands: dict[str, list[str]], command: str, folder: Path, *options: str, files: int = 8000) -> Iterator[Served]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
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
            yield Served(link[0], ASKED[command], log)
        finally:
            process.kill()


@pytest.mark.parametrize("command", ASKED)
def test_five_thousand_slow_connections(commands: dict[str, list[str]], command: str, tmp_path: Path) -> None:
    """From a hundred addresses, each begins a request and never ends it; a person is answered within a second."""
    count = _sockets(5000)
    with serving(commands, command, tmp_path) as served, ExitStack() as stack:
        waits = [served.seconds()]
        for number in range(count):
            slow = stack.enter_context(socket.socket())
            slow.bind((f"127.0.1.{number % 100 + 1}", 0))
            slow.connect(("127.0.0.1", served.port))
            with suppress(ConnectionError):
                slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
            if number % 250 == 249:
                waits.append(served.seconds())
        assert max(waits) < 1, waits
        assert served.said().count("\n") <= 2


@pytest.mark.parametrize("command", ASKED)
def test_no_more_files_is_a_line(commands: dict[str, list[str]], command: str, tmp_path: Path) -> None:
    """More connections than files: a person is answered meanwhile and after, and little is written of it."""
    with serving(commands, command, tmp_path, files=90) as served:
        for _ in range(3):
            with ExitStack() as stack:
                for number in range(400):
                    slow = stack.enter_context(socket.socket())
                    slow.bind((f"127.0.1.{number % 100 + 1}", 0))
                    slow.connect(("127.0.0.1", served.port))
                assert served.seconds() < 1
            assert served.seconds() < 1
        assert "Traceback" not in served.said()
        assert len(served.said()) < 2000, served.said()


def _sockets(wanted: int) -> int:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted + 500)), hard))
    return min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 500)
