"""Folders that a command writes whole, and writes again only where it wrote them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bedside.core.errors import BedsideError
from bedside.core.files import making, saying_where


@contextmanager
def replacing_folder(folder: Path, *, ours: bool, refusal: BedsideError) -> Iterator[Path]:
    """An empty folder that takes the place of ``folder`` when the block ends well; else that stays as it was.

    Args:
        folder: the folder; of a link, what it leads to.
        ours: whether what is there now may be replaced.
        refusal: raised where something else is there.

    Raises:
        RunError: the folder can't be written, or another process is writing it.
    """
    target = Path(os.path.realpath(folder))
    if not ours and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise refusal
    before = target.with_name(f".{target.name}.before")
    with saying_where(target):
        if lost := before.is_dir() and not target.exists():  # a process was killed between the two names
            os.replace(before, target)
        shutil.rmtree(before, ignore_errors=True)
    try:
        with making(target) as new:
            yield new
            if ours or lost:
                os.replace(target, before)
    except BaseException:
        if before.is_dir() and not target.exists():
            os.replace(before, target)
        raise
    shutil.rmtree(before, ignore_errors=True)
