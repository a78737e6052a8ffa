"""``bedside read``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bedside.cli.output import in_options, say, show_records
from bedside.cli.score import ScoredFilesArgument
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.words import counted
from bedside.ratings.rating_reading import CellReading, FileReading
from bedside.transcripts.read_options import ReadOptions

if TYPE_CHECKING:
    from bedside.transcripts.reading_account import ReadingAccount
    from bedside.transcripts.transcript import Transcript

#: Turns that are shown of a transcript's beginning and end, and the widest line.
_TURNS, _LAST, _WIDTH = 6, 2, 100


@takes_settings
def read(files: ScoredFilesArgument, options: ReadOptions, cells: CellReading) -> None:
    """Show what is understood of files; nothing is scored or written.

    A file of ratings is shown too: its raters, metrics and scales. With --form, --missing or --struck it is read as
    ratings and nothing else.

    Examples:
        $ bedside read talks/
        $ bedside read talks/ --path-fields '{system}/{case_id}'
        $ bedside read interview.csv --roles "Dr Smith=clinician,Anna=patient"
        $ bedside read stars.csv --form by_metric
    """
    reading = FileReading(
        form=cells.form,
        missing=cells.missing,
        struck=cells.struck,
        columns=options.columns,
        sheet=options.sheet,
        header_row=options.header_row,
        encoding=options.encoding,
    )
    of_ratings = [f"--{name}" for name in ("form", "missing", "struck") if getattr(cells, name)]
    if of_ratings:
        _show_ratings(_only_file(files, options, of_ratings[0]), reading)
        return
    _show_either(files, options, reading)


def _show_either(files: list[str], options: ReadOptions, reading: FileReading) -> None:
    """Show what is understood of transcripts, or of the file of ratings that it is in their place."""
    try:
        _show_transcripts(files, options)
    except InputError:
        from bedside.ratings.rating_files import is_rating_file
        from bedside.ratings.rating_reading import KnownNames

        if len(files) > 1 or options.format or not is_rating_file(files[0], reading.parsed((), KnownNames())):
            raise
        _show_ratings(files[0], reading)


def _show_transcripts(files: list[str], options: ReadOptions) -> None:
    from bedside.transcripts.reading import Reading

    reading = Reading(files, options)
    first: Transcript | None = None
    for transcript in reading:
        first = first or transcript
    lines = [in_options(line) for line in reading.account.lines(longest=None)]
    lines += [f"Skipped: {in_options(reason)}" for reason in reading.reasons]
    for line in lines:
        say(line)
    show_records("understood", "What was understood of the files", [{"line": line} for line in lines])
    if first is not None:
        _show_turns(first, reading.account)


def _show_turns(first: Transcript, account: ReadingAccount) -> None:
    """Show the first and the last turns of a transcript, and the longest of all."""
    last = first.turns[max(_TURNS, len(first.turns) - _LAST) :]
    shown = [("first", turn) for turn in first.turns[:_TURNS]] + [("last", turn) for turn in last]
    for place, title in (("first", f"The first turns of {first.id}"), ("last", "Its last turns")):
        turns = [turn for of, turn in shown if of == place]
        if turns:
            say()
            say(f"{title}:")
        for turn in turns:
            say(_one_line(f"{turn.index} {turn.role} ({turn.speaker}): {turn.text}"))
    if account.longest is not None:
        say()
        say(f"The longest turn has {counted(account.longest.longest, 'character')} ({account.longest.place}):")
        say(_one_line(account.longest.example))
    show_records(
        "turns",
        f"The first and last turns of {first.id}",
        [{"turn": turn.index, "role": turn.role, "speaker": turn.speaker, "text": turn.text} for _, turn in shown],
    )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _only_file(files: list[str], options: ReadOptions, said: str) -> str:
    """The file that is said to hold ratings, by an option.

    Raises:
        InputError: there are several, or it is said to hold transcripts too.
    """
    if options.format is not None:
        raise InputError(
            f"{said} is said of a file of ratings, and --format of one of transcripts",
            where=said,
            todo="give the one that fits the file",
        )
    if len(files) != 1:
        raise InputError(f"{len(files)} files were given", where=said, todo="name one file of ratings")
    return files[0]


def _show_ratings(file: str, reading: FileReading) -> None:
    """Show what is understood of a file of ratings.

    Raises:
        AmbiguousError: it can be read in two ways.
        BedsideError: it holds no ratings, or something is wrong with them.
    """
    from bedside.analysis.metric_facts import known_names
    from bedside.ratings.rating_files import read_rating_file

    ratings = read_rating_file(file, reading.parsed((), known_names()))
    lines = [in_options(line) for line in ratings.account.lines()]
    for line in lines:
        say(line)
    show_records("understood", "What was understood of the file", [{"line": line} for line in lines])
