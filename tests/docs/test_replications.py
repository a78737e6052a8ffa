"""Published figures come out, or differ for the reason given."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from replications.__main__ import figures, sources
from tests.conftest import DATA

PAGE = Path(__file__).resolve().parents[2] / "docs" / "replications.md"


@pytest.mark.slow
@pytest.mark.parametrize("source", sources(), ids=lambda source: source.__name__.rpartition(".")[2])
def test_published_figures_come_out_or_differ_for_a_reason(source: ModuleType, tmp_path: Path) -> None:
    needs = getattr(source, "NEEDS", None)
    if needs is not None and not (DATA / needs).exists():
        pytest.skip(f"the data are not beside the project ({DATA / needs})")
    found = figures(source, DATA, tmp_path)
    text = PAGE.read_text("utf-8")
    for one in found:
        assert one.agrees or one.why, f"{one.what}: published {one.published}, here {one.shown}"
        assert f"| {one.what} | {one.published} | {one.shown} |" in text, f"docs/replications.md is stale: {one.what}"
