"""Whatever the bytes, a reader gives transcripts or an error of ours."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bedside.errors import InputError, RegistryError
from bedside.transcripts import READERS, Reading, ReadOptions
from tests.transcripts.files import examples, packed, write

EXAMPLES = examples()
NAMES = ["t.jsonl", "t.json", "t.csv", "t.tsv", "t.xlsx", "utterances.jsonl", "t.json.gz"]


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


def mutated(content: bytes, seed: int) -> bytes:
    """Some bytes changed, removed, doubled or moved."""
    draw = random.Random(seed)
    data = bytearray(content)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(data) + 1)
        length = draw.choice([1, 1, 2, 8, 40])
        match draw.randrange(6):
            case 0:
                data[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + length]
            case 3:
                data[at:at] = draw.choice(
                    [
                        b'"',
                        b"{",
                        b"}",
                        b"[",
                        b"]",
                        b",",
                        b":",
                        b"\n",
                        b"\r",
                        b"\x00",
                        b"null",
                        b"1e9",
                        b"\xff",
                        b"\\",
                    ]
                )
            case 4:
                piece = data[at : at + length]
                del data[at : at + length]
                to = draw.randrange(len(data) + 1)
                data[to:to] = piece
            case 5:
                data = data[:at]
    return bytes(data)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(NAMES), st.sampled_from([None, *READERS.names()]))
@example(b"[[[", "t.json", "messages")
@example(b'{"messages": [[]]}', "t.json", "messages")
@example(b"\xef\xbb\xbf", "t.csv", "rows")
@example(b'[""', "t.json", "mdd5k")
def test_random_bytes(content: bytes, name: str, form: str | None) -> None:
    survives(name, content, form)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["user", "gpt"]),
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


@settings(max_examples=200, deadline=None)
@given(VALUES, st.sampled_from([None, *READERS.names()]), st.booleans())
def test_any_json(value: Any, form: str | None, lines: bool) -> None:
    try:
        text = orjson.dumps(value)
    except TypeError:  # a number that JSON does not hold
        return
    survives("utterances.jsonl" if lines else "t.json", text + (b"\n" + text if lines else b""), form)


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_mutated_examples(name: str, forced: bool) -> None:
    file_name, content = EXAMPLES[name]
    for seed in range(12 if "workbook" in name else 60):
        survives(file_name, mutated(content, seed), name.split()[0] if forced else None)
    for seed in range(5):
        survives(file_name + ".gz", mutated(packed(content), seed), name.split()[0] if forced else None)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_many_mutated_examples(name: str) -> None:
    file_name, content = EXAMPLES[name]
    for seed in range(1000, 1600 if "workbook" in name else 6000):
        survives(file_name, mutated(content, seed), name.split()[0])


@pytest.mark.parametrize("companion", ["conversations.json", "speakers.json"])
def test_mutated_companions(companion: str, tmp_path: Path) -> None:
    write(tmp_path, "utterances.jsonl", EXAMPLES["convokit"][1])
    content = b'{"a-1": {"meta": {"topic": "x", "deep": [{}]}}, "therapist": {"meta": {"role": "client"}}}'
    for seed in range(60):
        write(tmp_path, companion, mutated(content, seed))
        try:
            list(Reading([tmp_path]))
        except InputError:
            continue


def test_mutated_labels(tmp_path: Path) -> None:
    write(tmp_path, "conversations/patient_1.json", EXAMPLES["mdd5k"][1])
    for seed in range(60):
        write(
            tmp_path,
            "labels/patient_1_label.json",
            mutated(b'{"ICD_Code": "F", "Diagnosis_Result": ["x"]}', seed),
        )
        try:
            list(Reading([tmp_path]))
        except InputError:
            continue
