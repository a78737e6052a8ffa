"""A folder is a registry: a file's name is its entry's name, and a listing imports nothing.

Other packages add entries through entry points of the registry's group (``bedside.metrics``,
``bedside.readers``, ``bedside.suites``, ``bedside.tables``).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Generic, TypeVar

from bedside.errors import RegistryError

T = TypeVar("T")


def nearest(name: str, known: Iterable[str]) -> str:
    """What to say of a misspelt ``name``: the closest of ``known``, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if names else "there are none"


class Registry(Generic[T]):
    """The entries of one folder of modules, by file name.

    Args:
        package: dotted name of the folder, e.g. ``"bedside.metrics"``; also the entry-point group
            unless ``group`` is given.
        attribute: the module-level name that holds the entry, e.g. ``"FAMILY"``.
        noun: what an entry is called in messages, e.g. ``"metric family"``.
        kind: the class an entry must be an instance of.
        group: entry-point group that other packages use.

    Modules whose name begins with an underscore, and those named in ``skip``, are no entries.
    """

    def __init__(
        self,
        package: str,
        attribute: str,
        noun: str,
        kind: type[T],
        *,
        group: str | None = None,
        skip: Iterable[str] = (),
    ) -> None:
        self.package = package
        self.attribute = attribute
        self.noun = noun
        self.kind = kind
        self.group = group or package
        self._skip = frozenset(skip)
        self._loaded: dict[str, T] = {}
        self._places: dict[str, str | EntryPoint] | None = None

    def _folder(self) -> Path:
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise RegistryError(f"package {self.package} is not installed")
        return Path(next(iter(spec.submodule_search_locations)))

    def _index(self) -> dict[str, str | EntryPoint]:
        if self._places is not None:
            return self._places
        places: dict[str, str | EntryPoint] = {
            path.stem: f"{self.package}.{path.stem}"
            for path in sorted(self._folder().glob("*.py"))
            if not path.stem.startswith("_") and path.stem not in self._skip
        }
        for point in entry_points(group=self.group):
            if point.name in places:
                other = places[point.name]
                other = other if isinstance(other, str) else other.value
                raise RegistryError(
                    f"two entries are called {point.name!r}: {other} and {point.value}",
                    where=f"{self.noun} registry",
                    todo="rename or uninstall one of them",
                )
            places[point.name] = point
        self._places = places
        return places

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
        if name not in places:
            raise RegistryError(f"no {self.noun} is called {name!r}", todo=nearest(name, places))
        place = places[name]
        if isinstance(place, str):
            entry = getattr(importlib.import_module(place), self.attribute, None)
        else:
            entry = place.load()
        if not isinstance(entry, self.kind):
            raise RegistryError(
                f"{self.noun} {name!r} does not define a {self.kind.__name__}",
                where=place if isinstance(place, str) else place.value,
                todo=f"set {self.attribute} to one",
            )
        self._loaded[name] = entry
        return entry

    def all(self) -> dict[str, T]:
        """Every entry by name; this imports them all."""
        return {name: self.load(name) for name in self.names()}
