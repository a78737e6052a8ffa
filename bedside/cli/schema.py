"""``bedside schema``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.output import say_or_show


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The kind of file, such as rubric. Without one, the kinds are listed.",
            autocompletion=complete.schemas,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors to check while you type.

    The schema called output describes what the commands print with --json. docs/editors.md says how an editor is
    told to use a schema.

    Examples:
        $ bedside schema
        $ bedside schema rubric > rubric.schema.json
    """
    from bedside.cli.schemas import schema_names, schema_text

    if name is not None:
        text = schema_text(name)
        about = f"The JSON Schema of {name}"
        say_or_show(text.removesuffix("\n"), "schema", about, [{"name": name, "schema": json.loads(text)}])
        return
    rows = [{"name": known, "title": json.loads(schema_text(known))["title"]} for known in schema_names()]
    width = max(len(row["name"]) for row in rows)
    text = "\n".join(f"{row['name']:<{width}}  {row['title']}" for row in rows)
    say_or_show(text, "schemas", "The kinds of files that there are schemas of", rows)
