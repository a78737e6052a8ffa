"""Which transcripts are drawn."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from bedside.tuning.probes.probing import probe_sample


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
    table = index({"A": 50}, 50)
    assert probe_sample(table, 10, seed=1) == probe_sample(table, 10, seed=1)
    assert probe_sample(table, 10, seed=1) != probe_sample(table, 10, seed=2)


@pytest.mark.parametrize("size", [5, 50])
def test_no_more_than_there_are(size: int) -> None:
    assert len(probe_sample(index({"A": 5}, 5), size, seed=0)) == 5
