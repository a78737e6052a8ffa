"""``bedside coder``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.cli.common import (
    HOW,
    JUDGES,
    FormatOption,
    JsonOption,
    RolesOption,
    TextColumnsOption,
    list_entries,
    note,
    read_names,
    reading_options,
    say,
    show_tables,
)
from bedside.cli.completion import codes as complete_codes
from bedside.cli.completion import judges
from bedside.cli.help import App
from bedside.support.errors import InputError

coders_app = App(
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
EmbeddingsOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Folder of a sentence-embedding model, or the name of a package that ships one.",
        rich_help_panel=HOW,
    ),
]
FoldsOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="Parts the transcripts are divided in; each is coded by a coder trained on the others.",
        rich_help_panel=HOW,
    ),
]
FoldSeedOption = Annotated[
    int, typer.Option(min=0, metavar="NUMBER", help="Seed of the division in parts.", rich_help_panel=HOW)
]
QualityOption = Annotated[
    str | None,
    typer.Option(
        metavar="FACTOR",
        help="Factor that says high or low of a session, such as mi_quality: are both told apart?",
        rich_help_panel=HOW,
    ),
]


@coders_app.callback()
def coders(context: typer.Context) -> None:
    """List the coders."""
    from bedside.coders import CODERS

    list_entries(context, lambda: [(name, coder.title) for name, coder in CODERS.all().items()])


@coders_app.command("train")
def coders_train(
    files: FilesArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The coder's file, ending in .npz.")
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The coder's name in ratings; the file's unless given."),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Codes to learn; all that people gave unless named.",
            autocompletion=complete_codes,
        ),
    ] = None,
    embeddings: EmbeddingsOption = None,
    folds: FoldsOption = 5,
    seed: FoldSeedOption = 0,
    date: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="Date on the card, 2026-11-30; today's or SOURCE_DATE_EPOCH's unless given."
        ),
    ] = None,
    format_: FormatOption = None,
    roles: RolesOption = None,
    columns: TextColumnsOption = None,
    json: JsonOption = False,
) -> None:
    """Train a coder on people's codes, and print how good it is.

    Measured on transcripts that it was not trained on.

    Examples:
        $ bedside coder train coded.csv --out mine.npz
        $ bedside coder train coded.csv --out mine.npz --codes question,reflection
    """
    from bedside.coders.learned.trained_coder import check_target, save_coder, train
    from bedside.reports.coder_test import coder_tables
    from bedside.transcripts import Reading

    check_target(out)
    reading = Reading(files, reading_options(format_, roles, columns, None, "stop"))
    with _progress() as progress:
        made = train(
            reading,
            out.stem if name is None else name,
            codes=read_names(codes),
            embeddings=_embeddings(embeddings),
            folds=folds,
            seed=seed,
            day=date,
            progress=progress,
        )
    save_coder(made.coder, out)
    show_tables(coder_tables(made.evaluation), json)
    note(f"Wrote {out}: {made.coder.coder().rater}. Use it with --set behaviour.coders=human,{out}")


@coders_app.command("show")
def coders_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trained coder's file (.npz).")],
    json: Annotated[bool, typer.Option("--json", help="Print the card whole, as JSON.")] = False,
) -> None:
    """Print the card of a trained coder: what it was trained on, and how good it is.

    Examples:
        $ bedside coder show mine.npz
    """
    from bedside.coders.learned.trained_coder import load_card
    from bedside.reports.coder_test import card_tables

    card, rater = load_card(file)
    if json:
        import orjson

        say(orjson.dumps({"rater": rater, **card}, option=orjson.OPT_INDENT_2).decode())
        return
    show_tables(card_tables(card, rater))


@coders_app.command("evaluate")
def coders_evaluate(
    files: FilesArgument,
    coder: Annotated[
        str | None,
        typer.Option(
            metavar="CODER",
            help="The coder to compare with people: a name or a .npz file; one trained out of fold unless given.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A model that codes, in place of a coder.",
            autocompletion=judges,
            rich_help_panel=JUDGES,
        ),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Without --coder: the codes; all unless named.", autocompletion=complete_codes
        ),
    ] = None,
    embeddings: EmbeddingsOption = None,
    folds: FoldsOption = 5,
    seed: FoldSeedOption = 0,
    quality: QualityOption = None,
    store: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The file that keeps what the judge replied.", rich_help_panel=JUDGES
        ),
    ] = Path("coding.sqlite"),
    turns_per_call: Annotated[
        int, typer.Option(metavar="NUMBER", help="Turns that one call asks about.", rich_help_panel=JUDGES)
    ] = 12,
    max_concurrency: Annotated[
        int, typer.Option(metavar="NUMBER", help="Requests under way at once.", rich_help_panel=JUDGES)
    ] = 8,
    max_calls: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Hard stop: requests at most.", rich_help_panel=JUDGES),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls and tokens; ask nothing.", rich_help_panel=JUDGES)
    ] = False,
    format_: FormatOption = None,
    roles: RolesOption = None,
    columns: TextColumnsOption = None,
    json: JsonOption = False,
) -> None:
    """Compare a coder with people's codes, beside people with one another.

    Without --coder and --judge, coders are trained on the files themselves, each on some of the transcripts, and code
    those that they were not trained on.

    Examples:
        $ bedside coder evaluate coded.csv --coder rules
        $ bedside coder evaluate coded.csv --judge openai/gpt-5-mini --dry-run
    """
    from bedside.coders.testing import evaluate
    from bedside.reports.coder_test import coder_tables
    from bedside.transcripts import Reading

    reading = Reading(files, reading_options(format_, roles, columns, None, "stop"))
    if judge is None:
        if dry_run:
            raise InputError("no judge is named", where="--dry-run", todo="add --judge MODEL")
        if coder is not None:
            source = _on_new_sessions(coder, embeddings)
            show_tables(coder_tables(evaluate(reading, source, quality=quality)), json)
            return
        from bedside.coders.learned.training import out_of_fold, read_training_set

        with _progress() as progress:
            training = read_training_set(reading, read_names(codes), _embeddings(embeddings))
            given, _ = out_of_fold(training, folds=folds, seed=seed, progress=progress)
        show_tables(coder_tables(evaluate(training.transcripts, given, quality=quality)), json)
        return
    if coder is not None:
        raise InputError("a coder and a judge are named", where="--judge", todo="name one of them")
    from bedside.judges.questioning import Asking
    from bedside.judges.turn_codes import coded_by_people, evaluate_judge, plan_coding
    from bedside.reports.judgements import judged_table, plan_table
    from bedside.transcripts.transcript import CODES

    wanted = tuple(read_names(codes) or CODES)
    how: dict[str, Any] = {"store_path": store, "codes": wanted, "turns_per_call": turns_per_call}
    if dry_run:
        show_tables([plan_table(plan_coding(coded_by_people(reading, wanted), judge, **how))], json)
        return
    asking = Asking(max_concurrency=max_concurrency, max_calls=max_calls)
    evaluation, judged = evaluate_judge(reading, judge, asking=asking, **how)
    show_tables((judged_table([judged]), *coder_tables(evaluation)), json)


def _on_new_sessions(coder: str, embeddings: str | None) -> Any:
    """A coder by name, or a trained one that refuses what it was trained on."""
    from bedside.coders import find_coder

    if coder.endswith(".npz"):
        from bedside.coders.learned.trained_coder import load_coder

        return load_coder(coder, embeddings).on_new_sessions()
    return find_coder(coder)


def _embeddings(name: str | None) -> Any:
    if name is None:
        return None
    from bedside.coders.learned.embeddings import Embeddings

    return Embeddings(name)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a plain line for every fold."""
    import sys

    if not sys.stderr.isatty():
        yield lambda done, total: note(f"Fold {done} of {total}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("Folds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
