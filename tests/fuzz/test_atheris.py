"""Inputs guided by coverage, in processes of their own, seeded with the corpus."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_no_input_that_coverage_leads_to_fails(name: str, tmp_path: Path) -> None:
    """libFuzzer adds to the folder what it finds, so it gets a copy."""
    seeds = tmp_path / "seeds"
    if (CORPUS / name).is_dir():
        shutil.copytree(CORPUS / name, seeds)
    seeds.mkdir(exist_ok=True)
    command = [
        sys.executable, "-m", "tests.fuzz.atheris_targets", name, f"-runs={INPUTS}", f"-max_total_time={SECONDS}",
        "-seed=1",
        "-max_len=4096", "-rss_limit_mb=4096", "-timeout=30", f"-artifact_prefix={tmp_path}/", str(seeds),
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300 + SECONDS,
        errors="replace",
    )
    artifacts = [f"{path.name}: {path.read_bytes()[:300]!r}" for path in tmp_path.iterdir() if path.is_file()]
    assert ran.returncode == 0, "\n".join([*artifacts, ran.stdout[-3000:], ran.stderr[-3000:]])
    assert not artifacts
    assert "Done" in ran.stderr, ran.stderr[-2000:]
