"""``bedside judge``: what judges are asked of a run that is there, beside ``bedside score``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bedside.api.judge_tuning import (
    CascadeSettings,
    JudgeDriftSettings,
    JurySettings,
    LearnSettings,
    RouteSettings,
    TuneSettings,
    cascade as fit_cascade,
    judge_drift,
    jury as make_jury,
    learn_rater,
    preview_drift,
    preview_route,
    preview_tuning,
    route as route_run,
    tune_judge,
)
from bedside.api.judging import PairsSettings, judge_pairs, preview_pairs
from bedside.api.run_files import open_run
from bedside.cli.help import App
from bedside.cli.judgements import answers_app, batches_left
from bedside.cli.judges import JURY_HELP, DryRun, read_jury
from bedside.cli.output import (
    OutOption,
    Shown,
    in_options,
    note,
    note_account,
    say,
    say_limit,
    show_and_write,
    show_answer,
    show_tables,
)
from bedside.cli.progress import judging_progress
from bedside.cli.settings_options import takes_settings, takes_settings_with
from bedside.core.errors import DataError
from bedside.core.words import typed


@takes_settings
def tune(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that people rated by the rubric.")],
    settings: TuneSettings,
    dry: DryRun,
) -> None:
    if dry.dry_run:
        show_tables(preview_tuning.with_settings(run, settings))
        return
    with judging_progress() as progress:
        tuned = tune_judge.with_settings(run, replace(settings, progress=progress))
    show_tables(tuned.tables)
    if tuned.rubric is None or settings.out is None:
        return
    holds = ", which holds parts of transcripts: keep it as you keep them" if tuned.rubric.examples else ""
    out = str(settings.out)
    note(f"Wrote {out}{holds}")
    say(f"Next: bedside score FILES --out {typed(run)} --rubrics {typed(out)} --judge {typed(settings.judge)}")


@takes_settings
def pairs(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run with conversations of two systems or more.")],
    settings: PairsSettings,
    dry: DryRun,
) -> None:
    from bedside.judges.counts import spent
    from bedside.reports.preference_tables import preferred_of

    if dry.dry_run:
        note_account(open_run(run).waiting())
        show_tables(preview_pairs.with_settings(run, settings))
        return
    left = batches_left(run, settings.batch, lambda: preview_pairs.with_settings(run, settings))
    with left, judging_progress() as progress:
        compared = judge_pairs.with_settings(run, replace(settings, progress=progress))
    tables = [compared.table]
    try:
        tables += preferred_of(run, compared.rubrics)
    except DataError as error:  # the answers are kept; what they don't come to is said
        note(in_options(str(error)))
    show_tables(tables)
    if not compared.complete:
        say_limit(spent(compared.judges), settings.max_cost, say)
        say("Not everything was answered: the same command asks what is missing.")


@takes_settings
def drift(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that a judge has rated.")],
    settings: JudgeDriftSettings,
    dry: DryRun,
    shown: Shown,
    out: OutOption = None,
) -> None:
    if dry.dry_run:
        note_account(open_run(run).waiting())
        show_tables(preview_drift.with_settings(run, settings))
        return
    with judging_progress() as progress:
        tables = judge_drift.with_settings(run, replace(settings, progress=progress))
    show_and_write(tables, shown, source=run, out=out)


@takes_settings_with(name="", judges=())
def jury(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that judges have rated.")],
    jury: Annotated[str, typer.Option("--jury", metavar="NAME=A,B,C", help=JURY_HELP)],
    settings: JurySettings,
    out: OutOption = None,
) -> None:
    name, members = read_jury(jury)
    tables = make_jury.with_settings(run, replace(settings, name=name, judges=members))
    following = f"bedside validate {typed(run)} --judges {typed(tables.results[0].jury.rater)}"
    show_and_write(tables, Shown(all=True, notes=True), source=run, out=out, next_commands=following)


@takes_settings
def cascade(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that people and the judges have rated.")],
    settings: CascadeSettings,
) -> None:
    tables = fit_cascade.with_settings(run, settings)
    show_answer(tables, Shown(all=True, notes=True))
    if settings.out is None:
        note("Nothing is kept: --out FILE keeps the cascade.")
    else:
        out = str(settings.out)
        left = [fit.facts.title for fit in tables.results if not fit.settles]
        without = f" without {', '.join(left)}, where no judge can be left alone" if left else ""
        note(f"Wrote {out}{without}. Next: bedside judge route RUN --cascade {typed(out)}")


@takes_settings
def route(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that keeps its text.")],
    settings: RouteSettings,
    dry: DryRun,
) -> None:
    if dry.dry_run:
        show_tables(preview_route.with_settings(run, settings))
        return
    with judging_progress() as progress:
        tables = route_run.with_settings(run, replace(settings, progress=progress))
    show_answer(tables, Shown(all=True, notes=True))
    if any(routed.people for routed in tables.results):
        note(f"Next: bedside sample {typed(run)} --cascade {tables.results[0].jury.name} --per 40")


@takes_settings
def learn(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run with people's ratings.")], settings: LearnSettings
) -> None:
    tables = learn_rater.with_settings(run, settings)
    show_tables(tables)
    out = str(settings.out)
    note(f"Wrote {out}: {tables.results.rater}. Next: bedside score FILES --rater {typed(out)}")


# -- ``bedside judge``: what judges are asked of a run that is there ------------------------------------

judge_app: App = App(
    """Have judges compare conversations; join, tune and question them.

    To have a judge rate conversations one by one, use bedside score --judge.

    Examples:
        $ bedside judge pairs run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c
        $ bedside judge cascade run --judges openai/gpt-5-mini,openai/gpt-5 --out cascade.json
        $ bedside judge learn run --rubric empathy --out empathy.npz
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --out tuned.yaml
        $ bedside judge drift run --dry-run
    """
)
for _command in (pairs, jury, cascade, route, learn, tune, drift):
    judge_app.command(_command.__name__)(_command)
judge_app.add_typer(answers_app, name="answers")
