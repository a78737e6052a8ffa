"""The commands that put a question to ratings, each made from the settings of the function that answers it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.api import rating_questions as questions
from bedside.cli.help import App
from bedside.cli.output import (
    OutOption,
    Shown,
    gives_verdict,
    is_json,
    note_account,
    say,
    show_and_write,
    show_answer,
    show_tables,
)
from bedside.cli.settings_options import takes_settings
from bedside.core.words import typed

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What ``gate`` ends with where the gate isn't passed; 2 is for input that can't be read.
NOT_PASSED = 1
_OF_SYSTEMS = "A run, or a file of ratings with a column of systems."


@contextmanager
def files_told() -> Iterator[None]:
    """While a question is answered: say of each file of ratings what was understood of it, before the answer."""
    from bedside.ratings.rating_files import listening

    with listening(lambda file: note_account(file.account.lines())):
        yield


def _put_to(ask: Any, source: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function of a source, settings and what else is typed the command of a question.

    Args:
        ask: the question, whose settings say what the command is, with examples.
        source: what it is put to.
    """

    def made(command: Callable[..., None]) -> Callable[..., None]:
        command.__annotations__ |= {
            "source": Annotated[Path, typer.Argument(metavar="RUN", help=source)],
            "settings": ask.settings,
        }
        command.__name__ = ask.__name__
        return takes_settings(command)

    return made


def _tables_of(ask: Any, source: str, next_commands: str | None = None) -> Callable[..., None]:
    """The command of a question whose tables are shown, and written where a folder is named.

    Args:
        ask, source: as for :func:`_put_to`.
        next_commands: what to type next, with ``{}`` for the source.
    """

    @_put_to(ask, source)
    def command(source: Path, settings: Any, shown: Shown, out: OutOption = None) -> None:
        with files_told():
            tables = ask.with_settings(source, settings)
        following = None if next_commands is None else next_commands.format(typed(source))
        show_and_write(tables, shown, source=source, out=out, next_commands=following)

    return command


@_put_to(questions.agree, "A run, or a file of ratings (CSV, TSV, XLSX or Parquet).")
def agree(source: Path, settings: questions.AgreeSettings, shown: Shown, out: OutOption = None) -> None:
    with files_told():
        tables = questions.agree.with_settings(source, settings)
    if settings.confusion:  # who gave what is asked for: it is printed
        shown = replace(shown, all=True)
    next_commands = f"bedside validate {typed(source)}; bedside report {typed(source)}"
    show_and_write(tables, shown, source=source, out=out, next_commands=next_commands)


estimate = _tables_of(questions.estimate, "A run, or a file of ratings by people and a judge.", "bedside report {}")
preferences = _tables_of(
    questions.preferences,
    "A run, or a file of ratings, in which conversations were compared.",
    "bedside explain {0} --table strengths; bedside report {0}",
)
drift = _tables_of(questions.drift, "A run whose transcripts have a factor that holds their length.")
trend = _tables_of(questions.trend, "A run, or a file of ratings that has a metric called turns.")
deviation = _tables_of(questions.deviation, "A run, or a file of ratings.")


@_put_to(questions.compare, _OF_SYSTEMS)
def compare(source: Path, settings: questions.CompareSettings, shown: Shown, out: OutOption = None) -> None:
    with files_told():
        tables = questions.compare.with_settings(source, settings)
    next_commands = f"bedside report {typed(source)}"
    if settings.groups is None:
        pair = tables[-1].records[0]
        next_commands = f"bedside explain {typed(source)} --cell {pair['metric']}/{pair['a']}; {next_commands}"
    show_and_write(tables, shown, source=source, out=out, next_commands=next_commands)


@gives_verdict
@_put_to(questions.gate, _OF_SYSTEMS)
def gate(source: Path, settings: questions.GateSettings, shown: Shown) -> None:
    with files_told():
        tables = questions.gate.with_settings(source, settings)
    show_answer(tables, shown)
    if not tables.results.passed:
        raise typer.Exit(NOT_PASSED)


@_put_to(questions.explain, "A run, or a file of ratings.")
def explain(source: Path, settings: questions.ExplainSettings, shown: Shown) -> None:
    with files_told():
        explanation = questions.explain.with_settings(source, settings)
    show_answer(explanation.tables, shown)
    if shown.notes or is_json():
        say("\n" + "\n".join(explanation.definitions))


# -- ``bedside plan`` -------------------------------------------------------------------------------------

plan_app: App = App(
    """Say how many transcripts and raters a study needs.

    Examples:
        $ bedside plan kappa --half-width .1 --kappa .6 --raters 2,3
        $ bedside plan difference --difference .5 --sd 1
    """
)


@plan_app.command("kappa")
@takes_settings
def plan_kappa(settings: questions.KappaPlanSettings) -> None:
    show_tables(questions.plan_kappa.with_settings(settings))


@plan_app.command("difference")
@takes_settings
def plan_difference(settings: questions.DifferencePlanSettings) -> None:
    with files_told():
        tables = questions.plan_difference.with_settings(settings)
    show_tables(tables)
