"""What an engine's workers finish is taken as it comes, and what they keep becomes one, however they end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bedside.core.engines.contract import BrokenError, Engine, TaskOutcome, call_task
from bedside.core.engines.part_databases import PartDatabases, part_size
from bedside.core.errors import EngineError
from bedside.core.locks import hold


class WorkerDiedError(BaseException):
    """A worker is no more."""


class InTurn(Engine):
    """A worker in this process; one that dies takes the round with it."""

    name = "in turn"
    workers = 1
    rounds = ended = 0

    def run_round(
        self, function: Callable[[Any], Any], tasks: Mapping[int, Any]
    ) -> Generator[tuple[int, TaskOutcome[Any]], None, None]:
        self.rounds += 1
        try:
            for number, task in tasks.items():
                yield call_task(function, number, task)
        except WorkerDiedError as error:
            raise BrokenError("a worker died") from error
        finally:
            self.ended += 1

    def close(self) -> None:
        pass


def merge(target: Path, source: Path) -> None:
    before = target.read_text().split() if target.exists() else []
    target.write_text(" ".join(sorted({*before, *source.read_text().split()})))


@pytest.fixture
def databases(tmp_path: Path) -> PartDatabases:
    return PartDatabases(tmp_path / "whole", "parts", merge)


class Work:
    """Writes a part's letters, dies of ``x`` after the letter before it, and raises at ``y``."""

    def __init__(self, deaths: int = 0) -> None:
        self.deaths = deaths
        self.written = ""

    def __call__(self, part: str, path: Path) -> int:
        known = path.read_text().split() if path.exists() else []
        for letter in part:
            if letter == "x" and self.deaths:
                self.deaths -= 1
                raise WorkerDiedError
            if letter == "y":
                raise ValueError("no such letter")
            if letter not in known:
                known.append(letter)
                self.written += letter
                path.write_text(" ".join(known))
        return len(part)


def share(
    databases: PartDatabases, parts: list[str], work: Work, engine: Engine | None = None
) -> Generator[int, None, None]:
    def extract(part: str, path: Path) -> None:
        known = set(databases.whole.read_text().split() if databases.whole.exists() else []) & set(part)
        if known:
            path.write_text(" ".join(known))

    return databases.share(engine or InTurn(), work, parts, extract)


def test_parts_become_one(databases: PartDatabases) -> None:
    assert list(share(databases, ["abc", "de"], work := Work())) == [3, 2]
    assert databases.whole.read_text() == "a b c d e"
    assert list(share(databases, ["abc", "def"], work)) == [3, 3]
    assert (databases.whole.read_text(), work.written) == ("a b c d e f", "abcdef")
    assert not databases.folder.exists()


def test_whoever_takes_over_goes_on(databases: PartDatabases) -> None:
    assert list(share(databases, ["abxc", "de"], work := Work(deaths=2))) == [4, 2]
    assert work.written == "abxcde"
    assert databases.whole.read_text() == "a b c d e x"


def test_what_was_lost_is_told_when_all_else_is_finished(databases: PartDatabases) -> None:
    shared = share(databases, ["ab", "cx", "d"], Work(deaths=9))
    with pytest.raises(EngineError, match=r"2 of 3 parts aren't done, workers were lost \(a worker died\)"):
        list(shared)
    assert databases.whole.read_text() == "a b c"
    assert not databases.folder.exists()


def test_an_error_ends_the_work(databases: PartDatabases) -> None:
    engine = InTurn()
    shared = share(databases, ["ab", "cy", "d"], Work(), engine)
    assert next(shared) == 2
    with pytest.raises(ValueError, match="no such letter"):
        next(shared)
    assert engine.ended == 1
    assert databases.whole.read_text() == "a b c"


def test_a_stop_lets_go_of_the_workers_first(databases: PartDatabases) -> None:
    engine, work = InTurn(), Work()
    with closing(share(databases, ["ab", "cd"], work, engine)) as shared:
        assert next(shared) == 2
    assert (engine.rounds, engine.ended, work.written) == (1, 1, "ab")
    assert databases.whole.read_text() == "a b"
    assert not databases.folder.exists()


def test_what_a_worker_is_at_is_left_to_it(databases: PartDatabases) -> None:
    databases.folder.mkdir()
    database = databases.folder / "000000-a.sqlite"
    database.write_text("a")
    held = hold(database.with_suffix(".lock"))
    assert held is not None
    with held:
        databases.collect()
        assert database.exists()
    databases.collect()
    assert (databases.whole.read_text(), databases.folder.exists()) == ("a", False)


@pytest.mark.parametrize(("count", "workers", "size"), [(0, 2, 1), (7, 2, 1), (9, 2, 2), (900, 2, 25), (9, 0, 3)])
def test_sizes_of_parts(count: int, workers: int, size: int) -> None:
    assert part_size(count, workers, 25) == size
