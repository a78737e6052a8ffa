"""A folder is a registry: a file's name is its entry's name, and a listing opens nothing.

Entries are modules or folders that define an object, or data files that are parsed. Other packages add entries
through entry points of the registry's group, such as ``bedside.readers``: a module entry's point names the object, a
data entry's the path of its file.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Generic, TypeVar

from bedside.core.errors import RegistryError, one_of

T = TypeVar("T")


def entry_points(group: str) -> Iterable[EntryPoint]:
    """What other packages add to a group."""
    points: Iterable[EntryPoint] = _points(tuple(sys.path)).select(group=group)
    return points


@lru_cache(maxsize=1)
def _points(path: tuple[str, ...]) -> Any:
    # To look through all that is installed takes longer than all else that a registry does.
    return importlib.metadata.entry_points()


class Registry(Generic[T]):
    """The entries of one folder of modules, by file name.

    Args:
        package: dotted name of the folder, e.g. ``"bedside.metrics"``; also the entry-point group
            unless ``group`` is given.
        attribute: the module-level name that holds the entry, e.g. ``"FAMILY"``.
        noun: what an entry is called in messages, e.g. ``"metric family"``.
        kind: the class an entry must be an instance of.
        group: entry-point group that other packages use.
        folders: whether each entry is a folder with an ``__init__.py``, and modules beside them are no entries. An
            entry is called like its folder, with a hyphen where that has an underscore.

    Modules whose name begins with an underscore are no entries.
    """

    def __init__(
        self, package: str, attribute: str, noun: str, kind: type[T], *, group: str | None = None, folders: bool = False
    ) -> None:
        self.package = package
        self.attribute = attribute
        self.noun = noun
        self.kind = kind
        self.group: str = group or package
        self.suffix = ".py"
        self._folders = folders
        self._loaded: dict[str, T] = {}
        self._places: dict[str, str | EntryPoint] | None = None

    def _folder(self) -> Path:
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise RegistryError(f"package {self.package} is not installed")
        return Path(next(iter(spec.submodule_search_locations)))

    def _entry_paths(self) -> Iterator[Path]:
        """The entries' files, or their folders."""
        if self._folders:
            return (path.parent for path in self._folder().glob("*/__init__.py"))
        return self._folder().glob(f"*{self.suffix}")

    def _index(self) -> dict[str, str | EntryPoint]:
        if self._places is not None:
            return self._places
        places: dict[str, str | EntryPoint] = {
            self._name(path): self._place(path) for path in sorted(self._entry_paths()) if not path.stem.startswith("_")
        }
        for point in entry_points(group=self.group):
            if point.name in places:
                files = f"{self._file(places[point.name])} and {self._file(point)}"
                raise RegistryError(
                    f"two entries are called {point.name!r}: {files}",
                    where=f"{self.noun} registry",
                    todo="rename or uninstall one of them",
                )
            places[point.name] = point
        self._places = places
        return places

    def _name(self, path: Path) -> str:
        return path.stem.replace("_", "-") if self._folders else path.stem

    def _place(self, path: Path) -> str:
        return f"{self.package}.{path.stem}"

    def _file(self, place: str | EntryPoint) -> str:
        """The file of an entry, or of the module that another package names for it; that module is not imported."""
        module = place if isinstance(place, str) else place.module
        try:
            spec = importlib.util.find_spec(module)
        except ImportError:
            spec = None
        return module if spec is None or spec.origin is None else spec.origin

    def _open(self, place: str | EntryPoint) -> object:
        if isinstance(place, str):
            return getattr(importlib.import_module(place), self.attribute, None)
        return place.load()

    def names(self) -> tuple[str, ...]:
        """Names of all entries, sorted, without importing any."""
        return tuple(sorted(self._index()))

    def __contains__(self, name: object) -> bool:
        return name in self._index()

    def load(self, name: str) -> T:
        """The entry called ``name``.

        Raises:
            RegistryError: there is none (the nearest names are given), or it is not of the right kind.
        """
        if name in self._loaded:
            return self._loaded[name]
        places = self._index()
        one_of(name, places, self.noun, RegistryError)
        place = places[name]
        entry = self._open(place)
        if not isinstance(entry, self.kind):
            raise RegistryError(
                f"{self.noun} {name!r} does not define a {self.kind.__name__}",
                where=self._file(place),
                todo=f"set {self.attribute} to one",
            )
        self._loaded[name] = entry
        return entry

    def all(self) -> dict[str, T]:
        """Every entry by name; this imports them all."""
        return {name: self.load(name) for name in self.names()}


class DataRegistry(Registry[T]):
    """The entries of one folder of data files, by file name.

    Args:
        package: dotted name of the folder.
        suffix: the files' ending, e.g. ``.yaml``.
        noun: what an entry is called in messages.
        kind: the class of an entry.
        parse: makes an entry of a file's path.
        group: entry-point group that other packages use.
    """

    def __init__(
        self,
        package: str,
        suffix: str,
        noun: str,
        kind: type[T],
        parse: Callable[[Path], T],
        *,
        group: str | None = None,
    ) -> None:
        super().__init__(package, "", noun, kind, group=group)
        self.suffix = suffix
        self._parse = parse

    def _place(self, path: Path) -> str:
        return str(path)

    def _file(self, place: str | EntryPoint) -> str:
        return place if isinstance(place, str) else super()._file(place)

    def _open(self, place: str | EntryPoint) -> object:
        return self._parse(Path(place if isinstance(place, str) else place.load()))

    def find(self, name_or_path: str) -> T:
        """The entry of this name, or of a file of the user's own given by its path."""
        if name_or_path.endswith(self.suffix):
            return self._parse(Path(name_or_path))
        return self.load(name_or_path)
