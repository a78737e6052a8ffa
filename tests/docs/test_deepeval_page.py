"""The page on deepeval: its tests pass, its criterion is one, and it lists the metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bedside.judges.deepeval_raters.catalogue import KINDS
from bedside.judges.deepeval_raters.chosen_metrics import criterion_file
from tests.installed import need
from tests.judges.deepeval_replies import reply
from tests.judges.llm.server import Action, JudgeServer

need("deepeval")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deepeval.md").read_text("utf-8")

MODELS = """
from deepeval.models import DeepEvalBaseLLM
from tests.docs.test_deepeval_page import kind_reply

judge = "JUDGE"


class Scripted(DeepEvalBaseLLM):
    def load_model(self):
        return self

    def get_model_name(self):
        return "scripted"

    def generate(self, prompt, schema=None):
        text = kind_reply(prompt, None if schema is None else schema.model_json_schema())
        return text if schema is None else schema.model_validate_json(text)

    async def a_generate(self, prompt, schema=None):
        return self.generate(prompt, schema)


model = Scripted()
"""


def kind_reply(prompt: str, schema: dict[str, Any] | None) -> str:
    """A reply that finds everything good."""
    answer = reply(prompt, schema)
    if schema is None:
        return answer
    filled = json.loads(answer)
    if "enum" in schema["properties"].get("score", {}):
        filled["score"] = 5
    return json.dumps({**filled, **({"verdict": "yes"} if "verdict" in filled else {})})


def _block(language: str, title: str) -> str:
    (block,) = re.findall(rf"```{language}\n# {re.escape(title)}\n(.*?)```", PAGE, flags=re.DOTALL)
    return str(block)


def test_all_metrics_are_listed() -> None:
    listed = set(re.findall(r"deepeval:([a-z_]+)`", PAGE.partition("## What there is")[2].partition("##")[0]))
    assert listed == {*KINDS}


def test_the_criterion_is_one(tmp_path: Path) -> None:
    file = tmp_path / "warmth.yaml"
    file.write_text(_block("yaml", "warmth.yaml"), "utf-8")
    assert criterion_file(file).name == "warmth"


@pytest.mark.server
@pytest.mark.slow
def test_the_tests_pass(tmp_path: Path) -> None:
    turns = [
        {"role": role, "content": text} for role, text in (("user", "I sleep badly."), ("assistant", "Since when?")) * 2
    ]
    (tmp_path / "talks.json").write_text(json.dumps([{"name": f"t{n}", "turns": turns} for n in range(4)]))
    (tmp_path / "test_talks.py").write_text(_block("python", "test_talks.py"), "utf-8")
    with JudgeServer(lambda request, number: Action(text=kind_reply(request.prompt, request.schema))) as server:
        (tmp_path / "my_models.py").write_text(MODELS.replace("JUDGE", server.judge))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_talks.py"],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{tmp_path}", "HOME": str(tmp_path),
                 "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_FILE_SYSTEM": "READ_ONLY"},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
