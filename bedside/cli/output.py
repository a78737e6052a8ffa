"""What the commands print: lines, tables, and the files of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bedside.support.plurals import counted

if TYPE_CHECKING:
    from bedside.reports.table import Table


def say(text: str = "") -> None:
    """Print a line of plain text."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a line about the work, not its result."""
    typer.echo(text, err=True)


def note_account(lines: Iterable[str]) -> None:
    """Say what was understood of the files that were read, before what is computed from them: on standard error, so
    that the output itself stays what was asked for.

    Args:
        lines: of the account; arguments in backquotes are written as the options of the command.
    """
    from bedside.cli.help import in_options

    for line in lines:
        note(in_options(line))


def show_tables(tables: Iterable[Table], as_json: bool = False) -> None:
    """Print tables; as JSON they are an array, one object a table."""
    if as_json:
        from bedside.reports.renderers.json import json_text

        typer.echo("[" + ",\n".join(json_text(table).rstrip() for table in tables) + "]")
        return
    from bedside.cli.terminal_tables import print_tables

    print_tables(tables)


def show_and_write(
    tables: Iterable[Table],
    *,
    source: Path,
    out: Path | None,
    as_json: bool,
    next_commands: str | None = None,
) -> None:
    """Print the tables of a question, and write them as files.

    Args:
        tables: the answer.
        source: the run or file of ratings that was asked.
        out: folder of the files; a run's are written to its ``tables`` without it, a file's nowhere.
        as_json: whether to print JSON.
        next_commands: commands that a run's user may want next.
    """
    listed = tuple(tables)
    try:
        show_tables(listed, as_json)
    finally:  # also where whoever reads the first lines wants no more
        folder = out or (source / "tables" if source.is_dir() else None)
        if folder is not None:
            from bedside.reports.build import write_tables

            note(f"Wrote {counted(len(write_tables(listed, folder)), 'file')} to {folder}")
    if next_commands is not None and source.is_dir():
        note(f"Next: {next_commands}")


def say_limit(cost: float | None, max_cost: float | None, tell: Callable[[str], None]) -> None:
    """Say that a limit of costs was reached, where it was."""
    from bedside.reports.number_text import money

    if cost is not None and max_cost is not None and cost >= max_cost:
        tell(f"Spent {money(cost)} of {money(max_cost)}; what is finished is kept.")


def list_entries(context: typer.Context, rows: Callable[[], list[tuple[str, str]]]) -> None:
    """Print names with their titles, unless a command of the group was named."""
    if context.invoked_subcommand is not None:
        return
    entries = rows()
    width = max(len(name) for name, _ in entries)
    for name, title in entries:
        say(f"{name:<{width}}  {title}")
