"""A rating page without its network, what a browser would send to it, and a page that is served by the command."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_database import SentEntry, read_entry
from bedside.annotation.rating_page.page_folder import PageFolder, page_folder
from bedside.annotation.rating_page.page_state import PageState
from bedside.ratings.run import Run

_numbers = itertools.count()
#: bedside, with a page that puts answers into the run each second: nobody here waits ten for it.
_IMPATIENT = """
from bedside.annotation.rating_page import page_server
from bedside.__main__ import main
assert page_server.COLLECT_SECONDS <= 10
page_server.COLLECT_SECONDS = 1.0
main()
"""


def opened(plan: AnnotationPlan, run: Run) -> tuple[PageState, PageFolder]:
    folder = page_folder(run, plan)
    folder.make()
    return PageState(plan, run, folder), folder


def sent(
    state: str = "submitted",
    choices: dict[str, Any] | None = None,
    texts: dict[str, Any] | None = None,
    *,
    version: int = 0,
) -> SentEntry:
    """What a browser sends; a single choice or text may stand alone."""
    body = {
        "state": state, "version": version, "mark": f"attempt-{next(_numbers):08d}", "seconds": 12.0,
        "choices": {name: _listed(value) for name, value in (choices or {}).items()},
        "texts": {name: _listed(value) for name, value in (texts or {}).items()},
    }  # fmt: skip
    return read_entry(json.dumps(body).encode())


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


class ServedPage:
    """``bedside annotate page`` on a plan of a run, in a process of its own that can be killed.

    Attributes:
        port: where it listens, the same after every start.
        links: rater or adjudicator → link, as the command printed them.
        enrolment: the link by which people enrol; empty where nobody can.
        researcher: the link of the page that shows how the study goes.
        output: what the command printed until it served.
    """

    def __init__(self, plan: AnnotationPlan, run: Run, *options: str) -> None:
        self.plan_file = Path(run.path).with_name("plan.json")
        self.run = run
        self.options = options
        write_plan(plan, self.plan_file)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.links: dict[str, str] = {}
        self.enrolment = ""
        self.researcher = ""
        self.output = ""
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def secret(self, rater: str) -> str:
        return self.links[rater].partition("#")[2]

    def command(self, *more: str) -> list[str]:
        program = [sys.executable, "-c", _IMPATIENT, "annotate", "page", str(self.plan_file)]
        return [*program, "--port", str(self.port), *self.options, *more]

    def start(self) -> None:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self._process = subprocess.Popen(self.command(), env=os.environ, **pipes)
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if link := re.match(r"  (\S+) +(https?://\S+#\S+)", line):
                self.links[link[1]] = link[2]
            elif enrolment := re.search(r"people enrol, .*: (https?://\S+#\S+)", line):
                self.enrolment = enrolment[1]
            if line.startswith("Yours alone"):
                self.researcher = line.split()[-1]
            if "Ctrl-C ends it" in line:
                break
        self.output = "".join(lines)
        assert self.links or "recruiting service" in self.output, self.output

    def kill(self) -> None:
        """End it as a machine that loses power does."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def stop(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and what was printed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        rest, _ = self._process.communicate(timeout=60)
        return self._process.returncode, rest

    @property
    def stands(self) -> bool:
        return self._process is not None and self._process.poll() is None


@contextmanager
def serving(plan: AnnotationPlan, run: Run, *options: str, kind: type[ServedPage] = ServedPage) -> Iterator[ServedPage]:
    page = kind(plan, run, *options)
    try:
        page.start()
        yield page
    finally:
        if page.stands:
            page.kill()
