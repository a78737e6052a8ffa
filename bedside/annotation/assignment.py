"""Which raters rate which item, in which order: blocks of raters, balanced as far as the numbers allow."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np

from bedside.annotation.annotation_plan import PlanItem, TrainingItem

#: Designs with more different blocks than this are not made whole; their items are assigned one after another.
_WHOLE = 1000
#: Exchanges tried for each item, to balance pairs.
_EXCHANGES = 300

Block = tuple[int, ...]


def balanced_blocks(raters: int, size: int, count: int, seed: int) -> list[Block]:
    """``count`` blocks of ``size`` raters (from 0), such that loads and pairs of raters are balanced.

    As long as there are enough items, every block there can be is used equally often: loads are equal, and so are the
    items that two raters share. The rest is assigned to those with the least to do, and raters are then exchanged
    between items while that evens out the pairs. Loads differ by 1 at most, always; so do pair counts wherever the
    exchanges find such a design. Any run of consecutive blocks is nearly balanced too, so that items in the order of
    their strata are shared out within strata.

    Args:
        raters: number of raters.
        size: raters of one item, 1 to ``raters``.
        count: number of items.
        seed: of ties and exchanges.
    """
    rng = random.Random(seed)
    names = list(range(raters))
    rng.shuffle(names)
    blocks: list[Block] = []
    whole = comb(raters, size)
    if whole <= min(count, _WHOLE):
        every = list(combinations(range(raters), size))
        rng.shuffle(every)
        every = _in_balance(every, raters)
        blocks = every * (count // whole)
    remainder = _least_loaded(raters, size, count - len(blocks), rng)
    blocks += _in_balance(_even(remainder, raters, rng), raters)
    return [tuple(sorted(names[rater] for rater in block)) for block in blocks]


def _least_loaded(raters: int, size: int, count: int, rng: random.Random) -> list[Block]:
    """Each item to those with the fewest items; of several, to those who share the fewest."""
    loads = [0] * raters
    shared = np.zeros((raters, raters), dtype=int)
    blocks = []
    for _ in range(count):
        block: list[int] = []
        for _ in range(size):
            candidates = [rater for rater in range(raters) if rater not in block]
            rng.shuffle(candidates)
            together = shared[block].sum(axis=0)
            block.append(min(candidates, key=lambda rater: (loads[rater], together[rater])))
        for rater in block:
            loads[rater] += 1
        for a, b in combinations(block, 2):
            shared[a, b] += 1
            shared[b, a] += 1
        blocks.append(tuple(block))
    return blocks


def pair_counts(blocks: Sequence[Block], raters: int) -> dict[tuple[int, int], int]:
    """Items that each pair of raters shares."""
    counts = dict.fromkeys(combinations(range(raters), 2), 0)
    for block in blocks:
        for pair in combinations(sorted(block), 2):
            counts[pair] += 1
    return counts


def _even(blocks: list[Block], raters: int, rng: random.Random) -> list[Block]:
    """Exchange raters between items, which leaves loads as they are, while that evens out the pairs."""
    if not blocks or not 1 < len(blocks[0]) < raters:
        return blocks
    members = [set(block) for block in blocks]
    shared = np.zeros((raters, raters), dtype=int)
    for (a, b), number in pair_counts(blocks, raters).items():
        shared[a, b] = shared[b, a] = number
    upper = np.triu_indices(raters, 1)
    for _ in range(_EXCHANGES * len(members)):
        if np.ptp(shared[upper]) <= 1:
            break
        first, second = rng.randrange(len(members)), rng.randrange(len(members))
        mine, yours = sorted(members[first] - members[second]), sorted(members[second] - members[first])
        if not mine:
            continue
        a, b = rng.choice(mine), rng.choice(yours)
        with_a, with_b = sorted(members[first] - {a}), sorted(members[second] - {b})
        changed = shared.copy()
        for rater, companions, step in ((a, with_a, -1), (b, with_a, 1), (b, with_b, -1), (a, with_b, 1)):
            changed[rater, companions] += step
            changed[companions, rater] += step
        if (changed[upper] ** 2).sum() <= (shared[upper] ** 2).sum():
            shared = changed
            members[first] = {*with_a, b}
            members[second] = {*with_b, a}
    return [tuple(sorted(block)) for block in members]


def _in_balance(blocks: list[Block], raters: int) -> list[Block]:
    """The blocks in an order in which the next one is of those who had the fewest so far."""
    if not blocks:
        return blocks
    members = np.array(blocks)
    loads = np.zeros(raters, dtype=int)
    remaining = np.arange(len(blocks))
    order = []
    while remaining.size:
        # Squares, so that two loads of 2 come before loads of 1 and 3.
        at = int((loads[members[remaining]] ** 2).sum(axis=1).argmin())
        chosen = remaining[at]
        loads[members[chosen]] += 1
        remaining = np.delete(remaining, at)
        order.append(blocks[chosen])
    return order


def assigned_items(
    items: Sequence[PlanItem],
    places: Sequence[str],
    repeats: Mapping[str, PlanItem],
    training: Sequence[TrainingItem],
    raters: Sequence[str],
    *,
    overlap: int,
    shared: int,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """The items of each rater, in the order the rater sees them: the training set, then the others, shuffled.

    What is shown again comes in the second half, and its first showing in the first.

    Items of one place go to the same raters, so that a difference between systems on a case is no difference between
    raters, and everybody rates each system as often.

    Args:
        items: what is rated, stratum by stratum.
        places: the :attr:`~bedside.annotation.strata.DrawableUnit.place` of each item.
        repeats: id of an item → the item that shows it again to its raters.
        training: the training set, in order.
        raters: their names.
        overlap: raters of each item.
        shared: how many of the items all raters rate.
        seed: of everything drawn at random.
    """
    bundles: dict[str, list[str]] = {}
    for item, place in zip(items, places, strict=True):
        bundles.setdefault(place, []).append(item.id)
    shared_ids = _shared_ids(bundles, min(shared, len(items)), seed)
    divided = [
        [item_id for item_id in bundle if item_id not in shared_ids]
        for bundle in sorted(bundles.values(), key=len, reverse=True)
    ]
    divided = [bundle for bundle in divided if bundle]
    blocks = balanced_blocks(len(raters), overlap, len(divided), seed)
    ids_by_rater: dict[str, list[str]] = {rater: sorted(shared_ids) for rater in raters}
    for bundle, block in zip(divided, blocks, strict=True):
        for position in block:
            ids_by_rater[raters[position]] += bundle
    training_ids = tuple(item.id for item in training)
    return {
        rater: (*training_ids, *_in_order(item_ids, repeats, random.Random(f"{seed}:order:{rater}")))
        for rater, item_ids in ids_by_rater.items()
    }


def _in_order(item_ids: Sequence[str], repeats: Mapping[str, PlanItem], rng: random.Random) -> list[str]:
    """The items of a rater and what they are shown again, shuffled within the first half and the second."""
    once = [item_id for item_id in item_ids if item_id not in repeats]
    rng.shuffle(once)
    repeated = [item_id for item_id in item_ids if item_id in repeats]
    middle = (len(once) + 1) // 2 if repeated else len(once)
    first, second = repeated + once[:middle], once[middle:] + [repeats[item_id].id for item_id in repeated]
    if repeated:
        rng.shuffle(first)
        rng.shuffle(second)
    return first + second


def _shared_ids(bundles: Mapping[str, Sequence[str]], count: int, seed: int) -> set[str]:
    """The items that all raters rate: whole bundles in an order drawn at random, the last one cut where it must be."""
    drawn = random.Random(f"{seed}:shared").sample(sorted(bundles), len(bundles))
    return set([item_id for place in drawn for item_id in bundles[place]][:count])
