"""The simulations that a run's transcripts come from, as the run keeps them: what was simulated, and what failed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from bedside.support.errors import RunError
from bedside.support.files import write_json
from bedside.support.json_shape import TEXT, OrNull, misfit
from bedside.transcripts.simulation_folder import FAILED, checked_manifest, manifest_misfit, simulation_of

SIMULATIONS = "simulations.json"
#: What is read of a conversation that has no transcript.
_FAILURE = {
    "id": TEXT, "system": TEXT, "case": OrNull(TEXT), "persona": OrNull(TEXT), "state": TEXT, "whose": OrNull(TEXT),
    "reason": OrNull(TEXT),
}  # fmt: skip
_ENTRY = {"path": TEXT, "manifest": {}, "failures": [_FAILURE]}


@dataclass(frozen=True, slots=True)
class RunSimulation:
    """A simulation whose transcripts are in a run.

    Attributes:
        path: its folder when it was scored; its hidden states stand there.
        manifest: what was simulated, and what it took.
        failures: the conversations that have no transcript: their id, system, case, persona, setting, length and
            repeat, ``state`` (failed or unfinished), ``whose`` doing it is and the ``reason``.
    """

    path: str
    manifest: dict[str, Any]
    failures: tuple[dict[str, Any], ...]


def keep_simulations(folder: Path, files: Iterable[str | os.PathLike[str]]) -> None:
    """Keep in a run's folder what its files say of simulations; nothing where none is a simulation's."""
    places = dict.fromkeys(place for place in map(simulation_of, files) if place is not None)
    simulations = [
        {
            "path": os.path.abspath(place),
            "manifest": checked_manifest(place),
            "failures": list(_failures(place / FAILED)),
        }
        for place in places
    ]
    if simulations:
        write_json(folder / SIMULATIONS, simulations)


def merge_simulations(folder: Path, sources: Iterable[tuple[Path, Callable[[str], str]]]) -> None:
    """Keep in a merged run's folder what its runs keep of simulations, each once; nothing where none does.

    Args:
        folder: the merged run's.
        sources: of each run its folder, and what names of transcripts become.
    """
    simulations: dict[bytes, dict[str, Any]] = {}
    for path, renamed in sources:
        for simulation in run_simulations(path):
            entry = asdict(simulation)
            entry["failures"] = [{**failure, "id": renamed(failure["id"])} for failure in entry["failures"]]
            simulations.setdefault(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS), entry)
    if simulations:
        write_json(folder / SIMULATIONS, list(simulations.values()))


def run_simulations(folder: str | os.PathLike[str]) -> tuple[RunSimulation, ...]:
    """The simulations that a run's transcripts come from; none for transcripts of other origin.

    Raises:
        RunError: the file is damaged.
    """
    path = Path(folder) / SIMULATIONS
    if not path.is_file():
        return ()
    try:
        entries = orjson.loads(path.read_bytes())
        wrong = misfit(entries, [_ENTRY]) or next(
            (
                f"{number}.manifest.{why}"
                for number, entry in enumerate(entries)
                if entry["manifest"] and (why := manifest_misfit(entry["manifest"])) is not None
            ),
            None,
        )
    except (OSError, orjson.JSONDecodeError) as error:
        wrong = str(error)
    if wrong is not None:
        raise RunError(
            f"what the run keeps of its simulation can't be read ({wrong})",
            where=str(path),
            todo="score again",
        )
    return tuple(
        RunSimulation(entry["path"], entry["manifest"], tuple(entry["failures"])) for entry in entries
    )


def _failures(failed: Path) -> Iterator[dict[str, Any]]:
    """The conversations without a transcript, but for details: they may quote what was said."""
    again = "bedside simulate with the same options writes it again"
    try:
        lines = failed.read_bytes().splitlines() if failed.is_file() else []
    except OSError as error:
        raise RunError(
            "what failed in the simulation can't be read", where=str(failed), todo=again
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            failure = orjson.loads(line)
            wrong = misfit(failure, _FAILURE)
        except orjson.JSONDecodeError as error:
            wrong = str(error)
        if wrong is not None:
            raise RunError(
                f"what failed in the simulation can't be read ({wrong})",
                where=f"{failed}:{number}",
                todo=again,
            )
        yield {key: value for key, value in failure.items() if key != "detail"}
