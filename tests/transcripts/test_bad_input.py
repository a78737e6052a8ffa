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
from bedside.transcripts.contract import transcript_endings
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript_maker import UnknownSpeakerError
from tests.transcripts.files import GOOD, check_refusal, packed, read, workbook, write

A, B, C, D, E = (GOOD % name for name in "abcde")
NO_SIDE = '{"id": "x", "turns": [{"role": "system", "text": "Be kind."}]}\n'
ROWS = "id,speaker,text\na,doctor,Hello.\na,patient,Hi.\n"


#: What a file holds; a large one is made when it is asked for.
Content = str | bytes | Callable[[], bytes]


def _lines(third: str | bytes) -> bytes:
    """Five lines of which the third is given."""
    third = third.encode() if isinstance(third, str) else third
    return (A + B).encode() + third.removesuffix(b"\n") + b"\n" + (D + E).encode()


def _turns(*turns: Any) -> str:
    return json.dumps({"id": "x", "turns": [{"role": "clinician", "text": "Hello."}, *turns]})


def _bomb() -> bytes:
    """A workbook of a few kilobytes that unpacks to 200 MB."""
    file = BytesIO(workbook([["id", "speaker", "text"]]))
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as book,
        book.open("xl/media/image1.bin", "w") as part,
    ):
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


UNKNOWN = (
    "unknown speaker 'Anna' (1 turn in 1 transcript); say who each is: clinician, patient or other; a guess by their "
    "names and by how they talk is `roles=Anna=patient`"
)
NO_TEXT = (
    "the turn has no text; give its text as a string, remove the turn, or leave out all empty ones with `drop_empty`"
)
OF_SYSTEMS = ", or say with `path_fields={system}` that each file or folder is of another system"
NOT_WORKBOOK = "the XLSX workbook can't be read; save it again as XLSX or CSV"
GZIP = "the gzip file is truncated or damaged; copy or download it again"
UTF8 = "mend it, or say which encoding the file is in with `encoding=cp1252` (this line may be in it)"
QUOTED = "“Hé”".encode()

