"""``bedside read``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bedside.cli.help import in_options
from bedside.cli.options import (
    DropEmptyOption,
    DropTagsOption,
    EncodingOption,
    FormatOption,
    HeaderRowOption,
    OnErrorOption,
    PathFieldsOption,
    RolesOption,
    SheetOption,
    TextColumnsOption,
)
from bedside.cli.output import say
from bedside.cli.parsing import read_options
from bedside.cli.score import ScoredFilesArgument
from bedside.support.errors import AmbiguousError, BedsideError, InputError

if TYPE_CHECKING:
    from bedside.transcripts import ReadOptions, Transcript

#: Turns that are shown, and the widest line.
_TURNS, _WIDTH = 6, 100


def read(
    files: ScoredFilesArgument,
    format_: FormatOption = None,
    roles: RolesOption = None,
    columns: TextColumnsOption = None,
    path_fields: PathFieldsOption = None,
    sheet: SheetOption = None,
    header_row: HeaderRowOption = None,
    encoding: EncodingOption = None,
    drop_empty: DropEmptyOption = False,
    drop_tags: DropTagsOption = False,
    on_error: OnErrorOption = "stop",
) -> None:
    """Show what bedside understands of files, and the first turns; nothing is scored or written.

    A file of ratings is shown too: its raters, metrics and scales.

    Examples:
        $ bedside read talks/
        $ bedside read talks/ --path-fields '{system}/{case_id}'
        $ bedside read interview.csv --roles "Dr Smith=clinician,Anna=patient"
    """
    options = read_options(
        format_=format_,
        roles=roles,
        columns=columns,
        path_fields=path_fields,
        sheet=sheet,
        header_row=header_row,
        encoding=encoding,
        drop_empty=drop_empty,
        drop_tags=drop_tags,
        on_error=on_error,
    )
    try:
        _show_transcripts(files, options)
    except AmbiguousError:
        raise
    except InputError as error:
        lines = _lines_of_ratings(files, options)
        if lines is None:
            raise error
        for line in lines:
            say(in_options(line))


def _show_transcripts(files: list[str], options: ReadOptions) -> None:
    from bedside.transcripts import Reading

    reading = Reading(files, options)
    first: Transcript | None = None
    for transcript in reading:
        first = first or transcript
    for line in reading.account.lines(longest=None):
        say(in_options(line))
    for error in reading.skipped:
        say(f"Skipped: {in_options(str(error))}")
    if first is not None:
        say()
        say(f"The first turns of {first.id}:")
        for turn in first.turns[:_TURNS]:
            line = " ".join(f"{turn.index} {turn.role} ({turn.speaker}): {turn.text}".split())
            say(line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…")


def _lines_of_ratings(files: list[str], options: ReadOptions) -> list[str] | None:
    """What is understood of a file of ratings; None where the files are none."""
    from bedside.api import read_ratings

    if len(files) != 1 or not Path(files[0]).is_file() or options.format is not None:
        return None
    try:
        return read_ratings(
            files[0],
            columns=options.columns,
            sheet=options.sheet,
            header_row=options.header_row,
            encoding=options.encoding,
        ).account.lines()
    except BedsideError:
        return None
