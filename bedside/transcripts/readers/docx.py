"""Word documents (DOCX): paragraphs that begin with who speaks, or a table of speakers and what they say."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bedside.core.errors import AmbiguousError, InputError, from_extra
from bedside.transcripts.byte_source import MAX_RECORD, one_damage
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.labelled_text import (
    labelled_speech,
    names_two_speakers,
    note_short_names,
    set_aside,
    short_aliases,
)
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import TIME, Utterance, one_talk, seconds, talk, whole_bytes
from bedside.transcripts.transcript import Transcript, is_speaker_word

if TYPE_CHECKING:
    from docx.document import Document

#: Largest XML part of a document, unpacked, and largest document on disk and in all; most parts of its archive.
MAX_PART, MAX_DOCUMENT, MAX_PARTS = 2 * MAX_RECORD, 4 * MAX_RECORD, 10_000
_SMALLER = "remove its pictures, split it, or save it as text"
_MOST = MAX_DOCUMENT, "document", _SMALLER
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CHANGES = tuple(f"{_WORD}{name}" for name in ("ins", "del", "moveFrom", "moveTo"))
# Elements that stand for white space or a mark, and those whose text is no part of a paragraph's.
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_APART = ("txbxContent", "tbl")
# Parts with texts beside the body.
_BESIDE = re.compile(r"word/(header|footer|footnotes|endnotes|comments)\d*\.xml")

#: What a table's columns may be called.
_NAMES = {
    "time": ("time", "start", "timestamp", "timecode"),
    "speaker": ("speaker", "who", "role", "name", "interlocutor", "person"),
    "text": (
        "text", "utterance", "transcript", "transcription", "content", "dialogue", "dialog", "speech", "words",
    ),
}  # fmt: skip
_STAMP = re.compile(rf"[\[(]?({TIME})[\])]?(?:[ \t]*(?:-->|[-–—])[ \t]*[\[(]?({TIME})[\])]?)?")
_NUMBER = re.compile(r"#?\d{1,6}[.)]?")
#: Longest name of a speaker.
_LONGEST = 40


#: Place and cells of a table's row; and where things stand in its rows, with its header where it has one.
_Row = tuple[str, list[str]]
_Layout = tuple[dict[str, int], list[str]]


def _claims(head: Head) -> Claim | None:
    if head.source.head[:2] != b"PK":
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(whole_bytes(head.source, *_MOST))) as archive:
            return "transcripts" if "word/document.xml" in archive.namelist()[:MAX_PARTS] else None
    # A damaged archive makes zipfile raise whatever its parts happen to raise.
    except Exception:
        return None


def _document(source: SourceFile) -> Document:
    """The document in a file; texts beside its body (headers, notes, comments) are noted in the source's account.

    Raises:
        InputError: it is too large or damaged, or has changes that nobody has accepted or rejected.
        MissingExtraError: python-docx isn't installed.
    """
    with from_extra(
        "forms",
        "reading Word documents needs python-docx",
        where=source.name,
        instead=", or save the document as plain text",
    ):
        import docx
        from docx.oxml import parse_xml
    data = whole_bytes(source, *_MOST)
    with (
        one_damage("the Word document can't be read", source.name, "save it again as DOCX or as text"),
        zipfile.ZipFile(io.BytesIO(data)) as archive,
    ):
        _check_archive(source, archive)
        document = docx.Document(io.BytesIO(data))
        for name in archive.namelist():
            if match := _BESIDE.fullmatch(name):
                for text in filter(str.strip, _paragraphs(parse_xml(archive.read(name)))):
                    source.account.note_unread(f"{match[1].removesuffix('s')}s", text.strip(), source.name)
    if next(document.element.body.iter(*_CHANGES), None) is not None:
        raise InputError(
            "the document has tracked changes, so it has two texts",
            where=source.name,
            todo="accept or reject them all in Word and save it again",
        )
    return document


def _check_archive(source: SourceFile, archive: zipfile.ZipFile) -> None:
    """Refuse a document that would unpack to too much or declares entities."""
    parts = archive.infolist()
    written = [part for part in parts if part.filename.lower().endswith((".xml", ".rels"))]
    if (
        len(parts) > MAX_PARTS
        or sum(part.file_size for part in parts) > MAX_DOCUMENT
        or any(part.file_size > MAX_PART for part in written)
    ):
        raise InputError(f"the document is larger than {MAX_DOCUMENT // 2**20} MB", where=source.name, todo=_SMALLER)
    for part in written:
        with archive.open(part) as file:
            if b"<!DOCTYPE" in file.read(1 << 16):
                raise ValueError("a part that declares a document type")


def _paragraphs(element: Any) -> Iterator[str]:
    return map(_text, element.iter(f"{_WORD}p"))


def _text(paragraph: Any) -> str:
    """The text of a paragraph, with hyperlinks and content controls, which stand in elements of their own."""
    pieces: list[str] = []
    waiting = [paragraph]
    while waiting:
        part = waiting.pop()
        if not isinstance(part.tag, str):
            continue
        name = part.tag.removeprefix(_WORD)
        if name == "t":
            pieces.append(part.text or "")
        elif name in _MARKS and part.getparent().tag == f"{_WORD}r":
            pieces.append(_MARKS[name])
        elif name not in _APART:
            waiting += reversed(part)
    return "".join(pieces)


def _blocks(document: Document) -> Iterator[str | list[list[str]]]:
    """The text of each paragraph, and the cells of each table's rows, in the order of the document."""
    waiting = list(reversed(document.element.body))
    while waiting:
        element = waiting.pop()
        name = element.tag.removeprefix(_WORD) if isinstance(element.tag, str) else ""
        if name == "p":
            yield _text(element)
        elif name == "tbl":
            yield [
                [" ".join("\n".join(_paragraphs(cell)).split()) for cell in row.iter(f"{_WORD}tc")]
                for row in element.iter(f"{_WORD}tr")
            ]
        elif name in ("sdt", "sdtContent"):
            waiting += reversed(element)


