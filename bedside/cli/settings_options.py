"""Commands made from settings: an option for each field of a settings class, and the object made of what is typed."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import wraps
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import typer

from bedside.cli import completion
from bedside.cli.parsing import (
    read_columns,
    read_fields,
    read_margins,
    read_names,
    read_numbers,
    read_pairs,
    read_price,
    read_rounds,
    read_settings,
    read_share,
    read_where,
    read_whole_numbers,
)
from bedside.core.question_settings import (
    ARGUMENTS,
    REPEATED,
    Form,
    Option,
    changed_fields,
    is_settings,
    options,
    with_defaults,
)
from bedside.core.words import typed as typed_word

Command = TypeVar("Command", bound=Callable[..., Any])

_READERS: Mapping[Form, Callable[[Any, str], Any]] = {
    "text": lambda typed, option: typed,
    "repeated": lambda typed, option: typed,
    "path": lambda typed, option: typed,
    "word": lambda typed, option: typed,
    "unless": lambda typed, option: not typed,
    "share": read_share,
    "count_or_names": lambda typed, option: int(typed) if typed.strip().isdigit() else read_names(typed) or (),
    "count_or_word": lambda typed, option: int(typed) if typed.isdigit() else typed,
    "names": lambda typed, option: read_names(typed),
    "rounds": lambda typed, option: read_rounds(typed),
    "pairs": read_pairs,
    "text_or_pairs": lambda typed, option: read_pairs(typed, option) if "=" in typed else typed,
    "columns": lambda typed, option: read_columns(typed),
    "levels": lambda typed, option: read_where(typed),
    "margins": lambda typed, option: read_margins(typed),
    "by_name": lambda typed, option: {
        name: value for text in typed for name, value in read_pairs(text, option).items()
    },
    "parameters": lambda typed, option: read_settings(typed),
    "fields": read_fields,
    "numbers": read_numbers,
    "whole_numbers": read_whole_numbers,
    "number_or_none": lambda typed, option: None if typed == "none" else read_numbers(typed, option)[0],
    "price": lambda typed, option: read_price(typed),
}


_BASES: Mapping[Form, type] = {"path": Path, "unless": bool}


def takes_settings(command: Command) -> Command:
    """A command whose parameters that are settings are options, one for each field, and given to it as objects.

    A command without a docstring says what the first of its settings does.
    """
    return _made(command, {})


def takes_settings_with(**defaults: Any) -> Callable[[Command], Command]:
    """As :func:`takes_settings`; fields that the function must be given have these defaults."""
    return lambda command: _made(command, defaults)


def _made(command: Command, defaults: Mapping[str, Any]) -> Command:
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    classes = {name: _kind(hints[name], defaults) for name in own if is_settings(hints[name])}
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name in classes:
            parameters += _parameters(classes[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def with_settings(**typed: Any) -> Any:
        made = {name: _settings(kind, typed) for name, kind in classes.items()}
        taken = {field for kind in classes.values() for field in _typed_options(kind)}
        return command(**{name: value for name, value in typed.items() if name not in taken}, **made)

    with_settings.__doc__ = command.__doc__ or next((kind.__doc__ for kind in classes.values()), None)
    with_settings.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_settings.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_settings  # type: ignore[return-value]


def _kind(kind: type[Any], defaults: Mapping[str, Any]) -> type[Any]:
    own = {name: default for name, default in defaults.items() if name in options(kind)}
    return with_defaults(kind, **own) if own else kind


def _typed_options(kind: type[Any]) -> dict[str, Option]:
    """The fields that can be typed; the others are the library's alone."""
    return {name: option for name, option in options(kind).items() if option.heading is not None}


def _parameters(kind: type[Any]) -> list[inspect.Parameter]:
    of_class = {each.name: each for each in fields(kind)}
    return [
        _parameter(name, option, _hint(kind, name, option), of_class[name])
        for name, option in _typed_options(kind).items()
    ]


def _hint(kind: type[Any], name: str, option: Option) -> Any:
    """The type of a field whose text is taken as it is typed; of others it doesn't matter, and may not be loaded."""
    if option.form != "text":
        return Any
    base = next(base for base in kind.__mro__ if name in vars(base).get("__annotations__", ()))
    only = SimpleNamespace(__annotations__={name: base.__annotations__[name]})
    return get_type_hints(only, vars(sys.modules[base.__module__]))[name]


def _parameter(name: str, option: Option, hint: Any, of_class: Field[Any]) -> inspect.Parameter:
    base, choices = _typed(hint, option)
    default = of_class.default
    required = default is MISSING and of_class.default_factory is MISSING
    if option.form == "unless":
        default = False
    shown = default if base in (bool, int, float) or isinstance(default, str | Path) else None
    if option.form == "share" and default:
        shown = f"{default:.0%}"
    elif base is str and isinstance(default, int | float):
        shown = f"{default:g}"
    elif option.form == "whole_numbers" and default and isinstance(default, tuple):
        shown = ",".join(map(str, default))
    offers: Any = getattr(completion, option.offers) if option.offers else None
    least, most = option.least, option.most
    if choices and base is int:
        least, most = min(choices), max(choices)
    elif choices:
        offers = completion.choices(*choices)
    if option.heading == ARGUMENTS:
        argument = typer.Argument(metavar=option.metavar, help=option.help, autocompletion=offers)
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[base, argument])
    annotation: Any = Annotated[
        base if required or shown is not None else base | None,
        typer.Option(
            *_names(name, option),
            help=option.help + (" May be repeated." if option.form in REPEATED else ""),
            metavar=option.metavar,
            autocompletion=offers,
            rich_help_panel=option.heading,
            min=least,
            max=most,
        ),
    ]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation,
        default=inspect.Parameter.empty if required else shown,
    )  # fmt: skip


def _typed(hint: Any, option: Option) -> tuple[Any, tuple[Any, ...]]:
    """What is typed for a field of a type, and the choices of one that has some."""
    if option.form in REPEATED:
        return list[str], ()
    if option.form in _BASES:
        return _BASES[option.form], ()
    if option.form != "text":
        return str, ()
    several = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [kind for kind in several if kind is not NoneType]
    if get_origin(kinds[0]) is Literal:
        choices = get_args(kinds[0])
        return (str, choices) if isinstance(choices[0], str) else (int, choices)
    if any(get_origin(kind) is os.PathLike for kind in kinds):
        return (str if str in kinds else Path), ()
    return kinds[0], ()


def _names(name: str, option: Option) -> tuple[str, ...]:
    return option.names or (f"--{name.replace('_', '-')}",)


def _settings(kind: type[Any], typed: Mapping[str, Any]) -> Any:
    """The settings made of what was typed; what wasn't has its default."""
    values = {
        name: _READERS[option.form](typed[name], _names(name, option)[0])
        for name, option in _typed_options(kind).items()
        if typed[name] not in (None, [])
    }
    return kind(**values)


def typed_again(settings: Any) -> str:
    """The options of settings that aren't at their defaults, as they are typed: texts, numbers, paths and names."""
    own = {name: option for name, option in _typed_options(type(settings)).items() if name in changed_fields(settings)}
    words = ((_names(name, option)[0], getattr(settings, name)) for name, option in own.items())
    return "".join(
        f" {option} {typed_word(','.join(value) if isinstance(value, list | tuple) else str(value))}"
        for option, value in words
    )
