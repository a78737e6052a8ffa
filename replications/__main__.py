"""Print every figure, or write them as a page of the docs: ``python -m replications DATA [PAGE]``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import replications
from bedside.scoring.run_transcripts import run_versions
from replications._figures import Figure, table


def sources() -> list[ModuleType]:
    """The modules, one a source."""
    names = sorted(one.name for one in pkgutil.iter_modules(replications.__path__) if not one.name.startswith("_"))
    return [importlib.import_module(f"replications.{name}") for name in names]


def figures(source: ModuleType, data: Path, work: Path) -> list[Figure]:
    """A source's figures; those that need data are made in ``work``."""
    found: list[Figure] = source.figures(data, work) if hasattr(source, "NEEDS") else source.figures()
    return found


def page(data: Path) -> str:
    """All figures of all sources as Markdown, with date and versions."""
    versions = run_versions()
    libraries = ", ".join(f"{name} {number}" for name, number in versions["libraries"].items())
    parts = []
    same = total = 0
    for source in sources():
        with tempfile.TemporaryDirectory() as work:
            found = figures(source, data, Path(work))
        same += sum(one.agrees for one in found)
        total += len(found)
        heading = (source.__doc__ or "").splitlines()[0]
        parts.append(f"## {heading}\n\n{source.SOURCE}\n\n{table(found)}\n")
    return (
        "# What of the literature can be recomputed\n\n"
        f"Of {total} published figures, {same} come out to the last printed digit; the others differ for the reason "
        f"given. A test repeats it. Made on {datetime.now(UTC).date()} by `python -m replications DATA "
        f"docs/replications.md` with bedside {versions['bedside']}, {libraries}.\n\n" + "\n".join(parts)
    )


if __name__ == "__main__":
    text = page(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text, "utf-8")
    else:
        print(text)
