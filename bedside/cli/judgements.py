"""``bedside judgements``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli._common import JsonOption, note, say, show_tables
from bedside.cli._help import App
from bedside.cli.scoring import judging_progress, say_batched

judgements_app = App("See what judges were asked and replied; batches of calls.")


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


@judgements_app.command("passes")
def judgements_passes(run: Path, json: JsonOption = False) -> None:
    """Show what a judge's passes come to (mean, median, mode), how far they spread and how far they agree."""
    from bedside.evaluation import open_evaluation
    from bedside.reports.judging import passes_table

    show_tables([passes_table(open_evaluation(run))], json)


@judgements_app.command("import")
def judgements_import(
    run: Path,
    files: Annotated[list[Path], typer.Argument(help="What the service answered, errors included.")],
    batch_out: Annotated[
        Path | None, typer.Option("--batch-out", help="Write the calls that remain to this JSONL file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Read the answers of a batch that `bedside score --batch-out` wrote the calls of, and make the ratings."""
    _again(run, files, batch_out, json)


@judgements_app.command("export")
def judgements_export(
    run: Path,
    file: Annotated[
        Path, typer.Argument(help="The JSONL file of calls; several where they don't fit in one.")
    ],
) -> None:
    """Write the calls that remain of what `bedside score --batch-out` was told."""
    _again(run, [], file, False)


def _again(run: Path, files: list[Path], out: Path | None, json: bool) -> None:
    from bedside.evaluation import own_rubrics
    from bedside.judging import batch_again
    from bedside.ratings import Run
    from bedside.reports.judging import judged_table

    opened = Run(run)
    with judging_progress() as watch:
        batched = batch_again(opened, files, out, progress=watch)
    if files:
        show_tables([judged_table(batched.judged, own_rubrics(opened).values())], json)
    say_batched(batched, run, note if json else say)
