"""``bedside sample``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.judges import ShowOption, read_shown
from bedside.cli.options import OUTPUT, RubricFolderOption, SeedOption
from bedside.cli.output import note, show_tables
from bedside.cli.parsing import check_choice, read_names, read_share
from bedside.cli.plans import run_option, save_plan
from bedside.core.errors import InputError
from bedside.core.words import typed

if TYPE_CHECKING:
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.ratings.run import Run

_WHO = "Who rates what"
_WHAT = "Which transcripts"
_MODES = ("rate", "audit", "findings", "codes", "pairs")
_FOCI = ("random", "disagreement", "uncertain")

RatersOption = Annotated[
    str,
    typer.Option(metavar="A,B", help="Names of the raters, such as anna,ben, or how many.", rich_help_panel=_WHO),
]
ModeOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What raters do. rate: rate by rubrics without seeing system or judge; audit: agree or disagree with a "
        "judge's scores; findings: list what the patient revealed; codes: code each turn; pairs: say which of two "
        "conversations on one case is better.",
        autocompletion=complete.choices(*_MODES),
        rich_help_panel=_WHO,
    ),
]
RaterLanguageOption = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="LANGUAGE",
        help="Language in which people rate: en, de or zh. Every page, form and file made of the plan is in it.",
    ),
]
RubricsOption = Annotated[
    str | None,
    typer.Option(
        "--rubrics",
        "--rubric",
        metavar="A,B",
        help="Rubrics to rate by; in mode codes, the codes. Without it, the rubrics that judges rated by, but for "
        "those that need what the transcripts lack.",
        autocompletion=complete.rubrics,
        rich_help_panel=_WHO,
    ),
]
OverlapOption = Annotated[
    int,
    typer.Option(metavar="NUMBER", help="How many raters rate each transcript.", rich_help_panel=_WHO),
]
SharedOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="How many transcripts everyone rates; --overlap holds for the others.",
        rich_help_panel=_WHO,
    ),
]
TrainingOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Transcripts with known answers that raters see first: a file, or a number of the run's transcripts "
        "that people agree on.",
        rich_help_panel=_WHO,
    ),
]
TrainingKappaOption = Annotated[
    float | None,
    typer.Option(
        metavar="KAPPA",
        help="The kappa with the known answers that a rater must reach in training, such as .6. Without it, everybody "
        "goes on.",
        rich_help_panel=_WHO,
    ),
]
GoldOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Transcripts with known answers that are hidden among the others, to see how raters keep up. They are "
        "never counted as ratings.",
        rich_help_panel=_WHO,
    ),
]
GoldShareOption = Annotated[
    str,
    typer.Option(
        metavar="SHARE",
        help="Share of what a rater is shown that comes from --gold.",
        rich_help_panel=_WHO,
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        metavar="RATER",
        help="In mode audit: the judge whose scores raters are shown.",
        autocompletion=complete.one_rater,
        rich_help_panel=_WHO,
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Draw the same number from each group: by system, case_id, language or factors of the transcripts. By "
        "system, the same cases of each are drawn.",
        rich_help_panel=_WHAT,
    ),
]
SystemsOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="In mode pairs: systems whose conversations are compared; all of the run's unless named.",
        rich_help_panel=_WHAT,
    ),
]
PerOption = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="How many transcripts to draw from each group, or turns where the rubrics are about turns; in mode pairs, "
        "how many pairs of every two systems. Without it, all of them.",
        rich_help_panel=_WHAT,
    ),
]
FocusOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What is drawn first: random; disagreement (where judges, or passes of one judge, differ); uncertain "
        "(where a judge was uncertain).",
        autocompletion=complete.choices(*_FOCI),
        rich_help_panel=_WHAT,
    ),
]
RandomShareOption = Annotated[
    float,
    typer.Option(
        "--random",
        metavar="SHARE",
        help="Share that is drawn at random where --focus is not random, from 0 to 1.",
        rich_help_panel=_WHAT,
    ),
]
RepeatOption = Annotated[
    str,
    typer.Option(
        metavar="SHARE",
        help="Share of the transcripts that each rater is shown a second time, such as 10%, to see how well they agree "
        "with themselves; pairs come the other way round.",
        rich_help_panel=_WHO,
    ),
]
RoundOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of the round of annotation, such as pilot. Ratings of two rounds stand side by side; without a name "
        "the plan is a round of its own.",
        rich_help_panel=_WHO,
    ),
]
PlanFileOption = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="File to write the plan to.", rich_help_panel=OUTPUT),
]


def sample(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run that keeps the text, so one scored without --no-text."),
    ],
    raters: RatersOption = "2",
    mode: ModeOption = "rate",
    rubrics: RubricsOption = None,
    show: ShowOption = None,
    overlap: OverlapOption = 2,
    shared: SharedOption = 0,
    training: TrainingOption = None,
    training_kappa: TrainingKappaOption = None,
    gold: GoldOption = None,
    gold_share: GoldShareOption = "10%",
    judge: JudgeOption = None,
    rubric_folder: RubricFolderOption = None,
    language: RaterLanguageOption = None,
    by: ByOption = None,
    per: PerOption = None,
    systems: SystemsOption = None,
    focus: FocusOption = "random",
    random_share: RandomShareOption = 0.0,
    repeat: RepeatOption = "0",
    round: RoundOption = "",
    seed: SeedOption = 0,
    out: PlanFileOption = Path("plan.json"),
) -> None:
    """Draw what people are to rate, and who rates what: a plan.

    The plan holds the map from opaque ids to transcripts: keep it, and don't give it to raters.

    Examples:
        $ bedside sample run --raters anna,ben --rubrics empathy --by system --per 4
        $ bedside sample run --raters 3 --mode codes --rubrics question,reflection
        $ bedside sample run --raters 3 --mode pairs --rubrics empathy --per 20
    """
    from bedside.annotation.plan_power import shown_differences
    from bedside.annotation.sampling import make_plan, rater_slots
    from bedside.ratings.run import read_run
    from bedside.reports.annotation import plan_tables

    check_choice(mode, _MODES, "--mode")
    opened = read_run(run)
    chosen = _rubrics(opened, mode, read_names(rubrics), rubric_folder, language)
    if show is not None:
        chosen = [replace(rubric, shows=read_shown(show)) for rubric in chosen]
    plan = make_plan(
        opened,
        mode=mode,  # type: ignore[arg-type]
        rubrics=chosen,
        raters=rater_slots(int(raters)) if raters.strip().isdigit() else tuple(read_names(raters) or ()),
        by=read_names(by) or (),
        per=per,
        systems=read_names(systems),
        overlap=overlap,
        shared=shared,
        focus=focus,  # type: ignore[arg-type]
        random_share=random_share,
        judge=judge,
        repeat=read_share(repeat, "--repeat"),
        training=_training(opened, mode, chosen, training, seed),
        training_kappa=training_kappa,
        gold=_gold(mode, chosen, gold),
        gold_share=read_share(gold_share, "--gold-share"),
        round=round,
        seed=seed,
    )
    save_plan(plan, opened, out)
    show_tables(plan_tables(plan, shown_differences(opened, plan)))
    named = f"{typed(out)}{run_option(out, opened)}"
    note(f"Wrote {out}. Next: bedside annotate push {named}, or bedside annotate export {named}")


def _training(run: Run, mode: Any, rubrics: list[Rubric], training: str | None, seed: int) -> Any:
    """The training set: of a file, or of what people agree on in the run."""
    from bedside.annotation.training_cases import read_training, training_from_run

    if training is None:
        return ()
    if mode == "pairs":
        raise InputError("pairs have no training set", where="--training", todo="leave it out")
    if training.isdigit():
        return training_from_run(run, mode, rubrics, int(training), seed)
    return read_training(training, mode, rubrics)


def _gold(mode: Any, rubrics: list[Rubric], gold: Path | None) -> Any:
    """The gold items of a file."""
    from bedside.annotation.training_cases import read_training

    if gold is None:
        return ()
    if mode == "pairs":
        raise InputError("pairs have no gold items", where="--gold", todo="leave it out")
    return read_training(gold, mode, rubrics, where="`gold`")


def _rubrics(run: Run, mode: str, names: list[str] | None, folder: Path | None, language: str | None) -> list[Rubric]:
    """The rubrics that are named, or those of the mode: all codes, the findings, or what judges rated by."""
    from bedside.judges.rubrics.rubric_files import CODEBOOK, rubrics_with

    registry = rubrics_with(folder)
    if mode == "codes" and language not in (None, "en"):
        raise InputError(
            "behaviour codes have English texts only",
            where="--language",
            todo="leave it out, or rate by rubrics",
        )
    if mode == "codes":
        codes = names if names is not None else [name for name in CODEBOOK.names() if name != "main_behaviour"]
        return [CODEBOOK.load(name) if name in CODEBOOK else registry.find(name) for name in codes]
    if names is not None:
        return [registry.find_in(name, language) for name in names]
    if mode == "findings":
        return [registry.find_in("finding_extraction", language)]
    return _judged_rubrics(run, mode, folder, language)


def _judged_rubrics(run: Run, mode: Any, folder: Path | None, language: str | None) -> list[Rubric]:
    """The rubrics by which judges rated the run's transcripts, as far as the mode and people can answer them."""
    import polars as pl

    from bedside.annotation.annotation_plan import KINDS
    from bedside.annotation.items import answerable_rubrics
    from bedside.judges.rubrics.rubric_files import incomparable, rubrics_with
    from bedside.ratings.names import TRANSCRIPT, rated_by_judges, rates_pair
    from bedside.ratings.rubric_metrics import preferred_by

    registry = rubrics_with(folder)
    units = pl.col("unit") == TRANSCRIPT
    judged = run.ratings.filter(rated_by_judges(), units | rates_pair() if mode == "pairs" else units)
    names = sorted({preferred_by(metric) for metric in judged["metric"].unique()})
    rubrics = [registry.find_in(name, language) for name in names if name in registry]
    fitting = [rubric for rubric in rubrics if rubric.kind in KINDS[mode]]
    if mode == "pairs":
        fitting = [rubric for rubric in fitting if incomparable(rubric) is None]
    if not fitting:
        raise InputError("no judge has rated the run by rubrics", where=str(run.path), todo="name some with --rubrics")
    kept, left_out = answerable_rubrics(run, fitting)
    for name, reason in left_out.items():
        note(f"People can't rate {name}, which is left out: {reason}.")
    return kept
