"""What the commands print: lines, tables on a terminal, ``--json``, and the files of tables."""

from __future__ import annotations

import inspect
import json as json_form
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from bedside.core.errors import BedsideError, InputError, with_options
from bedside.core.question_settings import HOW, OUTPUT, option, settings_class
from bedside.core.stopping import phase, timed
from bedside.core.words import counted, typed, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console

    from bedside.analysis.findings import Finding
    from bedside.ratings.run import Run
    from bedside.reports.table import Table, Tables
    from bedside.reports.table_content import Row, TableContent


# -- Options that several commands share ----------------------------------------------------------------

JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print an array of tables as JSON, with all digits of their numbers; lines go to standard error.",
        rich_help_panel=OUTPUT,
    ),
]
TimingsOption = Annotated[
    bool,
    typer.Option("--timings", hidden=True, help="Print phases, seconds and memory on standard error.",
                 rich_help_panel=OUTPUT),
]  # fmt: skip
SeedOption = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help="Seed of everything that is drawn at random; the same seed gives the same result.",
        rich_help_panel=HOW,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder to write the tables to, as Markdown, LaTeX and CSV. Without it, they are printed alone.",
        rich_help_panel=OUTPUT,
    ),
]


# -- What the command that runs calls the arguments of the library --------------------------------------

_OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options")


@contextmanager
def naming_options(options: Mapping[str, str]) -> Iterator[None]:
    """While a command runs: errors of the library name its options where the library named arguments.

    Args:
        options: the option by the name of the argument, such as ``--seed`` by ``seed``.
    """
    token = _OPTIONS.set(options)
    try:
        yield
    except BedsideError as error:
        error.name_options(options)
        raise
    finally:
        _OPTIONS.reset(token)


def in_options(message: str) -> str:
    """A message of the library with the options of the command that runs in place of arguments."""
    return with_options(message, _OPTIONS.get({}))


# -- ``--json``: what a command would print as tables and lines becomes one JSON array of tables on standard output ---
# A command that says yes or no prints an object that holds the array beside its verdict.

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
        raise InputError("a page that is served prints no JSON", where="--json", todo=f"leave it out, or {other}")


def keep_table(table: TableContent) -> None:
    """Have a table printed when the command ends."""
    from bedside.reports.renderers.records import json_text

    tables = _TABLES.get()
    assert tables is not None
    tables.append(json_text(table).rstrip())


