"""What the shell offers after Tab: names of what there is, and of what is rated in the run that the line names.

A shell waits for this: nothing is imported but the standard library, and of a run only the manifest is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

_PACKAGE = Path(__file__).parents[1]
#: A name and what it is, as a shell shows it.
Offer = tuple[str, str]
Completion = Callable[[typer.Context, str], list[Offer]]


def one_of(*names: str) -> Completion:
    """Offers these names."""
    return lambda ctx, incomplete: [(name, "") for name in names]


def several(offers: Callable[[typer.Context], Iterable[Offer]]) -> Completion:
    """Offers names for a list with commas: each after those that stand there."""

    def complete(ctx: typer.Context, incomplete: str) -> list[Offer]:
        before, comma, _ = incomplete.rpartition(",")
        taken = before.split(",")
        return [(before + comma + name, about) for name, about in offers(ctx) if name not in taken]

    return complete


def some_of(*names: str) -> Completion:
    """Offers these names for a list with commas."""
    return several(lambda ctx: [(name, "") for name in names])


def _entries(*folders: Path, ending: str) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(folder.glob(f"*{ending}")) if not path.stem.startswith("_"))


def _titled(*folders: Path) -> Iterator[Offer]:
    """The data files of folders, each with its title."""
    for path in _entries(*folders, ending=".yaml"):
        title = re.search(r"^title: *(.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
        yield path.stem, title[1].strip("\"'") if title else ""


def suites(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The suites that ship."""
    return list(_titled(_PACKAGE / "suites"))


def _rubrics(ctx: typer.Context) -> Iterator[Offer]:
    own = ctx.params.get("rubric_folder")
    return _titled(_PACKAGE / "judges" / "rubrics", *([Path(own)] if own else []))


rubrics = several(_rubrics)


def rubric(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The rubrics that ship and those of the folder named."""
    return list(_rubrics(ctx))


def readers(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The file formats."""
    return [(path.stem, "") for path in _entries(_PACKAGE / "transcripts" / "readers", ending=".py")]


def _metrics(ctx: typer.Context) -> Iterator[Offer]:
    for line in (_PACKAGE / "cli" / "metrics.tsv").read_text("utf-8").splitlines():
        name, _, about = line.partition("\t")
        yield name, about


metrics = several(_metrics)


def metric(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The metrics and families that ship."""
    return list(_metrics(ctx))


def _codes(ctx: typer.Context) -> list[Offer]:
    from bedside.transcripts.model import CODES

    return [(code, "") for code in CODES]


codes = several(_codes)


#: What a report has, of whatever suite; those of a suite are named in its file.
_TABLES = ("results", "agreement", "comparison", "missing")


def _tables(ctx: typer.Context) -> list[Offer]:
    found = dict.fromkeys(_TABLES)
    named = ctx.params.get("suite")
    for suite in [named] if named else [one.get("suite") for one in _manifest(ctx).get("scorings", [])]:
        file = _PACKAGE / "suites" / f"{suite}.yaml"
        if file.is_file():
            part = re.split(r"^(?:tables|figures):", file.read_text("utf-8"), flags=re.MULTILINE)[1:]
            found.update(dict.fromkeys(re.findall(r"\bid: *([a-z0-9-]+)", part[0] if part else "")))
    return [(name, "") for name in found]


tables = several(_tables)


def table_names(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The tables of the run's report."""
    return _tables(ctx)


judges = one_of("local", "openai/", "anthropic/", "ollama/", "http://127.0.0.1:")


def _manifest(ctx: typer.Context) -> dict[str, Any]:
    """The manifest of the run that the line names; of none where there is none."""
    named = ctx.params.get("run") or ctx.params.get("source")
    try:
        found: dict[str, Any] = json.loads((Path(named) / "manifest.json").read_bytes()) if named else {}
    except (OSError, ValueError):
        return {}
    return found


def _rated(ctx: typer.Context) -> list[Offer]:
    manifest = _manifest(ctx)
    names: dict[str, None] = {}
    for entry in manifest.get("scorings", []):
        names.update(dict.fromkeys(entry.get("metrics", [])))
    for entry in manifest.get("imports", []):
        names.update(dict.fromkeys(entry.get("scales", {})))
    return [(name, "") for name in names]


rated = several(_rated)


def _raters(ctx: typer.Context) -> list[Offer]:
    patterns = [("human:*", "all people"), ("judge:*", "all judges"), ("algorithm:*", "all algorithms")]
    names = {name for entry in _manifest(ctx).get("scorings", []) for name in entry.get("raters", [])}
    return patterns + [(name, "") for name in sorted(names)]


raters = several(_raters)


def one_rater(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """The raters of the run."""
    return _raters(ctx)
