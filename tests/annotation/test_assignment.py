"""Who rates what: loads and pairs are even, as far as numbers allow."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bedside.annotation.sampling import balanced_blocks, pair_counts


def loads(blocks: list[tuple[int, ...]], raters: int) -> list[int]:
    counts = Counter(rater for block in blocks for rater in block)
    return [counts[rater] for rater in range(raters)]


@settings(max_examples=30, deadline=None)
@given(raters=st.integers(1, 9), share=st.floats(0, 1), count=st.integers(0, 30), seed=st.integers(0, 5))
def test_loads_differ_by_one_at_most(raters: int, share: float, count: int, seed: int) -> None:
    size = 1 + round(share * (min(raters, 3) - 1))
    blocks = balanced_blocks(raters, size, count, seed)
    assert len(blocks) == count
    assert all(len(set(block)) == size for block in blocks)
    assert max(loads(blocks, raters)) - min(loads(blocks, raters)) <= 1


@pytest.mark.parametrize("raters", range(2, 10))
def test_two_raters_an_item_share_evenly_whatever_the_numbers(raters: int) -> None:
    for count in (1, 3, 10, 17, 28, 45, 60):
        pairs = pair_counts(balanced_blocks(raters, 2, count, 7), raters).values()
        assert max(pairs) - min(pairs) <= 1, count


@pytest.mark.parametrize(
    ("raters", "size", "count", "together"),
    # Balanced incomplete block designs: lambda = count * size * (size - 1) / (raters * (raters - 1)).
    [(7, 3, 7, 1), (6, 3, 10, 2), (5, 4, 5, 3), (4, 3, 8, 4), (6, 2, 15, 1), (9, 3, 12, 1)],
)
def test_designs_that_exist_are_found(raters: int, size: int, count: int, together: int) -> None:
    blocks = balanced_blocks(raters, size, count, 3)
    assert set(pair_counts(blocks, raters).values()) == {together}
    assert set(loads(blocks, raters)) == {count * size // raters}


def test_where_the_numbers_forbid_it_pairs_are_as_even_as_can_be() -> None:
    # Ten items without one of four raters each: two raters are left out three times, so they share 10 - 3 - 3 = 4
    # items, and the two others 10 - 2 - 2 = 6.
    assert sorted(set(pair_counts(balanced_blocks(4, 3, 10, 0), 4).values())) == [4, 5, 6]


def test_the_start_of_a_design_is_balanced_too() -> None:
    blocks = balanced_blocks(6, 2, 40, 1)
    for end in range(1, len(blocks)):
        assert max(loads(blocks[:end], 6)) - min(loads(blocks[:end], 6)) <= 2


def test_pairs_are_counted() -> None:
    counts = pair_counts([(0, 1), (0, 1, 2)], 3)
    assert counts == dict(zip(combinations(range(3), 2), (2, 1, 1), strict=True))


def test_the_seed_decides() -> None:
    assert balanced_blocks(5, 2, 13, 4) == balanced_blocks(5, 2, 13, 4)
    assert balanced_blocks(5, 2, 13, 4) != balanced_blocks(5, 2, 13, 5)
