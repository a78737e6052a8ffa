"""Do raters mark the same spans, such as turns that show something? Krippendorff's unitised alpha, and gamma.

``marks`` are continua (rows), such as conversations, by raters (columns); ``lengths`` those of the continua. A cell is
a list of spans ``(start, length)`` or ``(start, length, category)``, empty where a rater marked nothing, None where one
didn't look. Continua that fewer than two raters looked at are dropped; several count as one that is made of them.
Intervals leave out each continuum, or each of ``clusters``. A span outside its continuum is a ``DataError``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._kappa_parts import NO_PAIR
from bedside.stats._resampling import ResamplingPlan, StatisticOfTotals
from bedside.stats.arrays import Array, Seed, generator
from bedside.stats.result import Result

_Lists = list[list[tuple[int, int, str]]]  # of each rater: start, end and category of each span
#: Groups of spans that lie close together, from which on the best ones aren't looked for.
_MOST_GROUPS = 100_000
#: So many spans that lie close together are grouped by an integer program.
_MANY_SPANS = 16
#: Random samples: the fewest, and the most that a precision may take.
_SAMPLES = (30, 3000)


def _compared(
    blank: Result, marks: Sequence[Sequence[Any]], lengths: Sequence[int], clusters: Any, level: float,
    parts_of: Callable[[list[tuple[int, _Lists]]], Array], both: Callable[[Array], tuple[Array, Array]],
) -> Result:  # fmt: skip
    """One less observed by expected disagreement; both follow from sums over continua, each of a length with lists."""
    plan = ResamplingPlan("jackknife", clusters, 0, level, 0)
    if len(lengths) != len(marks):
        raise DataError(f"{len(marks)} rows of `marks` need as many `lengths`, not {len(lengths)}")
    used = [place for place, row in enumerate(marks) if sum(cell is not None for cell in row) > 1]
    blank = replace(blank, n=len(used), dropped=len(marks) - len(used), options={**plan.options(), **blank.options})
    continua = []
    for length, row in [(lengths[place], marks[place]) for place in used]:
        cells = [[(*span, "")[:3] for span in cell] for cell in row if cell is not None]
        continua.append((length, [sorted((at, at + size, category) for at, size, category in cell) for cell in cells]))
        if not all(0 <= start < end <= length for own in continua[-1][1] for start, end, _ in own):
            raise DataError(f"a span is empty, or not within the length of {length}", where="`marks`")
    if not any(own for _, lists in continua for own in lists):
        return blank.no_value("nobody marked a span" if used else NO_PAIR)
    try:
        parts = parts_of(continua)
    except OverflowError:
        return blank.no_value(f"more than {_MOST_GROUPS:,} ways to group spans that lie close together")
    observed, expected = (float(value[0]) for value in both(parts.sum(axis=0)[None]))
    blank = replace(blank, details={"observed disagreement": observed, "expected disagreement": expected})
    if not expected > 1e-12:
        return blank.no_value("no disagreement is to be expected by chance")

    def coefficient(sums: Array) -> Array:
        observed, expected = both(sums)
        values: Array = 1 - np.divide(observed, expected, out=np.full(len(sums), np.nan), where=expected > 1e-12)
        return values

    raters, kept = float(np.mean([len(lists) for _, lists in continua])), np.isin(np.arange(len(marks)), used)
    return plan.filled(blank, 1 - observed / expected, StatisticOfTotals(parts, coefficient), raters=raters,
                       multiplicity=np.ones(len(parts)), members=plan.members(kept))  # fmt: skip


def unitized_alpha(
    marks: Sequence[Sequence[Any]], *, lengths: Sequence[int], clusters: Any = None, level: float = 0.95
) -> Result:
    """Krippendorff's alpha of unitising, ``uα`` (Krippendorff, Mathet, Bouvry and Widlöcher 2016, equations 1 to 5).

    Observed is the length on which spans, and gaps, of two raters meet; expected that of spans that meet at random,
    none with itself. Spans of a rater that overlap are a ``DataError``.
    """
    categories = sorted({span[2] if len(span) > 2 else "" for row in marks for cell in row for span in cell or ()})

    def disagreements(sums: Array) -> tuple[Array, Array]:
        same, lengths, alone = np.moveaxis(sums.reshape(len(sums), 3, -1), 1, 0)
        whole = np.maximum(lengths.sum(axis=1), 1e-300)
        pairs = np.maximum(whole**2 - alone.sum(axis=1), 1e-300)
        return 1 - same.sum(axis=1) / whole, 1 - (lengths**2 - alone).sum(axis=1) / pairs

    return _compared(
        Result(name="Krippendorff's unitised alpha", method="uα, nominal (Krippendorff et al. 2016)"),
        marks, lengths, clusters, level,
        lambda continua: np.array([_coincidences(*own, categories) for own in continua]), disagreements,
    )  # fmt: skip


def _coincidences(length: int, lists: _Lists, categories: list[str]) -> Array:
    """Of gaps and each category: on what length raters agree on it, give it, and what would be paired with itself."""
    codes, sums = np.zeros((len(lists), length), dtype=np.intp), np.zeros((3, 1 + len(categories)))
    for rater, own in enumerate(lists):
        for start, end, category in own:
            if codes[rater, start:end].any():
                raise DataError(f"two spans of a rater overlap at {start}", where="`marks`")
            codes[rater, start:end] = code = 1 + categories.index(category)
            sums[2, code] += (end - start) ** 2
    counts = (codes[None] == np.arange(1 + len(categories))[:, None, None]).sum(axis=1)
    sums[:2] = (counts * (counts - 1)).sum(axis=1) / (len(lists) - 1), counts.sum(axis=1)
    sums[2, 0] = sums[1, 0]  # A gap has no parts: each of its points is a unit.
    return sums.ravel()


def gamma(
    marks: Sequence[Sequence[Any]], *, lengths: Sequence[int], categorical: float = 1.0, precision: float = 0.02,
    clusters: Any = None, level: float = 0.95, seed: Seed = 0,
) -> Result:  # fmt: skip
    """Gamma (Mathet, Widlöcher and Métivier 2015): one less the disorder of the best alignment by that of chance.

    An alignment puts each span into a group with at most one of each rater. A group's disorder is the mean over pairs
    of raters: ``((starts apart + ends apart) / both lengths)²``, and 1 where one of them has no span in it. Their sum
    is divided by the mean number of a rater's spans. By chance each rater has what a random one marked in a random
    continuum, moved by a random number of steps, round the end.

    Args:
        categorical: what is added for two categories.
        precision: how far off the expected disorder may be with 95 %, as a share of it: so many random samples are
            drawn, 30 to 3,000.
    """
    known, rng = dict[tuple[Any, ...], float](), generator(seed)

    def disorders(many: Sequence[_Lists]) -> Array:
        """Of each the sum of disorder, and the mean number of a rater's spans."""
        return np.array([(_disorder(lists, categorical, known), sum(map(len, lists)) / len(lists)) for lists in many])

    def parts_of(continua: list[tuple[int, _Lists]]) -> Array:
        samples, needed = [disorders([lists for _, lists in continua])], _SAMPLES[0]
        every = [own for _, lists in continua for own in lists]

        def moved(length: int) -> list[tuple[int, int, str]]:
            own, step = every[rng.integers(len(every))], int(rng.integers(length))
            return [((a + step) % length, (a + step) % length + b - a, kind) for a, b, kind in own]

        while len(samples) <= needed:
            sample = disorders([[moved(length) for _ in lists] for length, lists in continua])
            samples += [sample] if sample[:, 1].any() else []
            if len(samples) == _SAMPLES[0] + 1:
                values = np.divide(*np.sum(samples[1:], axis=1).T)
                needed = int(np.clip((1.96 * values.std() / max(values.mean() * precision, 1e-12)) ** 2, *_SAMPLES))
        return np.column_stack(samples)

    def disagreements(sums: Array) -> tuple[Array, Array]:
        units, counts = sums[:, 1::2], (sums[:, 3::2] > 0).sum(axis=1)
        ratios = np.divide(sums[:, ::2], units, out=np.zeros_like(units), where=units > 0)
        return ratios[:, 0], ratios[:, 1:].sum(axis=1) / np.maximum(counts, 1)

    blank = Result(name="gamma", method="γ (Mathet et al. 2015)", options={
        "categorical": categorical, "precision": precision, "seed": seed})  # fmt: skip
    return _compared(blank, marks, lengths, clusters, level, parts_of, disagreements)


