"""The command line: parses, calls the library, prints.

A file holds the commands of one kind; here they are put together, in the order ``--help`` lists them.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from bedside.cli.annotation_status import annotate_app
from bedside.cli.benchmark import benchmark_app
from bedside.cli.catalogue import metrics_app, probes_app, readers_app, rubrics_app, suites_app
from bedside.cli.coders import coders_app
from bedside.cli.completion import answer
from bedside.cli.demo import demo
from bedside.cli.doctor import doctor
from bedside.cli.export import export
from bedside.cli.help import App
from bedside.cli.judge_commands import judge_app
from bedside.cli.judgements import judgements_app
from bedside.cli.medconceal import medconceal_app
from bedside.cli.merging import merge
from bedside.cli.note2chat import note2chat_app
from bedside.cli.output import say
from bedside.cli.questions import agree, compare, deviation, drift, estimate, explain, gate, preferences, trend
from bedside.cli.ratings import ratings_app
from bedside.cli.read import read
from bedside.cli.redirection import redirection_app
from bedside.cli.report import report
from bedside.cli.sampling import sample
from bedside.cli.schema import schema
from bedside.cli.score import score
from bedside.cli.scrub import scrub
from bedside.cli.simulate import simulate
from bedside.cli.simulation import simulation_app
from bedside.cli.simulators import simulators_app
from bedside.cli.study_size import plan_app
from bedside.cli.validation import validate
from bedside.cli.view import view
from bedside.core.errors import BedsideError
from bedside.core.stopping import stoppable

_STOPPED = "stopped; nothing is left half-written. Run the same command again to go on"
#: What typer returns after Ctrl-C.
_INTERRUPTED = 130
_EPILOG = "Every command takes --json. An error is one line that says what to do; the exit code is then 2."
app: App = App(
    """Score clinical and counselling conversations, and show how far the scores can be believed.

    Examples:
        $ bedside demo
        $ bedside score talks/ --out run
        $ bedside report run
    """,
    name="bedside",
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: The commands, under the headings and in the order that ``--help`` lists them.
_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Begin": (demo, doctor),
    "Simulate": (simulate,),
    "Score": (read, scrub, score, merge),
    "People rate": (sample,),
    "Can the scores be believed?": (agree, validate, estimate),
    "Results": (compare, preferences, gate, drift, trend, deviation, report, view, explain, export),
    "What there is": (schema,),
}
_GROUPS: dict[str, dict[str, typer.Typer]] = {
    "Simulate": {"benchmark": benchmark_app, "simulation": simulation_app, "simulators": simulators_app},
    "Score": {"judge": judge_app, "judgements": judgements_app},
    "People rate": {"annotate": annotate_app, "ratings": ratings_app},
    "Before a study": {"plan": plan_app},
    "What there is": {
        "suites": suites_app,
        "metrics": metrics_app,
        "rubrics": rubrics_app,
        "probes": probes_app,
        "readers": readers_app,
    },
    "Train and fit": {
        "coder": coders_app,
        "redirection": redirection_app,
        "medconceal": medconceal_app,
        "note2chat": note2chat_app,
    },
}
for _panel, _commands in _COMMANDS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
for _panel, _groups in _GROUPS.items():
    for _name, _group in _groups.items():
        app.add_typer(_group, name=_name, rich_help_panel=_panel)


def _version(value: bool) -> None:
    if value:
        from bedside import __version__

        say(f"bedside {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _fail(message: str) -> NoReturn:
    typer.echo(f"bedside: {message}", err=True)
    sys.exit(2)


#: What the parser says of a value, and what it means.
_KINDS = {
    "valid integer": "a whole number",
    "valid number": "a number",
    "greater than or equal to 0": "a number that is not below 0",
}


def _usage(error: Any) -> str:
    """What is wrong with what was typed, what may have been meant, and where to look."""
    from difflib import get_close_matches

    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    message = " ".join(error.format_message().split()).removesuffix(".")
    if option is not None and hasattr(error, "possibilities") and context is not None:
        options = [name for parameter in context.command.params for name in parameter.opts]
        nearest = get_close_matches(option, [*options, "--help"], n=1)
        message = f"there is no option {option}" + "".join(f"; did you mean {name}?" for name in nearest)
    for words, kind in _KINDS.items():
        if words in message and getattr(error, "param", None) is not None:
            message = f"{error.param.opts[0]} takes {kind}"
    if not message.endswith("?"):
        message += "."
    return f"{message} See {context.command_path if context is not None else 'bedside'} --help."


def _leave(code: int) -> NoReturn:
    """End, where what is left to print can't be printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


@cache
def command_line() -> Any:
    """All commands as the parser knows them. They take long to make, so they are made once in a process."""
    return get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a bad call or input ends in one line on standard error and exit code 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed where the command was typed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A system whose language has no arrows or Greek letters, as Windows where output goes to a file.
        sys.stdout.reconfigure(errors="backslashreplace")
    with stoppable():
        _run(arguments)


def _run(arguments: list[str] | None) -> NoReturn:
    if "_BEDSIDE_COMPLETE" in os.environ:
        answer(app, os.environ["_BEDSIDE_COMPLETE"])
    try:
        code = command_line()(arguments, standalone_mode=False, prog_name="bedside")
        sys.stdout.flush()
    except typer.TyperException as error:
        _fail(_usage(error))
    except BedsideError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _fail(_STOPPED)
    except BrokenPipeError:  # whoever reads wants no more
        _leave(0)
    except OSError as error:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        typer.echo(f"bedside: {where}can't go on ({error.strerror or error})", err=True)
        _leave(2)
    if code == _INTERRUPTED:
        _fail(_STOPPED)
    sys.exit(code if isinstance(code, int) else 0)
