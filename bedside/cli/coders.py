"""``bedside coder``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.help import App
from bedside.cli.output import (
    is_json,
    list_entries,
    note,
    note_account,
    say_or_show,
    show_records,
    show_tables,
)
from bedside.cli.parsing import read_names
from bedside.cli.progress import fold_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.question_settings import HOW, JUDGES
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.metrics.coders.contract import Coder
    from bedside.reports.table import Table
    from bedside.transcripts.reading import Reading

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
EmbeddingsOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Sentence-embedding model: its folder, or the name of a package that ships one.",
        rich_help_panel=HOW,
    ),
]
FoldsOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="Number of parts that the transcripts are divided into; each is coded by a coder trained on the others.",
        rich_help_panel=HOW,
    ),
]
FoldSeedOption = Annotated[
    int, typer.Option(min=0, metavar="NUMBER", help="Seed of the division into parts.", rich_help_panel=HOW)
]
QualityFactorOption = Annotated[
    str | None,
    typer.Option(
        metavar="FACTOR",
        help="Factor that calls a session high or low, such as mi_quality: the coder's measures are tested for telling "
        "high from low.",
        rich_help_panel=HOW,
    ),
]
CoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="CODER",
        help="Coder to compare with people: a name or a .npz file. Without it, coders trained on the files.",
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Language model that codes in place of a coder.",
        autocompletion=complete.judges,
        rich_help_panel=JUDGES,
    ),
]
StoreOption = Annotated[
    Path, typer.Option(metavar="FILE", help="File that keeps the judge's replies.", rich_help_panel=JUDGES)
]
TurnsOption = Annotated[
    int, typer.Option(metavar="NUMBER", help="Turns that one request asks about.", rich_help_panel=JUDGES)
]
ConcurrencyOption = Annotated[
    int, typer.Option(metavar="NUMBER", help="Most requests under way at once.", rich_help_panel=JUDGES)
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="Most requests to send before stopping.", rich_help_panel=JUDGES),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print how many requests and tokens it takes, and ask nothing.",
        rich_help_panel=JUDGES,
    ),
]


@coder_app.callback()
def coders(context: typer.Context) -> None:
    """List the coders."""
    from bedside.metrics.coders.contract import CODERS

    list_entries(
        context,
        "coders",
        lambda: [(name, coder.title) for name, coder in CODERS.all().items()],
        title="The coders of behaviour",
    )


@coder_app.command("train")
@takes_settings
def coders_train(
    files: FilesArgument,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The coder's file to write; its name ends in .npz."),
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the coder in ratings. Without it, the file's."),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Codes to learn. Without it, all that people gave.",
            autocompletion=complete.codes,
        ),
    ] = None,
    embeddings: EmbeddingsOption = None,
    folds: FoldsOption = 5,
    seed: FoldSeedOption = 0,
    date: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Date on the card, such as 2026-11-30. Without it, SOURCE_DATE_EPOCH's or today's.",
        ),
    ] = None,
    *,
    options: ReadOptions,
) -> None:
    """Train a coder on people's codes, and print how good it is.

    It is measured on transcripts that it was not trained on.

    Examples:
        $ bedside coder train coded.csv --out mine.npz
        $ bedside coder train coded.csv --out mine.npz --codes question,reflection
    """
    from bedside.metrics.coders.learned.trained_coder import check_target, save_coder
    from bedside.metrics.coders.learned.training import train
    from bedside.reports.coder_test import coder_tables
    from bedside.transcripts.reading import Reading

    check_target(out)
    reading = Reading(files, options)
    with fold_progress() as progress:
        training = train(
            reading,
            out.stem if name is None else name,
            codes=read_names(codes),
            embeddings=_embeddings(embeddings),
            folds=folds,
            seed=seed,
            day=date,
            progress=progress,
        )
    save_coder(training.coder, out)
    note_account(reading.account.lines())
    show_tables(coder_tables(training.evaluation))
    note(f"Wrote {out}: {training.coder.coder().rater}. Use it with --set behaviour.coders=human,{out}")


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
def coders_evaluate(
    files: FilesArgument,
    coder: CoderOption = None,
    judge: JudgeOption = None,
    codes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Codes to compare, where no coder is named. Without it, all of them.",
            autocompletion=complete.codes,
        ),
    ] = None,
    embeddings: EmbeddingsOption = None,
    folds: FoldsOption = 5,
    seed: FoldSeedOption = 0,
    quality: QualityFactorOption = None,
    store: StoreOption = Path("coding.sqlite"),
    turns_per_call: TurnsOption = 12,
    max_concurrency: ConcurrencyOption = 8,
    max_calls: MaxCallsOption = None,
    dry_run: DryRunOption = False,
    *,
    options: ReadOptions,
) -> None:
    """Compare a coder with people's codes, beside people with one another.

    Without --coder and --judge, coders are trained on the files themselves, each on some of the transcripts, and code
    those that they were not trained on.

    Examples:
        $ bedside coder evaluate coded.csv --coder rules
        $ bedside coder evaluate coded.csv --judge openai/gpt-5-mini --dry-run
    """
    from bedside.transcripts.reading import Reading

    reading = Reading(files, options)
    tables: Sequence[Table]
    if judge is None:
        if dry_run:
            raise InputError("no judge is named", where="--dry-run", todo="add --judge MODEL")
        tables = (
            _coder_tables(reading, coder, embeddings=embeddings, quality=quality)
            if coder is not None
            else _fold_tables(
                reading,
                codes=read_names(codes),
                embeddings=embeddings,
                folds=folds,
                seed=seed,
                quality=quality,
            )
        )
    elif coder is not None:
        raise InputError("a coder and a judge are named", where="--judge", todo="name one of them")
    else:
        coding = _JudgeCoding(judge, read_names(codes), store, turns_per_call, max_concurrency, max_calls)
        tables = coding.plan(reading) if dry_run else coding.test(reading)
    note_account(reading.account.lines())
    show_tables(tables)


def _coder_tables(reading: Reading, coder: str, *, embeddings: str | None, quality: str | None) -> tuple[Table, ...]:
    """How well a coder that is named codes what people coded."""
    from bedside.metrics.coders.testing.coder_test import evaluate_coder
    from bedside.reports.coder_test import coder_tables

    return coder_tables(evaluate_coder(reading, _on_new_sessions(coder, embeddings), quality=quality))


def _fold_tables(
    reading: Reading,
    *,
    codes: list[str] | None,
    embeddings: str | None,
    folds: int,
    seed: int,
    quality: str | None,
) -> tuple[Table, ...]:
    """How well coders code the transcripts that they were not trained on."""
    from bedside.metrics.coders.learned.training import out_of_fold
    from bedside.metrics.coders.learned.training_set import read_training_set
    from bedside.metrics.coders.testing.coder_test import evaluate_coder
    from bedside.reports.coder_test import coder_tables

    with fold_progress() as progress:
        training = read_training_set(reading, codes, _embeddings(embeddings))
        fold_codes, _ = out_of_fold(training, folds=folds, seed=seed, progress=progress)
    return coder_tables(evaluate_coder(training.transcripts, fold_codes, quality=quality))


@dataclass(frozen=True, slots=True)
class _JudgeCoding:
    """A judge that codes turns in place of a coder, as the options say."""

    judge: str
    codes: list[str] | None
    store: Path
    turns_per_call: int
    max_concurrency: int
    max_calls: int | None

    def plan(self, reading: Reading) -> list[Table]:
        """What would be asked."""
        from bedside.judges.turn_codes import coded_by_people, plan_coding
        from bedside.reports.judgements import plan_table

        coded = coded_by_people(reading, self._codes())
        plan = plan_coding(
            coded, self.judge, store_path=self.store, codes=self._codes(), turns_per_call=self.turns_per_call
        )
        return [plan_table(plan)]

    def test(self, reading: Reading) -> list[Table]:
        """What was asked, and how well the judge codes what people coded."""
        from bedside.judges.settings import JudgeSettings
        from bedside.judges.turn_codes import evaluate_judge
        from bedside.reports.coder_test import coder_tables
        from bedside.reports.judgements import judged_table

        evaluation, judged = evaluate_judge(
            reading,
            self.judge,
            settings=JudgeSettings(max_concurrency=self.max_concurrency, max_calls=self.max_calls),
            store_path=self.store,
            codes=self._codes(),
            turns_per_call=self.turns_per_call,
        )
        return [judged_table([judged]), *coder_tables(evaluation)]

    def _codes(self) -> tuple[str, ...]:
        from bedside.transcripts.transcript import CODES

        return tuple(self.codes or CODES)


def _on_new_sessions(coder: str, embeddings: str | None) -> Any:
    """A coder by name, or a trained one that refuses what it was trained on."""
    from bedside.metrics.coders.finder import find_coder

    if coder.endswith(".npz"):
        from bedside.metrics.coders.learned.trained_coder import load_coder

        return load_coder(coder, embeddings).on_new_sessions()
    return find_coder(coder)


def _embeddings(name: str | None) -> Any:
    if name is None:
        return None
    from bedside.metrics.coders.learned.embeddings import Embeddings

    return Embeddings(name)
