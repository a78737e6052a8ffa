"""Runs the tests marked ``soak`` with their large budgets, and those marked ``soak_only``, as many as fit in a time.

    python tools/soak.py [--minutes 15]

The next call goes on from there: what has passed is noted in ``.soak``, test by test, until all have; then, and
without that file, a new round begins.
Where nothing is noted, as in a fresh clone, the commit decides which test comes first, so that clones of successive
commits do different parts. A test that the time cuts off comes first the next time. ``BEDSIDE_SOAK=4`` makes the
budgets four times as large.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTES = ROOT / ".soak"
#: Functions that run at once.
WORKERS = 2
_PYTEST = [sys.executable, "-m", "pytest", "-p", "no:xdist"]
_OUTCOME = re.compile(r"^(?P<test>tests/\S+?::.+?) (?:(?P<good>PASSED|SKIPPED|XFAIL)|FAILED|ERROR)\b")


class Soak:
    """One call: what there is to run, until when, and what came of it.

    Attributes:
        tests: the ids of all tests that are marked so, in the order in which pytest lists them.
        passed: those of this round that have passed.
        failures: what pytest printed of each function that failed.
    """

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._environment = {**os.environ, "BEDSIDE_SOAK": os.environ.get("BEDSIDE_SOAK") or "1"}
        self._lock = threading.Lock()
        self.tests = self._listed()
        noted = NOTES.read_text("utf-8").splitlines() if NOTES.is_file() else []
        self.passed = [test for test in noted if test in self.tests]
        if len(self.passed) == len(self.tests):
            self.passed = []
        self.failures: list[str] = []

    def _listed(self) -> list[str]:
        listed = subprocess.run(
            [*_PYTEST, "--collect-only", "-m", "soak or soak_only"], cwd=ROOT, capture_output=True, text=True
        )
        tests = [line for line in listed.stdout.splitlines() if line.startswith("tests/") and "::" in line]
        if listed.returncode or not tests:
            sys.exit(f"The tests to soak can't be listed:\n{listed.stdout[-2000:]}{listed.stderr[-2000:]}")
        return tests

    def waiting(self) -> dict[str, list[str]]:
        """The functions that have not passed whole, with the tests to run of each, in the order to run them."""
        functions: dict[str, list[str]] = {}
        for test in self.tests:
            if test not in self.passed:
                functions.setdefault(test.partition("[")[0], []).append(test)
        names = list(functions)
        first = 0 if NOTES.is_file() else _commit() % max(1, len(names))
        return {name: functions[name] for name in names[first:] + names[:first]}

    def run(self, function: str, tests: list[str]) -> None:
        """Run tests of one function until they end or the time does; note which passed."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return
        process = subprocess.Popen(
            [*_PYTEST, "-vv", *tests], cwd=ROOT, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        cut = threading.Timer(left, process.send_signal, [signal.SIGINT])
        cut.start()
        assert process.stdout is not None
        lines, failed = [], False
        for line in process.stdout:
            lines.append(line)
            outcome = _OUTCOME.match(line)
            if outcome is not None and outcome["good"]:
                self._note(outcome["test"])
            failed |= outcome is not None and not outcome["good"]
        code = process.wait()
        cut.cancel()
        if failed or code not in (0, pytest.ExitCode.INTERRUPTED):
            end = "failed"
            self.failures.append("".join(lines))
        else:
            end = "passed" if code == 0 else "cut off"
        print(f"{end:8}{function}", flush=True)

    def _note(self, test: str) -> None:
        with self._lock:
            self.passed.append(test)
            NOTES.write_text("".join(f"{name}\n" for name in self.passed), "utf-8")


def _commit() -> int:
    """A number that the commit gives, 0 outside of git."""
    shown = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(shown.stdout.strip() or "0", 16)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the tests marked soak with large budgets.")
    parser.add_argument("--minutes", type=float, default=15, help="how long at most")
    typed = parser.parse_args()
    soak = Soak(60 * typed.minutes)
    functions = soak.waiting()
    print(f"{len(soak.tests)} tests, {len(soak.passed)} of them passed in this round before", flush=True)
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(soak.run, functions, functions.values()))
    print(*soak.failures, sep="\n")
    print(f"{len(soak.passed)} of {len(soak.tests)} passed in this round, {len(soak.failures)} functions failed")
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
