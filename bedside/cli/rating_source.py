"""How a file of ratings is read, as every question about ratings takes it, and the saying of what was read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from bedside.cli import completion as _complete
from bedside.cli.options import READING, EncodingOption, HeaderRowOption, SheetOption
from bedside.cli.output import note_account
from bedside.cli.parsing import check_choice, read_names, read_pairs
from bedside.core.errors import InputError
from bedside.ratings.rating_reading import Struck

if TYPE_CHECKING:
    from bedside.analysis.ratings_view import RatingSource

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class TypedReading:
    """What was typed on how a file of ratings is read.

    Attributes:
        form, sheet, header_row, encoding: as for :func:`bedside.read_ratings`.
        rename: the same as pairs, ``old=new``.
        exact: whether names stay as they are written; None where nothing was typed.
        missing: what stands for no answer, parted by commas.
        struck: what becomes of cells that are struck through.
    """

    form: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    encoding: str | None = None
    rename: str | None = None
    exact: bool | None = None
    missing: str | None = None
    struck: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of :func:`bedside.read_ratings`.

        Raises:
            InputError: the pairs are none, or there is no such choice.
        """
        check_choice(self.struck, get_args(Struck), "--struck")
        return {
            **asdict(self),
            "rename": read_pairs(self.rename, "--rename"),
            "exact": bool(self.exact),
            "missing": read_names(self.missing) or (),
        }


#: What is typed of a file that says all of itself.
TYPED_NOTHING = TypedReading()
RatingFormOption = Annotated[
    str | None,
    typer.Option(
        "--form",
        metavar="NAME",
        help="Form of a file of ratings, such as by_rater or by_metric, where bedside doesn't recognise it.",
        autocompletion=_complete.rating_forms,
        rich_help_panel=READING,
    ),
]
RenameOption = Annotated[
    str | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW,…",
        help="Names of a file's metrics and raters, and those that they get: Empathy=empathy,AK=anna.",
        rich_help_panel=READING,
    ),
]
ExactOption = Annotated[
    bool | None,
    typer.Option(
        "--exact",
        help="Keep a file's names and labels as they are written. Without it, Empathy is empathy, and ANNA anna.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="CODE,…",
        help="What stands for no answer in a file of ratings: 99,-9; of one metric: stars=99. With stars= all its "
        "numbers are ratings.",
        rich_help_panel=READING,
    ),
]
StruckOption = Annotated[
    str | None,
    typer.Option(
        "--struck",
        metavar="keep|leave",
        help="Whether a workbook's cells that are struck through count.",
        autocompletion=_complete.choices(*get_args(Struck)),
        rich_help_panel=READING,
    ),
]
#: The options, by the name of what they say.
_OPTIONS: dict[str, Any] = {
    "form": RatingFormOption,
    "sheet": SheetOption,
    "header_row": HeaderRowOption,
    "encoding": EncodingOption,
    "rename": RenameOption,
    "exact": ExactOption,
    "missing": MissingOption,
    "struck": StruckOption,
}


def reads_ratings(command: Command) -> Command:
    """A command with the options on how a file of ratings is read; it is given them as its argument ``reading``."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name == "reading":
            parameters += [
                inspect.Parameter(option, parameter.kind, default=None, annotation=kind)
                for option, kind in _OPTIONS.items()
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def with_reading(**typed: Any) -> Any:
        reading = TypedReading(**{name: typed.pop(name) for name in _OPTIONS})
        return command(**typed, reading=reading)

    with_reading.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_reading.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_reading  # type: ignore[return-value]


def rating_source(
    source: Path,
    scale: list[str] | None = None,
    columns: str | None = None,
    reading: TypedReading = TYPED_NOTHING,
) -> RatingSource:
    """A run's folder as it is; a file of ratings read, after which is said what was understood.

    Raises:
        InputError: a run is said to be read in some way.
    """
    from bedside import read_ratings

    if not source.is_file():
        _check_nothing_typed(source, columns, reading)
        return source
    file = read_ratings(source, scales=scale or (), columns=read_pairs(columns, "--columns"), **reading.arguments())
    note_account(file.account.lines())
    return file


def _check_nothing_typed(source: Path, columns: str | None, reading: TypedReading) -> None:
    """See that nothing says how a run is read, which is read as it is."""
    said = {"columns": columns, **asdict(reading)}
    typed = [f"--{name.replace('_', '-')}" for name, value in said.items() if value is not None]
    if typed and source.is_dir():
        raise InputError(
            f"{' and '.join(typed)} {'says' if len(typed) == 1 else 'say'} how a file of ratings is read, and a run "
            "was read before",
            where=str(source),
            todo="leave out what is said of files, or name the file in place of the run",
        )
