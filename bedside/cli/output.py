"""What the commands print: lines, tables on a terminal, ``--json``, and the files of tables."""

from __future__ import annotations

import inspect
import json as json_form
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import typer

from bedside.cli.options import JsonOption
from bedside.core.errors import BedsideError, InputError, with_options
from bedside.core.words import counted, terminal_text

if TYPE_CHECKING:
    from bedside.reports.table import Table
    from bedside.reports.table_content import TableContent


# -- What the command that runs calls the arguments of the library --------------------------------------

_OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options")


@contextmanager
def naming_options(options: Mapping[str, str]) -> Iterator[None]:
    """While a command runs: errors of the library name its options where the library named arguments.

    Args:
        options: the option by the name of the argument, such as ``--seed`` by ``seed``.
    """
    token = _OPTIONS.set(options)
    try:
        yield
    except BedsideError as error:
        error.name_options(options)
        raise
    finally:
        _OPTIONS.reset(token)


def in_options(message: str) -> str:
    """A message of the library with the options of the command that runs in place of arguments."""
    return with_options(message, _OPTIONS.get({}))


# -- ``--json``: what a command would print as tables and lines becomes one JSON array of tables on standard output ---
# A command that says yes or no prints an object that holds the array beside its verdict.

Printing = TypeVar("Printing", bound=Callable[..., Any])

#: The tables that the command has shown so far, as JSON texts; None where JSON isn't asked for.
_TABLES: ContextVar[list[str] | None] = ContextVar("tables", default=None)


def is_json() -> bool:
    """Whether the command that runs prints JSON: lines go to standard error then."""
    return _TABLES.get() is not None


def refuse_json(other: str) -> None:
    """Refuse ``--json`` where a page is served.

    Args:
        other: what to type for a JSON that there is.

    Raises:
        InputError: JSON is asked for.
    """
    if is_json():
        raise InputError("a page that is served prints no JSON", where="--json", todo=f"leave it out, or {other}")


def keep_table(table: TableContent) -> None:
    """Have a table printed when the command ends."""
    from bedside.reports.renderers.records import json_text

    tables = _TABLES.get()
    assert tables is not None
    tables.append(json_text(table).rstrip())


def show_records(name: str, title: str, records: Iterable[Mapping[str, Any]], notes: Iterable[str] = ()) -> None:
    """Where JSON is asked for, have records printed as a table; elsewhere nothing, for lines said it.

    Args:
        name: of the table.
        title: what it shows.
        records: one a row, of plain values.
        notes: remarks.
    """
    if is_json():
        from bedside.reports.table_content import TableContent

        keep_table(TableContent(name, title, (), (), tuple(notes), tuple(records)))


def gives_verdict(command: Printing) -> Printing:
    """A command that ends without an exit code where the answer is yes; as JSON it prints that first, errors too."""
    command.gives_verdict = True  # type: ignore[attr-defined]
    return command


def takes_json(command: Printing) -> Printing:
    """A command with the option ``--json``, which it needn't know of."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
    # A parameter without a default can't follow one that has some; all are typed by name.
    option = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)

    verdict = getattr(command, "gives_verdict", False)

    @wraps(command)
    def with_json(*, json: bool, **typed: Any) -> Any:
        if not json:
            return command(**typed)
        tables: list[str] = []
        token = _TABLES.set(tables)
        ended, error = False, None
        try:
            result = command(**typed)
            ended = True
        except (BedsideError, OSError) as raised:
            error = in_options(str(raised))
            raise
        finally:
            _TABLES.reset(token)
            array = "[" + ",\n".join(tables) + "]"
            if verdict:
                said = f'"passed": {json_form.dumps(ended)}, "error": {json_form.dumps(error, ensure_ascii=False)}'
                typer.echo(f'{{{said}, "tables": {array}}}')
            elif ended or tables:  # what a command showed before it stopped is printed, as elsewhere
                typer.echo(array)
        return result

    with_json.__signature__ = inspect.Signature([*parameters, option])  # type: ignore[attr-defined]
    with_json.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, option)}
    return with_json  # type: ignore[return-value]


# -- What the commands print ----------------------------------------------------------------------------


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

    print_tables(tables)


def show_and_write(
    tables: Iterable[Table], *, source: Path, out: Path | None, next_commands: str | None = None
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
        name, title, records: as :func:`bedside.cli.output.show_records` takes them.
    """
    if is_json():
        show_records(name, title, records)
    else:
        say(text)


