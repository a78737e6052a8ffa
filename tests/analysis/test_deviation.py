"""Deviation from a reference corpus, against the plainest computation on the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from bedside.analysis.deviation import deviation
from bedside.analysis.selection import NothingError
from tests.analysis.ratings_rows import of_system, view


def test_deviation_is_the_absolute_difference_of_means_with_welchs_interval() -> None:
    ours, theirs = [3.0, 4.0, 8.0, None], [7.0, 9.0, 11.0, 6.0]
    run = view(of_system("A", ours) + of_system("human", theirs))
    (found,) = deviation(run, "human")
    there = [value for value in ours if value is not None]
    assert found.deviation == pytest.approx(abs(np.mean(there) - np.mean(theirs)))
    assert (found.n, found.missing, found.reference_n) == (3, 1, 4)
    expected = scipy.stats.ttest_ind(there, theirs, equal_var=False).confidence_interval()
    assert found.difference.interval is not None
    assert (found.difference.interval.low, found.difference.interval.high) == pytest.approx(tuple(expected))
    assert found.difference.estimate == pytest.approx(-(found.deviation or 0))
    other = view(of_system("X", theirs))
    assert deviation(view(of_system("A", ours)), other)[0].difference == found.difference


def test_only_what_the_same_raters_rated_is_held_against_each_other() -> None:
    run = view(of_system("A", [1.0, 2.0]) + of_system("A", [1.0], "own"))
    newer = view(of_system("X", [1.0, 2.0], rater="algorithm:r@2"))
    with pytest.raises(NothingError, match="no metric is rated by the same raters here and in the reference"):
        deviation(run, newer)
    both = view(of_system("X", [5.0, 2.0]) + of_system("X", [1.0], "own", "algorithm:other@1"))
    assert [one.metric for one in deviation(run, both)] == ["smog"]
    named = deviation(run, both, metrics=["smog", "own"])
    assert [(one.metric, one.deviation, one.difference.missing) for one in named if one.metric == "own"] == [
        ("own", None, "the reference was rated by algorithm:other@1, not by algorithm:r@1")
    ]
    with pytest.raises(NothingError, match="'nobody'"):
        deviation(run, "nobody")
    with pytest.raises(NothingError, match="no system beside 'A'"):
        deviation(run, "A")
