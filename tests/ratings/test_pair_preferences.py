"""Preferences in the ratings table: their names, and what a row of them must hold."""

from __future__ import annotations

import polars as pl
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.names import is_pair, is_turn, pair_unit, rates_pair, second_id, second_ids
from bedside.ratings.rating_content import ratings_table
from bedside.ratings.rubric_metrics import is_preference, preference_metric, preferred_by
from bedside.ratings.table import frame_of

ODD = (
    "plain",
    "a:b",
    "pair:x",
    "turn:3",
    "transcript",
    "two words",
    "line\nbreak",
    "日本/€",
    "\\d+",
    "a,b;c",
)


def rows(**cells: object) -> pl.DataFrame:
    row = {
        "transcript_id": "a", "system": "S", "case_id": "c", "unit": "pair:b", "metric": "empathy.preference",
        "rater": "judge:m", "replicate": 0, "value": 1.0, "label": "first", "reason": None, "error": None, **cells,
    }  # fmt: skip
    return frame_of([tuple(row.values())])


@pytest.mark.parametrize("name", ODD)
def test_a_pair_is_known_by_the_id_of_the_second(name: str) -> None:
    unit = pair_unit(name)
    assert is_pair(unit)
    assert not is_turn(unit)
    assert second_id(unit) == name
    table = rows(unit=unit)
    assert table.select(rates_pair()).item()
    assert table.select(second_ids()).item() == name
    assert ratings_table(table).height == 1


def test_what_is_no_pair_has_no_second() -> None:
    with pytest.raises(ValueError, match="no pair"):
        second_id("turn:1")
    assert rows(unit="turn:1", metric="x", label=None).select(second_ids()).item() is None


def test_the_metric_names_the_rubric() -> None:
    assert is_preference(preference_metric("empathy"))
    assert preferred_by(preference_metric("empathy")) == "empathy"
    assert not is_preference("empathy")
    assert preferred_by("empathy") == "empathy"


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"unit": "pair:"}, "neither a transcript"),
        ({"unit": "pair:a"}, "itself"),
        ({"metric": "empathy"}, "something else than a preference"),
        ({"value": 0.0}, "first with the value 1"),
        ({"label": "better"}, "first with the value 1"),
        ({"label": None}, "first with the value 1"),
        ({"value": None, "label": None}, "first with the value 1"),
        ({"value": 1.0, "label": "first", "error": "no"}, "first with the value 1"),
    ],
)
def test_a_row_that_is_no_preference_is_refused(cells: dict[str, object], words: str) -> None:
    with pytest.raises(bedside.BedsideError, match=words):
        ratings_table(rows(**cells))


def test_preferences_stand_beside_the_ratings_that_are_looked_at() -> None:
    table = pl.concat(
        [
            rows(),
            rows(label="tie", value=0.5, unit="pair:c"),
            rows(value=None, label=None, error="too long", unit="pair:d"),
            rows(unit="transcript", metric="empathy", label=None, value=3.0),
        ]
    )
    view = open_ratings_view(table)
    assert view.metrics() == ["empathy"]
    assert view.metrics(["empathy"]) == ["empathy"]
    assert view.ratings.height == 1
    assert view.preferences.height == 3
