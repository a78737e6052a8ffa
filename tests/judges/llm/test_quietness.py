"""What libraries print when they are imported or used is no part of what a command prints, on either stream."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import conversation
from tests.judges.llm.providers import openai
from tests.judges.llm.providers.server import Answer, Call, ProviderServer

pytestmark = [pytest.mark.server, pytest.mark.slow]
#: How every line on the error stream begins: what was read and scored, how far judging is, and what to do next.
LINES = re.compile(r"^(Read 1 transcript|  patient; no systems$|Scored|  missing|Next|Asked|judge:|bedside: )|^$")
NO_LITELLM = find_spec("litellm") is None
KEY = "sk-test-key-of-no-one"


@pytest.mark.parametrize(
    "judge",
    [
        "openai/gpt-4.1",
        "portkey/gpt-4.1",
        pytest.param("litellm/openai/gpt-4.1", marks=pytest.mark.skipif(NO_LITELLM, reason="litellm isn't installed")),
    ],
)
@pytest.mark.parametrize("fails", [False, True], ids=["rated", "refused"])
def test_nothing_but_the_command_prints(judge: str, fails: bool, tmp_path: Path) -> None:
    talk = conversation(("patient", "Hi."), ("clinician", "Hello."))
    (tmp_path / "talks.jsonl").write_bytes(talk.to_json())

    def behaviour(call: Call) -> Answer:
        return openai.error(401, "Incorrect API key provided.") if fails else openai.chat(call)

    with ProviderServer() as server, server.behaving(behaviour):
        address = f"{server.url}/v1"
        environment = {
            **os.environ, "HOME": str(tmp_path), "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address,
            "OPENAI_API_BASE": address, "PORTKEY_API_KEY": KEY, "PORTKEY_PROVIDER_NAME": "openai",
            "PORTKEY_BASE_URL": address,
        }  # fmt: skip
        command = ["score", "talks.jsonl", "--metrics", "structure", "--rubrics", "empathy", "--judge", judge]
        done = subprocess.run(
            [sys.executable, "-m", "bedside", *command, "--json"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == (2 if fails else 0), done.stderr
    for line in done.stderr.splitlines():
        assert LINES.search(line), line
    tables = {table["table"]: table["rows"] for table in json.loads(done.stdout)}
    assert tables["scored"][0]["transcripts"] == 1
    said = done.stdout.lower()
    for word in ("read only", "warning", "deepeval", "feedback"):
        assert word not in said
    assert KEY not in done.stdout + done.stderr
    if not fails:
        (row,) = tables["judged"]
        assert (row["input_tokens"], row["output_tokens"]) == (500, 40)
