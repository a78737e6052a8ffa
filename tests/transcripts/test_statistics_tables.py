"""Files of SPSS, Stata and SAS: the transcripts and ratings of the same table in CSV, with labels for values."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.core.errors import InputError, MissingExtraError
from bedside.ratings.rating_files import read_rating_file
from bedside.transcripts.reading import Reading
from tests.transcripts.files import read, write

pyreadstat = pytest.importorskip("pyreadstat")

UTTERANCES = pl.DataFrame(
    {
        "id": ["a", "a", "b", "b"],
        "turn": [0.0, 1.0, 0.0, 1.0],
        "speaker": ["therapist", "client"] * 2,
        "text": ["Was führt Sie her?", "Ich schlafe schlecht, seit Mai.", "And now?", "No."],
        "mood": [2.5, 2.5, 7.5, 7.5],
    }
)
RATINGS = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": ["anna", "ben"] * 2, "warmth": [4.0, 5.0, 3.0, 1.0]})
WRITERS: dict[str, Callable[..., None]] = {
    "t.sav": pyreadstat.write_sav,
    "t.zsav": partial(pyreadstat.write_sav, compress=True),
    "t.dta": pyreadstat.write_dta,
    "t.xpt": pyreadstat.write_xport,
}


def written(folder: Path, name: str, frame: pl.DataFrame, **more: Any) -> Path:
    WRITERS[name](frame, str(folder / name), **more)
    return folder / name


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_gives_what_its_csv_gives(name: str, tmp_path: Path) -> None:
    UTTERANCES.write_csv(tmp_path / "t.csv")
    reading = Reading([written(tmp_path, name, UTTERANCES)])
    found = [replace(one, source="").to_json() for one in reading]
    assert found == [replace(one, source="").to_json() for one in read(tmp_path / "t.csv")]
    assert (len(found), reading.inputs[0].format) == (2, "rows")
    RATINGS.write_csv(tmp_path / "r.csv")
    ratings = read_rating_file(written(tmp_path, name, RATINGS)).ratings
    assert ratings.equals(read_rating_file(tmp_path / "r.csv").ratings)
    assert ratings.height == 4


@pytest.mark.parametrize("name", ["t.sav", "t.dta"])
def test_labels_stand_for_values_where_all_have_one(name: str, tmp_path: Path) -> None:
    frame = UTTERANCES.with_columns(pl.Series("speaker", [1, 2, 1, 2], pl.Int32))
    labels = {"speaker": {1: "therapist", 2: "client"}, "turn": {0: "first"}}
    reading = Reading([written(tmp_path, name, frame, variable_value_labels=labels)])
    found = list(reading)
    assert [turn.role for one in found for turn in one.turns] == ["clinician", "patient"] * 2
    assert [one.factors["mood"] for one in found] == [2.5, 7.5]
    told = " ".join(reading.account.remarks)
    assert "'speaker' are read as their labels" in told
    assert "'turn' stay" in told


def test_labels_that_say_the_same_leave_the_values(tmp_path: Path) -> None:
    frame = RATINGS.with_columns(pl.Series("accent", [1.0, 2, 1, 2]))
    path = written(tmp_path, "t.sav", frame, variable_value_labels={"accent": {1: "Bern", 2: "Bern"}})
    assert "'accent' stay" in " ".join(read_rating_file(path).account.file.remarks)


def test_what_is_declared_missing_is_empty_and_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path, "t.sav", RATINGS.with_columns(pace=pl.Series([2.0, 9, 9, 3])), missing_ranges={"pace": [9]}
    )
    file = read_rating_file(path)
    assert file.ratings.filter(pl.col("metric") == "pace")["value"].drop_nulls().to_list() == [2, 3]
    assert file.account.file.left_out == {"values declared missing": 2}
    assert file.account.file.first_left == {"values declared missing": f"{path}:2 column pace"}


def test_stata_has_kinds_of_missing_values(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"item": ["a", "b"], "rater": ["anna", "anna"], "warmth": [4, "a"]})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(frame, str(path), missing_user_values={"warmth": ["a"]})
    assert read_rating_file(path).account.file.left_out == {"values declared missing": 1}


def test_damage_is_one_error(tmp_path: Path) -> None:
    chance = random.Random(1)
    for name in WRITERS:
        data = written(tmp_path, name, UTTERANCES).read_bytes()
        for number in range(25):
            cut = bytearray(data[: chance.randrange(200, len(data))] if number % 2 else data)
            for _ in range(number):
                cut[chance.randrange(16, len(cut))] = chance.randrange(256)
            problem = ""
            try:
                read(write(tmp_path, name, bytes(cut)))
            except InputError as error:
                problem = str(error)
            assert "\n" not in problem


def test_without_the_library_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "t.sav", UTTERANCES)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    for reads in (read, read_rating_file):
        with pytest.raises(MissingExtraError) as caught:
            reads(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert 'pip install "bedside[spss]"' in str(caught.value)