def _transcript(source: SourceFile) -> Transcript:
    lines: list[tuple[str, str]] = []
    tables: list[list[_Row]] = []
    paragraphs = 0
    document = _document(source)
    # Word writes each text box twice, for newer and for older programs.
    boxes = document.element.body.iter(f"{_WORD}txbxContent")
    for text in dict.fromkeys("\n".join(_paragraphs(box)).strip() for box in boxes):
        if text:
            set_aside(source, "text boxes", text, source.name)
    for block in _blocks(document):
        if isinstance(block, str):
            paragraphs += 1
            lines += [(f"{source.name}, paragraph {paragraphs}", line) for line in block.split("\n")]
        else:
            place = f"{source.name}, table {len(tables) + 1}, row"
            tables.append([(f"{place} {number}", row) for number, row in enumerate(block, 1)])
    if any(_layout(source, table) for table in tables):
        if names_two_speakers("\n".join(line for _, line in lines), source.options.roles):
            raise AmbiguousError(
                "two speakers are named both in a table and in paragraphs outside it",
                where=source.name,
                todo="save a copy with the one or the other",
            )
        speech, reference = _table_speech(source, tables), dict[str, str]()
        for place, line in lines:
            if line.strip():
                set_aside(source, "lines outside the table", line.strip(), place)
    else:
        for table in tables:
            _set_aside(source, table)
        speech, reference = labelled_speech(source, lines)
    return talk(source, speech, joined=False, reference=reference)


def _set_aside(source: SourceFile, rows: Iterable[_Row], name: str = "tables") -> None:
    for place, cells in rows:
        for cell in filter(None, cells):
            set_aside(source, name, cell, place)


