"""Runs the tutorial notebook, and stores what it shows.

    python tools/make_tutorial.py

It runs in an empty temporary folder, in a kernel of the Python that runs this, with nothing of the user's own settings.
Stored are its outputs, and nothing of when and where it ran.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(notebook: Any, timeout: int = 300) -> Any:
    """The notebook with the outputs of a run.

    Args:
        notebook: as :func:`nbformat.read` gives it; it is changed.
        timeout: seconds for one cell.

    Raises:
        CellExecutionError: a cell raised an error.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings, work = Path(folder, "settings"), Path(folder, "work")
        settings.mkdir()
        work.mkdir()
        environment = {
            **os.environ,
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
            "IPYTHONDIR": str(settings),
            "JUPYTER_RUNTIME_DIR": str(settings),
            "MPLBACKEND": "agg",
        }
        # Where no folder of kernels is searched, "python3" is the one of this Python.
        kernels = KernelSpecManager(kernel_dirs=[])
        manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels)
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=timeout,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(work)}},
        )
        client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata = nbformat.from_dict(_METADATA)
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(nbformat.read(TUTORIAL, as_version=4)), TUTORIAL)
    print(f"wrote {TUTORIAL.relative_to(TUTORIAL.parents[1])}")
