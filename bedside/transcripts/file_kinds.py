"""What a file is that no reader reads, told by how it begins: a PDF, an old Word document, a recording."""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import dataclass

from bedside.core.errors import InputError
from bedside.core.files import opened
from bedside.core.words import counted
from bedside.transcripts.byte_source import ByteSource

#: How much of a file's beginning is looked at.
_LOOK = 4096


@dataclass(frozen=True, slots=True)
class Foreign:
    """A form that isn't read.

    Attributes:
        title: what it is, with its article.
        begins: how such a file begins, as an expression.
        todo: what to do with it.
        endings: of its names, with spaces between.
        told: whether files that begin alike are told apart by these alone.
        part: a file that an archive of this kind has in it, or begins the name of one.
    """

    title: str
    begins: bytes
    todo: str
    endings: str = ""
    told: bool = False
    part: str = ""


_TEXT = "save its text as DOCX or as plain text"
_OFFICE_TEXT = f"{_TEXT}, as soffice --headless --convert-to docx FILE does"
_TABLE = "save the table as CSV or XLSX"
_HEARD = "have it transcribed with its speakers told apart (WhisperX does both), and give the transcript"
_SEEN = "have its text typed or recognised, and give that"
_CODED = "export the transcripts from the program as text or DOCX"
_LINES = "write it as JSON lines or CSV"
_UNPACK = "unpack it and give the folder"
_GZIP = b"\x1f\x8b"
_IN_R = (".rdata", ".rda", ".rds")
_ZIP = rb"PK\x03\x04"
_OLE = rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML = rb"(?:\xef\xbb\xbf)?\s{0,256}(?:<!--.{0,1024}?-->\s{0,256})?<(?:html|HTML|!(?:doctype|DOCTYPE) (?:html|HTML))\b"
_SQLITE = rb"SQLite format 3\x00"
_ANY = rb"."


