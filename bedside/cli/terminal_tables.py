"""Tables on a terminal: no number is cut, whatever the width."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from bedside.core.words import terminal_text

if TYPE_CHECKING:
    from bedside.reports.table import Table

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
