"""Every text of a source is a turn of whoever said it, a named field or a counted loss; or reading stops."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import BedsideError
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.transcripts.talk_forms import (
    JSON_FORMS,
    TABLE_FORMS,
    TALK,
    TEXT_FORMS,
    TOKENS,
    JsonForm,
    TableForm,
    TextForm,
)

#: A text that comes to the talk, and its token.
_ADDED, _ADDED_TOKEN = "The fulmar was said by somebody of whom nothing else is known.", "fulmar"
#: What reading may do with a token: be a turn of its own side, be kept under a name, or be gone without a word.
_ROLE = dict(zip(TOKENS, (role for role, _ in TALK), strict=True))
#: Keys under which the answer under evaluation may stand.
_ANSWERS = ("response", "output", "completion", "answer", "model_output", "generation", "prediction", "reply")

Found = dict[str, str]


def _read(folder: Path, name: str, content: bytes, options: dict[str, Any] | Any) -> Found | str:
    """Where each token of a file went: the role of its turn, ``field``, ``loss`` or ``gone``; or why reading stops."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(content)
    reading = Reading(file, ReadOptions(**options))
    try:
        transcripts = list(reading)
    except BedsideError as error:
        return str(error)
    found: Found = {}
    lost = sum(texts.number for texts in reading.account.lost.values())
    fields = repr(
        [(one.id, one.factors, one.reference, one.provenance, [turn.meta for turn in one.turns]) for one in transcripts]
    )
    turns = [turn for one in transcripts for turn in one.turns]
    for token in (*TOKENS, _ADDED_TOKEN):
        word = f" {token} "
        said = [turn.role for turn in turns if word in f" {turn.text} "]
        if len(said) == 1:
            found[token] = said[0]
        elif said:
            found[token] = "twice"
        elif word in fields:
            found[token] = "field"
        else:
            found[token] = "gone"
    gone = [token for token, went in found.items() if went == "gone"]
    if 0 < len(gone) <= lost:
        found.update(dict.fromkeys(gone, "loss"))
    return found


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, str):
        yield path, value


def _at(value: Any, path: Sequence[Any]) -> Any:
    for key in path:
        value = value[key]
    return value


def _last(records: list[Any]) -> tuple[Any, ...]:
    """Where the last turn stands; empty where it is within a text of JSON."""
    return next((path for path, text in reversed([*_leaves(records)]) if text == TALK[-1][1]), ())


