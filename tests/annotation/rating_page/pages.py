"""A rating page without its network, what a browser would send to it, and a page that is served by the command."""

from __future__ import annotations

import itertools
import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page import page_server
from bedside.annotation.rating_page.page_database import SentEntry, read_entry
from bedside.annotation.rating_page.page_folder import PageFolder, page_folder
from bedside.annotation.rating_page.page_state import PageState
from bedside.ratings.run import Run
from tests.durability import children
from tests.forked import preload

preload("tests.annotation.rating_page.pages")
_numbers = itertools.count()


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


def impatient() -> None:
    """The page puts answers into the run each second: nobody here waits ten for it."""
    assert page_server.COLLECT_SECONDS <= 10
    page_server.COLLECT_SECONDS = 1.0


class ServedPage:
    """``bedside annotate page`` on a plan of a run, in a process of its own that can be killed.

    Attributes:
        port: where it listens, the same after every start.
        links: rater or adjudicator → link, as the command printed them.
        enrolment: the link by which people enrol; empty where nobody can.
        researcher: the link of the page that shows how the study goes.
        output: what the command printed until it served.
    """

    before: tuple[children.Before, ...] = (impatient,)

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
        self._child: children.Child | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def secret(self, rater: str) -> str:
        return self.links[rater].partition("#")[2]

    def call(self, *more: str) -> list[str]:
        return ["annotate", "page", str(self.plan_file), "--port", str(self.port), *self.options, *more]

    def start(self) -> None:
        (log := self.plan_file.with_name("page.log")).write_bytes(b"")
        self._child = children.start(self.call(), Path.cwd(), self.before, log)
        while not re.search("Ctrl-C ends it.*\n", said := self._child.said) and self.stands:
            time.sleep(0.01)
        self.output = said
        self.links |= dict(re.findall(r"^  (\S+) +(https?://\S+#\S+)", said, re.MULTILINE))
        self.enrolment = "".join(re.findall(r"people enrol, .*: (https?://\S+#\S+)", said))
        self.researcher = "".join(re.findall(r"^Yours alone.* (\S+)$", said, re.MULTILINE))
        assert self.links or "recruiting service" in self.output, self.output

    def kill(self) -> None:
        """End it as a machine that loses power does."""
        assert self._child is not None
        self._child.kill()

    def stop(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and what was printed."""
        assert self._child is not None
        self._child.kill(signal.SIGINT)
        return self._child.end(), self._child.said.removeprefix(self.output)

    @property
    def stands(self) -> bool:
        return self._child is not None and self._child.process.is_alive()


@contextmanager
def serving(plan: AnnotationPlan, run: Run, *options: str, kind: type[ServedPage] = ServedPage) -> Iterator[ServedPage]:
    page = kind(plan, run, *options)
    try:
        page.start()
        yield page
    finally:
        if page.stands:
            page.kill()
