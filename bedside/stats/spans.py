"""Do raters mark the same spans, such as turns that show something? Krippendorff's unitised alpha, and gamma.

``marks`` are a table of continua (rows), such as conversations, by raters (columns). A cell is a list of spans
``(start, length)`` or ``(start, length, category)``, empty where a rater marked nothing, None where one didn't look.
Continua that fewer than two raters looked at are dropped. Intervals leave out each continuum, or each cluster of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._kappa_parts import NO_PAIR
from bedside.stats._resampling import ResamplingPlan, StatisticOfTotals
from bedside.stats.arrays import Array, Seed, generator
from bedside.stats.result import Result

_Span = tuple[float, float, str]  # start, end, category
_Continuum = tuple[float, list[list[_Span]]]  # length, spans of each rater who looked
#: Groups of spans that lie close together, from which on the best ones aren't looked for.
_MOST_GROUPS = 100_000
#: So many spans that lie close together are grouped by an integer program.
_MANY_SPANS = 16
#: Random samples: the fewest, and the most that a precision may take.
_SAMPLES = (30, 3000)


def _continua(marks: Sequence[Sequence[Any]], lengths: Sequence[float]) -> list[_Continuum | None]:
    """Each continuum; None where two raters didn't look at it."""
    if len(marks) != len(lengths):
        raise DataError(f"{len(marks)} continua need as many `lengths`, not {len(lengths)}")
    continua: list[_Continuum | None] = []
    for length, row in zip(lengths, marks, strict=True):
        cells = [[(*span, "")[:3] for span in cell] for cell in row if cell is not None]
        lists = [sorted((start, start + size, category) for start, size, category in cell) for cell in cells]
        if not all(0 <= start < end <= length for own in lists for start, end, _ in own):
            raise DataError(f"a span is empty, or not within the length of {length}", where="`marks`")
        continua.append((length, lists) if len(lists) > 1 else None)
    return continua


def _filled(
    blank: Result, every: list[_Continuum | None], clusters: Any, level: float,
    parts_of: Callable[[list[_Continuum]], Array], both: Callable[[Array], tuple[Array, Array]],
) -> Result:  # fmt: skip
    """One less observed by expected disagreement; both follow from sums over continua."""
    plan = ResamplingPlan("jackknife", clusters, 0, level, 0)
    continua = [continuum for continuum in every if continuum is not None]
    blank = replace(blank, n=len(continua), dropped=len(every) - len(continua), options=plan.options() | blank.options)
    if not any(own for _, lists in continua for own in lists):
        return blank.no_value("nobody marked a span" if continua else NO_PAIR)
    try:
        parts = parts_of(continua)
    except OverflowError:
        return blank.no_value(f"more than {_MOST_GROUPS:,} ways to group spans that lie close together")

    def coefficient(sums: Array) -> Array:
        observed, expected = both(sums)
        return 1 - np.divide(observed, expected, out=np.full(len(sums), np.nan), where=expected > 1e-12)

    observed, expected = (float(value[0]) for value in both(parts.sum(axis=0)[None, :]))
    blank = replace(blank, details={"observed disagreement": observed, "expected disagreement": expected})
    if not expected > 1e-12:
        return blank.no_value("no disagreement is to be expected by chance")
    return plan.filled(
        blank, 1 - observed / expected, StatisticOfTotals(parts, coefficient), multiplicity=np.ones(len(parts)),
        members=plan.members(np.array([continuum is not None for continuum in every])),
        raters=float(np.mean([len(lists) for _, lists in continua])),
    )  # fmt: skip


