"""The commands that put a question to ratings, each made from the settings of the function that answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bedside.api import rating_questions as questions
from bedside.cli.help import App
from bedside.cli.output import (
    OutOption,
    Shown,
    files_told,
    gives_verdict,
    is_json,
    say,
    show_and_write,
    show_answer,
    show_tables,
)
from bedside.cli.parsing import check_choice
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.question_settings import OPTIONS, option, options, settings_class
from bedside.core.words import typed

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What ``gate`` ends with where the gate isn't passed; 2 is for input that can't be read.
NOT_PASSED = 1
_OF_SYSTEMS = "A run, or a file of ratings with a column of systems."


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


@_put_to(
    questions.agree, "A run, a file of ratings (CSV, TSV, XLSX or Parquet), or a folder of such sheets, read as one."
)
def agree(source: Path, settings: questions.AgreeSettings, shown: Shown, out: OutOption = None) -> None:
    with files_told():
        tables = questions.agree.with_settings(source, settings)
    if settings.confusion:  # who gave what is asked for: it is printed
        shown = replace(shown, all=True)
    next_commands = f"bedside validate {typed(source)}; bedside report {typed(source)}"
    show_and_write(tables, shown, source=source, out=out, next_commands=next_commands)


@_put_to(questions.estimate, "A run, or a file of ratings by people and a judge.")
def estimate(source: Path, settings: questions.EstimateSettings, shown: Shown, out: OutOption = None) -> None:
    with files_told():
        tables = questions.estimate.with_settings(source, settings)
    show_and_write(tables, shown, source=source, out=out, next_commands=f"bedside report {typed(source)}")


# -- ``bedside compare``: four more questions are put by an option -----------------------------------------


@settings_class
class ComparedSettings(questions.CompareSettings, questions.DriftSettings, questions.TrendSettings):
    """Compare systems: with one another, over length, with a reference.

    Each case counts once, and values are paired by case. --preferences, --over and --against each ask another question.

    Examples:
        $ bedside compare run --systems A,B
        $ bedside compare run --groups mi_quality
        $ bedside compare run --reference A --metrics 'empathy,percent_*' --test permutation
        $ bedside compare run --systems new,old --metrics empathy --margin 0.3
        $ bedside compare run --preferences --rubric empathy --raters 'judge:*'
        $ bedside compare run --over length --by target_length --lengths 20,80
        $ bedside compare run --against annomi-run --metrics 'percent_*'
    """

    preferences: bool = option("Show which system is preferred in pairs.", default=False, heading=OPTIONS)
    over: Literal["length", "messages"] | None = option(
        "Show how metrics change with length or messages.",
        default=None, heading=OPTIONS, metavar="length|messages",
    )  # fmt: skip
    against: str | None = option(
        "Compare with a reference: a run, a file or a system.",
        default=None, heading=OPTIONS, metavar="REFERENCE",
    )  # fmt: skip


_TWO_BY_TWO = "comparing systems two by two"
#: The questions by what asks them, and their fields that the command calls otherwise.
_COMPARED: dict[str, tuple[Any, dict[str, str]]] = {
    _TWO_BY_TWO: (questions.compare, {}),
    "--preferences": (questions.preferences, {"rubrics": "metrics"}),
    "--over length": (questions.drift, {}),
    "--over messages": (questions.trend, {}),
    "--against": (questions.deviation, {"reference": "against"}),
}


def _compared(settings: ComparedSettings, typed_names: Iterable[str]) -> tuple[Any, Any]:
    """The question that is asked, and its settings.

    Raises:
        InputError: two questions are asked, or one and what says something of another.
    """
    check_choice(settings.over, ("length", "messages"), "--over")
    over = f"--over {settings.over}"
    asking = {"--preferences": settings.preferences, over: settings.over, "--against": settings.against}
    asked, *others = [*(words for words, value in asking.items() if value), _TWO_BY_TWO]
    if len(others) > 1:
        raise InputError("each is a question of its own", where=f"{asked} and {others[0]}", todo="ask one at a time")
    fields = {
        words: {other.get(name, name): name for name in options(ask.settings)}
        for words, (ask, other) in _COMPARED.items()
    }
    for name in typed_names:
        takers = [words for words, taken in fields.items() if name in taken]
        if takers and asked not in takers:
            raise InputError(
                f"it goes with {takers[0]}, not with {asked}", where=f"`{name}`", todo="ask for one of the two"
            )
    ask, _ = _COMPARED[asked]
    return ask, ask.settings(**{field: getattr(settings, name) for name, field in fields[asked].items()})


@takes_settings
def compare(
    source: Annotated[Path, typer.Argument(metavar="RUN", help=_OF_SYSTEMS)],
    settings: ComparedSettings,
    shown: Shown,
    out: OutOption = None,
    *,
    context: typer.Context,
) -> None:
    typed_names = [
        name for name in context.params if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE"
    ]
    ask, asked = _compared(settings, typed_names)
    with files_told():
        tables = ask.with_settings(source, asked)
    report, next_commands = f"bedside report {typed(source)}", None
    if ask is questions.preferences:
        next_commands = f"bedside explain {typed(source)} --table strengths; {report}"
    elif ask is questions.compare:
        pair = tables[-1].records[0]
        cell = f"bedside explain {typed(source)} --cell {pair['metric']}/{pair['a']}; "
        next_commands = f"{cell if settings.groups is None else ''}{report}"
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
        for line in ("", *"\n".join(explanation.definitions).split("\n")):
            say(line)


# -- ``bedside plan`` -------------------------------------------------------------------------------------

plan_app: App = App(
    """Say how many transcripts and raters a study needs.

    Examples:
        $ bedside plan kappa --half-width .1 --kappa .6 --raters 2,3
        $ bedside plan difference --difference .5 --sd 1
        $ bedside plan judge --prevalence .1
        $ bedside plan raters --pilot run --metric empathy
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


@plan_app.command("judge")
@takes_settings
def plan_judge(settings: questions.JudgePlanSettings) -> None:
    show_tables(questions.plan_judge.with_settings(settings))


@plan_app.command("raters")
@takes_settings
def plan_raters(settings: questions.RaterPlanSettings) -> None:
    with files_told():
        tables = questions.plan_raters.with_settings(settings)
    show_tables(tables)
