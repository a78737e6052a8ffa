"""Damaged tables of a run whose digests were made to fit: one line, and no backtrace of a library."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from random import Random

import orjson
import polars as pl
import pytest

import bedside
from bedside.core.errors import InputError, RunError
from bedside.core.files import quiet, seal_of
from bedside.ratings.run import Run
from tests.annotation.study import new_study
from tests.soak import budget


@pytest.mark.slow
def test_a_forged_table_is_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The columns' places at the end of the file, which no digest holds here: polars panics at some of them."""
    folder = Path(new_study(tmp_path, cases=4).path)
    table, manifest = folder / "ratings.parquet", folder / "manifest.json"
    good, said = table.read_bytes(), orjson.loads(manifest.read_bytes())
    random = Random(1)
    refused: list[str] = []
    capfd.readouterr()
    for _ in range(budget(1000, 20_000)):
        content = bytearray(good)
        for _ in range(random.choice([1, 3, 20])):
            content[random.randrange(len(good) - 3000, len(good))] = random.randrange(256)
        table.write_bytes(content)
        said["files"]["ratings.parquet"] = hashlib.sha256(content).hexdigest()
        manifest.write_bytes(orjson.dumps({**said, "seal": seal_of(said)}))
        try:
            assert Run(folder).ratings.columns
        except RunError as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert "\n" not in "".join(refused)
    assert capfd.readouterr() == ("", "")


def test_a_table_outside_of_runs_is_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "table.parquet"
    pl.DataFrame({"id": ["a"], "rater": ["b"], "empathy": [1]}).write_parquet(file)

    def panic(*_: object, **__: object) -> None:
        os.write(2, b"thread panicked at")
        raise pl.exceptions.PanicException("assertion failed")

    monkeypatch.setattr(pl, "scan_parquet", panic)
    with pytest.raises(InputError):
        bedside.agree(file)
    assert capfd.readouterr() == ("", "")


def test_what_a_library_writes_past_python_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = Run(new_study(tmp_path, cases=2).path)
    capfd.readouterr()

    def panic() -> None:
        with run.sound("ratings.parquet"), quiet():
            os.write(2, b"thread panicked at")
            raise pl.exceptions.PanicException("assertion failed")

    with pytest.raises(RunError):
        panic()
    os.write(2, b"after")
    assert capfd.readouterr().err == "after"