def unitized_alpha(
    marks: Sequence[Sequence[Any]], *, lengths: Sequence[float], clusters: Any = None, level: float = 0.95
) -> Result:
    """Krippendorff's alpha of unitising, ``uα`` (Krippendorff, Mathet, Bouvry and Widlöcher 2016, equations 1 to 5).

    Observed is the length on which spans, and gaps, of two raters meet; expected that of spans that meet at random,
    none with itself. Several continua count as one that is made of them.

    Args:
        lengths: of the continua, such as their turns.
        clusters: the cluster of each continuum; each is its own unless given.

    Raises:
        DataError: a span outside its continuum, or two of a rater that overlap.
    """
    every = _continua(marks, lengths)
    categories = sorted({span[2] for continuum in every if continuum for own in continuum[1] for span in own})

    def parts_of(continua: list[_Continuum]) -> Array:
        return np.array([_coincidences(*continuum, categories) for continuum in continua])

    def disagreements(sums: Array) -> tuple[Array, Array]:
        same, lengths, alone = np.moveaxis(sums.reshape(len(sums), 3, -1), 1, 0)
        whole = np.maximum(lengths.sum(axis=1), 1e-300)
        pairs = np.maximum(whole**2 - alone.sum(axis=1), 1e-300)
        return 1 - same.sum(axis=1) / whole, 1 - (lengths**2 - alone).sum(axis=1) / pairs

    blank = Result(name="Krippendorff's unitised alpha", method="uα, nominal (Krippendorff et al. 2016)")
    return _filled(blank, every, clusters, level, parts_of, disagreements)


def _coincidences(length: float, lists: list[list[_Span]], categories: list[str]) -> Array:
    """Of gaps and each category: on what length raters agree on it, give it, and what would be paired with itself."""
    edges = np.array(sorted({0.0, length, *(end for own in lists for span in own for end in span[:2])}))
    widths, codes = np.diff(edges), np.zeros((len(lists), len(edges) - 1), dtype=np.intp)
    sums = np.zeros((3, 1 + len(categories)))
    for rater, own in enumerate(lists):
        for start, end, category in own:
            covered, code = slice(*np.searchsorted(edges, (start, end))), 1 + categories.index(category)
            if codes[rater, covered].any():
                raise DataError(f"two spans of a rater overlap at {start}", where="`marks`")
            codes[rater, covered] = code
            sums[2, code] += (end - start) ** 2
    counts = (codes[None] == np.arange(sums.shape[1])[:, None, None]).sum(axis=1)
    sums[:2] = counts * (counts - 1) @ widths / (len(lists) - 1), counts @ widths
    sums[2, 0] = sums[1, 0]  # A gap has no parts: each of its points is a unit.
    return sums.ravel()


def gamma(
    marks: Sequence[Sequence[Any]], *, lengths: Sequence[float], categorical: float = 1.0, precision: float = 0.02,
    clusters: Any = None, level: float = 0.95, seed: Seed = 0,
) -> Result:  # fmt: skip
    """Gamma (Mathet, Widlöcher and Métivier 2015): one less the disorder of the best alignment by that of chance.

    An alignment puts each span into a group with at most one of each rater. A group's disorder is the mean over pairs
    of raters: ``((starts apart + ends apart) / both lengths)²``, and 1 where one of them has no span in it. Their sum
    is divided by the mean number of a rater's spans. By chance each rater has what a random one marked in the same
    continuum, moved by a random number of whole steps, round its end.

    Args:
        lengths: of the continua, such as their turns.
        categorical: what is added for two categories.
        precision: how far off the expected disorder may be with 95 %, as a share of it; it says how many random
            samples are drawn, 30 to 3,000.
        clusters: the cluster of each continuum; each is its own unless given.

    Raises:
        DataError: a span outside its continuum.
    """
    known: dict[tuple[Any, ...], float] = {}

    def disorders(continua: list[_Continuum]) -> Array:
        """Of each the least sum of disorder, and the mean number of a rater's spans."""
        return np.array([(_disorder(own, categorical, known), sum(map(len, own)) / len(own)) for _, own in continua])

    def parts_of(continua: list[_Continuum]) -> Array:
        rng, samples, needed = generator(seed), [disorders(continua)], _SAMPLES[0]
        while len(samples) <= needed:
            sample = disorders([(length, _by_chance(length, lists, rng)) for length, lists in continua])
            samples += [sample] if sample[:, 1].any() else []
            if len(samples) == _SAMPLES[0] + 1:
                values = np.divide(*np.sum(samples[1:], axis=1).T)
                needed = int(np.clip((1.96 * values.std() / values.mean() / precision) ** 2, *_SAMPLES))
        return np.column_stack(samples)

    def disagreements(sums: Array) -> tuple[Array, Array]:
        ratios = np.divide(sums[:, ::2], sums[:, 1::2], where=sums[:, 1::2] > 0, out=np.full_like(sums[:, ::2], np.nan))
        return ratios[:, 0], np.nanmean(ratios[:, 1:], axis=1) if np.isfinite(ratios[:, 1:]).any() else ratios[:, 0]

    options = {"categorical": categorical, "precision": precision, "seed": seed}
    blank = Result(name="gamma", method="γ (Mathet et al. 2015)", options=options)
    return _filled(blank, _continua(marks, lengths), clusters, level, parts_of, disagreements)


