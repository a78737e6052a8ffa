"""Parts that an engine's workers keep in databases of their own, which become one database as they are finished."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TypeVar

from bedside.core.engines.contract import Engine
from bedside.core.locks import Hold, hold

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Parts for each worker at least, so that none is left over for long at the end.
_PARTS_PER_WORKER = 4


def part_size(count: int, workers: int, most: int) -> int:
    """How many of ``count`` things make up a part: 1 or more, ``most`` at most, and all workers busy."""
    return max(1, min(most, -(-count // (_PARTS_PER_WORKER * max(1, workers)))))


@dataclass(frozen=True, slots=True)
class PartDatabases:
    """Databases that workers keep parts in, beside the one that all of them become.

    A worker holds a file beside its own database, and what nobody holds is merged, by whoever needs it next.

    Attributes:
        whole: the database that all become.
        folder_name: of the folder beside it that the workers' are in.
        merge: adds to its first database, made if it isn't there, what its second holds; a function of a module.
    """

    whole: Path
    folder_name: str
    merge: Callable[[Path, Path], object]

    @property
    def folder(self) -> Path:
        """Where the workers' are."""
        return self.whole.with_name(self.folder_name)

    @property
    def number(self) -> int:
        """How many databases of workers wait to be merged."""
        return sum(not path.stem.endswith("-before") for path in self._of("*"))

    def share(
        self,
        engine: Engine,
        function: Callable[[Part, Path], Result],
        parts: Iterable[Part],
        extract: Callable[[Part, Path], object],
    ) -> Generator[Result, None, None]:
        """What a function returns for each part on some worker, once its database is merged, as they are finished.

        Args:
            engine: whose workers.
            function: called with a part and the path of a database for it, which holds what is known of the part.
            parts: what it is called with.
            extract: called here with each part and a path, at which it puts what the whole holds of the part, if
                anything: workers can't look there.

        Raises:
            EngineError: workers were lost; what they kept is merged.
            Exception: what the function raised, likewise.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        work = partial(replace(self, whole=self.whole.absolute())._work, function)
        try:
            tasks = [(f"{number:06d}", part) for number, part in enumerate(parts)]
            for name, part in tasks:
                extract(part, self.folder / f"{name}-before.sqlite")
            with closing(engine.run_tasks(work, tasks, str(self.whole.parent))) as finished:
                for (name, _), (own, result) in finished:
                    # First that of whoever finished: of two that were at the same, its replies go together.
                    self._merge_into(self.whole, dict.fromkeys([self.folder / own, *self._of(name)]))
                    yield result
        finally:
            self.collect()

    def collect(self) -> None:
        """Merge what workers left, but for what one is at still."""
        self._merge_into(self.whole, self._of("*"))
        if not self._of("*"):
            rmtree(self.folder, ignore_errors=True)

    def _work(self, function: Callable[[Part, Path], Result], task: tuple[str, Part]) -> tuple[str, Result]:
        """What a worker does, beginning with what others left of the part: the name of its database, and the result."""
        name, part = task
        own = self.folder / f"{name}-{uuid.uuid4().hex}.sqlite"
        held = _hold(own)
        assert held is not None, "nobody else knows its name"
        with held:
            self._merge_into(own, self._of(name))
            return own.name, function(part, own)

    def _of(self, name: str) -> list[Path]:
        return sorted(self.folder.glob(f"{name}-*.sqlite"))

    def _merge_into(self, target: Path, sources: Iterable[Path]) -> None:
        for source in sources:
            held = _hold(source)
            if held is None:
                continue
            with held:
                if source.exists():
                    self.merge(target, source)
                    source.unlink()


def _hold(path: Path) -> Hold | None:
    """Hold a database; None where another process does."""
    return hold(path.with_suffix(".lock"))
