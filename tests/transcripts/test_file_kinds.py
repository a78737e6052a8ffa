"""A file of a form that isn't read is named as what it is, whatever it is called, and says what to save it as."""

from __future__ import annotations

import gzip
import io
import pickle
import re
import sqlite3
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bedside.core.errors import BedsideError, InputError
from bedside.transcripts.contract import READERS
from bedside.transcripts.file_kinds import KINDS, foreign_kind
from bedside.transcripts.reading import Reading
from tests.transcripts.files import document, examples, workbook, write


def archive(**parts: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name.replace("__", "/").replace("_", "."), text)
    return file.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
OPEN = "application/vnd.oasis.opendocument."
TALK = "Doctor: Hello.\nPatient: Hi.\n"


def tar(text: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as packed:
        packed.addfile(member := tarfile.TarInfo("a.txt"), None)
        member.size = len(text)
        packed.addfile(member, io.BytesIO(text.encode()))
    return file.getvalue()


def locked(text: str) -> bytes:
    """A ZIP archive that says that its file is encrypted."""
    data = bytearray(archive(a_txt=text))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table a (b)")
        return connection.serialize()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


def arrow() -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_ipc(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "what", "todo"),
    [
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\n1 0 obj", "a PDF", "save its text as DOCX"),
        ("a.txt", b"%PDF-1.7\nDoctor: Hello.\nPatient: Hi.", "a PDF", "save its text as DOCX"),
        ("a.doc", OLE, "an old Word document (DOC)", "save its text as DOCX"),
        ("a.xls", OLE, "an old Excel workbook (XLS)", "save the table as CSV or XLSX"),
        ("a", OLE, "an old Office file, or one with a password", "DOCX"),
        ("a.rtf", rb"{\rtf1\ansi Doctor: Hello.\par}", "an RTF document", "DOCX"),
        ("a.csv", rb"{\rtf1\ansi Doctor: Hello.\par}", "an RTF document", "DOCX"),
        ("a.odt", archive(mimetype=OPEN + "text", content_xml="<x/>"), "an OpenDocument text (ODT)", "DOCX"),
        ("a.xlsx", archive(mimetype=OPEN + "spreadsheet"), "an OpenDocument spreadsheet (ODS)", "CSV or XLSX"),
        ("a.epub", archive(mimetype="application/epub+zip"), "an EPUB book", "DOCX"),
        ("a.pptx", archive(ppt__presentation_xml="<x/>"), "a PowerPoint file (PPTX)", "DOCX"),
        ("a.qdpx", archive(project_qde="<x/>"), "a REFI-QDA project", "export the transcripts"),
        ("a.zip", archive(talk_txt=TALK), "a ZIP archive", "unpack it"),
        ("a.html", TALK.join(["<!DOCTYPE html><p>", "</p>"]).encode(), "an HTML page", "DOCX"),
        ("a.txt", b"\xef\xbb\xbf\n<html>\n" + TALK.encode(), "an HTML page", "DOCX"),
        ("a.nvp", OLE, "an NVivo project", "export the transcripts"),
        ("a.mx22", b"SQLite format 3\x00", "a MAXQDA project", "export the transcripts"),
        ("a.atlproj23", archive(x="y"), "an ATLAS.ti project", "export the transcripts"),
        ("a.RData", gzip.compress(b"RDX3\nX\n", mtime=0), "R data", "CSV or XLSX"),
        ("a.db", database(), "an SQLite database", "export its table as CSV"),
        ("a.npy", array(), "a NumPy array", "JSON lines"),
        ("a.arrow", arrow(), "an Arrow or Feather file", "Parquet or CSV"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG picture", "typed or recognised"),
        ("a.jpg", b"\xff\xd8\xff\xe0" + bytes(50), "a JPEG picture", "typed or recognised"),
        ("a.wav", b"RIFF\x00\x00\x00\x00WAVEfmt ", "a recording (WAV)", "transcribed"),
        ("a.mp3", b"ID3\x03\x00" + bytes(50), "a recording (MP3)", "transcribed"),
        ("a.mp3", b"\xff\xfb\x90\x00" + bytes(50), "a recording (MP3)", "transcribed"),
        ("a.m4a", b"\x00\x00\x00\x20ftypM4A " + bytes(50), "a recording (MP4, M4A, MOV)", "transcribed"),
        ("a.TextGrid", b"ooBinaryFile\x08TextGrid", "a TextGrid in Praat's binary form", "save it in Praat"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\x00", "a 7-Zip archive", "unpack it"),
        ("a.docx", OLE, "an old Office file, or one with a password", "without a password"),
        ("a.tar.gz", gzip.compress(tar(TALK), mtime=0), "a TAR archive", "tar -xf a.tar.gz"),
        ("a.tar", tar(TALK), "a TAR archive", "tar -xf a.tar"),
        ("a.zip", archive(a_txt=TALK, b_zip="x"), "a ZIP archive of 2 files, of which 1 is packed too", "-m zipfile"),
        ("a.zip", locked(TALK), "a ZIP archive with a password", "7z x a.zip"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x00", "a file packed by Zstandard", "zstd -d a.jsonl.zst"),
        ("a.pt", archive(archive__data_pkl="x"), "what PyTorch saved", "JSON lines"),
        ("a.npz", archive(arr_npy="x"), "NumPy arrays (NPZ)", "JSON lines"),
        ("a.pkl", pickle.dumps([TALK], 4), "a pickled Python object", "JSON lines"),
        ("a", pickle.dumps({"a": TALK}, 4), "a pickled Python object", "JSON lines"),
        ("a.rds", gzip.compress(b"X\n\x00\x00\x00\x03", mtime=0), "R data", "write.csv"),
        ("a.wav.gz", gzip.compress(b"RIFF\x00\x00\x00\x00WAVEfmt ", mtime=0), "a recording (WAV)", "WhisperX"),
        ("a.mdb", b"\x00\x01\x00\x00Standard Jet DB\x00", "an Access database", "CSV"),
        ("a.jsonl.xz", b"\xfd7zXZ\x00\x00", "a file packed by xz", "gzip"),
    ],
)
def test_it_is_named(name: str, content: bytes, what: str, todo: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(InputError) as caught:
        list(Reading([path]))
    message = str(caught.value)
    assert message.startswith(f"{path}: this is {what}")
    assert "which bedside doesn't read; " in message
    assert todo in message
    assert "\n" not in message


@pytest.mark.parametrize("name", examples())
def test_no_example_of_a_reader_is_taken_for_one(name: str, tmp_path: Path) -> None:
    _, content = examples()[name]
    for kind in KINDS:
        assert not re.match(kind.begins, content, re.DOTALL) or kind.told or kind.part


def test_damaged_workbooks_and_documents_are_called_that(tmp_path: Path) -> None:
    for name, content in (("a.xlsx", workbook([["id", "text"], ["a", "b"]])), ("b.docx", document(TALK))):
        with pytest.raises(InputError):
            list(Reading([write(tmp_path, name, content[: len(content) // 2])]))


def test_any_damaged_byte_of_an_archive_is_one_error(tmp_path: Path) -> None:
    """The version, the flags, the method and the places of parts in the directory at the archive's end."""
    contents = {
        "a.xlsx": workbook([["id", "text"], ["a", "b"]]),
        "b.docx": document(TALK),
        "c.eval": archive(header_json='{"eval": {"model": "A"}}', samples__1_json='{"messages": []}'),
    }
    for name, content in contents.items():
        first = content.index(b"PK\x01\x02")
        for at in (*range(first + 4, first + 12), *range(first + 28, first + 46)):
            for byte in (0x01, 0xCE):
                damaged = content[:at] + bytes([content[at] ^ byte]) + content[at + 1 :]
                with suppress(BedsideError):
                    list(Reading([write(tmp_path, name, damaged)]))
    version = content[: first + 6] + b"\xce" + content[first + 7 :]
    with pytest.raises(InputError):
        list(Reading([write(tmp_path, "c.eval", version)]))


def test_a_reader_that_states_the_ending_is_asked_in_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, "a.pdf", b"%PDF-1.7")
    source = Reading([path])._source(path)
    assert foreign_kind(source) is not None
    assert foreign_kind(source, (".pdf",)) is None
    # A PDF that is called a table is one all the same.
    path = write(tmp_path, "a.csv", b"%PDF-1.7")
    assert foreign_kind(Reading([path])._source(path), (".csv", ".pdf")) is not None
    assert not {ending for kind in KINDS for ending in kind.endings.split()} & {
        ending for reader in READERS.all().values() for ending in reader.endings
    }
