"""Writes requirements-dev.lock: the versions that development and continuous integration use.

    python tools/make_lock.py [--check]

They are those installed here of all that ``bedside[dev]`` brings along and of what the Makefile installs beside it. The
file is one of constraints (``pip install -c``): it installs nothing by itself. ``--check`` writes nothing and says
whether the file still fits pyproject.toml; that newer versions are installed here is no fault of it.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution

from dependencies import ROOT, closure, named
from packaging.utils import canonicalize_name
from packaging.version import Version

LOCK = ROOT / "requirements-dev.lock"
_HEAD = """\
# Constraints for development, made by tools/make_lock.py: what the tests pass with, on Linux and Python 3.11.
# pip install -c requirements-dev.lock -e ".[dev]"
"""


def beside() -> list[str]:
    """What the Makefile installs without its dependencies."""
    line = re.search(r"--no-deps (.+)$", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    assert line is not None
    return [canonicalize_name(text) for text in line[1].split()]


def lock() -> str:
    """The file's text."""
    found = closure(named(["", "dev"])) | {name: distribution(name) for name in beside()}
    # The part after + says where a wheel was built, which another registry needn't have.
    pins = [f"{name}=={Version(found[name].version).public}" for name in sorted(found)]
    return _HEAD + "\n".join(pins) + "\n"


def problems() -> list[str]:
    """Where the file doesn't fit pyproject.toml."""
    pins = dict(line.split("==") for line in LOCK.read_text("utf-8").splitlines() if line and line[0] != "#")
    found = []
    for one in named(["", "dev"]):
        pin = pins.get(canonicalize_name(one.name))
        if pin is None:
            found.append(f"{one.name} is not in it")
        elif not one.specifier.contains(pin, prereleases=True):
            found.append(f"{one.name}=={pin} doesn't fit {one}")
    return [*found, *(f"{name} is not in it" for name in beside() if name not in pins)]


def main() -> None:
    if "--check" not in sys.argv:
        LOCK.write_text(lock(), "utf-8")
    wrong = problems()
    if wrong:
        sys.exit(f"{LOCK.name}: {'; '.join(wrong)}. Run tools/make_lock.py")


if __name__ == "__main__":
    main()
