"""``bedside train``: models that are trained and fitted."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bedside.api.model_training import (
    EvaluateCoderSettings,
    FitRedirectionSettings,
    TrainCoderSettings,
    evaluate_coder,
    fit_redirection,
    train_coder,
)
from bedside.cli.help import App
from bedside.cli.note2chat import note2chat_app
from bedside.cli.output import SeedOption, note, note_account, say, show_records, show_tables
from bedside.cli.progress import fold_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.words import counted, typed
from bedside.transcripts.read_options import ReadOptions

train_app: App = App(
    """Train coders and models; make training data as Note2Chat does.

    bedside list coders names the coders of behaviour, and bedside show mine.npz prints the card of a trained one.

    Examples:
        $ bedside train coder coded.csv --out mine.npz
        $ bedside train redirection talks/ --model Qwen/Qwen3-0.6B --out tuned
        $ bedside train policy turns.jsonl --out mine.yaml
        $ bedside train note2chat prepare notes.jsonl --evaluator openai/gpt-5-mini --out prepared
    """
)

FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILES", help="Transcripts whose turns people coded (meta.codes).")
]


@train_app.command("coder")
@takes_settings
def coder(files: FilesArgument, settings: TrainCoderSettings, *, options: ReadOptions) -> None:
    with fold_progress() as progress:
        tables = train_coder.with_settings(files, replace(settings, options=options, progress=progress))
    note_account(tables.results.account.lines())
    show_tables(tables)
    out = settings.out
    note(f"Wrote {out}: {tables.results.coder.coder().rater}. Use it with --set behaviour.coders=human,{out}")


@train_app.command("test-coder")
@takes_settings
def test_coder(files: FilesArgument, settings: EvaluateCoderSettings, *, options: ReadOptions) -> None:
    in_folds = settings.coder is None and settings.judge is None
    with fold_progress() if in_folds else nullcontext() as progress:
        tables = evaluate_coder.with_settings(files, replace(settings, options=options, progress=progress))
    note_account(tables.results.account.lines())
    show_tables(tables)


@train_app.command("redirection")
@takes_settings
def train_redirection(
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


@train_app.command("policy")
def train_policy(
    turns: Annotated[
        Path, typer.Argument(metavar="TURNS", help="Labelled turns, JSON lines; see docs/suites/medconceal.md.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The parameter file to write; its name ends in .yaml.")
    ],
    seed: SeedOption = 0,
) -> None:
    """Fit the weights and thresholds of the trace to labelled turns.

    Weights come from a logistic regression, thresholds from replaying held-out cases.

    Examples:
        $ bedside train policy turns.jsonl --out mine.yaml
    """
    from bedside.metrics.protocols.medconceal.fitting import fit
    from bedside.metrics.protocols.medconceal.policy import write_parameters
    from bedside.metrics.protocols.medconceal.trace import read_turns
    from bedside.reports.fitting import fit_tables

    if out.suffix != ".yaml":
        raise InputError("a parameter file's name ends in .yaml", where=str(out), todo="choose another name with --out")
    fitting = fit(read_turns(turns), seed=seed, name=out.stem, origin=f"fitted to {turns.name}, seed {seed}.")
    write_parameters(fitting.parameters, out)
    show_tables(fit_tables(fitting))
    note(f"Wrote {out}; use it with --set hidden_concerns.parameters={out}")


train_app.add_typer(note2chat_app, name="note2chat")
