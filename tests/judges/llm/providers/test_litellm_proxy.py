"""A real LiteLLM proxy before a server: ``litellm`` on the path, or the program that BEDSIDE_LITELLM names."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("aiohttp")

from tests.judges.llm.providers.command import JudgeCommand
from tests.judges.llm.server import Action, JudgeServer

PROGRAM = os.environ.get("BEDSIDE_LITELLM") or shutil.which("litellm")
pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no litellm: BEDSIDE_LITELLM names one, with litellm[proxy]"),
]
KEY = "sk-proxy-key-of-no-one"


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(judge: JudgeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The proxy's address."""
    folder = tmp_path_factory.mktemp("proxy")
    (folder / "config.yaml").write_text(
        f"model_list: [{{model_name: ours, litellm_params: {{model: openai/tiny, api_base: '{judge.url}', "
        f"api_key: none, max_retries: 0}}}}]\ngeneral_settings: {{master_key: {KEY}}}\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [str(PROGRAM), "--config", folder / "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"},
            stdout=said, stderr=said, cwd=folder,
        )  # fmt: skip
    try:
        until = time.monotonic() + 300
        while not _answers(f"http://127.0.0.1:{port}/health/liveliness"):
            if process.poll() is not None or time.monotonic() > until:
                pytest.skip(f"litellm doesn't start: {(folder / 'said').read_text()[-500:]}")
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_what_comes_through_is_what_the_server_says(
    judge: JudgeServer, proxy: str, command: JudgeCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEDSIDE_API_KEY", KEY)
    values = []
    for name in (f"{proxy}#ours", judge.judge):
        ended = command(name)
        assert ended.code == 0, ended.err
        assert all(each.input_tokens for each in ended.judgements)
        assert not ended.files_with(KEY)
        values.append([(row["transcript_id"], row["value"], row["error"]) for row in ended.ratings])
        shutil.rmtree(tmp_path / "run")
    assert values[0] == values[1]
    assert all(value is not None and error is None for _, value, error in values[0])
    assert set(judge.prompts.values()) == {2}


def test_what_the_proxy_refuses_is_one_line(
    judge: JudgeServer, proxy: str, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEDSIDE_API_KEY", KEY)
    ended = command(f"{proxy}#other")
    assert "the server has no model 'other'" in ended.line
    assert "ours" in ended.line
    monkeypatch.setenv("BEDSIDE_API_KEY", "sk-another")
    assert "refuses the key" in command(f"{proxy}#ours").line


def test_what_the_server_behind_it_refuses(
    judge: JudgeServer, proxy: str, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parameter that isn't taken is left out, and a prompt that is too long is missing."""
    monkeypatch.setenv("BEDSIDE_API_KEY", KEY)
    no_temperature = (
        b'{"error": {"message": "Unsupported parameter: temperature", "param": "temperature", "code": 400}}'
    )
    too_long = (
        b'{"error": {"code": 400, "message": "the request exceeds the available context size", '
        b'"type": "exceed_context_size_error", "n_ctx": 8192}}'
    )
    judge.script = lambda request, number: Action(status=400, body=no_temperature) if "temperature" in request.body \
        else Action(status=400, body=too_long) if "3 nights" in request.prompt else Action()  # fmt: skip
    ended = command(f"{proxy}#ours")
    judge.script = lambda request, number: Action()
    rated, missing = sorted(ended.ratings, key=lambda row: row["value"] is None)
    assert rated["value"] is not None
    assert "more than the model takes in" in missing["error"]
    assert {each.unsent for each in ended.judgements} == {("temperature",)}