#: name, content, message after the file's path, ids still read where errors are skipped.
CASES: list[tuple[str, str, Content, str, list[str]]] = [
    ("empty", "t.jsonl", "", ": the file is empty; remove it", []),
    ("blank", "t.csv", " \n\n", ": the file is empty; remove it", []),
    ("truncated gzip", "t.jsonl.gz", packed(_lines(C) * 200)[:-30], f": {GZIP}", []),
    ("damaged gzip", "t.jsonl.gz", b"\x1f\x8b" + b"x" * 100, f": {GZIP}", []),
    (
        "third line is no JSON",
        "t.jsonl",
        _lines("oh no"),
        ":3: not JSON (unexpected character, expected a JSON value at column 1); mend or remove it",
        ["a", "b", "d", "e"],
    ),
    (
        "first line is no JSON",
        "t.jsonl",
        "oh no\n" + A,
        ":1: not JSON (unexpected character, expected a JSON value at column 1); mend or remove it",
        ["a"],
    ),
    (
        "turn without text",
        "t.jsonl",
        _lines(_turns({"role": "patient"})),
        f":3, turn 1: {NO_TEXT}",
        ["a", "b", "d", "e"],
    ),
    (
        "turn with blank text",
        "t.jsonl",
        _lines(_turns({"role": "patient", "text": " \n"})),
        f":3, turn 1: {NO_TEXT}",
        ["a", "b", "d", "e"],
    ),
    (
        "text is a number",
        "t.jsonl",
        _lines(_turns({"role": "patient", "text": 3.5})),
        ":3, turn 1: the text is not text but the number 3.5; give its text as a string, or remove the turn",
        ["a", "b", "d", "e"],
    ),
    (
        "unknown speaker",
        "t.jsonl",
        _lines(_turns({"role": "Anna", "text": "Hi."})),
        f":3, turn 1: {UNKNOWN}",
        ["a", "b", "d", "e"],
    ),
    (
        "unknown speaker of two words",
        "t.jsonl",
        _lines(_turns({"role": "Dr Smith", "text": "Hi."})),
        ":3, turn 1: unknown speaker 'Dr Smith' (1 turn in 1 transcript); say who each is: clinician, patient or "
        'other; a guess by their names and by how they talk is `roles="Dr Smith=clinician"`',
        ["a", "b", "d", "e"],
    ),
    (
        "an id twice",
        "t.jsonl",
        _lines(A),
        ":1 and {path}:3: two transcripts have the id 'a'; give each its own id",
        ["a", "b", "d", "e"],
    ),
    (
        "mixed encodings",
        "t.jsonl",
        _lines(C.encode().replace(b"Hello", b"Ol\xe9")).replace(b"Hi.", QUOTED, 1),
        f":3: not UTF-8 (byte 0xe9 at column 56); {UTF8}",
        ["a", "b", "d", "e"],
    ),
    (
        "mixed encodings in an array",
        "t.json",
        f"[{A},\n{B}]".encode().replace(b"Hi.", b"H\xed", 1).replace(b"Hi.", QUOTED),
        f":1: not UTF-8 (byte 0xed at column 94 of the item); {UTF8}",
        ["b"],
    ),
    (
        "mixed encodings in a table",
        "t.csv",
        ROWS.encode().replace(b"Hi.", QUOTED) + b"b,doctor,Ol\xe9\nb,patient,Hi.\nc,doctor,Ah\nc,patient,Oh\n",
        f":4: not UTF-8 (byte 0xe9 at column 12); {UTF8}",
        ["c"],
    ),
    (
        "line of 20 MB",
        "t.jsonl",
        _lines(C.replace("Hello", "x" * 20 * 2**20)),
        ":3: the line is longer than 16 MB; put one transcript on a line",
        ["a", "b", "d", "e"],
    ),
    (
        "item of 20 MB",
        "t.json",
        f"[{A},{C.replace('Hello', 'x' * 20 * 2**20)}]",
        ":2: not JSON (an item of the array is longer than 16 MB); mend or remove it",
        ["a"],
    ),
    (
        "object of 20 MB",
        "t.json",
        C.replace("Hello", "x" * 20 * 2**20).replace("[", "[\n"),
        ": the file is larger than 16 MB and neither a JSON array nor JSON lines; write one transcript a line",
        [],
    ),
    (
        "neither side",
        "t.jsonl",
        _lines(NO_SIDE),
        ":3: the transcript has neither a clinician nor a patient; say who speaks with `roles`",
        ["a", "b", "d", "e"],
    ),
    (
        "no turns",
        "t.jsonl",
        _lines('{"id": "x", "turns": []}'),
        ":3: the transcript has no turns; remove it",
        ["a", "b", "d", "e"],
    ),
    (
        "a column is missing",
        "t.csv",
        "id,speaker\na,doctor\n",
        ":1: no column holds the text; say which with `columns=text=NAME`; columns: id (a), speaker (doctor)",
        [],
    ),
    (
        "too many cells",
        "t.csv",
        ROWS + "b,doctor,Hello, you.\nb,patient,Hi.\nc,doctor,Ah\nc,patient,Oh\n",
        ":4: the row has 4 cells and the header 3; quote cells that hold commas or line breaks",
        ["c"],
    ),
    (
        "NUL bytes",
        "t.jsonl",
        A.encode() + b"\0" * 50,
        ": this is not a text file; give a transcript file",
        [],
    ),
    (
        "NUL byte far into a table",
        "t.csv",
        "id,speaker,text\n"
        + "a,doctor,Hello.\na,patient,Hi.\n" * 4000
        + "b,doctor,\0\nb,patient,Hi.\nc,doctor,A\nc,patient,O\n",
        ":8002: the row holds a NUL byte; save the table as UTF-8 text",
        ["c"],
    ),
    (
        "lone surrogate",
        "t.jsonl",
        _lines(_turns({"role": "patient", "text": "%"}).replace("%", "\\ud800")),
        ":3: not JSON (no low surrogate in string at column 93); mend or remove it",
        ["a", "b", "d", "e"],
    ),
    (
        "deep nesting",
        "t.jsonl",
        _lines('{"id": "x", "turns": [], "reference": ' + '{"a":' * 2000 + "1" + "}" * 2001),
        ":3: not JSON (depth limit exceeded at column 5155); mend or remove it",
        ["a", "b", "d", "e"],
    ),
    (
        "nesting that could not be written",
        "t.jsonl",
        _lines(C.replace('"turns"', '"reference": ' + '{"a":' * 60 + "1" + "}" * 60 + ', "turns"')),
        ":3: it is nested more than 50 levels deep; flatten it",
        ["a", "b", "d", "e"],
    ),
    (
        "number too large",
        "t.jsonl",
        _lines(C.replace('"c"', "1e999")),
        ":3: not JSON (number is infinity when parsed as double at column 8); mend or remove it",
        ["a", "b", "d", "e"],
    ),
    (
        "large whole number",
        "t.jsonl",
        _lines(C.replace('"c"', "9" * 30)),
        ":3: 'id' is not text but the number 1e+30; make it a string",
        ["a", "b", "d", "e"],
    ),
    (
        "NaN",
        "t.jsonl",
        _lines(C.replace('"c"', "NaN")),
        ":3: not JSON (unexpected character, expected a JSON value at column 8); mend or remove it",
        ["a", "b", "d", "e"],
    ),
    (
        "object instead of a list",
        "t.jsonl",
        _lines('{"id": "x", "turns": {"role": "patient"}}'),
        ":3: there is no list called 'turns'; see bedside readers show jsonl",
        ["a", "b", "d", "e"],
    ),
    (
        "list instead of an object",
        "t.jsonl",
        _lines("[1]"),
        ":3: a transcript must be an object, not a list; see bedside readers show jsonl",
        ["a", "b", "d", "e"],
    ),
    ("no workbook", "t.xlsx", "PK\x03\x04 and more", f": {NOT_WORKBOOK}", []),
    ("half a workbook", "t.xlsx", workbook([["id", "text"]])[:2000], f": {NOT_WORKBOOK}", []),
    ("entities in a workbook", "t.xlsx", _entities(), f": {NOT_WORKBOOK}", []),
    (
        "bomb of a workbook",
        "t.xlsx",
        _bomb,
        ": the workbook is larger than 128 MB; save it as CSV or split it",
        [],
    ),
    (
        "array that ends early",
        "t.json",
        f"[{A},\n{B},",
        ":4: not JSON (the file ends before the array does); mend or remove it",
        ["a", "b"],
    ),
    (
        "bad item of an array",
        "t.json",
        f"[{A},\n{{'id': 1}},\n{B}]",
        ":3: not JSON (unexpected character, expected a string key at column 2 of the item); mend or remove it",
        ["a", "b"],
    ),
    ("empty array", "t.json", "[]", ": the file holds no transcript; remove it", []),
    ("table without rows", "t.csv", "id,speaker,text\n", ": the file holds no transcript; remove it", []),
    (
        "something else",
        "t.json",
        '{"name": "package", "version": 1}',
        ": bedside knows no transcript format that fits this file; see bedside readers, or force one with `format`",
        [],
    ),
    (
        "records within an object",
        "t.json",
        '{"data": [{"id": "a", "note": "x"}]}',
        ": bedside knows no transcript format that fits this file; if the list under 'data' holds its transcripts, "
        "write that list as a file of its own",
        [],
    ),
    (
        "prose",
        "t.csv",
        "It was a dark night.\n",
        ": bedside knows no transcript format that fits this file; see bedside readers, or force one with `format`",
        [],
    ),
]


