"""The docs say what the code does: pages are current, links lead somewhere, commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bedside.cli import command_line
from bedside.cli.help import UsualCommandGroup

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.slow
def test_made_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_commands_print_what_the_pages_show() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_docs.py", "--check", "--console"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    commands = command_line()
    for line in re.findall(r"^\$ bedside (.+)$", page.read_text("utf-8"), flags=re.MULTILINE):
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
