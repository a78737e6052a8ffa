"""Files of every format, for the tests of this folder."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.contract import READERS
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript

GOOD = '{"id": "%s", "turns": [{"role": "clinician", "text": "Hello."}, {"role": "patient", "text": "Hi."}]}\n'


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(*paths: Path, **options: Any) -> list[Transcript]:
    return list(Reading(paths, ReadOptions(**options)))


def check_refusal(
    path: Path, *named: str, where: str | None = None, error: type[InputError] = InputError, **options: Any
) -> None:
    """See that reading stops with one line, which names these and the place."""
    with pytest.raises(error) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    if where is not None:
        assert caught.value.where == where
        message = message.removeprefix(f"{where}: ")
    assert [name for name in named if name not in message and name not in message.replace('"', "")] == []


def check_question(path: Path, *answers: str, where: str | None = None, **options: Any) -> None:
    """See that reading stops with a question that names these answers."""
    check_refusal(path, *answers, where=where, error=AmbiguousError, **options)


def workbook(rows: list[list[Any]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def document(*blocks: str | list[list[str]]) -> bytes:
    """A Word document of paragraphs (text) and tables (rows of cells)."""
    import docx

    made = docx.Document()
    for block in blocks:
        if isinstance(block, str):
            made.add_paragraph(block)
            continue
        table = made.add_table(len(block), len(block[0]))
        for row, cells in zip(table.rows, block, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


@cache
def examples() -> Mapping[str, tuple[str, bytes]]:
    """A small file of each format, and of the tables as workbooks: name of the reader, file name, content."""
    found = {name: (reader.example_name, reader.example.encode()) for name, reader in READERS.all().items()}
    name, text = found["docx"]
    found["docx"] = (name, document(*text.decode().splitlines()))
    found["rows as workbook"] = (
        "rows.xlsx",
        workbook([["id", "speaker", "text"], ["a-1", "therapist", "Hello."], ["a-1", "client", "Hi."]]),
    )
    found["cells as workbook"] = ("cells.xlsx", workbook([["id", "dialogue"], ["a-1", "Doctor: Hello.\nPatient: Hi."]]))
    return MappingProxyType(found)


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def as_written(transcript: Transcript) -> list[tuple[str, str, str]]:
    """Role or kind, speaker and text of all that a source says, in its order: turns and what is none."""
    entries: list[tuple[float, str, str, str]] = [
        (turn.index + 0.5, turn.role, turn.speaker, turn.text) for turn in transcript.turns
    ]
    entries += [(item.before, item.kind, item.speaker, item.text) for item in transcript.provenance]
    return [(who, speaker, text) for _, who, speaker, text in sorted(entries, key=lambda entry: entry[0])]
