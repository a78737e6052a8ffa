"""Which transcripts are probed, and what a run keeps of it: read as it was written, and damage told in a line."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bedside.ratings.run import Run
from bedside.scoring.score import score
from bedside.tuning.probes.probe_record import keep_record, probe_records
from bedside.tuning.probes.probing import probe_sample
from tests.conftest import conversation
from tests.tuning.probes.test_recovery import noisy_record


@pytest.fixture
def run(tmp_path: Path) -> Run:
    talk = conversation(("clinician", "Hello."))
    return score([talk], tmp_path / "run", suite="default", metrics=["turns"]).run


def test_read_as_written_one_for_each_judge(run: Run) -> None:
    assert probe_records(run.path) == ()
    first = noisy_record(np.random.default_rng(0), 2, 4, 0.3)
    other = replace(first, rater="judge:a", margin=0.25, notes=("A note.",))
    newer = replace(first, seed=1, date="2026-01-01", observations=first.observations[:3])
    with run.locked():
        for record in (first, other, newer):
            keep_record(run, record)
    assert probe_records(run.path) == (other, newer)


def index(systems: dict[str | None, int], cases: int | None) -> pl.DataFrame:
    rows = [
        (f"{system}-{number}", system, None if cases is None else f"case{number % cases}")
        for system, count in systems.items()
        for number in range(count)
    ]
    return pl.DataFrame(rows, schema=["id", "system", "case_id"], orient="row")


def test_as_many_of_each_system_of_as_many_cases() -> None:
    table = index({"A": 40, "B": 40, "C": 40}, 20)
    names = probe_sample(table, 18, seed=1)
    drawn = table.filter(pl.col("id").is_in(names))
    assert Counter(drawn["system"]) == {"A": 6, "B": 6, "C": 6}
    assert drawn["case_id"].n_unique() == 18
    assert names == drawn["id"].to_list()


def test_a_small_system_leaves_its_places_to_others() -> None:
    table = index({"A": 2, "B": 30, None: 30}, None)
    drawn = table.filter(pl.col("id").is_in(probe_sample(table, 20, seed=1)))
    assert Counter(drawn["system"]) == {"A": 2, "B": 9, None: 9}


def test_the_seed_decides() -> None:
    first, same, other = (probe_sample(index({"A": 50}, 50), 10, seed=seed) for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize("size", [5, 50])
def test_no_more_than_there_are(size: int) -> None:
    assert len(probe_sample(index({"A": 5}, 5), size, seed=0)) == 5
