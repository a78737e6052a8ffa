from __future__ import annotations

import io
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from bedside.transcripts.json_source import ArrayError, array_items, beginning
from tests.soak import budget

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.soak
@settings(max_examples=budget(60, 10_000), deadline=None)
@given(st.lists(JSON, max_size=6), st.integers(1, 40), st.booleans(), st.sampled_from(["", "\n \n"]))
def test_items_are_those_of_the_array_however_it_is_read(
    items: list[Any], chunk: int, indent: bool, before: str
) -> None:
    text = before.encode() + orjson.dumps(items, option=orjson.OPT_INDENT_2 if indent else 0) + b"\n"
    found = list(array_items(io.BytesIO(text).read, 1 << 20, chunk))
    assert [orjson.loads(item) for _, item in found] == items
    lines = text.split(b"\n")
    assert all(item.partition(b"\n")[0] in lines[line - 1] for line, item in found)


@given(JSON, st.data())
def test_the_beginning_of_a_value_is_part_of_it(value: Any, data: st.DataObject) -> None:
    text = orjson.dumps(value)
    cut = data.draw(st.integers(0, len(text)))
    assert _within(beginning(text[:cut]), value)
    if isinstance(value, dict | list) and value:
        assert beginning(text) == value


def _within(part: Any, whole: Any) -> bool:
    if part is None:
        return True
    if isinstance(part, list):
        return isinstance(whole, list) and all(_within(one, other) for one, other in zip(part, whole, strict=False))
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(_within(value, whole[key]) for key, value in part.items())
    return bool(part == whole)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b'{"a": 1}', "not a JSON array"),
        (b"", "not a JSON array"),
        (b'[{"a": 1}, {"b"', "the file ends before the array does"),
        (b'[{"a": "', "the file ends before the array does"),
        (b"[1] 2", "text after the end of the array"),
        (b'["' + b"x" * 99 + b'"]', "an item of the array is longer than 0 MB"),
    ],
)
def test_what_is_no_array_is_said(text: bytes, what: str) -> None:
    with pytest.raises(ArrayError, match=f"^{what}$"):
        list(array_items(io.BytesIO(text).read, 50, 16))


def test_what_no_parser_takes_ends_soon() -> None:
    chunks = iter([b"[" * 2**17])
    with pytest.raises(ArrayError, match="nested more than 65,536 levels deep"):
        list(array_items(lambda size: next(chunks), 1 << 30))


def test_deep_items_are_left_to_the_parser() -> None:
    item = b"[" * 60_000 + b"]" * 60_000
    assert list(array_items(io.BytesIO(b"[1, " + item + b", 2]").read, 1 << 20)) == [(1, b"1"), (1, item), (1, b"2")]
