"""One person against many: the kappas of two raters, one by one, and of another implementation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from bedside.core.errors import DataError
from bedside.stats import one_against_many
from bedside.stats.one_against_many import kappas_with_each
from bedside.stats.two_raters import kappa

SCALE = (1, 2, 3, 4)


@pytest.mark.parametrize("weights", ["unweighted", "linear", "quadratic"])
def test_they_are_the_kappas_of_two_raters(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_against_many, "_ROWS", 7)
    draw = np.random.default_rng(1)
    ours, others = draw.integers(1, 5, 42), draw.integers(1, 5, (30, 42))
    values = kappas_with_each(ours, others, scale=SCALE, weights=weights)
    for value, theirs in zip(values, others, strict=True):
        assert value == kappa(ours, theirs, scale=SCALE, weights=weights).estimate
        called = None if weights == "unweighted" else weights
        assert value == pytest.approx(cohen_kappa_score(ours, theirs, labels=SCALE, weights=called), abs=1e-12)


def test_levels_have_the_distance_of_their_values() -> None:
    ours, others = [1, 2, 9, 9], [[2, 1, 9, 1]]
    (value,) = kappas_with_each(ours, others, scale=(1, 2, 9), weights="quadratic")
    assert value == kappa(ours, others[0], scale=(1, 2, 9), weights="quadratic").estimate


def test_where_there_is_no_kappa_or_nothing_to_compare() -> None:
    assert np.isnan(kappas_with_each([1, 1], [[1, 1]], scale=SCALE)).all()
    assert kappas_with_each([1, 2], np.zeros((0, 2)), scale=SCALE).size == 0
    for ours, others in (([1, 5], [[1, 2]]), ([1, 2], [[1, 2.5]]), ([1, float("nan")], [[1, 2]])):
        with pytest.raises(DataError):
            kappas_with_each(ours, others, scale=SCALE)
