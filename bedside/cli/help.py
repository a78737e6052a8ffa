"""How ``--help`` looks: options and commands under headings, examples at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from bedside.cli.completion import engine_names, probe_names, protocol_names
from bedside.cli.output import is_json, naming_options, say_entries, takes_json
from bedside.cli.parsing import either
from bedside.core.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
Rows = dict[str, list[tuple[str, str]]]


def _write(formatter: Any, sections: Rows) -> None:
    for heading, rows in sections.items():
        with formatter.section(heading):
            formatter.write_dl(rows)


def _write_options(command: Any, context: Any, formatter: Any) -> None:
    """Arguments, then options that name no heading, then those that do, under theirs."""
    rows: Rows = {"Arguments": [], "Options": []}
    last: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        help_record = parameter.get_help_record(context)
        if help_record is None:
            continue
        record = (_named(parameter), _with_names(help_record[1]))
        if parameter.name == "help":
            last = [record]
        elif parameter.param_type_name == "argument":
            rows["Arguments"].append(record)
        else:
            rows.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(record)
    sections = {heading: records for heading, records in rows.items() if records}
    heading = "Options" if set(sections) <= {"Arguments"} else [*sections][-1]
    sections[heading] = [*sections.get(heading, []), *last]
    _write(formatter, sections)


def _named(parameter: Any) -> str:
    """What is typed for a parameter: short names and its first, that for the opposite, what to put for its value."""
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return f"{value}..." if parameter.nargs == -1 else str(value)
    short = [name for name in parameter.opts if not name.startswith("--")]
    long = next(name for name in parameter.opts if name.startswith("--"))
    opposite = "".join(f" / {name}" for name in parameter.secondary_opts)
    return ", ".join((*short, long)) + opposite + ("" if parameter.is_flag else f" {value}")


#: What stands in a help text for names that are listed when it is shown.
_LISTED: dict[str, Callable[[], list[str]]] = {
    "{engines}": engine_names,
    "{protocols}": protocol_names,
    "{probes}": probe_names,
}


def _with_names(text: str) -> str:
    for placeholder, names in _LISTED.items():
        if placeholder in text:
            text = text.replace(placeholder, either(names()))
    return text


def _usage(command: Any) -> list[str]:
    """What stands in the usage line after a command's name."""
    return [
        "[OPTIONS]",
        *(_named(parameter) for parameter in command.params if parameter.param_type_name == "argument"),
    ]


def _unread(command: Any, context: Any) -> None:
    """While a shell waits for names nothing is done with values, and so nothing loaded that reads them."""
    if context.resilient_parsing:
        for parameter in command.get_params(context):
            parameter.process_value = lambda context, value: value


def _write_examples(examples: Iterable[str], formatter: Any) -> None:
    lines = list(examples)
    if lines:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in lines))


def _split(text: str | None) -> tuple[str, list[str]]:
    """A docstring without its examples, and the examples' lines."""
    about, _, examples = (text or "").partition("Examples:\n")
    return about.strip(), [line.strip() for line in examples.splitlines() if line.strip()]


#: Arguments of the library that the commands call by another name.
_OTHER_NAMES = {
    "judges": "judge",
    "speakers": "roles",
    "folder": "out",
    "settings": "setting",
    "options": "set_",
    "prices": "price",
    "key": "key_env",
    "day": "date",
}


#: Arguments of which messages say that another command takes them, where this one doesn't.
_ELSEWHERE = {"text": "--no-text", "repeat": "--repeat", "passes": "--passes"}


def _options_by_argument(command: Any) -> dict[str, str]:
    """What a command calls the library's arguments: its options with dashes, its arguments in capitals."""
    spelled = {}
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        spelled[parameter.name] = parameter.opts[0] if is_option else _named(parameter)
    for argument, name in _OTHER_NAMES.items():
        if name in spelled:
            spelled.setdefault(argument, spelled[name])
    for option in (option for parameter in command.params for option in parameter.opts):
        if option.startswith("--"):
            spelled.setdefault(option[2:].replace("-", "_"), option)
    return spelled


class Command(TyperCommand):
    """A command whose docstring may end in ``Examples:`` and whose options may stand under headings.

    Attributes:
        examples: what the docstring gives as such, a line each.
    """

    examples: list[str]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        named["help"], self.examples = _split(named.get("help"))
        super().__init__(*arguments, **named)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Options, then arguments by the names that the help has for them."""
        return _usage(self)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what is typed."""
        _unread(self, ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of the library names its options where the library named arguments."""
        with naming_options({**_ELSEWHERE, **_options_by_argument(self)}):
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what the command takes."""
        _write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)


class CommandGroup(TyperGroup):
    """A group that lists its commands under headings; without one of them it shows its help.

    Attributes:
        examples: what its text gives as such, a line each.
    """

    examples: list[str]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        named["help"], self.examples = _split(named.get("help"))
        super().__init__(*arguments, **named)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings, each with its whole first sentence."""
        rows: Rows = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None) or "Commands"
                rows.setdefault(panel, []).append((name, command.get_short_help_str(200)))
        _write(formatter, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples and the last words."""
        _write_examples(self.examples, formatter)
        super().format_epilog(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help where nothing is asked for."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit(2)
        _unread(self, ctx)
        return super().parse_args(ctx, args)


class UsualCommandGroup(CommandGroup):
    """A group whose command ``run`` is meant where none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what is typed, with the command in its place."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """A group of commands as the command line has them.

    Args:
        about: what ``--help`` says of it; may end in ``Examples:``.
        lists: whether, where none of its commands is named, its callback lists what there is; else its help is shown.
        runs: whether, where none of its commands is named, ``run`` is meant.
        kind: the class of the group, where it isn't the usual one.
    """

    def __init__(
        self,
        about: str,
        *,
        lists: bool = False,
        runs: bool = False,
        kind: type[CommandGroup] = CommandGroup,
        **named: Any,
    ) -> None:
        self.lists = lists
        super().__init__(
            cls=UsualCommandGroup if runs else kind,
            help=about,
            invoke_without_command=lists,
            no_args_is_help=not lists,
            rich_markup_mode=None,
            **named,
        )

    def command(self, name: str | None = None, **named: Any) -> Callable[[F], F]:
        """A command of the group; each takes ``--json``."""
        register = super().command(name, cls=Command, **named)

        def registered(command: F) -> F:
            register(takes_json(command))
            return command

        return registered

    def callback(self, **named: Any) -> Callable[[F], F]:
        """What runs before the group's commands; of a group that lists what there is, it takes ``--json``."""
        register = super().callback(**named)

        def registered(callback: F) -> F:
            register(takes_json(callback) if self.lists else callback)
            return callback

        return registered

    def lists_entries(self, what: str, title: str, rows: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """Without one of its commands, the group prints names with their titles.

        Args:
            what: the name of the table of them.
            title: what they are.
            rows: names and titles.
        """

        @self.callback()
        def entries(context: typer.Context) -> None:
            command = context.invoked_subcommand
            if command is None:
                say_entries(what, rows(), title=title)
            elif is_json():
                raise InputError(f"it stands before {command}", where="--json", todo=f"write it after {command}")


def titles(module: str, registry: str) -> Callable[[], Iterable[tuple[str, str]]]:
    """The names in a registry with their titles; it is loaded when they are asked for.

    Args:
        module: where the registry is.
        registry: its name there.
    """
    return lambda: ((name, entry.title) for name, entry in getattr(import_module(module), registry).all().items())
