"""A rating page that is served by the command, in a process of its own that can be killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.plan_file import write_plan
from bedside.ratings.run import Run


class ServedPage:
    """``bedside annotate page`` on a plan of a run.

    Attributes:
        port: where it listens, the same after every start.
        links: rater → link, as the command printed them.
        output: what the command printed until it served.
    """

    def __init__(self, plan: AnnotationPlan, run: Run, *options: str) -> None:
        self.plan_file = Path(run.path).with_name("plan.json")
        self.run = run
        write_plan(plan, self.plan_file)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.options = options
        self.links: dict[str, str] = {}
        self.output = ""
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def secret(self, rater: str) -> str:
        return self.links[rater].partition("#")[2]

    def command(self, *more: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "bedside",
            "annotate",
            "page",
            str(self.plan_file),
            "--port",
            str(self.port),
            *more,
        ]

    def start(self) -> None:
        self._process = subprocess.Popen(
            self.command(*self.options),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ,
        )
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if link := re.match(r"  (\S+) +(https?://\S+#\S+)", line):
                self.links[link[1]] = link[2]
            if "Ctrl-C ends it" in line:
                break
        self.output = "".join(lines)
        assert self.links, self.output

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
