"""Pieces of a file, read one by one, are what reading the whole gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bedside.core.errors import InputError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import PartReading, Reading
from bedside.transcripts.spans import Span
from bedside.transcripts.transcript import Transcript

TEXTS = ["How do you sleep?", 'She said "no, never".', "一直睡不着。", "Two\nlines, with a comma"]


def json_lines(count: int) -> str:
    lines = []
    for n in range(count):
        turns = [{"role": ("clinician", "patient")[t % 2], "text": TEXTS[(n + t) % 4]} for t in range(2 + n % 3)]
        # Some have no id of their own, and blank lines stand between.
        lines.append(json.dumps({"turns": turns, **({"id": f"t{n}"} if n % 2 else {})}) + "\n" * (1 + n % 3))
    return "".join(lines)


def messages(count: int) -> str:
    said = [[{"role": "assistant", "content": TEXTS[0]}, {"role": "user", "content": f"{TEXTS[1]} {n}"}]
            for n in range(count)]  # fmt: skip
    return "".join(json.dumps({"messages": each * (1 + n % 2)}) + "\n" for n, each in enumerate(said))


def convokit(count: int) -> str:
    return "".join(
        json.dumps(
            {"id": f"{n}-{t}", "conversation_id": f"t{n}", "speaker": ("therapist", "client")[t % 2], "text": TEXTS[t]}
        )
        + "\n"
        for n in range(count)
        for t in range(2 + n % 3)
    )


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def rows(count: int) -> str:
    return "id,speaker,text,\n" + "".join(
        f"t{n},{('doctor', 'patient')[t % 2]},{quoted(TEXTS[(n + t) % 4])},\r\n" + "\n" * (n % 2)
        for n in range(count)
        for t in range(2 + n % 3)
    )


def cells(count: int) -> str:
    return "name,dialogue\n" + "".join(
        f"n{n}," + quoted("\n".join(f"{('Doctor', 'Patient')[t % 2]}: {TEXTS[t % 3]}" for t in range(2 + n % 3))) + "\n"
        for n in range(count)
    )


FORMS: dict[str, tuple[str, Callable[[int], str]]] = {
    "json lines": ("t.jsonl", json_lines),
    "messages": ("t.jsonl", messages),
    "convokit": ("utterances.jsonl", convokit),
    "rows": ("t.csv", rows),
    "cells": ("t.csv", cells),
}


def whole(path: Path, options: ReadOptions) -> tuple[list[Transcript], list[str]]:
    reading = Reading([path], options)
    return list(reading), [str(error) for error in reading.skipped]


def pieces(path: Path, options: ReadOptions, size: int) -> tuple[list[Transcript], list[str], int]:
    root = str(path.parent)
    spans, digest = PartReading(path, options, root, None).spans(path, size)
    found: list[Transcript] = []
    skipped: list[str] = []
    whole_file: list[Span | None] = [None]
    for span in spans or whole_file:
        part = PartReading(path, options, root, span)
        found += part
        skipped += map(str, part.skipped)
    if spans:
        assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
        assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
        assert spans[-1].end == path.stat().st_size
    return found, skipped, len(spans)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_pieces_are_the_whole(form: str, end: str, mark: str, tmp_path: Path) -> None:
    name, made = FORMS[form]
    path = tmp_path / name
    text = made(40)
    if path.suffix == ".jsonl":
        text = text.replace("\n", end)
    path.write_bytes((mark + text).encode())
    options = ReadOptions()
    expected, _ = whole(path, options)
    assert len(expected) == 40
    counts = []
    for size in (1, 100, 1000, 10**6):
        found, _, count = pieces(path, options, size)
        # Contents, ids and places (with their lines) are equal.
        assert found == expected
        counts.append(count)
    # An utterance behind a byte order mark isn't looked into.
    assert counts[0] == (0 if form == "convokit" and mark else 40)
    assert counts[-1] == 0


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damage_is_told_as_of_the_whole(form: str, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    name, made = FORMS[form]
    path = tmp_path_factory.mktemp("damaged") / name
    content = bytearray(made(12).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b'"', b"\n", b"\r", b"\x00", b"\xff", b",", b"{", b"t1"])
        )
    path.write_bytes(bytes(content))
    options = ReadOptions(on_error="skip")
    size = data.draw(st.sampled_from([1, 300, 2000]))
    expected = told(lambda: whole(path, options))
    found = told(lambda: pieces(path, options, size)[:2])
    # Doubled ids are the business of who puts the pieces together.
    if not any("two transcripts have the id" in text for text in expected[1]):
        assert found == expected


def told(read: Callable[[], tuple[list[Transcript], list[str]]]) -> tuple[list[Transcript], list[str]]:
    """What is read and skipped, or what ended it."""
    try:
        return read()[:2]
    except InputError as error:
        return [], [str(error)]


def test_a_transcript_that_comes_back_keeps_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(rows(10) + "t3,doctor,Again.,\nt3,patient,Yes.,\n")
    assert PartReading(path, ReadOptions(), str(tmp_path), None).spans(path, 1) == ([], "")


def test_no_piece_begins_with_a_record_that_repeats_the_one_before(tmp_path: Path) -> None:
    said = [{"role": ("user", "assistant")[n % 2], "content": f"This is said as number {n}."} for n in range(8)]
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": f"t{owner}", "messages": [{**each, "content": f"{owner}: {each['content']}"}
                        for each in said[:end]]}) + "\n"
            for owner in range(3)
            for end in (2, 4, 6, 8)
        )
    )  # fmt: skip
    expected, _ = whole(path, ReadOptions())
    assert [len(one.turns) for one in expected] == [8, 8, 8]
    assert pieces(path, ReadOptions(), 1) == (expected, [], 3)


@pytest.mark.slow
def test_annomi_is_divided_between_sessions(annomi: Path) -> None:
    expected, _ = whole(annomi, ReadOptions())
    found, _, count = pieces(annomi, ReadOptions(), 50_000)
    assert found == expected
    assert 10 < count < 100


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.json", json.dumps([json.loads(line) for line in json_lines(9).split("\n") if line])),
        ("t.csv", "speaker,text\ndoctor,Hello.\npatient,Hi.\n"),
        ("t.jsonl", json_lines(1)),
    ],
)
def test_what_cannot_be_divided_is_not(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert PartReading(path, ReadOptions(), str(tmp_path), None).spans(path, 1) == ([], "")
