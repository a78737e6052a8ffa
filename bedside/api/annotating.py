"""What people are to rate: the plan of a sample, drawn from a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.annotation.plan_choices import MODES, Focus, SampledMode
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import InputError, one_of
from bedside.core.question_settings import OPTIONS, OUTPUT, Seeded, option, question, settings_class
from bedside.core.words import Names, listed

if TYPE_CHECKING:
    from bedside.annotation.annotation_plan import AnnotationPlan
    from bedside.annotation.training_cases import TrainingCase
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.ratings.run import Run
    from bedside.reports.table import Table

_WHO, _WHAT = "Who rates what", "Which transcripts"


@settings_class
class SampleSettings(Seeded):
    """Draw what people are to rate, and who rates what: a plan.

    The plan holds the map from opaque ids to transcripts: keep it, and don't give it to raters.

    Examples:
        $ bedside sample run --raters anna,ben --rubrics empathy --by system --per 4
        $ bedside sample run --raters 3 --mode codes --rubrics question,reflection
        $ bedside sample run --raters 3 --mode pairs --rubrics empathy --per 20
    """

    raters: int | Names = option(
        "Names of the raters, such as anna,ben, or how many.",
        default=2, heading=_WHO, metavar="A,B", form="count_or_names",
    )  # fmt: skip
    mode: SampledMode = option(
        "What raters do. rate: rate by rubrics without seeing system or judge; audit: agree or disagree with a "
        "judge's scores; findings: list what the patient revealed; codes: code each turn; pairs: say which of two "
        "conversations on one case is better.",
        default="rate", heading=_WHO, metavar="NAME",
    )  # fmt: skip
    rubrics: Names | None = option(
        "Rubrics to rate by; in mode codes, the codes. Without it, the rubrics that judges rated by, but for those "
        "that need what the transcripts lack.",
        "--rubrics", "--rubric", default=None, heading=_WHO, metavar="A,B", form="names", offers="rubrics",
    )  # fmt: skip
    show: Names = option(
        "Show raters system messages, or calls of tools, too. Without it nobody who rates sees them; the report says "
        "so where they do.",
        default=(), heading=_WHO, metavar="system,tools", form="names",
    )  # fmt: skip
    overlap: int = option("How many raters rate each transcript.", default=2, heading=_WHO, metavar="NUMBER")
    shared: int = option(
        "How many transcripts everyone rates; --overlap holds for the others.",
        default=0, heading=_WHO, metavar="NUMBER",
    )  # fmt: skip
    training: int | str | os.PathLike[str] | None = option(
        "Transcripts with known answers that raters see first: a file, or a number of the run's transcripts that "
        "people agree on.",
        default=None, heading=_WHO, metavar="FILE", form="count_or_word",
    )  # fmt: skip
    training_kappa: float | None = option(
        "The kappa with the known answers that a rater must reach in training, such as .6. Without it, everybody goes "
        "on.",
        default=None, heading=_WHO, metavar="KAPPA",
    )  # fmt: skip
    gold: str | os.PathLike[str] | None = option(
        "Transcripts with known answers that are hidden among the others, to see how raters keep up. They are never "
        "counted as ratings.",
        default=None, heading=_WHO, metavar="FILE", form="path",
    )  # fmt: skip
    gold_share: float = option(
        "Share of what a rater is shown that comes from --gold.",
        default=0.1, heading=_WHO, metavar="SHARE", form="share",
    )  # fmt: skip
    judge: str | None = option(
        "In mode audit: the judge whose scores raters are shown.",
        default=None, heading=_WHO, metavar="RATER", offers="one_rater",
    )  # fmt: skip
    rubric_folder: str | os.PathLike[str] | None = option(
        "Folder of your own rubrics.", default=None, heading=OPTIONS, metavar="FOLDER", form="path"
    )
    language: str | None = option(
        "Language in which people rate: en, de or zh. Every page, form and file made of the plan is in it.",
        default=None, heading=OPTIONS, metavar="LANGUAGE",
    )  # fmt: skip
    by: Names = option(
        "Draw the same number from each group: by system, case_id, language or factors of the transcripts. By system, "
        "the same cases of each are drawn.",
        default=(), heading=_WHAT, metavar="A,B", form="names",
    )  # fmt: skip
    per: int | None = option(
        "How many transcripts to draw from each group, or turns where the rubrics are about turns; in mode pairs, how "
        "many pairs of every two systems. Without it, all of them.",
        default=None, heading=_WHAT, metavar="NUMBER",
    )  # fmt: skip
    systems: Names | None = option(
        "In mode pairs: systems whose conversations are compared; all of the run's unless named.",
        default=None, heading=_WHAT, metavar="A,B", form="names",
    )  # fmt: skip
    focus: Focus = option(
        "What is drawn first: random; disagreement (where judges, or passes of one judge, differ); uncertain (where a "
        "judge was uncertain).",
        default="random", heading=_WHAT, metavar="NAME",
    )  # fmt: skip
    random_share: float = option(
        "Share that is drawn at random where --focus is not random, from 0 to 1.",
        "--random", default=0.0, heading=_WHAT, metavar="SHARE",
    )  # fmt: skip
    repeat: float = option(
        "Share of the transcripts that each rater is shown a second time, such as 10%, to see how well they agree with "
        "themselves; pairs come the other way round.",
        default=0.0, heading=_WHO, metavar="SHARE", form="share",
    )  # fmt: skip
    round: str = option(
        "Name of the round of annotation, such as pilot. Ratings of two rounds stand side by side; without a name the "
        "plan is a round of its own.",
        default="", heading=_WHO, metavar="NAME",
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "File to write the plan to.",
        "--out", "-o", default=Path("plan.json"), heading=OUTPUT, metavar="FILE", form="path", kw_only=False,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """What people are to rate.

    Attributes:
        plan: who rates what; it holds the map from opaque ids to transcripts.
        file: where it was written.
        tables: what was drawn, and which differences it can show.
        left_out: rubrics that judges rated by and people can't, with the reason.
    """

    plan: AnnotationPlan
    file: Path
    tables: tuple[Table, ...]
    left_out: dict[str, str]


@question(SampleSettings, "The run, or its folder.")
def sample(run: RunOrFolder, settings: SampleSettings) -> DrawnSample:
    """The run keeps the text of its transcripts.

    Raises:
        BedsideError: no such run, rubric, factor or rater, too little to draw from, or a file that can't be written.
    """
    from bedside.annotation.plan_power import shown_differences
    from bedside.annotation.sampling import make_plan, rater_slots
    from bedside.reports.annotation import plan_tables

    one_of(settings.mode, MODES, "choice", InputError, where="`mode`")
    opened = open_run(run)
    rubrics, left_out = _rubrics(opened, settings)
    raters, out = settings.raters, Path(settings.out)
    plan = make_plan(
        opened,
        mode=settings.mode,
        rubrics=rubrics,
        raters=rater_slots(raters) if isinstance(raters, int) else tuple(listed(raters, "raters")),
        by=listed(settings.by, "by"),
        per=settings.per,
        systems=listed(settings.systems, "systems"),
        overlap=settings.overlap,
        shared=settings.shared,
        focus=settings.focus,
        random_share=settings.random_share,
        judge=settings.judge,
        repeat=settings.repeat,
        training=_training(opened, settings, rubrics),
        training_kappa=settings.training_kappa,
        gold=_gold(settings, rubrics),
        gold_share=settings.gold_share,
        round=settings.round,
        seed=settings.seed,
    )
    keep_plan(plan, opened, out)
    return DrawnSample(plan, out, tuple(plan_tables(plan, shown_differences(opened, plan))), left_out)


def keep_plan(plan: AnnotationPlan, run: Run, out: Path) -> None:
    """Write a plan where the user said and, so that it can't be lost, into its run.

    Raises:
        InputError: the file holds another plan.
    """
    from bedside.annotation.annotation_plan import plan_hash
    from bedside.annotation.answer_store import plan_folder
    from bedside.annotation.plan_file import read_plan, write_plan
    from bedside.core.files import make_folder, saying_where

    if out.exists() and plan_hash(read_plan(out)) != plan_hash(plan):
        raise InputError("the file holds another plan", where=str(out), todo="choose another file with `out`")
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    for path in (folder / "plan.json", out):
        write_plan(plan, path)


def _training(run: Run, settings: SampleSettings, rubrics: list[Rubric]) -> Sequence[TrainingCase]:
    """The training set: of a file, or of what people agree on in the run."""
    from bedside.annotation.training_cases import read_training, training_from_run

    if settings.training is None:
        return ()
    if settings.mode == "pairs":
        raise InputError("pairs have no training set", where="`training`", todo="leave it out")
    if isinstance(settings.training, int):
        return training_from_run(run, settings.mode, rubrics, settings.training, settings.seed)
    return read_training(settings.training, settings.mode, rubrics)


def _gold(settings: SampleSettings, rubrics: list[Rubric]) -> Sequence[TrainingCase]:
    """The gold items of a file."""
    from bedside.annotation.training_cases import read_training

    if settings.gold is None:
        return ()
    if settings.mode == "pairs":
        raise InputError("pairs have no gold items", where="`gold`", todo="leave it out")
    return read_training(settings.gold, settings.mode, rubrics, where="`gold`")


def _rubrics(run: Run, settings: SampleSettings) -> tuple[list[Rubric], dict[str, str]]:
    """The rubrics that are named, or those of the mode: all codes, the findings, or what judges rated by.

    Beside them: those that people can't answer, with the reason.
    """
    from bedside.judges.rubrics.rubric_files import CODEBOOK, rubrics_with
    from bedside.scoring.judging_orders import rubrics_of

    names = listed(settings.rubrics, "rubrics")
    left_out: dict[str, str] = {}
    if settings.mode == "codes":
        if settings.language not in (None, "en"):
            raise InputError(
                "behaviour codes have English texts only", where="`language`", todo="leave it out, or rate by rubrics"
            )
        registry = rubrics_with(None if settings.rubric_folder is None else Path(settings.rubric_folder))
        codes = names if names is not None else [name for name in CODEBOOK.names() if name != "main_behaviour"]
        rubrics = [CODEBOOK.load(name) if name in CODEBOOK else registry.find(name) for name in codes]
    else:
        if names is None:
            names = ["finding_extraction"]
            if settings.mode != "findings":
                names, left_out = _judged_rubrics(run, settings)
        rubrics = list(rubrics_of(names, folder=settings.rubric_folder, language=settings.language))
    if settings.show:
        rubrics = list(rubrics_of(rubrics, folder=settings.rubric_folder, shows=settings.show))
    return rubrics, left_out


def _judged_rubrics(run: Run, settings: SampleSettings) -> tuple[list[str], dict[str, str]]:
    """The rubrics by which judges rated the run's transcripts, as far as the mode and people can answer them."""
    import polars as pl

    from bedside.annotation.annotation_plan import KINDS
    from bedside.annotation.items import answerable_rubrics
    from bedside.judges.rubrics.rubric_files import incomparable, rubrics_with
    from bedside.ratings.names import TRANSCRIPT, rated_by_judges, rates_pair
    from bedside.ratings.rubric_metrics import preferred_by

    registry = rubrics_with(None if settings.rubric_folder is None else Path(settings.rubric_folder))
    units = pl.col("unit") == TRANSCRIPT
    judged = run.ratings.filter(rated_by_judges(), units | rates_pair() if settings.mode == "pairs" else units)
    names = sorted({preferred_by(metric) for metric in judged["metric"].unique()})
    rubrics = [registry.find_in(name, settings.language) for name in names if name in registry]
    fitting = [rubric for rubric in rubrics if rubric.kind in KINDS[settings.mode]]
    if settings.mode == "pairs":
        fitting = [rubric for rubric in fitting if incomparable(rubric) is None]
    if not fitting:
        raise InputError("no judge has rated the run by rubrics", where=str(run.path), todo="name some with `rubrics`")
    kept, left_out = answerable_rubrics(run, fitting)
    return [rubric.name for rubric in kept], dict(left_out)
