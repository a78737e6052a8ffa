"""``--json``: what a command would print as tables and lines becomes one JSON array of tables on standard output.

A command that says yes or no prints an object that holds the array beside its verdict.
"""

from __future__ import annotations

import inspect
import json as json_form
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import typer

from bedside.cli.option_names import in_options
from bedside.cli.options import JsonOption
from bedside.core.errors import BedsideError, InputError

if TYPE_CHECKING:
    from bedside.reports.table_content import TableContent

Printing = TypeVar("Printing", bound=Callable[..., Any])

#: The tables that the command has shown so far, as JSON texts; None where JSON isn't asked for.
_TABLES: ContextVar[list[str] | None] = ContextVar("tables", default=None)


def is_json() -> bool:
    """Whether the command that runs prints JSON: lines go to standard error then."""
    return _TABLES.get() is not None


def refuse_json(other: str) -> None:
    """Refuse ``--json`` where a page is served.

    Args:
        other: what to type for a JSON that there is.

    Raises:
        InputError: JSON is asked for.
    """
    if is_json():
        raise InputError(
            "a page that is served prints no JSON", where="--json", todo=f"leave it out, or {other}"
        )


def keep_table(table: TableContent) -> None:
    """Have a table printed when the command ends."""
    from bedside.reports.renderers.records import json_text

    tables = _TABLES.get()
    assert tables is not None
    tables.append(json_text(table).rstrip())


def show_records(
    name: str, title: str, records: Iterable[Mapping[str, Any]], notes: Iterable[str] = ()
) -> None:
    """Where JSON is asked for, have records printed as a table; elsewhere nothing, for lines said it.

    Args:
        name: of the table.
        title: what it shows.
        records: one a row, of plain values.
        notes: remarks.
    """
    if is_json():
        from bedside.reports.table_content import TableContent

        keep_table(TableContent(name, title, (), (), tuple(notes), tuple(records)))


def gives_verdict(command: Printing) -> Printing:
    """A command that ends without an exit code where the answer is yes; as JSON it prints that first, errors too."""
    command.gives_verdict = True  # type: ignore[attr-defined]
    return command


def takes_json(command: Printing) -> Printing:
    """A command with the option ``--json``, which it needn't know of."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
    # A parameter without a default can't follow one that has some; all are typed by name.
    option = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)

    verdict = getattr(command, "gives_verdict", False)

    @wraps(command)
    def with_json(*, json: bool, **typed: Any) -> Any:
        if not json:
            return command(**typed)
        tables: list[str] = []
        token = _TABLES.set(tables)
        ended, error = False, None
        try:
            result = command(**typed)
            ended = True
        except (BedsideError, OSError) as raised:
            error = in_options(str(raised))
            raise
        finally:
            _TABLES.reset(token)
            array = "[" + ",\n".join(tables) + "]"
            if verdict:
                said = f'"passed": {json_form.dumps(ended)}, "error": {json_form.dumps(error, ensure_ascii=False)}'
                typer.echo(f'{{{said}, "tables": {array}}}')
            elif ended or tables:  # what a command showed before it stopped is printed, as elsewhere
                typer.echo(array)
        return result

    with_json.__signature__ = inspect.Signature([*parameters, option])  # type: ignore[attr-defined]
    with_json.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, option)}
    return with_json  # type: ignore[return-value]
