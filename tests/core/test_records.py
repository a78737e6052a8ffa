"""One way to read a user's file: what can't be read is said in the same words, with file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from bedside.core.errors import InputError, RunError
from bedside.core.files import file_digest, holding, read_bytes, read_json, read_json_lines, read_text
from bedside.core.json_shape import INTEGER
from bedside.core.records import file_records, parse_json


class Row(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int


READERS: list[Callable[[Path], Any]] = [
    read_bytes,
    read_text,
    file_digest,
    lambda path: list(file_records(path, "file")),
    lambda path: read_json(path, "file", kind=InputError),
    lambda path: list(read_json_lines(path, "file", kind=InputError)),
]


@pytest.mark.parametrize("read", READERS)
def test_what_is_missing_or_a_folder_is_told_in_the_same_words(read: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "none.json")
    with pytest.raises(InputError, match="the file can't be read"):
        read(tmp_path)


def test_text_without_its_mark_and_the_line_that_is_no_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfyes\n")
    assert read_text(path) == "yes\n"
    assert file_digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(b"\xef\xbb\xbfyes\nab\xff")
    with pytest.raises(InputError, match=r"a\.txt:2: not UTF-8 \(byte 0xff at column 3\)"):
        read_text(path)
    with pytest.raises(InputError, match="larger than"):
        read_bytes(path, most=3)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.jsonl", '{"count": 1}\n{"cuont": 2}\n', "a.jsonl:2: cuont: unknown key; did you mean count?"),
        ("a.txt", '{"count": 1}\r{"count": "x"}\r', "a.txt:2: count: "),
        ("a.json", '[{"count": 1},\n {}]', "a.json:2: count: it is missing"),
        ("a.yaml", "- count: 1\n- count: x\n", "a.yaml:2: count: "),
        ("a.csv", 'count\n1\n"x"\n', "a.csv:3: count: "),
        ("a.jsonl", '{"count": 1}\n{"count": }\n', "a.jsonl:2: not JSON (expecting value at column 11)"),
        ("a.json", '{"count": 1, "count": 2}', "a.json: the key 'count' is there twice"),
        ("a.json", '{"count": NaN}', "a.json: NaN is no number of JSON"),
        ("a.json", "[" * 2000, "a.json"),
    ],
)
def test_records_say_file_and_line(name: str, text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    with pytest.raises(InputError) as error:
        [record.to_model(Row, "mend it") for record in file_records(path, "file")]
    assert str(error.value).startswith(f"{tmp_path}/{place}")


def test_json_that_a_program_wrote_has_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"n": 1}\n{"n": "x"}\n')
    lines = read_json_lines(path, "log", {"n": INTEGER})
    assert next(lines) == (f"{path}:1", {"n": 1})
    with pytest.raises(RunError, match=r"a\.json:2: the log can't be read \(n\)"):
        next(lines)
    with pytest.raises(RunError, match="the log can't be read"):
        read_json(path, "log")
    path.write_text('{"n": NaN}')
    assert str(read_json(path, "log")["n"]) == "nan"
    assert parse_json('{"n": 1}', path) == {"n": 1}


def test_a_file_is_held_for_one(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holding(path, RunError("taken")):
        with pytest.raises(RunError, match="taken"), holding(path, RunError("taken")):
            pass
        assert path.exists()
    assert not path.exists()
    path.write_text("no folder")
    with pytest.raises(RunError, match="can't be written"), holding(path / "x", RunError("taken")):
        pass
