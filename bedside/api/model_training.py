"""Models trained from Python: coders of behaviour on people's codes, and redirection's language model."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bedside.core.errors import InputError
from bedside.core.question_settings import HOW, JUDGES, OPTIONS, Seeded, option, question, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import ExtraFields
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.counts import JudgingSummary
    from bedside.metrics.coders.learned.trained_coder import TrainedCoder
    from bedside.metrics.coders.testing.coder_test import CoderTest
    from bedside.metrics.models.fine_tuning import Tuned
    from bedside.transcripts.read_options import ReadOptions
    from bedside.transcripts.reading import Paths, Reading
    from bedside.transcripts.reading_account import ReadingAccount

_CODED = "Transcripts whose turns people coded (meta.codes): files, folders or patterns."
_OPTIONS: Any = option("How the files are read.", default=None, heading=None)

# -- Coders of behaviour --------------------------------------------------------------------------------


@settings_class
class FoldSettings:
    """How coders are trained, each on some of the transcripts, to code those that they were not trained on."""

    embeddings: str | None = option(
        "Sentence-embedding model: its folder, or the name of a package that ships one.",
        default=None, heading=HOW, metavar="MODEL",
    )  # fmt: skip
    folds: int = option(
        "Number of parts that the transcripts are divided into; each is coded by a coder trained on the others.",
        default=5, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    seed: int = option("Seed of the division into parts.", default=0, heading=HOW, metavar="NUMBER", least=0)
    options: ReadOptions | None = _OPTIONS
    progress: Callable[[int, int], None] | None = option(
        "Called with how many parts are done, and of how many.", default=None, heading=None
    )

    def loaded_embeddings(self) -> Any:
        """The model of embeddings; None where none is named."""
        if self.embeddings is None:
            return None
        from bedside.metrics.coders.learned.embeddings import Embeddings

        return Embeddings(self.embeddings)


@settings_class
class TrainCoderSettings(FoldSettings):
    """Train a coder on people's codes, and print how good it is.

    It is measured on transcripts that it was not trained on.

    Examples:
        $ bedside train coder coded.csv --out mine.npz
        $ bedside train coder coded.csv --out mine.npz --codes question,reflection
    """

    out: str | os.PathLike[str] = option(
        "The coder's file to write; its name ends in .npz.",
        "--out", "-o", heading=OPTIONS, metavar="FILE", form="path", kw_only=False,
    )  # fmt: skip
    name: str | None = option(
        "Name of the coder in ratings. Without it, the file's.", default=None, heading=OPTIONS, metavar="NAME"
    )
    codes: Names | None = option(
        "Codes to learn. Without it, all that people gave.",
        default=None, heading=OPTIONS, metavar="A,B", form="names", offers="codes",
    )  # fmt: skip
    date: str | None = option(
        "Date on the card, such as 2026-11-30. Without it, SOURCE_DATE_EPOCH's or today's.",
        default=None, heading=OPTIONS, metavar="DATE",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CoderTraining:
    """A coder that was trained.

    Attributes:
        coder: the coder.
        evaluation: how good it is on what it was not trained on.
        account: what was understood of the files.
    """

    coder: TrainedCoder
    evaluation: CoderTest
    account: ReadingAccount


@question(TrainCoderSettings, _CODED)
def train_coder(files: Paths, settings: TrainCoderSettings) -> Tables[CoderTraining]:
    """Raises:
    BedsideError: a file that can't be read, a name, code or date that is none, or too little that is coded. Nothing is
        written then.
    """
    from bedside.metrics.coders.learned.trained_coder import check_target, save_coder
    from bedside.metrics.coders.learned.training import train
    from bedside.reports.coder_test import coder_tables
    from bedside.transcripts.reading import Reading

    out = Path(settings.out)
    check_target(out)
    reading = Reading(files, settings.options)
    training = train(
        reading,
        out.stem if settings.name is None else settings.name,
        codes=listed(settings.codes, "codes"),
        embeddings=settings.loaded_embeddings(),
        folds=settings.folds,
        seed=settings.seed,
        day=settings.date,
        progress=settings.progress,
    )
    save_coder(training.coder, out)
    trained = CoderTraining(training.coder, training.evaluation, reading.account)
    return Tables(coder_tables(training.evaluation), trained)


@settings_class
class EvaluateCoderSettings(FoldSettings, ExtraFields):
    """Compare a coder with people's codes, beside people with one another.

    Without --coder and --judge, coders are trained on the files themselves, each on some of the transcripts, and code
    those that they were not trained on.

    Examples:
        $ bedside train test-coder coded.csv --coder rules
        $ bedside train test-coder coded.csv --judge openai/gpt-5-mini --dry-run
    """

    coder: str | None = option(
        "Coder to compare with people: a name or a .npz file. Without it, coders trained on the files.",
        default=None, heading=OPTIONS, metavar="CODER",
    )  # fmt: skip
    judge: str | None = option(
        "Language model that codes in place of a coder.",
        default=None, heading=JUDGES, metavar="MODEL", offers="judges",
    )  # fmt: skip
    codes: Names | None = option(
        "Codes to compare, where no coder is named. Without it, all of them.",
        default=None, heading=OPTIONS, metavar="A,B", form="names", offers="codes",
    )  # fmt: skip
    quality: str | None = option(
        "Factor that calls a session high or low, such as mi_quality: the coder's measures are tested for telling high "
        "from low.",
        default=None, heading=HOW, metavar="FACTOR",
    )  # fmt: skip
    store: str | os.PathLike[str] = option(
        "File that keeps the judge's replies.",
        default=Path("coding.sqlite"), heading=JUDGES, metavar="FILE", form="path",
    )  # fmt: skip
    turns_per_call: int = option("Turns that one request asks about.", default=12, heading=JUDGES, metavar="NUMBER")
    max_concurrency: int = option("Most requests under way at once.", default=8, heading=JUDGES, metavar="NUMBER")
    max_calls: int | None = option(
        "Most requests to send before stopping.", default=None, heading=JUDGES, metavar="NUMBER"
    )
    dry_run: bool = option(
        "Print how many requests and tokens it takes, and ask nothing.", default=False, heading=JUDGES
    )

    def __post_init__(self) -> None:
        if self.judge is None and self.dry_run:
            raise InputError("no judge is named", where="`dry_run`", todo="add `judge=MODEL`")
        if self.judge is not None and self.coder is not None:
            raise InputError("a coder and a judge are named", where="`judge`", todo="name one of them")


@dataclass(frozen=True, slots=True)
class CoderEvaluation:
    """A coder set against people.

    Attributes:
        test: how well it codes; None where nothing was asked.
        account: what was understood of the files.
        plans: what a judge would be asked, where nothing was.
        judged: what a judge was asked.
    """

    test: CoderTest | None
    account: ReadingAccount
    plans: tuple[RubricPlan, ...] = ()
    judged: JudgingSummary | None = None


@question(EvaluateCoderSettings, _CODED)
def evaluate_coder(files: Paths, settings: EvaluateCoderSettings) -> Tables[CoderEvaluation]:
    """Raises:
    BedsideError: a file that can't be read, a coder or code that is none, too little that is coded, or a judge that
        can't be asked; what it answered is kept.
    """
    from bedside.metrics.coders.testing.coder_test import evaluate_coder as evaluate
    from bedside.reports.coder_test import coder_tables
    from bedside.transcripts.reading import Reading

    reading = Reading(files, settings.options)
    if settings.judge is not None:
        return _judge_coding(reading, settings.judge, settings)
    if settings.coder is not None:
        test = evaluate(reading, _on_new_sessions(settings.coder, settings.embeddings), quality=settings.quality)
    else:
        from bedside.metrics.coders.learned.training import out_of_fold
        from bedside.metrics.coders.learned.training_set import read_training_set

        training = read_training_set(reading, listed(settings.codes, "codes"), settings.loaded_embeddings())
        codes, _ = out_of_fold(training, folds=settings.folds, seed=settings.seed, progress=settings.progress)
        test = evaluate(training.transcripts, codes, quality=settings.quality)
    return Tables(coder_tables(test), CoderEvaluation(test, reading.account))


def _judge_coding(reading: Reading, judge: str, settings: EvaluateCoderSettings) -> Tables[CoderEvaluation]:
    """How well a judge codes in place of a coder, or what it would be asked."""
    from bedside.judges.llm.extra_fields import checked_extra
    from bedside.judges.settings import JudgeSettings
    from bedside.judges.turn_codes import coded_by_people, evaluate_judge, plan_coding
    from bedside.reports.coder_test import coder_tables
    from bedside.reports.judgements import judged_table, plan_table
    from bedside.transcripts.transcript import CODES

    codes = tuple(listed(settings.codes, "codes") or CODES)
    asked: Any = {"store_path": Path(settings.store), "codes": codes, "turns_per_call": settings.turns_per_call}
    if settings.dry_run:
        plans = plan_coding(coded_by_people(reading, codes), judge, **asked)
        return Tables([plan_table(plans)], CoderEvaluation(None, reading.account, plans))
    extra = checked_extra(settings.extra or {}, "`extra`")
    limits = JudgeSettings(max_concurrency=settings.max_concurrency, max_calls=settings.max_calls, extra=extra)
    test, judged = evaluate_judge(reading, judge, settings=limits, **asked)
    tables = [judged_table([judged]), *coder_tables(test)]
    return Tables(tables, CoderEvaluation(test, reading.account, judged=judged))


def _on_new_sessions(coder: str, embeddings: str | None) -> Any:
    """A coder by name, or a trained one that refuses what it was trained on."""
    from bedside.metrics.coders.finder import find_coder

    if coder.endswith(".npz"):
        from bedside.metrics.coders.learned.trained_coder import load_coder

        return load_coder(coder, embeddings).on_new_sessions()
    return find_coder(coder)


# -- Redirection's language model -----------------------------------------------------------------------


@settings_class
class FitRedirectionSettings(Seeded):
    """Tune a language model on conversations, for scoring redirection with it.

    Examples:
        $ bedside train redirection talks/ --model Qwen/Qwen3-0.6B --out tuned
    """

    model: str = option(
        "Model to begin with: a folder, a .gguf file or a name on the Hugging Face hub.",
        heading=OPTIONS, metavar="MODEL", kw_only=False,
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "New folder to write the tuned model to.",
        "--out", "-o", heading=OPTIONS, metavar="FOLDER", form="path", kw_only=False,
    )  # fmt: skip
    method: Literal["auto", "lora", "plain"] = option(
        "How the model is tuned: lora, plain, or auto, which is LoRA where peft is installed.",
        default="auto", heading=HOW, metavar="NAME",
    )  # fmt: skip
    epochs: float = option(
        "How often the tuning goes through the conversations.", default=2.0, heading=HOW, metavar="NUMBER"
    )
    learning_rate: float | None = option(
        "Learning rate of AdamW. Without it, 2e-4 for LoRA and 5e-5 for plain.",
        default=None, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    window: int = option("Most tokens in one piece of a conversation.", default=512, heading=HOW, metavar="NUMBER")
    batch: int = option("Number of pieces in a step.", default=8, heading=HOW, metavar="NUMBER")
    held_out: float = option(
        "Share of the transcripts that is kept to measure the loss on.", default=0.1, heading=HOW, metavar="NUMBER"
    )
    options: ReadOptions | None = _OPTIONS
    progress: Callable[[int, int, float], None] | None = option(
        "Called with the step, of how many, and its loss.", default=None, heading=None
    )


@dataclass(frozen=True, slots=True)
class FittedRedirection:
    """A language model that was tuned for redirection.

    Attributes:
        tuned: the model's folder, and what its tuning brought.
        account: what was understood of the files.
    """

    tuned: Tuned
    account: ReadingAccount


@question(FitRedirectionSettings, "Transcripts to tune the model on: files, folders or patterns.")
def fit_redirection(files: Paths, settings: FitRedirectionSettings) -> FittedRedirection:
    """Raises:
    BedsideError: a file or model that can't be read, a number that can't be, or a folder that is there.
    """
    from dataclasses import fields

    from bedside.metrics.models.fine_tuning import Tuning, fine_tune
    from bedside.transcripts.reading import Reading

    reading = Reading(files, settings.options)
    tuning = Tuning(**{each.name: getattr(settings, each.name) for each in fields(Tuning)})
    tuned = fine_tune(reading, settings.model, Path(settings.out), tuning, settings.progress)
    return FittedRedirection(tuned, reading.account)
