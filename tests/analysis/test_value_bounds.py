"""Between which ends a metric's values lie, and the means that stay there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bedside.analysis.grid import mean_within, value_bounds
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.scales import Scale, parse_scale
from bedside.ratings.table import frame_of
from bedside.stats.intervals import mean_t
from tests.analysis.builders import definite


def view_of(values: dict[str, list[float]], scales: dict[str, Scale] | None = None) -> RatingsView:
    rows: list[Any] = [
        (f"t{case}", "one", f"c{case}", "transcript", metric, "human:anna", 0, value, None, None, None)
        for metric, listed in values.items()
        for case, value in enumerate(listed)
    ]
    return RatingsView(frame_of(rows), scales or {}, None, "ratings")


def test_a_scale_says_where_values_end() -> None:
    scales = {
        "a": parse_scale("1-5"),
        "b": parse_scale("mild<moderate<severe"),
        "c": parse_scale("yes/no"),
        "d": parse_scale("none/open/closed"),
    }
    view = view_of({}, scales)
    assert [value_bounds(view, name) for name in "abcd"] == [(1, 5), (0, 2), (0, 1), (None, None)]


def test_else_the_metrics_family_says_it() -> None:
    view = view_of({"turns": [1, 0, 1]})
    assert value_bounds(view, "reveal_rate") == (0, 1)
    assert value_bounds(view, "turns")[1] is None, "zeros and ones alone don't make a count a share"
    assert value_bounds(view, "flesch_reading_ease.clinician") == (None, None)
    assert value_bounds(view, "percent_open_questions") == (0, 100)


def test_of_an_unknown_metric_zeros_and_ones_alone_are_shares() -> None:
    view = view_of({"solved": [0, 1, 1], "points": [0, 1, 2]})
    assert value_bounds(view, "solved") == (0, 1)
    assert value_bounds(view, "points") == (None, None)


def test_values_beyond_the_ends_have_students_interval() -> None:
    values = np.array([0.5, 0.9, 1.2])
    assert mean_within(values, (0, 1)).interval == mean_t(values).interval
    within = definite(mean_within(values, (0, 1), linearised=True).interval)
    assert 0 < within.low < values.mean() < within.high < 1
    cut = definite(mean_within(np.array([0.0, 0.1, 3.0]), (0, None)).interval)
    assert cut.low == 0
    assert mean_within(np.array([]), (0, 1)).missing == "no values"
    assert mean_within(values, (None, None)).estimate == pytest.approx(2.6 / 3)