@pytest.mark.parametrize(
    ("name", "content", "message", "others"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_bad_input_is_one_line_that_says_where_and_what_to_do(
    name: str, content: Content, message: str, others: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path, name, content() if callable(content) else content)
    expected = str(path) + message.replace("{path}", str(path))
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == expected
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


def test_an_id_twice_names_both_files(tmp_path: Path) -> None:
    one, two = write(tmp_path, "1.jsonl", A), write(tmp_path, "2.jsonl", B + A)
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert (
        str(caught.value) == f"{one}:1 and {two}:2: two transcripts have the id 'a'; give each its own id{OF_SYSTEMS}"
    )


def test_paths_that_lead_to_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "none.jsonl")
    assert str(caught.value) == f"{tmp_path}/none.jsonl: there is no such file; check the path"
    write(tmp_path, "notes.txt", "notes")
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: the folder holds no transcript file; transcript files end in {', '.join(transcript_endings())} "
        "(or those with .gz)"
    )
    with pytest.raises(InputError, match="no files were given; name files, folders or patterns"):
        Reading([])


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read every file, as may Windows' users")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", A)
    path.chmod(0)
    check_refusal(path, "can't be read")


def test_a_folder_of_companions_alone_holds_no_transcript(tmp_path: Path) -> None:
    write(tmp_path, "patient_1_label.json", '{"ICD_Code": "F41", "Diagnosis_Result": "x"}')
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert str(caught.value) == f"{tmp_path}: none of the files holds a transcript; see bedside readers"


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
