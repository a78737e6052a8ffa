"""Word documents (DOCX): paragraphs that begin with who speaks, or a table of speakers and what they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bedside.support.errors import AmbiguousError, InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.labelled_lines import (
    LabelledTurns,
    labelled_turns,
    names_two_speakers,
    note_short_names,
    set_aside,
    short_aliases,
)
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import TIME, seconds, times
from bedside.transcripts.transcript import Transcript, is_speaker_word
from bedside.transcripts.word_document import BODY, archive_parts, text_blocks, text_boxes, word_document

_SPEAKER = ("speaker", "who", "role", "name", "interlocutor", "person")
_TEXT = (
    "text",
    "utterance",
    "transcript",
    "transcription",
    "content",
    "dialogue",
    "dialog",
    "speech",
    "words",
)
_TIME = ("time", "start", "timestamp", "timecode")
_STAMP = re.compile(rf"[\[(]?({TIME})[\])]?(?:[ \t]*(?:-->|[-–—])[ \t]*[\[(]?({TIME})[\])]?)?")
_NUMBER = re.compile(r"#?\d{1,6}[.)]?")
#: Longest name of a speaker.
_LONGEST = 40


class _TableLayout(NamedTuple):
    """Where things stand in a table's rows."""

    speaker: int
    text: int
    time: int | None
    header: list[str] | None


class _Row(NamedTuple):
    place: str
    cells: list[str]


def _claims(head: Head) -> Claim | None:
    return "transcripts" if BODY in archive_parts(head.source) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    transcript = source.attempt(_transcript, source)
    if transcript is not None:
        yield transcript


def _transcript(source: SourceFile) -> Transcript:
    lines: list[tuple[str, str]] = []
    tables: list[list[_Row]] = []
    paragraphs = 0
    document = word_document(source)
    for text in text_boxes(document):
        set_aside(source, "text boxes", text, source.name)
    for block in text_blocks(document):
        if isinstance(block, str):
            paragraphs += 1
            lines += [(f"{source.name}, paragraph {paragraphs}", line) for line in block.split("\n")]
        else:
            place = f"{source.name}, table {len(tables) + 1}, row"
            tables.append(
                [
                    _Row(f"{place} {number}", [" ".join(cell.split()) for cell in row])
                    for number, row in enumerate(block, 1)
                ]
            )
    roles = source.options.roles
    layouts = [layout for table in tables if (layout := _layout(source, table, roles))]
    if layouts:
        if names_two_speakers("\n".join(line for _, line in lines), roles):
            raise AmbiguousError(
                "two speakers are named both in a table and in paragraphs outside it",
                where=source.name,
                todo="save a copy with the one or the other",
            )
        turns = _table_turns(source, tables, roles)
        for place, line in lines:
            if line.strip():
                set_aside(source, "lines outside the table", line.strip(), place)
    else:
        for table in tables:
            _set_aside(source, table)
        turns = labelled_turns(source, lines)
    return source.transcript(
        source.turns(turns.speakers, turns.texts, turns.places, turns.metas),
        source.name,
        reference=turns.reference,
    )


def _set_aside(source: SourceFile, table: list[_Row], name: str = "tables") -> None:
    for place, cells in table:
        for cell in filter(None, cells):
            set_aside(source, name, cell, place)


def _layout(source: SourceFile, table: list[_Row], roles: Mapping[str, str]) -> _TableLayout | None:
    """Which columns hold speakers, what they say and times; None for a table of something else.

    Raises:
        AmbiguousError: several columns may hold what is said.
        InputError: the user named a column that the table doesn't have.
    """
    width = max((len(row.cells) for row in table), default=0)
    if width < 2:
        return None
    header = [name.casefold() for name in table[0].cells]
    mapped = {name: source.options.columns.get(name, "").casefold() for name in ("speaker", "text", "time")}
    named = bool({*header} & {*_SPEAKER, *_TEXT, *filter(None, mapped.values())})
    rows = [row.cells for row in table[1 if named else 0 :]]
    columns = [[row[at] for row in rows if at < len(row) and row[at]] for at in range(width)]

    def place(name: str, words: tuple[str, ...]) -> int | None:
        wanted = (mapped[name],) if mapped[name] else words
        at = next((header.index(word) for word in wanted if word in header), None) if named else None
        if at is None and mapped[name]:
            raise InputError(
                f"there is no column {source.options.columns[name]!r}",
                where=table[0].place,
                todo=f"columns: {', '.join(table[0].cells)}",
            )
        return at

    time = place("time", _TIME)
    if time is None:
        time = next((at for at, cells in enumerate(columns) if _all(cells, _STAMP)), None)
    speaker = place("speaker", _SPEAKER)
    if speaker is None:
        speaker = next((at for at, cells in enumerate(columns) if at != time and _names(cells, roles)), None)
    if speaker is None or len({*columns[speaker]}) < 2:
        return None
    text = place("text", _TEXT)
    if text is None:
        rest = [
            at
            for at, cells in enumerate(columns)
            if at not in (speaker, time) and cells and not _all(cells, _NUMBER)
        ]
        if len(rest) > 1:
            raise AmbiguousError(
                f"columns {' and '.join(str(at + 1) for at in rest)} of the table may both hold what is said",
                where=table[0].place,
                todo="name the columns in its first row and say which with `columns=text=NAME`",
            )
        if not rest:
            return None
        text = rest[0]
    return _TableLayout(speaker, text, time, table[0].cells if named else None)