def show_records(name: str, title: str, records: Iterable[Mapping[str, Any]], notes: Iterable[str] = ()) -> None:
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
    """A command with the options ``--json`` and ``--timings``, which it needn't know of."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
    # A parameter without a default can't follow one that has some; all are typed by name.
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("json", JsonOption), ("timings", TimingsOption))
    ]

    verdict = getattr(command, "gives_verdict", False)

    @wraps(command)
    def with_json(*, json: bool, timings: bool = False, **typed: Any) -> Any:
        if timings:
            with _printed_timings():
                return with_json(json=json, **typed)
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

    with_json.__signature__ = inspect.Signature([*parameters, *shared])  # type: ignore[attr-defined]
    with_json.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, *shared)}
    return with_json  # type: ignore[return-value]


@contextmanager
def _printed_timings() -> Iterator[None]:
    """On standard error, when a command ends: the seconds of each phase, and the most memory."""
    before = time.process_time()
    try:
        with timed() as seconds:
            yield
    finally:
        after = tuple(sum(column) for column in zip(*seconds.values(), strict=True))
        note(f"{'':<20} {'seconds':>8} {'of the processor':>17}")
        note(f"{'starting':<20} {'':>8} {before:>17.2f}")
        for name, (wall, cpu) in {**seconds, "all after the start": after}.items():
            note(f"{name:<20} {wall:>8.2f} {cpu:>17.2f}")
        if find_spec("resource") is not None:  # Windows has none
            import resource

            for what, whose in (
                ("Most memory of this", resource.RUSAGE_SELF),
                ("Most of another", resource.RUSAGE_CHILDREN),
            ):
                if most := resource.getrusage(whose).ru_maxrss:
                    note(f"{what} process: {most / (1e6 if sys.platform == 'darwin' else 1e3):,.0f} MB")


# -- What the commands print ----------------------------------------------------------------------------


def say(text: str = "") -> None:
    """Print a line of plain text; on standard error where the command prints JSON."""
    typer.echo(visible_line(text), err=is_json())


def note(text: str) -> None:
    """Print a line about the work, not its result."""
    typer.echo(visible_line(text), err=True)


def note_account(lines: Iterable[str]) -> None:
    """Say what was understood of the files that were read, before what is computed from them: on standard error, so
    that the output itself stays what was asked for.

    Args:
        lines: of the account; arguments in backquotes are written as the options of the command.
    """
    for line in lines:
        note(in_options(line))


@contextmanager
def files_told() -> Iterator[None]:
    """While a question is answered: say of each run or file of ratings, once, what was understood of it."""
    from bedside.ratings.rating_files import listening

    said: set[str] = set()

    def tell(lines: Iterable[str]) -> None:
        new = [line for line in lines if line not in said]
        said.update(new)
        note_account(new)

    with listening(tell):
        yield


def comparing_groups(run: Run) -> str:
    """The command that compares groups; empty where there are systems or no groups."""
    from bedside.analysis.selection import comparable_groups

    if run.index["system"].drop_nulls().n_unique() > 1:
        return ""
    groups = list(comparable_groups(run.factors, declared=run.declared_kinds))
    return f"bedside compare {typed(run.path)} --groups {typed(groups[0])}" if groups else ""


def show_tables(tables: Iterable[Table]) -> None:
    """Print tables; where JSON is asked for, they are printed together when the command ends."""
    if is_json():
        for table in tables:
            keep_table(table)
        return

    print_tables(tables)


def say_limit(cost: float | None, max_cost: float | None, tell: Callable[[str], None]) -> None:
    """Say that a limit of costs was reached, where it was."""
    from bedside.reports.number_text import money

    if cost is not None and max_cost is not None and cost >= max_cost * (1 - 1e-9):
        tell(f"Spent {money(cost)} of {money(max_cost)}; what is finished is kept.")


def say_or_show(text: str, name: str, title: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Print a text, or where JSON is asked for, records that say the same.

    Args:
        text: of several lines, which stay.
        name, title, records: as :func:`bedside.cli.output.show_records` takes them.
    """
    if is_json():
        show_records(name, title, records)
    else:
        typer.echo(visible(text))


def say_entries(what: str, rows: Iterable[tuple[str, str]], *, title: str) -> None:
    """Print names with their titles.

    Args:
        what: the name of the table of them.
        rows: names and titles; a name with spaces before it is of the group above it.
        title: what they are.
    """
    entries = list(rows)
    if is_json():
        show_records(what, title, [{"name": name.strip(), "title": words} for name, words in entries])
        return
    width = max(len(name) for name, _ in entries)
    for name, words in entries:
        say(f"{name:<{width}}  {words}")


# -- Tables on a terminal -------------------------------------------------------------------------------

#: Width of titles and notes outside a terminal; a table is as wide there as its numbers need.
_PIPED = 160
#: A column of text may be narrowed to this, or to its longest word up to the other; a title to that.
_NARROW, _WORD, _HEAD = 16, 32, 10
#: What rich puts between two columns, and at both ends.
_GAP, _ENDS = 3, 2


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables; one too wide for a terminal as a paragraph a row. Elsewhere a table needn't fit a screen."""
    from rich.text import Text

    console, screen = _console(), _is_screen()
    shown: list[str] = []
    for table in tables:
        with console.capture() as title:
            console.print(Text(visible_line(table.title), style="table.title"))
        with console.capture() as notes:
            if table.notes:
                console.print(Text("\n".join(map(visible_line, table.notes)), style="table.caption"))
        if folded := screen and width_of(table) > console.width:
            table = _with_folded_titles(table)
        wide = width_of(table)
        drawn = _row_by_row(console, table) if screen and wide > console.width else _drawn(console, table, wide, folded)
        shown.append(title.get() + drawn + notes.get())
    typer.echo("\n".join(shown), nl=False)


def _is_screen() -> bool:
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def _console() -> Console:
    from rich.console import Console

    return Console() if _is_screen() else Console(width=_PIPED)