_OPEN = r"mimetype:application/vnd.oasis.opendocument."
#: Asked in order.
KINDS: tuple[Foreign, ...] = (
    Foreign("a PDF", rb"\s{0,64}%PDF-", f"{_TEXT}, as pdftotext -layout FILE does", ".pdf"),
    Foreign("an RTF document", rb"\s{0,64}\{\\rtf", _OFFICE_TEXT, ".rtf"),
    Foreign("an old Word document (DOC)", _OLE, _OFFICE_TEXT, ".doc .dot", told=True),
    Foreign("an old Excel workbook (XLS)", _OLE, _TABLE, ".xls .xlt", told=True),
    Foreign("an old PowerPoint file (PPT)", _OLE, _TEXT, ".ppt .pps", told=True),
    Foreign("an Outlook message", _OLE, _TEXT, ".msg", told=True),
    Foreign("an NVivo project", _OLE, _CODED, ".nvp", told=True),
    Foreign("an old Office file, or one with a password", _OLE, "save it as DOCX, XLSX or text, without a password"),
    Foreign("an OpenDocument text (ODT)", _ZIP, _OFFICE_TEXT, ".odt", part=_OPEN + "text"),
    Foreign("an OpenDocument spreadsheet (ODS)", _ZIP, _TABLE, ".ods", part=_OPEN + "spreadsheet"),
    Foreign("an OpenDocument file", _ZIP, "save it as DOCX, XLSX or text", ".odp .odg", part=_OPEN),
    Foreign("an EPUB book", _ZIP, _TEXT, ".epub", part="mimetype:application/epub+zip"),
    Foreign("a PowerPoint file (PPTX)", _ZIP, _TEXT, ".pptx", part="ppt/"),
    Foreign(
        "a Pages, Numbers or Keynote document",
        _ZIP,
        "export it as DOCX, XLSX or text",
        ".pages .numbers .key",
        part="Index/",
    ),
    Foreign("a REFI-QDA project", _ZIP, _CODED, ".qdpx", told=True),
    Foreign("an NVivo project", _ANY, _CODED, ".nvpx .nvp .nvcx", told=True),
    Foreign("a MAXQDA project", _ANY, _CODED, ".mx26 .mx24 .mx22 .mx20 .mx18 .mx12 .mx5 .mex24 .mex26", told=True),
    Foreign(
        "an ATLAS.ti project",
        _ANY,
        _CODED,
        ".atlproj .atlproj9 .atlproj22 .atlproj23 .atlproj24 .hpr7 .atlcb",
        told=True,
    ),
    Foreign("a Dedoose or QDA Miner project", _ANY, _CODED, ".ppj .wpj .qdp", told=True),
    Foreign(
        "R data (RData, RDS)",
        rb"RD[XA][23]\n|X\n\x00\x00\x00[\x02\x03]|\x1f\x8b|BZh|\xfd7zXZ",
        f"{_TABLE}, with write.csv in R",
        ".rdata .rda .rds",
        told=True,
    ),
    Foreign("R data (RData)", rb"RD[XA][23]\n", f"{_TABLE}, with write.csv in R"),
    Foreign(
        "an SQLite database",
        _SQLITE,
        'export its table as CSV, as sqlite3 -header -csv FILE "select * from TABLE" does',
        ".db .sqlite .sqlite3",
    ),
    Foreign("an Access database", rb"\x00\x01\x00\x00Standard (?:Jet|ACE) DB", _TABLE, ".mdb .accdb"),
    Foreign("a DuckDB database", rb".{8}DUCK", _TABLE, ".duckdb"),
    Foreign("what PyTorch saved", _ZIP, _LINES, ".pt .pth .bin", part=".pkl"),
    Foreign("a pickled Python object", rb"\x80[\x02-\x05][\x95}\](cc]", _LINES, ".pkl .pickle .pt .pth .joblib"),
    Foreign("a pickled Python object", rb"\x80[\x02-\x05]|[(c\]}]", _LINES, ".pkl .pickle", told=True),
    Foreign("a NumPy array", rb"\x93NUMPY", _LINES, ".npy"),
    Foreign("NumPy arrays (NPZ)", _ZIP, _LINES, ".npz", part=".npy"),
    Foreign("an Arrow or Feather file", rb"ARROW1|FEA1", "write it as Parquet or CSV", ".arrow .feather"),
    Foreign("an ORC file", rb"ORC", "write it as Parquet or CSV", ".orc", told=True),
    Foreign("an Avro file", rb"Obj\x01", "write it as Parquet or CSV", ".avro"),
    Foreign("an HDF5 file", rb"\x89HDF\r\n\x1a\n", "write it as CSV", ".h5 .hdf5"),
    Foreign("a Matlab file", rb"MATLAB \d", "write it as CSV", ".mat"),
    Foreign("a PNG picture", rb"\x89PNG\r\n\x1a\n", _SEEN, ".png"),
    Foreign("a JPEG picture", rb"\xff\xd8\xff", _SEEN, ".jpg .jpeg"),
    Foreign("a GIF picture", rb"GIF8[79]a", _SEEN, ".gif"),
    Foreign("a TIFF picture", rb"II\*\x00|MM\x00\*", _SEEN, ".tif .tiff"),
    Foreign("a BMP picture", rb"BM.{8}", _SEEN, ".bmp", told=True),
    Foreign("a WebP picture", rb"RIFF....WEBP", _SEEN, ".webp"),
    Foreign("a picture (HEIC)", rb"....ftyp(?:heic|heix|mif1|avif)", _SEEN, ".heic"),
    Foreign("a recording (WAV)", rb"(?:RIFF|RF64)....WAVE", _HEARD, ".wav"),
    Foreign("a recording (AVI)", rb"RIFF....AVI ", _HEARD, ".avi"),
    Foreign("a recording (MP3)", rb"ID3[\x02-\x04]", _HEARD, ".mp3"),
    Foreign("a recording (MP3)", rb"\xff[\xfb\xfa\xf3\xf2]", _HEARD, ".mp3", told=True),
    Foreign("a recording (AAC)", rb"\xff[\xf1\xf9]", _HEARD, ".aac", told=True),
    Foreign("a recording (AMR)", rb"#!AMR", _HEARD, ".amr"),
    Foreign("a recording (FLAC)", rb"fLaC", _HEARD, ".flac"),
    Foreign("a recording (Ogg, Opus)", rb"OggS", _HEARD, ".ogg .opus"),
    Foreign("a recording (MP4, M4A, MOV)", rb"....ftyp|....moov", _HEARD, ".mp4 .m4a .mov"),
    Foreign("a recording (MPEG)", rb"\x00\x00\x01[\xb3\xba]", _HEARD, ".mpg .mpeg"),
    Foreign("a recording (Matroska, WebM)", rb"\x1a\x45\xdf\xa3", _HEARD, ".mkv .webm"),
    Foreign("a recording (WMA, WMV)", rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11", _HEARD, ".wma .wmv"),
    Foreign("a recording (AIFF)", rb"FORM....AIF[FC]", _HEARD, ".aiff .aif"),
    Foreign("a recording of a dictaphone (DSS)", rb"[\x02\x03]ds[s2]", _HEARD, ".dss .ds2"),
    Foreign("a TextGrid in Praat's binary form", rb"ooBinaryFile", "save it in Praat as a text file"),
    Foreign("a TAR archive", rb".{257}ustar", f"{_UNPACK}: tar -xf FILE", ".tar .tgz"),
    Foreign("a 7-Zip archive", rb"7z\xbc\xaf\x27\x1c", f"{_UNPACK}: 7z x FILE", ".7z"),
    Foreign("a RAR archive", rb"Rar!\x1a\x07", f"{_UNPACK}: unrar x FILE", ".rar"),
    Foreign("a file packed by bzip2", rb"BZh[1-9]1AY&SY", "unpack it with bunzip2, or pack it with gzip", ".bz2"),
    Foreign("a file packed by xz", rb"\xfd7zXZ\x00", "unpack it with unxz, or pack it with gzip", ".xz"),
    Foreign(
        "a file packed by Zstandard", rb"\x28\xb5\x2f\xfd", "unpack it with zstd -d FILE, or pack it with gzip", ".zst"
    ),
    Foreign("an HTML page", _HTML, _TEXT, ".html .htm"),
    Foreign("an HTML page as an archive (MHTML)", rb"[^\n]{0,80}\n?MIME-Version:", _TEXT, ".mht .mhtml", told=True),
    Foreign("an e-mail", rb"[A-Z][\w-]*: [^\n]*\r?\n", _TEXT, ".eml .mbox", told=True),
)
#: How any of them begins that isn't told by its ending alone: hardly any file does, and that is seen at once.
_ALL = re.compile(b"|".join(b"(?:%s)" % kind.begins for kind in KINDS if not kind.told), re.DOTALL)
_TOLD = {ending for kind in KINDS if kind.told for ending in kind.endings.split()}
_ANY_ARCHIVE = Foreign("a ZIP archive", _ZIP, f"{_UNPACK}: python -m zipfile -e FILE FOLDER")
_ENCRYPTED = Foreign("a ZIP archive with a password", _ZIP, f"{_UNPACK}: 7z x FILE asks for it")


def foreign_kind(source: ByteSource, read: tuple[str, ...] = ()) -> InputError | None:
    """The error that says what a file is, where it is of a form that isn't read; None where nothing tells.

    Args:
        source: the file.
        read: endings of names that some reader states: such a reader is asked for its own.
    """
    data = _beginning(source)
    if data[:1] in (b"{", b"[") and not data.startswith(b"{\\rtf"):
        return None  # JSON, of which there may be very many files.
    if data.startswith(_GZIP) and source.ending not in _IN_R:
        data = _unpacked(data)
    if source.ending not in _TOLD and not _ALL.match(data):
        return None
    for kind in KINDS:
        own = source.ending in kind.endings.split()
        if (kind.told and not own) or (own and source.ending in read):
            continue
        if re.match(kind.begins, data, re.DOTALL) and (not kind.part or _holds(source, data, kind.part)):
            return _error(source, kind)
    return None


def foreign_archive(source: ByteSource) -> InputError | None:
    """The error for a ZIP archive that no reader takes and that is no workbook or document, whole or damaged."""
    parts = _parts(source) if _beginning(source).startswith(b"PK\x03\x04") else None
    if parts is None or any(part.filename.startswith(("xl/", "word/")) for part in parts):
        return None
    if any(part.flag_bits & 1 for part in parts):
        return _error(source, _ENCRYPTED)
    files = [part.filename for part in parts if not part.is_dir()]
    inner = sum(name.lower().endswith((".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")) for name in files)
    packed = f", of which {inner:,} {'is' if inner == 1 else 'are'} packed too" if inner else ""
    return _error(source, _ANY_ARCHIVE, f" of {counted(len(files), 'file')}{packed}")


def _error(source: ByteSource, kind: Foreign, more: str = "") -> InputError:
    return InputError(
        f"this is {kind.title}{more}, which bedside doesn't read",
        where=source.name,
        todo=re.sub(r"\bFILE\b", lambda _: source.path.name, kind.todo),
    )


def _unpacked(data: bytes) -> bytes:
    """The beginning of what is packed by gzip, which may be an archive or a recording."""
    try:
        return zlib.decompressobj(31).decompress(data, _LOOK)
    except zlib.error:
        return data


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
    """Whether a ZIP archive has a part (or one that so ends), or ``mimetype:`` and what that file says first."""
    if part.startswith("mimetype:"):
        return part.removeprefix("mimetype:").encode() in data[:200]
    names = [each.filename for each in _parts(source) or ()]
    return any(name.endswith(part) if part.startswith(".") else name.startswith(part) for name in names)


def _parts(source: ByteSource) -> list[zipfile.ZipInfo] | None:
    """What is in a ZIP archive; None where it can't be read."""
    try:
        with opened(source.path) as file, zipfile.ZipFile(file) as archive:
            return archive.infolist()
    # A damaged archive makes zipfile raise whatever its parts happen to raise.
    except Exception:
        return None
