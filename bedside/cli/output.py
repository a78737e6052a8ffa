"""What the commands print: lines, tables, and the files of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bedside.cli.json_output import is_json, keep_table, show_records
from bedside.cli.option_names import in_options
from bedside.core.errors import InputError
from bedside.core.words import counted, terminal_text

if TYPE_CHECKING:
    from bedside.reports.table import Table


def say(text: str = "") -> None:
    """Print a line of plain text; on standard error where the command prints JSON."""
    typer.echo(terminal_text(text), err=is_json())


def note(text: str) -> None:
    """Print a line about the work, not its result."""
    typer.echo(terminal_text(text), err=True)


def note_account(lines: Iterable[str]) -> None:
    """Say what was understood of the files that were read, before what is computed from them: on standard error, so
    that the output itself stays what was asked for.

    Args:
        lines: of the account; arguments in backquotes are written as the options of the command.
    """
    for line in lines:
        note(in_options(line))


def show_tables(tables: Iterable[Table]) -> None:
    """Print tables; where JSON is asked for, they are printed together when the command ends."""
    if is_json():
        for table in tables:
            keep_table(table)
        return
    from bedside.cli.terminal_tables import print_tables

    print_tables(tables)


def show_and_write(
    tables: Iterable[Table],
    *,
    source: Path,
    out: Path | None,
    next_commands: str | None = None,
) -> None:
    """Print the tables of a question, and write them as files where that is asked for: to ask changes nothing.

    Args:
        tables: the answer.
        source: the run or file of ratings that was asked.
        out: folder of the files; none are written without it.
        next_commands: commands that a run's user may want next.
    """
    listed = tuple(tables)
    try:
        show_tables(listed)
    finally:  # also where whoever reads the first lines wants no more
        if out is not None:
            from bedside.reports.build import write_tables

            note(f"Wrote {counted(len(write_tables(listed, out)), 'file')} to {out}")
    if next_commands is not None and source.is_dir():
        note(f"Next: {next_commands}")


def say_limit(cost: float | None, max_cost: float | None, tell: Callable[[str], None]) -> None:
    """Say that a limit of costs was reached, where it was."""
    from bedside.reports.number_text import money

    if cost is not None and max_cost is not None and cost >= max_cost:
        tell(f"Spent {money(cost)} of {money(max_cost)}; what is finished is kept.")


def say_or_show(text: str, name: str, title: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Print a text, or where JSON is asked for, records that say the same.

    Args:
        text: of several lines.
        name, title, records: as :func:`bedside.cli.json_output.show_records` takes them.
    """
    if is_json():
        show_records(name, title, records)
    else:
        say(text)


def list_entries(
    context: typer.Context, what: str, rows: Callable[[], list[tuple[str, str]]], *, title: str
) -> None:
    """Print names with their titles, unless a command of the group was named.

    Args:
        context: of the group.
        what: the name of the table of them.
        rows: names and titles; a name with spaces before it is of the group above it.
        title: what they are.
    """
    if context.invoked_subcommand is not None:
        if is_json():
            command = context.invoked_subcommand
            raise InputError(f"it stands before {command}", where="--json", todo=f"write it after {command}")
        return
    entries = rows()
    if is_json():
        show_records(what, title, [{"name": name.strip(), "title": words} for name, words in entries])
        return
    width = max(len(name) for name, _ in entries)
    for name, words in entries:
        say(f"{name:<{width}}  {words}")
