"""The environment of a server of one's own: what is half installed is not taken for whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.annotation import label_studio_server
from bedside.core.errors import LabelStudioError


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache folder of one's own, and a package index that can't be reached. Where the environment would be."""
    monkeypatch.delenv(label_studio_server.ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return label_studio_server.environment_folder()


def put_program(environment: Path) -> Path:
    program = environment / "bin" / "label-studio"
    program.parent.mkdir(parents=True)
    program.touch()
    return program


@pytest.mark.slow
def test_an_interrupted_install_is_begun_again_and_one_that_fails_leaves_nothing(no_index: Path) -> None:
    put_program(no_index)
    said: list[str] = []
    with pytest.raises(LabelStudioError, match="can't be installed") as failed:
        label_studio_server.ensure_environment(say=said.append)
    assert "\n" not in str(failed.value)
    assert label_studio_server.VERSION in said[0]
    assert not no_index.exists()


def test_a_finished_install_is_used(no_index: Path) -> None:
    program = put_program(no_index)
    (no_index / ".complete").touch()
    assert label_studio_server.ensure_environment() == program


def test_an_environment_of_ones_own_is_never_written_to(no_index: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").touch()
    with pytest.raises(LabelStudioError, match="has no Label Studio"):
        label_studio_server.ensure_environment(mine)
    assert list(mine.iterdir()) == [mine / "precious"]
    (mine / "bin").mkdir()
    (mine / "bin" / "label-studio").touch()
    assert label_studio_server.ensure_environment(mine) == mine / "bin" / "label-studio"
