"""What needs no network works without one, to the byte, and tries nothing; a judge's run speaks to the judge alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import bedside
from bedside.metrics import FAMILIES
from tests.metrics.tiny import MAKERS
from tests.safety import network

EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
RATINGS = EXAMPLE.with_name("ratings.csv")
SUITES = ("multisense", "calm-it", "medconceal", "mdd5k", "note2chat")
#: When a run was scored.
DATE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00)?")
#: Runs commands one after the other in one process, and stops where one fails.
MANY = """
import json, sys
from bedside.cli import main
for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"{command}: {ended.code}")
"""


#: The record of a report has digests of files with a date.
DATED = ("manifest.json", "simulations.json", "log.sqlite", "written.json")


def program(*commands: Sequence[object]) -> list[str]:
    """What is typed to run commands in one process."""
    return [sys.executable, "-c", MANY, json.dumps([[str(word) for word in each] for each in commands])]


def many(folder: Path, commands: list[list[object]], before: list[str]) -> str:
    """Run commands in a folder; whom they tried to speak to."""
    folder.mkdir()
    environment = network.watched(folder)
    work = folder / "work"
    work.mkdir()
    done = subprocess.run(
        [*before, *program(*commands)],
        cwd=work, env=environment, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "watched").read_text()


def files_in(folder: Path) -> dict[str, bytes]:
    """All files but manifests, also the one that a run keeps of a simulation, a simulation's log, and spreadsheets,
    which hold a date; the dates of judge cards are taken out."""
    return {
        str(path.relative_to(folder)): DATE.sub(b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in DATED and path.suffix != ".xlsx"
    }


def check_alike(tmp_path: Path, commands: list[list[object]]) -> None:
    network.need_alone()
    assert many(tmp_path / "outside", commands, []) == ""
    assert many(tmp_path / "inside", commands, network.ALONE) == ""
    outside, inside = (files_in(tmp_path / name / "work") for name in ("outside", "inside"))
    assert outside
    assert [name for name in outside if inside.get(name) != outside[name]] == []
    assert inside.keys() == outside.keys()


@pytest.mark.slow
@pytest.mark.model
def test_the_demo_suites_statistics_reports_and_families_that_load_a_model(tmp_path: Path) -> None:
    commands: list[list[object]] = [["demo", "--out", "demo"], _every_family(tmp_path)]
    commands += [["score", EXAMPLE, "--suite", suite, "--out", "run"] for suite in SUITES]
    commands += [["ratings", "import", "run", RATINGS, "--scale", "1-5"]]
    commands += [["agree", "run"], ["compare", "run"], ["compare", "run", "--over", "messages"]]
    # The demonstration writes a report in every form.
    commands += [["report", "run", "--format", "html,csv"]]
    commands += [[command, "run", "--judge", "algorithm:rules@2"] for command in ("validate", "estimate")]
    commands += [["explain", "run", "--cell", "words_per_turn.clinician/steady"]]
    commands += [["sample", "run", "--per", "1", "--overlap", "1", "--raters", "anna", "--rubrics", "empathy", "--out",
                  "plan.json"], ["annotate", "export", "plan.json", "--out", "pages"]]  # fmt: skip
    commands += [["list", kind] for kind in ("metrics", "suites", "rubrics", "readers")]
    commands += [["list"], ["doctor"]]
    check_alike(tmp_path, commands)


def _every_family(folder: Path) -> list[object]:
    """A command that scores by all families, those that need a model with a tiny one."""
    settings: list[object] = []
    for family, make in MAKERS.items():
        for name, value in make(folder / "models" / family).items():
            settings += ["--set", f"{family}.{name}={value}"]
    few = folder / "few.jsonl"
    row = json.loads(EXAMPLE.read_text("utf-8").splitlines()[0])
    few.write_text(json.dumps({**row, "turns": row["turns"][:8]}) + "\n")
    every = ",".join(FAMILIES.names())
    return ["score", few, "--metrics", every, *settings, "--out", "every"]


def test_the_hook_sees_an_attempt(tmp_path: Path) -> None:
    """That the tests above would see one."""
    folder = tmp_path / "tried"
    folder.mkdir()
    code = "import urllib.request\ntry: urllib.request.urlopen('http://127.0.0.1:9/')\nexcept OSError: pass"
    subprocess.run([sys.executable, "-c", code], env=network.watched(folder), check=True)
    assert "127.0.0.1" in (folder / "watched").read_text()


@pytest.mark.slow
def test_importing_tries_nothing(tmp_path: Path) -> None:
    network.need_alone()
    environment = network.watched(tmp_path)
    code = "import bedside, bedside.cli, bedside.judges, bedside.metrics, bedside.reports.build; bedside.score"
    subprocess.run([*network.ALONE, sys.executable, "-c", code], env=environment, check=True)
    assert (tmp_path / "watched").read_text() == ""


@pytest.mark.slow
def test_the_doctor_says_that_nothing_is_reached(tmp_path: Path) -> None:
    network.need_alone()
    for address in ("http://10.213.9.9:8000", "http://judge.example.org:8000"):
        done = subprocess.run(
            [*network.ALONE, sys.executable, "-m", "bedside", "doctor", "--json", "--judge", f"{address}/v1#m",
             "--label-studio", address],
            env=network.watched(tmp_path), capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
        assert done.returncode == 1
        rows = {row["what"]: row for row in json.loads(done.stdout)[0]["rows"]}
        assert rows[address]["good"] is False
        assert "can't be reached" in rows[address]["found"]
        assert rows[f"{address}/v1#m"]["good"] is False
        assert "connection failed" in rows[f"{address}/v1#m"]["found"]


# -- a judge's run speaks to the judge alone --------------------------------------------------------

#: Serves in the server's namespace.
JUDGE = """
import asyncio, sys
from tests.judges.llm.server import JudgeServer
async def serve():
    server = JudgeServer(keep=False)
    await server.start(int(sys.argv[2]), host=sys.argv[1])
    print("ready", flush=True)
    await asyncio.Event().wait()
