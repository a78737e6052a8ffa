"""Files of records that people write, each object with its place: JSON, JSON lines, YAML, tables with a header, and
folders of them.

No key may stand twice in an object, and values are those that every reader of JSON takes. What conversations and
ratings come in has more forms, and is read by the readers of ``transcripts``.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from bedside.core.errors import InputError
from bedside.core.files import not_json, read_text, unreadable
from bedside.core.json_shape import MOST_LEVELS, unwritable
from bedside.core.model_errors import KeyPath, Model, to_model
from bedside.core.yaml_files import plain_yaml_nodes

#: Largest file, in bytes; YAML files are smaller (:data:`bedside.core.yaml_files.MOST_BYTES`).
MOST_BYTES = 2**27
_JSON, _YAML, _TABLES = (".json", ".jsonl", ".ndjson"), (".yaml", ".yml"), {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*_JSON, *_YAML, *_TABLES)
PathOrPaths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One object of a file.

    Attributes:
        path: the file.
        number: its position among the file's objects, from 0.
        value: what it holds.
        line_of: the line of a part of it, from 1, by the part's path; of the whole by the empty path.
    """

    path: Path
    number: int
    value: Any
    line_of: Callable[[KeyPath], int]

    def place(self, path: KeyPath = ()) -> str:
        """File and line, as messages write them."""
        return f"{self.path}:{self.line_of(path)}"

    def to_model(self, model: type[Model], todo: str) -> Model:
        """The object as one of a model.

        Raises:
            InputError: it is none; line and key are named.
        """
        return to_model(self.value, model, self.place, todo=todo)


def records(paths: PathOrPaths, noun: str) -> Iterator[FileRecord]:
    """All objects of files, and of the files of folders, in order; files of a folder by name.

    Args:
        paths: a file or folder, or several.
        noun: what the files are, for messages, such as ``case file``.

    Raises:
        InputError: a file can't be read, is of no form that is known or not of the form that its name says, or a folder
            holds none; the line is named.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    for each in several:
        for path in _files(Path(each), noun):
            yield from file_records(path, noun)


def file_records(path: Path, noun: str) -> Iterator[FileRecord]:
    """As :func:`records`, of one file: JSON where its name doesn't say YAML or a table."""
    suffix = path.suffix.lower()
    if suffix in _YAML:
        yield from _yaml_records(path, noun)
        return
    text = read_text(path, noun, most=MOST_BYTES)
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise InputError("it holds a zero character", where=f"{path}:{line}", todo="save it as UTF-8 text")
    yield from _table_records(path, text, _TABLES[suffix]) if suffix in _TABLES else _json_records(path, text)


def _files(path: Path, noun: str) -> list[Path]:
    if not os.path.isdir(path):
        if path.suffix.lower() not in SUFFIXES:
            if not os.path.exists(path):
                raise InputError("there is no such file or folder", where=str(path), todo="check its path")
            raise InputError(
                f"a {noun} ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}", where=str(path), todo="call it so"
            )
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise unreadable(error, path, "folder", kind=InputError) from error
    files = [path / name for name in names if Path(name).suffix.lower() in SUFFIXES and not name.startswith((".", "_"))]
    if not files:
        raise InputError(f"the folder holds no {noun}", where=str(path), todo="check its path")
    return files


def _json_records(path: Path, text: str) -> Iterator[FileRecord]:
    """Objects of a list, a single object, or one object a line: that is decided by whether the first line is whole."""
    if "\r" in text:  # which no string of JSON holds as it is
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = _skipped(text, 0)
    first, rest = text[start:].partition("\n")[::2]
    if text[start : start + 1] == "{" and rest.strip() and _is_json(first):
        before = text.count("\n", 0, start)
        lines = enumerate(text[start:].split("\n"), start=before + 1)
        for number, (line, content) in enumerate((n, content) for n, content in lines if content.strip()):
            yield FileRecord(path, number, parse_json(content, path, line), _AtLine(line))
        return
    whole = parse_json(text, path)
    if not isinstance(whole, list):
        yield FileRecord(path, 0, whole, _InJson(text, start, text.count("\n", 0, start) + 1))
        return
    for number, (value, place) in enumerate(zip(whole, _items(text, start), strict=True)):
        yield FileRecord(path, number, value, place)


@dataclass(frozen=True, slots=True)
class _AtLine:
    """The place of all that stands in one line."""

    line: int

    def __call__(self, path: KeyPath) -> int:
        return self.line