def _layout(source: SourceFile, table: Sequence[_Row]) -> _Layout | None:
    """Which columns hold speakers, what they say and times; None for a table of something else.

    Raises:
        AmbiguousError: several columns may hold what is said.
        InputError: the user named a column that the table doesn't have.
    """
    width = _width(table)
    if width < 2:
        return None
    place, first = table[0]
    header = [name.casefold() for name in first]
    mapped = {name: source.options.columns.get(name, "") for name in _NAMES}
    own = {name.casefold() for name in mapped.values() if name}
    named = not own.union(_NAMES["speaker"], _NAMES["text"]).isdisjoint(header)
    rows = [cells for _, cells in table[1 if named else 0 :]]
    columns = [[row[at] for row in rows if at < len(row) and row[at]] for at in range(width)]
    taken: dict[str, int] = {}

    def fitting(name: str, fits: Callable[[list[str]], bool]) -> list[int]:
        """The place of the column that is called so, or of all whose cells fit."""
        words = (mapped[name].casefold(),) if mapped[name] else _NAMES[name]
        called = [header.index(word) for word in words if named and word in header][:1]
        if mapped[name] and not called:
            raise InputError(f"there is no column {mapped[name]!r}", where=place, todo=f"columns: {', '.join(first)}")
        return called or [at for at, cells in enumerate(columns) if at not in taken.values() and cells and fits(cells)]

    for name, fits in (("time", lambda cells: all(map(_STAMP.fullmatch, cells))), ("speaker", partial(_names, source))):
        taken.update((name, at) for at in fitting(name, fits)[:1])
    if "speaker" not in taken or len({*columns[taken["speaker"]]}) < 2:
        return None
    texts = fitting("text", lambda cells: not all(map(_NUMBER.fullmatch, cells)))
    if len(texts) > 1:
        raise AmbiguousError(
            f"columns {' and '.join(str(at + 1) for at in texts)} of the table may both hold what is said",
            where=place,
            todo="name the columns in its first row and say which with `columns=text=NAME`",
        )
    return ({**taken, "text": texts[0]}, first if named else []) if texts else None


def _width(table: Iterable[_Row]) -> int:
    return max((len(cells) for _, cells in table), default=0)


def _names(source: SourceFile, cells: list[str]) -> bool:
    """Whether cells are names of speakers: short, and all known or each there twice or more."""
    counts = Counter(cell.rstrip(":：").strip() for cell in cells)
    if len(counts) < 2 or any(len(name) > _LONGEST or name.isdigit() for name in counts):
        return False
    short = short_aliases(counts)
    known = sum(is_speaker_word(name, source.options.roles) or name.casefold() in short for name in counts)
    recurring = sum(count for count in counts.values() if count > 1)
    return known > 1 or (known > 0 and len(counts) < 4) or recurring > len(cells) / 2


def _table_speech(source: SourceFile, tables: list[list[_Row]]) -> list[Utterance]:
    """What is said in a document's tables, row by row; a row without a speaker goes on with the one before."""
    speech: list[Utterance] = []
    last: _Layout | None = None
    for table in tables:
        layout = _layout(source, table)
        if layout is None and last is not None and _width(table) > last[0]["text"]:
            layout = last[0], []  # A table that a page break divides has no two speakers in each part.
        if layout is None:
            _set_aside(source, table)
            continue
        last = taken, header = layout
        if header:
            source.account.took(
                {name: header[taken[name]] for name in ("speaker", "text", "time") if name in taken}, header
            )
        for place, cells in table[1 if header else 0 :]:
            if len(cells) <= max(taken["speaker"], taken["text"]):
                _set_aside(source, [(place, cells)], "rows with too few cells")
                continue
            for at, cell in enumerate(cells):
                if cell and at not in taken.values() and not _NUMBER.fullmatch(cell):
                    name = header[at] if at < len(header) else ""
                    source.account.note_unread(name or f"column {at + 1}", cell, place)
            speaker, text = cells[taken["speaker"]].rstrip(":：").strip(), cells[taken["text"]]
            if speaker:
                stamp = _STAMP.fullmatch(dict(enumerate(cells)).get(taken.get("time", -1), ""))
                parts = stamp.groups() if stamp else (None, None)
                start, stop = (seconds(part) if part else None for part in parts)
                speech.append(Utterance(speaker, text, place, start, stop))
            elif text and speech:
                speech[-1].go_on(text)
            elif text:
                set_aside(source, "rows above the first speaker", text, place)
    note_short_names(source, list(dict.fromkeys(one.speaker for one in speech)))
    return speech


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
    read=one_talk(_transcript),
    priority=15,
)
