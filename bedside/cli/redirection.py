"""``bedside redirection``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.common import (
    HOW,
    FormatOption,
    RolesOption,
    SeedOption,
    TextColumnsOption,
    note,
    reading_options,
    say,
)
from bedside.cli.completion import one_of
from bedside.cli.help import App

redirection_app = App("Fit redirection's language model to conversations.")


@redirection_app.callback()
def redirection() -> None:
    """Redirection's language model."""


@redirection_app.command("fit")
def redirection_fit(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Transcripts to tune the model on.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The model to begin with: a folder, a .gguf file or a name on the Hugging Face hub.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the tuned model; a new one.")
    ],
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="lora, plain, or auto: LoRA where peft is installed.",
            autocompletion=one_of("auto", "lora", "plain"),
            rich_help_panel=HOW,
        ),
    ] = "auto",
    epochs: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="Times that each conversation is gone through.", rich_help_panel=HOW
        ),
    ] = 2.0,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Of AdamW; 2e-4 for LoRA, 5e-5 for plain.", rich_help_panel=HOW),
    ] = None,
    window: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", help="Tokens of a piece of conversation, at most.", rich_help_panel=HOW
        ),
    ] = 512,
    batch: Annotated[int, typer.Option(metavar="NUMBER", help="Pieces in a step.", rich_help_panel=HOW)] = 8,
    held_out: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="Share of transcripts kept to measure the loss on.", rich_help_panel=HOW
        ),
    ] = 0.1,
    format_: FormatOption = None,
    roles: RolesOption = None,
    columns: TextColumnsOption = None,
    seed: SeedOption = 0,
) -> None:
    """Tune a language model on conversations, for scoring redirection with it.

    Examples:
        $ bedside redirection fit talks/ --model Qwen/Qwen3-0.6B --out tuned
    """
    from bedside.models.fine_tuning import Tuning, fine_tune
    from bedside.transcripts import Reading

    reading = Reading(files, reading_options(format_, roles, columns, None, "stop"))
    tuning = Tuning(method, epochs, learning_rate, window, batch, held_out, seed)
    live = sys.stderr.isatty()

    def progress(step: int, steps: int, loss: float) -> None:
        if live:
            typer.echo(f"\rstep {step:,} of {steps:,}, loss {loss:.3f}", err=True, nl=step == steps)
        elif step % 50 == 0:
            note(f"step {step:,} of {steps:,}, loss {loss:.3f}")

    tuned = fine_tune(reading, model, out, tuning, progress)
    say(
        f"Tuned by {tuned.method} on {tuned.trained:,} transcripts in {tuned.steps:,} steps. Loss on "
        f"{tuned.held_out:,} others, in nats per token: {tuned.before:.3f} before, {tuned.after:.3f} after."
    )
    say(f"Next: bedside score FILES --metrics redirection --set redirection.model={tuned.folder}")
