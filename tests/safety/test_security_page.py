"""The page on security names tests that are there, and each of its threats has one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_is_named_is_there() -> None:
    named = _TEST.findall(PAGE)
    assert named
    absent = []
    for file, name in named:
        path = ROOT / file
        functions = (
            {node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)}
            if path.is_file()
            else set()
        )
        if name not in functions:
            absent.append(f"{file}::{name}")
    assert absent == []


def test_every_row_has_a_test_or_says_that_it_has_none() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    without = [row for row in rows if not _TEST.search(row) and not re.search(r"\| (tests|–) \|$", row)]
    assert without == []


def test_every_file_of_tests_of_safety_is_on_the_page() -> None:
    """What holds a promise is to be found from the promise."""
    elsewhere = {"test_dependencies.py", "test_no_text.py", "test_security_page.py"}  # licences; privacy.md; this one
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")} - elsewhere
    assert {name for name in files if f"tests/safety/{name}" not in PAGE} == set()
