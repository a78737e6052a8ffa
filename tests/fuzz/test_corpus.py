"""Inputs that once failed, and those known to be nasty: each is taken as any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.drive import feed
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed(path: Path, folder: Path) -> None:
    feed(TARGETS[path.parent.name], folder, path.read_bytes())


def test_every_folder_is_of_a_target() -> None:
    assert {path.parent.name for path in INPUTS} <= TARGETS.keys()
