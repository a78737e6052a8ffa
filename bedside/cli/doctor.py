"""``bedside doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from bedside.cli.completion import judges
from bedside.cli.output import show_tables


def doctor(
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Judge to have rate a short made-up conversation as well, wherever it is served, asked as in scoring.",
            autocompletion=judges,
        ),
    ] = None,
    label_studio: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of a Label Studio to reach as well.")
    ] = None,
) -> None:
    """Show what is installed, what is missing, and what can be reached.

    The exit code is 1 where something that bedside needs, or that you asked for, does not work.

    Examples:
        $ bedside doctor
        $ bedside doctor --judge openai/gpt-5-mini
    """
    from bedside.cli.installation import examine
    from bedside.reports.table import Table
    from bedside.reports.table_content import Cell, Column, Row

    facts = examine(judge or (), label_studio)
    words = {True: "good", False: "bad", None: "not installed"}
    table = Table(
        name="doctor",
        title="What bedside finds on this computer",
        columns=tuple(Column(title, "left") for title in ("", "State", "Found", "To do")),
        rows=tuple(
            Row(tuple(map(Cell, (fact.what, words[fact.good], fact.finding, fact.todo))), fact.group) for fact in facts
        ),
        records=tuple(
            {
                "group": fact.group,
                "what": fact.what,
                "good": fact.good,
                "found": fact.finding,
                "todo": fact.todo,
            }
            for fact in facts
        ),
    )
    show_tables([table])
    if any(fact.good is False for fact in facts):
        raise typer.Exit(1)
