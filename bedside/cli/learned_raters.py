"""``bedside judge learn``, and the raters that ``bedside score`` is told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.options import HOW, WHICH, RoundOption, ScaleOption, SeedOption
from bedside.cli.output import note, show_tables
from bedside.cli.parsing import read_rounds
from bedside.core.words import typed

if TYPE_CHECKING:
    from bedside.transcripts import ReadOptions

LearnedRaterOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--rater",
        metavar="FILE",
        help="File of a rater that learnt from people, as bedside judge learn writes it; it rates too. May be "
        "repeated.",
    ),
]


def check_learned_raters(files: Sequence[Path] | None) -> None:
    """Raise where a file is no learned rater's, before anything is scored."""
    for file in files or ():
        from bedside.tuning.learned_rater import load_rater

        load_rater(file)


def rate_with(run: Path, files: Sequence[Path] | None, transcripts: list[str], options: ReadOptions) -> None:
    """Have learned raters rate a run that was scored."""
    for file in files or ():
        from bedside.api.judge_tuning import rate

        note(f"{rate(run, file, transcripts=transcripts, options=options)} has rated.")


def learn(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run with people's ratings.")],
    rubric: Annotated[
        str,
        typer.Option(
            "--rubric",
            "--metric",
            metavar="NAME",
            help="Rubric, metric or code that people rated.",
            autocompletion=complete.rated,
            rich_help_panel=WHICH,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The rater's file to write; its name ends in .npz."),
    ],
    split: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of cases to learn from; the rater is tried on the others. With 1 it learns from all, and "
            "raters like it are tried on what each has not learnt from.",
            rich_help_panel=HOW,
        ),
    ] = 0.5,
    features: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What it looks at: text, or embeddings:MODEL with the folder of a sentence-embedding model or the "
            "name of a package that ships one.",
            rich_help_panel=HOW,
        ),
    ] = "text",
    rounds: RoundOption = None,
    scale: ScaleOption = None,
    seed: SeedOption = 0,
) -> None:
    """Learn to rate from people's ratings: the cheap baseline that any judge should beat.

    The rater knows words, and nothing of the rubric. It rates the run, and its file rates other runs. What it learnt
    from counts in no validation of it.

    Examples:
        $ bedside judge learn run --rubric empathy --split .5 --out empathy.npz
        $ bedside score talks/ --rater empathy.npz
    """
    from bedside.api.judge_tuning import learn_rater

    tables = learn_rater(
        run,
        rubric,
        out,
        split=split,
        features=features,
        rounds=read_rounds(rounds),
        scales=scale or (),
        seed=seed,
    )
    show_tables(tables)
    note(f"Wrote {out}: {tables.results.rater}. Next: bedside score FILES --rater {typed(out)}")
