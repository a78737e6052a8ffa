"""The command line: parses, calls the library, prints.

A file holds the commands of one kind; here they are put together, in the order ``--help`` lists them.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from bedside.cli import (
    annotation,
    catalogue,
    coders,
    demonstration,
    doctoring,
    drift,
    explaining,
    judgements,
    label_studio,
    planning,
    protocols,
    ratings,
    redirection,
    reporting,
    scoring,
    statistics,
)
from bedside.cli._common import say
from bedside.errors import BedsideError

_STOPPED = "stopped; nothing half-written is left. Run the same command again to go on"
#: What typer returns after Ctrl-C.
_INTERRUPTED = 130
_EPILOG = "Every command that prints a table takes --json. Errors are one line; the exit code is then 2."
app = typer.Typer(
    name="bedside",
    help="Score clinical and counselling conversations, and show how far the scores can be believed.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (
    scoring.score,
    statistics.agree,
    statistics.compare,
    statistics.validate,
    statistics.estimate,
    drift.drift,
    drift.trend,
    drift.deviation,
    reporting.report,
    explaining.explain,
    annotation.sample,
    demonstration.demo,
    doctoring.doctor,
):
    app.command()(_command)
for _name, _group in {
    "readers": catalogue.readers_app,
    "metrics": catalogue.metrics_app,
    "suites": catalogue.suites_app,
    "rubrics": catalogue.rubrics_app,
    "coder": coders.coders_app,
    "judgements": judgements.judgements_app,
    "ratings": ratings.ratings_app,
    "redirection": redirection.redirection_app,
    "medconceal": protocols.medconceal_app,
    "note2chat": protocols.note2chat_app,
    "plan": planning.plan_app,
    "annotate": label_studio.annotate_app,
}.items():
    app.add_typer(_group, name=_name)


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


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a bad call or input ends in one line on standard error and exit code 2."""
    try:
        code = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        message = " ".join(error.format_message().split()) if hasattr(error, "format_message") else str(error)
        _fail(f"{message} See bedside --help.")
    except BedsideError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _fail(_STOPPED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    if code == _INTERRUPTED:
        _fail(_STOPPED)
    sys.exit(code if isinstance(code, int) else 0)
