"""The options that have an engine share the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.output import note
from bedside.cli.parsing import either
from bedside.core.errors import BedsideError, InputError
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.core.engines.contract import Engine

_MANY = "Many transcripts"

EngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Engine that shares the work, the judges' too, between processes or machines: {engines}. Without it, one "
        "process does everything.",
        autocompletion=complete.engines,
        rich_help_panel=_MANY,
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a running dask or Ray cluster. Without it, one is started on this machine.",
        rich_help_panel=_MANY,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Number of processes to start. Without it, one for each core.",
        rich_help_panel=_MANY,
    ),
]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What is typed for an engine.

    Attributes:
        name: the engine; None where one process does everything.
        address: of a running cluster.
        workers: how many processes to start.
    """

    name: str | None
    address: str | None
    workers: int | None

    @contextmanager
    def opened(self, out: Path) -> Iterator[Engine | None]:
        """The engine, if one is named; where it fails, say what is kept of the work for the run ``out``."""
        if self.name is None:
            self._check_none()
            yield None
            return
        from bedside.core.engines.contract import open_engine
        from bedside.scoring.spread import kept_parts

        try:
            with open_engine(self.name, self.address, self.workers) as engine:
                yield engine
        except (BedsideError, KeyboardInterrupt):
            folder, kept = kept_parts(out)
            if kept:
                note(f"{folder} keeps {counted(kept, 'finished part')}; the same command goes on from there.")
            raise

    def _check_none(self) -> None:
        if self.address is not None or self.workers is not None:
            where = "--workers" if self.address is None else "--address"
            todo = f"add --engine {either(complete.engine_names())}"
            raise InputError("no engine is named", where=where, todo=todo)
