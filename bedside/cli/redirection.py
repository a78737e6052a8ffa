"""``bedside redirection``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.completion import choices
from bedside.cli.help import App
from bedside.cli.options import SeedOption
from bedside.cli.output import note, note_account, say, show_records
from bedside.cli.settings_options import takes_settings
from bedside.core.question_settings import HOW
from bedside.core.words import counted, typed
from bedside.transcripts.read_options import ReadOptions

redirection_app: App = App(
    """Fit redirection's language model to conversations.

    Examples:
        $ bedside redirection fit talks/ --model Qwen/Qwen3-0.6B --out tuned
    """
)

ModelOption = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="Model to begin with: a folder, a .gguf file or a name on the Hugging Face hub.",
    ),
]
TunedFolderOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="FOLDER", help="New folder to write the tuned model to.")
]
MethodOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How the model is tuned: lora, plain, or auto, which is LoRA where peft is installed.",
        autocompletion=choices("auto", "lora", "plain"),
        rich_help_panel=HOW,
    ),
]
EpochsOption = Annotated[
    float,
    typer.Option(metavar="NUMBER", help="How often the tuning goes through the conversations.", rich_help_panel=HOW),
]
LearningRateOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Learning rate of AdamW. Without it, 2e-4 for LoRA and 5e-5 for plain.",
        rich_help_panel=HOW,
    ),
]
WindowOption = Annotated[
    int,
    typer.Option(metavar="NUMBER", help="Most tokens in one piece of a conversation.", rich_help_panel=HOW),
]
BatchOption = Annotated[int, typer.Option(metavar="NUMBER", help="Number of pieces in a step.", rich_help_panel=HOW)]
HeldOutOption = Annotated[
    float,
    typer.Option(
        metavar="NUMBER",
        help="Share of the transcripts that is kept to measure the loss on.",
        rich_help_panel=HOW,
    ),
]


@redirection_app.callback()
def redirection() -> None:
    """Redirection's language model."""


@redirection_app.command("fit")
@takes_settings
def redirection_fit(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Transcripts to tune the model on.")],
    model: ModelOption,
    out: TunedFolderOption,
    method: MethodOption = "auto",
    epochs: EpochsOption = 2.0,
    learning_rate: LearningRateOption = None,
    window: WindowOption = 512,
    batch: BatchOption = 8,
    held_out: HeldOutOption = 0.1,
    *,
    options: ReadOptions,
    seed: SeedOption = 0,
) -> None:
    """Tune a language model on conversations, for scoring redirection with it.

    Examples:
        $ bedside redirection fit talks/ --model Qwen/Qwen3-0.6B --out tuned
    """
    from bedside.metrics.models.fine_tuning import Tuning, fine_tune
    from bedside.transcripts.reading import Reading

    reading = Reading(files, options)
    tuning = Tuning(
        method,
        epochs=epochs,
        learning_rate=learning_rate,
        window=window,
        batch=batch,
        held_out=held_out,
        seed=seed,
    )
    tuned = fine_tune(reading, model, out, tuning, _show_step)
    note_account(reading.account.lines())
    say(
        f"Tuned by {tuned.method} on {counted(tuned.trained, 'transcript')} in {counted(tuned.steps, 'step')}. "
        f"The loss on {counted(tuned.held_out, 'other')}, in nats per token: {tuned.before:.3f} before, "
        f"{tuned.after:.3f} after."
    )
    show_records(
        "tuned",
        "The model that was tuned",
        [
            {
                "folder": str(tuned.folder),
                "method": tuned.method,
                "steps": tuned.steps,
                "transcripts": tuned.trained,
                "held_out": tuned.held_out,
                "loss_before": tuned.before,
                "loss_after": tuned.after,
            }
        ],
        notes=["Losses are in nats per token, on the transcripts that were held out."],
    )
    say(f"Next: bedside score FILES --metrics redirection --set redirection.model={typed(tuned.folder)}")


def _show_step(step: int, steps: int, loss: float) -> None:
    """Say how far the tuning is: a line that changes on a terminal, every fiftieth step elsewhere."""
    line = f"step {step:,} of {steps:,}, loss {loss:.3f}"
    if sys.stderr.isatty():
        typer.echo(f"\r{line}", err=True, nl=step == steps)
    elif step % 50 == 0:
        note(line)
