"""The simulations that a run's transcripts come from, as the run keeps them: what was simulated, and what failed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from bedside.support.errors import RunError
from bedside.support.files import write_json
from bedside.transcripts.simulation_folder import FAILED, simulation_manifest, simulation_of

SIMULATIONS = "simulations.json"


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
    simulations = [asdict(_simulation(place)) for place in places]
    if simulations:
        write_json(folder / SIMULATIONS, simulations)


def run_simulations(folder: str | os.PathLike[str]) -> tuple[RunSimulation, ...]:
    """The simulations that a run's transcripts come from; none for transcripts of other origin.

    Raises:
        RunError: the file is damaged.
    """
    path = Path(folder) / SIMULATIONS
    if not path.is_file():
        return ()
    try:
        return tuple(
            RunSimulation(entry["path"], entry["manifest"], tuple(entry["failures"]))
            for entry in orjson.loads(path.read_bytes())
        )
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise RunError(
            "what the run keeps of its simulation can't be read", where=str(path), todo="score again"
        ) from error


def _simulation(place: Path) -> RunSimulation:
    failed = place / FAILED
    try:
        lines = failed.read_bytes().splitlines() if failed.is_file() else []
        # Details may quote what was said.
        failures = tuple({k: v for k, v in orjson.loads(line).items() if k != "detail"} for line in lines)
    except (OSError, orjson.JSONDecodeError, AttributeError) as error:
        raise RunError(
            "what failed in the simulation can't be read",
            where=str(failed),
            todo="bedside simulate with the same options writes it again",
        ) from error
    return RunSimulation(os.path.abspath(place), simulation_manifest(place) or {}, failures)