def _disorder(lists: _Lists, categorical: float, known: dict[tuple[Any, ...], float]) -> float:
    """That of the best alignment, looked for among spans that groups can join, once for spans that lie alike."""
    raters, pairs = len(lists), len(lists) * (len(lists) - 1) // 2
    spans = sorted((*span, rater) for rater, own in enumerate(lists) for span in own)
    apart, cuts = list[list[float]](), list[int]()
    for place, (start, end, category, rater) in enumerate(spans):
        apart.append([
            np.inf if rater == another else categorical * (category != kind)
            + ((start - begin + abs(end - stop)) / (end - start + stop - begin)) ** 2
            for begin, stop, kind, another in spans[:place]
        ])  # fmt: skip
        first = next((other for other, far in enumerate(apart[-1]) if far <= raters * pairs), place)
        cuts = [cut for cut in cuts if cut <= first] + [place] * (first == place)
    total = 0.0
    for cut, after in pairwise([*cuts, len(spans)]):
        begin, order, clump = spans[cut][0], dict[int, int](), spans[cut:after]
        alike = [(a - begin, b - begin, kind, order.setdefault(rater, len(order))) for a, b, kind, rater in clump]
        if (key := (raters, *alike)) not in known:
            known[key] = _least([row[cut:] for row in apart[cut:after]], raters, pairs)
        total += known[key]
    return total


def _least(apart: list[list[float]], raters: int, pairs: int) -> float:
    """The least disorder of groups that hold each span once; ``apart`` is how far each is from those before it."""
    sums = [(0, 0.0, list[int]())]
    for place, row in enumerate(apart):
        sums += [(bits | 1 << place, more, [*group, place]) for bits, total, group in sums
                 if (more := total + sum(row[other] for other in group)) <= raters * pairs]  # fmt: skip
        if len(sums) > _MOST_GROUPS:
            raise OverflowError
    groups = [(bits, cost) for bits, total, group in sums[1:]
              if (cost := 1 + (total - len(group) * (len(group) - 1) / 2) / pairs) <= len(group)]  # fmt: skip
    if len(apart) >= _MANY_SPANS:
        from scipy.optimize import LinearConstraint, milp

        costs, exact = np.array([cost for _, cost in groups]), {"mip_rel_gap": 0.0}
        once = LinearConstraint(np.array([[bits >> own & 1 for bits, _ in groups] for own in range(len(apart))]), 1, 1)
        return float(costs @ np.round(milp(costs, integrality=1, bounds=(0, 1), constraints=once, options=exact).x))
    least = {0: 0.0}
    for place in range(len(apart)):
        holding = [(bits, cost) for bits, cost in groups if bits >> place & 1]
        for taken in [taken for taken in least if not taken >> place & 1]:
            before = least.pop(taken)
            for bits, cost in holding:
                if not bits & taken:
                    least[taken | bits] = min(before + cost, least.get(taken | bits, np.inf))
    return least[(1 << len(apart)) - 1]
