"""Plans of annotation and what raters answered to them, taken over into a merged run.

They say there how people rated. A plan is of the run that it was drawn from: answers are collected in that run, and it
is merged again then.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bedside.annotation.answer_store import FOLDER, STORE
from bedside.core.errors import RunError
from bedside.core.files import make_folder, saying_where, sync
from bedside.ratings.run import Run


def take_plans(folder: Path, runs: Sequence[Run]) -> None:
    """Copy the plans and answers of runs into a merged run's folder.

    Answers to one plan that stand in several runs are there once; where one run has those of another and more, they are
    the later ones.

    Raises:
        RunError: two runs have different answers to one plan.
    """
    for run in runs:
        for file in sorted((run.path / FOLDER).glob("*/*")):
            if not file.is_file() or file.name.startswith("."):
                continue
            target = folder / FOLDER / file.parent.name / file.name
            with saying_where(target):
                make_folder(target.parent)
                if not _is_newer(file, target):
                    continue
                shutil.copyfile(file, target)
                target.chmod(0o600)
                sync(target)


def _is_newer(file: Path, target: Path) -> bool:
    """Whether a file is to be taken over.

    Raises:
        RunError: another run has another one in its place.
    """
    if not target.is_file():
        return True
    own, there = file.read_bytes(), target.read_bytes()
    if file.name == STORE and (own.startswith(there) or there.startswith(own)):
        return len(own) > len(there)
    if own == there:
        return False
    raise RunError(
        f"another of the runs holds something else of the plan {file.parent.name}",
        where=str(file),
        todo="collect all raters' answers in one of the runs, and remove the plan's folder from the other",
    )
