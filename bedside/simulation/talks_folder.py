"""The folder of a simulation, read: what became of its conversations, and what stands behind one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import RunError
from bedside.transcripts.simulation_folder import FAILED


def read_failures(folder: Path) -> Iterator[dict[str, Any]]:
    """Why conversations aren't among the transcripts, an object each.

    Raises:
        RunError: the folder is no simulation's, or the file is damaged.
    """
    path = folder / FAILED
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    raise RunError(f"not JSON ({error.msg})", where=f"{path}:{number}") from error
    except OSError as error:
        raise RunError(
            f"can't be read ({error.strerror})", where=str(path), todo="name a simulation's folder"
        ) from error
