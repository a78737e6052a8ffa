"""Measures how much room an install takes, the core's and that of each extra beside it.

    python tools/measure_install.py [--here] [--check]

It makes an empty environment, installs the core and all extras there in the locked versions, and adds up the files of
what each group of requirements brings along. ``--here`` measures the environment it runs in instead. What is written is
the table of docs/install.md and the sizes that ``bedside doctor`` gives; ``--check`` writes nothing and says whether
they still hold here, within a fifth: versions differ from one machine to the next.

LiteLLM has an environment of its own, in the versions that it wants: it holds other libraries at older ones.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import venv
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "install.md"
SIZES = ROOT / "bedside" / "api" / "extra_sizes.json"
_BEGIN, _END = "<!-- made by tools/measure_install.py -->", "<!-- end -->"
#: How far a size may be from what is written, as a share of it, and what is too little to tell, in megabytes.
_SHARE, _LITTLE = 0.2, 3.0
_APART = ("litellm",)
_SHOWN = 6


def megabytes(found: Distribution) -> float:
    """The size of a distribution's files, without the bytecode that Python makes of them."""
    sizes = (Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in sizes if path.is_file()) / 1e6


def measured() -> dict[str, dict[str, float]]:
    """What each group brings that the core doesn't, in megabytes by name; the core under ``""``."""
    from dependencies import closure, named, requirements

    core = closure(named([""]))
    sizes = {"": {name: megabytes(found) for name, found in core.items()}}
    for extra in sorted(set(requirements()) - {"", "dev"}):
        if not any(_absent(one.name) for one in named([extra])):
            every = closure(named(["", extra]))
            sizes[extra] = {name: megabytes(found) for name, found in every.items() if name not in core}
    return sizes


def _absent(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return True
    return False


def in_empty_environments() -> dict[str, dict[str, float]]:
    """The same, of environments made for it."""
    from dependencies import requirements

    together = ",".join(sorted(set(requirements()) - {"", "dev", "all", *_APART}))
    sizes = _in_empty_environment("--constraint", "requirements-dev.lock", f".[{together}]")
    for extra in _APART:
        sizes[extra] = _in_empty_environment(f".[{extra}]")[extra]
    return dict(sorted(sizes.items()))


def _in_empty_environment(*wanted: str) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*install, *wanted], cwd=ROOT, check=True)
        told = subprocess.run(
            [python, __file__, "--here", "--json"], cwd=ROOT, check=True, capture_output=True, text=True
        )
    found: dict[str, dict[str, float]] = json.loads(told.stdout)
    return found


def totals(sizes: dict[str, dict[str, float]]) -> dict[str, int]:
    return {name: round(sum(parts.values())) for name, parts in sizes.items()}


def table(sizes: dict[str, dict[str, float]]) -> str:
    """The page's part."""
    rows = []
    for name, parts in sizes.items():
        largest = sorted(parts, key=lambda one: (-parts[one], one))[:_SHOWN]
        shown = ", ".join(f"{one} {parts[one]:.0f}" for one in largest if parts[one] >= 1)
        rows.append(f"| {f'`{name}`' if name else 'core'} | {sum(parts.values()):.0f} | {len(parts)} | {shown} |")
    day = datetime.now(UTC).date().isoformat()
    return "\n".join(
        (
            _BEGIN,
            f"Measured on {day} with Python {platform.python_version()} on {platform.system()}, in the versions of "
            "`requirements-dev.lock`; without bytecode, pip and bedside's own ten megabytes:",
            "",
            "| | MB | packages | the largest, in MB |",
            "| --- | --- | --- | --- |",
            *rows,
            _END,
        )
    )


def write(sizes: dict[str, dict[str, float]]) -> None:
    text = PAGE.read_text("utf-8")
    parts = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", flags=re.DOTALL)
    if not parts.search(text):
        sys.exit(f"{PAGE.name} has no place for the table: a line {_BEGIN} and a line {_END}")
    PAGE.write_text(parts.sub(lambda _: table(sizes), text), "utf-8")
    SIZES.write_text(json.dumps(totals(sizes), indent=2) + "\n", "utf-8")


def problems(sizes: dict[str, dict[str, float]]) -> list[str]:
    """Where what is written is no longer so."""
    written: dict[str, int] = json.loads(SIZES.read_text("utf-8"))
    return [
        f"{name or 'the core'} takes {size} MB, not {written.get(name, 'a size that is written')}"
        for name, size in totals(sizes).items()
        if name not in written or abs(size - written[name]) > max(_LITTLE, _SHARE * written[name])
    ]


def main() -> None:
    options = argparse.ArgumentParser(description="Measure how much room an install takes.")
    options.add_argument("--here", action="store_true", help="measure the environment this runs in")
    options.add_argument("--check", action="store_true", help="write nothing; say whether what is written holds")
    options.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    sizes = measured() if chosen.here or chosen.check else in_empty_environments()
    if chosen.json:
        print(json.dumps(sizes))
    elif chosen.check:
        wrong = problems(sizes)
        if wrong:
            sys.exit(f"{'; '.join(wrong)}. Run tools/measure_install.py")
    else:
        write(sizes)


if __name__ == "__main__":
    main()
