"""Letters against the definition, an R package's published examples and all graphs of five things; ranks by hand."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

from bedside.stats.arrays import Mask
from bedside.stats.letter_display import letter_display, rank_ranges


def matrix(count: int, pairs: list[tuple[int, int]]) -> Mask:
    table = np.zeros((count, count), dtype=bool)
    for pair in pairs:
        table[pair] = True
    return table


def told_apart(count: int, *pairs: tuple[int, int]) -> Mask:
    return matrix(count, [*pairs, *((b, a) for a, b in pairs)])


@pytest.mark.parametrize(
    ("count", "pairs", "letters"),
    [
        # multcompView 0.1-8, help of multcompLetters: dif3, and dif4 with one pair that differs.
        (3, [(1, 2)], ("ab", "a", "b")),
        (4, [(0, 3)], ("a", "ab", "ab", "b")),
        (3, [], ("a", "a", "a")),
        (3, [(0, 1), (0, 2), (1, 2)], ("a", "b", "c")),
        (0, [], ()),
        (1, [], ("a",)),
    ],
)
def test_published_and_plain_displays(count: int, pairs: list[tuple[int, int]], letters: tuple[str, ...]) -> None:
    assert letter_display(told_apart(count, *pairs)) == letters


def test_two_share_a_letter_if_and_only_if_they_are_not_told_apart() -> None:
    places = list(combinations(range(5), 2))
    for chosen in product((False, True), repeat=len(places)):
        pairs = [place for place, differs in zip(places, chosen, strict=True) if differs]
        letters = letter_display(told_apart(5, *pairs))
        assert all(letters)
        for a, b in places:
            assert bool(set(letters[a]) & set(letters[b])) == ((a, b) not in pairs)
        # No group stands within another.
        groups = [{place for place in range(5) if name in letters[place]} for name in set("".join(letters))]
        assert not any(one < other for one, other in permutations(groups, 2))


def test_many_groups_have_names_that_differ() -> None:
    letters = letter_display(~np.eye(60, dtype=bool))
    assert (letters[25], letters[26], letters[51], letters[52]) == ("z", "A", "Z", "(53)")
    assert len(set(letters)) == 60


def test_ranks_leave_room_for_what_is_not_shown() -> None:
    # The first is better than the last two, the second than the last.
    better = matrix(4, [(0, 2), (0, 3), (1, 3)])
    assert rank_ranges(better) == ((1, 2), (1, 3), (2, 4), (3, 4))
    assert rank_ranges(np.zeros((3, 3))) == ((1, 3),) * 3
    whole = matrix(3, [(0, 1), (0, 2), (1, 2)])
    assert rank_ranges(whole) == ((1, 1), (2, 2), (3, 3))


def test_ranks_hold_for_every_order_that_agrees_with_what_is_shown() -> None:
    shown = [(0, 2), (1, 3), (0, 3)]
    ranges = rank_ranges(matrix(4, shown))
    for order in permutations(range(4)):
        rank = {thing: place for place, thing in enumerate(order, 1)}
        if all(rank[a] < rank[b] for a, b in shown):
            assert all(low <= rank[thing] <= high for thing, (low, high) in enumerate(ranges))
