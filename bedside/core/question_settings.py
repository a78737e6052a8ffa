"""Settings: one frozen class for one question, whose fields say all that its function and its command say of them.

A class made by :func:`settings_class` has fields made by :func:`option`. What several questions share is a class of
which theirs are made. :func:`question` makes the Python function, which takes the fields as keywords or the object; the
command line makes the command from the same fields.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, cast, dataclass_transform

from bedside.core.errors import InputError

if TYPE_CHECKING:
    from bedside.core.page_serving import PagePlace

Source = TypeVar("Source", contravariant=True)
Asked = TypeVar("Asked", contravariant=True)
Answer = TypeVar("Answer", covariant=True)
Fields = ParamSpec("Fields")
Kind = TypeVar("Kind")

#: Headings of ``--help``; what stands under the first is typed without an option's name.
ARGUMENTS, OPTIONS, WHICH, HOW, READING, JUDGES, COST, OUTPUT = (
    "Arguments", "Options", "Which ratings", "How", "How the files are read", "Judges", "Judges: cost and speed",
    "Output",
)  # fmt: skip

#: How what is typed for an option becomes its value. ``text`` stays as it is, and its type says what is typed;
#: ``word`` and ``path`` too, whatever the type; of ``unless`` the value is True unless the option is typed. ``names``
#: are parted by commas, ``rounds`` too, with two quotation marks for the one without a name; ``numbers`` and
#: ``whole_numbers`` likewise. ``pairs`` are ``a=b,c=d``; ``columns`` too, where nothing may follow the sign;
#: ``levels`` too, of which a name may come again; ``by_name`` likewise typed several times, ``fields`` too, of JSON
#: or a text; ``margins`` are those or one number; ``parameters`` are ``family.name=value``, one each time.
#: ``repeated`` is a list, one each time. ``number_or_none`` is one, or the word none; ``price`` is ``in=N,out=N``;
#: ``share`` is ``0.1`` or ``10%``; of ``count_or_names`` and ``count_or_word`` a whole number is a count; of
#: ``text_or_pairs`` what has an equals sign is pairs.
Form = Literal[
    "text", "names", "rounds", "pairs", "columns", "repeated", "levels", "margins", "by_name", "numbers",
    "whole_numbers", "number_or_none", "price", "path", "word", "unless", "share", "count_or_names", "count_or_word",
    "text_or_pairs", "parameters", "fields",
]  # fmt: skip
#: Forms that may be typed several times.
REPEATED: frozenset[Form] = frozenset(("repeated", "levels", "margins", "by_name", "parameters", "fields"))


@dataclass(frozen=True, slots=True)
class Option:
    """What a field of settings is, beside its type and default.

    Attributes:
        help: what it says, in sentences.
        heading: that of ``--help`` under which it stands; None where the command line doesn't have it.
        names: of the option, where these aren't the field's own name with dashes.
        metavar: what stands for its value in ``--help``.
        form: how what is typed becomes its value.
        offers: the function of :mod:`bedside.cli.completion` that says what a shell offers for it.
        least, most: of a number.
    """

    help: str
    heading: str | None
    names: tuple[str, ...] = ()
    metavar: str | None = None
    form: Form = "text"
    offers: str | None = None
    least: int | None = None
    most: int | None = None


def option(
    help: str,
    *names: str,
    heading: str | None,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    kw_only: bool = True,
    **more: Any,
) -> Any:
    """A field of settings.

    Args:
        help: what it says; the same words stand in the function's docstring and in ``--help``.
        names, heading, more: as attributes of :class:`Option`.
        default, default_factory, kw_only: as :func:`dataclasses.field` takes them; without a default, the field must
            be given.
    """
    of_option: Any = {"metadata": {"option": Option(help, heading, names, **more)}, "kw_only": kw_only}
    return field(default=default, default_factory=default_factory, **of_option)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option,))
def settings_class(kind: type[Kind]) -> type[Kind]:
    """Make a class one of settings: frozen, its fields given by name."""
    return dataclass(frozen=True, kw_only=True)(kind)


def is_settings(kind: object) -> bool:
    """Whether it is a class that :func:`settings_class` made."""
    return isinstance(kind, type) and is_dataclass(kind) and all("option" in each.metadata for each in fields(kind))


def options(kind: type[Any]) -> dict[str, Option]:
    """The fields of settings by name: its own first, then those of each class that it derives from, in that order."""
    order = [name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())]
    by_name: Mapping[str, Option] = {each.name: each.metadata["option"] for each in fields(kind)}
    return {name: by_name[name] for name in dict.fromkeys(order)}


def with_defaults(kind: type[Kind], **defaults: Any) -> type[Kind]:
    """The same settings with other defaults, as the command line has them for what the function must be given."""
    of_kind = {each.name: each for each in fields(cast(Any, kind))}
    own = {name: field(default=value, metadata=of_kind[name].metadata) for name, value in defaults.items()}
    kept = {"__doc__": kind.__doc__, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    annotations = {name: of_kind[name].type for name in defaults}
    return settings_class(type(kind.__name__, (kind,), {**kept, **own, "__annotations__": annotations}))


def changed_fields(asked: Any, kind: type[Any] | None = None) -> list[str]:
    """The fields of settings that have not their defaults: all, or those of a class that they derive from."""
    own = fields(asked if kind is None else kind)
    return [each.name for each in own if each.default is not MISSING and getattr(asked, each.name) != each.default]


@settings_class
class Seeded:
    """What is drawn at random."""

    seed: int = option(
        "Seed of everything that is drawn at random; the same seed gives the same result.",
        default=0, heading=HOW, metavar="NUMBER", least=0,
    )  # fmt: skip


@settings_class
class PageServing:
    """Where a page is served."""

    host: str = option(
        "Where the page is served: 127.0.0.1, which this machine alone can reach, an address of this machine on a "
        "network, or 0.0.0.0 for all of them.",
        default="127.0.0.1", heading=OPTIONS, metavar="ADDRESS",
    )  # fmt: skip
    port: int = option(
        "Port of the page on this machine.", default=8086, heading=OPTIONS, metavar="NUMBER", least=1, most=65535
    )
    certificate: str | os.PathLike[str] | None = option(
        "Certificate for TLS, as PEM; needs its --key.", default=None, heading=OPTIONS, metavar="FILE", form="path"
    )
    key: str | os.PathLike[str] | None = option(
        "Key of the certificate, as PEM.", default=None, heading=OPTIONS, metavar="FILE", form="path"
    )

    def place(self, public: str | None, called: str = "address") -> PagePlace:
        """Where that is.

        Args:
            public: the address that people use, where it is another.
            called: the field that gives it.

        Raises:
            InputError: the address is none, or a key has no certificate or a certificate no key.
        """
        from bedside.core.page_serving import PagePlace, checked_place

        certificate, key = (None if file is None else Path(file) for file in (self.certificate, self.key))
        return checked_place(PagePlace(self.host, self.port, public, certificate, key), called)


class Answering(Protocol[Source, Fields, Asked, Answer]):
    """A function that answers a question; it takes a source, and settings as keywords.

    Attributes:
        settings: the class of its settings.
    """

    settings: Callable[Fields, Any]

    def __call__(self, source: Source, /, *args: Fields.args, **named: Fields.kwargs) -> Answer: ...

    def with_settings(self, source: Source, asked: Asked, /) -> Answer:
        """The same answer, of settings as one object."""
        ...


class AnsweringAlone(Protocol[Fields, Asked, Answer]):
    """A function that answers a question which is put to nothing; it takes settings as keywords.

    Attributes:
        settings: the class of its settings.
    """

    settings: Callable[Fields, Any]

    def __call__(self, *args: Fields.args, **named: Fields.kwargs) -> Answer: ...

    def with_settings(self, asked: Asked, /) -> Answer:
        """The same answer, of settings as one object."""
        ...


def question(
    kind: Callable[Fields, Asked], source: str
) -> Callable[[Callable[[Source, Asked], Answer]], Answering[Source, Fields, Asked, Answer]]:
    """Make a function of a source and settings one that takes the fields of the settings, too.

    Its docstring gets the text of the settings, and what their fields say as its arguments.

    Args:
        kind: the class of the settings.
        source: what the question is put to.
    """

    def made(answer: Callable[[Source, Asked], Answer]) -> Answering[Source, Fields, Asked, Answer]:
        @wraps(answer)
        def ask(source: Source, /, *given: Fields.args, **named: Fields.kwargs) -> Answer:
            return answer(source, filled_in(kind, answer.__name__, *given, **named))

        _describe(ask, answer, cast(type[Any], kind), source)
        return cast("Answering[Source, Fields, Asked, Answer]", ask)

    return made


def question_alone(
    kind: Callable[Fields, Asked],
) -> Callable[[Callable[[Asked], Answer]], AnsweringAlone[Fields, Asked, Answer]]:
    """As :func:`question`, of a function that has no source."""

    def made(answer: Callable[[Asked], Answer]) -> AnsweringAlone[Fields, Asked, Answer]:
        @wraps(answer)
        def ask(*given: Fields.args, **named: Fields.kwargs) -> Answer:
            return answer(filled_in(kind, answer.__name__, *given, **named))

        _describe(ask, answer, cast(type[Any], kind), None)
        return cast("AnsweringAlone[Fields, Asked, Answer]", ask)

    return made


def filled_in(kind: Callable[Fields, Kind], name: str, *by_place: Fields.args, **named: Fields.kwargs) -> Kind:
    """The settings of what a function was called with.

    Raises:
        TypeError: a field is none, or must be given; it names the function.
        InputError: a number is out of its range.
    """
    try:
        settings = kind(*by_place, **named)
    except TypeError as error:
        init = f"{cast(type[Any], kind).__qualname__}.__init__()"
        raise TypeError(str(error).replace(init, f"{name}()")) from None
    for field_name, of_field in options(cast(type[Any], kind)).items():
        value = getattr(settings, field_name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if of_field.least is not None and value < of_field.least:
                raise InputError(f"`{field_name}` must be {of_field.least} or more, and is {value:g}")
            if of_field.most is not None and value > of_field.most:
                raise InputError(f"`{field_name}` must be {of_field.most} or less, and is {value:g}")
    return settings


def _describe(ask: Any, answer: Callable[..., Any], kind: type[Any], source: str | None) -> None:
    """Give a function that takes the fields of settings its docstring and signature, the settings, and what takes them.

    Args:
        ask: the function.
        answer: what it is made of.
        kind: the class of the settings.
        source: what the question is put to; None where there is no source.
    """
    named = options(kind)
    sources = list(inspect.signature(answer).parameters.values())[:-1]
    own = inspect.signature(kind).parameters
    by_place = [field for field in own.values() if field.kind is not inspect.Parameter.KEYWORD_ONLY]
    by_name = [own[name] for name in named if own[name] not in by_place]
    more, sections = _parts(answer.__doc__ or "")
    texts = {
        **{parameter.name: source for parameter in sources},
        **{name: _python_words(field) for name, field in named.items()},
    }
    arguments = [f"{name}: {text}" for name, text in texts.items()]
    written = (_about(kind), more, "\n    ".join(["Args:", *arguments]), sections)
    ask.__doc__ = "\n\n".join(part for part in written if part) + "\n"
    ask.__signature__ = inspect.Signature(
        [*(parameter.replace(kind=parameter.POSITIONAL_ONLY) for parameter in sources), *by_place, *by_name],
        return_annotation=inspect.signature(answer).return_annotation,
    )
    ask.settings, ask.with_settings = kind, answer


def _python_words(field: Option) -> str:
    """What a field says of an argument: an option that takes something away is an argument that is false, and names
    that ``--help`` fills in are left out."""
    words = re.sub(r" \(\{\w+\}\)", "", field.help)
    return f"If false: {words[:1].lower()}{words[1:]}" if field.form == "unless" else words


def _about(kind: type[Any]) -> str:
    """The text of settings without the examples, which are typed on the command line."""
    return inspect.cleandoc(kind.__doc__ or "").partition("Examples:")[0].strip()


def _parts(text: str) -> tuple[str, str]:
    """What a function's own docstring says, and its sections; the first of these is indented as the others are."""
    lines = inspect.cleandoc(text).split("\n")
    at = next((place for place, line in enumerate(lines) if line in ("Returns:", "Raises:")), len(lines))
    section, blank, others = "\n".join(lines[at + 1 :]).partition("\n\n")
    return "\n".join(lines[:at]).strip(), "\n".join(
        [*lines[at : at + 1], indent(dedent(section), "    ")]
    ) + blank + others
