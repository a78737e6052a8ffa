"""The environment of a Label Studio of one's own, installed on first use.

It is kept apart, since Label Studio's libraries don't go together with those of a scoring environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bedside.core.errors import LabelStudioError
from bedside.core.files import saying_where
from bedside.core.locks import hold

#: The release of Label Studio that is installed; the one all this is tested with.
VERSION = "1.23.2"
#: Names an environment that has Label Studio already.
ENVIRONMENT = "BEDSIDE_LABEL_STUDIO"
#: Says that an environment was installed to the end.
_COMPLETE = ".complete"

#: Takes a line that is shown to the user.
ShowLine = Callable[[str], None]


def environment_folder() -> Path:
    """Where the server's environment is, or would be put: the user's cache folder, or what the variable names."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "bedside" / f"label-studio-{VERSION}"


def ensure_environment(folder: Path | None = None, say: ShowLine = lambda line: None) -> Path:
    """The program ``label-studio``, installed first where it isn't yet.

    Args:
        folder: a virtual environment; :func:`environment_folder` unless given. Where it has Label Studio it is used as
            it is, whoever made it.
        say: takes a line about what is fetched.

    Raises:
        LabelStudioError: it can't be installed.
    """
    target = (folder or environment_folder()).expanduser().absolute()
    program = _program(target)
    # An environment of the user's own has no mark; one that bedside began and did not finish has none either.
    theirs = folder is not None or ENVIRONMENT in os.environ
    if program.is_file() and (theirs or (target / _COMPLETE).is_file()):
        return program
    if theirs and target.exists() and any(target.iterdir()):
        raise LabelStudioError(
            "the environment has no Label Studio",
            where=str(target),
            todo=f"install it there: pip install label-studio=={VERSION}",
        )
    with saying_where(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        held = hold(target.parent / f".{target.name}.lock", -1)
    assert held is not None  # it is waited for without end
    with held:
        if program.is_file() and (target / _COMPLETE).is_file():
            return program
        say(
            f"Label Studio {VERSION} is fetched once from the Python package index, about 250 MB (0.8 GB when "
            f"installed), into {target}. This takes some minutes."
        )
        shutil.rmtree(target, ignore_errors=True)
        _install(target)
        (target / _COMPLETE).touch()
    return program


def _program(environment: Path) -> Path:
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    return scripts / ("label-studio.exe" if os.name == "nt" else "label-studio")


def _install(target: Path) -> None:
    python = _program(target).with_name("python.exe" if os.name == "nt" else "python")
    pip = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--no-compile"]
    steps = (
        [sys.executable, "-m", "venv", str(target)],
        [str(python), *pip, f"label-studio=={VERSION}"],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
            shutil.rmtree(target, ignore_errors=True)
            raise LabelStudioError(
                f"Label Studio can't be installed ({last.strip()})",
                where=str(target),
                todo=f"see that the package index can be reached, or name an environment in {ENVIRONMENT}",
            )
