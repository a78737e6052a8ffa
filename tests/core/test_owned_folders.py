"""A folder that is written again is there whole, as before or anew, also after a kill between its two names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.core.errors import InputError
from bedside.core.owned_folders import replacing_folder

REFUSAL = InputError("something else is there")


def test_a_kill_between_the_two_names_loses_nothing(tmp_path: Path) -> None:
    """What it leaves: the folder before under its hidden name, and none in its place."""
    folder, before = tmp_path / "copy", tmp_path / ".copy.before"
    before.mkdir()
    (before / "kept").write_text("1")
    with pytest.raises(OSError, match="full"), replacing_folder(folder, ours=False, refusal=REFUSAL):
        raise OSError("the disk is full")
    assert [path.name for path in folder.iterdir()] == ["kept"]
    folder.rename(before)
    with replacing_folder(folder, ours=False, refusal=REFUSAL) as new:
        (new / "made").write_text("2")
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert not before.exists()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine").write_text("1")
    with pytest.raises(InputError), replacing_folder(tmp_path / "copy", ours=False, refusal=REFUSAL):
        pass
    assert (tmp_path / "copy" / "mine").read_text() == "1"
