"""The page on simulating: its commands, its agent, its webhook and its script are run as they stand there.

Models are a real server on loopback; the person's command is driven in a terminal elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Call
from tests.judges.llm.server import Action, JudgeServer, Received, fitting

PAGE = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text("utf-8")
pytestmark = [pytest.mark.server, pytest.mark.slow]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


def speaking(request: Received, number: int) -> Action:
    """A model that replies in the form that is wanted; patients say something else each time."""
    return Action(text=f"It is much as it was {number} days ago." if request.schema is None else fitting(request))


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[int]:
    """The port at which the page's server listens."""
    agent, python, server = blocks("python")
    (tmp_path / "agent.py").write_text(agent)
    (tmp_path / "use.py").write_text(python)
    (tmp_path / "server.py").write_text(server)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "server.py", str(port)], cwd=tmp_path)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def test_everything_on_it_runs(call: Call, tmp_path: Path, webhook: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (script,) = blocks("yaml")
    (tmp_path / "careful.yaml").write_text(script)
    monkeypatch.syspath_prepend(tmp_path)
    with JudgeServer(speaking) as server:
        address = server.judge.rpartition("#")[0]
        for command in commands():
            if "human:" in command:
                continue
            typed = command.replace("openai/", f"{address}#").replace("127.0.0.1:8090", f"127.0.0.1:{webhook}")
            if "--max-cost" in typed:
                typed += " --price in=0.1,out=0.1"
            program, *words = shlex.split(typed)
            assert program == "bedside"
            code, _, err = call(*words)
            assert code == 0, f"{command}\n{err}"
    for folder, system in (
        ("talks", "gpt-5-mini"),
        ("with-function", "agent:reply"),
        ("with-webhook", f"webhook:http://127.0.0.1:{webhook}/"),
        ("with-script", "script:careful"),
    ):
        transcripts = [json.loads(line) for line in (tmp_path / folder / "transcripts.jsonl").open()]
        assert system in {transcript["system"] for transcript in transcripts}, folder
    assert (tmp_path / "run" / "report" / "report.html").is_file()
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[2]), str(tmp_path)))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ")
