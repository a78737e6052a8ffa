"""``bedside medconceal``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli.help import App
from bedside.cli.options import SeedOption
from bedside.cli.output import note, show_tables
from bedside.core.errors import InputError

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
        Path,
        typer.Argument(metavar="TURNS", help="Labelled turns as JSON lines; docs/medconceal.md shows their form."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The parameter file to write; its name ends in .yaml."),
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
