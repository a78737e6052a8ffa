"""Whatever the bytes or the JSON, and whatever reader is told to read it: transcripts, or an error of ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings, strategies as st

from bedside.core.errors import InputError, RegistryError
from bedside.transcripts.contract import READERS
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from tests.soak import budget
from tests.transcripts.files import write

NAMES = [
    "t.jsonl", "t.json", "t.csv", "t.tsv", "t.xlsx", "utterances.jsonl", "t.json.gz", "t.txt", "t.vtt",
    "t.TextGrid", "t.cha", "t.eaf", "t.docx",
]  # fmt: skip


def said(reading: Reading) -> str | None:
    """Read everything; what is read must be writable. The error's message, if there is one of ours."""
    try:
        for transcript in reading:
            assert orjson.loads(transcript.to_json())["turns"]
    except (InputError, RegistryError) as error:
        return str(error)
    return None


def survives(name: str, content: bytes, form: str | None) -> None:
    """Read it in both ways: with an error or without, and without one where errors are skipped."""
    with tempfile.TemporaryDirectory() as temporary:
        path = write(Path(temporary), name, content)
        message = said(Reading([path], ReadOptions(format=form)))
        assert message is None or "\n" not in message
        reading = Reading([path], ReadOptions(format=form, on_error="skip"))
        message = said(reading)
        if message is None:
            assert reading.skipped or any(file.transcripts for file in reading.inputs)
        else:
            assert any(part in message for part in ("stand together", "larger than", "none of the files"))


@pytest.mark.soak
@settings(max_examples=budget(60, 5000), deadline=None)
@given(st.binary(max_size=200), st.sampled_from(NAMES), st.sampled_from([None, *READERS.names()]))
@example(b"[[[", "t.json", "messages")
@example(b'{"messages": [[]]}', "t.json", "messages")
@example(b"\xef\xbb\xbf", "t.csv", "rows")
@example(b'[""', "t.json", "mdd5k")
@example(b"T: a\n[00:12", "t.txt", "text")
@example(b"1\n00:00:01,0 --> 00:00:02,0", "t.vtt", "subtitles")
def test_random_bytes(content: bytes, name: str, form: str | None) -> None:
    survives(name, content, form)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["user", "gpt"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "turns",
                    "messages",
                    "conversations",
                    "conversation",
                    "role",
                    "content",
                    "from",
                    "value",
                    "text",
                    "speaker",
                    "doctor",
                    "patient",
                    "meta",
                    "metadata",
                    "codes",
                    "factors",
                    "reference",
                    "id",
                    "conversation_id",
                    "scenario",
                    "tool_calls",
                    "name",
                    "timestamp",
                    "system",
                    "index",
                    "stage",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@pytest.mark.soak
@settings(max_examples=budget(100, 5000), deadline=None)
@given(VALUES, st.sampled_from([None, *READERS.names()]), st.booleans())
def test_any_json(value: Any, form: str | None, lines: bool) -> None:
    try:
        text = orjson.dumps(value)
    except TypeError:  # a number that JSON does not hold
        return
    survives("utterances.jsonl" if lines else "t.json", text + (b"\n" + text if lines else b""), form)