def _with_folded_titles(table: Table) -> Table:
    """The table with each column's title in lines that are no wider than what stands below it, as far as words go."""
    below = [max([_HEAD, *(len(row.cells[place].text) for row in table.rows)]) for place in range(len(table.columns))]
    titles = (fill(visible_line(c.title), n, break_long_words=False) for c, n in zip(table.columns, below, strict=True))
    return replace(table, columns=tuple(replace(c, title=t) for c, t in zip(table.columns, titles, strict=True)))


def _row_by_row(console: Console, table: Table) -> str:
    """The table as a paragraph for each row: its name, then each column that has a value there, with its title."""
    from rich.padding import Padding
    from rich.text import Text

    from bedside.reports.table_content import DASH

    shared = [group for group, count in table.spans() for _ in range(count)]
    titles = [" ".join(f"{group or ''} {c.title}".split()) for group, c in zip(shared, table.columns, strict=True)]
    starts = [visible_line(f"{title}: " if title else "") for title in titles]
    with console.capture() as printed:
        for group, rows in table.groups():
            console.print(Text(f"\n{visible_line(group)}", style="italic") if group else "")
            for row in rows:
                lines: list[Text] = []
                for start, cell in zip(starts, row.cells, strict=True):
                    look = "bold" if cell.bold else "underline" if cell.underline else ""
                    pair = Text.assemble(start, (visible_line(cell.text + cell.marks), look))
                    if lines and cell.text == DASH:
                        continue
                    if len(lines) > 1 and lines[-1].cell_len + pair.cell_len < console.width - 2 * _GAP:
                        lines[-1] += Text(" · ") + pair
                    else:
                        lines.append(pair)
                console.print(Padding(lines[0], (0, 0, 0, 1)))
                console.print(Padding(Text("\n").join(lines[1:]), (0, 0, 0, _GAP)))
    return "".join(f"{line.rstrip()}\n" for line in printed.get().splitlines())


def width_of(table: Table) -> int:
    """The least width at which no number and no word of a table is cut."""
    from rich.cells import cell_len

    shared = [group if not place else None for group, count in table.spans() for place in range(count)]
    total = _ENDS
    for place, column in enumerate(table.columns):
        texts = [*column.title.split("\n"), shared[place] or ""]
        texts += [row.cells[place].text + row.cells[place].marks for row in table.rows]
        if place == 0:
            texts += [row.group or "" for row in table.rows]
        least = max(map(cell_len, texts))
        if column.align == "left":
            word = max((cell_len(word) for text in texts for word in text.split()), default=0)
            least = min(least, max(_NARROW, min(word, _WORD)))
        total += least + _GAP
    return total - _GAP


# -- An answer: what it comes to, the columns and rows that show it, and where the rest is ----------------

#: Columns and lines of an answer where the terminal doesn't say, and the fewest lines that it has.
_WIDTH, _LINES = 80, 24
#: Sentences and warnings that are printed unless all are asked for; lines left for what to do next and the prompt.
_MOST_SENTENCES, _MOST_WARNINGS, _KEPT_LINES = 5, 3, 4
#: Between the names of two systems in one cell.
_LESS = " − "
#: What stands behind a number in brackets.
_IN_BRACKETS = re.compile(r"(?<=\d) \(.*\)$")


@settings_class
class Shown:
    """How much of an answer is printed."""

    all: bool = option("Print all tables with all their columns and rows.", default=False, heading=OUTPUT)
    notes: bool = option(
        "Print what every number is: methods, weights, what is left out.", default=False, heading=OUTPUT
    )


def show_and_write(
    tables: Tables[Any], shown: Shown, *, source: Path, out: Path | None, next_commands: str | None = None
) -> None:
    """Print the answer to a question, and write its tables as files where that is asked for: to ask changes nothing.

    Args:
        tables: the answer.
        shown: how much of it is printed.
        source: the run or file of ratings that was asked.
        out: folder of the files; none are written without it.
        next_commands: commands that a run's user may want next.
    """
    try:
        show_answer(tables, shown)
    finally:  # also where whoever reads the first lines wants no more
        if out is not None:
            from bedside.reports.build import write_tables

            note(f"Wrote {counted(len(write_tables(tables.tables, out)), 'file')} to {out}")
    from bedside.ratings.run_folder import MANIFEST

    if next_commands is not None and (source / MANIFEST).is_file():
        note(f"Next: {next_commands}")


