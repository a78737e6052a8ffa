"""Inputs guided by coverage, in processes of their own, seeded with the corpus."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("atheris", reason="atheris has no wheel for this Python", exc_type=ImportError)

from tests.fuzz.test_corpus import CORPUS
from tests.soak import budget

ROOT = Path(__file__).parents[2]
NAMES = ("array-text", "transcripts-jsonl", "transcripts-rows", "transcripts-cells", "rubric", "reply")
#: As long as libFuzzer may go on, and as many inputs as it may take.
SECONDS = budget(2, 12)
INPUTS = budget(10_000, 1_000_000)


@pytest.fixture(scope="module")
def instrumented() -> Iterator[subprocess.Popen[str]]:
    """A process that has the parsers' code changed so that it tells what of it is executed, which takes long."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.atheris_targets"],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.soak_only
@pytest.mark.parametrize("name", NAMES)
def test_no_input_that_coverage_leads_to_fails(name: str, instrumented: subprocess.Popen[str], tmp_path: Path) -> None:
    """libFuzzer adds to the folder what it finds, so it gets a copy."""
    work = tmp_path / "artifacts"
    work.mkdir()
    seeds = tmp_path / "seeds"
    if (CORPUS / name).is_dir():
        shutil.copytree(CORPUS / name, seeds)
    seeds.mkdir(exist_ok=True)
    said = tmp_path / "said"
    arguments = [
        said, name, f"-runs={INPUTS}", f"-max_total_time={SECONDS}", "-seed=1", "-max_len=4096",
        "-rss_limit_mb=4096", "-timeout=30", f"-artifact_prefix={work}/", seeds,
    ]  # fmt: skip
    assert instrumented.stdin is not None
    assert instrumented.stdout is not None
    print(json.dumps([str(word) for word in arguments]), file=instrumented.stdin, flush=True)
    code = instrumented.stdout.readline()
    told = said.read_text("utf-8", "replace")
    artifacts = [f"{path.name}: {path.read_bytes()[:300]!r}" for path in work.iterdir()]
    assert code == "0\n", "\n".join([*artifacts, told[-3000:]])
    assert not artifacts
    assert "Done" in told, told[-2000:]
