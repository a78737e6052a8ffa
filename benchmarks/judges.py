"""Judging beside deepeval.evaluate and beside the physical limit, against a server that answers in 0.2 s.

    python benchmarks/judges.py [--no-deepeval] [--no-flat] [--conversations 400] [--rounds 3]
    python benchmarks/judges.py --endpoints [--conversations 80]

Five rubrics over 400 conversations of 30 turns are 2 000 judgements, 64 under way at once; the limit is calls ×
latency / concurrency. The server runs in a process of its own, each measurement in another, with the store on and
imports done before.

With ``--endpoints``: 1, 2 and 4 endpoints that answer at most 8 requests at once, in 0.2 s each, beside one that
answers 32, which shows what the machine allows; and how many of the prompts begin as one did that the same endpoint
had before, which its prefix cache could use.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Judging without a run is in tests/judges/judging.py; textstat installs a package of the name tests, too.
sys.path.insert(0, str(ROOT))
LATENCY = 0.2
CONCURRENCY = 64
TURNS = 30
RUBRICS = ("empathy", "partnership", "question_quality", "reflection_quality", "effectiveness")
WORDS = (
    "I you we it not really feel think know want time work home week drink sleep talk change hard better "
    "because when about maybe sometimes always never family friend doctor help try start stop worry good"
).split()


SPEECH = " ".join(random.Random(0).choices(WORDS, k=100_000))


def texts(conversation: int) -> list[tuple[str, str]]:
    """Made-up turns of about 25 words, cut out of one long speech so that making them costs nothing."""
    at = conversation * 997 % 400_000
    return [
        ("patient" if turn % 2 else "clinician", SPEECH[at + 150 * turn : at + 150 * turn + 60 + 10 * (turn % 14)])
        for turn in range(TURNS)
    ]


def used() -> tuple[float, float]:
    """CPU seconds and peak memory in megabytes of this process."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def report(start: float, cpu: float, judgements: int) -> None:
    wall = time.perf_counter() - start
    after, peak = used()
    print(json.dumps({"wall": wall, "cpu": after - cpu, "peak": peak, "judgements": judgements}))


def with_bedside(url: str, conversations: int) -> None:
    import polars as pl

    import bedside.judges.llm.clients._openai_server  # noqa: F401 (imports are done before)
    from bedside.judges.rubrics.rubric_files import find_rubric
    from bedside.judges.settings import JudgeSettings
    from bedside.ratings.table import rating_writer
    from bedside.transcripts.transcript import Transcript, new_turns
    from tests.judges.judging import judge_transcripts

    def transcripts() -> Iterator[Transcript]:
        for number in range(conversations):
            roles, said = zip(*texts(number), strict=True)
            yield Transcript(f"c{number}", tuple(new_turns(roles, roles, said)))

    rubrics = [find_rubric(name) for name in RUBRICS]
    with tempfile.TemporaryDirectory() as folder:
        cpu, _ = used()
        start = time.perf_counter()
        ratings = rating_writer(Path(folder))
        judged = judge_transcripts(
            transcripts(),
            rubrics,
            f"{url}#tiny",
            store_path=Path(folder) / "judgements.sqlite",
            add=ratings.add,
            settings=JudgeSettings(max_concurrency=CONCURRENCY),
        )
        assert not ratings.result().select(pl.col("value").is_null().sum()).collect().item()
        report(start, cpu, judged.calls)


def with_a_bare_client(url: str, conversations: int) -> None:
    """What the machine allows at this moment: aiohttp sends texts of the same length and keeps nothing."""
    import asyncio

    import aiohttp

    calls = conversations * len(RUBRICS)

    async def run() -> None:
        body = json.dumps({"messages": [{"role": "user", "content": "word " * 1500}]}).encode()
        left = iter(range(calls))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def slot() -> None:
                for _ in left:
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        await response.json()

            await asyncio.gather(*(slot() for _ in range(CONCURRENCY)))

    cpu, _ = used()
    start = time.perf_counter()
    asyncio.run(run())
    report(start, cpu, calls)


