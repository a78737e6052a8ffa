"""The folder of a simulation, read: what became of its conversations, and what stands behind one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bedside.core.files import read_json_lines
from bedside.transcripts.simulation_folder import FAILED


def read_failures(folder: Path) -> Iterator[dict[str, Any]]:
    """Why conversations aren't among the transcripts, an object each.

    Raises:
        RunError: the folder is no simulation's, or the file is damaged.
    """
    lines = read_json_lines(folder / FAILED, "list of what failed", todo="name a simulation's folder")
    return (failure for _, failure in lines)
