"""The folder of a simulation, as others see it: it stands for the transcripts in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bedside.core.errors import RunError
from bedside.core.json_shape import INTEGER, MOST_LEVELS, TEXT, ObjectOf, OrNull, misfit, unwritable

#: The file that says what was simulated, the conversations that can be used, and the others.
MANIFEST, TRANSCRIPTS, FAILED = "manifest.json", "transcripts.jsonl", "failed.jsonl"
#: Hidden states, and where a simulation keeps what was replied while it goes on.
STATES, LOG_FILE = "states.jsonl", "log.sqlite"
#: What the manifest of a simulation has, and no other.
_KEYS = {"protocol", "clinicians", "patient", "conversations"}
#: What is read of it.
_MANIFEST = {
    "protocol": TEXT,
    "source": OrNull(TEXT),
    "parameters of bedside's own": OrNull([TEXT]),
    "clinicians": [TEXT],
    "patient": TEXT,
    "evaluator": OrNull(TEXT),
    "toys": OrNull([TEXT]),
    "settings": OrNull([TEXT]),
    "lengths": OrNull([INTEGER]),
    "options": OrNull({}),
    "sampling": OrNull(ObjectOf({})),
    "conversations": {"planned": INTEGER},
}


def simulation_manifest(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a simulation says of itself; None where the folder holds none."""
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.keys() >= _KEYS else None


def manifest_misfit(manifest: Any) -> str | None:
    """Where what a simulation says of itself is not of its form, as keys with points between, or what in it can't be
    kept; None where it is as it should be."""
    return misfit(manifest, _MANIFEST) or unwritable(manifest, MOST_LEVELS)


def checked_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a simulation says of itself; empty where the folder holds none.

    Raises:
        RunError: it is not of its form; the key is named.
    """
    manifest = simulation_manifest(folder)
    if manifest is None:
        return {}
    wrong = manifest_misfit(manifest)
    if wrong is not None:
        raise RunError(
            f"what the simulation says of itself is damaged ({wrong})",
            where=str(Path(folder) / MANIFEST),
            todo="bedside simulate with the same options writes it again",
        )
    return manifest


def has_no_transcripts(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is that of a simulation that has no transcripts: of those begun none ended well, or not yet."""
    path, transcripts = Path(folder), Path(folder) / TRANSCRIPTS
    return (path / LOG_FILE).is_file() and not (transcripts.exists() and transcripts.stat().st_size)


def simulation_of(file: str | os.PathLike[str]) -> Path | None:
    """The folder of the simulation that a file holds the transcripts of; None for any other file."""
    path = Path(file)
    return path.parent if path.name == TRANSCRIPTS and simulation_manifest(path.parent) is not None else None


def simulated_protocol(paths: Iterable[str | os.PathLike[str]]) -> str | None:
    """The protocol that was simulated; None where a path is no simulation's, or they are of several protocols."""
    manifests = [simulation_manifest(simulation_of(path) or path) for path in paths]
    protocols = {None if manifest is None else str(manifest["protocol"]) for manifest in manifests}
    return protocols.pop() if len(protocols) == 1 else None


def without_simulators_own(files: list[str]) -> list[str]:
    """Files of searched folders without what a simulation has beside its transcripts: hidden states, failures, log."""
    folders = {os.path.dirname(file) for file in files if os.path.basename(file) == MANIFEST}
    simulations = {folder for folder in folders if simulation_manifest(folder) is not None}
    return [file for file in files if os.path.dirname(file) not in simulations or os.path.basename(file) == TRANSCRIPTS]
