"""Rubric files: strict YAML, read from the shipped folder, from other packages and from a user's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bedside.core.errors import RegistryError
from bedside.core.registry import DataRegistry
from bedside.core.yaml_files import keys_and_values
from bedside.judges.rubrics.file_faults import key_faults
from bedside.judges.rubrics.linter import Remark, check
from bedside.judges.rubrics.rubric import Rubric, read
from bedside.judges.rubrics.translations import translate, translated, translations_of

SUFFIX = ".yaml"


def check_file(path: Path) -> tuple[Rubric | None, tuple[Remark, ...]]:
    """Read a rubric file and say everything that is wrong with it, errors first.

    Returns:
        The rubric, or None where errors keep the file from being one, and the remarks.
    """
    try:
        data = keys_and_values(path, "rubric file", "the docs on rubrics")
    except RegistryError as error:
        line = str(error.where).removeprefix(str(path)).removeprefix(":")
        return None, (Remark("error", f"line {line}" if line else "the file", " ".join(error.what.split())),)
    rubric, remarks = examine_entries(data, path)
    if rubric is not None:
        remarks += tuple(_translation_remarks(rubric, path))
    return rubric, tuple(sorted(remarks, key=lambda remark: remark.severity))


def _translation_remarks(rubric: Rubric, path: Path) -> Iterator[Remark]:
    """What is wrong with the translations that stand beside a rubric."""
    for language, beside in translations_of(path):
        place = f"{language}/{beside.name}"
        try:
            _, remarks = translate(
                rubric, keys_and_values(beside, "translation", "the docs on languages"), language
            )
        except RegistryError as error:
            yield Remark("error", place, " ".join(error.what.split()))
            continue
        for remark in remarks:
            yield Remark(remark.severity, f"{place}: {remark.key}", remark.text)


def examine_entries(data: dict[str, Any], path: Path) -> tuple[Rubric | None, tuple[Remark, ...]]:
    try:
        rubric = read(data)
    except ValidationError as error:
        # An unknown key may be the missing one misspelt.
        faults = sorted(key_faults(error), key=lambda fault: fault[1] == "missing")
        return None, tuple(_remark(*fault) for fault in faults)
    remarks = check(rubric)
    # A tuned rubric keeps its name, which is that of the metric; its file can't be called like that of the other.
    if rubric.name != path.stem and not rubric.tuned:
        text = f"the rubric calls itself {rubric.name!r} and its file {path.stem!r}; give both one name"
        remarks = (Remark("error", "name", text), *remarks)
    return rubric, remarks


def _remark(key: str, kind: str, message: str) -> Remark:
    if kind == "value_error" and ": " in message:
        # Checks of several keys together begin with the key they are about.
        inner, _, message = message.partition(": ")
        key = f"{key}.{inner}" if key else inner
    return Remark("error", key or "the file", message)


def parse_rubric(path: Path) -> Rubric:
    """Read a rubric file.

    Raises:
        RegistryError: it can't be read, isn't plain YAML, has an unknown, missing or wrong key, or an error that the
            linter finds: one line that names file and key. Warnings don't refuse it.
    """
    rubric, remarks = examine_entries(keys_and_values(path, "rubric file", "the docs on rubrics"), path)
    errors = [remark for remark in remarks if remark.severity == "error"]
    if rubric is None or errors:
        first, more = errors[0], f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise RegistryError(f"{first.key}: {first.text}{more}", where=str(path))
    return rubric


class RubricRegistry(DataRegistry[Rubric]):
    """The shipped rubrics, those of other packages (entry points ``bedside.rubrics``), and those of a user's folder.

    Args:
        folder: the user's folder; its files end in ``.yaml`` and are named after their rubrics.

    A name has one meaning: a rubric of the user's that is called like another one is refused, so that a table
    can't mix two of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(
            "bedside.judges.rubrics.shipped", SUFFIX, "rubric", Rubric, parse_rubric, group="bedside.rubrics"
        )
        self._own = folder
        self._all: dict[str, str | EntryPoint] | None = None

    def find_in(self, name_or_path: str, language: str | None) -> Rubric:
        """As :meth:`find`, in a language; in its own where that is None.

        Raises:
            InputError: there are no words of prompts in that language.
            RegistryError: as :meth:`find`, or the rubric has no texts in the language.
        """
        rubric = self.find(name_or_path)
        if language is None:
            return rubric
        return translated(rubric, self.path(name_or_path), language)

    def path(self, name_or_path: str) -> Path:
        """The file of a rubric."""
        if name_or_path.endswith(self.suffix):
            return Path(name_or_path)
        place = self._index()[name_or_path]
        return Path(place if isinstance(place, str) else place.load())

    def _index(self) -> dict[str, str | EntryPoint]:
        if self._all is None:
            places = {**super()._index()}
            for path in self._own_files():
                if path.stem in places:
                    other = places[path.stem]
                    other = other if isinstance(other, str) else other.value
                    raise RegistryError(
                        f"two rubrics are called {path.stem!r}: {other} and {path}", todo="rename your own"
                    )
                places[path.stem] = str(path)
            self._all = places
        return self._all

    def _own_files(self) -> list[Path]:
        if self._own is None:
            return []
        if not self._own.is_dir():
            raise RegistryError(
                "there is no such folder of rubrics", where=str(self._own), todo="check its path"
            )
        paths = [path for path in sorted(self._own.iterdir()) if not path.name.startswith(("_", "."))]
        for path in paths:
            if path.suffix == ".yml":
                raise RegistryError(
                    "a rubric file ends in .yaml", where=str(path), todo=f"call it {path.stem}{SUFFIX}"
                )
        return [path for path in paths if path.suffix == SUFFIX]


RUBRICS = RubricRegistry()
"""The rubrics that ship with bedside or come with other packages."""


def rubrics_with(folder: Path | None) -> RubricRegistry:
    """The registry that also knows the rubrics of the user's ``folder``."""
    return RUBRICS if folder is None else RubricRegistry(folder)


def find_rubric(name_or_path: str, folder: Path | None = None, language: str | None = None) -> Rubric:
    """A rubric by name (shipped, of another package, or of the user's ``folder``), or by the path of its file.

    Args:
        name_or_path: the name, or the path.
        folder: the user's folder.
        language: the language of its texts, such as ``de``; the rubric's own by default.

    Raises:
        InputError: there are no words of prompts in that language.
        RegistryError: there is none of this name (the nearest are given), two have it, the file is no rubric, or it has
            no texts in the language.
    """
    return rubrics_with(folder).find_in(name_or_path, language)
