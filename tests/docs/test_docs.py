"""The docs say what the code does: pages are current, links lead somewhere, commands exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bedside.cli import command_line
from bedside.cli.help import UsualCommandGroup
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES
from bedside.reports.table_kind import TABLES
from bedside.transcripts.contract import READERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted({ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")})


@pytest.fixture(scope="module")
def entries() -> dict[Path, str]:
    """The pages that the site has of entries of the registries, by the file of docs/ that each would be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        from catalogue_pages import catalogue_pages

        return dict(catalogue_pages())


@pytest.mark.slow
def test_made_parts_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def targets(text: str) -> list[str]:
    """Where a page's links to files lead."""
    return [target for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert not [target for target in targets(page.read_text("utf-8")) if not (page.parent / target).exists()]


@pytest.mark.slow
def test_links_of_the_catalogues_lead_somewhere(entries: dict[Path, str]) -> None:
    assert len(entries) > 200
    places = {
        Path(os.path.normpath(page.parent / target)) for page, text in entries.items() for target in targets(text)
    }
    assert not {place for place in places - entries.keys() if not place.exists()}


@pytest.mark.slow
def test_every_entry_has_a_page_and_none_is_kept(entries: dict[Path, str]) -> None:
    names = {
        "metrics": {metric.name for family in FAMILIES.all().values() for metric in family.metrics},
        "rubrics": {*RUBRICS.names()},
        "forms": {*READERS.names()},
        "report-tables": {*TABLES.names()},
    }
    assert {page.relative_to(DOCS) for page in entries} == {
        Path(folder, f"{name}.md") for folder, of_kind in names.items() for name in of_kind
    }
    assert not [folder for folder in names if (DOCS / folder).exists()]


@pytest.mark.slow
def test_kept_pages_get_their_lists_and_lead_to_entries(
    entries: dict[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from catalogue_pages import with_entry_links, with_lists

    metrics = with_lists((DOCS / "metrics.md").read_text("utf-8"))
    assert "[`smog`](metrics/smog.md)" in metrics
    rubrics = with_lists((DOCS / "rubrics.md").read_text("utf-8"))
    assert [name for name in RUBRICS.names() if f"[`{name}`](rubrics/{name}.md)" not in rubrics] == []
    assert "<!-- on the site" not in metrics + rubrics
    text = "[`smog`](../metrics.md), [`smog`](metrics.md), [`nothing`](../metrics.md), [Metrics](../metrics.md)"
    assert with_entry_links(text, DOCS / "suites") == text.replace("../metrics.md", "../metrics/smog.md", 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    commands = command_line()
    typed = r"^\w*\$ (?:docker (?:compose )?run (?:.*? )?)?bedside(?::\w+)? +(.+)$"
    for line in re.findall(typed, page.read_text("utf-8"), flags=re.MULTILINE):
        command = commands
        words = line.partition("#")[0].replace("'", "").split()
        while words and hasattr(command, "commands") and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        if isinstance(command, UsualCommandGroup):
            command = command.commands["run"]
        assert command is not commands, line
        known = {option for parameter in command.params for option in parameter.opts}
        for word in words:
            if word.startswith("--"):
                assert word in known, f"{word} in: bedside {line}"


def test_extras_are_installed_by_lines_that_every_shell_takes() -> None:
    """In double quotation marks, for cmd.exe of Windows hands single ones on to pip."""
    files = {*PAGES, *(ROOT / "bedside").rglob("*.py")}
    single = re.compile(r"'(?:\.|bedside)\[[\w,{}]+\]")
    assert not {path.name for path in files if single.search(path.read_text("utf-8"))}