asyncio.run(serve())
"""
PORT = 8000


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[network.Hosts]:
    folder = tmp_path_factory.mktemp("hosts")
    with network.two_hosts(folder) as made:
        log = folder / "judge"
        with log.open("wb") as file:
            command = made.command(made.server, sys.executable, "-c", JUDGE, made.server_address, PORT)
            server = subprocess.Popen(command, stdout=file, env=network.watched(folder), cwd=network.ROOT)
        try:
            network.until(lambda: b"ready" in log.read_bytes())
            yield made
        finally:
            server.kill()
            server.wait()


def heard(hosts: network.Hosts) -> tuple[str, set[tuple[str, ...]]]:
    """What the other host has heard since it was asked the last time, and the server: protocol, address, port."""
    other = hosts.heard.read_text().replace("ready\n", "")
    at_server = hosts.server_heard.read_text().replace("ready\n", "")
    hosts.heard.write_text("")
    hosts.server_heard.write_text("")
    return other, {tuple(line.split()[:3]) for line in at_server.splitlines()}


@pytest.mark.server
@pytest.mark.slow
def test_the_other_host_hears_whatever_else_is_sent(hosts: network.Hosts, tmp_path: Path) -> None:
    """That the next tests would see a packet or a question for a name."""
    code = (
        "import socket, urllib.request\n"
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'telemetry', ('203.0.113.7', 4433))\n"
        "try: urllib.request.urlopen('http://usage.example.org/', timeout=2)\n"
        "except OSError: pass"
    )
    command = hosts.command(hosts.client, sys.executable, "-c", code)
    subprocess.run(command, env=network.watched(tmp_path), check=True)
    network.until(lambda: b"usage" in hosts.heard.read_bytes())
    other, server = heard(hosts)
    assert "17 203.0.113.7 4433" in other
    assert f"17 {hosts.other_address} 53" in other
    assert server == set()


def ask(
    hosts: network.Hosts, folder: Path, *commands: Sequence[object], **more: str
) -> subprocess.CompletedProcess[str]:
    """Run commands in one process on the client's host; it ends with 1 where one of them fails."""
    heard(hosts)
    environment = {**network.watched(folder), **more}
    return subprocess.run(
        hosts.command(hosts.client, *program(*commands)),
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


SCORE = ("score", EXAMPLE, "--rubrics", "conversation_flow", "--judge")


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "refused"),
    [
        (
            [
                (*SCORE, "{address}/v1#tiny", "--out", "run"),
                # deepeval's metrics bring its telemetry along.
                ("score", EXAMPLE, *"--metrics deepeval:turn_relevancy --judge {address}/v1#tiny --out of".split()),
                ("demo", "--out", "demo", "--judge", "{address}/v1#tiny"),
                ("doctor", "--judge", "{address}/v1#tiny"),
            ],
            "",
        ),
        # With what deepeval knows of prices and models, which brings its telemetry along.
        (
            [(*SCORE, "openai/gpt-5-mini", "--out", "run"), (*SCORE, "ollama/llama3.2", "--out", "other")],
            "'ollama/llama3.2', '--out', 'other']: 2",
        ),
        (
            [(*SCORE, "anthropic/claude-sonnet-4-5", "--out", "run")],
            "'anthropic/claude-sonnet-4-5', '--out', 'run']: 2",
        ),
    ],
    ids=["address", "openai and ollama", "anthropic"],
)
def test_a_judge(commands: list[tuple[object, ...]], refused: str, hosts: network.Hosts, tmp_path: Path) -> None:
    address = f"http://{hosts.server_address}:{PORT}"
    environment = {
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "no-real-key-0123456789"),
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_BASE_URL": address,
        "OLLAMA_HOST": address,
    }
    typed = [[str(word).format(address=address) for word in words] for words in commands]
    done = ask(hosts, tmp_path, *typed, **environment)
    other, server = heard(hosts)
    assert done.returncode == bool(refused), done.stderr
    assert refused in done.stderr
    assert server == {("6", hosts.server_address, str(PORT))}
    assert other == ""


