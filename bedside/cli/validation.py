"""``bedside validate``: may a judge stand in for people, and do its levels move with what they must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from bedside.api import rating_questions as questions
from bedside.api.judge_tuning import PROBES, ProbeSettings, preview_probe, probe as probe_judges
from bedside.cli.output import OutOption, Shown, files_told, note, show_and_write, show_tables
from bedside.cli.progress import judging_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.question_settings import changed_fields, option, settings_class
from bedside.core.words import Names, typed
from bedside.ratings.names import is_judge


@settings_class
class _Validated(questions.ValidateSettings):
    """What is asked of judges, of which models are named with --probe."""

    judges: Names | None = option(
        "Raters to check, such as judge:* or an algorithm; without it, all raters that are not people. With "
        "--probe, the models to ask: openai/MODEL, http://host:port/v1#MODEL …",
        "--judges", "--judge", default=None, heading="Which ratings", metavar="A,B*", form="names", offers="raters",
    )  # fmt: skip


@settings_class
class _TypedProbing(ProbeSettings):
    """What was typed of probes."""

    judges: Names = option("Those of --judges.", default=(), heading=None)
    seed: int = option("That of the command.", default=0, heading=None)
    probe: bool = option(
        "Ask the models that --judges names about changed conversations: do their levels move with length, order, "
        "formatting, flattery, orders to the judge, language or wording?",
        default=False, heading=PROBES,
    )  # fmt: skip
    dry_run: bool = option(
        "Print how many requests and tokens each rubric and judge takes; ask and write nothing.",
        default=False, heading=PROBES,
    )  # fmt: skip


@takes_settings
def validate(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings by people and judges.")],
    settings: _Validated,
    probing: _TypedProbing,
    shown: Shown,
    out: OutOption = None,
) -> None:
    """Answer "may this judge stand in for people?".

    It shows the judge's agreement with people beside people's own, the alternative annotator test by case, its bias,
    how well it finds what is rare, its sensitivity and specificity where there are two levels, and whether the levels
    that it expects come true. There is no yes for a judge that always gives the same level, that may agree by chance
    only, or that never gives a level that people use.

    With --probe it asks models about changed conversations instead, and shows whether their levels move with what they
    must not move with. The same command again asks only what is missing.

    Examples:
        $ bedside validate run
        $ bedside validate run --judges 'judge:openai/*' --metrics empathy
        $ bedside validate run --probe --judge openai/gpt-5-mini --rubrics empathy --dry-run
    """
    if probing.probe or probing.probes is not None:
        _probe(source, settings, probing, shown, out)
        return
    unasked = changed_fields(probing)
    if unasked:
        raise InputError("no judge is probed", where=f"`{unasked[0]}`", todo="add --probe")
    with files_told():
        tables = questions.validate.with_settings(source, settings)
    estimated = any(is_judge(card.rater) for of in (tables.levels.values() or [tables]) for card in of.results)
    correct = f"bedside estimate {typed(source)}; " if estimated else ""
    show_and_write(tables, shown, source=source, out=out, next_commands=f"{correct}bedside report {typed(source)}")


def _probe(run: Path, settings: _Validated, probing: _TypedProbing, shown: Shown, out: Path | None) -> None:
    """Probe judges on a run and show what is seen, or what it would take."""
    if not settings.judges:
        raise InputError("no judge is named", where="--probe", todo="add --judge MODEL")
    how = replace(
        probing, judges=settings.judges, rubrics=settings.metrics, made_by=settings.made_by, seed=settings.seed
    )
    if probing.dry_run:
        show_tables(preview_probe.with_settings(run, how))
        return
    with judging_progress() as watch:
        tables = probe_judges.with_settings(run, replace(how, progress=watch))
    show_and_write(tables, shown, source=run, out=out, next_commands=f"bedside report {typed(run)}")
    if not all(summary.complete for probed in tables.results for summary in probed.judged):
        note("Not everything was answered: the same command asks what is missing.")
