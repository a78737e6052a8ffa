"""The command line: parses, calls the library, prints.

A file holds the commands of one kind; here they are put together, in the order ``--help`` lists them.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command, get_command_from_info, get_group

from bedside.cli.completion import answer
from bedside.cli.help import App, CommandGroup
from bedside.cli.output import say
from bedside.core.errors import BedsideError, InputError
from bedside.core.stopping import stoppable

_STOPPED = "stopped; nothing is left half-written. Run the same command again to go on"
#: What typer returns after Ctrl-C.
_INTERRUPTED = 130
_LAST = "After any command: --help, --json, --timings. An error is one line (exit 2)."
#: The modules of the commands and groups of commands, under the headings and in the order that ``--help`` lists them.
_COMMANDS: dict[str, dict[str, str]] = {
    "Begin": {
        **dict.fromkeys(("demo", "doctor", "verify", "sign"), "first_look"), "list": "catalogue", "show": "catalogue",
    },
    "Score": {
        "read": "read", "scrub": "scrub", "score": "score", "judge": "judge_commands", "merge": "run_commands",
        "forget": "run_commands",
    },
    "People rate": {"sample": "annotation", "annotate": "annotation", "ratings": "run_commands"},
    "Can the scores be believed?": {
        "agree": "question_commands", "validate": "validation", "estimate": "question_commands",
    },
    "Results": {
        **dict.fromkeys(("compare", "gate", "explain"), "question_commands"),
        "report": "report", "view": "run_commands", "export": "run_commands",
    },
    "Simulate, plan, train": {
        "simulate": "simulation", "benchmark": "benchmark", "plan": "question_commands", "train": "training",
    },
}  # fmt: skip
_MODULES = {name: (heading, module) for heading, named in _COMMANDS.items() for name, module in named.items()}
#: Commands of the version before, and what is typed now.
_FORMER = {
    **{kind: f"list {kind}; bedside show NAME" for kind in ("metrics", "rubrics", "suites", "readers", "probes")},
    "schema": "list schemas; bedside show NAME --schema",
    "judgements": "judge answers",
    "simulation": "simulate status, failed, show, quality, turns or dialogues",
    "simulators": "list protocols",
    "simulators show": "show NAME --kind protocols",
    **{f"simulators {name}": f"simulate {name}" for name in ("check", "convert", "match", "profiles")},
    "preferences": "compare RUN --preferences",
    "drift": "compare RUN --over length",
    "trend": "compare RUN --over messages",
    "deviation": "compare RUN --against REFERENCE",
    "coder": "list coders",
    "coder show": "show NAME",
    "coder train": "train coder",
    "coder evaluate": "train test-coder",
    "redirection": "train redirection",
    "medconceal": "train policy",
    "note2chat": "train note2chat",
}


class _Commands(Mapping[str, Any]):
    """All commands by name; the module of one is loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class _CommandLine(CommandGroup):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.commands = _Commands()  # type: ignore[assignment]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """A line a command, the options by their names, examples: all on one screen."""
        for heading, names in _COMMANDS.items():
            formatter.write(f"{heading}\n")
            for name in names:
                formatter.write(f"  {name:<9}  {_short_help()[name]}\n")
        named = ", ".join(option.opts[-1] for option in self.get_params(ctx))
        examples = "; ".join(example.removeprefix("$ ") for example in self.examples)
        formatter.write(f"Options: {named}\nExamples: {examples}\n{_LAST}")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Nothing more."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command or group of a name; None where there is none."""
        return self.commands[cmd_name] if cmd_name in _MODULES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is typed; of a former one it is said what to type now."""
        for name in (" ".join(args[:2]), args[0]):
            if name in _FORMER and not ctx.resilient_parsing:
                raise InputError(f"{name} is now: bedside {_FORMER[name]}")
        return super().resolve_command(ctx, args)


@cache
def _short_help() -> dict[str, str]:
    """Command → the first sentence of its help; made by tools/make_docs.py, as loading all commands takes long."""
    return dict(line.split("\t") for line in Path(__file__).with_name("commands.tsv").read_text("utf-8").splitlines())


@cache
def _loaded(name: str) -> Any:
    heading, place = _MODULES[name]
    module = import_module(f"bedside.cli.{place}")
    group = getattr(module, f"{name}_app", None)
    if group is None:
        single = App("")
        single.command(name)(getattr(module, name))
        command = get_command_from_info(
            single.registered_commands[0], pretty_exceptions_short=False, rich_markup_mode=None
        )
    else:
        command = get_group(group)
        command.name = name
    command.rich_help_panel = heading  # type: ignore[attr-defined]
    return command


app: App = App(
    """Score clinical and counselling conversations; say how far to believe it.

    Examples:
        $ bedside demo
        $ bedside score talks/ --out run
        $ bedside report run
    """,
    kind=_CommandLine,
    name="bedside",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        from bedside.api.installation import installing

        _fail(installing(str(error)))
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
