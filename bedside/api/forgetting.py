"""Data are removed from a run: a case's, a rater's, or those of before a date; that some were is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.core.errors import InputError
from bedside.core.question_settings import OPTIONS, option, question, settings_class

if TYPE_CHECKING:
    from bedside.annotation.withdrawal import Forgetting
    from bedside.api.run_files import RunOrFolder
    from bedside.ratings.run import Run


@settings_class
class ForgetSettings:
    """Remove a case, a rater, or what is older than a date from a run.

    Transcripts go with their ratings, judgements, prompts, items of plans and answers, on the rating page too; from a
    simulation, cases alone. The report in the run goes: make it again. That something was removed is kept.

    Examples:
        $ bedside forget run --case p-017
        $ bedside forget run --rater anna
        $ bedside forget run --before 2024-01-01 --plan plan.json
        $ bedside forget talks --case p-017
    """

    case: str | None = option("A case, or the id of one transcript.", default=None, heading=OPTIONS, metavar="NAME")
    rater: str | None = option("A rater, in all plans and files.", default=None, heading=OPTIONS, metavar="NAME")
    before: str | None = option(
        "Transcripts whose date is before this day; those without a date stay, and are counted.",
        default=None, heading=OPTIONS, metavar="DATE",
    )  # fmt: skip
    date_factor: str = option(
        "The factor that holds the date of a transcript, as 2024-01-31.",
        default="date", heading=OPTIONS, metavar="NAME",
    )  # fmt: skip
    plan: tuple[str, ...] = option(
        "A plan's file outside of the run that is to be written anew, once each.",
        default=(), heading=OPTIONS, metavar="FILE", form="repeated",
    )  # fmt: skip
    by: str = option("Who removes it, for the record.", default="", heading=OPTIONS, metavar="NAME")


@question(ForgetSettings, "The run, or its folder; or a simulation's folder.")
def forget(run: RunOrFolder, settings: ForgetSettings) -> Forgetting:
    """Where it was interrupted, the same call goes on.

    Raises:
        BedsideError: there is no such case, rater or date, or another process uses the run.
    """
    import polars as pl

    from bedside.annotation.withdrawal import OF_SIMULATION, Forgetting, forget_rater, forget_transcripts
    from bedside.api.annotating import write_current_plan
    from bedside.api.run_files import open_run
    from bedside.ratings.run import Run
    from bedside.simulation.talks_folder import forget_case
    from bedside.transcripts.simulation_folder import simulation_manifest

    chosen = {kind: getattr(settings, kind) for kind in ("case", "rater", "before") if getattr(settings, kind)}
    if len(chosen) != 1:
        raise InputError("name one of `case`, `rater` and `before`", todo="what is to be removed")
    ((kind, name),) = chosen.items()
    if not isinstance(run, Run) and simulation_manifest(run) is not None:
        if kind != "case":
            todo = "name a case with `case`, or delete the folder whole"
            raise InputError("of a simulation, cases alone are removed", where=f"`{kind}`", todo=todo)
        number, replies = forget_case(Path(run), name, settings.by)
        return Forgetting(kind, number, replies=replies, elsewhere=OF_SIMULATION)
    opened = open_run(run)
    if kind == "rater":
        done = forget_rater(opened, name, by=settings.by)
    elif kind == "case":
        of_case = (pl.col("case_id") == name) | (pl.col("id") == name)
        try:
            done = forget_transcripts(
                opened, kind, lambda index: index.filter(of_case)["id"].to_list(), {name}, by=settings.by
            )
        except InputError:  # it was killed before it wrote a plan's file
            had_items = [write_current_plan(opened, file) for file in settings.plan]
            if not any(had_items):
                raise
            done = Forgetting(kind)
    else:
        try:
            day = date.fromisoformat(name)
        except ValueError as error:
            raise InputError(f"{name!r} is no day", where="`before`", todo="type it as 2024-01-31") from error
        days = _days(opened, settings.date_factor)
        old = [own for own, when in days.items() if when is not None and when < day]
        done = forget_transcripts(opened, kind, lambda _: old, by=settings.by)
        done = replace(done, undated=sum(when is None for when in days.values()))
    for file in settings.plan:
        write_current_plan(opened, file)
    return done


def _days(run: Run, factor: str) -> dict[str, date | None]:
    """Transcript → its day; None where it has none.

    Raises:
        InputError: none has one.
    """
    table, days = run.factors, dict[str, date | None]()
    for row in table.iter_rows(named=True):
        try:
            days[row["transcript_id"]] = date.fromisoformat((row.get(factor) or "")[:10])
        except ValueError:
            days[row["transcript_id"]] = None
    if not any(days.values()):
        known = [name for name in table.columns if name != "transcript_id"]
        todo = f"name the factor with `date_factor`: {', '.join(known) or 'the run has none'}"
        raise InputError(f"no transcript has a day in {factor!r}", where=str(run.path), todo=todo)
    return days