def say_entries(what: str, rows: Iterable[tuple[str, str]], *, title: str) -> None:
    """Print names with their titles.

    Args:
        what: the name of the table of them.
        rows: names and titles; a name with spaces before it is of the group above it.
        title: what they are.
    """
    entries = list(rows)
    if is_json():
        show_records(what, title, [{"name": name.strip(), "title": words} for name, words in entries])
        return
    width = max(len(name) for name, _ in entries)
    for name, words in entries:
        say(f"{name:<{width}}  {words}")


# -- Tables on a terminal -------------------------------------------------------------------------------

#: Width of titles and notes outside a terminal; a table is as wide there as its numbers need.
_PIPED = 160
#: A column of text may be narrowed to this, or to its longest word up to the other.
_NARROW, _WORD = 16, 32
#: What rich puts between two columns, and at both ends.
_GAP, _ENDS = 3, 2


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables.

    Where a terminal is too narrow for all columns, they come in blocks, each with the names of its rows; elsewhere a
    table needn't fit a screen.
    """
    from rich.console import Console
    from rich.text import Text

    from bedside.reports.renderers.terminal import rich_table

    screen = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console() if screen else Console(width=_PIPED)
    with console.capture() as shown:  # rich ends the process itself where it prints to a closed pipe
        for number, table in enumerate(tables):
            if number:
                console.print()
            console.print(Text(terminal_text(table.title), style="table.title"))
            for block in _blocks(table, console.width) if screen else [table]:
                view = rich_table(replace(block, notes=()))
                view.title = view.caption = None
                for column in view.columns:
                    column.overflow = "fold"
                width = console.width
                # rich prints nothing wider than its console, whatever width is asked for.
                console.width = width if screen else max(width, _needs(block))
                console.print(view, crop=False)
                console.width = width
            if table.notes:
                console.print(Text(terminal_text("\n".join(table.notes)), style="table.caption"))
    typer.echo(shown.get(), nl=False)


def _blocks(table: Table, width: int) -> list[Table]:
    """The table in parts that fit ``width``, each of them with the columns that name the rows."""
    if _needs(table) <= width:
        return [table]
    names = 1
    while table.columns[names : names + 1] and table.columns[names].align == "left":
        names += 1
    head = list(range(names))
    if names == len(table.columns) or _needs(table.of_columns(head)) > width / 2:
        head = [0]
    blocks: list[list[int]] = []
    for place in range(len(head), len(table.columns)):
        if not blocks or _needs(table.of_columns([*blocks[-1], place])) > width:
            blocks.append([*head])
        blocks[-1].append(place)
    return [table.of_columns(places) for places in blocks]


def _needs(table: Table) -> int:
    """The least width at which no number and no word of the table is cut."""
    from rich.cells import cell_len

    shared = [group if not place else None for group, count in table.spans() for place in range(count)]
    total = _ENDS
    for place, column in enumerate(table.columns):
        texts = [column.title, shared[place] or ""]
        texts += [row.cells[place].text + row.cells[place].marks for row in table.rows]
        if place == 0:
            texts += [row.group or "" for row in table.rows]
        least = max(map(cell_len, texts))
        if column.align == "left":
            word = max((cell_len(word) for text in texts for word in text.split()), default=0)
            least = min(least, max(_NARROW, min(word, _WORD)))
        total += least + _GAP
    return total - _GAP
