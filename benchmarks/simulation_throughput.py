"""Simulating beside the physical limit, against a server that answers in 0.2 s; and memory with many conversations.

    python benchmarks/simulation_throughput.py [--conversations 200] [--turns 8] [--most 10000]

A made-up protocol has three calls a turn, each after the other: the clinician's message, the evaluator's label, the
patient's message. 64 calls are under way at once at most, so the limit is calls × latency / 64 + the longest chain ×
latency. The server runs in a process of its own, each measurement in another, with the log on and imports done before.

Memory is that of a process that has 10² and 10⁴ conversations of one turn with actors that reply at once.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
LATENCY = 0.2
CONCURRENCY = 64
#: What the benchmark holds the simulation to.
MOST_WALL, MOST_CPU, MOST_MEMORY = 1.15, 0.002, 1.1
LABEL = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
BRIEF = "You talk with somebody about how they live with their illness, and say no more than three sentences. " * 20


def protocol(turns: int) -> Any:
    """A protocol of so many turns."""
    from bedside.simulation.simulators.asking import ask_clinician, ask_for_data, ask_patient
    from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call, Exchange, Line
    from bedside.simulation.simulators.case import Case
    from bedside.simulation.simulators.contract import Outcome, Simulator, SimulatorSetting, Situation, SpokenTurn

    def converse(situation: Situation) -> Exchange[Outcome]:
        lines: list[Line] = []
        labels: list[Mapping[str, Any]] = []
        for turn in range(1, turns + 1):
            said = yield from ask_clinician(Call("clinician", "speak", turn, BRIEF, tuple(lines)), lambda text: ())
            lines.append(Line("clinician", said.text))
            decided = yield from ask_for_data(
                Call("evaluator", "label", turn, BRIEF, tuple(lines), kind="data", schema=LABEL), dict
            )
            labels.append({"turn": 2 * turn - 2, "purpose": "label", **decided.value})
            answer = yield from ask_patient(
                Call("patient", "answer", turn, f"{BRIEF} You are {situation.case.id}.", tuple(lines)),
                lambda text: None,
            )
            lines.append(Line("patient", answer.text))
        spoken = tuple(SpokenTurn(line.role, line.text) for line in lines)
        return Outcome(spoken, "turns", True, states=tuple(labels))

    def rules(call: Call) -> ActorReply:
        return ActorReply('{"number": 1}' if call.kind == "data" else "It is as it was, more or less. " * 3)

    def check_case(case: Case) -> Iterator[str]:
        return iter(())

    roles: tuple[ActorRole, ...] = ("clinician", "patient", "evaluator")
    return Simulator(
        name="made-up",
        title="A made-up protocol",
        version=1,
        source="made up",
        languages=("en",),
        settings=(SimulatorSetting("plain", "plain", "Plain."),),
        cases=Path("absent"),
        converse=converse,
        check_case=check_case,
        briefs=lambda case, setting: BRIEF,
        rules=dict.fromkeys(roles, rules),
        most_calls=lambda situation: dict.fromkeys(roles, 3 * turns),
    )


def used() -> tuple[float, float]:
    """CPU seconds and peak memory in megabytes of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(actor: str, conversations: int, turns: int) -> None:
    """Simulate, and print what it took."""
    import bedside.judges.llm.clients._openai_server  # noqa: F401 (imports are done before)
    from bedside.api.simulating import simulate
    from bedside.simulation.simulators.case import Case
    from bedside.simulation.simulators.contract import SIMULATORS

    SIMULATORS._loaded["made-up"] = protocol(turns)
    people = min(conversations, 100)  # who don't grow with the conversations that are had with them
    assert conversations % people == 0
    cases = [Case(id=f"c{number}") for number in range(people)]
    with tempfile.TemporaryDirectory() as folder:
        simulate(cases[:2], "made-up", Path(folder) / "warm", clinician="rules")
        cpu, _ = used()
        start = time.perf_counter()
        made = simulate(
            cases,
            "made-up",
            Path(folder) / "talks",
            clinician=actor,
            patient=actor,
            repeats=conversations // people,
            max_concurrency=CONCURRENCY,
        )
        wall = time.perf_counter() - start
        assert made.summary.counts.finished == conversations, made.summary.counts.failed
        after, peak = used()
    asked = made.summary.calls.asked
    print(json.dumps({"wall": wall, "cpu": after - cpu, "peak": peak, "calls": asked}))


def in_process(actor: str, conversations: int, turns: int) -> dict[str, float]:
    """A measurement in a process of its own."""
    command = [sys.executable, __file__, "--measure", actor, "--conversations", str(conversations)]
    result = subprocess.run([*command, "--turns", str(turns)], capture_output=True, text=True, check=True)
    numbers: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return numbers


def at_the_server(conversations: int, turns: int) -> None:
    """Time and CPU beside their limits."""
    command = [sys.executable, str(ROOT / "tests/judges/llm/server.py"), "--latency", str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=None) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            numbers = in_process(f"{url}#tiny", conversations, turns)
        finally:
            server.terminate()
    calls = int(numbers["calls"])
    limit = calls / CONCURRENCY * LATENCY + 3 * turns * LATENCY
    print(f"{calls:,} calls of {conversations} conversations, {CONCURRENCY} at once, {LATENCY} s each")
    print(f"wall {numbers['wall']:.2f} s, limit {limit:.2f} s, ratio {numbers['wall'] / limit:.3f} (most {MOST_WALL})")
    print(f"CPU {numbers['cpu'] / calls * 1000:.2f} ms a call (most {MOST_CPU * 1000:g})")


def in_memory(most: int) -> None:
    """Peak memory with few and with many conversations."""
    few, many = (in_process("rules", number, 1) for number in (100, most))
    ratio = many["peak"] / few["peak"]
    print(
        f"peak memory {few['peak']:.0f} MB with 100 conversations, {many['peak']:.0f} MB with {most:,}: ratio "
        f"{ratio:.3f} (most {MOST_MEMORY})"
    )
    print(f"CPU {many['cpu'] / many['calls'] * 1000:.2f} ms a call with actors that reply at once")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--measure", metavar="ACTOR", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measured(arguments.measure, arguments.conversations, arguments.turns)
        return
    at_the_server(arguments.conversations, arguments.turns)
    in_memory(arguments.most)


if __name__ == "__main__":
    main()
