"""What a file's path says, also as Windows writes paths."""

from __future__ import annotations

import ntpath
import os
from pathlib import Path

import pytest

from bedside.transcripts.reading import common_folder


def test_files_have_the_folder_in_common_that_they_lie_below(tmp_path: Path) -> None:
    assert common_folder([tmp_path / "a" / "x.csv", tmp_path / "a" / "b" / "y.csv"]) == str(tmp_path / "a")


def test_files_on_several_drives_have_none_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "path", ntpath)
    assert common_folder([r"C:\study\a.csv", r"C:\study\more\b.csv"]) == r"C:\study"
    assert common_folder([r"C:\study\a.csv", r"D:\b.csv"]) == ""
    assert common_folder([r"C:\study\a.csv", r"\\server\share\b.csv"]) == ""
