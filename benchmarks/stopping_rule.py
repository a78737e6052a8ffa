"""Does the interval of a study that is rated until it is narrow enough hold the truth, and what does it save?

    python benchmarks/stopping_rule.py [--studies 2000] [--only NAME] [--every]

Prints the table of docs/statistics.md. Items come one by one, in random order, each with all of its ratings. The study
stops at the first look at which the half-width is within the target by :func:`bedside.stats.fixed_width.reach`, the
rule of ``--until``. *Covers*: studies whose interval, as ``agree`` or ``estimate`` prints it then, holds the truth.
*Without it*: the same where the interval's own width decides, from 10 items on, of a quarter of the studies. Ratings
are shares of fixed plans:

- *worst*: what ``bedside plan kappa`` asks by formula in the worst case: the kappa of .3 to .8 that needs most, raters
  who guess where they disagree, and a level used by far the most: yes in .1; .8, .1, .1; .6, .2, .1, .05, .05.
- *half*: the same with each level but the most frequent half as frequent as it turns out to be.
- *best*: the number with which the mean half-width is the target, which nobody knows beforehand.

Of raters who all rate an item, three or more, the first two are by simulation. They count cases where items share one,
as docs/how-many.md says. Of a mean they are the number for levels used evenly, times Kish's design effect
of strata.

Of kappas of independent items every item has its look. Elsewhere a look is skipped where the width is far from the
target: halfway, on the scale of the logarithm, to where it will be reached; ``--every`` skips none.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from bedside.stats import fixed_width, sample_size
from bedside.stats._kappa_parts import penalties
from bedside.stats.arrays import levels
from bedside.stats.many_raters import FEWEST_SHARED, mean_pairwise_kappa
from bedside.stats.rater_models import RaterModel, rater_model
from bedside.stats.reliability import krippendorff_alpha
from bedside.stats.result import Result
from bedside.stats.stratified_means import judged_units, mean

Values = np.ndarray[Any, Any]
#: A result at a look, and what is unseen.
Look = tuple[Result, float]
SKEWED, MIDDLING = (0.6, 0.2, 0.1, 0.05, 0.05), (0.1, 0.2, 0.4, 0.2, 0.1)
#: Shares of levels of which kappa needs most items, by the number of levels.
WORST = {2: (0.9, 0.1), 3: (0.8, 0.1, 0.1), 5: SKEWED}
KAPPAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Design:
    """A line of the table.

    Attributes:
        name: what is simulated.
        within: the target.
        shares: how often levels are used.
        kappa: of two raters.
        raters, each: how many there are, and how many rate an item.
        ordered: whether raters miss by a level or so, and kappa has quadratic weights.
        statistic: kappa, alpha or mean.
        systems: items of a case.
        strata: of a mean, the shares of strata that are drawn alike; every second has the levels turned round.
    """

    name: str
    within: float
    shares: tuple[float, ...]
    kappa: float = 0.6
    raters: int = 2
    each: int = 2
    ordered: bool = False
    statistic: str = "kappa"
    systems: int = 1
    strata: tuple[float, ...] = (1.0,)

    @property
    def scale(self) -> tuple[float, ...]:
        """0 and 1, or levels from 1."""
        return (0.0, 1.0) if len(self.shares) == 2 else tuple(range(1, len(self.shares) + 1))

    @property
    def weights(self) -> str:
        return "quadratic" if self.ordered else "unweighted"

    @property
    def model(self) -> RaterModel:
        return _model(self.kappa, self.shares, self.ordered)

    @property
    def truth(self) -> float:
        if self.statistic != "mean":
            return self.kappa
        shifts = [self._shares_of(number) @ np.array(self.scale) for number in range(len(self.strata))]
        return float(np.array(self.strata) @ shifts)

    def _shares_of(self, stratum: int) -> Values:
        """Those of a stratum: of later ones the levels are turned round."""
        return np.array(self.shares if stratum % 2 == 0 else self.shares[::-1])

    def ratings(self, rng: np.random.Generator, items: int) -> Values:
        """Items × raters as values of the scale, NaN where somebody doesn't rate an item; items of a case in a row."""
        codes = self.model.draw(rng, items, self.raters)
        if self.systems > 1:
            codes = self._drawn_by_case(rng, items)
        cells = np.array(self.scale)[codes].astype(float)
        for number in range(1, len(self.strata), 2):
            of_stratum = np.arange(items) % len(self.strata) == number
            cells[of_stratum] = np.array(self.scale)[::-1][codes[of_stratum]]
        blocks = np.array(list(combinations(range(self.raters), self.each)))
        rounds = -(-items // (len(blocks) * self.systems))
        order = np.concatenate([rng.permutation(len(blocks)) for _ in range(rounds)])
        kept = np.zeros(cells.shape, dtype=bool)
        kept[np.arange(items)[:, None], blocks[np.repeat(order, self.systems)[:items]]] = True
        return np.where(kept, cells, np.nan)

    def _drawn_by_case(self, rng: np.random.Generator, items: int) -> Values:
        """The same raters, of items half of whose variance is their case's."""
        case = np.repeat(rng.standard_normal(-(-items // self.systems)), self.systems)[:items]
        place = np.sqrt(0.5) * case + np.sqrt(0.5) * rng.standard_normal(items)
        seen = np.sqrt(self.model.strength) * place[:, None]
        seen = seen + np.sqrt(1 - self.model.strength) * rng.standard_normal((items, self.raters))
        codes: Values = np.searchsorted(ndtri(np.cumsum(self.shares)[:-1]), seen)
        return codes

    def looks(self, cells: Values) -> list[Look]:
        """What the commands print of these items, and what is unseen; of a mean for each system."""
        if self.statistic == "mean":
            return [self._mean(cells[system :: self.systems]) for system in range(self.systems)]
        if self.statistic == "alpha":
            result = krippendorff_alpha(cells, metric="nominal", scale=self.scale)
            return [(result, fixed_width.unseen_in_alpha(cells, metric="nominal", scale=self.scale))]
        clusters = np.arange(len(cells)) // self.systems if self.systems > 1 else None
        result = mean_pairwise_kappa(cells, scale=self.scale, weights=self.weights, clusters=clusters)
        return [(result, fixed_width.unseen_in_kappa(cells, scale=self.scale, weights=self.weights))]

    def _mean(self, cells: Values) -> Look:
        values, shares = np.nanmean(cells, axis=1), np.array(self.strata)
        own = np.arange(values.size) % shares.size
        rated = np.bincount(own, minlength=shares.size)
        rest = np.round(shares * (rated / shares).max()).astype(int) - rated
        units = judged_units(
            np.zeros(values.size + rest.sum()),
            np.concatenate([values, np.full(rest.sum(), np.nan)]),
            cells=np.concatenate([own, np.repeat(np.arange(shares.size), rest)]),
        )
        ends = float(self.scale[0]), float(self.scale[-1])
        result = mean(units, ratings="people", share=ends == (0, 1), scale=ends)
        if result.estimate is None:
            return result, 0.0
        return result, fixed_width.unseen_in_mean(units, ends)


@cache
def _model(kappa: float, shares: tuple[float, ...], ordered: bool) -> RaterModel:
    positions = levels(list(range(1, len(shares) + 1)))
    table = np.subtract.outer(positions, positions) ** 2 if ordered else 1.0 - np.eye(len(shares))
    return rater_model(kappa, shares, "near" if ordered else "guessing", table)


DESIGNS = (
    Design("yes in .5, κ .6, 2 raters", 0.1, (0.5, 0.5)),
    Design("yes in .5, κ .3, 4 raters, 2 each", 0.1, (0.5, 0.5), 0.3, raters=4),
    Design("yes in .3, κ .6, 3 raters, 2 each", 0.1, (0.7, 0.3), raters=3),
    Design("yes in .2, κ .8, 5 raters, 2 each", 0.1, (0.8, 0.2), 0.8, raters=5),
    Design("yes in .1, κ .8, 2 raters", 0.1, (0.9, 0.1), 0.8),
    Design("yes in .1, κ .6, 3 raters, 2 each", 0.1, (0.9, 0.1), raters=3),
    Design("yes in .1, κ .3, 2 raters", 0.1, (0.9, 0.1), 0.3),
    Design("yes in .2, κ .5, 3 raters, 3 each", 0.1, (0.8, 0.2), 0.5, raters=3, each=3),
    Design("3 labels, κ .5, 3 raters, 2 each", 0.1, (0.6, 0.3, 0.1), 0.5, raters=3),
    Design("5 levels, skewed, κ .6, 3 raters, 2 each", 0.1, SKEWED, raters=3, ordered=True),
    Design("5 levels, skewed, κ .8, 2 raters", 0.1, SKEWED, 0.8, ordered=True),
    Design("5 levels, middling, κ .4, 2 raters", 0.1, MIDDLING, 0.4, ordered=True),
    Design("5 levels, skewed, κ .6, 3 raters, 3 each", 0.1, SKEWED, raters=3, each=3, ordered=True),
    Design("5 levels, middling, κ .6, 3 raters, 2 each, 3 systems a case", 0.1, MIDDLING, raters=3, ordered=True,
           systems=3),
    Design("yes in .3, α .6, 30 raters, 2 each", 0.1, (0.7, 0.3), raters=30, statistic="alpha"),
    Design("yes in .1, α .5, 30 raters, 2 each", 0.1, (0.9, 0.1), 0.5, raters=30, statistic="alpha"),
    Design("mean of 5 levels, skewed", 0.2, SKEWED, ordered=True, statistic="mean"),
    Design("mean of 5 levels, middling", 0.2, MIDDLING, ordered=True, statistic="mean"),
    Design("means of 5 levels, middling, 3 systems a case", 0.2, MIDDLING, ordered=True, statistic="mean", systems=3),
    Design("mean of 5 levels, skewed, 3 strata of .6, .3, .1", 0.2, SKEWED, ordered=True, statistic="mean",
           strata=(0.6, 0.3, 0.1)),
    Design("share of yes, .1", 0.05, (0.9, 0.1), statistic="mean"),
    Design("share of yes, .3", 0.05, (0.7, 0.3), statistic="mean"),
)  # fmt: skip


def reaches(design: Design, cells: Values, with_unseen: bool) -> Values:
    """What :func:`~bedside.stats.fixed_width.reach` gives after each item, for kappas of items that are independent;
    infinite where there is no interval: the same sums as in :mod:`bedside.stats`, for all looks at once."""
    k, count, raters = len(design.scale), len(cells), design.raters
    pairs = list(combinations(range(raters), 2))
    codes = np.where(np.isnan(cells), -1, cells - design.scale[0]).astype(int)
    of_pairs = np.stack([
        np.where((codes[:, a] >= 0) & (codes[:, b] >= 0), codes[:, a] * k + codes[:, b], -1) for a, b in pairs
    ], axis=1)  # fmt: skip
    patterns, member = np.unique(of_pairs, axis=0, return_inverse=True)
    came: Values = np.zeros((count, len(patterns)))
    came[np.arange(count), member.ravel()] = 1.0
    came = np.cumsum(came, axis=0)
    penalty, _ = penalties(design.weights, levels(design.scale))
    estimate: Values = np.zeros(count)
    left_out: Values = np.zeros(came.shape)
    unseen: Values = np.zeros(count)
    share = design.each * (design.each - 1) / (raters * (raters - 1))
    with np.errstate(all="ignore"):
        for pair in range(len(pairs)):
            rated = np.flatnonzero(patterns[:, pair] >= 0)
            tables = np.zeros((count, k * k))
            np.add.at(tables.T, patterns[rated, pair], came[:, rated].T)
            table = tables.reshape(count, k, k)
            n, observed, rows, columns = table.sum((1, 2)), (table * penalty).sum((1, 2)), table.sum(2), table.sum(1)
            row, column = columns @ penalty, rows @ penalty
            chance = (rows * row).sum(1)
            own = 1 - n * observed / chance
            moves = []
            for sign in (-1, 1):
                expected = chance[:, None, None] + sign * (row[:, :, None] + column[:, None, :]) + penalty
                together = (n + sign)[:, None, None] * (observed[:, None, None] + sign * penalty)
                moves.append(np.where(expected > 1e-12, 1 - together / expected, np.nan) - own[:, None, None])
            estimate += own / len(pairs)
            left_out[:, rated] += moves[0].reshape(count, -1)[:, patterns[rated, pair]] / len(pairs)
            rarest = (rows + columns).argmin(1)
            agreed = moves[1][np.arange(count), rarest, rarest] ** 2
            by_chance = (rows[:, :, None] * columns[:, None, :] * moves[1] ** 2).sum((1, 2)) / n**2
            unseen += fixed_width.UNSEEN * (agreed + by_chance) * share / len(pairs)
        values = np.where(came > 0, estimate[:, None] + left_out, 0.0)
        items = np.arange(1, count + 1)
        t = stdtrit(items - 1, 0.975)
        error = _jackknife(came, values)
        half = t * error / (1 - estimate**2)
        low, high = np.tanh(np.arctanh(estimate) - half), np.tanh(np.arctanh(estimate) + half)
        if design.each > 2:
            more = design.each - 1
            scaled = np.where(came > 0, np.log((1 + more * values) / (1 - values)), 0.0)
            centre = np.log((1 + more * estimate) / (1 - estimate))
            middle = centre - (items - 1) * ((came * scaled).sum(1) / items - centre)
            half = t * _jackknife(came, scaled)
            ends = np.minimum(middle, centre) - half, np.maximum(middle, centre) + half
            low, high = ((np.exp(end) - 1) / (np.exp(end) + more) for end in ends)
        widths = (high - low) / 2 * np.sqrt(1 + with_unseen * unseen / error**2)
    enough = (raters == 2) | (items * share >= np.minimum(FEWEST_SHARED, items / 2))
    enough &= with_unseen | (items >= FEWEST)
    return np.where(enough & (error > 1e-12) & np.isfinite(widths), widths, np.inf)


def _jackknife(came: Values, values: Values) -> Values:
    items = came.sum(1)
    from_mean = values - (came * values).sum(1, keepdims=True) / items[:, None]
    error: Values = np.sqrt((items - 1) / items * (came * from_mean**2).sum(1))
    return error


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a study.

    Attributes:
        items: rated.
        held: share of its intervals that hold the truth, 0 to 1.
        half_width: of them on average.
        reached: whether it stopped before the plan's end.
    """

    items: int
    held: float
    half_width: float
    reached: bool


def widest(seen: list[Look], *, unseen: bool = True) -> float:
    """The half-width that decides; infinite where there is none yet."""
    widths = [fixed_width.reach(result, own if unseen else 0.0) for result, own in seen]
    return max(float("inf") if width is None else width for width in widths)


def outcome(design: Design, seen: list[Look], items: int, reached: bool) -> Outcome:
    bounds = [result.interval for result, _ in seen]
    held = [bound is not None and bound.low <= design.truth <= bound.high for bound in bounds]
    widths = [(bound.high - bound.low) / 2 for bound in bounds if bound is not None]
    return Outcome(items, float(np.mean(held)), float(np.mean(widths)) if widths else np.nan, reached)


def stopped(design: Design, cells: Values, *, unseen: bool = True, every: bool = False) -> Outcome:
    """A study that stops when its interval is narrow enough.

    Args:
        design: its design.
        cells: all items of its plan.
        unseen: whether unseen items count, as they do; else it is looked at from :data:`FEWEST` items on.
        every: whether to look at every item.
    """
    step = design.systems
    if design.statistic == "kappa" and step == 1:
        return _stopped_at_once(design, cells, unseen)
    items = step * (2 if unseen else -(-FEWEST // step))
    while True:
        seen = design.looks(cells[:items])
        width = widest(seen, unseen=unseen)
        if width <= design.within or items >= len(cells):
            return outcome(design, seen, items, width <= design.within)
        ahead = 1.0 if every else min(width / design.within, 2.0)
        items = min(len(cells), max(items + step, int(items * ahead) // step * step))


def _stopped_at_once(design: Design, cells: Values, unseen: bool) -> Outcome:
    """The same with all looks at once."""
    items = 200
    while True:
        items = min(2 * items, len(cells))
        widths = reaches(design, cells[:items], unseen)
        inside = np.flatnonzero(widths <= design.within)
        if inside.size or items == len(cells):
            break
    items = int(inside[0]) + 1 if inside.size else items
    seen = design.looks(cells[:items])
    if inside.size:
        assert abs(widest(seen, unseen=unseen) - widths[items - 1]) < 1e-9
    return outcome(design, seen, items, bool(inside.size))


def best(design: Design, start: int, rng: np.random.Generator, studies: int) -> int:
    """The number of items with which the mean half-width is the target."""
    items = float(start)
    for _ in range(2):
        count = max(design.systems, round(items / design.systems) * design.systems)
        widths = [outcome(design, design.looks(design.ratings(rng, count)), count, True).half_width
                  for _ in range(studies)]  # fmt: skip
        items = count * (float(np.nanmean(widths)) / design.within) ** 2
    return round(items)


@cache
def planned(within: float, shares: tuple[float, ...], ordered: bool, raters: int) -> int:
    """Items that are planned for a kappa of which nothing is known: the most that any of :data:`KAPPAS` asks."""
    weights = "quadratic" if ordered else "unweighted"
    sizes = {
        kappa: sample_size.items_for_kappa(kappa, within, shares=shares, weights=weights).n or 0 for kappa in KAPPAS
    }
    worst = max(sizes, key=lambda kappa: sizes[kappa])
    if raters == 2:
        return sizes[worst]
    more = sample_size.simulated_items_for_kappa(worst, within, shares=shares, raters=raters, weights=weights)
    assert more.n is not None
    return more.n


def half_as_frequent(shares: tuple[float, ...]) -> tuple[float, ...]:
    """All levels but the one used most half as frequent."""
    most = int(np.argmax(shares))
    halves = [share / 2 for share in shares]
    halves[most] += 0.5
    return tuple(halves)


def planned_items(design: Design, shares: tuple[float, ...]) -> float:
    """Items of a fixed plan for these shares, of all systems."""
    if design.statistic != "mean":
        # Two of many raters who rate an item each are planned for as two who rate everything.
        return design.systems * planned(design.within, shares, design.ordered, design.each)
    spread = float(np.std(design.scale))
    effect = len(design.strata) * float(np.square(design.strata).sum())
    return design.systems * effect * (1.96 * spread / design.within) ** 2


def line(design: Design, studies: int, seed: int, every: bool) -> tuple[str, ...]:
    """A line of the table."""
    rng = np.random.default_rng(seed)
    plans = [planned_items(design, shares) for shares in (WORST[len(design.shares)], half_as_frequent(design.shares))]
    most = int(1.3 * max(plans)) // design.systems * design.systems
    own, without = [], []
    for number in range(studies):
        cells = design.ratings(rng, most)
        own.append(stopped(design, cells, every=every))
        if number % 4 == 0:
            without.append(stopped(design, cells, unseen=False, every=every))
    items = float(np.mean([study.items for study in own]))
    known = best(design, round(items), rng, min(200, studies))
    return (
        design.name, f"{design.within:g}", f"{100 * np.mean([study.held for study in own]):.1f}",
        f"{100 * np.mean([study.held for study in without]):.1f}", f"{items * design.each:,.0f}",
        f"{min(study.items for study in own) * design.each:,}", *(f"{100 * items / plan:.0f}" for plan in plans),
        f"{100 * items / known:.0f}", f"{sum(not study.reached for study in own)}",
    )  # fmt: skip


HEADS = ("design", "±", "covers, %", "without it, %", "ratings", "fewest", "of worst, %", "of half, %", "of best, %",
         "unreached")  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--only", default="", help="lines whose name holds this")
    parser.add_argument("--every", action="store_true", help="look at every item")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{arguments.studies:,} studies a line, seed {arguments.seed}\n")
    print("| " + " | ".join(HEADS) + " |")
    print("|" + " --- |" * len(HEADS))
    start = time.process_time()
    for design in DESIGNS:
        if arguments.only in design.name:
            cells = line(design, arguments.studies, arguments.seed, arguments.every)
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