@phase("printing")
def show_answer(tables: Tables[Any], shown: Shown, sentences: list[str] | None = None) -> None:
    """Print sentences, one table within a screen, and what more there is; all tables, and all notes, where asked.

    A warning that holds of this answer alone stands under the table. An answer without findings is printed whole.

    Args:
        tables: the answer.
        shown: how much of it is printed.
        sentences: what it comes to; what its findings say unless given.
    """
    sentences = tables.sentences() if sentences is None else sentences
    if is_json():
        show_findings(tables)
    elif not sentences:
        print_tables(tables)
    elif shown.all:
        typer.echo(_wrapped(_console(), "\n".join(sentences)))
        print_tables(tables if shown.notes else [replace(table, notes=_warnings([table])) for table in tables])
        if not shown.notes:
            note("What the numbers are: --notes.")
    else:
        typer.echo(_screen(tables, sentences, shown), nl=False)


def show_findings(tables: Tables[Any], *, all: bool = False) -> None:
    """Print what an answer comes to in a few sentences, or in all; as JSON with its tables."""
    sentences = tables.sentences()
    if is_json():
        show_tables(tables)
        if sentences:
            show_records("findings", "What the answer comes to", _finding_records(tables))
    elif sentences:
        said = sentences if all else _first(tables, sentences)
        if len(sentences) > len(said):
            said.append(f"{counted(len(sentences) - len(said), 'sentence')} more: --all.")
        typer.echo(_wrapped(_console(), "\n".join(said)))


def _first(tables: Tables[Any], sentences: list[str], most: int = _MOST_SENTENCES) -> list[str]:
    """The first sentences, and the warnings that end them."""
    findings = len(sentences) if tables.levels else len(tables.findings)
    warnings = sentences[findings:][: most - 1]
    return [*sentences[:findings][: most - len(warnings)], *warnings]


def _finding_records(tables: Tables[Any]) -> list[dict[str, Any]]:
    """The findings as plain data, each with its sentence; of each level of a factor where it was answered so."""
    from bedside.reports.finding_words import sentences

    if tables.levels:
        return [{"within": level, **record} for level, of in tables.levels.items() for record in _finding_records(of)]
    return [{"sentence": sentences([replace(each, warning=None)])[0], **asdict(each)} for each in tables.findings]


