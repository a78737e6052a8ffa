"""``bedside export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.output import note, say, show_records
from bedside.cli.parsing import read_pairs
from bedside.core.words import counted

#: Headings of ``--help``.
_CARD, _HOLDS = "What its page says", "What goes into it"
#: Largest file of a citation, in bytes.
_MOST_CITED = 2**16


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that bedside score wrote.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORM",
            help="Form of the folder: hf-folder (Parquet with a dataset card, which Hugging Face's datasets loads), "
            "csv-folder (for R and statistics programs) or convokit (a ConvoKit corpus with the ratings as meta).",
            autocompletion=complete.export_forms,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Folder to write. One that is there already is replaced only if it is an export, unchanged since.",
        ),
    ],
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence",
            "--license",
            metavar="NAME",
            help="Licence by which others may use the data, such as cc-by-4.0, or unknown; hf-folder needs one.",
            rich_help_panel=_CARD,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Title of the data. Without it, the name of the run's folder.",
            rich_help_panel=_CARD,
        ),
    ] = None,
    citation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File that says how to cite the data, such as BibTeX.", rich_help_panel=_CARD
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGIN",
            help="Where the conversations come from: simulated, recorded (real people said it) or written; or by "
            "system, as gpt=simulated,clinic=recorded. What bedside simulated is known.",
            rich_help_panel=_CARD,
        ),
    ] = None,
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text",
            help="Leave out what was said, references, and what people and judges wrote.",
            rich_help_panel=_HOLDS,
        ),
    ] = False,
    rater_names: Annotated[
        bool,
        typer.Option(
            "--rater-names",
            help="Keep the names of people who rated. Without it, they are rater-1, rater-2 and so on.",
            rich_help_panel=_HOLDS,
        ),
    ] = False,
    judgements: Annotated[
        bool,
        typer.Option(
            "--judgements",
            help="Add what judges were asked and replied, word for word.",
            rich_help_panel=_HOLDS,
        ),
    ] = False,
) -> None:
    """Write a run in a form that others' tools read, with a page that says what it is.

    Nothing is uploaded: what becomes of the folder is up to you.

    Examples:
        $ bedside export run --to hf-folder --licence cc-by-4.0 --origin recorded --out dataset
        $ bedside export run --to csv-folder --out for-r
    """
    from bedside.api.exporting import export as export_run

    written = export_run(
        run,
        to,
        out,
        licence=licence,
        title=title,
        citation=None if citation is None else _citation(citation),
        origin=_origin(origin),
        text=not no_text,
        rater_names=rater_names,
        judgements=judgements,
    )
    holds = ", ".join(f"{table.name} ({table.rows:,})" for table in written.tables)
    say(f"Wrote {out}, {written.size / 1e3:,.0f} kB: {holds}.")
    say(f"Read {out / 'README.md'}: it says what the folder holds and how the ratings were made.")
    if written.text:
        say("What was said is in it, with all names that occur there. See that you may give it away.")
    if written.judgements:
        say("What judges were asked and replied is in it, word for word.")
    if written.pseudonyms:
        people = "person who rated has another name" if written.pseudonyms == 1 else "people who rated have other names"
        say(f"{written.pseudonyms:,} {people} in it; what is written in reasons may still name them.")
    if written.unknown_origins:
        note(
            f"Of {counted(written.unknown_origins, 'conversation')} nobody says where they come from: "
            "--origin simulated, recorded or written does."
        )
    note("Nothing was uploaded.")
    show_records(
        "export",
        f"What was written to {out}",
        [
            {
                "folder": str(out),
                "form": written.form,
                "bytes": written.size,
                "rows": {table.name: table.rows for table in written.tables},
                "text": written.text,
                "judgements": written.judgements,
                "people_renamed": written.pseudonyms,
                "transcripts_of_unknown_origin": written.unknown_origins,
            }
        ],
    )


def _origin(text: str | None) -> str | dict[str, str] | None:
    """One origin, or one for each system, as typed."""
    return read_pairs(text, "--origin") if text is not None and "=" in text else text


def _citation(file: Path) -> str:
    from bedside.core.files import read_text

    return read_text(file, "citation", most=_MOST_CITED)
