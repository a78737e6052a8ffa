"""Writes requirements-dev.lock: the versions that development and continuous integration use; and the hashed locks.

    python tools/make_lock.py [--check]

They are those installed here of all that ``bedside[dev]`` brings along and of what the Makefile installs beside it. The
file is one of constraints (``pip install -c``): it installs nothing by itself. ``requirements.lock`` and
``requirements-all.lock`` are what a user installs, the core and the extra ``all``, in these versions, with the SHA-256
of every file for every system and Python; uv writes them, from the package index. ``--check`` writes nothing and says
whether the files still fit pyproject.toml; that newer versions are installed here is no fault of them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from shutil import which

from dependencies import ROOT, closure, named
from packaging.utils import canonicalize_name
from packaging.version import Version

LOCK = ROOT / "requirements-dev.lock"
_HEAD = """\
# Constraints for development, made by tools/make_lock.py: what the tests pass with, on Linux and Python 3.11.
# pip install -c requirements-dev.lock -e ".[dev]"
"""
#: The locks with hashes, by the extra that each is of.
HASHED = {"": ROOT / "requirements.lock", "all": ROOT / "requirements-all.lock"}
_HASHED_HEAD = """\
# What {what} installs, on every system, made by tools/make_lock.py.
# pip install --require-hashes -r {file} && pip install --no-deps .
"""
#: What the versions of the tests don't install with: a newer Python takes newer ones of these.
_BUILT_FOR_EACH_PYTHON = ("numpy", "pandas", "scipy")


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


def write_hashed(extra: str, file: Path) -> None:
    """Have uv write a lock with hashes."""
    uv = which("uv") or sys.exit("uv isn't installed: pip install uv")
    older = rf"^({'|'.join(_BUILT_FOR_EACH_PYTHON)})==.*$"
    with tempfile.TemporaryDirectory() as work:
        constraints = Path(work) / "constraints.txt"
        constraints.write_text(re.sub(older, r"\g<0>; python_version < '3.14'", lock(), flags=re.MULTILINE), "utf-8")
        form = "--universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url"
        command = [uv, "pip", "compile", "--quiet", *form.split(), "--constraint", constraints, "pyproject.toml"]
        extras = ["--extra", extra] if extra else []
        made = subprocess.run([*command, *extras], cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    head = _HASHED_HEAD.format(what=f"bedside[{extra}]" if extra else "the core", file=file.name)
    file.write_text(head + made, "utf-8")


def pins_of(file: Path) -> dict[str, list[str]]:
    """The versions that a lock has of each package: several where they go by the Python."""
    pins: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", file.read_text("utf-8"), flags=re.MULTILINE):
        pins.setdefault(name, []).append(version)
    return pins


def problems() -> list[str]:
    """Where a file doesn't fit pyproject.toml."""
    found = []
    for file, groups in ((LOCK, ["", "dev"]), *((file, ["", extra]) for extra, file in HASHED.items())):
        pins = pins_of(file)
        for one in named(dict.fromkeys(groups)):
            versions = pins.get(canonicalize_name(one.name))
            if versions is None:
                found.append(f"{one.name} is not in {file.name}")
                continue
            unfit = [pin for pin in versions if not one.specifier.contains(pin, prereleases=True)]
            found += [f"{one.name}=={pin} in {file.name} doesn't fit {one}" for pin in unfit]
    return [*found, *(f"{name} is not in {LOCK.name}" for name in beside() if name not in pins_of(LOCK))]


def main() -> None:
    if "--check" not in sys.argv:
        LOCK.write_text(lock(), "utf-8")
        for extra, file in HASHED.items():
            write_hashed(extra, file)
    wrong = problems()
    if wrong:
        sys.exit(f"{'; '.join(wrong)}. Run tools/make_lock.py")


if __name__ == "__main__":
    main()