def _all(cells: list[str], pattern: re.Pattern[str]) -> bool:
    return bool(cells) and all(pattern.fullmatch(cell) for cell in cells)


def _names(cells: list[str], roles: Mapping[str, str]) -> bool:
    """Whether cells are names of speakers: short, and all known or each there twice or more."""
    counts = Counter(cell.rstrip(":：").strip() for cell in cells)
    if len(counts) < 2 or any(len(name) > _LONGEST or name.isdigit() for name in counts):
        return False
    short = short_aliases(counts)
    known = sum(is_speaker_word(name, roles) or name.casefold() in short for name in counts)
    recurring = sum(count for count in counts.values() if count > 1)
    return known > 1 or (known > 0 and len(counts) < 4) or recurring > len(cells) / 2


def _table_turns(source: SourceFile, tables: list[list[_Row]], roles: Mapping[str, str]) -> LabelledTurns:
    """Turns of a document's tables, row by row; a row without a speaker goes on with the one before."""
    turns = LabelledTurns()
    last: _TableLayout | None = None
    for table in tables:
        layout = _layout(source, table, roles)
        if layout is None and last is not None and max(len(row.cells) for row in table) > last.text:
            layout = last._replace(
                header=None
            )  # A table that a page break divides has no two speakers in each part.
        if layout is None:
            _set_aside(source, table)
            continue
        last = layout
        if layout.header is not None:
            taken = {"speaker": layout.header[layout.speaker], "text": layout.header[layout.text]}
            if layout.time is not None:
                taken["time"] = layout.header[layout.time]
            source.account.took(taken, layout.header)
        taken_at = {layout.speaker, layout.text, layout.time}
        for place, cells in table[0 if layout.header is None else 1 :]:
            if len(cells) <= max(layout.speaker, layout.text):
                _set_aside(source, [_Row(place, cells)], "rows with too few cells")
                continue
            for at, cell in enumerate(cells):
                if cell and at not in taken_at and not _NUMBER.fullmatch(cell):
                    name = layout.header[at] if layout.header and at < len(layout.header) else ""
                    source.account.note_unread(name or f"column {at + 1}", cell, place)
            speaker, text = cells[layout.speaker].rstrip(":：").strip(), cells[layout.text]
            if speaker:
                stamp = (
                    _STAMP.fullmatch(cells[layout.time])
                    if layout.time is not None and layout.time < len(cells)
                    else None
                )
                turns.speakers.append(speaker)
                turns.texts.append(text)
                turns.places.append(place)
                turns.metas.append(
                    times(*(seconds(group) if group else None for group in stamp.groups())) if stamp else {}
                )
            elif text and turns.texts:
                turns.texts[-1] = f"{turns.texts[-1]}\n{text}".strip()
            elif text:
                set_aside(source, "rows above the first speaker", text, place)
    note_short_names(source, list(dict.fromkeys(turns.speakers)))
    return turns


READER = Reader(
    name="docx",
    title="Word document (DOCX): paragraphs or a table",
    description=(
        'One transcript a document, by python-docx (`pip install "bedside[forms]"`). Paragraphs begin with who '
        "speaks as lines of plain text do (see `text`), or a table has a column of speakers and one of what "
        "they say, and perhaps one of times, which become `start` and `stop` of a turn's `meta`, and one of "
        "numbers. Its first row may name the columns (`--columns text=NAME` where several hold text); a row "
        "without a speaker goes on with the one before. A document with tracked changes is an error. Left out and "
        "counted: headers, footers, notes, comments, other columns; also text boxes, other tables, and lines above the "
        "first speaker or beside the table, where a sentence stops the reading. The example is the text of a "
        "document's paragraphs."
    ),
    example="Therapist: What brings you here?\nClient: I sleep badly.\n",
    example_name="session.docx",
    facts={
        "family": "recordings",
        "known_by": "a Word document",
        "turns": "labelled paragraphs, or rows of a table",
        "kept": "times with turns; what stands below `Description` in the reference",
        "left": "headers, footers, notes, comments, text boxes, other tables and columns, lines beside the table",
        "decided_by": "`--columns text=NAME`, `--leave-out tables`",
    },
    endings=(".docx",),
    claims=_claims,
    read=_read,
    priority=15,
)
