"""How the folder of a run is told from others, without what opening one needs."""

from __future__ import annotations

import os
from pathlib import Path

#: The file in a run that says what it is.
MANIFEST = "manifest.json"


def is_run(folder: str | os.PathLike[str]) -> bool:
    """Whether the folder holds a run, of any format; a simulation's folder has another manifest, and holds none."""
    if not (Path(folder) / MANIFEST).is_file():
        return False
    # What reads transcripts is loaded where there is something to tell apart: a shell's completion asks too.
    from bedside.transcripts.simulation_folder import simulation_manifest

    return simulation_manifest(folder) is None
