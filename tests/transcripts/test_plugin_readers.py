"""A reader of another package: its files are found in a folder by the endings it states."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.transcripts.contract import READERS, transcript_endings
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.core.packages import install_package
from tests.transcripts.files import GOOD, packed, write

CAPTIONS = '''
"""Talks, a line of speaker and text each."""

from bedside.transcripts.contract import Reader


def claims(head):
    return "transcripts" if head.ending == ".talk" else None


def read(source):
    speakers, texts = [], []
    for _, line in source.lines():
        if b": " in line:
            speaker, _, text = line.decode().partition(": ")
            speakers.append(speaker)
            texts.append(text)
    yield source.transcript(source.turns(speakers, texts, source.name), source.name)


READER = Reader(
    name="captions",
    title="talks",
    description="A line of speaker and text each.",
    example="Doctor: Hello.",
    example_name="talk.talk",
    endings=(".talk",),
    claims=claims,
    read=read,
    priority=45,
)
'''
TALK = "TALK\n\nDoctor: What brings you here?\nPatient: I sleep badly.\n"


@pytest.fixture
def captions(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of captions, installed for one test."""
    monkeypatch.setattr(READERS, "_places", None)
    monkeypatch.setattr(READERS, "_loaded", {})
    folder = tmp_path_factory.mktemp("installed")
    entries = {"bedside.readers": {"captions": "captions:READER"}}
    install_package(folder, monkeypatch, "captions", CAPTIONS, entries)


@pytest.mark.usefixtures("captions")
def test_its_files_are_found_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "A/talk.talk", TALK)
    write(tmp_path, "B/other.talk.gz", packed(TALK.encode()))
    write(tmp_path, "c.jsonl", GOOD % "c")
    write(tmp_path, "notes.pdf", TALK)
    reading = Reading([tmp_path], ReadOptions(path_fields="{system}/{case_id}"))
    transcripts = {transcript.id: transcript for transcript in reading}
    assert [*transcripts] == ["A/talk", "B/other", "c"]
    assert (transcripts["A/talk"].system, transcripts["A/talk"].case_id) == ("A", "talk")
    assert [path.name for path in reading.ignored] == ["notes.pdf"]


def test_without_it_they_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "talk.talk", TALK)
    write(tmp_path, "c.jsonl", GOOD % "c")
    reading = Reading([tmp_path])
    assert [transcript.id for transcript in reading] == ["c"]
    assert [path.name for path in reading.ignored] == ["talk.talk"]


def test_the_endings_are_those_that_readers_state() -> None:
    stated = {ending for reader in READERS.all().values() for ending in reader.endings}
    assert set(transcript_endings()) == stated
    assert stated >= {".jsonl", ".csv", ".xlsx", ".txt", ".docx", ".vtt", ".srt", ".textgrid", ".cha", ".eaf"}
    for reader in READERS.all().values():
        assert reader.endings
        assert Path(reader.example_name).suffix.lower() in reader.endings
