"""``bedside coder``, ``redirection`` and ``medconceal``: models that are trained and fitted."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.api.model_training import (
    EvaluateCoderSettings,
    FitRedirectionSettings,
    TrainCoderSettings,
    evaluate_coder,
    fit_redirection,
    train_coder,
)
from bedside.cli import completion as complete
from bedside.cli.help import App, titles
from bedside.cli.output import SeedOption, is_json, note, note_account, say, say_or_show, show_records, show_tables
from bedside.cli.progress import fold_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.words import counted, typed
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.metrics.coders.contract import Coder


# -- ``bedside coder`` -----------------------------------------------------------------------------------


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
coder_app.lists_entries("coders", "The coders of behaviour", titles("bedside.metrics.coders.contract", "CODERS"))


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
    from bedside.metrics.coders.finder import find_coder
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


# -- ``bedside redirection`` -----------------------------------------------------------------------------


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


# -- ``bedside medconceal`` ------------------------------------------------------------------------------


medconceal_app: App = App(
    """Fit the parameters of MedConceal's trace of hidden concerns.

    Examples:
        $ bedside medconceal fit turns.jsonl --out mine.yaml
    """
)


# The group would be its one command without a callback.
@medconceal_app.callback()
def _medconceal() -> None:
    pass


@medconceal_app.command("fit")
def medconceal_fit(
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
        $ bedside medconceal fit turns.jsonl --out mine.yaml
    """
    from bedside.metrics.protocols.medconceal import fit, read_turns, write_parameters
    from bedside.reports.fitting import fit_tables

    if out.suffix != ".yaml":
        raise InputError("a parameter file's name ends in .yaml", where=str(out), todo="choose another name with --out")
    fitting = fit(read_turns(turns), seed=seed, name=out.stem, origin=f"fitted to {turns.name}, seed {seed}.")
    write_parameters(fitting.parameters, out)
    show_tables(fit_tables(fitting))
    note(f"Wrote {out}; use it with --set hidden_concerns.parameters={out}")
