"""The tutorial notebook runs whole, and shows what is stored in it."""

from __future__ import annotations

import importlib.util
import math
import re
import socket
from pathlib import Path
from typing import Any, cast

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
_TOOL = importlib.util.spec_from_file_location("make_tutorial", ROOT / "tools" / "make_tutorial.py")
assert _TOOL is not None
assert _TOOL.loader is not None
make_tutorial = importlib.util.module_from_spec(_TOOL)
_TOOL.loader.exec_module(make_tutorial)


def stored() -> Any:
    return cast(Any, nbformat).read(make_tutorial.TUTORIAL, as_version=4)


def shown(cell: Any) -> dict[str, str]:
    """What a cell shows as text, by its kind."""
    found: dict[str, str] = {}
    for output in cell.get("outputs", []):
        kinds = {output["name"]: output["text"]} if output["output_type"] == "stream" else output["data"]
        found |= {kind: text for kind, text in kinds.items() if not kind.startswith("image/")}
    return found


def parts(text: str) -> tuple[str, list[float]]:
    """The text without its numbers, and the numbers."""
    number = r"\d+(?:\.\d+)?|\.\d+"
    return re.sub(number, "#", text), [float(found) for found in re.findall(number, text)]


@pytest.mark.slow
def test_it_runs_whole_and_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, notebook = stored(), stored()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    made = make_tutorial.executed(notebook)
    assert len(made.cells) == len(kept.cells)
    for new, old in zip(made.cells, kept.cells, strict=True):
        assert shown(new).keys() == shown(old).keys(), new.source
        for kind, text in shown(new).items():
            (words, numbers), (old_words, old_numbers) = parts(text), parts(shown(old)[kind])
            assert words == old_words, new.source
            assert all(
                math.isclose(a, b, rel_tol=1e-3, abs_tol=0.011) for a, b in zip(numbers, old_numbers, strict=True)
            ), new.source
        assert new.get("execution_count") == old.get("execution_count")


def test_it_tells_nothing_of_where_it_ran() -> None:
    text = make_tutorial.TUTORIAL.read_text("utf-8")
    for place in (str(ROOT), str(Path.home()), "/tmp", "/home/", "/root", "/Users/", socket.gethostname()):
        assert place not in re.sub(r'"image/png": "[^"]*"', "", text), place
    notebook = stored()
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata.language_info) == {"name"}
    for cell in notebook.cells:
        assert cell.metadata == {}
        assert all(output.output_type != "error" for output in cell.get("outputs", []))


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md"])
def test_pages_lead_to_it(page: str) -> None:
    assert "tutorial.ipynb" in (ROOT / page).read_text("utf-8")


def test_its_links_lead_somewhere() -> None:
    for cell in stored().cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#]+)\)", cell.source):
                assert (make_tutorial.TUTORIAL.parent / target).exists(), target