@pytest.mark.server
@pytest.mark.slow
def test_label_studio(hosts: network.Hosts, tmp_path: Path) -> None:
    """Its client speaks to the named host alone. No Label Studio answers there; the tests of annotation have one."""
    address = f"http://{hosts.server_address}:{PORT}"
    key = {"LABEL_STUDIO_API_KEY": "0123456789abcdef0123456789abcdef01234567"}
    score = ("score", EXAMPLE, "--metrics", "structure", "--out", "run")
    sample = ("sample", "run", "--per", "1", "--overlap", "1", "--raters", "anna", "--rubrics", "empathy")
    assert ask(hosts, tmp_path, score, (*sample, "--out", "plan.json")).returncode == 0
    for command in ("push", "pull"):
        done = ask(hosts, tmp_path, ("annotate", command, "plan.json", "--url", address), **key)
        other, server = heard(hosts)
        assert done.returncode == 1
        assert done.stderr.endswith(": 2\n"), done.stderr
        assert server == {("6", hosts.server_address, str(PORT))}
        assert other == ""


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_engines(engine: str, hosts: network.Hosts, tmp_path: Path) -> None:
    """Work that is shared on this machine stays on it."""
    pytest.importorskip({"local": "joblib", "dask": "distributed", "ray": "ray"}[engine])
    words = ("score", EXAMPLE, "--engine", engine, "--metrics", "structure", "--out", "run")
    done = ask(hosts, tmp_path, words)
    other, server = heard(hosts)
    assert done.returncode == 0, done.stderr
    assert (other, server) == ("", set())