def _screen(tables: Tables[Any], sentences: list[str], shown: Shown) -> str:
    """The answer as it fits a screen."""
    from rich.console import Console

    from bedside.reports.levels import first_shown, side_by_side

    size = shutil.get_terminal_size((_WIDTH, _LINES))
    console = Console(width=size.columns)
    said = _first(tables, sentences)
    findings = [finding for level in tables.levels.values() or [tables] for finding in level.findings]
    marked = [table for table in tables if any(column.brief for column in table.columns)]
    whole, apart = first_shown(tables), len(tables) - 1
    if tables.levels:
        whole, apart = side_by_side(tables), len(tables) - len(tables.levels)
    # A warning is about the table that is shown, where levels or judges have one each.
    warnings = _warnings([whole] if tables.levels or len(marked) > 1 else tables)
    hidden = len(warnings[_MOST_WARNINGS:])
    table = _fitting(_with_short_names(_shown_first(whole.brief(), findings)), size.columns)
    notes = list(dict.fromkeys(text for part in tables for text in part.notes))
    title = f"\n{_wrapped(console, visible_line(whole.title))}" if len(marked) > 1 else ""
    under = "\n".join(map(visible_line, notes if shown.notes else warnings[:_MOST_WARNINGS]))
    answer, below = _wrapped(console, "\n".join(said)), _wrapped(console, under) if under else ""
    while len(said) > 1 and answer.count("\n") > _LINES / 2:
        said = _first(tables, sentences, len(said) - 1)
        answer = _wrapped(console, "\n".join(said))
    lines = (
        max(_LINES, size.lines)
        - answer.count("\n")
        - _KEPT_LINES
        - 2 * bool(title)
        - (0 if shown.notes else below.count("\n"))
    )
    rows = max(1, min(len(table.rows), lines))
    printed = _drawn(console, replace(table, rows=table.rows[:rows]).with_values())
    while rows > 1 and (over := printed.count("\n") - lines) > 0:
        rows -= min(max(1, over // 3), rows - 1)  # a row and its group may take several lines
        printed = _drawn(console, replace(table, rows=table.rows[:rows]).with_values())
    more = [
        counted(count, noun)
        for count, noun in (
            (len(sentences) - len(said), "sentence"),
            (len(whole.rows) - rows, "row"),
            (len(whole.columns) - len(table.columns), "column"),
            (apart, "table"),
        )
        if count
    ]
    rest = [f"{', '.join(more)} more: --all."] if more else []
    if notes and not shown.notes:
        what = f"{counted(hidden, 'warning')} more, and what" if hidden else "What"
        rest.append(f"{what} the numbers are: --notes.")
    return answer + title + printed + below + (_wrapped(console, " ".join(rest)) if rest else "")


def _wrapped(console: Console, text: str) -> str:
    from rich.text import Text

    with console.capture() as printed:
        console.print(Text(visible(text)))
    return printed.get()


def _warnings(tables: Tables[Any] | list[Table]) -> tuple[str, ...]:
    """The notes that change how the answer is read."""
    return tuple(dict.fromkeys(text for table in tables for text in table.notes if getattr(text, "warns", False)))


def _shown_first(table: Table, findings: Iterable[Finding]) -> Table:
    """The table with the rows first of whose measures something is shown, and those last that couldn't be tested."""
    from bedside.analysis.findings import ALPHA, SHOWN

    claimed = {(measure.metric, frozenset(each.systems)) for each in findings if each.kind in SHOWN
               for measure in each.measures}  # fmt: skip
    metrics = {metric for metric, _ in claimed}

    def is_later(row: Row) -> int:
        place = next((cell.record for cell in row.cells if cell.record is not None), None)
        record = {} if place is None else table.records[place]
        metric, pair = record.get("metric"), frozenset(record[name] for name in ("a", "b", "system") if name in record)
        if "p_corrected" in record and record["p_corrected"] is None:
            return 3
        if (record.get("p_corrected") or 1.0) < ALPHA:
            return 0
        return 0 if (metric, pair) in claimed else 1 if metric in metrics else 2

    return replace(table, rows=tuple(sorted(table.rows, key=is_later)))


def _with_short_names(table: Table) -> Table:
    """The table without what most names of a column begin with, such as a provider or a kind of rater; each is told
    apart as before."""
    rows = table.rows
    for place, column in enumerate(table.columns):
        labels = [row.cells[place].text.split(_LESS) for row in rows]
        names = [name for label in labels for name in label if " " not in name]
        ends = ((name, end.end()) for name in names if name[:1].isalpha() for end in re.finditer("[:/](?=[^:/])", name))
        counts = Counter(name[:end] for name, end in ends)
        prefix = max((start for start, count in counts.items() if 2 * count > len(names)), key=len, default="")
        short = [_LESS.join(name.removeprefix(prefix) for name in label) for label in labels]
        if column.align == "left" and prefix and len(set(short)) == len({_LESS.join(label) for label in labels}):
            rows = tuple(
                replace(row, cells=(*row.cells[:place], replace(row.cells[place], text=text), *row.cells[place + 1 :]))
                for row, text in zip(rows, short, strict=True)
            )
    return replace(table, rows=rows)


def _fitting(table: Table, width: int) -> Table:
    """The table with those of its columns, from the first on, that fit beside each other; where not all do, numbers
    are without what stands in brackets behind them."""
    if width_of(table) > width:
        table = replace(table, rows=tuple(
            replace(row, cells=tuple(replace(cell, text=_IN_BRACKETS.sub("", cell.text)) for cell in row.cells))
            for row in table.rows
        ))  # fmt: skip
    places = [0]
    for place in range(1, len(table.columns)):
        if width_of(table.of_columns([*places, place])) <= width:
            places.append(place)
    return table.of_columns(places)


def _drawn(console: Console, table: Table, width: int = 0, folded: bool = False) -> str:
    """A table without title and notes, on a console that is at least so wide."""
    from bedside.reports.renderers.terminal import rich_table

    view = rich_table(table, folded=folded)
    view.title = view.caption = None
    for column in view.columns:
        column.overflow = "fold"
    # rich prints nothing wider than its console, whatever width is asked for.
    before, console.width = console.width, max(console.width, width)
    with console.capture() as drawn:  # rich ends the process itself where it prints to a closed pipe
        console.print(view, crop=False)
    console.width = before
    return drawn.get()
