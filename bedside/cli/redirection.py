"""``bedside redirection``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from bedside.api.model_training import FitRedirectionSettings, fit_redirection
from bedside.cli.help import App
from bedside.cli.output import note, note_account, say, show_records
from bedside.cli.settings_options import takes_settings
from bedside.core.words import counted, typed
from bedside.transcripts.read_options import ReadOptions

redirection_app: App = App(
    """Fit redirection's language model to conversations.

    Examples:
        $ bedside redirection fit talks/ --model Qwen/Qwen3-0.6B --out tuned
    """
)


@redirection_app.callback()
def redirection() -> None:
    """Redirection's language model."""


@redirection_app.command("fit")
@takes_settings
def redirection_fit(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Transcripts to tune the model on.")],
    settings: FitRedirectionSettings,
    *,
    options: ReadOptions,
) -> None:
    fitted = fit_redirection.with_settings(files, replace(settings, options=options, progress=_show_step))
    tuned = fitted.tuned
    note_account(fitted.account.lines())
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
