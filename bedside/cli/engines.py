"""The options that have an engine share the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.cli import completion as complete
from bedside.cli.output import note
from bedside.cli.parsing import either
from bedside.core.errors import BedsideError, InputError
from bedside.core.question_settings import option, settings_class
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.core.engines.contract import Engine

_MANY = "Many transcripts"


@settings_class
class EngineOptions:
    """How the work is shared between processes or machines."""

    engine: str | None = option(
        "Engine that shares the work, the judges' too, between processes or machines: {engines}. Without it, one "
        "process does everything.",
        default=None, heading=_MANY, metavar="NAME", offers="engines",
    )  # fmt: skip
    address: str | None = option(
        "Address of a running dask or Ray cluster. Without it, one is started on this machine.",
        default=None, heading=_MANY, metavar="ADDRESS",
    )  # fmt: skip
    workers: int | None = option(
        "Number of processes to start. Without it, one for each core.", default=None, heading=_MANY, metavar="NUMBER"
    )

    @contextmanager
    def opened(self, out: Path) -> Iterator[Engine | None]:
        """The engine, if one is named; where it fails, say what is kept of the work for the run ``out``."""
        if self.engine is None:
            self._check_none()
            yield None
            return
        from bedside.core.engines.contract import open_engine
        from bedside.scoring.spread import kept_parts

        try:
            with open_engine(self.engine, self.address, self.workers) as opened:
                yield opened
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
