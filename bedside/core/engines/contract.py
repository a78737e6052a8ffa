"""Engines: what spreads work over processes or machines. Each is one file, and schedules by a library of its own.

A task is handed to a function that the workers import, so both must pickle: a function of a module, and plain data.
What the function raises belongs to its task; a worker that dies costs nothing but the time of its tasks, which others
take over. A function must bear being called twice for one task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from bedside.core.errors import EngineError
from bedside.core.registry import Registry

__all__ = ["ENGINES", "BrokenError", "Engine", "EngineKind", "TaskOutcome", "call_task", "open_engine"]

Task = TypeVar("Task")
Result = TypeVar("Result")

#: How often tasks are handed out again when workers died and nothing was finished since.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[Result]):
    """What became of a task.

    Attributes:
        value: what the function returned.
        error: what it raised.
        lost: why there is neither: whoever worked on it died, again and again.
    """

    value: Result | None = None
    error: Exception | None = None
    lost: str | None = None


class BrokenError(Exception):
    """Workers died, or the engine can't be reached: what isn't finished is to be handed out again."""


class Engine(ABC):
    """Workers that are there to take tasks; a context manager that lets go of them at its end.

    Attributes:
        name: the engine's name.
    """

    name: str

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many tasks can be under way at once, as far as is known now."""

    @abstractmethod
    def run_round(
        self, function: Callable[[Any], Any], tasks: Mapping[int, Any]
    ) -> Generator[tuple[int, TaskOutcome[Any]], None, None]:
        """Number and outcome of each task as it is finished.

        Raises:
            BrokenError: nothing more will come; what is not told of is handed out again.
        """

    def mend(self) -> None:  # noqa: B027 - most have nothing to mend
        """Get ready for another round after one that broke.

        Raises:
            BrokenError: that can't be done.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the workers."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run_tasks(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], where: str | None = None
    ) -> Generator[tuple[Task, Result], None, None]:
        """Each task with what the function returned, as they are finished; closing it drops what isn't begun.

        Args:
            function: called once for each task on some worker, or again where a worker died.
            tasks: what it is called with.
            where: what an error names where workers were lost.

        Raises:
            EngineError: nobody survived some of the tasks; it is raised when the others are finished.
            Exception: what the function raised, at once.
        """
        unfinished: dict[int, Task] = dict(enumerate(tasks))
        number_of_tasks = len(unfinished)
        lost: list[str] = []
        why, idle = "no outcome came back", 0
        while unfinished and idle < _ATTEMPTS:
            before = len(unfinished)
            try:
                with closing(self.run_round(function, dict(unfinished))) as finished:
                    for number, outcome in finished:
                        task = unfinished.pop(number)
                        if outcome.error is not None:
                            raise outcome.error
                        if outcome.lost is not None:
                            lost.append(outcome.lost)
                        else:
                            yield task, cast(Result, outcome.value)
            except BrokenError as error:
                why = str(error)
                try:
                    self.mend()
                except BrokenError as final:
                    why = str(final)
                    break
            idle = 0 if len(unfinished) < before else idle + 1
        lost += [why] * len(unfinished)
        if lost:
            raise EngineError(
                f"{len(lost)} of {number_of_tasks} parts aren't done, workers were lost ({lost[0]})",
                where=where,
                todo="the same command goes on from what is done",
            )


def call_task(function: Callable[[Any], Any], number: int, task: Any) -> tuple[int, TaskOutcome[Any]]:
    """What a worker does: call the function, and tell what it raised as the task's outcome."""
    try:
        return number, TaskOutcome(value=function(task))
    # Whatever it is, it is this task's: the others go on.
    except Exception as error:
        return number, TaskOutcome(error=error)


@dataclass(frozen=True, slots=True)
class EngineKind:
    """One engine.

    Attributes:
        name: the entry's name, equal to its file name.
        title: what it is, in a few words.
        start: called with an address and a number of workers, each None unless the user gave it.
    """

    name: str
    title: str
    start: Callable[[str | None, int | None], Engine]


ENGINES: Registry[EngineKind] = Registry(
    "bedside.core.engines.shipped", "ENGINE", "engine", EngineKind, group="bedside.engines"
)


def open_engine(name: str, address: str | None = None, workers: int | None = None) -> Engine:
    """Start an engine on this machine, or reach one that runs.

    Args:
        name: one of :data:`ENGINES`.
        address: of a cluster that runs; without it, workers are started on this machine.
        workers: how many to start; as many as there are cores unless given.

    Raises:
        RegistryError: there is no such engine.
        MissingExtraError: its library isn't installed.
        EngineError: it can't be started or reached, or takes no such thing.
    """
    kind = ENGINES.load(name)
    if workers is not None and workers < 1:
        raise EngineError(
            f"there must be 1 worker or more, and {workers} is less", where="`workers`", todo="give one from 1"
        )
    if workers is not None and address is not None:
        raise EngineError(
            "a cluster that runs has its own workers", where="`workers`", todo="give `address` without it"
        )
    return kind.start(address, workers)
