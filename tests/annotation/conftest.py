"""A run to annotate, made once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bedside.ratings.run import Run
from tests.annotation.study import new_study


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_study(tmp_path_factory.mktemp("study")).path


@pytest.fixture
def run(study_folder: Path, tmp_path: Path) -> Run:
    return Run(shutil.copytree(study_folder, tmp_path / "run"))


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """40 cases of two systems; nothing may be changed in it."""
    return new_study(tmp_path_factory.mktemp("large"), cases=40)
