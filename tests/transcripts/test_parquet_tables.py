"""Parquet: a row an utterance, a dialogue in a cell, or a list of messages in a cell, as the same file in CSV."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bedside.core.errors import InputError
from bedside.transcripts.reading import Reading
from tests.transcripts.files import as_written, read, write

SAID = [
    [("assistant", "What brings you here?"), ("user", "I sleep badly."), ("assistant", "Since when?")],
    [("system", "Be kind."), ("assistant", "你好。"), ("user", "睡不着。")],
]


@pytest.mark.parametrize("column", ["messages", "conversations"])
def test_lists_of_messages(column: str, tmp_path: Path) -> None:
    keys = ("role", "content") if column == "messages" else ("from", "value")
    frame = pl.DataFrame(
        {
            "id": ["a", "b"],
            "length": [20, 40],
            column: [[dict(zip(keys, turn, strict=True)) for turn in turns] for turns in SAID],
        }
    )
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    reading = Reading([tmp_path])
    found = list(reading)
    assert [[entry[1:] for entry in as_written(one)] for one in found] == SAID
    assert [(one.id, one.factors, one.source) for one in found] == [
        ("a", {"length": 20}, f"{path}:1"),
        ("b", {"length": 40}, f"{path}:2"),
    ]
    assert reading.inputs[0].format == "cells"
    assert reading.inputs[0].bytes == path.stat().st_size


@pytest.mark.slow
def test_rows_and_dialogues_are_as_in_csv(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {
            "session": ["a", "a", "b", "b"],
            "speaker": ["doctor", "patient"] * 2,
            "text": ["Hello.", "Hi.", "Well?", None],
            "turn": [0, 1, 0, 1],
        }
    ).with_columns(pl.col("text").fill_null("No."))
    cells = pl.DataFrame({"id": ["x"], "chat": ["Doctor: Hello.\nPatient: Hi."], "score": [1.5]})
    for frame in (rows, cells):
        frame.write_parquet(tmp_path / "t.parquet")
        frame.write_csv(tmp_path / "t.csv")
        found = read(tmp_path / "t.parquet")
        assert [one.to_json() for one in found] == [one.to_json() for one in read(tmp_path / "t.csv")]
        assert found


@pytest.mark.slow
def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    pl.DataFrame({"id": ["a"] * 9, "dialogue": ["Doctor: Hello.\nPatient: Hi."] * 9}).write_parquet(
        tmp_path / "t.parquet"
    )
    data = (tmp_path / "t.parquet").read_bytes()
    for content in (data[:-20], b"PAR1" + bytes(100)):
        path = write(tmp_path, "u.parquet", content)
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value) == f"{path}: the Parquet file can't be read; save it again"
