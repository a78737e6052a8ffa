"""A process of its own that simulates: ``python -m tests.simulation.talking_process OUT CALLS SECONDS [MODEL]``.

Its agent takes so many seconds for a reply, and notes each in the file CALLS as soon as it has it. With ``reviewed`` in
place of a model it reviews, too.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from bedside.core.errors import BedsideError
from bedside.core.stopping import stoppable
from bedside.simulation.simulators.contract import SIMULATORS
from tests.simulation.tiny import TINY, cases, run_tiny


class SlowAgent:
    """Replies after a while, and notes what it replied to."""

    def __init__(self, calls: Path, seconds: float) -> None:
        self.calls = calls
        self.seconds = seconds

    def __call__(self, request: dict[str, Any]) -> Any:
        time.sleep(self.seconds)
        line = f"{request['session']} {request['purpose']} {request['turn']} {request['attempt']}\n"
        handle = os.open(self.calls, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, line.encode())
        os.close(handle)
        if request["role"] == "reviewer":
            # Of each conversation's draws, the first is none.
            return {"reason": "r", "labels": ["stuck"] if request["session"].endswith("-1") else []}
        return {"number": request["turn"]} if request["kind"] == "data" else f"Turn {request['turn']}."


def main() -> int:
    SIMULATORS._loaded["tiny"] = TINY
    out, calls, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    agent = SlowAgent(calls, seconds)
    clinicians: Any = agent
    more: dict[str, Any] = {}
    if sys.argv[4:] == ["reviewed"]:
        more = {"patient": agent, "evaluator": "rules", "reviewer": agent}
    elif sys.argv[4:]:
        clinicians, more = sys.argv[4], {"patient": sys.argv[4], "evaluator": "rules"}
    print("begins", flush=True)  # noqa: T201
    try:
        with stoppable(process_ends=True):
            run_tiny(out, clinicians=clinicians, cases=cases(6), settings=["long"], max_concurrency=4, **more)
    except BedsideError as error:
        print(error, flush=True)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
