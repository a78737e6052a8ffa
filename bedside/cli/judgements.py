"""``bedside judgements``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli._common import JsonOption, say, show_tables

judgements_app = typer.Typer(
    help="What judges were asked and replied.", no_args_is_help=True, rich_markup_mode=None
)


@judgements_app.command("list")
def judgements_list(
    run: Path,
    rubric: Annotated[str | None, typer.Option(help="Of this rubric only.")] = None,
    transcript: Annotated[str | None, typer.Option(help="Of this transcript only.")] = None,
    state: Annotated[str | None, typer.Option(help="answered, unusable or failed.")] = None,
    json: JsonOption = False,
) -> None:
    """List the judgements kept in a run."""
    from bedside.reports.judging import judgements_table

    show_tables([judgements_table(run, rubric=rubric, transcript=transcript, state=state)], json)


@judgements_app.command("show")
def judgements_show(run: Path, key: Annotated[str, typer.Argument(help="The key's first digits.")]) -> None:
    """Show one judgement: what was asked, what was replied, what was made of it."""
    from bedside.reports.judging import judgement_text

    say(judgement_text(run, key))
