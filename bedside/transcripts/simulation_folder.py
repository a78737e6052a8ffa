"""The folder of a simulation, as others see it: it stands for the transcripts in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bedside.core.errors import RunError
from bedside.core.files import check_no_links, file_digest, seal_of
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
    "files": OrNull(ObjectOf(TEXT)),
    "seal": OrNull(TEXT),
}


def simulation_manifest(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a simulation says of itself; None where the folder holds none.

    Raises:
        RunError: a link stands in it; or the folder is like a simulation's, and its manifest isn't as it was written:
            as a folder of anything else, its hidden states would be read as transcripts.
    """
    place = Path(folder)
    file = place / MANIFEST
    try:
        manifest = json.loads(file.read_bytes())
    except OSError:
        return None
    except (ValueError, RecursionError):
        if (place / TRANSCRIPTS).is_file() or (place / LOG_FILE).is_file():
            raise _damaged("it isn't JSON", file) from None
        return None
    if not isinstance(manifest, dict):
        return None
    if manifest.keys() >= _KEYS:
        check_no_links(place, "a simulation")
        return manifest
    if "seal" in manifest and "scorings" not in manifest and seal_of(manifest) != manifest["seal"]:
        raise _damaged("seal", file)
    return None


def _damaged(why: str, manifest: Path) -> RunError:
    return RunError(
        f"what the simulation says of itself is damaged ({why})",
        where=str(manifest),
        todo="bedside simulate with the same options writes it again",
    )


def manifest_misfit(manifest: Any) -> str | None:
    """Where what a simulation says of itself is not of its form, as keys with points between, or what in it can't be
    kept; None where it is as it should be."""
    wrong = misfit(manifest, _MANIFEST) or unwritable(manifest, MOST_LEVELS)
    sealed = "files" in manifest or "seal" in manifest  # earlier versions wrote neither
    return "seal" if not wrong and sealed and manifest.get("seal") != seal_of(manifest) else wrong


def check_simulated(folder: Path, name: str) -> None:
    """See that a file of a simulation is as it was written, where its manifest tells.

    Raises:
        RunError: it isn't.
    """
    known = checked_manifest(folder).get("files", {}).get(name)
    if known is not None and known != file_digest(folder / name):
        raise RunError(
            "the file isn't as bedside wrote it (its SHA-256 is another)",
            where=str(folder / name),
            todo="bedside simulate with the same options writes it again; put one of your own elsewhere",
        )


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
        raise _damaged(wrong, Path(folder) / MANIFEST)
    return manifest


def has_no_transcripts(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is that of a simulation that has no transcripts: of those begun none ended well, or not yet."""
    path, transcripts = Path(folder), Path(folder) / TRANSCRIPTS
    return (path / LOG_FILE).is_file() and not (transcripts.exists() and transcripts.stat().st_size)


def simulation_of(file: str | os.PathLike[str]) -> Path | None:
    """The folder of the simulation that a file holds the transcripts of; None for any other file."""
    path = Path(file)
    return path.parent if path.name == TRANSCRIPTS and simulation_manifest(path.parent) is not None else None


def simulated_suite(paths: Iterable[str | os.PathLike[str]]) -> str | None:
    """The suite of the protocol that was simulated: its name, or what a protocol file names; None where a path is no
    simulation's, or they have several."""
    manifests = [simulation_manifest(simulation_of(path) or path) for path in paths]
    suites = {None if manifest is None else str(manifest.get("suite", manifest["protocol"])) for manifest in manifests}
    return suites.pop() if len(suites) == 1 else None


def without_simulators_own(files: list[str]) -> list[str]:
    """Files of searched folders without what a simulation has beside its transcripts: hidden states, failures, log."""
    folders = {os.path.dirname(file) for file in files if os.path.basename(file) == MANIFEST}
    simulations = {folder for folder in folders if simulation_manifest(folder) is not None}
    return [file for file in files if os.path.dirname(file) not in simulations or os.path.basename(file) == TRANSCRIPTS]
