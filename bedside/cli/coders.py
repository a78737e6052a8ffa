"""``bedside coder``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.cli._common import JsonOption, list_entries, listing, read_names, reading_options, show_tables
from bedside.errors import InputError

coders_app = listing("Coders of behaviour; `evaluate FILE` compares one with people's codes.")


@coders_app.callback()
def coders(context: typer.Context) -> None:
    """List the coders."""
    from bedside.coders import CODERS

    list_entries(context, lambda: [(name, coder.title) for name, coder in CODERS.all().items()])


@coders_app.command("evaluate")
def coders_evaluate(
    files: Annotated[list[str], typer.Argument(help="Transcripts that people coded.")],
    coder: Annotated[str, typer.Option(help="The coder to compare with people.")] = "rules",
    judge: Annotated[str | None, typer.Option(help="A model to code in place of a coder.")] = None,
    codes: Annotated[
        str | None, typer.Option(help="With --judge: the codes it gives; all unless named.")
    ] = None,
    store: Annotated[Path, typer.Option(help="With --judge: the file that keeps what it replied.")] = Path(
        "coding.sqlite"
    ),
    turns_per_call: Annotated[int, typer.Option(help="With --judge: turns that one call asks about.")] = 12,
    max_concurrency: Annotated[int, typer.Option(help="With --judge: requests under way at once.")] = 8,
    max_calls: Annotated[int | None, typer.Option(help="With --judge: hard stop, requests at most.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --judge: print calls and tokens; ask nothing.")
    ] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="Reader to use, not the one recognised.")
    ] = None,
    roles: Annotated[str | None, typer.Option(help='Who is who: "Dr Smith=clinician,Anna=patient".')] = None,
    columns: Annotated[str | None, typer.Option(help="bedside's column names to the file's.")] = None,
    json: JsonOption = False,
) -> None:
    """Compare a coder with people's codes, beside how well people agree with one another."""
    from bedside.coders import CODERS
    from bedside.coders.evaluation import evaluate
    from bedside.reports.coder import coder_tables
    from bedside.transcripts import Reading

    reading = Reading(files, reading_options(format_, roles, columns, None, "stop"))
    if judge is None:
        if dry_run:
            raise InputError("no judge is named", where="--dry-run", todo="add --judge MODEL")
        show_tables(coder_tables(evaluate(reading, CODERS.load(coder))), json)
        return
    from bedside.judges.asking import Asking
    from bedside.judges.coding import coded_by_people, evaluate_judge, plan_coding
    from bedside.reports.judging import judged_table, plan_table
    from bedside.transcripts.model import CODES

    wanted = tuple(read_names(codes) or CODES)
    how: dict[str, Any] = {"store_path": store, "codes": wanted, "turns_per_call": turns_per_call}
    if dry_run:
        show_tables([plan_table(plan_coding(coded_by_people(reading, wanted), judge, **how))], json)
        return
    asking = Asking(max_concurrency=max_concurrency, max_calls=max_calls)
    evaluation, judged = evaluate_judge(reading, judge, asking=asking, **how)
    show_tables((judged_table([judged]), *coder_tables(evaluation)), json)
