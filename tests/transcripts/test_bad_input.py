"""Bad files: one line that says what, where and what to do; where errors are skipped, the rest is still read."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import InputError
from bedside.transcripts.byte_source import MAX_RECORD
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.transcripts.files import GOOD, check_refusal, packed, read, workbook, write

A, B, C, D, E = (GOOD % name for name in "abcde")
NO_SIDE = '{"id": "x", "turns": [{"role": "system", "text": "Be kind."}]}\n'
ROWS = "id,speaker,text\na,doctor,Hello.\na,patient,Hi.\n"


#: What a file holds; a large one is made when it is asked for.
Content = str | bytes | Callable[[], str] | Callable[[], bytes]


def _lines(third: str | bytes) -> bytes:
    """Five lines of which the third is given."""
    third = third.encode() if isinstance(third, str) else third
    return (A + B).encode() + third.removesuffix(b"\n") + b"\n" + (D + E).encode()


def _turns(*turns: Any) -> str:
    return json.dumps({"id": "x", "turns": [{"role": "clinician", "text": "Hello."}, *turns]})


def _bomb() -> bytes:
    """A workbook of a few kilobytes that unpacks to 200 MB."""
    file = BytesIO(workbook([["id", "speaker", "text"]]))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as book, book.open("xl/media/image1.bin", "w") as part:
        for _ in range(200):
            part.write(bytes(2**20))
    return file.getvalue()


def _entities() -> bytes:
    """A workbook whose texts come from entities."""
    source = zipfile.ZipFile(BytesIO(workbook([["id", "speaker", "text"], ["a", "doctor", "Hello."]])))
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as book:
        for part in source.namelist():
            data = source.read(part)
            if part.endswith("sheet1.xml"):
                data = b'<!DOCTYPE x [<!ENTITY a "b">]>' + data
            book.writestr(part, data)
    return file.getvalue()


QUOTED = "“Hé”".encode()

#: What is wrong, the file's name, its content, and the ids that are still read where errors are skipped.
CASES: list[tuple[str, str, Content, list[str]]] = [
    ("empty", "t.jsonl", "", []),
    ("blank", "t.csv", " \n\n", []),
    ("truncated gzip", "t.jsonl.gz", packed(_lines(C) * 200)[:-30], []),
    ("damaged gzip", "t.jsonl.gz", b"\x1f\x8b" + b"x" * 100, []),
    ("third line is no JSON", "t.jsonl", _lines("oh no"), ["a", "b", "d", "e"]),
    ("first line is no JSON", "t.jsonl", "oh no\n" + A, ["a"]),
    ("turn without text", "t.jsonl", _lines(_turns({"role": "patient"})), ["a", "b", "d", "e"]),
    ("turn with blank text", "t.jsonl", _lines(_turns({"role": "patient", "text": " \n"})), ["a", "b", "d", "e"]),
    ("text is a number", "t.jsonl", _lines(_turns({"role": "patient", "text": 3.5})), ["a", "b", "d", "e"]),
    ("unknown speaker", "t.jsonl", _lines(_turns({"role": "Anna", "text": "Hi."})), ["a", "b", "d", "e"]),
    (
        "unknown speaker of two words",
        "t.jsonl",
        _lines(_turns({"role": "Dr Smith", "text": "Hi."})),
        ["a", "b", "d", "e"],
    ),
    ("an id twice", "t.jsonl", _lines(A), ["a", "b", "d", "e"]),
    (
        "mixed encodings",
        "t.jsonl",
        _lines(C.encode().replace(b"Hello", b"Ol\xe9")).replace(b"Hi.", QUOTED, 1),
        ["a", "b", "d", "e"],
    ),
    (
        "mixed encodings in an array",
        "t.json",
        f"[{A},\n{B}]".encode().replace(b"Hi.", b"H\xed", 1).replace(b"Hi.", QUOTED),
        ["b"],
    ),
    (
        "mixed encodings in a table",
        "t.csv",
        ROWS.encode().replace(b"Hi.", QUOTED) + b"b,doctor,Ol\xe9\nb,patient,Hi.\nc,doctor,Ah\nc,patient,Oh\n",
        ["c"],
    ),
    ("line of 20 MB", "t.jsonl", _lines(C.replace("Hello", "x" * 20 * 2**20)), ["a", "b", "d", "e"]),
    ("item of 20 MB", "t.json", f"[{A},{C.replace('Hello', 'x' * 20 * 2**20)}]", ["a"]),
    ("object of 20 MB", "t.json", C.replace("Hello", "x" * 20 * 2**20).replace("[", "[\n"), []),
    ("neither side", "t.jsonl", _lines(NO_SIDE), ["a", "b", "d", "e"]),
    ("no turns", "t.jsonl", _lines('{"id": "x", "turns": []}'), ["a", "b", "d", "e"]),
    ("a column is missing", "t.csv", "id,speaker\na,doctor\n", []),
    ("too many cells", "t.csv", ROWS + "b,doctor,Hello, you.\nb,patient,Hi.\nc,doctor,Ah\nc,patient,Oh\n", ["c"]),
    ("NUL bytes", "t.jsonl", A.encode() + b"\0" * 50, []),
    (
        "NUL byte far into a table",
        "t.csv",
        "id,speaker,text\n"
        + "a,doctor,Hello.\na,patient,Hi.\n" * 4000
        + "b,doctor,\0\nb,patient,Hi.\nc,doctor,A\nc,patient,O\n",
        ["c"],
    ),
    (
        "lone surrogate",
        "t.jsonl",
        _lines(_turns({"role": "patient", "text": "%"}).replace("%", "\\ud800")),
        ["a", "b", "d", "e"],
    ),
    (
        "deep nesting",
        "t.jsonl",
        _lines('{"id": "x", "turns": [], "reference": ' + '{"a":' * 2000 + "1" + "}" * 2001),
        ["a", "b", "d", "e"],
    ),
    (
        "nesting that could not be written",
        "t.jsonl",
        _lines(C.replace('"turns"', '"reference": ' + '{"a":' * 60 + "1" + "}" * 60 + ', "turns"')),
        ["a", "b", "d", "e"],
    ),
    ("number too large", "t.jsonl", _lines(C.replace('"c"', "1e999")), ["a", "b", "d", "e"]),
    ("large whole number", "t.jsonl", _lines(C.replace('"c"', "9" * 30)), ["a", "b", "d", "e"]),
    ("NaN", "t.jsonl", _lines(C.replace('"c"', "NaN")), ["a", "b", "d", "e"]),
    ("object instead of a list", "t.jsonl", _lines('{"id": "x", "turns": {"role": "patient"}}'), ["a", "b", "d", "e"]),
    ("list instead of an object", "t.jsonl", _lines("[1]"), ["a", "b", "d", "e"]),
    ("no workbook", "t.xlsx", "PK\x03\x04 and more", []),
    ("half a workbook", "t.xlsx", workbook([["id", "text"]])[:2000], []),
    ("entities in a workbook", "t.xlsx", _entities(), []),
    ("bomb of a workbook", "t.xlsx", _bomb, []),
    ("array that ends early", "t.json", f"[{A},\n{B},", ["a", "b"]),
    ("bad item of an array", "t.json", f"[{A},\n{{'id': 1}},\n{B}]", ["a", "b"]),
    ("empty array", "t.json", "[]", []),
    ("table without rows", "t.csv", "id,speaker,text\n", []),
    ("something else", "t.json", '{"name": "package", "version": 1}', []),
    ("records within an object", "t.json", '{"data": [{"id": "a", "note": "x"}]}', []),
    ("prose", "t.csv", "It was a dark night.\n", []),
]


@pytest.mark.parametrize(("name", "content", "others"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_input_is_one_line_that_says_where_and_what_to_do(
    name: str, content: Content, others: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path, name, content() if callable(content) else content)
    with pytest.raises(InputError) as caught:
        read(path)
    expected = str(caught.value)
    assert caught.value.todo

    after = write(tmp_path, "z.jsonl", GOOD % "z")
    reading = Reading([path, after], ReadOptions(on_error="skip"))
    assert [transcript.id for transcript in reading] == [*others, "z"]
    assert reading.skipped
    if isinstance(reading.skipped[0], UnknownSpeakerError):
        # Each transcript's own error; all unknown speakers stand in the reasons at once.
        assert str(reading.skipped[0]).startswith(expected[: expected.index(" (1 turn")])
        assert "`roles=" in str(reading.skipped[0])
    elif "left out" not in str(reading.skipped[0]):
        assert str(reading.skipped[0]) == expected
    assert all("\n" not in str(error) for error in reading.skipped)


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read every file, as may Windows' users")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", A)
    path.chmod(0)
    check_refusal(path, "can't be read")


def test_names_that_are_no_text_can_be_printed(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/t\xff.jsonl"))
    try:
        path.write_text(A.replace('"id": "a", ', ""))
    except OSError:
        pytest.skip("the file system takes no such name")
    reading = Reading([tmp_path])
    (one,) = reading
    assert one.id == "t\\xff#0"
    assert one.to_json()
    assert str(reading.inputs[0].path).endswith("t\\xff.jsonl")


def test_a_record_may_be_as_long_as_is_said(tmp_path: Path) -> None:
    line = A.replace("Hello", "x" * (MAX_RECORD - 200))
    assert len(read(write(tmp_path, "t.jsonl", line))) == 1
