"""What the commands share: printing, and reading of options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as _complete
from bedside.support.errors import InputError

if TYPE_CHECKING:
    from bedside.analysis.ratings_view import RatingsView
    from bedside.reports.table import Table


#: Headings of ``--help``.
WHICH, HOW, READING, JUDGES, OUTPUT = (
    "Which ratings",
    "How",
    "How the files are read",
    "Judges",
    "Output",
)

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON at full precision, not tables.", rich_help_panel=OUTPUT)
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help="Seed of what is drawn at random; the same seed, the same result.",
        rich_help_panel=HOW,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Write the tables here as Markdown, LaTeX and CSV; for a run, RUN/tables unless named.",
        rich_help_panel=OUTPUT,
    ),
]

_METRICS = ("--metrics", "--rubric", "--rubrics")
#: What options of metrics and raters have in common.
_SOME: dict[str, Any] = {"metavar": "A,B*", "autocompletion": _complete.rated, "rich_help_panel": WHICH}
MetricsOption = Annotated[
    str | None,
    typer.Option(*_METRICS, help="Metrics or rubrics, * for any letters; all unless named.", **_SOME),
]
QualityOption = Annotated[
    str | None,
    typer.Option(
        *_METRICS,
        help="Metrics or rubrics, * for any letters; unless named, those for which higher or lower is better, or "
        "that people rated.",
        **_SOME,
    ),
]
SystemsOption = Annotated[
    str | None, typer.Option(metavar="A,B", help="Systems; all unless named.", rich_help_panel=WHICH)
]
RatersOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B*",
        help="Raters, such as human:anna or judge:*; all unless named.",
        autocompletion=_complete.raters,
        rich_help_panel=WHICH,
    ),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of kappa on ordered scales: quadratic (unless named), linear or none.",
        autocompletion=_complete.one_of("quadratic", "linear", "none"),
        rich_help_panel=HOW,
    ),
]

ScaleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SCALE",
        help="Scale of the ratings: 1-5, 0,1,2 or none/open/closed; METRIC=SCALE for one metric. May be repeated.",
        rich_help_panel=READING,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=COLUMN,…",
        help="The file's column for each of bedside's: item=Session,rater=Coder.",
        rich_help_panel=READING,
    ),
]

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="READER",
        help="File format, where it isn't recognised: see bedside readers.",
        autocompletion=_complete.readers,
        rich_help_panel=READING,
    ),
]
RolesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEAKER=ROLE,…",
        help='Who is who: "Dr Smith"=clinician,Anna=patient.',
        rich_help_panel=READING,
    ),
]
TextColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME=COLUMN,…",
        help="The file's column for each of bedside's: text=utterance,speaker=who.",
        rich_help_panel=READING,
    ),
]
RubricFolderOption = Annotated[
    Path | None, typer.Option("--rubric-folder", metavar="FOLDER", help="Folder of rubrics of your own.")
]


def say(text: str = "") -> None:
    """Print a line of plain text."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a line about the work, not its result."""
    typer.echo(text, err=True)


def show_tables(tables: Iterable[Table], as_json: bool = False) -> None:
    """Print tables; as JSON they are an array, one object a table."""
    if as_json:
        from bedside.reports.render import json_text

        typer.echo("[" + ",\n".join(json_text(table).rstrip() for table in tables) + "]")
        return
    from bedside.cli.terminal_tables import print_tables

    print_tables(tables)


def show_and_write(
    tables: Iterable[Table], as_json: bool, source: Path, out: Path | None, then: str | None = None
) -> None:
    """Print tables, and write them where ``source`` is a run or a folder is named; say what comes ``then``."""
    made = tuple(tables)
    try:
        show_tables(made, as_json)
    finally:  # also where whoever reads the first lines wants no more
        folder = out or (source / "tables" if source.is_dir() else None)
        if folder is not None:
            from bedside.reports.build import write_tables
            from bedside.reports.table import counted

            note(f"Wrote {counted(len(write_tables(made, folder)), 'file')} to {folder}")
    if then is not None and source.is_dir():
        note(f"Next: {then}")


def read_pairs(text: str | None, option: str) -> dict[str, str]:
    """``a=b,c=d`` as a dict; a name with a comma or equals sign can be quoted."""
    import csv

    found: dict[str, str] = {}
    if text:
        for part in next(csv.reader([text], skipinitialspace=True)):
            name, equals, value = part.rpartition("=")
            if not equals or not name.strip() or not value.strip():
                raise InputError(f"{part!r} is not NAME=VALUE", where=option, todo=f"write {option} a=b,c=d")
            found[name.strip().strip('"')] = value.strip()
    return found


def read_names(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def read_numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"{text!r} is no list of numbers", where=option, todo=f"write {option} 1,2,3"
        ) from error


def read_settings(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """``family.parameter=value`` as nested dict; the value is read as YAML, so true and 5 are what they look like."""
    import yaml

    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        family, dot, parameter = name.partition(".")
        if not (equals and dot and family and parameter):
            raise InputError(
                f"{text!r} is not FAMILY.PARAMETER=VALUE", where="--set", todo="see bedside metrics"
            )
        try:
            found.setdefault(family, {})[parameter] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise InputError(
                f"{value!r} is no value", where=f"--set {name}", todo="quote it as YAML"
            ) from error
    return found


def reading_options(
    format_: str | None, roles: str | None, columns: str | None, path_fields: str | None, on_error: str
) -> Any:
    from bedside.transcripts import ROLES, ReadOptions

    if on_error not in ("stop", "skip"):
        raise InputError(f"{on_error!r} is neither stop nor skip", where="--on-error")
    mapping: dict[str, Any] = read_pairs(roles, "--roles")
    for speaker, role in mapping.items():
        if role not in ROLES:
            raise InputError(
                f"{speaker!r} can't be {role!r}", where="--roles", todo=f"a role is {', '.join(ROLES)}"
            )
    return ReadOptions(
        format=format_,
        roles=mapping,
        columns=read_pairs(columns, "--columns"),
        path_fields=path_fields,
        on_error="skip" if on_error == "skip" else "stop",
    )


def open_source(source: Path, scale: list[str] | None, columns: str | None) -> RatingsView:
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.spreadsheets import parse_scales

    return open_ratings_view(
        source, scales=parse_scales(scale or []), columns=read_pairs(columns, "--columns")
    )


def list_entries(context: typer.Context, rows: Callable[[], list[tuple[str, str]]]) -> None:
    if context.invoked_subcommand is not None:
        return
    entries = rows()
    width = max(len(name) for name, _ in entries)
    for name, text in entries:
        say(f"{name:<{width}}  {text}")