def _message(records: list[Any], path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The path of the item of a list in which a text stands; empty where it stands in none below its record."""
    return next((path[:n] for n in range(len(path), 1, -1) if isinstance(path[n - 1], int)), ())


def _reversed(records: list[Any]) -> list[Any]:
    return [dict(reversed(one.items())) if isinstance(one, dict) else one for one in records]


def _with_number(records: list[Any]) -> list[Any]:
    return [{**one, "note_number": 7} if isinstance(one, dict) else one for one in records]


def _with_place(records: list[Any]) -> list[Any]:
    return [
        {**one, "metadata": {"site": "north"}} if isinstance(one, dict) and "metadata" not in one else one
        for one in records
    ]


#: Changes of records after which they are read as before.
_HARMLESS_JSON: dict[str, Callable[[list[Any]], list[Any]]] = {
    "reversed keys": _reversed,
    "a number more": _with_number,
    "a place more": _with_place,
}


def _text_renamed(records: list[Any]) -> None:
    *holder, key = _last(records) or (None,)
    if isinstance(key, str):
        parent = _at(records, holder)
        parent[f"{key}_kept"] = parent.pop(key)


def _list_renamed(records: list[Any]) -> None:
    message = _message(records, _last(records))
    named = [key for key in message[:-1] if isinstance(key, str)]
    if named:
        holder = _at(records, message[: message.index(named[-1])])
        holder["old_" + named[-1]] = holder.pop(named[-1])


def _labels(records: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The object that holds the last turn, and each key of it that says who speaks."""
    message = _message(records, _last(records))
    holder = _at(records, message) if message else None
    names = ("assistant", "gpt", "model", "Doctor", "therapist", "clinician", "ai")
    if isinstance(holder, dict):
        yield from [(holder, key) for key, value in holder.items() if value in names]


def _relabelled(records: list[Any]) -> None:
    for holder, key in _labels(records):
        holder[key] = "mother"


def _unlabelled(records: list[Any]) -> None:
    for holder, key in _labels(records):
        del holder[key]


def _nested(records: list[Any]) -> None:
    records[:] = [{"sample": record} for record in records]


def _nested_deeply(records: list[Any]) -> None:
    records[:] = [{"run": {"sample": {"talk": record}}} for record in records]


def _moved(records: list[Any], key: str) -> None:
    """The answer under evaluation stands beside the messages."""
    message = _message(records, _last(records))
    if message and isinstance(records[0], dict):
        del _at(records, message[:-1])[message[-1]]
        records[0][key] = TALK[-1][1]


def _beside(records: list[Any], key: str) -> None:
    if isinstance(records[0], dict) and key not in records[0]:
        records[0][key] = _ADDED


def _in_message(records: list[Any]) -> None:
    message = _message(records, _last(records))
    if message and isinstance(_at(records, message), dict):
        _at(records, message)["remark"] = _ADDED


def _as_item(records: list[Any]) -> None:
    message = _message(records, _last(records))
    if message:
        _at(records, message[:-1]).append(_ADDED)


def _as_part(records: list[Any]) -> None:
    *holder, key = _last(records) or (None,)
    if key is None:
        return
    text = _at(records, holder)[key]
    _at(records, holder)[key] = [{"type": "text", "text": text}, {"type": "memo", "memo": _ADDED}]


def _second_list(records: list[Any]) -> None:
    if isinstance(records[0], dict):
        records[0]["later_messages"] = [{"role": "user", "content": _ADDED}]


#: Changes of records after which a text may stand elsewhere, but may not be gone or another's; whose token may be of no
#: side any more.
_CHANGED_JSON: dict[str, tuple[Callable[[list[Any]], None], tuple[str, ...]]] = {
    "text renamed": (_text_renamed, TOKENS[-1:]),
    "list renamed": (_list_renamed, ()),
    "relabelled": (_relabelled, TOKENS[-1:]),
    "unlabelled": (_unlabelled, TOKENS[-1:]),
    "nested": (_nested, ()),
    "nested deeply": (_nested_deeply, ()),
    **{f"moved to {key}": (partial(_moved, key=key), ()) for key in _ANSWERS},
    **{f"beside as {key}": (partial(_beside, key=key), ()) for key in (*_ANSWERS, "zzz", "summary")},
    "in a message": (_in_message, ()),
    "as an item": (_as_item, ()),
    "as a part": (_as_part, ()),
    "a second list": (_second_list, ()),
}


def _faults(found: Found | str, freed: Sequence[str], added: bool) -> list[str]:
    """What went wrong without a word: a text that is gone, is another's, or is no turn though somebody said it."""
    if isinstance(found, str):
        return []
    faults = []
    for token, role in _ROLE.items():
        went = found[token]
        if went == "gone" or (token in freed and went == ("patient" if role == "clinician" else "clinician")):
            faults.append(f"{token} is {went}")
        elif token not in freed and went != role:
            faults.append(f"{token} of the {role} is {went}")
    if added and found[_ADDED_TOKEN] in ("gone", "patient", "clinician"):
        faults.append(f"the added text is {found[_ADDED_TOKEN]}")
    return faults


def _stopped_or_changed(found: Found | str) -> bool:
    return isinstance(found, str) or any(found[token] != role for token, role in _ROLE.items())


@pytest.mark.parametrize("form", [*JSON_FORMS, *TABLE_FORMS, *TEXT_FORMS], ids=lambda form: form.name)
def test_every_turn_of_a_form_is_read(tmp_path: Path, form: JsonForm | TableForm | TextForm) -> None:
    found = _read(tmp_path, form.file, form.content, form.options)
    assert isinstance(found, dict), found
    assert {token: went for token, went in found.items() if token in TOKENS} == _ROLE
    # Of what is left by name, the token of a text that isn't there may be taken for one.
    assert found[_ADDED_TOKEN] in ("gone", "loss")


@pytest.mark.parametrize("form", JSON_FORMS, ids=lambda form: form.name)
def test_no_text_of_json_is_lost_or_moved(tmp_path: Path, form: JsonForm) -> None:
    for number, (name, change) in enumerate(_HARMLESS_JSON.items()):
        if form.name.startswith("bedside") and name != "reversed keys":
            continue  # Unknown keys of bedside's own form are errors.
        found = _read(tmp_path / f"h{number}", form.file, form.written(change(form.records)), form.options)
        assert not _stopped_or_changed(found), (name, found)
    faults = []
    for number, (name, (damage, freed)) in enumerate(_CHANGED_JSON.items()):
        records = copy.deepcopy(form.records)
        damage(records)
        if records == form.records:
            continue
        content = form.written(records)
        found = _read(tmp_path / f"c{number}", form.file, content, form.options)
        faults += [(name, fault) for fault in _faults(found, freed, _ADDED_TOKEN.encode() in content)]
    assert not faults


def _of_rows(form: TableForm) -> Iterator[tuple[str, list[dict[str, Any]], tuple[str, ...], bool]]:
    """Name, rows, tokens of whom nothing is sure, and whether they are read as before."""
    rows = [dict(row) for row in form.rows]
    yield "reversed columns", [dict(reversed(row.items())) for row in rows], (), True
    yield "a number more", [{**row, "site_number": 7} for row in rows], (), True
    yield ("a note for each row", [{**row, "note": _ADDED if n == 0 else ""} for n, row in enumerate(rows)], (), False)
    label = next((key for key in ("speaker", "role") if key in rows[0]), None)
    if label is not None:
        yield "relabelled", [*rows[:-1], {**rows[-1], label: "mother"}], TOKENS[-1:], False
        yield "unlabelled", [*rows[:-1], {**rows[-1], label: ""}], TOKENS[-1:], False
        text = next(key for key in ("text", "content") if key in rows[0])
        yield (
            "text renamed",
            [{("said_then" if key == text else key): value for key, value in row.items()} for row in rows],
            (),
            False,
        )
        yield "a row more", [*rows, {**rows[-1], "turn": len(rows), label: "mother", text: _ADDED}], (), False
        yield (
            "no ids",
            [{key: value for key, value in row.items() if not key.endswith("id")} for row in rows],
            (),
            False,
        )
    else:
        yield "ids apart", [{**row, "id": f"a-{n}"} for n, row in enumerate(rows)], (), False


@pytest.mark.parametrize("form", TABLE_FORMS, ids=lambda form: form.name)
def test_no_text_of_a_table_is_lost_or_moved(tmp_path: Path, form: TableForm) -> None:
    faults = []
    for number, (name, rows, freed, harmless) in enumerate(_of_rows(form)):
        found = _read(tmp_path / str(number), form.file, form.written(rows), form.options)
        if harmless:
            assert not _stopped_or_changed(found), (name, found)
        faults += [(name, fault) for fault in _faults(found, freed, _ADDED in json.dumps(rows))]
    assert not faults


def _of_lines(form: TextForm) -> Iterator[tuple[str, bytes, bool]]:
    """Name and content of a changed text, and whether it is read as before."""
    lines = form.lines
    if not form.file.endswith(".docx"):
        yield "line ends of Windows", form.written(lines, "\r\n"), True
        yield ("spaces at the ends", form.written([f"{line}  " for line in lines]), form.file.endswith(("txt", "md")))
    at = next(n for n, line in enumerate(lines) if TALK[3][1] in line)
    yield ("a heading", form.written(["Session of 12 May", "", *lines]), form.file.endswith(("txt", "md", "docx")))
    yield "a line above", form.written([_ADDED, "", *lines]), False
    yield "a line below", form.written([*lines, "", f"[{_ADDED}]"]), False
    if form.label is not None:
        for name in ("mother", "guest_family"):
            line = form.label(name, _ADDED)
            yield f"{name} speaks", form.written([*lines[: at + 1], line, *lines[at + 1 :]]), False
            yield f"{name} speaks last", form.written([*lines, line]), False
        yield "a colon within", form.written([*lines[: at + 1], f"First: {_ADDED}", *lines[at + 1 :]]), False


@pytest.mark.parametrize("form", TEXT_FORMS, ids=lambda form: form.name)
def test_no_text_of_lines_is_lost_or_moved(tmp_path: Path, form: TextForm) -> None:
    faults = []
    for number, (name, content, harmless) in enumerate(_of_lines(form)):
        found = _read(tmp_path / str(number), form.file, content, form.options)
        if harmless:
            assert not _stopped_or_changed(found), (name, found)
        # A line within a turn is its own, wherever it begins with words and a colon.
        added = _ADDED.encode() in content and name != "a line below" and name != "a colon within"
        faults += [(name, fault) for fault in _faults(found, (), added)]
    assert not faults
