"""What others wrote can do nothing to a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bedside.cli.output import note, say
from bedside.core.words import visible
from bedside.reports.renderers.terminal import rich_table
from bedside.reports.table_content import Cell, Column, Row, TableContent

#: Clears the screen, sets the window's title, writes to the clipboard, goes back over the line, turns letters round.
COMMANDS = ["\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "rm\rls", "a\bb", "\x9b31m", "\u202eabc\u202c", "\x00"]


@pytest.mark.parametrize("command", COMMANDS, ids=ascii)
def test_what_commands_a_terminal_is_written_out(command: str) -> None:
    shown = visible(f"before {command} after")
    assert not set(shown) & set("\x00\x07\b\r\x1b\x9b\u202e\u202c")
    assert shown.startswith("before ")
    assert shown.endswith(" after")


def test_what_people_write_stays() -> None:
    for text in ("a\tb\nc", "医生 Grüße", "می\u200cخواهم", "👩\u200d⚕️", "a\u00a0b"):
        assert visible(text) == text


def test_lines_and_tables_command_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Typer leaves colours out where no terminal reads; here one does.
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    for command in COMMANDS:
        say(f"x{command}")
        note(f"x{command}")
        row = Row((Cell(f"x{command}"),), group=f"g{command}")
        table = TableContent("t", f"t{command}", (Column(f"c{command}"),), (row,), (f"n{command}",))
        screen = io.StringIO()
        Console(file=screen, width=60).print(rich_table(table))
        printed = capsys.readouterr()
        for text in (printed.out, printed.err, screen.getvalue()):
            assert not set(text) & set("\x00\x07\b\r\x1b\x9b\u202e\u202c")
            assert "x" in text
