"""Registries: what two entries of one name, a misspelt name and a wrong entry come to; entries of other packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.core.errors import RegistryError
from bedside.core.registry import DataRegistry, Registry
from tests.core.packages import install_package

GROUP = "bedside.colours"


def _colours(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> Registry[str]:
    """A registry of a new package's modules."""
    package = f"colours_{folder.name}"
    (folder / package).mkdir()
    (folder / package / "__init__.py").touch()
    for name, text in modules.items():
        (folder / package / f"{name}.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(folder)
    return Registry(package, "COLOUR", "colour", str, group=GROUP)


def test_a_file_is_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    colours = _colours(tmp_path, monkeypatch, red="COLOUR = '#f00'\n", _shade="", green="COLOUR = '#0f0'\n")
    assert colours.names() == ("green", "red")
    assert colours.load("red") == "#f00"
    assert "red" in colours
    assert "_shade" not in colours


def test_other_packages_add_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    colours = _colours(tmp_path, monkeypatch, red="COLOUR = '#f00'\n")
    install_package(tmp_path, monkeypatch, "paints", "BLUE = '#00f'\n", {GROUP: {"blue": "paints:BLUE"}})
    assert colours.all() == {"blue": "#00f", "red": "#f00"}


def test_two_entries_of_one_name_are_refused_with_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    colours = _colours(tmp_path, monkeypatch, red="COLOUR = '#f00'\n")
    file = install_package(tmp_path, monkeypatch, "paints", "RED = '#e00'\n", {GROUP: {"red": "paints:RED"}})
    with pytest.raises(RegistryError) as caught:
        colours.names()
    own = tmp_path / colours.package / "red.py"
    assert str(caught.value) == (
        f"colour registry: two entries are called 'red': {own} and {file}; rename or uninstall one of them"
    )


def test_two_data_files_of_one_name_are_refused_with_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = _colours(tmp_path, monkeypatch).package
    (tmp_path / package / "red.txt").write_text("#f00", "utf-8")
    colours = DataRegistry(package, ".txt", "colour", str, Path.read_text, group=GROUP)
    assert colours.load("red") == "#f00"
    file = install_package(tmp_path, monkeypatch, "paints", "RED = ''\n", {GROUP: {"red": "paints:RED"}})
    colours = DataRegistry(package, ".txt", "colour", str, Path.read_text, group=GROUP)
    with pytest.raises(RegistryError) as caught:
        colours.names()
    assert f"'red': {tmp_path / package / 'red.txt'} and {file}; " in str(caught.value)


def test_a_misspelt_name_is_answered_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    colours = _colours(tmp_path, monkeypatch, red="", green="", yellow="")
    with pytest.raises(RegistryError) as caught:
        colours.load("grene")
    assert str(caught.value) == "there is no colour 'grene'; did you mean green or red?"
    with pytest.raises(RegistryError, match="'x'; known: green, red, yellow"):
        colours.load("x")


def test_a_wrong_entry_says_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    colours = _colours(tmp_path, monkeypatch, red="COLOUR = 3\n")
    with pytest.raises(RegistryError) as caught:
        colours.load("red")
    file = tmp_path / colours.package / "red.py"
    assert str(caught.value) == f"{file}: colour 'red' does not define a str; set COLOUR to one"
