"""How ``--help`` looks: options and commands under headings, examples at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import typer
from typer.core import TyperCommand, TyperGroup

from bedside.cli.completion import engine_names, probe_names, protocol_names
from bedside.cli.output import naming_options, takes_json
from bedside.cli.parsing import either
from bedside.core.question_settings import ARGUMENTS, OPTIONS, OUTPUT, READING

F = TypeVar("F", bound=Callable[..., Any])
Rows = dict[str, list[tuple[str, str]]]


def _write(formatter: Any, sections: Rows) -> None:
    for heading, rows in sections.items():
        with formatter.section(heading):
            formatter.write_dl(rows)


def _write_commands(commands: Mapping[str, Any], formatter: Any) -> None:
    """Commands under their headings, each with its whole first sentence."""
    rows: Rows = {}
    for name, command in commands.items():
        rows.setdefault(command.rich_help_panel or "Commands", []).append((name, command.get_short_help_str(200)))
    _write(formatter, rows)


#: How many options stand first where a command has more.
MOST = 10
#: Those that are typed most first; then what a reader looks for.
_TYPED = """
    --protocol --clinician --patient --evaluator --suite --metrics --metric --rubrics --judge --judges --systems
    --system --raters --preferences --over --against --safety --table --where --scale --out --setting --repeats
    --sample --probe --all --notes --by --per --overlap --mode --within --groups --round --pairs --max-cost
    --dry-run --as-published --set --roles --confusion --columns --format --best --spread --coder --codes
    --rename --without --plan --model --split --wordings --budget --leave-out --missing --sheet --show
    --reference --nli
""".split()


def _first_options(options: list[Any]) -> list[Any]:
    """The options that stand first: all of a few; of more those that must be typed, then those that are typed most, and
    before ``--roles`` and others of how files are read those that name no heading."""

    def place(option: Any) -> int:
        if option.required:
            return -1
        other = _TYPED.index("--roles") if option.rich_help_panel in (None, OPTIONS) else len(_TYPED)
        return min((_TYPED.index(name) for name in option.opts if name in _TYPED), default=other)

    if len(options) <= MOST:
        return options
    return [option for option in sorted(options, key=place) if place(option) < len(_TYPED)][:MOST]


def _write_options(command: Any, context: Any, formatter: Any) -> None:
    """Arguments, then the options that are typed most, then the others under their headings, and ``--help`` last."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    *options, last = [
        parameter for parameter in command.get_params(context)
        if parameter not in arguments and not getattr(parameter, "hidden", False)
    ]  # fmt: skip
    first = _first_options(options)
    headings = {ARGUMENTS: arguments, OPTIONS: first}
    for option in options:
        if option not in first:
            heading = option.rich_help_panel or OPTIONS
            headings.setdefault("More options" if heading == OPTIONS else heading, []).append(option)
    headings |= {heading: headings.pop(heading) for heading in (READING, OUTPUT) if heading in headings}
    [*headings.values()][-1].append(last)
    records = {
        heading: [(_named(own), _with_names(own.get_help_record(context)[1])) for own in under]
        for heading, under in headings.items()
        if under
    }
    _write(formatter, records)


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
        beside: the other commands of a group that is this one where none of them is named.
    """

    examples: list[str]
    beside: Mapping[str, Any]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        named["help"], self.examples = _split(named.get("help"))
        super().__init__(*arguments, **named)
        self.beside = {}

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
        _write_commands(self.beside, formatter)
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
        _write_commands({name: self.get_command(ctx, name) for name in self.list_commands(ctx)}, formatter)
        _write_options(self, ctx, formatter)

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
    """A group that is its command ``run`` where no other is named, in its help too."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.usual = cast(Command, self.commands["run"])
        self.usual.beside = {name: command for name, command in self.commands.items() if command is not self.usual}
        self.help, self.examples = self.usual.help, self.usual.examples

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """That of the command that is meant; while a shell waits for its name, that of the group."""
        named = args[0] in self.commands if args else extra.get("resilient_parsing")
        make: Any = super().make_context if named else self.usual.make_context
        return make(info_name, args, parent, **extra)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The other commands, and what the usual one takes first."""
        arguments = [each for each in self.usual.params if each.param_type_name == "argument"]
        offering: list[Any] = [super(), *arguments[:1], self.usual]
        return [offer for each in offering for offer in each.shell_complete(ctx, incomplete)]


class App(typer.Typer):
    """A group of commands as the command line has them.

    Args:
        about: what ``--help`` says of it; may end in ``Examples:``.
        runs: whether, where none of its commands is named, ``run`` is meant.
        kind: the class of the group, where it isn't the usual one.
    """

    def __init__(
        self, about: str, *, runs: bool = False, kind: type[CommandGroup] = CommandGroup, **named: Any
    ) -> None:
        super().__init__(
            cls=UsualCommandGroup if runs else kind, help=about, no_args_is_help=True, rich_markup_mode=None, **named
        )

    def command(self, name: str | None = None, **named: Any) -> Callable[[F], F]:
        """A command of the group; each takes ``--json``."""
        register = super().command(name, cls=Command, **named)

        def registered(command: F) -> F:
            register(takes_json(command))
            return command

        return registered
