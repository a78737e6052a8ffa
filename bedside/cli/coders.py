"""``bedside coder``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.api.model_training import EvaluateCoderSettings, TrainCoderSettings, evaluate_coder, train_coder
from bedside.cli import completion as complete
from bedside.cli.help import App, titles
from bedside.cli.output import is_json, note, note_account, say_or_show, show_records, show_tables
from bedside.cli.progress import fold_progress
from bedside.cli.settings_options import takes_settings
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.metrics.coders import Coder

coder_app: App = App(
    """List the coders of behaviour; train one on people's codes, or test one.

    Examples:
        $ bedside coder
        $ bedside coder train coded.csv --out mine.npz
        $ bedside score talks/ --set behaviour.coders=human,mine.npz
    """,
    lists=True,
)

FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILES", help="Transcripts whose turns people coded (meta.codes).")
]
coder_app.lists_entries("coders", "The coders of behaviour", titles("bedside.metrics.coders", "CODERS"))


@coder_app.command("train")
@takes_settings
def coders_train(files: FilesArgument, settings: TrainCoderSettings, *, options: ReadOptions) -> None:
    with fold_progress() as progress:
        tables = train_coder.with_settings(files, replace(settings, options=options, progress=progress))
    note_account(tables.results.account.lines())
    show_tables(tables)
    out = settings.out
    note(f"Wrote {out}: {tables.results.coder.coder().rater}. Use it with --set behaviour.coders=human,{out}")


@coder_app.command("show")
def coders_show(
    coder: Annotated[
        str,
        typer.Argument(
            metavar="CODER",
            help="Name of a coder, or the file of a trained one (.npz).",
            autocompletion=complete.coders,
        ),
    ],
) -> None:
    """Print what a coder gives, in which languages; of a trained one its card.

    The card says what it was trained on, and how good it is.

    Examples:
        $ bedside coder show rules
        $ bedside coder show mine.npz
    """
    from bedside.metrics.coders import find_coder
    from bedside.metrics.coders.learned.trained_coder import load_card
    from bedside.reports.coder_test import card_tables

    if not coder.endswith(".npz"):
        _say_coder(find_coder(coder))
        return
    card, rater = load_card(coder)
    if is_json():
        show_records("card", f"The card of {rater}", [{"rater": rater, **card}])
        return
    show_tables(card_tables(card, rater))


def _say_coder(coder: Coder) -> None:
    languages = ", ".join(coder.languages) or "not stated"
    lines = [
        f"{coder.name}: {coder.title}",
        "",
        coder.description,
        "",
        f"Name in ratings: {coder.rater}",
        f"Codes: {', '.join(coder.codes)}",
        f"Languages: {languages}",
        f"Source: {coder.source}",
    ]
    facts = ("name", "title", "description", "version", "rater", "codes", "languages", "source")
    record = {fact: getattr(coder, fact) for fact in facts}
    say_or_show("\n".join(lines), "coder", coder.title, [record])


@coder_app.command("evaluate")
@takes_settings
def coders_evaluate(files: FilesArgument, settings: EvaluateCoderSettings, *, options: ReadOptions) -> None:
    in_folds = settings.coder is None and settings.judge is None
    with fold_progress() if in_folds else nullcontext() as progress:
        tables = evaluate_coder.with_settings(files, replace(settings, options=options, progress=progress))
    note_account(tables.results.account.lines())
    show_tables(tables)
