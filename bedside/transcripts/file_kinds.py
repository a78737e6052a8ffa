"""What a file is that no reader reads, told by how it begins: a PDF, an old Word document, a recording."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass

from bedside.support.errors import InputError
from bedside.support.files import opened
from bedside.transcripts.byte_source import ByteSource

#: How much of a file's beginning is looked at.
_LOOK = 4096


@dataclass(frozen=True, slots=True)
class ForeignForm:
    """A form that isn't read.

    Attributes:
        title: what it is, with its article.
        todo: what to do with it.
        begins: how such a file begins.
        endings: of its names.
        told: whether files that begin alike are told apart by these alone.
        part: a file that an archive of this kind has in it, or begins the name of one.
    """

    title: str
    todo: str
    begins: re.Pattern[bytes]
    endings: tuple[str, ...]
    told: bool = False
    part: str = ""


_TEXT = "save its text as DOCX or as plain text"
_TABLE = "save the table as CSV or XLSX"
_HEARD = "have it transcribed with its speakers told apart, and give the transcript"
_CODED = "export the transcripts from the program as text or DOCX"
_ZIP = rb"PK\x03\x04"
_OLE = rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML = rb"(?:\xef\xbb\xbf)?\s{0,256}(?:<!--.{0,1024}?-->\s{0,256})?<(?:html|HTML|!(?:doctype|DOCTYPE) (?:html|HTML))\b"
_SQLITE = rb"SQLite format 3\x00"


def _kind(
    title: str, begins: bytes, todo: str, *endings: str, told: bool = False, part: str = ""
) -> ForeignForm:
    return ForeignForm(title, todo, re.compile(begins, re.DOTALL), endings, told, part)


_OFFICE = r"mimetype:application/vnd.oasis.opendocument."
#: Asked in order.
KINDS: tuple[ForeignForm, ...] = (
    _kind("a PDF", rb"\s{0,64}%PDF-", _TEXT, ".pdf"),
    _kind("an RTF document", rb"\s{0,64}\{\\rtf", _TEXT, ".rtf"),
    _kind("an old Word document (DOC)", _OLE, _TEXT, ".doc", ".dot", told=True),
    _kind("an old Excel workbook (XLS)", _OLE, _TABLE, ".xls", ".xlt", told=True),
    _kind("an old PowerPoint file (PPT)", _OLE, _TEXT, ".ppt", ".pps", told=True),
    _kind("an Outlook message", _OLE, _TEXT, ".msg", told=True),
    _kind("an NVivo project", _OLE, _CODED, ".nvp", told=True),
    _kind("an old Office file", _OLE, "save it as DOCX, XLSX or text"),
    _kind("an OpenDocument text (ODT)", _ZIP, _TEXT, ".odt", part=_OFFICE + "text"),
    _kind("an OpenDocument spreadsheet (ODS)", _ZIP, _TABLE, ".ods", part=_OFFICE + "spreadsheet"),
    _kind("an OpenDocument file", _ZIP, "save it as DOCX, XLSX or text", ".odp", ".odg", part=_OFFICE),
    _kind("an EPUB book", _ZIP, _TEXT, ".epub", part="mimetype:application/epub+zip"),
    _kind("a PowerPoint file (PPTX)", _ZIP, _TEXT, ".pptx", part="ppt/"),
    _kind(
        "a Pages, Numbers or Keynote document",
        _ZIP,
        "export it as DOCX, XLSX or text",
        ".pages",
        ".numbers",
        ".key",
        part="Index/",
    ),
    _kind("a REFI-QDA project", _ZIP, _CODED, ".qdpx", told=True),
    _kind("an NVivo project", rb".", _CODED, ".nvpx", ".nvp", ".nvcx", told=True),
    _kind(
        "a MAXQDA project",
        rb".",
        _CODED,
        ".mx24",
        ".mx22",
        ".mx20",
        ".mx18",
        ".mx12",
        ".mx5",
        ".mex24",
        ".mx26",
        told=True,
    ),
    _kind(
        "an ATLAS.ti project",
        rb".",
        _CODED,
        ".atlproj",
        ".atlproj9",
        ".atlproj22",
        ".atlproj23",
        ".atlproj24",
        ".hpr7",
        ".atlcb",
        told=True,
    ),
    _kind("a Dedoose or QDA Miner project", rb".", _CODED, ".ppj", ".wpj", ".qdp", told=True),
    _kind("an SPSS data file (SAV)", rb"\$FL[23]@\(#\)", _TABLE, ".sav", ".zsav"),
    _kind(
        "a Stata data file (DTA)", rb"<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00", _TABLE, ".dta", told=True
    ),
    _kind("a SAS data file", rb"\x00{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}", _TABLE, ".sas7bdat", ".xpt"),
    _kind(
        "R data (RData, RDS)",
        rb"RD[XA][23]\n|X\n\x00\x00\x00[\x02\x03]|\x1f\x8b",
        _TABLE,
        ".rdata",
        ".rda",
        ".rds",
        told=True,
    ),
    _kind("R data (RData)", rb"RD[XA][23]\n", _TABLE, ".rdata", ".rda"),
    _kind("an SQLite database", _SQLITE, "export its table as CSV", ".db", ".sqlite", ".sqlite3"),
    _kind(
        "a pickled Python object",
        rb"\x80[\x02-\x05]",
        "write it as JSON lines or CSV",
        ".pkl",
        ".pickle",
        told=True,
    ),
    _kind("a NumPy array", rb"\x93NUMPY", "write it as JSON lines or CSV", ".npy"),
    _kind("an Arrow or Feather file", rb"ARROW1|FEA1", "write it as Parquet or CSV", ".arrow", ".feather"),
    _kind("an HDF5 file", rb"\x89HDF\r\n\x1a\n", "write it as CSV", ".h5", ".hdf5"),
    _kind("a PNG picture", rb"\x89PNG\r\n\x1a\n", "have its text typed or recognised, and give that", ".png"),
    _kind(
        "a JPEG picture",
        rb"\xff\xd8\xff",
        "have its text typed or recognised, and give that",
        ".jpg",
        ".jpeg",
    ),
    _kind("a GIF picture", rb"GIF8[79]a", "have its text typed or recognised, and give that", ".gif"),
    _kind(
        "a TIFF picture",
        rb"II\*\x00|MM\x00\*",
        "have its text typed or recognised, and give that",
        ".tif",
        ".tiff",
    ),
    _kind("a WebP picture", rb"RIFF....WEBP", "have its text typed or recognised, and give that", ".webp"),
    _kind(
        "a picture (HEIC)",
        rb"....ftyp(?:heic|heix|mif1|avif)",
        "have its text typed or recognised, and give that",
        ".heic",
    ),
    _kind("a recording (WAV)", rb"(?:RIFF|RF64)....WAVE", _HEARD, ".wav"),
    _kind("a recording (AVI)", rb"RIFF....AVI ", _HEARD, ".avi"),
    _kind("a recording (MP3)", rb"ID3[\x02-\x04]", _HEARD, ".mp3"),
    _kind("a recording (MP3)", rb"\xff[\xfb\xfa\xf3\xf2]", _HEARD, ".mp3", told=True),
    _kind("a recording (FLAC)", rb"fLaC", _HEARD, ".flac"),
    _kind("a recording (Ogg, Opus)", rb"OggS", _HEARD, ".ogg", ".opus"),
    _kind("a recording (MP4, M4A, MOV)", rb"....ftyp|....moov", _HEARD, ".mp4", ".m4a", ".mov"),
    _kind("a recording (Matroska, WebM)", rb"\x1a\x45\xdf\xa3", _HEARD, ".mkv", ".webm"),
    _kind("a recording (WMA, WMV)", rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11", _HEARD, ".wma", ".wmv"),
    _kind("a recording (AIFF)", rb"FORM....AIF[FC]", _HEARD, ".aiff", ".aif"),
    _kind("a TextGrid in Praat's binary form", rb"ooBinaryFile", "save it in Praat as a text file"),
    _kind("a 7-Zip archive", rb"7z\xbc\xaf\x27\x1c", "unpack it and give the files in it", ".7z"),
    _kind("a RAR archive", rb"Rar!\x1a\x07", "unpack it and give the files in it", ".rar"),
    _kind("a file packed by bzip2", rb"BZh[1-9]1AY&SY", "unpack it, or pack it with gzip", ".bz2"),
    _kind("a file packed by xz", rb"\xfd7zXZ\x00", "unpack it, or pack it with gzip", ".xz"),
    _kind("a file packed by Zstandard", rb"\x28\xb5\x2f\xfd", "unpack it, or pack it with gzip", ".zst"),
    _kind("an HTML page", _HTML, _TEXT, ".html", ".htm"),
    _kind("an e-mail", rb"[A-Z][\w-]*: [^\n]*\r?\n", _TEXT, ".eml", ".mbox", told=True),
)
_ANY_ARCHIVE = _kind("a ZIP archive", _ZIP, "unpack it and give the files in it")


def foreign_kind(source: ByteSource, read: tuple[str, ...] = ()) -> InputError | None:
    """The error that says what a file is, where it is of a form that isn't read; None where nothing tells.

    Args:
        source: the file.
        read: endings of names that some reader states: such a reader is asked for its own.
    """
    data = _beginning(source)
    if data[:1] in (b"{", b"[") and not data.startswith(b"{\\rtf"):
        return None  # JSON, of which there may be very many files.
    for kind in KINDS:
        if kind.told and source.ending not in kind.endings:
            continue
        if source.ending in read and source.ending in kind.endings:
            continue
        if kind.begins.match(data) and (not kind.part or _holds(source, data, kind.part)):
            return _error(source, kind)
    return None


def foreign_archive(source: ByteSource) -> InputError | None:
    """The error for a ZIP archive that no reader takes and that is no workbook or document, whole or damaged."""
    names = _names(source) if _ANY_ARCHIVE.begins.match(_beginning(source)) else None
    if names is None or any(name.startswith(("xl/", "word/")) for name in names):
        return None
    return _error(source, _ANY_ARCHIVE)


def _error(source: ByteSource, kind: ForeignForm) -> InputError:
    return InputError(f"this is {kind.title}, which bedside doesn't read", where=source.name, todo=kind.todo)


def _beginning(source: ByteSource) -> bytes:
    """The first bytes on disk, as far as they can be read without using up what can be read once."""
    if source.packed is not None:
        return source.packed[:_LOOK]
    if source.span is not None:
        return b""
    try:
        with opened(source.path) as file:
            return file.read(_LOOK) or b""
    except OSError:
        return b""


def _holds(source: ByteSource, data: bytes, part: str) -> bool:
    """Whether a ZIP archive has a part, or ``mimetype:`` and what that file says first."""
    if part.startswith("mimetype:"):
        return part.removeprefix("mimetype:").encode() in data[:200]
    return any(name.startswith(part) for name in _names(source) or ())


def _names(source: ByteSource) -> list[str] | None:
    """Names of what is in a ZIP archive; None where it can't be read."""
    try:
        with opened(source.path) as file, zipfile.ZipFile(file) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return None
