"""What a user's script says is checked by the user's type checker: names of tests and weights, and what comes back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import bedside
import pandas as pd
import polars as pl
from bedside.analysis.agreement import Agreement
from bedside.analysis.comparison import Comparison

summary = bedside.score("talks/", "run", metrics="structure")
judged = bedside.judge(summary.run, "openai/gpt-5-mini", rubrics=["empathy"], passes=3, order="rubric-first")
run: bedside.Run = judged.run
agreements: tuple[Agreement, ...] = bedside.agree(run, metrics="empathy", weights="linear").results
compared = bedside.compare(run, systems={"a", "b"}, test="permutation", correction="bh")
pairs: tuple[Comparison, ...] = compared.results.pairs
frame: pl.DataFrame = bedside.agree(pd.DataFrame()).to_polars()
table: pd.DataFrame = bedside.agree(frame)["agreement"].to_pandas()
kappa: float | None = bedside.stats.two_raters.kappa([1], [1]).estimate
bedside.figure(run, "points").save("points.svg")
bedside.score([transcript for transcript in bedside.read_transcripts("talks/")], "run")
bedside.compare(run, test="wilcoxn")  # wrong
bedside.compare(run, family="metrics")  # wrong
bedside.compare(run, correction="fdr")  # wrong
bedside.agree(run, weights="cubic")  # wrong
bedside.validate(run, weights=2)  # wrong
bedside.judge(run, "openai/gpt-5-mini", order="x")  # wrong
bedside.score(3, "run")  # wrong
bedside.agree(run).index  # wrong
bedside.agreee(run)  # wrong
bedside.stats.two_rater  # wrong
"""


@pytest.mark.slow
def test_a_script_is_checked_strictly(tmp_path: Path) -> None:
    """With the settings (strict) and the cache that the package itself is checked with."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-color-output", script],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = {int(line.removeprefix(f"{script}:").partition(":")[0]) for line in done.stdout.splitlines()[:-1]}
    wrong = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")}
    assert told == wrong, done.stdout + done.stderr
    assert (ROOT / "bedside" / "py.typed").is_file()
