"""A process of its own that benchmarks: ``python -m tests.api.benchmarking_process OUT JUDGE CALLS SECONDS``.

Its agent takes so many seconds for a reply, and notes each in the file CALLS as soon as it has it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bedside import benchmark
from bedside.core.errors import BedsideError
from tests.simulation.talking_process import SlowAgent

PROTOCOL, CASES = "medconceal", 2


class TalkingAgent(SlowAgent):
    """One that fills in no form."""

    def __call__(self, request: dict[str, object]) -> object:
        said = super().__call__(request)
        return {"findings": []} if request["kind"] == "data" else said


def main() -> int:
    out, judge, calls, seconds = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])
    print("begins", flush=True)  # noqa: T201
    try:
        done = benchmark(
            PROTOCOL,
            out,
            clinician=[TalkingAgent(calls, seconds), "script:brisk"],
            judges=judge,
            sample=CASES,
            max_concurrency=4,
        )
    except BedsideError as error:
        print(error, flush=True)  # noqa: T201
        return 1
    return 0 if done.complete else 3


if __name__ == "__main__":
    sys.exit(main())
