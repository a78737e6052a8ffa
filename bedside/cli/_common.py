"""What the commands share: printing, and reading of options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.errors import InputError

if TYPE_CHECKING:
    from bedside.evaluation import Evaluation
    from bedside.reports.table import Table


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON at full precision.")]

ScaleOption = Annotated[
    list[str] | None,
    typer.Option(help="Scale of the ratings: 1-5, 0,1,2 or none/open/closed; METRIC=SCALE for one metric."),
]

ColumnsOption = Annotated[
    str | None, typer.Option(help="bedside's column names to the file's: item=Session,rater=Coder.")
]

OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Folder for the tables as Markdown, LaTeX and CSV; of a run, RUN/tables."
    ),
]

SeedOption = Annotated[int, typer.Option(help="Seed of everything drawn at random.")]


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
    from bedside.cli._tables import print_tables

    print_tables(tables)


def show_and_write(tables: Iterable[Table], as_json: bool, source: Path, out: Path | None) -> None:
    """Print tables, and write them where ``source`` is a run or a folder is named."""
    made = tuple(tables)
    show_tables(made, as_json)
    folder = out or (source / "tables" if source.is_dir() else None)
    if folder is not None:
        from bedside.reports.build import write_tables

        note(f"Wrote {len(write_tables(made, folder))} files to {folder}")


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


def open_source(source: Path, scale: list[str] | None, columns: str | None) -> Evaluation:
    from bedside.evaluation import open_evaluation
    from bedside.rating_files import parse_scales

    return open_evaluation(source, scales=parse_scales(scale or []), columns=read_pairs(columns, "--columns"))


def list_entries(context: typer.Context, rows: Callable[[], list[tuple[str, str]]]) -> None:
    if context.invoked_subcommand is not None:
        return
    entries = rows()
    width = max(len(name) for name, _ in entries)
    for name, text in entries:
        say(f"{name:<{width}}  {text}")
