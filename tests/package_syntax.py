"""The package's modules as Python reads them, parsed and walked once for all tests of a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "bedside"


@cache
def modules() -> tuple[Path, ...]:
    """The files of all modules, in order."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module, the outer ones first."""
    return tuple(ast.walk(syntax(path)))


@cache
def names(path: Path) -> tuple[tuple[str, int], ...]:
    """Each name that a module uses or takes as a parameter, with its line."""
    return tuple(
        (node.id if isinstance(node, ast.Name) else node.arg, node.lineno)
        for node in nodes(path)
        if isinstance(node, ast.Name | ast.arg)
    )
