"""Writing files whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bedside.errors import BedsideError, RunError


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that takes its place, synced, when the block ends well.

    Where the block fails, the temporary file is removed and ``target`` stays as it was.

    Raises:
        RunError: the folder can't be written.
    """
    with saying_where(target):
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with saying_where(target):
            sync(temporary)
            os.replace(temporary, target)
            sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def saying_where(path: Path) -> Iterator[None]:
    """Turns the operating system's refusals into a message that names ``path``."""
    try:
        yield
    except BedsideError:
        raise
    except OSError as error:
        raise RunError(
            f"can't be written ({error.strerror or error})", where=str(path), todo="choose another place"
        ) from error


def sync(path: Path) -> None:
    """Have a file's or folder's content on disk before going on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(target: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all."""
    write_bytes(target, text.encode("utf-8"))


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def write_json(target: Path, value: Any) -> None:
    """Write indented JSON, whole or not at all."""
    write_text(target, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
