"""Paragraphs and tables of a Word document (DOCX)."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bedside.support.errors import InputError, MissingExtraError
from bedside.transcripts.byte_source import MAX_RECORD, ByteSource

if TYPE_CHECKING:
    from docx.document import Document

#: Largest XML part of a document, unpacked, and largest document on disk and in all.
MAX_PART = 2 * MAX_RECORD
MAX_DOCUMENT = 4 * MAX_RECORD
#: Parts of a document's archive.
MAX_PARTS = 10_000
#: The part with the document's text.
BODY = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Elements that stand for white space or a mark, and those whose text is no part of a paragraph's.
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_APART = ("txbxContent", "tbl")
_BESIDE = re.compile(r"word/(header|footer|footnotes|endnotes|comments)\d*\.xml")


def archive_parts(source: ByteSource) -> list[str]:
    """Names of the parts of a file that is packed as a ZIP archive; none where it is none or damaged."""
    if source.head[:2] != b"PK":
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(_document_bytes(source))) as archive:
            return archive.namelist()[:MAX_PARTS]
    except (zipfile.BadZipFile, ValueError, OSError, InputError):
        return []


def _document_bytes(source: ByteSource) -> bytes:
    if source.whole is not None:
        return source.whole
    with source.open() as file:
        data = source.unpacking(file.read, MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise _too_large(source)
    return data


def _too_large(source: ByteSource) -> InputError:
    return InputError(
        f"the document is larger than {MAX_DOCUMENT // 2**20} MB",
        where=source.name,
        todo="remove its pictures, split it, or save it as text",
    )


def word_document(source: ByteSource) -> Document:
    """The document in a file; texts beside its body (headers, notes, comments) are noted in the source's account.

    Raises:
        InputError: it is too large or damaged, or has changes that nobody has accepted or rejected.
        MissingExtraError: python-docx isn't installed.
    """
    try:
        import docx
    except ImportError as error:
        raise MissingExtraError(
            "reading Word documents needs python-docx, which isn't installed",
            where=source.name,
            todo='pip install "bedside[forms]", or save the document as plain text',
        ) from error
    data = _document_bytes(source)
    try:
        _check_archive(source, data)
        document = docx.Document(io.BytesIO(data))
        _note_beside(source, data)
    except InputError:
        raise
    # A damaged document makes the library raise whatever its parts happen to raise.
    except Exception as error:
        raise InputError(
            "the Word document can't be read", where=source.name, todo="save it again as DOCX or as text"
        ) from error
    changes = (f"{_WORD}{name}" for name in ("ins", "del", "moveFrom", "moveTo"))
    if next(document.element.body.iter(*changes), None) is not None:
        raise InputError(
            "the document has tracked changes, so it has two texts",
            where=source.name,
            todo="accept or reject them all in Word and save it again",
        )
    return document


def _check_archive(source: ByteSource, data: bytes) -> None:
    """Refuse a document that would unpack to too much or declares entities."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
        if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_DOCUMENT:
            raise _too_large(source)
        for part in parts:
            if not part.filename.lower().endswith((".xml", ".rels")):
                continue
            if part.file_size > MAX_PART:
                raise _too_large(source)
            with archive.open(part) as file:
                if b"<!DOCTYPE" in file.read(1 << 16):
                    raise ValueError("a part that declares a document type")


def _note_beside(source: ByteSource, data: bytes) -> None:
    """Note the text of headers, footers, notes and comments, which Word keeps in parts of their own."""
    from docx.oxml import parse_xml

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            match = _BESIDE.fullmatch(name)
            if match is None:
                continue
            for paragraph in parse_xml(archive.read(name)).iter(f"{_WORD}p"):
                text = paragraph_text(paragraph).strip()
                if text:
                    source.account.note_unread(f"{match[1].removesuffix('s')}s", text, source.name)


def paragraph_text(element: Any) -> str:
    """The text of a paragraph, with hyperlinks and content controls, which stand in elements of their own."""
    pieces: list[str] = []
    waiting = [element]
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


def text_boxes(document: Document) -> list[str]:
    """The text of each text box; Word writes each twice, for newer and for older programs."""
    boxes = document.element.body.iter(f"{_WORD}txbxContent")
    texts = ("\n".join(paragraph_text(paragraph) for paragraph in box.iter(f"{_WORD}p")) for box in boxes)
    return [text.strip() for text in dict.fromkeys(texts) if text.strip()]


def text_blocks(document: Document) -> Iterator[str | list[list[str]]]:
    """The text of each paragraph, and the cells of each table's rows, in the order of the document."""
    waiting = list(reversed(document.element.body))
    while waiting:
        element = waiting.pop()
        name = element.tag.removeprefix(_WORD) if isinstance(element.tag, str) else ""
        if name == "p":
            yield paragraph_text(element)
        elif name == "tbl":
            yield [
                [
                    "\n".join(paragraph_text(paragraph) for paragraph in cell.iter(f"{_WORD}p"))
                    for cell in row.iter(f"{_WORD}tc")
                ]
                for row in element.iter(f"{_WORD}tr")
            ]
        elif name in ("sdt", "sdtContent"):
            waiting += reversed(element)
