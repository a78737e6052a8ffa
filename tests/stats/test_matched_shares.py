"""Shares of groups with the same cases: against Cochran's Q, an exact enumeration, and a simulation of the level."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from bedside.stats.matched_shares import shares_test


def test_it_is_the_exact_test_by_enumeration() -> None:
    had = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 0, 1]])
    of = np.ones_like(had)
    seen = ((had.mean(axis=0) - had.mean()) ** 2).sum()
    every = [
        ((np.array(rows).mean(axis=0) - had.mean()) ** 2).sum()
        for rows in product(*(list(permutations(row)) for row in had))
    ]
    exact = np.mean(np.array(every) >= seen - 1e-12)
    assert shares_test(had, of).p == pytest.approx(exact, abs=0.02)


def test_shares_and_p_agree_with_cochrans_q() -> None:
    from bedside.stats.several import cochran_q

    random = np.random.default_rng(3)
    had = (random.random((80, 3)) < [0.1, 0.2, 0.35]).astype(float)
    result = shares_test(had, np.ones_like(had))
    assert list(result.shares) == pytest.approx(list(had.mean(axis=0)))
    q = cochran_q(had)
    assert q.p is not None
    assert result.p == pytest.approx(q.p, abs=0.005)


@pytest.mark.parametrize(
    ("had", "of"), [([[0, 0]], [[3, 3]]), ([[3, 3]], [[3, 3]]), ([[1]], [[2]]), ([[1, 0]], [[2, 0]])]
)
def test_where_nothing_can_differ_there_is_no_p(had: list[list[int]], of: list[list[int]]) -> None:
    assert shares_test(had, of).p is None


@pytest.mark.slow
def test_cases_that_fail_together_are_not_taken_for_independent() -> None:
    """Of null data where all conversations of a case and system fail together, no more than 5 % are significant."""
    random = np.random.default_rng(1)
    rejected = 0
    for number in range(400):
        had = 6.0 * (random.random((12, 2)) < 0.3)
        p = shares_test(had, np.full_like(had, 6), permutations=199, seed=number).p
        rejected += p is not None and p <= 0.05
    assert rejected / 400 < 0.08
