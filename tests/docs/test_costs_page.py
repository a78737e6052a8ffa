"""The dry run that the page on costs prints is the one that the command makes, and its arithmetic holds."""

from __future__ import annotations

import io
import re
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from bedside.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "costs.md").read_text("utf-8")


@pytest.mark.slow
def test_the_dry_run_is_the_one_that_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp", reason="judges need bedside[judge]")
    monkeypatch.setenv("COLUMNS", "120")
    shutil.copy(ROOT / "bedside" / "examples" / "transcripts.jsonl", tmp_path)
    block = re.search(r"```text\n\$ bedside (.+)\n((?:.|\n)+?)\n```", PAGE)
    assert block is not None
    # The price is stated, as another deepeval's tables may have another.
    words = [*block[1].split(), "--price", "in=0.25,out=2"]
    printed, aside = io.StringIO(), io.StringIO()
    with chdir(tmp_path), redirect_stdout(printed), redirect_stderr(aside), suppress(SystemExit):
        main(words)
    shown = (printed.getvalue() + aside.getvalue()).split()
    assert not (tmp_path / "run").exists()
    rows = [line.split() for line in block[2].splitlines() if line.strip() and "─" not in line]
    for row in rows:
        assert " ".join(row) in " ".join(shown), row


def test_the_sum_is_tokens_times_price() -> None:
    calls, tokens = re.search(r"^(\d+) calls, about ([\d,]+) tokens in; cost \$0\.20", PAGE, re.MULTILINE).groups()  # type: ignore[union-attr]
    million = int(tokens.replace(",", "")) / 1e6
    assert f"Here {million:g} million tokens in at $0.25 are ${million * 0.25:.2f}" in PAGE
    replies = int(calls) * 135 / 1e6
    assert f"and {replies:g} million out at $2 are ${replies * 2:.2f}: $0.20 together" in PAGE
    assert round(million * 0.25 + replies * 2, 2) == 0.20
