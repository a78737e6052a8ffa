"""``bedside doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from bedside.cli.common import JsonOption, show_tables
from bedside.cli.completion import judges


def doctor(
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Also ask this judge one short question (nothing of any transcript), wherever it is served.",
            autocompletion=judges,
        ),
    ] = None,
    label_studio: Annotated[
        str | None, typer.Option(metavar="URL", help="Also reach the Label Studio at this address.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what is installed, what is missing, and what can be reached.

    The exit code is 1 where something that bedside needs, or that you asked for, does not work.

    Examples:
        $ bedside doctor
        $ bedside doctor --judge openai/gpt-5-mini
    """
    from bedside.cli.installation import examine
    from bedside.reports.table import Cell, Column, Row, Table

    found = examine(judge or (), label_studio)
    words = {True: "good", False: "bad", None: "not installed"}
    table = Table(
        name="doctor",
        title="What bedside finds on this computer",
        columns=tuple(Column(title, "left") for title in ("", "State", "Found", "To do")),
        rows=tuple(
            Row(tuple(map(Cell, (one.what, words[one.good], one.said, one.todo))), one.group) for one in found
        ),
        records=tuple(
            {"group": one.group, "what": one.what, "good": one.good, "found": one.said, "todo": one.todo}
            for one in found
        ),
    )
    show_tables([table], json)
    if any(one.good is False for one in found):
        raise typer.Exit(1)
