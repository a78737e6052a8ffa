"""The docs say what the code does: pages are current, links lead somewhere, commands exist."""

from __future__ import annotations

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
#: Made pages, one an entry of a registry; all others are tested one by one.
ENTRIES = sorted(
    page for folder in ("metrics", "rubrics", "forms", "report-tables") for page in (DOCS / folder).glob("*.md")
)
PAGES = sorted({ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")} - {*ENTRIES})


@pytest.mark.slow
def test_made_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def dead_links(page: Path) -> list[str]:
    """Targets of a page's links that aren't there."""
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    return [target for target in targets if "://" not in target and not (page.parent / target).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert not dead_links(page)


def test_links_of_the_catalogues_lead_somewhere() -> None:
    assert len(ENTRIES) > 200
    assert not {page: dead_links(page) for page in ENTRIES if dead_links(page)}


@pytest.mark.parametrize("registry", ["metrics", "rubrics", "forms", "report-tables"])
def test_every_entry_has_a_page(registry: str) -> None:
    names = {
        "metrics": {metric.name for family in FAMILIES.all().values() for metric in family.metrics},
        "rubrics": {*RUBRICS.names()},
        "forms": {*READERS.names()},
        "report-tables": {*TABLES.names()},
    }[registry]
    assert {page.stem for page in (DOCS / registry).glob("*.md")} == names


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
    files = {*PAGES, *ENTRIES, *(ROOT / "bedside").rglob("*.py")}
    single = re.compile(r"'(?:\.|bedside)\[[\w,{}]+\]")
    assert not {path.name for path in files if single.search(path.read_text("utf-8"))}
