"""What is said of the size of an install holds where this runs, as far as it is installed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bedside
from bedside.api import installation

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sizes are those on Linux")
def test_the_written_sizes_hold() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "measure_install.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_extra_has_a_size() -> None:
    sizes = json.loads((ROOT / "bedside" / "api" / "extra_sizes.json").read_text("utf-8"))
    assert set(installation.EXTRAS) <= set(sizes)
    assert sizes["local"] > sizes["judge"] > sizes["forms"] > 0
    assert sizes[""] <= 420


def test_the_page_gives_the_same_sizes() -> None:
    sizes = json.loads((ROOT / "bedside" / "api" / "extra_sizes.json").read_text("utf-8"))
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    for name, size in sizes.items():
        assert f"| {f'`{name}`' if name else 'core'} | {size} |" in page


def test_the_doctor_says_the_size_of_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_version", lambda name: None)
    found = {one.what: one for one in bedside.doctor().results if one.group == "extras"}
    assert " MB)" in found["judge"].finding
    assert "MB" not in found["diversity"].finding