def _by_chance(length: float, lists: list[list[_Span]], rng: np.random.Generator) -> list[list[_Span]]:
    drawn = rng.integers(0, (len(lists), max(1, int(length))), (len(lists), 2)).tolist()
    moved = [[((start + step) % length, start, end, kind) for start, end, kind in lists[own]] for own, step in drawn]
    return [[(begin, begin + end - start, kind) for begin, start, end, kind in own] for own in moved]


def _disorder(lists: list[list[_Span]], categorical: float, known: dict[tuple[Any, ...], float]) -> float:
    """That of the best alignment, which is looked for among spans that groups can join.

    Args:
        known: that of spans that lie alike, which is looked for once.
    """
    pairs = len(lists) * (len(lists) - 1) // 2
    spans = sorted((span, rater) for rater, own in enumerate(lists) for span in own)
    clumps: list[list[int]] = []
    apart: list[list[float]] = []
    for place, ((start, end, category), rater) in enumerate(spans):
        apart.append([
            np.inf if rater == another else categorical * (category != kind)
            + ((start - begin + abs(end - stop)) / (end - start + stop - begin)) ** 2
            for (begin, stop, kind), another in spans[:place]
        ])  # fmt: skip
        near = [clump for clump in clumps if any(apart[place][other] <= len(lists) * pairs for other in clump)]
        clumps = [clump for clump in clumps if clump not in near] + [[*(own for clump in near for own in clump), place]]
    total = 0.0
    for clump in map(sorted, clumps):
        first, order = spans[clump[0]][0][0], dict[int, int]()
        alike = [(spans[own], order.setdefault(spans[own][1], len(order))) for own in clump]
        key = (len(lists), *((start - first, end - first, kind, who) for ((start, end, kind), _), who in alike))
        if key not in known:
            known[key] = _least(
                [[apart[own][other] for other in clump if other < own] for own in clump], pairs, len(lists)
            )
        total += known[key]
    return total


def _least(apart: list[list[float]], pairs: int, raters: int) -> float:
    """The least sum of the disorder of groups that hold each span once; ``apart`` is of each and those before it."""
    sums = [(0, 0.0, list[int]())]
    for place, own in enumerate(apart):
        joined = (
            (bits | 1 << place, total + sum(own[other] for other in group), [*group, place])
            for bits, total, group in sums
        )
        sums += [group for group in joined if group[1] <= raters * pairs]
        if len(sums) > _MOST_GROUPS:
            raise OverflowError
    sized = [
        (bits, (total + pairs - len(group) * (len(group) - 1) / 2) / pairs, group) for bits, total, group in sums[1:]
    ]
    groups = [(bits, cost, group[0]) for bits, cost, group in sized if cost <= len(group)]  # else better off alone
    if len(apart) >= _MANY_SPANS:
        from scipy.optimize import LinearConstraint, milp

        costs, exact = np.array([cost for _, cost, _ in groups]), {"mip_rel_gap": 0.0}
        holds = np.array([[bits >> place & 1 for bits, _, _ in groups] for place in range(len(apart))])
        constraint = LinearConstraint(holds, 1, 1)
        return float(
            costs @ np.round(milp(costs, integrality=1, bounds=(0, 1), constraints=constraint, options=exact).x)
        )
    least = {0: 0.0}  # of the spans so far, by which later ones are taken, too
    for place in range(len(apart)):
        before, least = least, {taken: cost for taken, cost in least.items() if taken >> place & 1}
        beginning = [(bits, cost) for bits, cost, lowest in groups if lowest == place]
        for taken, cost in before.items():
            if not taken >> place & 1:
                for bits, more in beginning:
                    if not bits & taken and cost + more < least.get(bits | taken, np.inf):
                        least[bits | taken] = cost + more
    return least[(1 << len(apart)) - 1]