@dataclass(frozen=True, slots=True)
class _InJson:
    """The lines of the parts of an object in a JSON text; of the nearest part around one that isn't there."""

    text: str
    start: int
    line: int

    def __call__(self, path: KeyPath) -> int:
        at = self.start
        for step in path:
            inner = _member(self.text, at, step)
            if inner is None:
                break
            at = inner
        return self.line + self.text.count("\n", self.start, at)


def _items(text: str, at: int) -> Iterator[_InJson]:
    """The items of the list at a place."""
    decoder = json.JSONDecoder()
    before, line = 0, 1
    at = _skipped(text, at + 1)
    while text[at] != "]":
        line += text.count("\n", before, at)
        before = at
        yield _InJson(text, at, line)
        _, at = decoder.raw_decode(text, at)
        at = _skipped(text, at)
        if text[at] == ",":
            at = _skipped(text, at + 1)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def parse_json(text: str, path: Path, line: int = 1) -> Any:
    """A value of JSON that a person may have written; ``line`` is that where the text begins in its file.

    Raises:
        InputError: it is not JSON, has a key twice in an object, or holds what not every reader of JSON takes.
    """
    try:
        value = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_no_number)
        wrong = unwritable(value, MOST_LEVELS)
        if wrong is not None:
            raise ValueError(wrong)
        return value
    except json.JSONDecodeError as error:
        raise not_json(error, path, line, kind=InputError) from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(why, where=f"{path}:{line}" if line > 1 else str(path)) from error


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for ``object_pairs_hook``.

    Raises:
        ValueError: a key is there twice.
    """
    keys: dict[str, Any] = {}
    for key, value in pairs:
        if key in keys:
            raise ValueError(f"the key {key!r} is there twice in an object")
        keys[key] = value
    return keys


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _member(text: str, at: int, step: int | str) -> int | None:
    """Where a member of the object or list at a place stands: its key, or the item."""
    decoder = json.JSONDecoder()
    if text[at] == '"':  # the key of the last step: its value follows the colon
        _, at = decoder.raw_decode(text, at)
        at = _skipped(text, _skipped(text, at) + 1)
    if text[at] not in "{[":
        return None
    wanted_list, at = text[at] == "[", _skipped(text, at + 1)
    for number in count():
        if text[at] in "}]":
            return None
        key, end = (number, at) if wanted_list else decoder.raw_decode(text, at)
        if key == step:
            return at
        value = at if wanted_list else _skipped(text, _skipped(text, end) + 1)
        _, at = decoder.raw_decode(text, value)
        at = _skipped(text, at)
        if text[at] == ",":
            at = _skipped(text, at + 1)
    return None


def _skipped(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _yaml_records(path: Path, noun: str) -> Iterator[FileRecord]:
    whole, root = plain_yaml_nodes(path, noun, kind=InputError)
    wrong = unwritable(whole, MOST_LEVELS)
    if wrong is not None:
        raise InputError(wrong, where=str(path))
    several = isinstance(whole, list)
    for number, value in enumerate(whole if several else [whole]):
        yield FileRecord(path, number, value, _InYaml(root.value[number] if several else root))


@dataclass(frozen=True, slots=True)
class _InYaml:
    """The lines of the parts of an object in a YAML file; of the nearest part around one that isn't there."""

    node: Any

    def __call__(self, path: KeyPath) -> int:
        node = self.node
        line = node.start_mark.line if node is not None else 0
        for step in path:
            if isinstance(step, int) and node.id == "sequence" and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line
                continue
            pair = next(
                (pair for pair in node.value if pair[0].value == step) if node.id == "mapping" else iter(()), None
            )
            if pair is None:
                break
            line, node = pair[0].start_mark.line, pair[1]
        return int(line) + 1


def _table_records(path: Path, text: str, delimiter: str) -> Iterator[FileRecord]:
    """An object a row, by the header's names; cells are texts."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        twice = next((name for number, name in enumerate(header) if name.strip() and name in header[:number]), None)
        if twice is not None:
            raise InputError(f"two columns are called {twice!r}", where=f"{path}:1", todo="rename one of them")
        line = reader.line_num + 1
        number = 0
        for row in reader:
            own, line = line, reader.line_num + 1
            if not any(map(str.strip, row)):
                continue
            if len(row) != len(header):
                raise InputError(
                    f"the row has {len(row)} cells, and the header {len(header)}",
                    where=f"{path}:{own}",
                    todo="check its quotation marks",
                )
            yield FileRecord(path, number, dict(zip(header, row, strict=True)), _AtLine(own))
            number += 1
    except csv.Error as error:
        raise InputError(f"it is no table ({error})", where=f"{path}:{reader.line_num}") from error
