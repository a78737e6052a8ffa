"""Packages as they are installed beside bedside, which add entries to its registries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def install_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, entries: Mapping[str, Mapping[str, str]]
) -> Path:
    """The file of a new installed module.

    Args:
        folder: where it lies; it is looked at for as long as the test runs.
        name: of the module and its distribution.
        text: what the module says.
        entries: by group and name, what each entry point names, such as ``paints:BLUE``.
    """
    file = folder / f"{name}.py"
    file.write_text(text, "utf-8")
    distribution = folder / f"{name}-1.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n", "utf-8")
    lines = [line for group, points in entries.items()
             for line in (f"[{group}]", *(f"{entry} = {place}" for entry, place in points.items()))]  # fmt: skip
    (distribution / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    monkeypatch.syspath_prepend(folder)
    # Else a later test would find the module that this one has loaded.
    monkeypatch.delitem(sys.modules, name, raising=False)
    return file
