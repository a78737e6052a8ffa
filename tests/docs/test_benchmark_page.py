"""The page on benchmarks: its commands and its Python are run as they stand there, with a real server on loopback."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import Call
from tests.docs.test_simulate_page import speaking
from tests.judges.llm.server import JudgeServer

PAGE = (Path(__file__).parents[2] / "docs" / "benchmark.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.server
def test_everything_on_it_runs(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], undrawn: None
) -> None:
    with JudgeServer(speaking) as server:
        address = server.judge.rpartition("#")[0]
        for line in "".join(blocks("console")).splitlines():
            program, *words = shlex.split(line.removeprefix("$ ").replace("openai/", f"{address}#"))
            assert program == "bedside"
            code, out, err = call(*words)
            assert code == 0, f"{line}\n{err}"
            if "--dry-run" in line:
                assert out.startswith("Nothing was asked.")
            else:
                assert "Rank" in out
    for folder in ("bench", "trial"):
        assert (tmp_path / folder / "run/report/report.html").is_file()
    monkeypatch.chdir(tmp_path)
    (python,) = blocks("python")
    exec(compile(python, "benchmark.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1].startswith("True ")