def with_deepeval(url: str, conversations: int) -> None:
    # Its time-outs are lengthened, as on a busy machine they end the whole run.
    os.environ.update(
        DEEPEVAL_TELEMETRY_OPT_OUT="1",
        DEEPEVAL_DISABLE_DOTENV="1",
        DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE="900",
        DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE="1800",
    )
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.metrics import ConversationalGEval
    from deepeval.models import LocalModel
    from deepeval.test_case import ConversationalTestCase, Turn, TurnParams

    model = LocalModel(model="tiny", base_url=url, api_key="none", timeout=900)
    metrics = [
        ConversationalGEval(
            name=name,
            evaluation_steps=[f"Rate the clinician's {name.replace('_', ' ')} from 0 to 10."],
            evaluation_params=[TurnParams.ROLE, TurnParams.CONTENT],
            model=model,
        )
        for name in RUBRICS
    ]
    cases = [
        ConversationalTestCase(
            turns=[
                Turn(role="user" if role == "patient" else "assistant", content=text) for role, text in texts(number)
            ]
        )
        for number in range(conversations)
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        cpu, _ = used()
        start = time.perf_counter()
        stdout, sys.stdout = sys.stdout, sys.stderr
        evaluate(
            cases,
            metrics,
            async_config=AsyncConfig(run_async=True, max_concurrent=CONCURRENCY),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
        )
        sys.stdout = stdout
        report(start, cpu, conversations * len(RUBRICS))
        os.chdir("/")


#: Requests that an endpoint answers at once.
ROOM = 8


def with_endpoints(urls: str, conversations: int) -> None:
    from bedside.judges.llm.endpoints import named_models
    from bedside.judges.prompt import Conversation
    from bedside.judges.rubrics.rubric_files import find_rubric
    from bedside.judges.settings import JudgeSettings
    from bedside.judges.store import read_judgements
    from bedside.transcripts.transcript import Transcript, new_turns
    from tests.judges.judging import judge_transcripts

    def transcripts() -> Iterator[Transcript]:
        for number in range(conversations):
            roles, said = zip(*texts(number), strict=True)
            yield Transcript(f"c{number}", tuple(new_turns(roles, roles, said)))

    *given, room = urls.split(",")
    (name,) = named_models(f"{url}#tiny" for url in given)
    assert len({Conversation(transcript).code for transcript in transcripts()}) == conversations
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "judgements.sqlite"
        cpu, _ = used()
        start = time.perf_counter()
        judged = judge_transcripts(
            transcripts(),
            [find_rubric(each) for each in RUBRICS],
            name,
            store_path=store,
            add=lambda row: None,
            settings=JudgeSettings(max_concurrency=int(room)),
        )
        wall, after = time.perf_counter() - start, used()
        places = {(each.transcript, each.endpoint) for each in read_judgements(store)}
        warm = 1 - len(places) / judged.calls
    print(json.dumps({"wall": wall, "cpu": after[0] - cpu, "peak": after[1], "judgements": judged.calls, "warm": warm}))


def endpoints(conversations: int) -> None:
    """Throughput with several endpoints of bounded capacity, beside one, and beside one of the capacity of four."""
    program = [sys.executable, str(ROOT / "tests/judges/llm/server.py"), "--latency", str(LATENCY), "--room"]
    head = ("judged", "wall s", "per s", "× first", "× limit", "CPU ms", "warm")
    print(f"{'':22}" + "".join(f"{title:>9}" for title in head))
    first = None
    for count, room in ((1, ROOM), (2, ROOM), (4, ROOM), (1, 4 * ROOM)):
        servers = [subprocess.Popen([*program, str(room)], stdout=subprocess.PIPE, text=True) for _ in range(count)]
        try:
            urls = [server.stdout.readline().strip() for server in servers if server.stdout is not None]
            found = measure("endpoints", ",".join([*urls, str(room)]), conversations)
        finally:
            for server in servers:
                server.terminate()
                server.wait()
        judged, wall = found["judgements"], found["wall"]
        first = first or judged / wall
        named = f"{count} that take{'s' if count == 1 else ''} {room} at once"
        print(
            f"{named:22}{judged:9.0f}{wall:9.2f}{judged / wall:9.1f}"
            f"{judged / wall / first:9.2f}{wall * room * count / (judged * LATENCY):9.2f}"
            f"{1000 * found['cpu'] / judged:9.2f}{found['warm']:9.0%}"
        )
    most = 1 - 1 / len(RUBRICS)
    print(f"warm: prompts about what the endpoint had seen before; {most:.0%} where each transcript stays")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def measure(kind: str, url: str, conversations: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--measure", kind, "--url", url, "--conversations", str(conversations)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    measured: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


def line(name: str, found: list[dict[str, float]], beside: float | None = None) -> dict[str, float]:
    median = {key: statistics.median(each[key] for each in found) for key in found[0]}
    limit = median["judgements"] * LATENCY / CONCURRENCY
    ratio = "" if beside is None else f"{median['wall'] / beside:8.1f}"
    print(
        f"{name:34} {median['judgements']:8.0f} {median['wall']:8.2f} {median['wall'] / limit:8.2f} "
        f"{1000 * median['cpu'] / median['judgements']:8.2f} {median['peak']:8.0f} {ratio}"
    )
    return median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-deepeval", action="store_true", help="leave out deepeval, which takes two minutes")
    parser.add_argument("--no-flat", action="store_true", help="leave out ten times as many judgements")
    parser.add_argument("--endpoints", action="store_true", help="only: 1, 2 and 4 endpoints")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        kinds = {
            "bare": with_a_bare_client,
            "bedside": with_bedside,
            "deepeval": with_deepeval,
            "endpoints": with_endpoints,
        }
        kinds[given.measure](given.url, given.conversations)
        return
    if given.endpoints:
        endpoints(given.conversations)
        return
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "tests/judges/llm/server.py"), "--latency", str(LATENCY)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        url = server.stdout.readline().strip()
        print(f"{'':34} {'judged':>8} {'wall s':>8} {'× limit':>8} {'CPU ms':>8} {'peak MB':>8} {'× bedside':>9}")
        rounds = [
            (measure("bare", url, given.conversations), measure("bedside", url, given.conversations))
            for _ in range(given.rounds)
        ]
        line("aiohttp alone", [bare for bare, _ in rounds])
        ours = line("bedside", [bedside for _, bedside in rounds])
        if not given.no_flat:
            line("bedside, ten times as many", [measure("bedside", url, 10 * given.conversations)])
        if not given.no_deepeval:
            line("deepeval.evaluate", [measure("deepeval", url, given.conversations)], ours["wall"])
        print("medians; CPU per judgement and peak memory of the judging process, its store included")
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
