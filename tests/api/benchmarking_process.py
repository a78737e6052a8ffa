"""What a process of its own does that benchmarks.

Its agent takes so many seconds for a reply, and notes each in the file of calls as soon as it has it.
"""

from __future__ import annotations

import os
from pathlib import Path

from bedside import benchmark
from tests.simulation.talking_process import SlowAgent

PROTOCOL, CASES = "medconceal", 2


class TalkingAgent(SlowAgent):
    """One that fills in no form."""

    def __call__(self, request: dict[str, object]) -> object:
        said = super().__call__(request)
        return {"findings": []} if request["kind"] == "data" else said


def work(out: Path, judge: str, calls: Path, seconds: float) -> None:
    """Benchmark into a folder; the folder's own name is what the run knows of where it is."""
    os.chdir(out.parent)
    done = benchmark(
        PROTOCOL, out.name, clinician=[TalkingAgent(calls, seconds), "script:brisk"], judges=judge, sample=CASES,
        max_concurrency=4,
    )  # fmt: skip
    raise SystemExit(0 if done.complete else 3)
