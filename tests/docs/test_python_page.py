"""What the page on Python shows is run, in its order, by one process; the judge is a real server on loopback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import bedside
from tests.judges.llm.server import JudgeServer

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.server
def test_its_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.+?)^```", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    with JudgeServer() as server:
        for block in blocks:
            exec(compile(block.replace("openai/gpt-5-mini", server.judge), PAGE, "exec"), names)
        # Two rubrics, asked twice; conversations of the same words are the same question.
        assert len(server.received) == 2 * 2 * 2
    line = r"Run\('run': 6 transcripts, [\d,]+ ratings on \d+ metrics by 1 judge, \d algorithms\)"
    assert re.fullmatch(line, repr(names["run"]))
    assert names["judged"].complete
    assert (tmp_path / "points.pdf").read_bytes().startswith(b"%PDF")


def test_it_names_every_function() -> None:
    told = set(re.findall(r"`(\w+)", PAGE.read_text("utf-8")))
    others = {"EXAMPLES", "ReadOptions", "__version__", "read_run", "from_convokit", "to_convokit", "Run"}
    assert set(bedside.__all__) - others <= told | {"BedsideError", "Transcript", "Turn"}
